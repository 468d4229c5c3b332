#!/usr/bin/env bash
# profile --ratio: both counters are attributed to the right stacks, and to no other thread's.
#
# Without a PMU, by page faults per second of CPU time: software events count what getrusage() does.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

# value_of TYPE REGEX: the sum of a value over the stacks that match, of $T/both.pb.gz
value_of() {
	"$STOOK" report -q "$T/both.pb.gz" --value "$1" -f >"$T/folded" 2>>"$T/err"
	sum_matching "$2" "$T/folded"
}
truth() { awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$T/truth"; }
# near GOT WANTED PERCENT
near() { awk -v got="$1" -v wanted="$2" -v share="$3" 'BEGIN { exit !(got >= wanted * (100 - share) / 100 && got <= wanted * (100 + share) / 100) }'; }

profile --ratio page-faults/cpu-clock -F 999 -o "$T/both.pb.gz" -- \
	"$PROGRAMS/faults" 3 40000
cp "$T/out" "$T/truth"
check "status 0" test "$STATUS" -eq 0 -a -s "$T/both.pb.gz"
check "the run says what it samples" grep -q '^stook: cpu-clock at 999 Hz, with page-faults on' "$T/err"
check "the run has the ratio" grep -qE '[0-9.]+ page-faults per second of cpu-clock' "$T/err"
faults=$(truth fault_for 3)
got=$(value_of page-faults ';fault_for')
note "page faults of fault_for: $got of $faults; of spin_for: $(value_of page-faults ';spin_for')"
check "page faults are where they happen" near "$got" "$faults" 15
check "hardly any are elsewhere" test "$(value_of page-faults ';spin_for')" -lt $((faults / 10))
check "CPU time is the main value" near "$(value_of cpu-clock ';fault_for')" "$(truth fault_for 2)" 15

"$STOOK" report -q "$T/both.pb.gz" >"$T/report"
check "report: the head has the ratio" grep -qE '^page-faults per second of cpu-clock: [0-9]+' "$T/report"
check "report: there is a column" grep -qE 'RATIO +TOTAL +FUNCTION' "$T/report"
"$STOOK" report -q "$T/both.pb.gz" -o "$T/report.json"
ratio=$(jq '[.rows[] | select(.function == "spin_for") | .ratio][0]' "$T/report.json")
check "report: the column is the functions' own" \
	awk "BEGIN { exit !($ratio < $(jq .ratio "$T/report.json") / 3) }"
"$STOOK" flame -q "$T/both.pb.gz" -o "$T/flame.svg"
check "picture: a legend" grep -q 'page-faults per second of cpu-clock</text>' "$T/flame.svg"
"$STOOK" flame -q "$T/both.pb.gz" -o "$T/flame.html"
check "page: the values of the ratio" grep -q '"ratio":{"above":' "$T/flame.html"

# Two processes on one CPU, of which one has page faults: none is the other's.
start taskset -c 0 "$PROGRAMS/faults" 20 0
spinning=$PID
start taskset -c 0 python3 -c '
import mmap
memory = mmap.mmap(-1, 4096 * 200)
memory.madvise(mmap.MADV_NOHUGEPAGE)
while True:
    for page in range(200): memory[page * 4096] = 1
    memory.madvise(mmap.MADV_DONTNEED)'
faulting=$PID
cpu_ns() { cut -d ' ' -f 1 "/proc/$1/schedstat"; }
wait_for() { for _ in {1..50}; do [ "$(cpu_ticks "$1")" -lt 5 ] || break; sleep 0.1; done; }
wait_for "$faulting"
for rate in "-F 199" "-c 5000000"; do
	ran=$(cpu_ns "$spinning")
	# shellcheck disable=SC2086 # two words
	profile --ratio page-faults/cpu-clock $rate -d 3 -p "$spinning" -o "$T/both.pb.gz"
	ran=$(($(cpu_ns "$spinning") - ran))
	note "$rate: a process without faults has $(value_of page-faults .) in $(value_of cpu-clock .) ns"
	check "$rate -p: no page faults of others" test "$(value_of page-faults .)" -lt 20
	check "$rate -p: it has its CPU time" near "$(value_of cpu-clock .)" "$ran" 50
done
before=$(cut -d ' ' -f 10 "/proc/$faulting/stat") ran=$(cpu_ns "$faulting")
profile --ratio page-faults/cpu-clock -F 999 -d 3 -p "$faulting" -o "$T/both.pb.gz"
ran=$(($(cpu_ns "$faulting") - ran)) faults=$(($(cut -d ' ' -f 10 "/proc/$faulting/stat") - before))
got=$(($(value_of page-faults .) * 1000 / ($(value_of cpu-clock .) / 1000000)))
note "beside another process: $got page faults in a second of its CPU time, of $((faults * 1000 / (ran / 1000000)))"
check "-p: its own page faults, beside another process" near "$got" $((faults * 1000 / (ran / 1000000))) 20
stop "$spinning" "$faulting"

# --- what is refused -------------------------------------------------------------------------------

refused() { # refused NAME WORDS ARG…
	local words=$2 name=$1
	shift 2
	profile -d 0.1 "$@"
	check "$name" test "$STATUS" -ne 0 -a "$(grep -cE "$words" "$T/err")" -gt 0
}
refused "no second event" 'two events' --ratio cycles
refused "an unknown event" 'ins' --ratio ins/cpu-clock
refused "twice the same" 'always 1' --ratio cpu-clock/cpu-clock
refused "-e, too" 'leave out -e' --ratio page-faults/cpu-clock -e cs
refused "--off-cpu, too" 'off-cpu with --ratio' --ratio page-faults/cpu-clock --off-cpu
if ! "$STOOK" profile -q -d 0.1 -f -e cycles >/dev/null 2>&1; then
	refused "no hardware counters" "cannot sample 'instructions'" --ratio instructions/cpu-clock
	refused "no hardware clock" "cannot sample 'cycles'" --ratio page-faults/cycles
fi
