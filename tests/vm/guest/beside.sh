# shellcheck shell=sh disable=SC2154
# Samples, on the overflow of a counter where there is one, beside programs in the scheduler and in waits for locks, in a
# storm of both: they share nothing that could lock up, so the machine goes on and all sums hold. The overflow is an
# ordinary interrupt here: kernels with arm64's interrupts by priority (CONFIG_ARM64_PSEUDO_NMI), where it would be an NMI,
# are not among those of the matrix. BESIDE_SECONDS (10) makes it longer.

seconds=${BESIDE_SECONDS:-10}
event=cpu-clock
[ "$(uname -m)" != aarch64 ] || event=cycles

# holds FILE: prints the sums that do not hold in a run's figures.
holds() {
	sed -n 's/^ *"\([a-z_]*\)": \([0-9]*\),*$/\1 \2/p' "$1" | awk '
		{ v[$1] = $2 }
		END {
			if (!v["recorded"]) print "no records"
			if (v["law_violations"] || v["mismatches"]) print "violations"
			if (v["waited_ns"] != v["counted_ns"] + v["sent_ns"] + v["passed_ns"] + v["cut_ns"]) print "waited"
		}'
}

figure_of() { sed -n "s/^ *\"$1\": \([0-9]*\),*\$/\1/p" "stats.$2"; }

rm -rf storm
mkdir storm
wait_mix $((seconds + 20)) >/dev/null 2>&1 &
storm=$!
locks $((seconds + 20)) storm >/dev/null 2>&1 &
other=$!
set -- "--off-cpu" "-e $event -c 200003"
! grep -q ' __traceiter_contention_begin$' /proc/kallsyms || set -- "$@" "--locks"
nr=0 runs=
for run; do
	nr=$((nr + 1))
	# shellcheck disable=SC2086
	stook profile $run -K -a --stats stats.$nr -o out.$nr.folded "$seconds" >/dev/null 2>err.$nr &
	runs="$runs $!"
done
# shellcheck disable=SC2086
wait $runs
kill -KILL $storm $other 2>/dev/null
wait $storm $other 2>/dev/null
cat err.* >err
check "off-CPU time: every nanosecond is accounted for" test -z "$(holds stats.1)"
check "samples: every one is accounted for" test -z "$(holds stats.2)"
[ $nr -lt 3 ] || check "locks: every nanosecond is accounted for" test -z "$(holds stats.3)"
# Likewise stacks at sched_switch, and the kernel's own count of a program's switches.
mkfifo go
sh -c 'read x <go; exec switches 2 0 >truth' &
target=$!
stook profile --off-cpu -p $target --stats stats.4 -o out.4.folded 120 >/dev/null 2>err.4 &
runs=$!
stook stackcount -f --budget off -p $target t:sched:sched_switch -d 120 >stacks 2>err.5 &
runs="$runs $!"
stook stat --csv -e context-switches -p $target 120 >counts 2>err.6 &
runs="$runs $!"
for run in $runs; do
	tries=0
	until opens_events "$run" || [ $tries -ge 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
done
sleep 2
echo >go
# shellcheck disable=SC2086
wait $target $runs
cat err.4 err.5 err.6 >err
counted=$(awk -F, '$3 ~ /context-switches/ { print $4 }' counts)
hits=$(awk '{ sum += $NF } END { print sum + 0 }' stacks)
followed=$(($(figure_of recorded 4) + $(figure_of counted 4)))
check "stacks at sched_switch: $hits, the kernel counts $counted" \
	test "${counted:-0}" -ge 4000 -a "$hits" -ge "${counted:-0}" -a "$hits" -le $((${counted:-0} + 40))
check "followed switches: $followed" test "$followed" -ge "${counted:-0}" -a "$followed" -le $((${counted:-0} + 50))
check "… every nanosecond is accounted for" test -z "$(holds stats.4)"

figure "beside: $seconds s, $(figure_of entries 1) switches, $(figure_of entries 2) samples of $event," \
	"${3:+$(figure_of waits 3) waits for locks}"
