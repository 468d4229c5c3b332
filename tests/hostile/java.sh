#!/usr/bin/env bash
# Processes that look like JVMs to --java, and answer wrongly. A run waits for them within its limits, sends
# no signal to the wrong process, and sanitizes their answers when it prints them.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

SOCKETS=()
trap 'rm -f "${SOCKETS[@]}"; cleanup' EXIT
chmod 777 "$T"

# jvm KIND: starts a fake JVM; kinds are described in programs/attacker.c.
jvm() {
	start "${AS_USER[@]}" "$PROGRAMS/attacker" jvm "$1" "$T"
	SOCKETS+=("/tmp/.java_pid$PID" "/tmp/.attach_pid$PID" "/tmp/perf-$PID.map")
	wait_until 10 grep -q ready "$T/started" || note "$(cat "$T/started")"
}

# ask NAME [SECONDS]: the run ends within SECONDS (12) and mentions the JVM, which is still running.
ask() {
	LIMIT=60 profile --java -p "$PID" -F 99 -f 1
	check_equal "$1: ends" $STATUS 0
	check "$1: in time ($WALL_MS ms)" [ "$WALL_MS" -lt "${2:-12}000" ]
	check "$1: CPU time" [ $(($(stat_of user_us) + $(stat_of sys_us))) -lt 3000000 ]
	check "$1: memory" [ "$(stat_of max_rss_kb)" -lt 100000 ]
	check "$1: it is reported" grep -q 'JVM' "$T/err"
	check "$1: no control characters are printed" \
		no_controls "$T/err"
	check "$1: it lives on" kill -0 "$PID"
	check "$1: no file of ours is left" [ ! -e "/tmp/.attach_pid$PID" ]
	stop "$PID"
}

jvm silent
ask "a JVM that does not answer"

jvm garbage
ask "a JVM that answers garbage"

jvm flood
ask "a JVM that says more than anybody can read"

jvm none
ask "a JVM that never opens its socket"

# The socket of another process: its answers are ignored.
jvm none
"${AS_USER[@]}" ln -s "/tmp/.java_pid1" "/tmp/.java_pid$PID"
ask "a socket that is a symlink to nowhere"

jvm garbage
other=$PID
jvm none
"${AS_USER[@]}" ln -s "/tmp/.java_pid$other" "/tmp/.java_pid$PID"
ask "a socket that is a symlink to another process' socket"
stop "$other"

# A file of the user wakes a JVM. A file of root's with that name is not replaced.
jvm none
echo "root's" >"/tmp/.attach_pid$PID"
LIMIT=60 profile --java -p "$PID" -F 99 -f 1
check_equal "another user's file where ours would be" "$(cat "/tmp/.attach_pid$PID")" "root's"
stop "$PID"

# Ten JVMs that never answer take no longer than a few.
for _ in $(seq 10); do jvm silent; done
LIMIT=60 profile --java -p "$(IFS=,; echo "${STARTED[*]: -10}")" -F 99 -f 1
check_equal "ten that do not answer: ends" $STATUS 0
check "ten that do not answer: in time ($WALL_MS ms)" [ "$WALL_MS" -lt 20000 ]
check "ten that do not answer: it is reported" grep -q 'some JVMs were not asked' "$T/err"
