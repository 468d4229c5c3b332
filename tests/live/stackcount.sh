#!/usr/bin/env bash
# Stacks that lead to a function, compared with the exact numbers that the program itself prints for each call
# path ("way"): for a command and for a running process, one thread and several, counts and sums of an argument,
# all kinds of probes, and intervals.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

LOAD=$PROGRAMS/stack_paths
ROUNDS=${ROUNDS:-4000}

stackcount() { "$STOOK" stackcount --budget off --stats "$T/stats" "$@" >"$T/out" 2>"$T/err"; }

# seen WAY [FILE]: sums up the lines with this function in their stacks
seen() { awk -v way=";$1;" 'index($0, way) { sum += $NF } END { printf "%d\n", sum }' "${2:-$T/out}"; }
# truth WAY COLUMN: prints the true number for a way; column 2 is calls, 3 is bytes
truth() { awk -v way="$1" -v column="$2" '$1 == way { print $column }' "$T/truth"; }

# expect NAME COLUMN: checks that the folded output has the true number of each way, and that all hits are accounted for
expect() {
	local way
	for way in way_a way_b way_down; do
		check_equal "$1: $way" "$(seen $way)" "$(truth $way "$2")"
	done
	check_equal "$1: all hits are accounted for" \
		"$(stat_of law_violations) $(stat_of mismatches) $(stat_of lost_total)" "0 0 0"
}

# --- a command of the run ----------------------------------------------------------------------------

# The program's own output goes to the same stdout: it has no semicolons.
run_own() { # run_own ARG… -- PROGRAM…
	stackcount -f "$@"
	grep -v ';' "$T/out" >"$T/truth"
}

run_own "$LOAD:reached" -- "$LOAD" "$ROUNDS" 4
expect "four threads" 2
check_equal "stacks are whole, recursion too" "$(grep ';way_down;' "$T/out" |
	grep -vc ';work;way_down;way_down;way_down;way_down;way_down;reached ')" 0

run_own "$LOAD:reached" --unwind fp -- "$LOAD" "$ROUNDS" 2
expect "by frame pointers" 2

run_own "$LOAD:reached" --count-entries 1 -- "$LOAD" "$ROUNDS" 2
expect "almost no room to count" 2

# --- a program that is already running -----------------------------------------------------------------

"$LOAD" "$ROUNDS" 2 "$T/gate" >"$T/truth" &
pid=$!
STARTED+=("$pid")
: >"$T/out"
"$STOOK" stackcount --budget off -f -i 0.5 "$LOAD:reached" -p "$pid" >"$T/out" 2>"$T/err" &
stook=$!
STARTED+=("$stook")
wait_until 20 test -s "$T/out" # an interval has ended
: >"$T/gate"
wait "$stook"
wait "$pid"
for way in way_a way_b way_down; do
	check_equal "intervals add up: $way" "$(seen $way)" "$(truth $way 2)"
done

# --- other kinds of probes -----------------------------------------------------------------------------

if grep -q 'sys_enter_getppid' <("$STOOK" stackcount -l 't:syscalls:sys_enter_getppid' 2>/dev/null); then
	run_own t:syscalls:sys_enter_getppid -- "$LOAD" $((ROUNDS * 20)) 2
	check_equal "a tracepoint: every hit" "$(awk '/;/ { sum += $NF } END { print sum }' "$T/out")" \
		"$(truth way_asks 2)"
	# The system call's wrapper in libc has no frame: while unwind tables are being loaded, its caller is missing.
	check "a tracepoint: at least 80 % of the stacks have the calling function" \
		test "$(seen way_asks)" -ge $(($(truth way_asks 2) * 8 / 10))
else
	run_own t:sched:sched_process_exit -- "$LOAD" 10 4
	check_equal "a tracepoint: its program's end and that of four threads" \
		"$(awk '/;/ { sum += $NF } END { print sum }' "$T/out")" 5
fi

# Several probes: the innermost frame of each stack is the probe that was hit, with its own count.
cat >"$T/asks.sh" <<'X'
for ((i = 0; i < 50; i++)); do read -r line <"$1"; done
X
run_own t:syscalls:sys_enter_read t:syscalls:sys_enter_openat r:c:setlocale c:opendir -- \
	bash "$T/asks.sh" /etc/passwd
if grep -q 'sys_enter_read' <("$STOOK" stackcount -l 't:syscalls:sys_enter_read' 2>/dev/null); then
	check "several probes: reads" test "$(sum_matching ';syscalls:sys_enter_read ')" -ge 50
	check "several probes: opens" test "$(sum_matching ';syscalls:sys_enter_openat ')" -ge 50
	check_equal "several probes: the leaf of each stack is a probe" "$(grep ';' "$T/out" |
		grep -Evc '(;syscalls:sys_enter_(read|openat)|;r:setlocale|opendir) ')" 0
fi
run_own "$LOAD:reached" "r:$LOAD:reached" -- "$LOAD" 100 1
check_equal "a call and its return are distinguished" "$(sum_matching ';reached ')" \
	"$(sum_matching ';r:reached ')"
check_equal "a function's own frame is not doubled" "$(grep -c ';reached;reached' "$T/out")" 0

# --by probe: each probe has its own count. A round hits the three probes 1, 5 and 9 times.
probes=("$LOAD:way_a" "$LOAD:way_down" "r:$LOAD:reached")
run_own --by probe "${probes[@]}" -- "$LOAD" "$ROUNDS" 2
check_equal "--by probe" "$(sum_matching '^probe way_a;') $(sum_matching '^probe way_down;') $(
	sum_matching '^probe r:reached;')" "$((2 * ROUNDS)) $((10 * ROUNDS)) $((18 * ROUNDS))"
check_equal "--by probe: no thread names" "$(grep ';' "$T/out" | grep -vc '^probe ')" 0
stackcount "${probes[@]}" -o "$T/probes.pb.gz" -- "$LOAD" "$ROUNDS" 1
"$STOOK" report "$T/probes.pb.gz" -s probe --format csv | cut -d, -f1,2 >"$T/rows"
check_equal "pprof files of several probes have their names" "$(tr '\n' ' ' <"$T/rows")" \
	"probe,self \"r:reached\",$((9 * ROUNDS)) \"way_down\",$((5 * ROUNDS)) \"way_a\",$ROUNDS "
check_equal "report --probe" "$("$STOOK" report "$T/probes.pb.gz" --probe '^way_a$' -f | sum_folded)" "$ROUNDS"
check_equal "report --not-probe" \
	"$("$STOOK" report "$T/probes.pb.gz" --not-probe way -f | sum_folded)" $((9 * ROUNDS))
check "diff --by probe" \
	grep -q 'probe way_down' <("$STOOK" diff --by probe "$T/probes.pb.gz" "$T/probes.pb.gz" -f)
stackcount "${probes[0]}" -o "$T/one.pb.gz" -- "$LOAD" 10 1
"$STOOK" report "$T/one.pb.gz" --by probe >"$T/out" 2>"$T/err"
check_equal "--by probe of a file with a single probe: status 1" $? 1

# --- under a budget --------------------------------------------------------------------------------------

# within WHAT PERCENT GOT WANTED: checks a relative error
within() { check "$1: $3, not far from $4" test $((($3 - $4) * ($3 - $4) * 10000)) -le $(($4 * $4 * $2 * $2)); }

# The function is called in a repeating pattern, because it calls itself four times: choosing every n-th hit would
# misrepresent the stacks. It begins with a push, on which a probe costs least.
run_thinned() { # run_thinned ARG…: 40,000 rounds of 50 us
	: >"$T/gate"
	stackcount --budget 15% "$@" "$LOAD:way_down" -- "$LOAD" 40000 1 "$T/gate" 50
}
run_thinned -f
grep ';' "$T/out" >"$T/stacks"
check_equal "thinned: the law holds" "$(stat_of law_violations) $(stat_of mismatches)" "0 0"
check "thinned: many hits" test "$(stat_of thinned)" -gt 50000
check_equal "thinned: every hit is accounted for" \
	"$(($(stat_of recorded) + $(stat_of counted) + $(stat_of thinned) + $(stat_of lost_total)))" 200000
within "thinned: all" 1 "$(sum_folded <"$T/stacks")" 200000
calls=way_down
for ((depth = 1; depth <= 5; depth++)); do
	within "thinned: $depth calls deep" 15 "$(sum_matching ";work;$calls " "$T/stacks")" 40000
	calls+=';way_down'
done
check "thinned: the run's summary reports it" \
	grep -Eq '^budget   from [0-9.]+ s on 1 hit in up to [0-9]+ was recorded .*estimates' "$T/err"
run_thinned --weight '(int)arg1' -f
within "thinned: sums of an argument" 5 "$(grep ';' "$T/out" | sum_folded)" 400000
run_thinned
check "thinned: the report has a mark" grep -Eq '^from .* represents the others' "$T/out"
stackcount --budget 0.1% "$LOAD:way_down" -- "$LOAD" 4000 1
check "cut: the report has a mark" grep -Eq 'the probe was detached at [0-9.]+ s' "$T/out"

# --- weights ---------------------------------------------------------------------------------------------

run_own "$LOAD:reached" --weight arg1 -- "$LOAD" "$ROUNDS" 3
expect "sums of an argument" 3

stackcount -f "u:$PROGRAMS/static_weights:passed" --weight arg1 -- "$PROGRAMS/static_weights" 100
check_equal "below 0 and unreadable counts as 0" "$(awk '{ sum += $NF } END { print sum }' "$T/out")" 500
check "the number of unreadable arguments is reported" grep -q 'arg1 could not be read for 100 hits' "$T/err"
check_equal "the verdict's hits are hits" "$(stat_of shown)" 300

stackcount "$LOAD:reached" --weight arg1 -- "$LOAD" 100 1
check "the report names the summed argument" grep -q '^503,700, the sum of arg1$' "$T/out"

stackcount "$LOAD:reached" -- "$LOAD" 100 1
check "the report's unit is hits" grep -qx '[0-9,]* hits' "$T/out"
check "its table too" grep -q '^  SELF  *HITS  *TOTAL' "$T/out"

# --- events of stook profile that are not counters --------------------------------------------------------

if grep -q 'sys_enter_getppid' <("$STOOK" stackcount -l 't:syscalls:sys_enter_getppid' 2>/dev/null); then
	"$STOOK" profile -e syscalls:sys_enter_getppid -f -p $$ --stats "$T/stats" \
		-- "$LOAD" "$ROUNDS" 2 >"$T/out" 2>"$T/err"
	grep -v ';' "$T/out" >"$T/truth"
	check_equal "profile -e TRACEPOINT: every hit" \
		"$(awk '/;/ { sum += $NF } END { print sum }' "$T/out")" "$(truth way_asks 2)"
	check_equal "profile -e TRACEPOINT: all hits are accounted for" \
		"$(stat_of law_violations) $(stat_of mismatches) $(stat_of lost_total)" "0 0 0"
	# On one CPU: each CPU counts its own ten. Processes that begin there call getppid too, stook's helpers among
	# them, and then theirs can be the tenth.
	"$STOOK" profile -c 10 -e syscalls:sys_enter_getppid -f --stats "$T/stats" \
		-- taskset -c 0 "$LOAD" "$ROUNDS" 1 >"$T/out" 2>"$T/err"
	grep -v ';' "$T/out" >"$T/truth"
	sum=$(awk '/;/ { sum += $NF } END { print sum }' "$T/out")
	within "profile -c 10 -e TRACEPOINT: one in ten, for all ten" 1 "$sum" "$(truth way_asks 2)"
	check_equal "profile -c 10 -e TRACEPOINT: the others are accounted for" \
		"$(stat_of shown) $(stat_of law_violations) $(stat_of lost_total)" "$((sum / 10)) 0 0"
else
	skip "profile -e TRACEPOINT: every hit" "tracepoints of system calls"
fi
"$STOOK" profile -e sched:sched_process_exit,sched:sched_process_exec -f -- "$LOAD" 10 4 \
	>"$T/out" 2>"$T/err"
check_equal "profile -e with two tracepoints" \
	"$(awk '/;/ { sum += $NF } END { print sum }' "$T/out")" 6
"$STOOK" profile -e sched:sched_process_exit,sched:sched_process_exec --by probe -f \
	-- "$LOAD" 10 4 >"$T/out" 2>"$T/err"
check_equal "profile --by probe" "$(sum_matching '^probe sched:sched_process_exit;') $(
	sum_matching '^probe sched:sched_process_exec;')" "5 1"
"$STOOK" profile --by probe 1 >"$T/out" 2>"$T/err"
check_equal "profile --by probe without a probe is a mistake" $? 2
"$STOOK" profile -e sched:sched_process_exit --format perf -- "$LOAD" 10 4 >"$T/out" 2>"$T/err"
check "profile -e TRACEPOINT: named as perf names it" grep -q ' sched:sched_process_exit:' "$T/out"

if [ "$(uname -m)" = x86_64 ]; then
	rm -f "$T/gate"
	"$LOAD" "$ROUNDS" 1 "$T/gate" >"$T/truth" &
	pid=$!
	STARTED+=("$pid")
	wait_until 10 grep -q stack_paths "/proc/$pid/maps"
	base=$(awk '/stack_paths/ { sub("-.*", "", $1); print $1; exit }' "/proc/$pid/maps")
	at=$(nm "$LOAD" | awk '$3 == "reached" { print $1 }')
	readelf -h "$LOAD" | grep -q 'Type: *EXEC' && base=0
	: >"$T/out"
	"$STOOK" profile -f -i 0.5 -e "mem:$(printf '0x%x' $((0x$base + 0x$at))):x" -p "$pid" \
		>"$T/out" 2>"$T/err" &
	stook=$!
	STARTED+=("$stook")
	wait_until 20 grep -q . "$T/out" # an interval has ended
	: >"$T/gate"
	wait "$stook"
	wait "$pid"
	for way in way_a way_b way_down; do
		check_equal "profile -e mem:…:x: $way" "$(seen $way)" "$(truth $way 2)"
	done
else
	skip "profile -e mem:…" "x86"
fi

# --- errors ----------------------------------------------------------------------------------------------

stackcount
check_equal "no pattern is a mistake" $? 2
stackcount "$LOAD:(a" 1
check_equal "a bad pattern is a mistake" $? 2
stackcount "$LOAD:no_such_function" 1
check_equal "nothing matched" $? 1
stackcount "$LOAD:reached" --weight 'arg1 + 1' 1
check_equal "a weight is no calculation" $? 2
stackcount "$LOAD:reached" --weight retval 1
check_equal "a call has no result" $? 1
stackcount -U -K "$LOAD:reached" 1
check_equal "no stacks at all are a mistake" $? 2
