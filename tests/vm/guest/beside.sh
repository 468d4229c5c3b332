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
figure "beside: $seconds s, $(figure_of entries 1) switches, $(figure_of entries 2) samples of $event," \
	"${3:+$(figure_of waits 3) waits for locks}"
