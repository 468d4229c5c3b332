# shellcheck shell=sh disable=SC2154
# Waits for locks: the programs load, and the sums hold, on kernels from 5.19 on; older ones say so.

# begun_hold: prints the sum of waits if it does not hold.
begun_hold() {
	awk '
		{ v[$1] = $2 }
		END {
			begun = v["recorded"] + v["counted"] + v["lost_ring_full"] + v["lost_ring_busy"]
			missing = begun - v["waits"] - v["waits_open"]
			if (missing < 0 || missing > v["waits_unseen"]) print begun, "began"
		}' stats
}

storm() { # storm SECONDS
	rm -rf storm
	mkdir storm
	echo "locks $1 storm"
}

if ! grep -q ' __traceiter_contention_begin$' /proc/kallsyms; then
	profile --locks -f 1
	check "an older kernel: status 1" test "$STATUS" -eq 1
	check "… and the version that has them" grep -q 'Linux 5.19 or newer' err
else
	# shellcheck disable=SC2046
	profile --locks --comm '^l-' -a -o out.folded -- $(storm 3)
	check "status 0" test "$STATUS" -eq 0
	check "one program: every nanosecond and wait is accounted for" test -z "$(waits_hold out.folded; begun_hold)"
	cp out.folded out 2>/dev/null
	check "futexes" grep -q '^l-user-[0-9];\[futex\];.*;in_lock;.*futex_wait' out.folded
	check "… not those of other threads that sleep" test "$(grep -c ';\[futex\];.*nanosleep' out.folded)" -eq 0
	check "a semaphore, to write" grep -q '^l-map-[0-9];\[rwsem:W\];.*;in_map;.*down_write' out.folded
	# Two threads rarely meet at the others on one or two emulated CPUs.
	figure "locks: $(stat_of waits) waits, $(stat_of lost_scratch) lost, of" \
		"$(sed -n 's/^[^;]*;\[\([^];]*\)\];.*/\1/p' out.folded | sort -u | tr '\n' ' ')"

	# shellcheck disable=SC2046
	profile --locks -K --timeline 0.2 -o out.folded -- $(storm 3)
	check "short epochs: every nanosecond and wait is accounted for" test -z "$(waits_hold out.folded; begun_hold)"
	check "… waits crossed their ends" test "$(stat_of waits_sent)" -gt 0
	profile --locks -a -o out.folded 2
	check "all programs: every nanosecond and wait is accounted for" test -z "$(waits_hold out.folded; begun_hold)"
fi
