#!/usr/bin/env bash
# Runs command lines that users of perf and bcc type by habit. Those that are refused after parsing are in
# tests/golden/habits.sh.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

start "$PROGRAMS/spin" 60
spin=$PID
start "$PROGRAMS/spin" 60
other=$PID

says() { grep -qF -- "$1" "$T/err"; }
stook() { # stook ARG…: $STATUS, $T/out, $T/err
	timeout -k 5 20 "$STOOK" "$@" >"$T/out" 2>"$T/err"
	STATUS=$?
}

stook profile -F 99 -a -g -- sleep 0.3
check_equal "perf's -F 99 -a -g -- CMD: status" $STATUS 0
check "perf's -F 99 -a -g -- CMD: has stacks" grep -q 'CALL PATH' "$T/out"

start dd if=/dev/zero of=/dev/null bs=1
stook profile -F 499 -adf -p "$PID" 500ms
stop "$PID"
check_equal "bcc's -adf: status" $STATUS 0
check "bcc's -adf: folded, annotated and delimited" grep -qE '^dd;.*;-;.*_\[k\] [0-9]+$' "$T/out"

stook stackcount -D 0.2 -f t:sched:sched_switch
check_equal "bcc's stackcount -D: status" $STATUS 0

# --- who is profiled, and for how long ---------------------------------------------------------------

stook profile -p "$spin,$other" 300ms
check "profile names its targets" says "profiling $spin (spin), $other (spin) for 0.3 s"
stook profile -q -p "$spin" 0.1
check "-q: it does not" test ! -s "$T/err"
for line in "funccount $PROGRAMS/spin:spin_*" "stackcount $PROGRAMS/spin:spin_*" "tally $PROGRAMS/spin:spin_*"; do
	read -ra words <<<"$line"
	stook "${words[@]}" -p "$spin" 0.2
	check "${words[0]} names its target" says "profiling $spin (spin) for 0.2 s"
done
stook profile -t "$spin" 0.1
check "threads, too" says "profiling thread $spin (spin) for 0.1 s"

stook profile -p "$spin" "$other"
check_equal "two processes with a blank between: status" $STATUS 2
check "two processes with a blank between" says "for both processes: -p $spin,$other; for a duration: -d $other"
stook profile -f -p "$spin $other" 0.2s
check_equal "two processes in one word: status" $STATUS 0
check "two processes in one word" says "profiling $spin (spin), $other (spin) for 0.2 s"
stook profile -p 4194000
# shellcheck disable=SC2016 # the text of the message
check "no such process: hint that -p may have taken the duration" says '$(pidof NAME) found nothing, and -p took the next argument'

if [ "$(cat /proc/2/comm)" = kthreadd ]; then
	stook profile -p 2 0.1
	check_equal "a thread of the kernel, with a duration" $STATUS 0
	timeout -s INT 1 "$STOOK" profile --pid=2 >"$T/out" 2>"$T/err"
	check "a thread of the kernel, by --pid=" says "profiling 2 (kthreadd) until Ctrl-C"
else
	skip "a thread of the kernel" "one in /proc"
fi
