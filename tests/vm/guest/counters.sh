# shellcheck shell=sh disable=SC2154
# Samples on the overflow of hardware counters. Only emulated arm64 has them: cycles, a clock of
# 1 GHz, also on idle CPUs; and where time advances by the instruction (EXACT_CLOCK), instructions.
# There the host takes no time away from the guest, and counts agree closely.
#
# The plain counters to compare with count on CPUs, not in threads: QEMU forgets an overflow that is
# pending while an event of another thread is taken off its counter (it updates the interrupt when
# PMINTENCLR is written, while PMCR.E is 0, and not when PMCR.E becomes 1 again). Where the host does
# take time away, plain counters wrap at 32 bits without being noticed, and some jump to their next overflow, by 2^31
# events, dozens of times in a run. So the clock is compared, and a ratio may be too high there.

if [ "$(uname -m)" != aarch64 ]; then
	skip "hardware counters" "a PMU (emulated x86 has none)"
	return 0
fi

shares=20
[ -z "${EXACT_CLOCK:-}" ] || shares=2

# of_event EVENT COLUMN: prints a figure of the run: samples, sampled, counted, unseen_estimate, ….
of_event() {
	sed -n "s/.*\"event\": \"$1\",.*\"$2\": \([0-9.]*\).*/\1/p" stats.json
}

missed_of() { # missed_of EVENT: prints how many of them the kernel's skipped samples stand for
	skipped=$(of_event "$1" unseen_estimate)
	awk "BEGIN { printf \"%.0f\", $skipped * $(of_event "$1" counted) /
		($(of_event "$1" samples) + $skipped) }"
}

# near NAME SUM SKIPPED COUNT: with what the kernel skipped, 2 % off at most.
near() {
	check "$1" awk "BEGIN { exit !($2 > 0 && $2 < 1.02 * $4 && $2 + $3 > 0.98 * $4) }"
}

# counted NAME EVENT ARGUMENT…: the sum over all stacks equals what a plain counter and `stook stat` say, and the
# shares of a program agree with its own clocks.
counted() {
	name=$1 event=$2
	shift 2
	rm -f counts stat.csv
	profile -a -I --self -e "$event" "$@" -o counted.folded -- \
		stook stat -q -a -e "$event" -o stat.csv -- \
		counter counts "$event" truth 9 2 1 # long, since profile counts the start of both, too
	check "$name: status 0" test "$STATUS" -eq 0 -a -s counted.folded -a -s counts
	read -r _ count _ <counts
	stat=$(tail -n 1 stat.csv | cut -d , -f 4 | tr -d '"\r')
	sum=$(awk '{ sum += $NF } END { printf "%.0f\n", sum }' counted.folded)
	missed=$(missed_of "$event")
	[ "$1" != -F ] || missed=0 # later samples stand for skipped ones, too
	figure "$TEST: $name: $sum $event in $(stat_of shown) samples, $missed skipped," \
		"$count counted, $stat by stat"
	check "$name: the unit is the event's" grep -q "^events *$event: " err
	if [ -n "${EXACT_CLOCK:-}" ]; then
		near "$name: the sum is what a counter counts" "$sum" "$missed" "$count"
		near "$name: the sum is what stat counts" "$sum" "$missed" "${stat:-0}"
		check "$name: stat is a counter to 1 %" awk "BEGIN {
			exit !(${stat:-0} >= 0.99 * $count && ${stat:-0} <= 1.01 * $count) }"
	else
		clock=$((1000 * $(nproc) * $(stat_of sampled_us)))
		check "$name: the sum is the time of the CPUs" awk "BEGIN {
			exit !($sum > $clock / 20 && $sum + $missed > 0.85 * $clock &&
				$sum + $missed < 1.2 * $clock) }"
	fi
	check_shares "$name: shares agree with the clocks" counted.folded "$(stat_of shown)" \
		"$(stat_of unseen_estimate)" $shares
}

# ratio NAME EVENTS LOW HIGH: each function of truth has this ratio, with threads that take turns on a CPU.
ratio() {
	profile -a --ratio "$2" -F 999 -o ratio.json -- truth 3 2 1
	sed -n 's/.*"function": "\(leaf_[xy]\)".*"ratio": \([0-9.]*\).*/\1 \2/p' ratio.json >ratios
	figure "$TEST: $2: $(tr '\n' ' ' <ratios), $(stat_of unmeasured) of $(stat_of shown) not measured"
	check "$1" awk "{ bad += \$2 < $3 || \$2 > $4 } END { exit bad || NR != 2 }" ratios
}

profile -a -d 1
check "cycles are the default" grep -q '^stook: cycles at 99 Hz' err

counted "a sample every million cycles" cycles -c 1000000
counted "999 samples a second" cycles -F 999
highest=1000
[ -z "${EXACT_CLOCK:-}" ] || highest=1.01
ratio "a ratio of two counters of the same" r11/cycles 0.98 $highest
[ -n "${EXACT_CLOCK:-}" ] || return 0
ratio "instructions per cycle" instructions/cycles 0.123 0.127
counted "999 samples a second of instructions" instructions -F 999

# Eight events take turns on five counters.
eight=cycles,r11,cycles:u,r11:u,cycles:k,r11:k,instructions,instructions:u
for rate in "-c 1000000" "-F 499"; do
	# shellcheck disable=SC2086 # two words
	profile -a -I --self -e $eight $rate -o shared.folded -- truth 6 2 1
	check "shared counters, $rate: status 0" test "$STATUS" -eq 0
	check "shared counters, $rate: reported" \
		grep -q 'cycles had a counter .* of the time (multiplexed)' err
	for event in cycles r11 cycles:u; do
		near "shared counters, $rate: $event is scaled up" "$(of_event $event sampled)" \
			"$(missed_of $event)" "$(of_event $event counted)"
	done
	figure "$TEST: shared, $rate: $(sed -n 's/^\({"event"\)/\1/p' stats.json | tr '\n' ' ')"
done

# The kernel stops an event of which a CPU takes too many samples.
echo 25 >/proc/sys/kernel/perf_cpu_time_max_percent
echo 1000 >/proc/sys/kernel/perf_event_max_sample_rate
profile -e cycles -c 100000 -- truth 1 2 1
check "throttling is reported" grep -q 'throttled by the kernel for' err
