#!/usr/bin/env bash
# Tests reading and writing perf's text: tests/replay/perf_text.sh
#
# A profile that is written as .perf and read again has the same numbers and names. Events in perf's
# own text are counted as perf counts them, for any selection of fields.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

# report ARG…: without the notes about the input
report() {
	"$STOOK" report -g none "$@" 2>"$T/err" </dev/null
}

# judge_round NAME FILE: through perf's text, and from there through pprof
judge_round() {
	local name=$1 in=$2
	report "$in" -o "$T/1.perf" -o "$T/1.pb.gz"
	report "$T/1.perf" -o "$T/2.pb.gz"
	check_equal "$name: the same report" "$(report "$T/1.perf")" "$(report "$in")"
	check_equal "$name: and through pprof" "$(report "$T/2.pb.gz")" "$(report "$in")"
	check_equal "$name: nothing to say of it" "$(report "$T/1.perf" >"$T/out"; cat "$T/err")" ""
	check_equal "$name: no difference" \
		"$("$STOOK" diff "$T/1.pb.gz" "$T/1.perf" 2>&1 | grep -c '^No significant change of a call path')" 1
	check_equal "$name: the same values" \
		"$("$STOOK" report "$T/1.perf" --value none 2>&1 | grep hint)" \
		"$("$STOOK" report "$in" --value none 2>&1 | grep hint)"
}

judge_rounds() {
	printf 'a;main;f 20000\nb b;main 100\n' >"$T/in.folded"
	judge_round "folded" "$T/in.folded"
	printf 'a;main;f 2.25\nb;main 1\n' >"$T/in.folded"
	judge_round "fractions" "$T/in.folded"
	stacks 1000000 >"$T/in.perf"
	judge_round "perf's own" "$T/in.perf"
	stacks "" >"$T/in.perf"
	judge_round "without periods" "$T/in.perf"
}

# stacks PERIOD: prints two page faults at startup, then three samples of a clock
stacks() {
	printf 'sh 7 %s.5: %s %s: \n\t    11 f+0x1 (/bin/sh)\n\n' \
		1 "$1" page-faults 2 "$1" page-faults 3 "$1" cpu-clock 4 "$1" cpu-clock \
		5 "$1" cpu-clock
}

judge_events() {
	stacks "" >"$T/in.perf"
	check_equal "the count is what has the most samples" \
		"$(report "$T/in.perf" --format folded; cat "$T/err")" \
		"sh;f 3
stook: showing cpu-clock; the input also has page-faults: --value NAME shows another"
	check_equal "without periods the others are there" \
		"$(report "$T/in.perf" --value page-faults --format folded)" "sh;f 2"
	check_equal "and all together" "$(report "$T/in.perf" --value samples | head -n 1)" "5 samples"
	stacks 1000000 >"$T/in.perf"
	check_equal "with periods likewise" "$(report "$T/in.perf" | head -n 1)" "3.000 ms of cpu-clock"
}

judge_cut_off() {
	printf 'a 5 [000] 1.0: 1 cycles: \n\tabc f+0x1 (/x)\n\tabd g+0x' >"$T/cut.perf"
	check_equal "a line that is cut off is told" \
		"$(report "$T/cut.perf" --format folded; cat "$T/err")" \
		"a;f 1
stook: skipped 1 line that could not be read, first: line 3"
}

# perf_sum EVENT: prints the total in perf report
perf_sum() {
	perf report -i "$T/perf.data" --stdio -g none 2>/dev/null |
		awk -v event="'$1'" '/^# Samples:/ { found = $NF == event }
			found && /^# Event count/ { print $NF; exit }'
}

# our_sum EVENT ARG…: prints stook's total of perf script's text with these options
our_sum() {
	local event=$1
	shift
	perf script -i "$T/perf.data" "$@" 2>/dev/null |
		"$STOOK" report --value "$event" -s comm --format csv 2>"$T/err" |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "self") self = i }
			NR > 1 { sum += $self } END { print sum + 0 }'
}

judge_by_perf() {
	if [ "$(id -u)" -ne 0 ] || ! command -v perf >/dev/null; then
		skip "the same as perf" "root and perf"
		return
	fi
	perf record -q -e cpu-clock,page-faults -F 999 -g -o "$T/perf.data" -- \
		sh -c 'seq 200000 | sort -R >/dev/null' 2>"$T/err"
	for event in cpu-clock page-faults; do
		check_equal "the sum of $event" "$(our_sum "$event")" "$(perf_sum "$event")"
		check_equal "the number of $event" \
			"$(our_sum "$event" -F comm,tid,time,event,ip,sym,dso)" \
			"$(perf script -i "$T/perf.data" -F event -G 2>/dev/null | grep -c "^ *$event")"
	done
	check_equal "without times and stacks" \
		"$(our_sum samples -F comm,pid,ip,sym,dso -G)" \
		"$(perf script -i "$T/perf.data" -F comm -G 2>/dev/null | grep -c .)"
}

if [ ! -x "$STOOK" ]; then
	fail "all" "$STOOK must be built: make all"
	exit 1
fi
judge_rounds
judge_events
judge_cut_off
judge_by_perf
