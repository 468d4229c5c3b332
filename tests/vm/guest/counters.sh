# shellcheck shell=sh disable=SC2154
# Samples on the overflow of a hardware counter. Only emulated arm64 has one: a clock of 1 GHz.

if [ "$(uname -m)" != aarch64 ]; then
	skip "hardware counters" "a PMU (emulated x86 has none)"
	return 0
fi

profile -a -d 1
check "cycles are the default" grep -q '^stook: cycles at 99 Hz' err

# counted NAME RATE ARGUMENT…: compares samples of a busy process with its CPU time times RATE.
counted() {
	name=$1 rate=$2
	shift 2
	start spin 60
	before=$(cpu_ms "$PID")
	profile -f -e cycles -d 2 -p "$PID" "$@"
	spent=$(($(cpu_ms "$PID") - before))
	stop "$PID"
	sampled_ms=$(($(stat_of sampled_us) / 1000))
	expected=$((rate * (spent < sampled_ms ? spent : sampled_ms) / 1000))
	check "$name: status 0" test "$STATUS" -eq 0
	got=$(sum_matching ';spin_inner( |;)')
	check_amount "$name" "$got" "$expected"
}
counted "a sample every million cycles" 1000 -c 1000000
# Cycles are counted, and samples missed, on idle CPUs, too.
check_missed "a sample every million cycles" "$(stat_of entries)" $(($(nproc) * sampled_ms))
counted "999 samples a second" 999 -F 999
