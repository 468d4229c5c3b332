#!/usr/bin/env bash
# funccount on redis-server under load, by the names in .dynsym, since Debian's redis-server is stripped. Counts
# must be equal to the server's own statistics of commands: each command calls call() once, and its own function
# once.
#
# REQUESTS (20000) is the number of requests of each kind.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

REQUESTS=${REQUESTS:-20000}

for tool in redis-server redis-cli redis-benchmark; do
	if ! command -v $tool >/dev/null; then
		skip "all" "$tool"
		exit 0
	fi
done

port=$(free_port)
start redis-server --port "$port" --bind 127.0.0.1 --save "" --appendonly no
server=$PID
cli() { redis-cli -p "$port" "$@" 2>/dev/null; }
answers() { cli ping | grep -q PONG; }
if ! wait_until 10 answers; then
	fail "redis-server answers" "$(tail -n 3 "$T/started")"
	exit 1
fi

# Prints COMMAND CALLS for all commands since the server's start, except this one.
commands() { cli info commandstats | sed -nE 's/^cmdstat_([^:]*):calls=([0-9]+),.*/\1 \2/p'; }

load() {
	redis-benchmark -p "$port" -n "$REQUESTS" -c 10 -P 4 -r 1000 -q -t get,set,incr,lpush,mset \
		>"$T/load" 2>&1
}

# begin ARG…: starts funccount in the background, until it counts; finish: sends SIGINT, as Ctrl-C does.
begin() {
	: >"$T/err"
	timeout --foreground -k 5 60 "$STOOK" funccount "$@" >"$T/out" 2>"$T/err" </dev/null &
	counter=$!
	STARTED+=("$counter")
	wait_until 20 has_begun
}
has_begun() { grep -q '^Tracing ' "$T/err" || ! kill -0 "$counter" 2>/dev/null; }
finish() {
	local begin
	begin=$(now_ms)
	kill -INT "$counter"
	wait "$counter"
	STATUS=$?
	detach_ms=$(($(now_ms) - begin))
}

count_of() { awk -v name="$1" '$1 == name { print $2 }' "$T/out"; }
calls_of() { awk -v name="$1" '$1 == name { print $2 }' "$T/calls"; }

# Prints the calls between two readings of the statistics. Each reading is a call too: the first one is in the
# statistics that the second one reads; the second one is not, but is counted as well.
begin --budget off "redis-server:(call*|*Read*|*Write*|*Command)" --pid "$server"
commands >"$T/before"
load
commands >"$T/after"
finish
awk 'FNR == NR { before[$1] = $2; next }
	{ calls = $2 - before[$1]; print $1, calls; sum += calls }
	END { print "all", sum }' "$T/before" "$T/after" >"$T/calls"

note "$(grep -c '^[^ ]* *[0-9]*$' "$T/out") functions were called; detached in $detach_ms ms"
check_equal "status" "$STATUS" 0
check_equal "call() is called once for each command" "$(count_of call)" \
	$(($(calls_of all) + 1))
for command in get set incr lpush mset; do
	check_equal "${command}Command() is called once for each $command" \
		"$(count_of ${command}Command)" "$(calls_of $command)"
done
check "the server has executed the whole load" test "$(calls_of get)" -ge "$REQUESTS"

# The example in the manual, under load: it ends in time and prints its table.
load &
loading=$!
begun=$(now_ms)
"$STOOK" funccount 'redis-server:(call*|*Read*|*Write*)' --pid "$server" --duration 1 \
	>"$T/out" 2>"$T/err"
check_equal "with a duration: status" "$?" 0
took=$(($(now_ms) - begun))
check "with a duration: the table" grep -qE '^call {33} *[0-9]+$' "$T/out"
check "with a duration: it ends within 2.5 s ($took ms)" test "$took" -lt 2500
wait "$loading"
