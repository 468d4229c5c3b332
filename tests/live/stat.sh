#!/usr/bin/env bash
# `stook stat` beside `perf stat`, on the same process: stopped when both attach, then continued, so that both count
# the same. And against counts that are known by construction: dd writes as many times as it is told to.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

CPU=$(sed 's/[,-].*//' /sys/devices/system/cpu/online)
WRITES=(-e syscalls:sys_enter_write)
DD=(dd if=/dev/zero of=/dev/null bs=1 count=5000 status=none)

stat() { # stat ARG…: leaves $T/out, $T/err and $STATUS
	timeout -k 5 "${LIMIT:-60}" "$STOOK" stat "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
	return $STATUS
}

# counted EVENT [KEY]: prints a count from the CSV in $T/out, summed up over rows, or only of those that contain KEY.
counted() {
	tr -d '"\r' <"$T/out" | awk -F, -v event="$1" -v key="${2:-}" '
		/^time,/ { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["event"] == event && index($0, key) { n += $column["value"] }
		END { printf "%d\n", n }'
}

# --- beside perf -----------------------------------------------------------------------------------

EVENTS=context-switches,cpu-migrations,page-faults,minor-faults,major-faults,task-clock

# differences: prints how the CSV of stook, in $T/out, and of perf, in $T/perf, differ.
differences() {
	tr -d '"\r' <"$T/out" | awk -F, '
		FNR == NR {
			if (/^time,/) for (i = 1; i <= NF; i++) column[$i] = i
			else got[$column["event"]] = $column["value"]
			next
		}
		NF > 3 {
			nr++
			value = $3 == "task-clock" ? $1 * 1e6 : $1
			far = got[$3] - value
			if (!($3 in got) || ($3 == "task-clock" ? far * far > 1e-4 * value * value : far))
				printf "%s: %s, perf %s; ", $3, got[$3], value
		}
		END { if (nr != 6) printf "%d events of perf", nr }' - "$T/perf"
}

beside_perf() { # beside_perf ROUND COMMAND…
	local round=$1 target perf stook
	shift
	start sh -c "kill -STOP \$\$; exec $*"
	target=$PID
	wait_until 5 grep -q '^State:.*T' "/proc/$target/status"
	start perf stat -x, -e $EVENTS -p "$target" -o "$T/perf"
	perf=$PID
	timeout -k 5 60 "$STOOK" stat -q -e $EVENTS -p "$target" --csv -o "$T/stook.csv" 2>"$T/err" &
	stook=$!
	STARTED+=("$stook")
	wait_until 5 samples "$perf"
	wait_until 5 samples "$(pgrep -P "$stook" stook)"
	sleep 0.2 # counters are opened; perf enables them a moment later
	kill -CONT "$target"
	wait "$target" 2>/dev/null
	wait "$stook" "$perf" 2>/dev/null
	mv "$T/stook.csv" "$T/out"
	check_equal "round $round beside perf: ${1##*/}" "$(differences)" ""
}

if ! perf stat -e task-clock true 2>/dev/null; then
	skip "beside perf" "perf"
else
	for round in 1 2 3 4 5; do
		beside_perf $round "$PROGRAMS/forkstorm" 0.5 4
		beside_perf $round "$PROGRAMS/switches" 1 "$CPU"
	done
fi

# --- commands --------------------------------------------------------------------------------------

stat "${WRITES[@]}" -e task-clock --csv -- "${DD[@]}"
check_equal "a command: writes" "$(counted syscalls:sys_enter_write)" 5000
stat "${WRITES[@]}" --csv -- sh -c "for i in 1 2 3; do ${DD[*]} & done; wait; exec ${DD[*]}"
check_equal "children and exec: writes" "$(counted syscalls:sys_enter_write)" 20000
stat "${WRITES[@]}" --csv --no-follow -- sh -c "${DD[*]} & wait; exec ${DD[*]}"
check_equal "without children: writes" "$(counted syscalls:sys_enter_write)" 5000
stat "${WRITES[@]}" --csv --per-cpu -- taskset -c "$CPU" "${DD[@]}"
# Without -p, -t and a cgroup, CPUs are counted whole: other processes write too.
writes=$(counted syscalls:sys_enter_write ",$CPU,syscalls")
check "per CPU: writes" test "$writes" -ge 5000
check "per CPU: all writes" test "$(counted syscalls:sys_enter_write)" -ge "$writes"
stat "${WRITES[@]}" --csv -i 0.05 -- sh -c "for i in 1 2 3 4; do ${DD[*]}; sleep 0.05; done"
check_equal "intervals add up" "$(counted syscalls:sys_enter_write)" 20000
check "intervals: several" test "$(wc -l <"$T/out")" -gt 3
stat -e task-clock -I 50 -- sleep 0.3
check_equal "intervals in milliseconds: the heading of perf" "$(grep -c '^#' "$T/out") $(head -n 1 "$T/out")" \
	"1 #           time              counts unit events"
check "intervals in milliseconds: several" test "$(wc -l <"$T/out")" -gt 3
stat "${WRITES[@]}" -r 5 --json -- "${DD[@]}"
check "five runs: the mean and its error" \
	grep -q '"runs": 5, .*"value": 5000.000000, .*"spread_percent": 0.000,' "$T/out"
stat -r 3 -- sh -c 'echo ran; exit 7'
check_equal "three runs: status of the command" $STATUS 7
check_equal "three runs" "$(grep -cx ran "$T/out")" 3
check "text: CPUs utilized" grep -qE '^ +[0-9.]+ msec task-clock +# +[0-9.]+ CPUs utilized' "$T/out"
check "text: times" grep -qE '^ +[0-9.]+ ± [0-9.]+ seconds time elapsed' "$T/out"
# A program on a tracepoint must not keep hits from counters.
"$STOOK" funccount t:syscalls:sys_enter_write -- "$STOOK" stat -q "${WRITES[@]}" -o "$T/beside.csv" -- "${DD[@]}" \
	>/dev/null 2>&1
check_equal "beside funccount: writes" "$(cut -d, -f 4 "$T/beside.csv" | tail -n 1)" 5000
stat -- sh -c 'kill -KILL $$'
check_equal "status of a command that was killed" $STATUS 137
stat -- /nowhere/program
check_equal "status of a command that does not exist" $STATUS 127
stat -e no-such-event -- true
check_equal "status of an unknown event" $STATUS 125

# --- tasks -----------------------------------------------------------------------------------------

start "$PROGRAMS/spin" 60
spin=$PID
stat --csv -e task-clock -p "$spin" 0.5
# shellcheck disable=SC2016 # $ is awk's
check "a process: its time" awk -F, 'NR == 2 { n = $4; most = $2 * 1.005e9 } END { exit !(n > 1e6 && n <= most) }' "$T/out"
stat --csv --per-thread -e task-clock -t "$spin" 0.3
check "a thread by its name: $(tail -n 1 "$T/out")" grep -q "\"spin-$spin\",\"task-clock\"" "$T/out"
stat --csv --per-core -C "$CPU" -e cpu-clock 0.3
check_equal "a CPU: one core" "$(tail -n +2 "$T/out" | wc -l)" 1
stat --csv --per-socket -e cpu-clock 0.3
check "sockets" grep -qE '"S0",[0-9]+,"cpu-clock"' "$T/out"
if mkdir "/sys/fs/cgroup/unified/stook-$$" 2>/dev/null; then
	cgroup=/sys/fs/cgroup/unified/stook-$$
elif [ -e /sys/fs/cgroup/cgroup.procs ] && mkdir "/sys/fs/cgroup/stook-$$" 2>/dev/null; then
	cgroup=/sys/fs/cgroup/stook-$$
fi
if [ -n "${cgroup:-}" ] && stat --cgroup "stook-$$" -e cpu-clock 0.1; then
	stat "${WRITES[@]}" --csv --cgroup "stook-$$" -a -- \
		sh -c "${DD[*]}; echo \$\$ >$cgroup/cgroup.procs; exec ${DD[*]}"
	check_equal "a cgroup: writes" "$(counted syscalls:sys_enter_write)" 5000
	start sh -c "echo \$\$ >$cgroup/cgroup.procs; sleep 0.5; exec ${DD[*]}"
	stat "${WRITES[@]}" --csv --per-cgroup 1.5
	check_equal "per cgroup: writes" "$(counted syscalls:sys_enter_write "stook-$$")" 5000
else
	skip "cgroups" "cgroup 2 with perf_event"
fi
[ -z "${cgroup:-}" ] || rmdir "$cgroup"

# A process that creates threads all the time: each is counted once, or reported.
start python3 -c '
import threading, time
while True:
    threads = [threading.Thread(target=lambda: time.sleep(0.01)) for _ in range(20)]
    [t.start() for t in threads]
    [t.join() for t in threads]'
stat --csv -e task-clock,context-switches -p "$PID" 0.5
check "many short threads: $(tail -n 1 "$T/err")" test $STATUS -eq 0 -a "$(counted context-switches)" -gt 100
stop "$PID" "$spin"

# --- the end, and what is missing ------------------------------------------------------------------

"$STOOK" stat >"$T/out" 2>"$T/err" </dev/null &
PID=$!
wait_until 5 samples "$PID"
sleep 0.1
kill -INT "$PID"
wait "$PID"
check_equal "Ctrl-C: status" $? 0
check "Ctrl-C: prints" grep -q 'seconds time elapsed' "$T/out"
if perf stat -e cycles true 2>&1 | grep -q 'not supported'; then
	stat -e cycles,faults -- true
	check "no PMU: the event is not supported" grep -q '<not supported> *cycles' "$T/out"
	check "no PMU: why" grep -q 'not counted: cycles: this machine has no such counter' "$T/err"
	stat -e cycles 1
	check_equal "no PMU, no other event: status" $STATUS 1
	stat --preset stalls 1
	check_equal "no PMU, a preset: status" $STATUS 1
fi
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
	chmod 777 "$T"
	"${AS_USER[@]}" "$STOOK" stat -- true >"$T/out" 2>"$T/err"
	check_equal "an ordinary user: status" $? 0
	check "an ordinary user: without the kernel" grep -qE '[1-9][0-9]* +page-faults:u' "$T/out"
	"${AS_USER[@]}" "$STOOK" stat 1 >"$T/out" 2>"$T/err"
	check_equal "an ordinary user, whole system: status" $? 1
	check "an ordinary user, whole system: why" grep -q 'perf_event_paranoid' "$T/err"
fi
if [ -e /sys/bus/event_source/devices/msr/events/tsc ]; then
	stat -e msr/tsc/ 0.5
	check "the TSC's clock" grep -qE 'msr/tsc/ +# +[0-9.]+ GHz, the TSC' "$T/out"
fi
