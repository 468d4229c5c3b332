#!/usr/bin/env bash
# CPU 1 goes offline and comes back ROUNDS (10) times during a run, and executes a new program each time. Its events are
# gone then: unless new ones are opened, its samples are missing, and the program keeps the mappings of the one before.
#
# Alone: it takes a CPU away.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

ROUNDS=${ROUNDS:-10}
SWITCH=/sys/devices/system/cpu/cpu1/online
if ! { [ "$(cat $SWITCH)" = 1 ] && echo 0 >$SWITCH && echo 1 >$SWITCH; } 2>/dev/null; then
	skip "all" "a CPU 1 that can be taken offline"
	exit 0
fi
trap 'echo 1 >$SWITCH; cleanup' EXIT
TIMEFORMAT=%U # of `time`

# A CPU that has just come online may not accept tasks yet.
on_cpu_1() { until taskset -c 1 "$@" >/dev/null; do sleep 0.005; done; }

# away_and_back: CPU 1 goes and returns. Adds to AWAY_MS.
away_and_back() {
	local begin
	begin=$(now_ms)
	echo 0 >$SWITCH
	sleep 0.2
	echo 1 >$SWITCH
	AWAY_MS=$((AWAY_MS + $(now_ms) - begin))
}

# run_new NUMBER: `taskset` executes the program on CPU 1. Programs with odd numbers move to CPU 0, which had its events
# all the time. Leaves the CPU time in $T/timeN.
run_new() {
	[ $(($1 % 2)) -eq 0 ] || move_to_cpu_0 "new$1" &
	{ time on_cpu_1 "$T/new$1" 0.6 2>/dev/null; } 2>"$T/time$1"
}
move_to_cpu_0() { wait_until 2 pgrep -x "$1" && taskset -pc 0 "$(pgrep -x "$1")"; } >/dev/null

# profile_in_background COMMAND…: ended by finish(), which leaves the results where profile() does.
profile_in_background() {
	start "$@" "$STOOK" profile --stats "$T/stats" -o "$T/out.folded" -F 499 -d 60
	RUN=$PID
	ln -f "$T/started" "$T/err"
	wait_until 20 samples "$RUN" || fail "start" "it does not sample"
}
finish() {
	kill -INT "$RUN"
	wait "$RUN"
	STATUS=$?
	cp "$T/out.folded" "$T/out"
}

# away KIND COMMAND…: a run under COMMAND, with all its checks.
away() {
	local kind=$1 few='' wrong='' nr right least
	shift
	AWAY_MS=0
	profile_in_background "$@"
	for ((i = 0; i < ROUNDS; i++)); do
		cp "$PROGRAMS/spin" "$T/new$i"
		away_and_back
		run_new $i
	done
	finish
	check_equal "$kind: status" "$STATUS" 0
	check "$kind: the conservation law holds" law_holds
	for ((i = 0; i < ROUNDS; i++)); do
		nr=$(sum_matching "^new$i;") right=$(sum_matching "^new$i;.*spin_(inner|outer)")
		# Up to 0.2 s may pass before the events are open again; a tenth is for imprecise clocks.
		least=$(awk '{ printf "%d", ($1 - 0.2) * 499 * 0.9 }' "$T/time$i")
		note "hotplug: $kind: new$i: $nr samples in $(cat "$T/time$i") s, $right with the right names"
		[ "$nr" -ge "$least" ] && [ "$nr" -gt 0 ] || few+=" new$i: $nr of $least"
		# The kernel's part of exec and exit is not in the program.
		[ $((nr - right)) -le $((1 + nr / 20)) ] || wrong+=" new$i: $right of $nr"
	done
	check_equal "$kind: each program on the returned CPU is sampled" "$few" ""
	check_equal "$kind: each has its own names" "$wrong" ""
	check "$kind: it is said" grep -q 'CPU 1 was offline at times: .* s without samples' "$T/err"
	check_equal "$kind: it is counted" "$(stat_of cpus_short)" 1
	note "hotplug: $kind: away for $AWAY_MS ms, $(stat_of cpus_short_us) us without samples"
	check "$kind: a CPU is sampled again within 0.2 s" \
		test $(($(stat_of cpus_short_us) / 1000)) -le $((AWAY_MS + ROUNDS * 200))
}

away "root" env
check_equal "nothing is said without reason" "$(profile -d 0.5; stat_of cpus_short)" 0

# A CPU that comes online during the run is sampled, too.
echo 0 >$SWITCH
profile_in_background env
echo 1 >$SWITCH
sleep 0.2
on_cpu_1 "$PROGRAMS/spin" 0.6 2>/dev/null
finish
check "a CPU that was offline at the start is sampled" test "$(sum_matching '^spin;.*spin_inner')" -gt 50
check_equal "a CPU that was offline at the start is counted" "$(stat_of cpus_short)" 1

# Time off CPU: threads of a CPU that goes away move to others, and its own threads of the kernel are parked.
for options in '' '--budget 5%' '--timeline 0.1'; do
	AWAY_MS=0
	start "$PROGRAMS/wait_mix" 60
	MIX=$PID
	start sleep 100
	SLEEPER=$PID
	rm -f "$T/stats"
	# shellcheck disable=SC2086
	start "$STOOK" profile --off-cpu -a $options --by comm,pid --stats "$T/stats" -o "$T/out.folded" 60
	RUN=$PID
	wait_until 20 samples "$RUN"
	sleep 0.3
	away_and_back
	sleep 0.3
	finish
	stop "$MIX" "$SLEEPER"
	check_equal "off CPU${options:+, $options}: every nanosecond is accounted for" \
		"$(nanoseconds_hold "$(total "$T/out.folded")")" ""
	check "off CPU${options:+, $options}: a thread that sleeps through it" test \
		"$(grep "^sleep-$SLEEPER;\[sleeping\];\[since before the run\]" "$T/out.folded" | total)" -ge 700000000
	check "off CPU${options:+, $options}: threads that wait on both CPUs" grep -q '^mix-' "$T/out.folded"
done

# Counters are opened again, and what a group counted before is kept.
start "$STOOK" stat -a --per-cpu --csv -e 'cpu-clock,{context-switches,page-faults}' -o "$T/stat.csv" -d 60
RUN=$PID
wait_until 20 samples "$RUN"
begin=$(now_ms)
AWAY_MS=0
on_cpu_1 sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done'
away_and_back
on_cpu_1 "$PROGRAMS/spin" 0.6 2>/dev/null
kill -INT "$RUN"
wait "$RUN"
lasted=$(($(now_ms) - begin))
of_cpu_1() { tr -d '"\r' <"$T/stat.csv" | awk -F, -v event="$1" '$3 == 1 && $4 == event { print $5 }'; }
ms=$(($(of_cpu_1 cpu-clock) / 1000000))
note "hotplug: stat: $ms ms of CPU 1 in $lasted ms, away for $AWAY_MS ms, $(of_cpu_1 page-faults) page faults"
check "stat: a CPU that came back is counted again" test $ms -gt $((lasted - AWAY_MS - 300))
check "stat: it is reported" grep -q 'CPU 1 was offline at times: [0-9.]* s without counts' "$T/started"
check "stat: the counts of a group are kept" test "$(of_cpu_1 page-faults)" -gt 300

# Probes are not tied to a CPU: each call is counted.
switch_with() { # switch_with PROGRAM: while it runs, CPU 1 goes and returns, and it moves there each time
	local pid
	wait_until 20 pgrep -x "$1" >/dev/null
	while pid=$(pgrep -x "$1"); do
		away_and_back
		taskset -pc 1 "$pid"
		sleep 0.1
	done >/dev/null 2>&1
}
for command in funccount "stackcount -f" tally; do
	cp "$PROGRAMS/count_rate" "$T/count_away"
	switch_with count_away &
	# shellcheck disable=SC2086 # a command and its options
	"$STOOK" $command --budget off "$T/count_away:rate_hit" -- "$T/count_away" 3000 1500 >"$T/out" 2>"$T/err"
	wait $!
	cat "$T/out" >>"$T/err"
	check "$command: calls on a returned CPU" \
		grep -qE '^rate_hit +3000$|^hits +3,000 fired = 3,000 shown|tallied 3,000 hits' "$T/err"
done

# The agent opens its events anew after a pause, on the CPUs that are online then; one that comes later is followed. Its
# helper processes outlive the pause, and are left out as before; new programs keep them busy.
: >"$T/err"
"$STOOK" agent --epoch 1 --budget off --store "$T/store" 2>"$T/err" </dev/null &
AGENT=$!
STARTED+=("$AGENT")
agent_samples() { readlink "/proc/$AGENT"/fd/* | grep -q perf_event; }
agent_rests() { ! agent_samples; }
wait_until 20 grep -q 'sampling at' "$T/err"
kill -USR1 "$AGENT"
wait_until 10 agent_rests
echo 0 >$SWITCH
kill -USR1 "$AGENT"
check "agent: it resumes without a CPU" wait_until 20 agent_samples
echo 1 >$SWITCH
cp "$PROGRAMS/spin" "$T/agent_1"
cp "$PROGRAMS/spin" "$T/agent_2"
sleep 0.3
on_cpu_1 "$T/agent_1" 1 2>/dev/null
kill -USR1 "$AGENT"
wait_until 10 agent_rests
kill -USR1 "$AGENT"
wait_until 20 agent_samples
sleep 0.3
on_cpu_1 "$T/agent_2" 1 2>/dev/null
for i in 1 2 3 4 5 6 7 8; do
	cp "$PROGRAMS/spin" "$T/another$i"
	"$T/another$i" 0.2 2>/dev/null
done
sleep 1.5
kill -TERM "$AGENT"
wait "$AGENT"
for program in agent_1 agent_2; do
	ms=$(build/tests/tools/print_store "$T/store" comm cpu | awk -v name=$program '$2 == name { n += $1 } END { printf "%d", n / 1e6 }')
	check "agent: it samples a CPU that came back ($program, $ms ms)" test "$ms" -gt 700
done
check_equal "agent: its own processes have no samples" \
	"$(build/tests/tools/print_store "$T/store" comm cpu | awk '$2 ~ /^stook/')" ""

# The events are opened again after stook has given up what it does not need.
caps=-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search,+checkpoint_restore,+syslog
chmod 777 "$T"
rm -f "$T/stats" "$T/out.folded"
ROUNDS=4
away "user" setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=$caps --ambient-caps=$caps
