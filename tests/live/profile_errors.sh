#!/usr/bin/env bash
# Errors of stook profile: each is reported in one sentence, with the right exit status, in time, and leaves nothing
# behind.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

says() { grep -qiE -- "$1" "$T/err"; }

# refused NAME STATUS WORDS ARG…: must fail with STATUS and a message matching WORDS, within 2 s.
refused() {
	local name=$1 status=$2 words=$3
	shift 3
	LIMIT=10 profile "$@"
	if [ "$STATUS" -ne "$status" ]; then
		fail "$name" "status $STATUS, want $status: $(head -n 2 "$T/err" | tr '\n' ' ')"
	elif ! says "$words"; then
		fail "$name" "'$words' is not in: $(head -n 3 "$T/err" | tr '\n' ' ')"
	elif [ "$WALL_MS" -gt 2000 ]; then
		fail "$name" "took $WALL_MS ms to find out"
	else
		pass "$name"
	fi
}

# --- usage: status 2, and the value in the message --------------------------------------------------

refused "bad frequency" 2 'many' -F many -d 9
refused "frequency 0" 2 "'?0'?" -F 0 -d 9
refused "negative frequency" 2 '-5' -F -5 -d 9
refused "frequency past all hosts" 2 '999999999999' -F 999999999999 -d 9
refused "bad period" 2 '12x' -c 12x -d 9
refused "bad pid" 2 '12,zwei' -p 12,zwei -d 9
refused "empty pid" 2 'pid' -p '' -d 9
refused "bad tid" 2 'neun' -t neun -d 9
refused "bad cpu list" 2 '0-x' -C 0-x -d 9
refused "bad duration" 2 'soon' -d soon
refused "bad positional duration" 2 'soon' soon
refused "bad interval" 2 '1y' -i 1y -d 9
refused "bad regular expression" 2 '\(\[' --comm '([' -d 9
refused "bad regular expression to leave out" 2 '\(\[' --exclude '([' -d 9
refused "bad key" 2 'colour' --by colour -d 9
refused "bad depth" 2 '-3' --max-depth -3 -d 9
refused "bad event" 2 'no-such-event' -e no-such-event -d 9
refused "unknown option" 2 'no-such-option' --no-such-option
refused "option without its value" 2 'p' -p
refused "-U with -K" 2 'U.*K|user.*kernel' -U -K -d 9
"$STOOK" >"$T/out" 2>"$T/err"
check_equal "no command: status 2" $? 2
"$STOOK" plough >"$T/out" 2>"$T/err"
check_equal "unknown command: status 2" $? 2
check "unknown command: named" says plough
"$STOOK" profile --help >"$T/out" 2>"$T/err"
check_equal "--help: status 0" $? 0
check "--help: on stdout" grep -q -- --no-follow "$T/out"

# --- missing or not permitted: status 1 -------------------------------------------------------------

refused "no such pid" 1 '4194000' -p 4194000 -d 9
refused "no such tid" 1 '4194000' -t 4194000 -d 9
refused "no such cpu" 1 '4000' -C 4000 -d 9
refused "no such cgroup" 1 '/no/such/cgroup' --cgroup /no/such/cgroup -d 9
if perf stat -e cycles true 2>&1 | grep -q 'not supported'; then
	refused "no hardware counter here" 1 'cycles' -e cycles -d 9
	check "no hardware counter: hint which event to use" says 'hint.*cpu-clock'
else
	skip "no hardware counter here" "perf, and a machine without a PMU"
fi
# Counters that are missing, busy or forbidden: the error of each attempt, the words for `-e cycles`, and without -e the
# words in front of the fallback, or none if cpu-clock is refused as well.
refusals() {
	cat <<-'REFUSALS'
	2 ENOENT|event not supported .ENOENT|cpu-clock, .*stook list|no hardware counter here
	95 EOPNOTSUPP|event not supported .EOPNOTSUPP|cpu-clock, .*stook list|no hardware counter here
	19 ENODEV|event not supported .ENODEV|cpu-clock, .*stook list|no hardware counter here
	16 EBUSY|counters are in use|nmi_watchdog|counters are in use: sampling cpu-clock
	22 EINVAL|refuses to sample 'cycles': Invalid argument|the CPU does not know|refuses .*: sampling cpu-clock
	13 EACCES|not permitted to sample 'cycles': Permission denied|CAP_PERFMON|
	1 EPERM|not permitted to sample 'cycles': Operation not permitted|CAP_PERFMON|
	24 EMFILE|too many open files|ulimit -n|
	REFUSALS
}
if build refuse_events.so special/refuse_events.c cc -shared -fPIC -O1; then
	export LD_PRELOAD=$SPECIAL/refuse_events.so
	while IFS='|' read -r error words hint fallback; do
		export REFUSE_ERRNO=${error% *}
		error=${error#* }
		refused "-e cycles, $error" 1 "$words" -e cycles -d 9
		check "-e cycles, $error: hint" says "hint: .*$hint"
		if [ "$fallback" ]; then
			profile -d 0.1 --no-symbols -f
			check_equal "without -e, $error: status" "$STATUS" 0
			check "without -e, $error: falls back, and says why" says "^stook: .*$fallback"
		else
			refused "without -e, $error" 1 "$words" -d 9
		fi
		refused "-e with a PMU's event, $error" 1 'r1c2|too many' -e r1c2 -d 9
	done < <(refusals)
	export REFUSE_ERRNO=95
	REFUSE_SAMPLING=1 refused "a counter that does not interrupt" 1 'not supported' -e cycles -d 9
	check "a counter that does not interrupt: hint" says 'hint: .*only be counted'
	REFUSE_PRECISE=1 refused "no precise event" 1 'not supported' -e cycles:pp -d 9
	check "no precise event: hint" says 'hint: .*without modifier p'
	REFUSE_PRECISE=1 profile -e cycles:P -d 0.1 --no-symbols -f
	check_equal "P without precise events: status" "$STATUS" 0
	check "P without precise events: the level is told" says 'precise level 0'
	REFUSE_PRECISE=3 profile -e cycles:ppp -d 0.1 --no-symbols -f
	check_equal "ppp on a PMU with pp: status" "$STATUS" 0
	check_equal "ppp on a PMU with pp: the level is told once" \
		"$(grep -c 'cycles:ppp: precise level 2, the highest here' "$T/err")" 1
	REFUSE_PRECISE=3 profile -e cycles:pp -d 0.1 --no-symbols -f
	check "pp on a PMU with pp: nothing to tell" eval '! says "precise level"'
	REFUSE_COUNTERS=1 profile -e cycles:D -d 0.3 --no-symbols -f
	check_equal "a pinned event without a counter: status" "$STATUS" 0
	check "a pinned event without a counter: told" says 'cycles:D had no counter on .*CPU.* without samples'
	check "a pinned event without a counter: the CPUs were not offline" eval '! says offline'
	unset LD_PRELOAD REFUSE_ERRNO
fi
refused "-F above the kernel's limit" 1 'the highest frequency is [0-9]' -e cpu-clock -F 1000000 -d 9
check "-F above the kernel's limit: hint" says 'hint: .*perf_event_max_sample_rate'

refused "output in no folder, found before the run" 1 '/no/such/folder' -o /no/such/folder/a.folded -d 9
mkdir "$T/folder.folded"
refused "output is a folder" 1 'folder.folded' -o "$T/folder.folded" -d 9
refused "unknown extension" 2 'xyz' -o "$T/a.xyz" -d 9

refused_to_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$T/stook" profile -d 9 -f >"$T/out" 2>"$T/err"
	STATUS=$?
	[ "$STATUS" -eq 1 ] && says 'root|CAP_|capabilit|permi'
}
cp "$STOOK" "$T/stook" && chmod 755 "$T/stook"
check "without root: status 1, and the missing privilege is named" refused_to_nobody
check "without root: names the capability" says 'CAP_BPF|CAP_PERFMON|CAP_SYS_ADMIN'

with_capabilities() {
	setpriv --inh-caps -all --bounding-set -all,+bpf,+perfmon,+sys_ptrace,+dac_read_search \
		"$STOOK" profile -f -F 99 1 >"$T/out" 2>"$T/err"
}
start "$PROGRAMS/spin" 10
check "without CAP_SYS_ADMIN, but CAP_BPF and CAP_PERFMON: runs" with_capabilities
check "without CAP_SYS_ADMIN: has samples" test -s "$T/out"
stop "$PID"
refused "a command without --" 2 'sleep' sleep 10
check "a command without --: hint where to write --" says "hint.*'--'"
refused "two durations" 2 "more than one duration: '1'" 22881 1
check "two durations: hint how to write several pids" says 'hint.*commas'
refused "-- without a command" 125 "no command after '--'" --
refused "--cgroup without a path" 2 "''" --cgroup '' -d 1
refused "--uid, as perf's users type it" 2 "'--uid'" --uid 0 -d 1
check "--uid: hint what to use instead" says 'hint.*pgrep -d, -u'
refused "no such tracepoint" 1 "no tracepoint matches 't:sched:sched_swich'" -e sched:sched_swich -d 9
check "no such tracepoint: hint with the closest name" says "hint.*'sched_switch'"
refused "a function as an event" 1 "no tracepoint matches" -e c:malloc -d 9
check "a function as an event: hint to use stackcount" says 'hint.*stackcount'
refused "a tracepoint and a frequency" 2 '-F with' -e sched:sched_switch -F 99 -d 9
refused "a tracepoint and CPUs" 2 '-C with' -e sched:sched_switch -C 0 -d 9
refused "an event and a tracepoint" 2 "both 'sched:sched_switch' and 'cs'" \
	-e sched:sched_switch,cs -d 9
check "an event and a tracepoint: hint to use two runs" says 'hint.*two runs'
refused "a tracepoint and an event" 2 "both 'cs' and 'sched:sched_switch'" \
	-e cs -e sched:sched_switch -d 9
refused "too many events" 2 'more than 8 events' -e cs,faults,major-faults,minor-faults \
	-e cpu-migrations,cpu-clock,task-clock,alignment-faults,emulation-faults -d 9
refused "a group" 2 'one by one' -e '{cs,page-faults}' -d 9
check "a group: hint how to sample its events, or to count one beside the other" says 'hint: -e A,B .*--ratio B/A'
refused "a breakpoint without an address" 2 "bad breakpoint 'mem:main'" -e mem:main -d 9

# --- output that fails ------------------------------------------------------------------------------

start "$PROGRAMS/spin" 600
spin=$PID

timeout 20 "$STOOK" profile -f -q -F 99 -d 1 -p "$spin" >/dev/full 2>"$T/err"
check_equal "/dev/full: status 1" $? 1
check "/dev/full: error message" says 'space|full'
timeout 20 "$STOOK" profile -f -q -F 99 -d 0.3 -p "$spin" >&- 2>"$T/err"
check_equal "closed standard output: status 1" $? 1
check "closed standard output: error message" says 'cannot write to standard output'
timeout 20 "$STOOK" profile -o "$T/p.folded" -q -F 99 -d 0.3 -p "$spin" >&- 2>"$T/err"
check_equal "… is no error with -o" $? 0

timeout 20 "$STOOK" profile -f -F 99 -d 1 -a 2>"$T/err" | head -n 1 >"$T/out"
status=${PIPESTATUS[0]}
check "closed pipe: no crash" test "$status" -le 1 -o "$status" -eq 141
check "closed pipe: the first line arrived" test -s "$T/out"
timeout 20 "$STOOK" profile -f -q -F 99 -d 1 -a 2>"$T/err" | true
status=${PIPESTATUS[0]}
check "pipe closed from the start: no crash" test "$status" -le 1 -o "$status" -eq 141
timeout 20 "$STOOK" profile -f -q -F 99 -d 1 -a -o "$T/kept.folded" 2>"$T/err" | true
check "pipe closed from the start: the file of -o is there" test -s "$T/kept.folded"

disk_full() {
	# shellcheck disable=SC2016
	unshare -m bash -c '
		mount -t tmpfs -o size=16k none "$1" && head -c 12k /dev/zero >"$1/filler"
		timeout 30 "$2" profile -F 9999 -d 2 -a -o "$1/big.folded" 2>"$3"
		status=$?
		ls -A "$1" | tr "\n" " " >"$4"
		exit $status' - "$T/disk" "$STOOK" "$T/err" "$T/left"
}
if unshare -m true 2>/dev/null; then
	mkdir "$T/disk"
	start "$PROGRAMS/stacks" 10
	disk_full
	check_equal "disk full: status 1" $? 1
	check "disk full: error message" says 'space|full'
	check_equal "disk full: no half file is left" "$(cat "$T/left")" "filler "
else
	skip "disk full" "the right to make a mount namespace"
fi
stop "$PID"

# --- signals ----------------------------------------------------------------------------------------

# Runs stook in the background until it has sampled $spin for a second. Its pid is in $run.
start_sampling() {
	: >"$T/out"
	env --default-signal=HUP "$STOOK" profile -f -F 499 --stats "$T/stats" -d 40 -p "$spin" "$@" \
		>"$T/out" 2>"$T/err" </dev/null &
	run=$!
	STARTED+=("$run")
	wait_until 10 samples "$run"
	let_run "$spin" 100
}

for signal in INT TERM HUP; do
	start_sampling
	kill -$signal "$run"
	begin=$(now_ms)
	wait "$run"
	status=$?
	check "SIG$signal: ends within 2 s" test $(($(now_ms) - begin)) -le 2000
	check "SIG$signal: prints the samples" test "$(sum_matching spin_inner)" -ge 200
	check_equal "SIG$signal: status 0" $status 0
	check "SIG$signal: conservation law" law_holds
done

start_sampling
kill -INT "$run"
kill -INT "$run"
begin=$(now_ms)
wait "$run"
status=$?
check "second SIGINT: ends at once" test $(($(now_ms) - begin)) -le 500
check "second SIGINT: the status is not 0, or everything was printed" \
	test $status -ne 0 -o "$(sum_matching spin_inner)" -ge 200

# --- no leftovers ------------------------------------------------------------------------------------

bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)

# Lists the BPF objects that the process has loaded, as lines `prog 12`, `map 13`, `link 14`. Not all objects of
# the host: other programs load and unload theirs meanwhile.
bpf_objects_of() {
	cat "/proc/$1"/fdinfo/* 2>/dev/null |
		awk '/^(prog|map|link)_id:/ { sub("_id:", "", $1); print $1, $2 }' | sort -u
}
all_gone() {
	local kind id
	while read -r kind id; do
		"$bpftool" "$kind" show id "$id" >/dev/null 2>&1 && return 1
	done <<<"$objects"
	return 0
}
if [ -x "$bpftool" ]; then
	start_sampling
	objects=$(bpf_objects_of "$run")
	check "while it runs, it has a program and a map (else the next checks prove nothing)" \
		test "$(grep -cE '^(prog|map)' <<<"$objects")" -ge 2
	check "the program and the map are found by their ids" eval '! all_gone'
	kill -INT "$run"
	wait "$run"
	check "after a run: no program, map or link left" wait_until 5 all_gone
	mkdir "$T/results"
	start_sampling -o "$T/results/a.folded"
	objects=$(bpf_objects_of "$run")
	kill -KILL "$run"
	wait "$run" 2>/dev/null
	check "after SIGKILL: no program, map or link left" wait_until 5 all_gone
	check "after SIGKILL: no output under its name" test ! -e "$T/results/a.folded"
else
	skip "nothing is left attached" "bpftool"
fi

# The command of a run that ends by Ctrl-C gets that signal from the terminal. If the run ends by SIGTERM, its
# command must not be left running without a parent that waits for it.
: >"$T/out"
"$STOOK" profile -f -F 99 --stats "$T/stats" -- "$PROGRAMS/spin" 30 >"$T/out" 2>"$T/err" </dev/null &
run=$!
STARTED+=("$run")
wait_until 10 test -s "$T/out"
child=$(head -n 1 "$T/out")
let_run "$child" 100
[ -n "$child" ] && STARTED+=("$child")
kill -TERM "$run"
wait "$run"
gone() { ! kill -0 "$1" 2>/dev/null; }
check "SIGTERM with -- CMD: the command ends too" wait_until 2 gone "${child:-1}"
check "SIGTERM with -- CMD: the samples are printed" test "$(sum_matching spin_inner)" -ge 50
stop "$spin"
