# CPUs that go offline and come back are sampled again, the first one too, whose events count hits on all CPUs.
# shellcheck shell=sh disable=SC2154 # sourced by /init, which sets $PID, $TEST and has the functions
switch() { echo "$2" 2>/dev/null >"/sys/devices/system/cpu/cpu$1/online"; }

if ! { switch 1 0 && switch 1 1; }; then
	skip "all" "a second CPU"
	exit 0
fi
cpus=1
[ ! -w /sys/devices/system/cpu/cpu0/online ] || cpus="1 0"

figure "$TEST: perf_event_paranoid $(cat /proc/sys/kernel/perf_event_paranoid)"
for cpu in $cpus; do
	profile -a -e cpu-clock -F 99 -d 14 -f >out 2>err &
	run=$!
	sleep 6
	switch "$cpu" 0
	sleep 1
	switch "$cpu" 1
	taskset $((1 << cpu)) spin 4 >/dev/null
	wait $run
	sed -n 's/^ *"\([a-z_]*\)": \([0-9]*\),*$/\1 \2/p' stats.json >stats
	figure "$TEST: CPU $cpu: $(sum_matching '^spin;') samples in 4 s, $(stat_of cpus_short_us) us without"
	check "CPU $cpu is sampled again" test "$(sum_matching '^spin;.*spin_(inner|outer)')" -gt 0
	check "CPU $cpu: it is reported" grep -q "CPU $cpu was offline at times" err
	check "CPU $cpu: the law holds" test \
		"$(stat_of law_violations) $(stat_of mismatches)" = "0 0" -a "$(stat_of entries)" -gt 0
done

# Counters are opened again, and what a group counted before is kept.
timeout -s KILL 240 stook stat -a --per-cpu -e 'cpu-clock,{context-switches,page-faults}' --csv -d 10 >out 2>err &
run=$!
sleep 4
# shellcheck disable=SC2016 # expanded by the inner shell
taskset 2 sh -c 'for i in $(seq 30); do true; spin 0.01; done' >/dev/null # the run may begin in the midst of this
switch 1 0
sleep 1
switch 1 1
wait $run
of_cpu_1() { tr -d '"\r' <out | awk -F, -v event="$1" '$3 == 1 && $4 == event { print $5 }'; }
ms=$(($(of_cpu_1 cpu-clock) / 1000000))
figure "$TEST: stat: $ms ms of CPU 1, $(of_cpu_1 page-faults) page faults"
check "stat: CPU 1 is counted again" test $ms -gt 6000 -a $ms -lt 9500
check "stat: the group's counts are kept" test "$(of_cpu_1 page-faults)" -gt 100
check "stat: it is reported" grep -q 'CPU 1 was offline at times: .* s without counts' err

# Only where the first CPU can go: the events of probes are opened on it.
if [ "$cpus" = "1 0" ]; then
	timeout -s KILL 240 stook funccount --budget off "$(which spin):spin_outer" -d 12 >out 2>err &
	run=$!
	sleep 6
	switch 0 0
	spin 0.5 >/dev/null
	switch 0 1
	spin 0.5 >/dev/null
	wait $run
	check "hits are counted without the first CPU" grep -qE '^spin_outer +2$' out
	switch 0 0
	timeout -s KILL 240 stook funccount --budget off "$(which spin):spin_outer" -- spin 0.5 >out 2>err
	switch 0 1
	check "probes are attached without the first CPU" grep -qE '^spin_outer +1$' out
fi
