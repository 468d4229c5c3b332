#!/usr/bin/env bash
# --timeline on a program that spends its time alternately in two functions: the stacks of each slice must be in the
# function that ran at that time, and each sample must be in exactly one slice.
. "$(dirname "$0")/lib.sh"
need_live

# Compares the slices, ordered by time, with the phases that the program reported: prints the percentage of
# samples in the right function, without those within a slice's length of a change.
share_in_phase() { # share_in_phase SPEEDSCOPE.json PHASES SLICE_S PHASE_S
	python3 - "$@" <<-'PYTHON'
	import itertools, json, sys

	path, phases_path, slice_s, phase_s = sys.argv[1:]
	with open(path) as file:
	    profile = json.load(file)
	with open(phases_path) as file:
	    phases = [line.split() for line in file]
	names = [frame["name"] for frame in profile["shared"]["frames"]]
	samples = profile["profiles"][0]
	used = [int(ns) for _, ns in phases]
	ends = [end / sum(used) for end in itertools.accumulate(used)]
	margin = float(slice_s) / float(phase_s) / len(phases)
	turns = [(name, start + margin, end - margin)
	         for (name, _), start, end in zip(phases, [0, *ends], ends)]
	at, right, all_of_them = 0, 0, 0
	for stack, weight in zip(samples["samples"], samples["weights"]):
	    start, at = at, at + weight / samples["endValue"]
	    functions = {names[frame] for frame in stack} & {"phase_even", "phase_odd"}
	    for name, turn_start, turn_end in turns if functions else []:
	        share = max(0, min(at, turn_end) - max(start, turn_start))
	        all_of_them += share
	        right += share if functions == {name} else 0
	print(int(100 * right / all_of_them) if all_of_them else 0)
	PYTHON
}

sum_of() { # sum_of SPEEDSCOPE.json…: the samples in them, taken at 499 Hz
	python3 -c '
import json, sys
total = 0
for path in sys.argv[1:]:
    with open(path) as file:
        profiles = json.load(file)["profiles"]
    total += sum(next(p for p in profiles if p["unit"] == "nanoseconds")["weights"])
print(round(total * 499 / 1e9))' "$@"
}

# Phases of 0.8 s and slices of 0.2 s.
profile -F 499 --timeline 0.2 -f -o "$T/slices.speedscope.json" -- \
	sh -c "exec $PROGRAMS/phases 0.8 3 >$T/phases"
check_equal "a program in turns" "$STATUS" 0
if ! command -v python3 >/dev/null; then
	skip "slices follow the turns" "python3"
else
	share=$(share_in_phase "$T/slices.speedscope.json" "$T/phases" 0.2 0.8)
	note "timeline: $share % of the samples are where they should be"
	check "slices follow the turns" [ "$share" -ge 95 ]
	check_equal "each sample is in one slice" "$(sum_of "$T/slices.speedscope.json")" \
		"$(stat_of shown)"
fi
check "nothing is lost or counted twice" law_holds

# Without a timeline the order is by name: all of one function, then all of the other.
profile -F 499 -f -o "$T/whole.speedscope.json" -- sh -c "exec $PROGRAMS/phases 0.3 2 >$T/phases"
if command -v python3 >/dev/null; then
	share=$(share_in_phase "$T/whole.speedscope.json" "$T/phases" 0 0.3)
	check "without slices there is no order of time" [ "$share" -lt 75 ]
fi

# Intervals divide the run, and each has its own slices.
profile -F 499 -i 0.5 --timeline 0.2 -o "$T/part.speedscope.json" -- \
	"$PROGRAMS/phases" 0.5 2
check_equal "with intervals" "$STATUS" 0
if command -v python3 >/dev/null; then
	check_equal "with intervals each sample is in one file" \
		"$(sum_of "$T"/part*.speedscope.json)" "$(stat_of shown)"
fi

# Files that have comments contain the verdict, even with --quiet.
profile -q -F 499 -o "$T/quiet.pb.gz" -- "$PROGRAMS/spin" 0.2
check_equal "-q prints no messages" "$(cat "$T/err")" ""
if command -v go >/dev/null; then
	go tool pprof -comments "$T/quiet.pb.gz" >"$T/comments" 2>/dev/null
	check "the verdict is in the file" grep -q '^samples .* shown' "$T/comments"
	check "the cost is in the file" grep -q '^cost .*user space' "$T/comments"
else
	skip "the verdict is in the file" "go"
fi

for value in 0 0.05 x; do
	profile --timeline $value 1
	check_equal "--timeline $value is refused" "$STATUS" 2
done
