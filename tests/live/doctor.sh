#!/usr/bin/env bash
# stook doctor under conditions in which something is missing. Each row about a command is compared with a run of that
# command under the same condition: it works if the run works, and has the run's message if not. So are rows that have a
# command of their own: counters, cgroups, tracefs, helper processes.
# shellcheck disable=SC2016 # evaluated later
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

if ! command -v python3 >/dev/null; then
	skip "all" "python3"
	exit 0
fi
install -m 755 "$STOOK" "$T/stook" # other users may not reach the build
install -m 755 "$PROGRAMS/spin" "$T/spin"
chmod 777 "$T"
echo 'a;b 3' >"$T/some.folded"

# tabulate: writes the findings in $T/doctor.json to $T/doctor.tsv, a line each; fails if they are no JSON.
tabulate() {
	python3 -c '
import json, sys
for finding in json.load(open(sys.argv[1]))["findings"]:
    print(*(finding[field] or "" for field in ("name", "state", "found", "remedy")), sep="\t")' \
		"$T/doctor.json" >"$T/doctor.tsv" 2>/dev/null
}

# of NAME state|found|remedy: prints a field of a finding; nothing if there is none.
of() {
	awk -F '\t' -v name="$1" -v field="$2" '
		BEGIN { number["state"] = 2; number["found"] = 3; number["remedy"] = 4 }
		$1 == name { print $number[field] }' "$T/doctor.tsv"
}

# Messages about different probes differ in what they quote, and in the number of a CPU.
plain() { sed -E "s/'[^']*'/X/g; s/CPU [0-9]+/CPU N/"; }

# try ROW ARG…: runs `stook ARG…` beside others under the current condition, which is an array of words.
try() {
	local run=$T/run.${#rows[@]}
	rows+=("$1")
	shift
	(
		"${condition[@]}" timeout -k 5 60 "$T/stook" "$@" >/dev/null 2>"$run.err" </dev/null
		echo $? >"$run.status"
	) &
}

# compare: compares each tried row with its run. That helper processes cannot work is said by a row of its own.
compare() {
	local i row said status known='^$'
	wait
	[ "$(of "helper processes" state)" = ok ] || known='^(not read: |helper processes )'
	for i in "${!rows[@]}"; do
		row=${rows[i]}
		status=$(cat "$T/run.$i.status")
		said=$(sed -n 's/^stook: //p' "$T/run.$i.err" | grep -Ev "$known" |
			tail -n 1 | plain)
		if [ -z "$(of "$row" state)" ]; then
			fail "$name: $row" "there is no such row"
		elif [ "$(of "$row" state)" = ok ]; then
			check_equal "$name: $row: works, as doctor says" "$status$said" 0
		elif [ "$status" -eq 0 ]; then
			fail "$name: $row" "doctor: '$(of "$row" found)', but it works"
		else
			check_equal "$name: $row: does not work, and doctor has the message" \
				"$(of "$row" found | plain)" "$said"
		fi
	done
}

# examine NAME CONDITION…: runs doctor with these words in front, and compares what it says with runs.
examine() {
	name=$1
	condition=("${@:2}")
	rows=()
	"${condition[@]}" timeout -k 5 120 "$T/stook" doctor --json >"$T/doctor.json" 2>"$T/err" </dev/null
	STATUS=$?
	if ! tabulate; then
		fail "$name" "no JSON, status $STATUS: $(head -n 3 "$T/err" | tr '\n' ' ')"
		return
	fi
	check "$name: nothing on stderr" test ! -s "$T/err"
	if [ "$(of profile state)" = ok ]; then
		check_equal "$name: status" $STATUS 0
	else
		check_equal "$name: status" $STATUS 1
	fi
	try profile profile -q -d 0.1 -f
	# Where nothing can be profiled, these have the message of that.
	if [ "$(of profile state)" = ok ]; then
		try "hardware counters" profile -q -d 0.1 -f -e cycles
		try "cgroup version 2" profile -q -d 0.1 -f --by cgroup
	fi
	if [[ "$name" != counters* ]]; then
		try "profile --unwind cfi" profile -q -d 0.1 -f --unwind cfi
		try "profile --off-cpu" profile -q -d 0.1 -f --off-cpu
		try "profile --locks" profile -q -d 0.1 -f --locks
		try sched sched -q -d 0.1
		try stat stat -q -d 0.1
		try agent agent -q -d 0.1 --store "$T/store.${#rows[@]}.$RANDOM"
		try "funccount, user functions" funccount -q -d 0.1 "$T/spin:spin_inner"
		try "funccount, kernel functions" funccount -q -d 0.1 vfs_mkdir
		try "funccount, tracepoints" funccount -q -d 0.1 t:sched:sched_process_fork
		try "helper processes" report "$T/some.folded"
	fi
	compare
}

# is NAME STATE: checks the state of a row.
is() { check_equal "$name: $1 is $2" "$(of "$1" state)" "$2"; }

# as_user CAPABILITY…: puts a user with these capabilities only into $user.
as_user() {
	local sets=-all capability
	for capability; do sets+=",+$capability"; done
	user=("${AS_USER[@]}" --inh-caps="$sets" --ambient-caps="$sets")
}

# --- rights --------------------------------------------------------------------------------------

examine "root"
for row in profile "profile --unwind cfi" sched stat BTF "BPF programs" CAP_BPF CAP_PERFMON "event buffers" \
	"user namespace" "helper processes"; do
	is "$row" ok
done

as_user
examine "no capabilities" "${user[@]}"
for row in profile CAP_BPF CAP_PERFMON "BPF programs" "event buffers"; do is "$row" fails; done
for row in CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_CHECKPOINT_RESTORE CAP_SYSLOG; do is "$row" limited; done
check "no capabilities: the remedy names them" eval '[[ "$(of profile remedy)" == *CAP_BPF*CAP_PERFMON* ]]'

if "${AS_USER[@]}" --inh-caps=-all,+checkpoint_restore true 2>/dev/null; then
	as_user bpf perfmon
	examine "CAP_BPF and CAP_PERFMON" "${user[@]}"
	for row in profile CAP_BPF CAP_PERFMON "BPF programs" "event buffers"; do is "$row" ok; done
	for row in CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_CHECKPOINT_RESTORE CAP_SYSLOG; do is "$row" limited; done
	for left in bpf perfmon; do
		as_user $left
		examine "CAP_${left^^} only" "${user[@]}"
		is profile fails
		is "CAP_${left^^}" ok
	done
	as_user bpf perfmon sys_ptrace dac_read_search checkpoint_restore syslog
	examine "all six capabilities" "${user[@]}"
	is profile ok
	check_equal "all six capabilities: none is missing" \
		"$(grep -c '^CAP_[A-Z_]*	ok	' "$T/doctor.tsv")" 6
else
	skip "users with capabilities" "setpriv that knows CAP_BPF"
fi

examine "user namespace" unshare --user --map-root-user
is profile fails
is "user namespace" fails

# --- limits --------------------------------------------------------------------------------------

examine "30 open files" prlimit --nofile=30:30
is profile fails
is "open files" limited
check "30 open files: it is named" eval '[[ "$(of profile found)" == "too many open files" ]]'

# --- what others hide ----------------------------------------------------------------------------

if ! unshare --mount true 2>/dev/null; then
	skip "hidden files" "the right to make a mount namespace"
	exit 0
fi
# shellcheck disable=SC2016
hidden() { # hidden COMMAND…: puts a mount namespace that is set up by COMMAND into $inside
	inside=(unshare --mount bash -c "$1"' >/dev/null 2>&1; exec "$@"' -)
}

hidden 'mount -t tmpfs none /sys/kernel/btf'
examine "no BTF" "${inside[@]}"
is profile fails
is BTF fails

head -c 4096 /sys/kernel/btf/vmlinux >"$T/part.btf"
hidden "mount --bind $T/part.btf /sys/kernel/btf/vmlinux"
examine "truncated BTF" "${inside[@]}"
is profile fails
is BTF fails

# Root mounts tracefs for itself. Others cannot.
hide_tracefs='for at in /sys/kernel/tracing /sys/kernel/debug; do mount -t tmpfs none $at; done'
hidden "$hide_tracefs"
examine "tracefs is not mounted" "${inside[@]}"
is tracefs ok
is "funccount, tracepoints" ok
if "${AS_USER[@]}" --inh-caps=-all,+checkpoint_restore true 2>/dev/null; then
	as_user bpf perfmon sys_ptrace dac_read_search checkpoint_restore syslog
	examine "no tracefs" "${inside[@]}" "${user[@]}"
	is tracefs limited
	is "funccount, tracepoints" limited
	is profile ok
fi

# In a container that has the host's user namespace, but not all capabilities.
examine "container" unshare --mount --pid --fork --kill-child --mount-proc \
	setpriv --bounding-set -all,+bpf,+perfmon,+chown,+kill,+setuid,+setgid --inh-caps=-all
is profile ok
is CAP_SYS_PTRACE limited
is CAP_SYS_CHROOT limited
is CAP_KILL ok

examine "no seccomp" python3 tests/tools/without_seccomp.py
is "helper processes" limited
is profile ok

# --- the agent -----------------------------------------------------------------------------------

# under NAME SETUP: examines only the agent's rows, with another /var/lib.
under() {
	name=$1
	hidden "mount -t tmpfs none /var/lib && $2"
	"${inside[@]}" "$T/stook" doctor --json >"$T/doctor.json" 2>"$T/err" </dev/null
	tabulate || fail "$name" "no JSON"
}

under "no folder" true
is "store folder" ok
check "no folder: it can be made" eval '[[ "$(of "store folder" found)" == *"can be made"* ]]'
mkdir "$T/lib"
under "folder" "mkdir /var/lib/stook; mount --bind $T/lib /var/lib/stook"
is "store folder" ok
is agent ok
check_equal "folder: no file is left" "$(ls -A "$T/lib")$(ls -d /tmp/doctor-* 2>/dev/null)" ""
under "small disk" "mkdir /var/lib/stook; mount -t tmpfs -o size=100m none /var/lib/stook"
is "store folder" limited
under "read-only disk" "mkdir /var/lib/stook; mount -t tmpfs -o ro none /var/lib/stook"
is "store folder" limited
check "read-only disk: the agent was tried elsewhere" test "$(of agent state)" = ok
if [ -d /run/systemd/system ]; then systemd=ok; else systemd=limited; fi
is "service manager" $systemd
is budget ok

# --- counters ------------------------------------------------------------------------------------

if build refuse_events.so special/refuse_events.c cc -shared -fPIC -O1; then
	install -m 755 "$SPECIAL/refuse_events.so" "$T/refuse.so"
	for error in 2 95 19 16 22 13 24; do
		examine "counters: error $error" env LD_PRELOAD="$T/refuse.so" REFUSE_ERRNO=$error
		is "hardware counters" limited
	done
fi
