#!/usr/bin/env bash
# Ordinary users who do what a profiler has to follow as often as they can: processes, mappings,
# stacks, names. Runs end in their time and in memory that has limits, lose nothing without a word,
# and still show the others. System-wide runs, as the flooded one is not the one who is asked for.
#
# Alone: its attackers take whatever there is, and bystanders are judged.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

start "$PROGRAMS/spin" 120
spin=$PID

# judge NAME MIB: what the last run says of itself and of the bystander.
judge() {
	check_equal "$1: ends" $STATUS 0
	check "$1: in time ($WALL_MS ms)" [ "$WALL_MS" -lt 25000 ]
	check "$1: memory ($(stat_of max_rss_kb) KiB)" [ "$(stat_of max_rss_kb)" -lt $(($2 * 1024)) ]
	check "$1: nothing is lost without a word" law_holds
	check "$1: the bystander is seen" [ "$(sum_matching '^spin;.*spin_inner')" -gt 10 ]
}

# flood NAME MIB ATTACKER…: three seconds of it.
flood() {
	local name=$1 mib=$2
	shift 2
	start "${AS_USER[@]}" "$@"
	LIMIT=60 profile -F 199 -f 3
	judge "$name" "$mib"
	stop "$PID"
}

start "${AS_USER[@]}" bash -c 'while :; do (:); /bin/true; done'
LIMIT=60 profile -F 199 -f 3
judge "forks and execs" 200
stop "$PID"

flood "mappings" 300 "$PROGRAMS/attacker" maps
if [ "$(stat_of lost_events)" -gt 0 ]; then
	check "mappings: lost events are told" grep -q 'process events lost' "$T/err"
fi

# What has to be read of a process whenever events were lost, and what loses them.
mkdir -m 777 "$T/paths"
start "${AS_USER[@]}" "$PROGRAMS/attacker" paths "$T/paths"
paths=$PID
wait_until 20 grep -q ready "$T/started" || note "$(cat "$T/started")"
flood "maps of 230 MB" 300 "$PROGRAMS/attacker" maps
used_us=$(($(stat_of user_us) + $(stat_of sys_us)))
check "maps of 230 MB: CPU time ($used_us us)" [ $used_us -lt 2500000 ]
check "maps of 230 MB: told" grep -q 'processes dropped' "$T/err"
stop "$paths"

flood "names that change, of control characters" 200 "$PROGRAMS/attacker" names
check "names: no control characters are printed" \
	no_controls "$T/out" "$T/err"

flood "stacks" 200 "$PROGRAMS/attacker" stacks

# A user's children, each of whom needs a copy of what their parent has had. It begins while we look.
"$STOOK" profile --stats "$T/stats" -F 199 -f 60 >"$T/out" 2>"$T/err" </dev/null &
run=$!
STARTED+=("$run")
wait_until 20 samples "$run" || note "$(cat "$T/err")"
start "${AS_USER[@]}" "$PROGRAMS/attacker" heirs 60000 500
heirs=$PID
wait_until 40 grep -q ready "$T/started" || note "its children are not all there"
kill -TERM $run
begin=$(now_ms)
wait $run
STATUS=$? WALL_MS=$(($(now_ms) - begin))
judge "children with a heritage" 600
if [ "$(stat_of lost_events)" -gt 0 ] || ! grep -q ready "$T/started"; then
	skip "children with a heritage: told" "a machine that is quick enough for all of its events"
else
	check "children with a heritage: told" grep -q 'processes dropped' "$T/err"
fi
stop "$heirs"
stop "$spin"
