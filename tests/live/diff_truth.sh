#!/usr/bin/env bash
# stook diff of real profiles. If the load is steady, at least 90 % of the comparisons must find no change. If
# one function is 10 % slower, it must be the first row.
#
# programs/diff_load spends its time in three functions; its argument is the time of one of them. Higher
# REPETITIONS (20) and SECONDS_EACH (2) make the test stricter. stook diff computes errors from the time slices
# (--timeline).
#
# Alone: the CPU time that other tests use varies, and would be found as a change.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

REPETITIONS=${REPETITIONS:-20}
SECONDS_EACH=${SECONDS_EACH:-2}
PART_US=1000

record() { # record FILE MICROSECONDS SECONDS HZ
	start setpriv --pdeathsig KILL "$PROGRAMS/diff_load" "$2" # it runs forever
	profile -p "$PID" -F "$4" --timeline 0.2 -d "$3" -o "$1" || note "$(cat "$T/err")"
	stop "$PID"
}

changed() { # changed FILE: prints the number of changed rows and paths, and the names of the rows
	python3 - "$1" <<-'PYTHON'
	import json, sys
	report = json.load(open(sys.argv[1]))
	rows = [r["name"] for r in report["rows"] if r["self"]["kind"] or r["total"]["kind"]]
	print(len(rows) + len(report["paths"]), *rows)
	PYTHON
}

# apart FOLDER COMMAND…: runs COMMAND in the background with the new directory FOLDER as $T; its pid is in $APART.
apart() {
	local T=$1
	mkdir "$T"
	"${@:2}" &
	APART=$!
	STARTED+=("$APART")
}

# compare_steady NR: compares NR profiles of a steady load, each with the previous one. Writes the number of
# comparisons that found a change to $T/wrong.
compare_steady() {
	local i wrong=0 seen
	record "$T/last.pb.gz" $PART_US "$SECONDS_EACH" 999
	for ((i = 0; i < $1; i++)); do
		mv "$T/last.pb.gz" "$T/first.pb.gz"
		record "$T/last.pb.gz" $PART_US "$SECONDS_EACH" 999
		"$STOOK" diff "$T/first.pb.gz" "$T/last.pb.gz" -o "$T/diff.json" 2>"$T/err"
		seen=$(changed "$T/diff.json")
		[ "${seen%% *}" = 0 ] || { wrong=$((wrong + 1)); note "of a steady load: $seen"; }
	done
	echo $wrong >"$T/wrong"
}

# Two series of comparisons at the same time, on one CPU each.
steady() {
	local wrong
	apart "$T/steady" compare_steady $((REPETITIONS / 2))
	compare_steady $((REPETITIONS - REPETITIONS / 2))
	wait "$APART"
	wrong=$(($(cat "$T/wrong") + $(cat "$T/steady/wrong")))
	note "a steady load: $wrong of $REPETITIONS comparisons found a change"
	check "a steady load did not change" test $((wrong * 10)) -le "$REPETITIONS"
}

# Both at the same time, on one CPU each: disturbances of the machine affect both.
slower() {
	local first before=$T/before.pb.gz after=$T/after.pb.gz
	apart "$T/beside" record "$before" $PART_US 20 3999
	record "$after" $((PART_US * 11 / 10)) 20 3999
	wait "$APART"
	"$STOOK" diff "$T/before.pb.gz" "$T/after.pb.gz" -o "$T/diff.json" -o "$T/diff.txt" 2>"$T/err"
	note "$(cat "$T/diff.txt")"
	first=$(python3 -c '
import json, sys
row = json.load(open(sys.argv[1]))["rows"][0]
print(row["name"], row["self"]["kind"])' "$T/diff.json")
	check_equal "a function that is 10 % slower comes first" "$first" "part more"
}

other_load() {
	start "$PROGRAMS/diff_load" 0
	profile -p "$PID" -F 999 -d 3 -o "$T/without.pb.gz"
	stop "$PID"
	record "$T/with.pb.gz" $PART_US 3 999
	"$STOOK" diff "$T/without.pb.gz" "$T/with.pb.gz" >"$T/out" 2>"$T/err"
	check "a new function is marked" grep -q 'NEW *part' "$T/out"
	"$STOOK" diff --by-time "$T/without.pb.gz" "$T/with.pb.gz" >"$T/out" 2>"$T/err"
	check "rates are compared, by the durations of the files" grep -q 'by time' "$T/out"
	record "$T/seldom.pb.gz" $PART_US 1 99
	"$STOOK" diff --by-time "$T/seldom.pb.gz" "$T/with.pb.gz" >"$T/out" 2>"$T/err"
	check "rates of different frequencies are refused" grep -q 'sampled at a different rate' "$T/err"
}

steady
slower
other_load
