#!/usr/bin/env bash
# The conservation law in difficult scenarios: resources are made too small or taken away, and every
# sample must still be counted in exactly one place:
#
#   entries = idle + own + filtered + recorded + counted + thinned + lost_*, the losses by reason
#
# The printed counts must add up to the recorded ones. Each scenario has ROUNDS (2) runs; a table of
# figures goes to stderr. RATE is the highest requested frequency (default: the host's limit, at most
# 49,999).
#
# Alone: its loads use all CPU time, and some of its checks need all CPUs.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

ROUNDS=${ROUNDS:-2}
limit=$(cat /proc/sys/kernel/perf_event_max_sample_rate 2>/dev/null || echo 9999)
RATE=${RATE:-$((limit < 49999 ? limit : 49999))}
CPUS=$(nproc)
LOADS=()

header() {
	note "| scenario | entries | idle | filtered | recorded | counted | ring full | ring busy | scratch | lines | unseen ppm | law |"
	note "|---|---|---|---|---|---|---|---|---|---|---|---|"
}

# row NAME LAW: prints the figures of the last run.
row() {
	local cells="" name
	for name in entries idle filtered recorded counted lost_ring_full lost_ring_busy lost_scratch; do
		cells+=" $(stat_of $name) |"
	done
	note "| $1 |$cells $(wc -l <"$T/out") | $(stat_of unseen_ppm) | $2 |"
}

# load COMMAND…: in the background during one run. Disowned, or the shell would report each process that a
# scenario kills.
load() {
	"$@" >/dev/null 2>&1 </dev/null &
	LOADS+=($!)
	STARTED+=($!)
	disown
}
loads_are_gone() { ! kill -0 "${LOADS[@]}" 2>/dev/null; }
end_loads() {
	kill -KILL "${LOADS[@]}" 2>/dev/null
	wait_until 5 loads_are_gone
	LOADS=()
}

# run NAME ARG…: one run under the current load; adds to the sums of its scenario.
run() {
	local name=$1 law=holds
	shift
	profile -f "$@"
	if [ "$STATUS" -ne 0 ]; then
		law="status $STATUS"
	elif [ "$(stat_of entries)" -eq 0 ]; then
		law="no entries"
	elif ! law_holds "$T/stats" "$T/out"; then
		law=BROKEN
	fi
	row "$name" "$law"
	[ "$law" = holds ] || BROKEN+=" $law: $(head -n 1 "$T/err")"
	FULL=$((FULL + $(stat_of lost_ring_full)))
	RECORDED=$((RECORDED + $(stat_of recorded)))
	COUNTED=$((COUNTED + $(stat_of counted)))
	LINES_SEEN=$(wc -l <"$T/out")
	end_loads
}

begin_scenario() {
	BROKEN="" FULL=0 RECORDED=0 COUNTED=0 LINES_SEEN=0
}
end_scenario() {
	if [ -z "$BROKEN" ]; then
		pass "law, $1, $ROUNDS runs"
	else
		fail "law, $1, $ROUNDS runs" "$BROKEN"
	fi
}

# --- scenarios: each loads the machine and runs once ------------------------------------------------

calm() {
	load "$PROGRAMS/spin" 10 "$CPUS"
	run calm -a -F 999 -d 2
}
tiny_ring() {
	load "$PROGRAMS/stacks" 10 "$CPUS"
	run "tiny ring" -a -F 9999 -d 1 --ring-bytes 4096
}
tiny_map() {
	load "$PROGRAMS/spin" 10 "$CPUS"
	load "$PROGRAMS/stacks" 10 1
	run "tiny map" -a -F 4999 -d 1 --count-entries 16
}
tiny_both() {
	load "$PROGRAMS/stacks" 10 "$CPUS"
	load "$PROGRAMS/spin" 10 2
	run "tiny ring and map" -a -F 9999 -d 1 --ring-bytes 4096 --count-entries 16
}
filters() {
	load "$PROGRAMS/spin" 10 "$CPUS"
	load "$PROGRAMS/forkstorm" 10 2
	run "filtered and idle" -a --comm '^forkstorm$' -F 4999 -d 1
}
fork_storm() {
	load "$PROGRAMS/forkstorm" 10 6
	run "fork storm" -a -F 4999 -d 1
}
fork_storm_pid() {
	load "$PROGRAMS/forkstorm" 10 6
	run "fork storm, -p" -p "${LOADS[0]}" -F 4999 -d 1
}
different_stacks() {
	load "$PROGRAMS/stacks" 30 "$CPUS"
	run "100,000 stacks" -a -F "$STACKS_RATE" -d "${STACKS_SECONDS:-6}"
}
small_profile() {
	load "$PROGRAMS/stacks" 10 "$CPUS"
	run "1 MiB of stacks" -a -F 9999 -d 2 --profile-bytes 1048576
}
killed_midway() {
	load "$PROGRAMS/forkstorm" 10 4
	load "$PROGRAMS/stacks" 10 1
	load "$PROGRAMS/spin" 10 2
	local victims="${LOADS[*]}"
	# shellcheck disable=SC2086
	(sleep 0.7 && kill -KILL $victims) &
	run "killed mid-run" -a -F 4999 -d 1
}
killed_targets() {
	load "$PROGRAMS/stacks" 10 1
	load "$PROGRAMS/spin" 10 2
	local victims="${LOADS[*]}"
	# shellcheck disable=SC2086
	(sleep 0.7 && kill -KILL $victims) &
	run "all of -p killed" -p "${victims// /,}" -F 4999 -d 5
}
top_rate() {
	load "$PROGRAMS/stacks" 10 1
	load "$PROGRAMS/spin" 10 "$CPUS"
	run "top rate, $RATE Hz" -a -F "$RATE" -d 1
}
many_epochs() {
	load "$PROGRAMS/stacks" 10 "$CPUS"
	run "an epoch each 0.1 s" -a -F 4999 -d 2 -i 0.1
}

# 150,000 samples in STACKS_SECONDS on all CPUs are needed, and twice as many are taken: some are of other
# processes, and the deepest call of a walk is sampled more than once.
STACKS_RATE=${STACKS_RATE:-$((300000 / (${STACKS_SECONDS:-6} * CPUS) + 1))}

header
for scenario in calm tiny_ring tiny_map tiny_both filters fork_storm fork_storm_pid \
	different_stacks small_profile killed_midway killed_targets top_rate many_epochs; do
	[[ "${ONLY:-$scenario}" == "$scenario" ]] || continue
	begin_scenario
	for ((i = 0; i < ROUNDS; i++)); do
		$scenario
	done
	end_scenario "$scenario"

	# A scenario tests nothing if the intended shortage did not occur.
	case $scenario in
	tiny_ring) check "tiny_ring: the ring was full" test "$FULL" -gt 0 ;;
	tiny_map) check "tiny_map: samples without room in the map were sent as records" test "$RECORDED" -gt 1000 ;;
	calm) check "calm: nothing lost, most samples counted in the kernel" \
		test "$FULL" -eq 0 -a "$COUNTED" -gt "$RECORDED" ;;
	small_profile) check "small_profile: the rest is counted together, and the option is named" \
		grep -q 'are in \[other stacks\]: .*--profile-bytes' "$T/err" ;;
	different_stacks) check "different_stacks: 100,000 lines at least" \
		test "$LINES_SEEN" -ge 100000 ;;
	esac
done
