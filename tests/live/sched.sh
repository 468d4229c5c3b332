#!/usr/bin/env bash
# `stook sched` against programs/switches, whose threads read what the kernel says of them just before they end, and
# against what they are by construction: two that spin on one CPU, one that sleeps a known number of times, two that
# hand a byte to each other, one that keeps the CPU from all others.
#
# A thread goes on for a moment after it has read its numbers: its time is up to 2 ms more, and up to three waits are
# more, each at most as long as its longest.
#
# Other load is measured correctly, so the test need not be alone.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

CPU=$(sed 's/[,-].*//' /sys/devices/system/cpu/online)

# Prints the time that interrupts and the hypervisor took from the CPU, in ns and to 10 ms: it is nobody's run time.
taken_ns() { awk -v cpu="cpu$CPU" '$1 == cpu { print ($7 + $8 + $9) "0000000" }' /proc/stat; }

# sched ARG…: leaves $T/out, $T/err, $STATUS, and the most that was taken from $CPU meanwhile in $TAKEN_NS.
sched() {
	local before_ns
	before_ns=$(taken_ns)
	timeout -k 5 "${LIMIT:-60}" "$STOOK" sched "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
	TAKEN_NS=$(($(taken_ns) - before_ns))
	[ "$TAKEN_NS" -eq 0 ] || TAKEN_NS=$((TAKEN_NS + 20000000)) # both ends are known to 10 ms
	return $STATUS
}

# switches ARG…: runs stook on the program; its output is in $T/truth, the rows (without quotes) in $T/rows.
switches() {
	sched --by comm,tid --csv -o "$T/rows.csv" "$@" -- "$PROGRAMS/switches" 2 "$CPU"
	mv "$T/out" "$T/truth"
	tr -d '"\r' <"$T/rows.csv" >"$T/rows"
}

# judge CLOCK_US: prints what disagrees. Rows of several intervals are added up. If CLOCK_US is not 0, a delay may be
# that much longer or shorter for each wait, by the time taken from the CPU between the wake-up that the program sees
# and the kernel's own note of it, and longer by what the thread itself saw beyond the kernel's number. Some virtual
# machines do not report all switches (see offcpu.sh): by the clock, a thread with such switches is not judged, and one
# waits since it is created, not since it is woken for the first time.
judge() {
	awk -F, -v slack_ns="$(($1 * 1000))" '
	function far(got, want, slack) { return got < want - slack || got > want + slack }
	FILENAME ~ /truth$/ {
		split($0, word, " ")
		if (word[1] == "hogged") hog_end[++nr_hogs] = word[3]
		if (word[1] != "thread") next
		tid = word[3]
		name[tid] = word[2]; run[tid] = word[4]; delay[tid] = word[5]; waits[tid] = word[6]
		voluntary[tid] = word[7]; involuntary[tid] = word[8]; lived[tid] = word[9]
		existed[tid] = word[10]; late[tid] = word[11]
		next
	}
	/^time,/ { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{
		tid = $column["tid"]
		got_run[tid] += $column["run_ns"]; got_delay[tid] += $column["delay_ns"]
		got_waits[tid] += $column["waits"]; got_voluntary[tid] += $column["voluntary"]
		got_involuntary[tid] += $column["involuntary"]; unsplit[tid] += $column["unsplit"]
		if ($column["max_delay_ns"] > longest[tid]) {
			longest[tid] = $column["max_delay_ns"]; longest_end[tid] = $column["max_delay_end_ns"]
			longest_cpu[tid] = $column["max_delay_cpu"]
		}
	}
	END {
		for (tid in name) {
			more = got_waits[tid] - waits[tid]
			printf "%-9s ran %.3f ms, read %.3f; waited %.3f, read %.3f; waits %d, read %d; longest %.3f\n",
				name[tid], got_run[tid] / 1e6, run[tid] / 1e6, got_delay[tid] / 1e6, delay[tid] / 1e6,
				got_waits[tid], waits[tid], longest[tid] / 1e6 > "/dev/stderr"
			if (slack_ns && (more < 0 || unsplit[tid])) {
				print name[tid] " had switches that the kernel did not report" > "/dev/stderr"
				continue
			}
			if (got_run[tid] < 0.99 * run[tid] || got_run[tid] > 1.01 * run[tid] + 2e6)
				printf "%s: ran %d ns, not %d; ", name[tid], got_run[tid], run[tid]
			if (more < 0 || more > 3) printf "%s: %d waits, not %d; ", name[tid], got_waits[tid], waits[tid]
			slack = slack_ns ? slack_ns * (waits[tid] + 20) + taken_ns : 0
			if (got_delay[tid] < 0.99 * delay[tid] - slack ||
			    got_delay[tid] > 1.01 * delay[tid] + more * longest[tid] + slack + (slack_ns ? late[tid] : 0))
				printf "%s: waited %d ns, not %d; ", name[tid], got_delay[tid], delay[tid]
			if (far(got_voluntary[tid] - 1, voluntary[tid], 1))
				printf "%s: %d voluntary switches, not %d; ", name[tid], got_voluntary[tid],
					voluntary[tid]
			if (got_involuntary[tid] < involuntary[tid] || got_involuntary[tid] > involuntary[tid] + 3)
				printf "%s: %d involuntary switches, not %d; ", name[tid], got_involuntary[tid],
					involuntary[tid]
			if (name[tid] ~ /spin/) {
				spun[++nr_spun] = got_run[tid]
				sum = got_run[tid] + got_delay[tid]
				if (sum > 1.005 * existed[tid] || sum < 0.995 * lived[tid] - taken_ns)
					printf "%s: ran and waited for %d ns, lived for %d, taken %d; ", name[tid],
						sum, lived[tid], taken_ns
				found = !nr_hogs || hog_end[1] == 0
				for (i = 1; i <= nr_hogs; i++)
					if (longest_end[tid] >= hog_end[i] - 1e6 && longest_end[tid] < hog_end[i] + 100e6)
						found = 1
				if (!unsplit[tid] && (!found || longest[tid] < 140e6))
					printf "%s: longest %d ns until %d; ", name[tid], longest[tid], longest_end[tid]
				if (longest_cpu[tid] != cpu) printf "%s: on CPU %d; ", name[tid], longest_cpu[tid]
			}
			if (name[tid] == "s-sleep" && far(voluntary[tid], 30, 1))
				printf "s-sleep: %d voluntary switches; ", voluntary[tid]
		}
		if (nr_spun == 2 && far(spun[1], spun[2], spun[2] / 20)) printf "shares %d and %d; ", spun[1], spun[2]
	}' cpu="$CPU" taken_ns="$TAKEN_NS" "$T/truth" "$T/rows"
}

# No sum differs, and nothing is lost.
nothing_lost() {
	check_equal "$1: nothing is lost, all sums agree" "$(grep -E 'lost|differ|share a row' "$T/err" |
		grep -v '+ 0 lost$')" ""
}

switches
check "runs" test "$STATUS" -eq 0 -a -s "$T/rows"
check_equal "time, delays and switches are those that the threads read" "$(judge 0)" ""
nothing_lost "of each thread"

# By the clock, from the wake-up: the kernel takes the time at other places.
switches --wakeups
check_equal "the same by the clock" "$(judge 5)" ""

# Intervals add up: a thread that never sleeps is in each.
switches -i 0.3
check_equal "intervals add up" "$(judge 0)" ""
check "… and threads that spin are in each" test "$(grep -c s-spin-0 "$T/rows")" -ge 6
nothing_lost "intervals"

# Each wait is in its bucket, and each switch is in the trace. The kernel adds some of the switch itself to the thread. A
# slice is time that passed: what was taken from the CPU meanwhile is in it, and not in the thread's CPU time.
sched --by comm,tid --hist --trace "$T/trace" -o "$T/all.json" -- "$PROGRAMS/switches" 1 "$CPU"
sed 's/{"comm"/\n&/g' "$T/all.json" >"$T/rows.json"
check_equal "waits are the sum of the histogram" "$(grep '"tid"' "$T/rows.json" | awk '{
	waits = $0; sub(/.*"waits": /, "", waits); unsplit = $0; sub(/.*"unsplit": /, "", unsplit)
	sum = unsplit + 0
	rest = $0; sub(/.*"histogram": /, "", rest)
	while (match(rest, /"count": [0-9]+/)) {
		sum += substr(rest, RSTART + 9, RLENGTH - 9); rest = substr(rest, RSTART + RLENGTH) }
	if (sum != waits + 0) printf "%d in the histogram, %d waits; ", sum, waits
	if (++nr > 0 && !index($0, "histogram")) print "none" }
	END { if (nr < 6) print nr " threads" }')" ""
check_equal "each switch is in the trace" "$(awk -v taken="$TAKEN_NS" '
	function number(name, text) { text = $0; sub(".*\"" name "\": ", "", text); return text + 0 }
	FILENAME ~ /rows/ && /"tid"/ { tid = number("tid"); run[tid] = number("run_ns"); n[tid] = number("switches") }
	/"name": "running"/ { tid = number("tid"); slices[tid]++; ran[tid] += number("dur") * 1000 }
	END {
		for (tid in run) {
			if (slices[tid] != n[tid]) printf "%d: %d of %d; ", tid, slices[tid], n[tid]
			slack = run[tid] / 20 + 1e4 * n[tid] + 2e5
			if (ran[tid] < run[tid] - slack || ran[tid] > run[tid] + slack + taken)
				printf "%d: %d ns in slices, ran %d, taken %d; ", tid, ran[tid], run[tid], taken
		}
	}' "$T/rows.json" "$T/trace")" ""
nothing_lost "trace"
# Also before a thread's first slice: what of that delay is older than the trace is cut. So is what is older than the wait
# by the clock.
check_equal "each delay is in the trace" "$(awk '
	function number(name, text) { text = $0; sub(".*\"" name "\": ", "", text); return text + 0 }
	/"ts"/ { at = number("ts"); if (!began || at < began) began = at }
	/"delay_us"/ {
		tid = number("tid"); us = number("delay_us"); delay[tid] += us
		if (!(tid in first) || at < first[tid]) { first[tid] = at; first_us[tid] = us }
	}
	/"name": "runnable"/ { tid = number("tid"); drawn[tid] += number("dur") }
	END {
		for (tid in delay) {
			nr++
			old = first_us[tid] - (first[tid] - began)
			if (drawn[tid] > delay[tid] + 1 || drawn[tid] < (delay[tid] - (old > 0 ? old : 0)) * 0.9 - 1000)
				printf "%d: %d of %d us, the first %d, after %d; ", tid, drawn[tid], delay[tid], first_us[tid], first[tid] - began
		}
		if (nr < 6) print nr " threads"
	}' "$T/trace")" ""
# A thread that never sleeps may not leave its CPU in the whole run. The kernel brings its numbers up to date at each tick.
start taskset -c "$CPU" "$PROGRAMS/spin" 60
sched --by tid --trace "$T/trace" -o "$T/all.json" -p "$PID" 0.5
stop "$PID"
check_equal "what still runs at the end is in the trace" "$(sed 's/{"tid"/\n&/g' "$T/all.json" | awk -v taken="$TAKEN_NS" '
	function number(name, text) { text = $0; sub(".*\"" name "\": ", "", text); return text + 0 }
	FILENAME != ARGV[2] && /"tid": [1-9]/ && /run_ns/ { run = number("run_ns"); n = number("switches") }
	/"name": "running"/ { ran += number("dur") * 1000 }
	END {
		if (!run || ran < run - 1e4 * n - 1e7 || ran > run + 1e4 * n + 1e7 + taken)
			print ran " ns in slices, ran " run ", taken " taken
	}' - "$T/trace")" ""

# What is told apart, and where it ran.
sched --by cpu --csv 0.5
check_equal "a row for each CPU" "$(($(wc -l <"$T/out") - 1))" "$(nproc --all)"
start taskset -c "$CPU" "$PROGRAMS/spin" 60
OTHER=$PID # two on one CPU: a thread alone may keep it for the whole time
start taskset -c "$CPU" "$PROGRAMS/spin" 60
SPINNER=$PID
let_run "$SPINNER" 10
sched --map --json -p "$SPINNER" 1
check "a map: all of it on one CPU" grep -q "\"ran_ns\": \[{\"from\": $CPU, \"to\": $CPU, \"count\": [0-9]*}\]" "$T/out"
sched --by pid --csv -t "$SPINNER" 0.5
check_equal "one thread" "$(($(wc -l <"$T/out") - 1))" 1
start sleep 60
sched -p "$PID" 0.5
check "a task that only waits: it is told where to look" grep -q 'did not run on a CPU.*--off-cpu' "$T/err"
cgroup_mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
cgroup=$cgroup_mount/stook-test-$$
if [ "$cgroup_mount" ] && mkdir "$cgroup" 2>/dev/null; then
	echo "$SPINNER" >"$cgroup/cgroup.procs"
	sched --by cgroup,pid -o "$T/rows.json" --cgroup "stook-test-$$" 0.5
	check "a cgroup: its thread" grep -q "{\"pid\": $SPINNER, \"cgroup\": \"/stook-test-$$\", " "$T/rows.json"
	check_equal "… and no others" "$(grep -o '"pid"' "$T/rows.json" | wc -l)" 1
	echo "$SPINNER" >"$cgroup_mount/cgroup.procs"
	rmdir "$cgroup"
else
	skip "a cgroup" "a cgroup2 mount in which a cgroup can be made"
fi

for by in cpu cgroup; do
	sched --hist --by "$by" 0.5
	check "a histogram by $by" grep -q 'usecs .* distribution' "$T/out"
done

# A thread that is moved from one CPU to another, and back.
if [ "$(nproc)" -ge 2 ]; then
	start "$PROGRAMS/spin" 60
	"$STOOK" sched -q --by tid --json -t "$PID" 2 >"$T/moved.json" 2>"$T/err" &
	run=$!
	cpus=$(taskset -cp $$ | sed 's/.*: //; s/[,-]/ /g') # the ends of ranges are enough
	while kill -0 "$run" 2>/dev/null; do
		for to in $cpus; do
			taskset -cp "$to" "$PID" >/dev/null
			sleep 0.05
		done
	done
	wait "$run"
	stop "$PID"
	moves=$(sed -n 's/.*"migrations": \([0-9]*\).*/\1/p' "$T/moved.json")
	check "migrations are counted: ${moves:-none}, at least 9" test "${moves:-0}" -ge 9
else
	skip "migrations" "two CPUs"
fi

# Lines as perf has them, and only long delays.
sched --timehist -C "$CPU" -t "$SPINNER" 0.5
check "timehist: the thread" grep -qE "^ +[0-9]+\.[0-9]{6} \[0*$CPU\]  spin\[$SPINNER\] +[0-9.]+ +[0-9.]+ +[0-9.]+ +R" "$T/out"
sched --timehist --min-us 1000 0.5
check_equal "timehist: no short delay" "$(awk 'NR > 3 && $(NF - 2) < 1' "$T/out")" ""
"$STOOK" sched --timehist -q 10 2>"$T/err" | head -n 1 >"$T/out"
check_equal "timehist: a reader that has enough is no error" "${PIPESTATUS[0]}" 0
check "… nor a message" test ! -s "$T/err"
"$STOOK" sched --timehist -q 0.5 >/dev/full 2>"$T/err"
check_equal "timehist: a full disk is one" $? 1
check "… with its reason" grep -qE 'space|full' "$T/err"
stop "$SPINNER"
stop "$OTHER"

# Threads that end: each has its row until then, and is sent once.
sched --by tid -o "$T/rows.csv" -- "$PROGRAMS/forkstorm" 1 10
check "ended threads have rows" test "$(wc -l <"$T/rows.csv")" -gt "$(sed -n 's/^children //p' "$T/out")"
nothing_lost "ended threads"
sched --max-rows 5 --by tid -o "$T/rows.csv" -- "$PROGRAMS/forkstorm" 1 10
check_equal "… as many as asked for, and one for the others" "$(grep -vc '^time' "$T/rows.csv")" 6
check "… which is said" grep -q 'share a row' "$T/err"

sched --by cpu,tid 1
check_equal "keys that contradict each other" "$STATUS" 2
sched --timehist --hist 1
check_equal "outputs that contradict each other" "$STATUS" 2
