#!/usr/bin/env bash
# Tests `flame --total`: the total sets the full width; a total that is too small is ignored with a
# warning.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

printf 'app;main;work 40\napp;main 60\n' >"$T/in.folded"
printf 'app;main;work 0.25\napp;main 1.25\n' >"$T/in_parts.folded"

draw() {
	"$STOOK" flame "$@" >"$T/out.svg" 2>"$T/err"
}

draw "$T/in.folded" --total 200
check_equal "a larger total: nothing to say" "$(cat "$T/err")" ""
check "shares are of it" grep -q '<title>work (40 samples, 20.00%)' "$T/out.svg"

draw "$T/in.folded" --total 99
check_equal "a smaller total is told" "$(cat "$T/err")" \
	"stook: --total 99 ignored: less than the profile's 100 samples"
check "and ignored" grep -q '<title>work (40 samples, 40.00%)' "$T/out.svg"
draw "$T/in.folded" --total 99 -q
check_equal "quietly with -q" "$(cat "$T/err")" ""

draw "$T/in_parts.folded" --total 2
check_equal "of weights with fractions: as they were read" "$(cat "$T/err")" ""
check "shares are of that" grep -q 'width="12.5%"' "$T/out.svg"
