# shellcheck shell=sh disable=SC2154
# Off-CPU time: the programs load, and the sums hold to the nanosecond, on kernels with and without the state as
# an argument of the tracepoint (5.18).

near() { # near GOT EXPECTED PERCENT
	awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { exit !(a > b * (1 - p / 100) && a < b * (1 + p / 100)) }'
}

profile --off-cpu -o out.folded -- sleep 2
check "status 0" test "$STATUS" -eq 0
check "one program: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
cp out.folded out 2>/dev/null
slept=$(awk '/^sleep;\[sleeping\];.*nanosleep/ { sum += $NF } END { printf "%.0f", sum }' out)
figure "offcpu: slept $slept ns of 2 s, BPF $(stat_of bpf_ns) ns"
check "a sleep of 2 s, to 2 %" near "$slept" 2000000000 2

profile --off-cpu --wakers -o out.folded -- sleep 1
check "wakers: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
cp out.folded out 2>/dev/null
woken=$(awk '/^sleep;\[sleeping\];.*nanosleep.*;--;.*;hrtimer[^;]*;.*;\[irq\] [0-9]+$/ { sum += $NF } END { printf "%.0f", sum }' out)
check "… a timer ends a sleep of 1 s, to 2 %" near "$woken" 1000000000 2

profile --off-cpu --io-wait -o out.folded -- sleep 1
check "I/O waits: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
check "… a sleep is none" test "$(grep -c nanosleep out.folded)" -eq 0

start sleep 60
profile --off-cpu -a -o out.folded 2
check "all programs: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
check "threads that sleep since before the run" \
	grep -q '^sleep;\[sleeping\];\[since before the run\];.*nanosleep' out.folded
stop "$PID"

# The cgroup of a thread that does not run is read from the task.
if mkdir /sys/fs/cgroup/one 2>/dev/null; then
	start sleep 60
	echo "$PID" >/sys/fs/cgroup/one/cgroup.procs
	profile --off-cpu --cgroup one --by comm,cgroup -o out.folded 2
	check "a cgroup: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
	cp out.folded out 2>/dev/null
	slept=$(awk '/^sleep;cgroup [/]one;[[]sleeping[]];[[]since before the run[]];.*nanosleep/ { sum += $NF } END { printf "%.0f", sum }' out)
	check "… a thread that sleeps since before the run: $slept ns of 2 s" near "$slept" 2000000000 2
	stop "$PID"
	sleep 0.1
	rmdir /sys/fs/cgroup/one
else
	skip "a cgroup" "cgroup 2"
fi

start spin 60
start spin 60
profile --off-cpu -p "$PID" -o out.folded 2
check "a running thread: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
cp out.folded out 2>/dev/null
asleep=$(awk '!/^spin;\[runnable\]/ { sum += $NF } END { printf "%.0f", sum }' out)
# It can wait in a page fault while its mappings are read: both take mmap_lock.
check "… is hardly ever asleep: $asleep ns of 2 s" test "$asleep" -lt 20000000

profile --wall -p "$PID" -o out.folded 2
check "wall time: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
cp out.folded out 2>/dev/null
spun=$(awk '/^spin;\[(running|runnable)\];/ { sum += $NF } END { printf "%.0f", sum }' out)
figure "wall: ran or waited for a CPU $spun ns of 2 s"
check "… a running thread's is the run's, to 10 %" near "$spun" 2000000000 10

# A storm under a budget: most waits are not walked.
start wait_mix 60
profile --off-cpu --budget 1% -p "$PID" -o out.folded 3
check "under a budget: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
check "… most waits are not walked" test "$(stat_of thinned)" -gt "$(stat_of walks)"
figure "budget: $(stat_of walks) walks, $(stat_of thinned) other waits, $(stat_of follow_run_ns) ns each"
stop "$PID"
