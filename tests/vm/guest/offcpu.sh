# shellcheck shell=sh disable=SC2154
# Off-CPU time: the programs load, and the sums hold to the nanosecond, on kernels with and without the state as
# an argument of the tracepoint (5.18).

# in_run NS LEAST_NS: not less, and to 1 % not more than the run lasted, which a busy host makes longer.
in_run() {
	awk -v ns="$1" -v least="$2" -v most="$(stat_of sampled_us)" 'BEGIN { exit !(ns >= least && ns <= most * 1010) }'
}

profile --off-cpu -o out.folded -- sleep 2
check "status 0" test "$STATUS" -eq 0
check "one program: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
cp out.folded out 2>/dev/null
slept=$(awk '/^sleep;\[sleeping\];.*nanosleep/ { sum += $NF } END { printf "%.0f", sum }' out)
figure "offcpu: slept $slept ns of 2 s, BPF $(stat_of bpf_ns) ns"
check "a sleep of 2 s: $slept ns of a run of $(stat_of sampled_us) us" in_run "$slept" 1990000000

# Threads that measure their own waits, as in tests/live/offcpu.sh. An emulated switch takes long, and is measured twice
# in part: by the thread, of which it is CPU time, and as time off its CPU. Paths need unwind tables, which are made slowly
# here, and kept for the next run.
for try in 1 2 3; do
	profile --off-cpu --by comm,tid -o out.folded -- waits 4
	[ $(($(stat_of user_end_no_table) * 20)) -gt "$(stat_of shown_ns)" ] || break
	figure "waits: run $try: tables came late"
done
check "waits: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
wrong=$(awk '
	function far(seen, wanted, slack) { return seen - wanted > slack || wanted - seen > slack }
	function most(a, b) { return a > b ? a : b }
	FILENAME == "out" && $1 == "thread" {
		name[$3] = $2; path[$3] = $4; wall[$3] = $5; most_wall[$3] = $6; run[$3] = $7; off[$3] = $8; calls[$3] = $9
	}
	FILENAME == "out" && $1 == "stopped" { stopped_tid = $3; least_ns = $4; most_ns = $5 }
	FILENAME == "out" { next }
	{
		tid = substr($0, 1, index($0, ";") - 1)
		sub(".*/", "", tid)
		all[tid] += $NF
		if (index($0, ";" path[tid] ";")) in_path[tid] += $NF
		if (index($0, "[runnable];")) runnable[tid] += $NF
		if (index($0, "[stopped];")) stopped[tid] += $NF
	}
	END {
		for (tid in wall) {
			got = in_path[tid]; want = off[tid]; nr++
			if (name[tid] ~ /spin/) { got = runnable[tid]; want = wall[tid] - run[tid] }
			if (name[tid] ~ /futex/) { got = all[tid]; want = wall[tid] - run[tid] }
			printf "%s %.3f of %.3f ms in %d calls, run + off / wall %.4f\n", name[tid], got / 1e6, want / 1e6, calls[tid],
				(all[tid] + run[tid]) / wall[tid] > "table"
			if (far(got, want, most(want / 33, 200e3 * calls[tid])))
				printf "%s: %.3f ms, measured %.3f; ", name[tid], got / 1e6, want / 1e6
			sum = all[tid] + run[tid]
			if (sum < 0.97 * wall[tid] || sum > 1.03 * most_wall[tid])
				printf "%s: run and off CPU %.3f ms of %.3f; ", name[tid], sum / 1e6, wall[tid] / 1e6
		}
		if (nr != 7) printf "%d threads; ", nr
		if (far(stopped[stopped_tid], (least_ns + most_ns) / 2, most_ns - least_ns))
			printf "w-stop: %.3f ms; ", stopped[stopped_tid] / 1e6
	}' out out.folded)
while read -r line; do figure "waits: $line"; done <table
check "waits agree with the clocks, to 3 % or 200 us a wait: $wrong" test -z "$wrong"

profile --off-cpu --wakers -o out.folded -- sleep 1
check "wakers: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
cp out.folded out 2>/dev/null
woken=$(awk '/^sleep;\[sleeping\];.*nanosleep.*;--;.*;hrtimer[^;]*;.*;\[irq\] [0-9]+$/ { sum += $NF } END { printf "%.0f", sum }' out)
check "… a timer ends a sleep of 1 s: $woken ns of a run of $(stat_of sampled_us) us" in_run "$woken" 990000000

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
	slept=$(awk '/^sleep;cgroup .one;[[]sleeping[]];[[]since before the run[]];.*nanosleep/ { sum += $NF } END { printf "%.0f", sum }' out)
	check "… a thread that sleeps since before the run: $slept ns of $(stat_of sampled_us) us" in_run "$slept" 1990000000
	stop "$PID"
	sleep 0.1
	rmdir /sys/fs/cgroup/one
else
	skip "a cgroup" "cgroup 2"
fi

start spin 300
SPINNER=$PID
start spin 300
profile --off-cpu -p "$PID" -o out.folded 2
check "a running thread: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
cp out.folded out 2>/dev/null
# It can wait in a page fault while its mappings are read, which takes long on a busy host: both take mmap_lock.
asleep=$(awk '!/^spin;[[]runnable[]]/ && !/;rwsem_down_read/ { sum += $NF } END { printf "%.0f", sum }' out)
check "… was not asleep before the run" test "$(grep -c '^spin;[[]sleeping[]];[[]since' out)" -eq 0
check "… is hardly ever asleep: $asleep ns of 2 s: $(grep -v '^spin;.runnable.' out | sort -t' ' -k2,2nr | head -3)" \
	test "$asleep" -lt 20000000

# Samples show how long it ran. An emulated CPU misses ticks: these are in the estimate.
profile --wall -F 100 -p "$PID" -o out.folded 2
check "wall time: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
cp out.folded out 2>/dev/null
spun=$(awk '/^spin;\[(running|runnable)\];/ { sum += $NF } END { printf "%.0f", sum }' out)
missed=$(($(stat_of unseen_estimate) * 10000000))
figure "wall: ran or waited for a CPU $spun ns of $(stat_of sampled_us) us, missed $missed ns"
run_us=$(stat_of sampled_us)
check "… a running thread's is the run's, to 10 %" \
	test "$spun" -ge $((run_us * 900 - missed)) -a "$spun" -le $((run_us * 1100))
stop "$PID"
stop "$SPINNER"

# A storm under a budget: most waits are not walked. Beside it, an emulated CPU takes a minute to load the programs.
start wait_mix 300
profile --off-cpu --budget 1% -p "$PID" -o out.folded 3
check "under a budget: every nanosecond is accounted for" test -z "$(waits_hold out.folded)"
check "… most waits are not walked" test "$(stat_of thinned)" -gt "$(stat_of walks)"
figure "budget: $(stat_of walks) walks, $(stat_of thinned) other waits, $(stat_of follow_run_ns) ns each"
stop "$PID"
