#!/usr/bin/env bash
# A storm: BUSY (100) processes that use the CPU all the time, beside them as many short processes as the CPUs allow,
# each with an exec, and the profiler is stopped (SIGSTOP) for a second. Afterwards the conservation law must hold, nothing
# may hang, each loss must be named, and no sample may have functions of another program.
#
# SECONDS_ALL (6), SHORT (8 at a time, 0.5 to 2 ms each).
#
# Alone: it uses all CPU time, and starts many processes.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

BUSY=${BUSY:-100}
SECONDS_ALL=${SECONDS_ALL:-6}
SHORT=${SHORT:-8}

# At the lowest priority (nice is relative to ours), or this shell and the short ones would get no CPU.
for ((i = 0; i < BUSY; i++)); do
	nice -n 39 "$PROGRAMS/spin" $((SECONDS_ALL + 60)) >/dev/null &
	STARTED+=($!)
	disown # the shell would report each that is killed
done
# So that it ends: it starts a few hundred a second.
"$PROGRAMS/spawn" "$PROGRAMS/shortlived" $((SECONDS_ALL * 2000)) 500 2000 "$SHORT" >/dev/null &
STARTED+=($!)

began=$(now_ms)
"$STOOK" profile -a -f -F 999 -d "$SECONDS_ALL" --stats "$T/stats" >"$T/out" 2>"$T/err" </dev/null &
stook=$!
STARTED+=("$stook")
wait_until 20 samples "$stook"
sleep $((SECONDS_ALL / 3))
kill -STOP "$stook"
sleep "${STOPPED:-1}"
kill -CONT "$stook"
wait "$stook"
status=$?
took_ms=$(($(now_ms) - began))
kill -KILL "${STARTED[@]}" 2>/dev/null # all at once: a process dies only when it gets the CPU

check_equal "it ends well" "$status" 0
# Names are looked up with the share of one process among all.
check "it does not hang" test "$took_ms" -lt $((SECONDS_ALL * 1000 + 10000 + 20 * BUSY))
check "conservation law" law_holds
check_equal "no contradiction between the kernel's counters and what arrived" \
	"$(stat_of law_violations) $(stat_of mismatches)" "0 0"

samples_of() { awk -v comm="^$1;" -v re="${2:-.}" '$0 ~ comm && $0 ~ re { n += $NF } END { print n + 0 }' "$T/out"; }
busy=$(samples_of spin)
short=$(samples_of shortlived)
note "$BUSY busy processes, $(stat_of processes) known: $(stat_of entries) samples, $busy busy, $short short;" \
	"$(stat_of process_events) events, $(stat_of lost_events) lost; lost samples: $(stat_of lost_total);" \
	"longest stall $(stat_of longest_stall_us) us; run of $took_ms ms"

check "busy processes have samples" test "$busy" -gt 100
check_equal "no function of another program in the busy ones" "$(samples_of spin ';(a_outer|b_middle)')" 0
check_equal "no function of another program in the short ones" "$(samples_of shortlived ';spin_(outer|inner)')" 0
unnamed=$(samples_of spin '^spin;[[]unknown')
check "busy processes have their functions ($unnamed of $busy unknown)" test $((unnamed * 100)) -le "$busy"

# reported FIGURE WORDS: a loss is in the verdict.
reported() { [ "$(stat_of "$1")" -eq 0 ] || grep -q "$2" "$T/err"; }
check "lost samples are reported" reported lost_total 'lost'
check "lost process events are reported" reported lost_events 'process events'
