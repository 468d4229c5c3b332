#!/usr/bin/env bash
# The capabilities that README and stook(1) list. An ordinary user with all of them gets all names. Without one
# of them, the run lacks what the documentation says for it, and reports that.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"

need_live
if ! setpriv --inh-caps=-all,+checkpoint_restore --ambient-caps=-all,+checkpoint_restore true 2>/dev/null; then
	skip "all" "setpriv that knows CAP_CHECKPOINT_RESTORE"
	exit 0
fi

profiler() { # profiler "CAPABILITY …" COMMAND…: as a user of its own
	local sets=-all name
	for name in $1; do sets+=",+$name"; done
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$sets" --ambient-caps="$sets" "$@"
}
other=(setpriv --reuid=65533 --regid=65533 --clear-groups)

# Processes of other users, whose files are: readable for all, readable for root only, deleted.
mkdir -m 755 "$T/files"
for name in public private deleted; do
	install -m 755 "$PROGRAMS/spin" "$T/files/$name"
done
chmod 711 "$T/files/private"
for name in public private deleted; do
	start "${other[@]}" "$T/files/$name" 300
	pids+=("$PID")
done
runs() { grep -q "$T/files/$1" "/proc/$2/maps"; }
wait_until 10 runs deleted "${pids[2]}"
rm "$T/files/deleted"
pid_list=$(IFS=, && echo "${pids[*]}")

all="bpf perfmon sys_ptrace dac_read_search checkpoint_restore syslog"

run() { # run "CAPABILITY …": leaves $T/out and $T/err
	profiler "$1" timeout -k 5 60 "$STOOK" profile -d 1 -F 199 -p "$pid_list" --by pid -f \
		>"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}

# named INDEX, unnamed INDEX: counts samples of that process with and without names.
stacks_of() { grep "^pid ${pids[$1]};" "$T/out"; }
named() { stacks_of "$1" | grep -q ';spin_inner' && ! stacks_of "$1" | grep -q '\[deleted\]\|\[unknown\]'; }
unnamed() { [ -n "$(stacks_of "$1")" ] && ! stacks_of "$1" | grep -q ';spin_inner'; }

run "$all"
check "all six capabilities: a file readable for all" named 0
check "all six capabilities: a file readable for root only" named 1
check "all six capabilities: a deleted file" named 2
check_equal "all six capabilities: status" "$STATUS" 0

for missing in bpf perfmon; do
	run "${all/$missing/}"
	check_equal "without $missing: refused" "$STATUS" 1
	check "without $missing: it is named" grep -q "CAP_${missing^^} .* missing" "$T/err"
done

says_unreadable() { grep -q 'unreadable\|cannot be read\|could not be' "$T/err"; }
for missing in sys_ptrace checkpoint_restore; do
	run "${all/$missing/}"
	check "without $missing: no names of a deleted file" unnamed 2
	check "without $missing: it is reported" says_unreadable
done
run "${all/dac_read_search/}"
check "without dac_read_search: a file readable for all" named 0
check "without dac_read_search: no names of a file readable for root only" unnamed 1
check "without dac_read_search: it is reported" says_unreadable

run "bpf perfmon"
check "bpf and perfmon alone: samples of all processes" test "$(cut -d ';' -f 1 "$T/out" | sort -u | wc -l)" -eq 3
stop "${pids[@]}"

# Kernel names need no CAP_SYSLOG from Linux 5.13 on.
profiler "bpf perfmon" timeout -k 5 60 "$STOOK" profile -d 1 -F 499 -K -f -- \
	dd if=/dev/zero of=/dev/null bs=1M count=3000 >"$T/out" 2>"$T/err" </dev/null
case $(uname -r) in
5.1[0-2].*) skip "kernel names without CAP_SYSLOG" "Linux 5.13" ;;
*) check "kernel names without CAP_SYSLOG" grep -Eq ';(vfs_|ksys_)?read' "$T/out" ;;
esac

# --- root ----------------------------------------------------------------------------------------------
#
# Root keeps more capabilities. Without one of them, what it is for does not happen; with all, it does. CAP_SYS_CHROOT
# is in live/java, CAP_CHOWN for the cache of debuginfod's client in hostile/debuginfod.

# root_without MISSING: sets $as_root to the prefix of a command without this capability; none: with all.
root_without() {
	as_root=(setpriv "--bounding-set=-$1" "--inh-caps=-$1")
	[ "$1" != none ] || as_root=(env)
	with="without $1"
	[ "$1" != none ] || with="with all"
}

# A user, and a group, for helper processes.
install -o 65533 -m 755 "$PROGRAMS/spin" "$T/files/lines"
for missing in setuid setgid; do
	start "$T/files/lines" 60
	root_without $missing
	"${as_root[@]}" timeout -k 5 60 "$STOOK" profile -d 1 \
		-F 199 -p "$PID" --lines -f >"$T/out" 2>"$T/err" </dev/null
	check "without $missing: names and lines are there" grep -q ';spin_inner spin.c:' "$T/out"
	check "without $missing: no complaint" eval '! grep -q "^files" "$T/err"'
	stop "$PID"
done

# Priorities; other users for parsers, which can be ended nevertheless. Each run meets new programs, so that its
# parsers have work; they are stopped, and late with it.
install -d -m 755 "$T/programs"
keep_starting() {
	local i
	for ((i = 0; ; i++)); do
		cp "$PROGRAMS/spin" "$T/programs/new$1$i"
		timeout 1 "$T/programs/new$1$i" 0.2 >/dev/null 2>&1
	done
}
parsers() {
	local child
	for child in $(cat "/proc/$run/task"/*/children 2>/dev/null); do
		! grep -qa '^stook-parser' "/proc/$child/cmdline" 2>/dev/null || echo "$child"
	done
}
has_parser() { [ -n "$(parsers)" ]; }
nr_gone() {
	local pid nr=0
	for pid in "${stopped[@]}"; do kill -0 "$pid" 2>/dev/null || nr=$((nr + 1)); done
	echo $nr
}
is_one_gone() { [ "$(nr_gone)" -gt 0 ]; }
are_all_gone() { [ "$(nr_gone)" -eq ${#stopped[@]} ]; }
field() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status" | cut -f 1; }
nice_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 17; }
for missing in none setuid setgid sys_nice kill; do
	root_without $missing
	keep_starting "$missing" &
	starter=$!
	STARTED+=("$starter")
	"${as_root[@]}" "$STOOK" profile -f --table-cache none -i 1 -F 199 -d 30 >"$T/out" 2>"$T/err" </dev/null &
	run=$!
	STARTED+=("$run")
	wait_until 20 samples "$run"
	wait_until 20 has_parser || fail "without $missing" "there is no parser"
	sleep 0.5
	mapfile -t stopped < <(parsers)
	case $missing in
	none)
		check "$with: a parser has a user of its own" test "$(field Uid "${stopped[0]}")" -ge 61184
		check "$with: a parser has a group of its own" test "$(field Gid "${stopped[0]}")" -ge 61184
		check "$with: a high priority" test "$(nice_of "$run")" -eq -20
		;;
	setuid) check_equal "$with: parsers keep the user" "$(field Uid "${stopped[0]}")" 0 ;;
	setgid) check_equal "$with: parsers keep the group" "$(field Gid "${stopped[0]}")" 0 ;;
	sys_nice) check "$with: an ordinary priority" test "$(nice_of "$run")" -gt -20 ;;
	esac
	if [ $missing = none ] || [ $missing = kill ]; then
		kill -STOP "${stopped[@]}"
		wait_until 10 is_one_gone
	fi
	case $missing in
	none) check "$with: a parser that hangs is ended" is_one_gone ;;
	kill) check "$with: a parser that hangs stays" eval '! is_one_gone' ;;
	esac
	kill -INT "$run"
	wait "$run"
	check_equal "$with: status" $? 0
	if [ $missing = kill ]; then
		check "$with: even after the run" eval '! is_one_gone'
		kill -CONT "${stopped[@]}"
	fi
	check "$with: no helper process is left" wait_until 5 are_all_gone
	kill "$starter"
	wait "$starter" 2>/dev/null
done

# Outputs of others: the folder is theirs, and the file that is replaced. In a sticky one only owners may do that.
umask 022
start "$PROGRAMS/spin" 60
for missing in none dac_override chown fowner; do
	root_without $missing
	for mode in 700 1755; do
		rm -rf "$T/theirs"
		install -d -o 65533 -m $mode "$T/theirs"
		install -o 65533 -g 65533 -m 600 /dev/null "$T/theirs/old.folded"
		"${as_root[@]}" timeout -k 5 60 "$STOOK" profile -d 1 -F 199 -p "$PID" -o "$T/theirs/old.folded" \
			>"$T/out" 2>"$T/err" </dev/null
		got="$? $(stat -c '%u:%g %a' "$T/theirs/old.folded")"
		case $missing$mode in
		dac_override* | fowner1755)
			check_equal "outputs $with, in a folder $mode: refused" "$got" "1 65533:65533 600"
			check "outputs $with, in a folder $mode: and why" grep -q "cannot .*$T/theirs" "$T/err"
			;;
		chown*) check_equal "outputs $with, in a folder $mode: root's" "$got" "0 0:0 600" ;;
		*) check_equal "outputs $with, in a folder $mode: as before" "$got" "0 65533:65533 600" ;;
		esac
		[ "${got%% *}" -ne 0 ] ||
			check "outputs $with, in a folder $mode: names are there" grep -q ';spin_inner' "$T/theirs/old.folded"
	done
done
stop "$PID"
