#!/usr/bin/env bash
# Stook's own processes, including its children, are excluded from samples and hits unless the user asks for
# them. They are accounted for in both cases; also in a pid namespace, where their pids differ.
# Another stook's are samples like any other program's, unless the user asks for them to be left out.
#
# The test runs a copy of stook with another name, to distinguish it from other runs of stook on the host.
#
# Alone: it probes malloc() in all processes.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

cp "$STOOK" "$T/stook_of_test"
STOOK=$T/stook_of_test
STATS=$T/stats
export STOOK STATS T

own_lines() { grep -c '^stook_of_test[;-]' "$T/out"; }
helper_lines() { grep -cE '^stook-(opener|parser)[;-]' "$T/out"; }

# A load, since without samples there would be no symbols to look up.
start bash -c 'while :; do /bin/true; done'

# With intervals and inlined calls, stook reads symbols while it samples, and has children that read DWARF.
FAULTS=(profile -f -e page-faults -c 1 -d 1.5 -i 0.5 --inline --by pid,comm --stats "$STATS")

"$STOOK" "${FAULTS[@]}" >"$T/out" 2>"$T/err"
check_equal "page faults: none of its own" "$(own_lines)" 0
check "page faults: they are counted apart" test "$(stat_of own)" -gt 100
check_equal "page faults: the law holds" "$(stat_of law_violations) $(stat_of mismatches)" "0 0"

"$STOOK" "${FAULTS[@]}" --self >"$T/out" 2>"$T/err"
check "page faults, --self: its own are there" test "$(own_lines)" -gt 0
check_equal "page faults, --self: none is left out" "$(stat_of own)" 0
check "page faults, --self: its children too" test "$(helper_lines)" -gt 0

"$STOOK" stackcount -f --budget off c:malloc -d 1 --stats "$STATS" >"$T/out" 2>"$T/err"
check_equal "stackcount: none of its own" "$(own_lines)" 0
"$STOOK" stackcount -f --budget off c:malloc -d 1 --self --stats "$STATS" >"$T/out" 2>"$T/err"
check "stackcount, --self" test "$(own_lines)" -gt 0

for command in "funccount --by comm" tally; do
	by=()
	[ "$command" = tally ] && by=(--by comm)
	# shellcheck disable=SC2086
	"$STOOK" $command "${by[@]}" --budget off c:malloc -d 1 >"$T/out" 2>"$T/err"
	check_equal "$command: none of its own" "$(grep -c stook_of_test "$T/out")" 0
	check "$command: the number of its own hits is reported" grep -q "excluded [0-9,]* hits of stook's own" "$T/err"
	# shellcheck disable=SC2086
	"$STOOK" $command "${by[@]}" --budget off c:malloc -d 1 --self >"$T/out" 2>"$T/err"
	check "$command, --self" grep -q stook_of_test "$T/out"
done

# Its own pid, by exec.
bash -c 'exec "$STOOK" stackcount -f --budget off c:malloc -d 1 -p $$' >"$T/out" 2>"$T/err"
check "-p with its own pid shows it" test "$(own_lines)" -gt 0

if unshare --pid --fork --mount-proc true 2>/dev/null; then
	unshare --pid --fork --mount-proc "$STOOK" "${FAULTS[@]}" >"$T/out" 2>"$T/err"
	check_equal "in a pid namespace: none of its own" "$(own_lines)" 0
	check "in a pid namespace: they are counted apart" test "$(stat_of own)" -gt 100
else
	skip "in a pid namespace" "the right to make one"
fi

start "$STOOK" profile -a -F 4999 -i 0.2 --inline -o "$T/other.folded"
other=$PID
wait_until 5 test -s "$T/other.folded"
"$STOOK" profile -f -a -F 999 -d 1 --stats "$STATS" >"$T/out" 2>"$T/err"
check "another stook: it is there" test "$(own_lines)" -gt 0
"$STOOK" profile -f -a -F 999 -d 1 --exclude '^stook' --stats "$STATS" >"$T/out" 2>"$T/err"
check_equal "another stook, --exclude: none of its processes" "$(($(own_lines) + $(helper_lines)))" 0
check "another stook, --exclude: they are counted apart" test "$(($(stat_of hidden) + $(stat_of filtered)))" -gt 0
stop "$other"
