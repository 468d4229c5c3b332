#!/usr/bin/env bash
# Compares stook with stackcollapse-perf.pl on FlameGraph's test inputs, perf script text of many
# years, with each option of that script: tests/replay/flamegraph_inputs.sh
#
# FLAMEGRAPH_TEST is the path of FlameGraph's `test` folder, which is not part of this tree. Each
# intended difference is a rule with a reason in tests/tools/compare_folded.py; all other lines must
# be equal. A table of the figures goes to stderr.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

PRINT_FOLDED=${PRINT_FOLDED:-$ROOT/build/tests/tools/print_folded}
COMPARE=$ROOT/tests/tools/compare_folded.py

# Prints stackcollapse-perf.pl's options, each with stook's equivalent.
options() {
	cat <<-'OPTIONS'
	all -a
	kernel -a
	jit -a
	pid -l comm,pid
	tid -l comm,pid,tid
	addrs
	OPTIONS
}

# The script drops a sample without a following empty line: prints the input up to the last one.
without_last_sample() {
	awk '{ text = text $0 "\n" } /^$/ { printf "%s", text; text = "" }' "$1"
}

judge() { # judge NAME INPUT RESULT OPTION ARGUMENT…
	local name=$1 input=$2 result=$3 option=$4
	shift 4
	"$PRINT_FOLDED" -i perf "$@" "$input" >"$T/ours" 2>"$T/err" &&
		without_last_sample "$input" | "$PRINT_FOLDED" -i perf "$@" >"$T/ours_cut" 2>>"$T/err" &&
		python3 "$COMPARE" "$option" "$T/ours" "$result" "$T/ours_cut" >"$T/row" 2>>"$T/err"
	check_equal "$name with --$option" "$? $(tail -n 1 "$T/err")" "0 "
	# shellcheck disable=SC2046,SC2183 # a row is five words
	printf '%-38s %-7s %6s %6s %6s %6s  %s\n' "$name" "$option" $(cat "$T/row") >>"$T/table"
}

judge_input() {
	local name option arguments result
	name=$(basename "$1" .txt)
	while read -r option arguments; do
		result=$(dirname "$1")/results/$name-collapsed-$option.txt
		# shellcheck disable=SC2086 # arguments are words
		[ -f "$result" ] && judge "$name" "$1" "$result" "$option" $arguments
	done < <(options)
}

if [ -z "${FLAMEGRAPH_TEST:-}" ] || [ ! -d "$FLAMEGRAPH_TEST/results" ]; then
	skip "all" "FLAMEGRAPH_TEST, the folder of FlameGraph's test inputs"
	exit 0
fi
if [ ! -x "$PRINT_FOLDED" ]; then
	fail "all" "$PRINT_FOLDED must be built"
	exit 1
fi
printf '%-38s %-7s %6s %6s %6s %6s  %s\n' input option lines equal ruled wrong rules >"$T/table"
for input in "$FLAMEGRAPH_TEST"/*.txt; do
	judge_input "$input"
done
note "$(cat "$T/table")"
