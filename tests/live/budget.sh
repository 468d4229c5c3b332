#!/usr/bin/env bash
# The overhead budget: every function of the C library is counted, in all processes, while
# redis-server works as fast as it can. Without a budget the probes bring the server to a halt; with one, its
# throughput must stay above 90 % from the second second of the run on, and detached probes are reported.
#
# Each round compares a run with the server's throughput before and after it. Results of rounds differ by 10 %
# and more on a shared machine, even if nothing else runs in it. So after ROUNDS (3) rounds further ones follow
# until the mean differs from 90 % by more than its error, or until ROUNDS_MOST (8). The mean must not be below
# 90 % by more than twice its error. The figures go to stderr, those of the first round in steps of 100 ms.
#
# Alone: it judges throughput, and slows down every program that uses the C library.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

ROUNDS=${ROUNDS:-3}
ROUNDS_MOST=${ROUNDS_MOST:-8}
PATTERN=${PATTERN:-c:*}
BUDGET=${BUDGET:-3%} # the default
QUIET_MS=1500 # between runs
RUN=5	      # seconds of a run

for tool in redis-server redis-benchmark redis-cli; do
	if ! command -v $tool >/dev/null; then
		skip "all" "$tool"
		exit 0
	fi
done

# --- the load --------------------------------------------------------------------------------------

answers() { [ "$(redis-cli -p "$port" ping 2>/dev/null)" = PONG ]; }
serves() { kill -0 "$server" 2>/dev/null && answers; }

port=$(free_port)
start redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no
server=$PID
if ! wait_until 5 serves; then
	fail "all" "redis-server does not start: $(tail -n 1 "$T/started")"
	exit 1
fi
start redis-benchmark -p "$port" -q -t get,set -n 1000000000

# Prints the server's own counter every 100 ms, over one connection: time, commands executed.
redis-cli -p "$port" -r 10000 -i 0.1 info >"$T/info" 2>&1 </dev/null &
STARTED+=($!)

now_us() { date +%s%6N; }

# cells FROM TO: prints the commands in each 100 ms between two times, one number per line.
cells() {
	tr -d '\r' <"$T/info" | awk -F : -v from="$1" -v to="$2" '
		$1 == "server_time_usec" { before = time; time = $2 }
		$1 == "total_commands_processed" {
			if (before && before >= from && time <= to)
				printf "%d\n", ($2 - done) * 1e5 / (time - before)
			done = $2
		}'
}
mean() { awk '{ n += $1 } END { print NR ? int(n / NR) : 0 }'; }

# --- the runs --------------------------------------------------------------------------------------

# run: one run; its start and end, in microseconds, are in $BEGAN and $ENDED.
has_begun() { grep -qs '^Tracing ' "$T/out" "$T/err" || ! kill -0 "$counter" 2>/dev/null; }
run() {
	: >"$T/out" # messages of the previous round must not be taken for this one's
	: >"$T/err"
	timeout -k 5 $((RUN + 20)) "$STOOK" funccount --budget "$BUDGET" -d $RUN "$PATTERN" \
		>"$T/out" 2>"$T/err" </dev/null &
	counter=$!
	STARTED+=("$counter")
	wait_until 10 has_begun
	BEGAN=$(now_us)
	wait "$counter"
	STATUS=$?
	ENDED=$(now_us)
}

nr_cut() { awk '/budget of .* was exceeded/ { print $NF + 0 }' "$T/err"; }

header() {
	note "| round | before | first second | then | after | then, in % | cut |"
	note "|---|---|---|---|---|---|---|"
}

# judge_rounds: the mean of all rounds' percentages is in $MEAN, twice its error in $MARGIN
judge_rounds() {
	read -r MEAN MARGIN < <(awk '{ sum += $1; squares += $1 * $1 }
		END {
			mean = sum / NR
			variance = NR > 1 ? (squares - NR * mean * mean) / (NR - 1) : 0
			printf "%d %d\n", mean + 0.5, 2 * sqrt(variance > 0 ? variance / NR : 0) + 0.5
		}' "$T/percents")
}

is_clear() {
	[ "$(wc -l <"$T/percents")" -ge "$ROUNDS" ] && judge_rounds && [ $((MEAN - MARGIN / 2)) -ge 90 ]
}

# round: a run between two idle phases, printed as a row; its percentage goes to $T/percents.
round() {
	local before first later after usual rested_us
	rested_us=$(now_us)
	sleep "${QUIET_MS%???}.${QUIET_MS: -3}"
	run
	sleep "${QUIET_MS%???}.${QUIET_MS: -3}"
	before=$(cells "$rested_us" $((rested_us + QUIET_MS * 1000)) | mean)
	first=$(cells "$BEGAN" $((BEGAN + 1000000)) | mean)
	later=$(cells $((BEGAN + 1000000)) $((BEGAN + RUN * 1000000)) | mean)
	after=$(cells "$ENDED" "$(now_us)" | mean)
	usual=$(((before + after) / 2))
	percent "$later" "$usual" >>"$T/percents"
	note "| $1 | $before | $first | $later | $after | $(tail -n 1 "$T/percents") | $(nr_cut) |"
	if [ "$1" -eq 1 ]; then
		cells $((BEGAN - 500000)) $((ENDED + 500000)) >"$T/first"
	fi
}

sleep 0.5
header
for ((i = 1; i <= ROUNDS_MOST; i++)); do
	round "$i"
	[ "$STATUS" -eq 0 ] || break
	is_clear && break
done
judge_rounds
note "round 1, by 100 ms, from 0.5 s before it: $(tr '\n' ' ' <"$T/first")"
check "$PATTERN under load: exit status 0" test "$STATUS" -eq 0
check "$PATTERN under load: the load keeps 90 % ($MEAN +- $MARGIN %)" test $((MEAN + MARGIN)) -ge 90
check "$PATTERN under load: detached probes are reported" test "0$(nr_cut)" -gt 0
check "$PATTERN under load: something was counted" test "$(wc -l <"$T/out")" -gt 10
check "the load is still there" serves
