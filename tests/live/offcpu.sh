#!/usr/bin/env bash
# Off-CPU time against programs/waits, whose threads measure each of their waits. A path agrees if its time in
# the profile is within 1 %, or 50 µs a call, of the time that passed minus the CPU time. For each thread, the CPU
# time and all of the time in the profile are the time from its creation to its end, within 0.5 %; both ends are
# known only as well as the scheduler lets threads see them. A timer is never early, but can be late: a thread is
# asleep for the time that it asked for, or longer, and runnable for the rest.
#
# The CPU time of a thread is less than its time on a CPU if the hypervisor ran something else meanwhile: in bursts, up
# to 7 % for the disk, some 10 us at each write. So the sum may be less by waits_stolen_ns, that time of all threads.
#
# The scheduler counts most of a switch as CPU time of the thread that it switches to, and it is off CPU until the
# switch is reported: 1.8 us on average for a thread that wakes an idle CPU of a virtual machine, where it rearms timers.
# In the first and last part of a switch interrupts are off, and a sample due there is taken of what runs next: up to 8
# us for each of these waits. The other way round, the CPU time of the thread that leaves ends before the search for the one
# that comes next, and its wait begins after it: 0 to 66 ns on average for threads that hand over 10,000 to 40,000 times a
# second, the most beside busy CPUs.
#
# The sums must hold to the nanosecond, in the kernel's counters and between these and the output.
#
# SECONDS_EACH (3) makes it longer.
#
# Alone: other load is measured correctly, but then little is measured of anything else.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

SECONDS_EACH=${SECONDS_EACH:-3}

# named_profile ARG…: as profile. If a busy machine kept the profiler from reading a file or the mappings of a process in
# time, which it says, the run is repeated: paths without names can't be judged.
named_profile() {
	local try
	for try in 1 2 3; do
		profile "$@"
		[ "$(stat_of files_silent)" -gt 0 ] || [ "$(stat_of processes_silent)" -gt 0 ] || return 0
		note "run $try: files or mappings were not read in time"
	done
}

# judge MEASURED FOLDED: prints a table on stderr, and what disagrees on stdout. Threads are told apart by tid,
# since they wait before they have a name.
#
# By frame pointers, code of libc that uses that register for something else hides in_futex. So for w-futex, as
# for the threads that spin, all of the thread's time off its CPU counts, and by unwind tables most of it must be in the
# path. What is measured for these, the time that passed minus the CPU time, has what the hypervisor stole in it.
#
# w-spin-0 and w-spin-1 never wait, and share a CPU with others by their weights: of what is left after the time in the
# queue, they have 1024 to 335 parts, however busy the machine is, to some slices of the scheduler.
#
# A thread's CPU clock goes by the scheduler's clock, which stands still from a wake-up to the switch that it causes: what
# the CPU does meanwhile, 1 to 3 us, is in the CPU time of the thread that is woken, and not in that of the one that it
# preempts. So these may have less time, and threads that wait more; of all threads together, nothing may be missing. Where
# the rest of an interrupt takes longer, up to 5 us on a busy host, what the preempted ones miss is in waits_stolen_ns, which
# so may be too much in the time of a thread that waits, too: w-disk had 35 ms too much of 3 s where waits_stolen_ns was 77,
# and 97 where it was 126.
#
# What ends before the mappings of a new process are known has frames [unknown]; it may be in any path.
judge() {
	awk -v by_tables="$3" -v stolen="$(stat_of waits_stolen_ns)" '
	function far(seen, wanted, slack) { return seen - wanted > slack || wanted - seen > slack }
	function most(a, b) { return a > b ? a : b }
	FNR == NR && $1 == "thread" {
		name[$3] = $2; path[$3] = $4; wall[$3] = $5; most_wall[$3] = $6
		run[$3] = $7; off[$3] = $8; calls[$3] = $9; asked[$3] = $10; preempted[$3] = $11
	}
	FNR == NR && $1 == "stopped" { stopped_tid = $3; least_ns = $4; most_ns = $5 }
	FNR == NR { next }
	{
		ns = $NF
		tid = substr($0, 1, index($0, ";") - 1)
		sub(/.*\//, "", tid)
		all[tid] += ns
		if (index($0, ";[unknown]")) unknown[tid] += ns
		if (index($0, ";" path[tid] ";")) in_path[tid] += ns
		if (index($0, "[sleeping];") && index($0, ";" path[tid] ";")) sleeping[tid] += ns
		if (index($0, "[runnable];")) runnable[tid] += ns
		if (index($0, "[stopped];")) stopped[tid] += ns
		if (index($0, "[blocked];")) blocked[tid] += ns
	}
	END {
		for (tid in wall) {
			if (name[tid] ~ /spin/) {
				on_cpu[name[tid]] = wall[tid] - runnable[tid]
				unsure += most_wall[tid] - wall[tid] # queued before it began, or after its end
			}
			if (name[tid] ~ /disk|fault/ && !blocked[tid]) printf "%s: never blocked; ", name[tid]
			got = in_path[tid]
			want = off[tid]
			if (name[tid] ~ /spin/) { got = runnable[tid]; want = wall[tid] - run[tid] }
			if (name[tid] ~ /futex/) { got = all[tid]; want = wall[tid] - run[tid] }
			if (name[tid] !~ /futex|spin/ && unknown[tid] < want / 20) got += unknown[tid]
			printf "%-9s %-9s %13.3f ms, measured %13.3f ms, %7.3f us a call;  run + off / wall %.5f\n",
				name[tid], path[tid], got / 1e6, want / 1e6, (got - want) / 1e3 / calls[tid],
				(all[tid] + run[tid]) / wall[tid] > "/dev/stderr"
			slack = most(want / 100, 50e3 * calls[tid])
			if (got + slack + (name[tid] ~ /spin|futex/ ? stolen : 0) < want || got > want + slack)
				printf "%s: %.3f ms, measured %.3f; ", name[tid], got / 1e6, want / 1e6
			sum = all[tid] + run[tid]
			if (sum + stolen + 100 * calls[tid] + 3e3 * preempted[tid] < 0.995 * wall[tid] ||
			    sum > 1.005 * most_wall[tid] + 3e3 * calls[tid] + stolen)
				printf "%s: run and off CPU %.3f ms of %.3f to %.3f, %.3f stolen; ", name[tid],
					sum / 1e6, wall[tid] / 1e6, most_wall[tid] / 1e6, stolen / 1e6
			all_sum += sum
			all_wall += wall[tid]
			all_most += most_wall[tid]
			if (asked[tid] && (sleeping[tid] + unknown[tid] < 0.99 * asked[tid] || sleeping[tid] > 1.01 * got))
				printf "%s: asleep %.3f ms, asked for %.3f; ", name[tid], sleeping[tid] / 1e6,
					asked[tid] / 1e6
			if (by_tables && name[tid] ~ /futex/ && in_path[tid] < 0.8 * all[tid])
				printf "w-futex: %.3f ms in its path; ", in_path[tid] / 1e6
		}
		printf "all threads: run + off / wall %.5f\n", all_sum / all_wall > "/dev/stderr"
		if (all_sum + stolen < 0.998 * all_wall || all_sum > 1.002 * all_most)
			printf "all threads: run and off CPU %.3f ms of %.3f to %.3f; ", all_sum / 1e6, all_wall / 1e6,
				all_most / 1e6
		share = on_cpu["w-spin-1"] * 1024 / 335
		printf "w-spin-1 ran %.3f ms, w-spin-0 %.3f ms: by weight %.3f\n", on_cpu["w-spin-1"] / 1e6,
			on_cpu["w-spin-0"] / 1e6, share / on_cpu["w-spin-0"] > "/dev/stderr"
		if (far(share, on_cpu["w-spin-0"], on_cpu["w-spin-0"] / 20 + 30e6 + 3 * (unsure + stolen)))
			printf "w-spin-0 and w-spin-1: %.3f and %.3f ms; ", on_cpu["w-spin-0"] / 1e6, on_cpu["w-spin-1"] / 1e6
		printf "w-stop stopped %.3f ms, between %.3f and %.3f\n", stopped[stopped_tid] / 1e6, least_ns / 1e6,
			most_ns / 1e6 > "/dev/stderr"
		if (stopped[stopped_tid] < least_ns || stopped[stopped_tid] > most_ns)
			printf "w-stop: %.3f ms; ", stopped[stopped_tid] / 1e6
	}' "$1" "$2"
}

# judge_wall MEASURED FOLDED PERIOD_NS: the time in which a thread runs is that of its samples, of which there are
# more or less than expected; all of its time is its wall time.
judge_wall() {
	awk -v period="$3" -v stolen="$(stat_of waits_stolen_ns)" '
	FNR == NR && $1 == "thread" {
		name[$3] = $2; wall[$3] = $5; most_wall[$3] = $6; run[$3] = $7; calls[$3] = $9
	}
	FNR == NR { next }
	{
		tid = substr($0, 1, index($0, ";") - 1)
		sub(/.*\//, "", tid)
		all[tid] += $NF
		if (index($0, "[running];")) running[tid] += $NF
	}
	END {
		for (tid in wall) {
			slack = 2 * period + 5 * sqrt(run[tid] * period)
			unseen = stolen + 8e3 * calls[tid]
			printf "%-9s running %9.3f ms, measured %9.3f, +- %.3f;  all / wall %.4f\n", name[tid],
				running[tid] / 1e6, run[tid] / 1e6, slack / 1e6, all[tid] / wall[tid] > "/dev/stderr"
			if (running[tid] < run[tid] - slack - unseen || running[tid] > run[tid] + slack + stolen)
				printf "%s: running %.3f ms of %.3f; ", name[tid], running[tid] / 1e6, run[tid] / 1e6
			if (all[tid] + slack + unseen < 0.995 * wall[tid] || all[tid] - slack > 1.005 * most_wall[tid])
				printf "%s: %.3f ms of %.3f to %.3f; ", name[tid], all[tid] / 1e6, wall[tid] / 1e6,
					most_wall[tid] / 1e6
		}
	}' "$1" "$2"
}

# judge_split EXACT ESTIMATED STATS: two profiles of the same storm, one of every switch. Each thread has the same time, and
# each path, within the error that the run printed, to 5 %: at each switch one program is run after the other, and what the
# first one takes, 3 us for a walk, is a wait for one of them only. (That times are exact is checked against clocks.)
judge_split() {
	awk -v error="$(numbers_of "$3" | awk '$1 == "split_error_ns" { print $2 }')" '
	function far(seen, wanted, slack) { return seen - wanted > slack || wanted - seen > slack }
	{
		is_exact = FILENAME == ARGV[1]
		split($0, part, ";")
		time[is_exact, part[1]] += $NF
		threads[part[1]]
		sum[is_exact] += $NF
		for (i = 1; i <= 4; i++) {
			name = substr("in_short      in_other_shortin_busy       in_long", 14 * i - 13, 14)
			sub(/ +$/, "", name)
			if (index($0, ";" name ";")) path[is_exact, name] += $NF
			paths[name]
		}
	}
	END {
		for (thread in threads) {
			exact = time[1, thread]
			got = time[0, thread]
			printf "%-30s %10.3f ms, exact %10.3f\n", thread, got / 1e6, exact / 1e6 > "/dev/stderr"
			if (far(got, exact, exact / 20 + 5e6))
				printf "%s: %.3f ms, exact %.3f; ", thread, got / 1e6, exact / 1e6
		}
		for (name in paths) {
			exact = path[1, name]
			got = path[0, name]
			printf "%-30s %10.3f ms, exact %10.3f, +- %.3f\n", name, got / 1e6, exact / 1e6,
				error / 1e6 > "/dev/stderr"
			if (far(got, exact, error + exact / 20))
				printf "%s: %.3f ms, exact %.3f, +- %.3f; ", name, got / 1e6, exact / 1e6, error / 1e6
		}
		if (sum[1] < 1e9) print "no storm"
	}' "$1" "$2"
}

for unwind in cfi fp 'cfi --budget 1%'; do
	# shellcheck disable=SC2086
	named_profile --off-cpu --unwind $unwind --by comm,tid -o "$T/waits.folded" -- "$PROGRAMS/waits" "$SECONDS_EACH" "$T/disk"
	check "$unwind: runs" test "$STATUS" -eq 0 -a -s "$T/waits.folded"
	[ "$STATUS" -eq 0 ] || continue
	check_equal "$unwind: waits agree with the clocks" \
		"$(judge "$T/out" "$T/waits.folded" "$([ "$unwind" = fp ] || echo 1)")" ""
	check_equal "$unwind: every nanosecond is accounted for" \
		"$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
done

# The cost of a switch, as the programs time it, and as the kernel does for all of their runs.
profile -v --off-cpu -a -o "$T/waits.folded" -- "$PROGRAMS/wait_mix" 1
check "cost: the verdict has that of following switches" \
	grep -q '^ *following [0-9,]* switches took [0-9.]* us each, [0-9.]* % of [0-9]* CPU' "$T/err"
check "… $(stat_of follow_ns) ns, half to twice the kernel's figure of $(stat_of bpf_ns)" \
	test "$(($(stat_of follow_ns) * 2))" -ge "$(stat_of bpf_ns)" -a \
	"$(stat_of follow_ns)" -le "$(($(stat_of bpf_ns) * 2))"

# Epochs of 0.2 s: most waits of the sleeping threads begin in another epoch than they end.
named_profile --off-cpu --timeline 0.2 --by comm,tid -o "$T/waits.folded" -- "$PROGRAMS/waits" "$SECONDS_EACH" "$T/disk"
check_equal "short epochs: waits agree with the clocks" "$(judge "$T/out" "$T/waits.folded" 1)" ""
check_equal "short epochs: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
# Eight or nine waits cross each end. There are fewer ends on a busy machine, where RCU needs seconds for each.
check "short epochs: waits crossed their ends" \
	test "$(stat_of epochs)" -gt 1 -a "$(stat_of waits_sent)" -ge "$((4 * ($(stat_of epochs) - 1)))"

# Each interval is a profile of its own: sleepers are in all of them, with the same stack.
start sleep 100
SLEEPER=$PID
wait_until 5 grep -q '^sleep' "/proc/$SLEEPER/comm"
rm -f "$T"/interval.*
profile --off-cpu -a -i 0.4 -o "$T/interval.folded" 2
INTERVALS=$(find "$T" -name 'interval.*.folded' | wc -l) # a busy machine may join some
check "intervals: runs" test "$STATUS" -eq 0 -a "$INTERVALS" -ge 2
check_equal "intervals: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(cat "$T"/interval.*.folded | total)")" ""
asleep=$(for ((i = 2; i < INTERVALS; i++)); do
	ns=$(grep '^sleep;\[sleeping\];\[since before the run\];.*nanosleep' "$T/interval.$i.folded" | total)
	[ "$ns" -gt 350000000 ] || echo "$i: $ns"
done)
check_equal "intervals: a thread that sleeps since before the run is in each" "$asleep" ""

# A thread that does not run at all in the time.
profile --off-cpu -p "$SLEEPER" -f 1
check_equal "one target that never runs: its time is that of the run" \
	"$(grep -c '^sleep;\[sleeping\];\[since before the run\];.*nanosleep' "$T/out")" 1
check "… to a percent" test "$(($(total "$T/out") / 1000000))" -ge 990
stop "$SLEEPER"

# A cgroup. Its threads that sleep since before the run have all of the time, and those of programs that start in it are
# counted from their creation on. A thread that is moved into it has been elsewhere before.
cgroup_mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
cgroup=$cgroup_mount/stook-test-$$
if [ "$cgroup_mount" ] && mkdir -p "$cgroup/below" 2>/dev/null; then
	trap 'cleanup; sleep 0.2; rmdir "$cgroup/below" "$cgroup"' EXIT
	start sleep 100
	SLEEPER=$PID
	echo "$SLEEPER" >"$cgroup/below/cgroup.procs"
	wait_until 5 grep -q '^sleep' "/proc/$SLEEPER/comm"
	start python3 -c 'import time
while True: time.sleep(0.01)'
	MOVED=$PID
	start sh -c "sleep 1.5; touch $T/moved; echo $MOVED >$cgroup/cgroup.procs"
	profile --off-cpu --cgroup "stook-test-$$" --by cgroup,comm,pid -o "$T/cgroup.folded" 2
	inside_ms=$(($(now_ms) - $(date -r "$T/moved" +%s%3N)))
	stop "$PID" "$MOVED"
	check_equal "--cgroup: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/cgroup.folded")")" ""
	slept=$(grep "^sleep-[0-9]*;cgroup [^;]*/stook-test-$$/below;\[sleeping\];\[since before the run\];.*nanosleep" "$T/cgroup.folded" | total)
	check "--cgroup: a thread that sleeps since before the run: $slept ns of 2 s" test "${slept:-0}" -ge 1980000000
	slept=$(grep "python3" "$T/cgroup.folded" | total)
	check "--cgroup: one that is moved into it: $slept ns, at most $inside_ms ms" \
		test "${slept:-0}" -gt 0 -a "${slept:-0}" -le $((inside_ms * 1000000))
	# The tables of a cgroup's processes are made when they are first seen, not before as those of a command.
	named_profile --off-cpu --unwind fp --cgroup "stook-test-$$" --by comm,tid -o "$T/waits.folded" -- \
		sh -c "echo \$\$ >$cgroup/cgroup.procs; exec '$PROGRAMS/waits' $SECONDS_EACH $T/disk"
	check_equal "--cgroup: waits agree with the clocks" "$(judge "$T/out" "$T/waits.folded" "")" ""
	check_equal "--cgroup: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
	check "--cgroup: threads wait for their first run" grep -q '^waits[^;]*;\[runnable\];.*ret_from_fork' "$T/waits.folded"
	stop "$SLEEPER"
else
	skip "--cgroup" "a cgroup2 mount in which a cgroup can be made"
fi

# Threads that do not come back: an exec ends the others of its process, and its thread takes over the pid of one that
# waits; a signal ends a process that waits.
cat >"$T/execs.py" <<'END'
import os, threading, time
def exec_soon():
    time.sleep(0.3)
    os.execv("/bin/sleep", ["executed", "0.5"])
threading.Thread(target=time.sleep, args=(100,)).start()
threading.Thread(target=exec_soon).start()
time.sleep(100)
END
profile --off-cpu --by comm,pid,tid -o "$T/exec.folded" -- python3 "$T/execs.py"
check_equal "exec while others wait: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/exec.folded")")" ""
slept=$(grep '^\(executed\|sleep\)-.*;\[sleeping\];.*nanosleep' "$T/exec.folded" | total)
check "… what is executed sleeps 0.5 s: $slept ns" test "${slept:-0}" -ge 500000000 -a "${slept:-0}" -le 600000000
slept=$(grep '^python3.*;\[sleeping\];' "$T/exec.folded" | total)
check "… three threads of what was before, each for 0.3 s or more: $slept ns" \
	test "${slept:-0}" -ge 900000000 -a "$(grep '^python3' "$T/exec.folded" | cut -d ';' -f 1 | sort -u | grep -c .)" -ge 3
profile --off-cpu --by comm,pid -o "$T/killed.folded" -- \
	sh -c 'sleep 100 & sleep 0.1; sleep 0.5; kill -KILL $!; wait; sleep 0.3'
check_equal "SIGKILL while it waits: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/killed.folded")")" ""
slept=$(grep '^sleep-.*;\[sleeping\];.*nanosleep' "$T/killed.folded" | total)
check "… all four sleep, the one that is killed for 0.5 to 0.6 s: $slept ns of 1.4 to 1.5 s" \
	test "${slept:-0}" -ge 1400000000 -a "${slept:-0}" -le 1700000000

# Processes that have the same pid one after the other. The number is set in a pid namespace of its own.
cat >"$T/reuse" <<'END'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	echo 999 >/proc/sys/kernel/ns_last_pid || exit 77
	sleep 0.03
done
END
rm -f "$T/stats"
unshare --pid --fork --mount-proc "$STOOK" profile --off-cpu --by comm,pid --timeline 0.2 --stats "$T/stats" \
	-o "$T/reuse.folded" -- sh "$T/reuse" 2>"$T/err"
if [ $? -ne 77 ]; then
	check_equal "one pid again and again: every nanosecond is accounted for" \
		"$(nanoseconds_hold "$(total "$T/reuse.folded")")" ""
	slept=$(grep '^sleep-1000;\[sleeping\];.*nanosleep' "$T/reuse.folded" | total)
	check "… each of the 20 sleeps 30 ms: $slept ns" test "${slept:-0}" -ge 600000000 -a "${slept:-0}" -le 1200000000
else
	skip "one pid again and again" "a pid namespace in which the next pid can be set"
fi

# Others at the same tracepoint: a run that counts its stacks and one that follows switches do not disturb each other. All
# three begin before the program does, and end with it. The kernel's counter ends earlier in the exit of a thread, which
# is preempted on a busy machine.
mkfifo "$T/go"
start sh -c "read x <'$T/go'; exec '$PROGRAMS/switches' 2 1 >'$T/truth'"
TARGET=$PID
rm -f "$T/stats"
runs=()
"$STOOK" profile --off-cpu -p "$TARGET" --stats "$T/stats" -o "$T/beside.folded" 60 2>"$T/err" &
runs+=($!)
"$STOOK" stackcount -f --budget off -p "$TARGET" t:sched:sched_switch -d 60 >"$T/stacks" 2>"$T/err" &
runs+=($!)
"$STOOK" stat --csv -e context-switches -p "$TARGET" 60 >"$T/counts" 2>"$T/err" &
runs+=($!)
STARTED+=("${runs[@]}")
for run in "${runs[@]}"; do
	wait_until 20 samples "$run"
done
sleep 0.5
echo >"$T/go"
wait "$TARGET" "${runs[@]}"
counted=$(awk -F, '$3 == "\"context-switches\"" { print $4 }' "$T/counts")
hits=$(total "$T/stacks")
followed=$(($(stat_of recorded) + $(stat_of counted)))
check "beside stackcount at sched_switch: $hits stacks, the kernel counts $counted" \
	test "${counted:-0}" -ge 4000 -a "$hits" -ge "${counted:-0}" -a "$hits" -le $((${counted:-0} + 40))
check "… $followed are followed" test "$followed" -ge "${counted:-0}" -a "$followed" -le $((${counted:-0} + 50))
check_equal "… every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/beside.folded")")" ""

# Another tool comes later: then the kernel calls both programs by a function that is in the stacks.
start "$PROGRAMS/switches" 20 1
"$STOOK" profile --off-cpu -p "$PID" -o "$T/beside.folded" 2 2>"$T/err" &
STARTED+=($!)
wait_until 20 samples $!
"$STOOK" stackcount -f --budget off -p "$PID" t:sched:sched_switch -d 1 >"$T/stacks" 2>"$T/err"
wait "${STARTED[-1]}"
stop "$PID"
check "another one comes: it has stacks" test "$(total "$T/stacks")" -gt 50
check "… stacks end where the kernel switches" grep -q ';__schedule [0-9]*$' "$T/beside.folded"
check_equal "… none in the way to our program" \
	"$(grep -E ';(__traceiter|__probestub|__bpf|bpf)_[^;]* [0-9]+$' "$T/beside.folded" | head -n 3 | cut -c 1-300)" ""

# Filters by length and state: what is not shown is still accounted for.
profile --off-cpu --min-us 1000 -o "$T/waits.folded" -- "$PROGRAMS/waits" 1 "$T/disk"
check_equal "--min-us: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
check "--min-us: short waits are left out" test "$(stat_of waits_passed)" -gt 100
profile --off-cpu --max-us 400 -o "$T/waits.folded" -- "$PROGRAMS/waits" 1 "$T/disk"
check_equal "--max-us: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
check_equal "--max-us: no sleep" "$(grep -c '^w-sleep;\[sleeping\].*in_sleep' "$T/waits.folded")" 0
profile --off-cpu --state blocked,stopped -o "$T/waits.folded" -- "$PROGRAMS/waits" 1 "$T/disk"
check_equal "--state: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
check_equal "--state: only these" "$(grep -vcE '^[^;]*;\[(blocked|stopped)\]' "$T/waits.folded")" 0
check "--state: there are some" grep -q '^w-disk;\[blocked\].*in_write' "$T/waits.folded"

# Wakers: each thread's is known. Nothing else changes, and time in a queue has none. A wake-up that the kernel does not
# report, on some virtual machines, has no waker either. Stacks that are
# walked before the unwind tables are there, by frame pointers, lack the caller of the system call's wrapper.
judge_wakers() {
	awk '
	function most_of(name, wanted) {
		if (woken[name] < 0.97 * slept[name]) printf "%s: %.3f ms of %.3f by %s; ", name,
			woken[name] / 1e6, slept[name] / 1e6, wanted
	}
	{
		name = substr($0, 1, index($0, ";") - 1)
		ns[FNR] = $NF
		sub(/ [0-9]+$/, "")
		has_waker = index($0, ";--;")
	}
	/;\[runnable\];/ && has_waker { printf "runnable: %s; ", $0 }
	!/;\[runnable\];/ && !has_waker { printf "no waker: %s; ", $0 }
	/;\[irq\]$/ && /;--;.*;(main|start_thread|_start);/ { printf "an interrupt with a user stack: %s; ", $0 }
	/;\[runnable\];/ || index($0, "[not woken yet]") { next }
	{ slept[name] += ns[FNR] }
	/^w-ping;.*;in_read;.*;--;.*;write;(run_ping;)?run;.*;w-pong$/ { woken[name] += ns[FNR] }
	/^w-pong;.*;in_read;.*;--;.*;write;(run_ping;)?run;.*;w-ping$/ { woken[name] += ns[FNR] }
	/^w-futex;.*;--;.*futex_wake.*;pthread_cond_broadcast;(main;)?.*;waits$/ { woken[name] += ns[FNR] }
	/^w-sleep;.*;in_sleep;.*;--;.*hrtimer.*;\[irq\]$/ { woken[name] += ns[FNR] }
	/^w-stop;\[stopped\];.*;--;.*;kill;(stop_once;)?main;.*;waits$/ { woken[name] += ns[FNR] }
	END {
		most_of("w-ping", "w-pong")
		most_of("w-pong", "w-ping")
		most_of("w-futex", "main")
		most_of("w-sleep", "timers")
		most_of("w-stop", "main")
		if (!slept["w-ping"] || !slept["w-sleep"] || !slept["w-stop"]) printf "no waits; "
	}' "$1"
}
named_profile --off-cpu --wakers -o "$T/waits.folded" -o "$T/waits.pb.gz" -- "$PROGRAMS/waits" "$SECONDS_EACH" "$T/disk"
check "--wakers: runs" test "$STATUS" -eq 0 -a -s "$T/waits.folded"
check_equal "--wakers: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
check_equal "--wakers: who wakes whom" "$(judge_wakers "$T/waits.folded")" ""
"$STOOK" report -f "$T/waits.pb.gz" >"$T/again" 2>"$T/err"
check_equal "--wakers: the same stacks in another format" "$(sort "$T/again" | md5sum)" "$(sort "$T/waits.folded" | md5sum)"
"$STOOK" report --categories waits -s comm,category -g none --format csv "$T/waits.pb.gz" >"$T/shares" 2>"$T/err"
check_equal "--categories waits: what most of the time of a thread that waits is" "$(awk -F, '
	{ gsub(/"/, "") }
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	$column["category"] != "run queue" && $column["self"] > most[$column["comm"]] {
		most[$column["comm"]] = $column["self"]
		category[$column["comm"]] = $column["category"]
	}
	END { print category["w-ping"], category["w-futex"], category["w-sleep"], category["w-disk"], category["w-stop"] }
	' "$T/shares")" "pipes work timers disk stopped"
named_profile --off-cpu --wakers --timeline 0.2 --by comm,tid -o "$T/waits.folded" -- "$PROGRAMS/waits" "$SECONDS_EACH" "$T/disk"
check_equal "--wakers, short epochs: waits agree with the clocks" "$(judge "$T/out" "$T/waits.folded" 1)" ""
check_equal "--wakers, short epochs: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
check "--wakers, short epochs: some waits have not ended" grep -q '\[not woken yet\] [0-9]*$' "$T/waits.folded"
# Numbers of waits: each call of in_sleep sleeps once.
for options in '' '--budget 1%' '--timeline 0.2' '--wakers'; do
	# shellcheck disable=SC2086
	named_profile --off-cpu $options -o "$T/waits.pb.gz" -- "$PROGRAMS/waits" 1 "$T/disk"
	"$STOOK" report --value waits -f --focus hrtimer_nanosleep "$T/waits.pb.gz" >"$T/counts" 2>"$T/err"
	check_equal "waits${options:+ with $options}: as many as calls" \
		"$(grep '^w-sleep;\[sleeping\]' "$T/counts" | total)" "$(awk '$2 == "w-sleep" { print $9 }' "$T/out")"
done
"$STOOK" report -s comm,state -g none --format csv "$T/waits.pb.gz" >"$T/table" 2>"$T/err"
check_equal "waits: number and mean are the time" "$(awk -F, '
	{ gsub(/"/, "") }
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	$column["waits"] { n++; rest = $column["self"] - $column["waits"] * $column["mean_ns"] }
	$column["waits"] && (rest > $column["waits"] / 2 || rest < -$column["waits"] / 2) { print $0 }
	END { if (n < 8) print n, "rows" }' "$T/table")" ""

profile --off-cpu --wakers --count-entries 64 -a -o "$T/waits.folded" 1
check_equal "--wakers, a full map: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
profile --off-cpu --wakers -K -i 0.3 -a -o "$T/woken.folded" 1
check_equal "--wakers, intervals: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(cat "$T"/woken.*.folded | total)")" ""

# Waits for I/O: those of w-disk, in functions of one name, and nobody else's.
profile --off-cpu --io-wait -o "$T/waits.folded" -- "$PROGRAMS/waits" 1 "$T/disk"
check_equal "--io-wait: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
check_equal "--io-wait: only these" "$(grep -v ';io_schedule' "$T/waits.folded" | cut -d ' ' -f 1 | cut -c 1-300)" ""
check "--io-wait: most of the time of w-disk" \
	test "$(grep '^w-disk;.*;in_write;.*;io_schedule' "$T/waits.folded" | total)" -ge 500000000

# Beside samples: in one profile, with whole times of threads, intervals and slices. 999 Hz and not 1000, which would meet
# the same threads in each tick of the scheduler.
profile --wall -F 999 --by comm,tid -o "$T/waits.folded" -o "$T/waits.pb.gz" -o "$T/waits.html" \
	-- "$PROGRAMS/waits" "$SECONDS_EACH" "$T/disk"
check "--wall: runs" test "$STATUS" -eq 0 -a -s "$T/waits.folded"
check_equal "--wall: threads run as long as they measure, and their time is the wall time" \
	"$(judge_wall "$T/out" "$T/waits.folded" 1001001)" ""
check_equal "--wall: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
check "--wall: threads run where samples find them" grep -q '^w-spin-0-[^;]*;\[running\];.*;burn_once' "$T/waits.folded"
"$STOOK" report -f "$T/waits.pb.gz" >"$T/again" 2>"$T/err"
check_equal "--wall: the sum in another format" "$(total "$T/again")" "$(total "$T/waits.folded")"
profile --wall --timeline 0.2 --by comm,tid -o "$T/waits.folded" -- "$PROGRAMS/waits" 1 "$T/disk"
check_equal "--wall --timeline: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
start "$PROGRAMS/spin" 100
SPINNER=$PID
# A virtual machine that stands still for a moment has one interval of another length: 0.9 s were seen once.
for _ in 1 2 3; do
	profile --wall -F 999 -p "$SPINNER" -i 0.5 -o "$T/wall.folded" 2
	check_equal "--wall -i: every nanosecond is accounted for" \
		"$(nanoseconds_hold "$(cat "$T"/wall.*.folded | total)")" ""
	lengths=$(for i in 1 2 3 4; do total "$T/wall.$i.folded" && echo; done)
	far=$(awk '$1 < 450e6 || $1 > 550e6 { print NR ": " $1 }' <<<"$lengths")
	[ -n "$far" ] || break
	note "intervals of --wall: $lengths"
done
check_equal "--wall -i: all of the time of a thread is in each interval" "$far" ""
stop "$SPINNER"
# The kernel leaves out a name that was seen once; beside one that waits all the time, others matter little.
start "$PROGRAMS/wait_mix" 100
MIX=$PID
profile --off-cpu --comm '^waits$' -a -o "$T/waits.folded" 2
stop "$MIX"
check "--comm: other names are left out in the kernel" test "$(stat_of filtered)" -gt "$(stat_of hidden)"
check_equal "--comm: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/waits.folded")")" ""
profile --wall --state running --comm '^waits$' -a -o "$T/waits.folded" 0.5
check_equal "--wall --state: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(total "$T/waits.folded")")" ""

# Under a budget, beside a run of every switch.
for try in 1 2 3; do
	start "$STOOK" profile --off-cpu -a --comm '^mix-' --by comm,tid --stats "$T/exact" -o "$T/exact.folded" 60
	EXACT=$PID
	wait_until 5 samples "$EXACT"
	sleep 0.5
	named_profile --off-cpu --budget 1% -a --comm '^mix-' --by comm,tid -o "$T/budget.folded" \
		-- "$PROGRAMS/wait_mix" "$SECONDS_EACH"
	kill -INT "$EXACT"
	wait "$EXACT"
	[ "$(stat_of files_silent "$T/exact")" -gt 0 ] || break
	note "run $try: files were not read in time"
done
check "--budget: runs" test "$STATUS" -eq 0 -a -s "$T/budget.folded" -a -s "$T/exact.folded"
check_equal "--budget: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/budget.folded")")" ""
check "--budget: most waits are not walked" test "$(stat_of thinned)" -gt $(($(stat_of walks) * 5))
check "--budget: the verdict has the error" grep -q '^budget .*which may be wrong by [0-9.]* s (--budget 1%)' "$T/err"
check_equal "--budget: times of threads are exact, paths as good as printed" \
	"$(judge_split "$T/exact.folded" "$T/budget.folded" "$T/stats")" ""
for options in '--off-cpu --timeline 0.2' '--wall -F 999' '--off-cpu --min-us 20' '--off-cpu --max-us 40' \
	'--off-cpu --state sleeping' '--off-cpu --by comm,cpu' '--off-cpu -i 0.4'; do
	rm -f "$T"/budget.*
	# shellcheck disable=SC2086
	profile $options --budget 1% -o "$T/budget.folded" -- "$PROGRAMS/wait_mix" 1
	check_equal "--budget $options: every nanosecond is accounted for" \
		"$(nanoseconds_hold "$(cat "$T"/budget.*folded | total)")" ""
	check "--budget $options: most waits are not walked" test "$(stat_of thinned)" -gt "$(stat_of walks)"
done
profile --off-cpu --budget 100% -o "$T/budget.folded" -- "$PROGRAMS/wait_mix" 1
check_equal "--budget 100%: every switch is walked" "$(stat_of thinned) $(stat_of divided_ns)" "0 0"
