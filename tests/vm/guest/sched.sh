# shellcheck shell=sh disable=SC2154
# `stook sched`: the programs load, and its sums are those that threads read of themselves (schedstat), by the
# kernel's accounts and by the clock. A thread goes on for a moment after it has read its numbers.

# sched ARGUMENT…: leaves out, err, rows and $STATUS.
sched() {
	timeout -s KILL 240 stook sched --by comm,tid -o rows.csv "$@" >out 2>err </dev/null
	STATUS=$?
	tr -d '"\r' <rows.csv >rows
	return $STATUS
}

# differences CLOCK_US: prints which threads' sums are not those that they read.
differences() {
	awk -F, -v slack="$(($1 * 1000))" '
		FILENAME == "out" {
			split($0, word, " ")
			if (word[1] == "thread") {
				tid = word[3]; name[tid] = word[2]; run[tid] = word[4]; delay[tid] = word[5]
				waits[tid] = word[6]; nr++
			}
			next
		}
		/^time,/ { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["tid"] in name {
			tid = $column["tid"]; seen++
			more = $column["waits"] - waits[tid]
			most = 1.01 * delay[tid] + more * $column["max_delay_ns"] + slack * (waits[tid] + 20)
			if (more < 0 || more > 20) printf "%s: %d waits of %d; ", name[tid], $column["waits"], waits[tid]
			if ($column["run_ns"] < 0.99 * run[tid] || $column["run_ns"] > 1.01 * run[tid] + 1e8)
				printf "%s: ran %d of %d; ", name[tid], $column["run_ns"], run[tid]
			if ($column["delay_ns"] < 0.99 * delay[tid] - slack * (waits[tid] + 20) || $column["delay_ns"] > most)
				printf "%s: waited %d of %d; ", name[tid], $column["delay_ns"], delay[tid]
		}
		END { if (nr != 6 || seen != 6) printf "%d of %d threads; ", seen, nr }' out rows
}

# An emulated CPU takes hundreds of microseconds for a switch, and its kernel takes some times only to a millisecond.
for by in kernel clock; do
	if [ $by = kernel ]; then sched -- switches 2 0; else sched --wakeups -- switches 2 0; fi
	check "by the $by: status 0" test "$STATUS" -eq 0
	wrong=$(differences "$([ $by = kernel ] && echo 0 || echo 2000)")
	check "by the $by: sums are those that the threads read: $wrong" test -z "$wrong"
	check "by the $by: nothing is lost, all sums agree" test -z "$(grep -E 'differ|are lost' err)"
	figure "sched: $(grep switches err | head -n 1)"
done

# One that has a CPU to itself need not leave it.
start taskset 1 spin 100000
other=$PID
start taskset 1 spin 100000
timeout -s KILL 240 stook sched --timehist -p "$PID" 1 >out 2>err
stop "$other"
check "timehist: the thread's switches" grep -qE "spin\[$PID\] +[0-9.]+ +[0-9.]+ +[0-9.]+ +R" out
timeout -s KILL 240 stook sched --map --trace trace.json -p "$PID" 1 >out 2>err
check "map: the thread" grep -q "^spin:$PID " out
check "trace: its slices" grep -q "\"tid\": $PID, .*\"name\": \"running\"" trace.json
timeout -s KILL 240 stook sched --hist -a 1 >out 2>err
check "histogram" grep -q 'usecs .* distribution' out
if mkdir /sys/fs/cgroup/one 2>/dev/null; then
	echo "$PID" >/sys/fs/cgroup/one/cgroup.procs
	timeout -s KILL 240 stook sched --by cgroup --cgroup one --csv 1 >out 2>err
	check "a cgroup, whose thread never leaves its CPU" grep -q '"/one",1,' out
	echo "$PID" >/sys/fs/cgroup/cgroup.procs
else
	skip "a cgroup" "cgroup 2"
fi
stop "$PID"
