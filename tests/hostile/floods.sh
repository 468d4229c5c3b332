#!/usr/bin/env bash
# Ordinary users who flood a profiler with events: processes, mappings, stacks, names. Runs must end in time
# and within memory limits, report all losses, and still show other processes. Runs are system-wide, since
# the target of a profile is rarely the attacker.
#
# Alone: the attackers use all CPU time, and the test judges the samples of another process.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

start "$PROGRAMS/spin" 120
spin=$PID

# judge NAME MIB: checks the last run's statistics, and its samples of the bystander.
judge() {
	check_equal "$1: ends" $STATUS 0
	check "$1: in time ($WALL_MS ms)" [ "$WALL_MS" -lt 25000 ]
	check "$1: memory ($(stat_of max_rss_kb) KiB)" [ "$(stat_of max_rss_kb)" -lt $(($2 * 1024)) ]
	check "$1: all losses are reported" law_holds
	check "$1: the bystander is seen" [ "$(sum_matching '^spin;.*spin_inner')" -gt 10 ]
}

# flood NAME MIB ATTACKER…: profiles three seconds of a flood.
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
	check "mappings: lost events are reported" grep -q 'process events lost' "$T/err"
fi

# Lost events force all mappings of a process to be read again; this floods events, and makes maps large.
mkdir -m 777 "$T/paths"
start "${AS_USER[@]}" "$PROGRAMS/attacker" paths "$T/paths"
paths=$PID
wait_until 20 grep -q ready "$T/started" || note "$(cat "$T/started")"
flood "maps of 230 MB" 300 "$PROGRAMS/attacker" maps
used_us=$(($(stat_of user_us) + $(stat_of sys_us)))
check "maps of 230 MB: CPU time ($used_us us)" [ $used_us -lt 2500000 ]
check "maps of 230 MB: reported" grep -q 'mappings of a process were dropped' "$T/err"
stop "$paths"

flood "names that change, of control characters" 200 "$PROGRAMS/attacker" names
check "names: no control characters are printed" \
	no_controls "$T/out" "$T/err"

flood "stacks" 200 "$PROGRAMS/attacker" stacks

# Children of a user, each of which needs a copy of its parent's mappings. Starts during the run.
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
judge "children with inherited mappings" 600
if [ "$(stat_of lost_events)" -gt 0 ] || ! grep -q ready "$T/started"; then
	skip "children with inherited mappings: reported" "a machine that is quick enough for all of its events"
else
	check "children with inherited mappings: reported" grep -q 'mappings of a process were dropped' "$T/err"
fi
stop "$heirs"
stop "$spin"
