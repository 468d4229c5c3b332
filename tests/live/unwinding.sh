#!/usr/bin/env bash
# Return probes in programs through whose functions exceptions may propagate. They are refused, because they would
# kill the program, even if no name shows that it is C++; with --force they are attached.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

# run COMMAND PATTERN ARG…: leaves the program's output in $T/out, and its status.
run() {
	local program=$PROGRAMS/special/$NAME command=$1 pattern=$2
	shift 2
	timeout -k 5 60 "$STOOK" "$command" -q --budget off "$@" "$pattern" -- "$program" \
		>"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}

refused() { [ "$STATUS" -ne 0 ] && grep -q 'exception or panic' "$T/err"; }

# check_program: for $NAME, which has a function in $PLACE.
check_program() {
	run funccount "$PLACE"
	check_equal "$NAME: calls are probed" "$(grep -c 'sum 56' "$T/out") $STATUS" "1 0"
	run funccount "r:$PLACE"
	check "$NAME: a return probe is refused" refused
	run tally "$PLACE" --value latency
	check "$NAME: latency is refused, too" refused
	run tally "$PLACE" --value arg1
	check_equal "$NAME: arguments can be read" "$(grep -c 'sum 56' "$T/out") $STATUS" "1 0"
	run funccount "r:$PLACE" --force
	check "$NAME: --force attaches it" grep -q 'terminate called' "$T/err" "$T/out"
}

NAME=exceptions
PLACE=$PROGRAMS/special/$NAME:passed
build $NAME exceptions.cc g++ -O1 -g && check_program

# A static, stripped program: it contains the C++ library but no symbol names.
NAME=exceptions_static
if build $NAME exceptions.cc g++ -O1 -static; then
	where=$(nm "$PROGRAMS/special/$NAME" | awk '$3 == "passed" { print $1 }')
	strip -o "$PROGRAMS/special/${NAME}_stripped" "$PROGRAMS/special/$NAME"
	NAME=${NAME}_stripped
	PLACE=$PROGRAMS/special/$NAME:0x$where
	check_program
fi

"$STOOK" funccount -l r:c:malloc >"$T/out" 2>"$T/err"
check "return probes in libc are not refused" grep -q malloc "$T/out"
