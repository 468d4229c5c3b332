#!/usr/bin/env bash
# stook agent --listen, attacked by other users of the host while it samples: malformed requests, slow clients, more
# connections than it takes, questions over everything; and who gets nothing at all.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live
for needed in curl python3; do
	command -v $needed >/dev/null || { skip "all" "$needed"; exit 0; }
done

PRINT_STORE=$ROOT/build/tests/tools/print_store
STORE=$T/store
MEMORY_MB=128 # the agent's usual --max-memory
ALL_MB=400    # with its server and the answers to questions

# agent WHERE ARG…: starts an agent that listens, and waits until the store has an epoch.
agent() {
	: >"$T/err"
	"$STOOK" agent --store "$STORE" --epoch 1 --budget off -F 99 --listen "$@" 2>"$T/err" </dev/null &
	AGENT=$!
	STARTED+=("$AGENT")
	wait_until 20 grep -q 'sampling at' "$T/err" && wait_until 20 has_epochs 1
}
end_agent() {
	kill -TERM "$AGENT"
	wait "$AGENT"
	STATUS=$?
}
nr_epochs() { "$PRINT_STORE" "$STORE" comm | awk '$1 == "epochs" { print $2 }'; }
has_epochs() { [ "$(nr_epochs)" -ge "$1" ]; } 2>/dev/null
status() { curl -s -m 20 -o /dev/null -w '%{http_code}' "$@"; }

# --- who gets nothing -----------------------------------------------------------------------------------------

mkdir "$T/socket" && chmod 755 "$T/socket"
agent "unix:$T/socket/s"
check_equal "the socket: its user" "$(curl -sS -m 10 --unix-socket "$T/socket/s" http://localhost/healthz)" ok
check_equal "the socket: another user cannot connect" \
	"$("${AS_USER[@]}" curl -s -m 5 --unix-socket "$T/socket/s" http://localhost/healthz; echo $?)" 7
check_equal "the store: another user cannot read it" "$("${AS_USER[@]}" cat "$STORE" 2>/dev/null | wc -c)" 0
end_agent

rm -f "$STORE"*
token=$(head -c 24 /dev/urandom | base64)
(umask 077 && echo "$token" >"$T/token")
agent 127.0.0.1:0 --token-file "$T/token"
url=$(sed -n 's/.*serving at \(http.*\)\/$/\1/p' "$T/err")
bearer="Authorization: Bearer $token"
served=
for path in /api/store /api/labels /api/series /api/profile /api/diff /api/regressions /metrics /healthz \
	/debug/pprof/profile; do
	code=$("${AS_USER[@]}" curl -s -m 20 -o "$T/answer" -w '%{http_code}' "$url$path")
	[ "$code" = 401 ] || served+="$path: $code "
done
check_equal "the port: another user is served nothing" "$served" ""
check_equal "the port: another user cannot read the token" "$("${AS_USER[@]}" cat "$T/token" 2>/dev/null | wc -c)" 0
# shellcheck disable=SC2016 # expanded by the inner shell
check_equal "the port: cannot be reached from another network namespace" \
	"$(unshare --net sh -c 'ip link set lo up 2>/dev/null; curl -s -m 5 -H "$1" "$2/healthz"; echo $?' sh "$bearer" "$url")" 7

# --- attacks while it samples ---------------------------------------------------------------------------------

start "$PROGRAMS/spin" 600
server=$(pgrep -P "$(pgrep -P "$AGENT" -x stook-serve)")
# Memory of the agent's processes, and of these and the server's, in MB: the most at once so far.
tree() {
	local child
	echo "$1"
	for child in $(cat "/proc/$1"/task/*/children 2>/dev/null); do
		[ "$child" = "${2:-}" ] || tree "$child" "${2:-}"
	done
}
pss_kb() { tree "$@" | sed 's|.*|/proc/&/smaps_rollup|' | xargs cat 2>/dev/null | awk '/^Pss:/ { n += $2 } END { print n + 0 }'; }
host=$(pgrep -P "$AGENT" -x stook-serve)
watch_memory() {
	while sleep 0.3; do
		echo "$(pss_kb "$AGENT" "$host") $(pss_kb "$AGENT")"
	done >"$T/memory"
}
watch_memory &
STARTED+=("$!")
ask_all() ( # in a shell of its own: it waits for its requests only
	for _ in 1 2 3 4 5 6 7 8; do
		curl -s -m 60 -o /dev/null -H "$bearer" "$url/api/profile?from=@0&format=html&by=pid,comm" &
		curl -s -m 60 -o /dev/null -H "$bearer" "$url/api/diff?from=-1m&format=html" &
	done
	wait
)
began=$(now_ms)
ask_all &
asking=$!
STARTED+=("$asking")
check_equal "10,000 malformed requests, slow clients, 1,000 connections" \
	"$(python3 tests/tools/attack_server.py "${url##*:}" "$token" 2>"$T/attack" || tail -n 1 "$T/attack")" "HTTP/1.1 200 in time"
ask_all
wait "$asking"
took=$(($(now_ms) - began))
check_equal "the server is the same process" "$(pgrep -P "$host" | grep -cx "$server")" 1
check_equal "it answers" "$(status -H "$bearer" "$url/healthz")" 200
lost=$(curl -s -m 20 -H "$bearer" "$url/metrics" | awk '/^stook_lost_samples_total/ { n += $NF } END { print n + 0 }')
kill "$PID"
end_agent
check_equal "the agent ends well" $STATUS 0
# On a busy machine, epochs are named together.
stored=$("$PRINT_STORE" -e "$STORE" comm | awk -v began="$began" '
	$1 == "epoch" && $2 / 1e6 >= began { ms += ($3 - $2) / 1e6 } END { printf "%d\n", ms }')
check "epochs keep coming: $stored of $took ms" test $((stored * 10)) -ge $((took * 8))
check "the sums agree" test "$(grep -c 'do not agree' "$T/err")" -eq 0
check_equal "no sample is lost, by the store" "$("$PRINT_STORE" "$STORE" comm | awk '$1 == "epochs" { print $8 }')" 0
check_equal "… and by the metrics" "$lost" 0
check_equal "no epoch is dropped" "$(grep -c 'epochs are dropped' "$T/err")" 0
gaps=$("$PRINT_STORE" -e "$STORE" comm | awk '$1 == "epoch" { if (end && $2 - end > 2e9) n++; end = $3 } END { print n + 0 }')
check_equal "between epochs there is no gap" "$gaps" 0
read -r own all < <(awk '{ if ($1 > own) own = $1; if ($2 > all) all = $2 } END { printf "%d %d\n", own / 1000, all / 1000 }' "$T/memory")
check "the agent's memory is bounded ($own MB)" test "$own" -le $MEMORY_MB
check "… and with its server and questions ($all MB)" test "$all" -le $ALL_MB
