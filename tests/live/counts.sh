#!/usr/bin/env bash
# Ground truth for funccount: programs/special/counted calls known functions known numbers of times,
# in threads, processes, libraries and handlers, and prints these numbers. Counts must be equal to them.
#
# Whole tables are compared: a function that is missing, shown twice, or shown without having been
# called is a failure.
#
# N (1000) is how often most functions are called.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

N=${N:-1000}
COUNTED=$T/counted
SOURCES=$ROOT/tests/live/programs/special/counted
USER=("$COUNTED:hit_*" "$T/libcounted.so:hit_*" "$T/libcounted_late.so:hit_*")

if ! "$SOURCES/build" "${CC:-cc}" "$T" 2>"$T/err"; then
	skip "all" "that ${CC:-cc} can build $SOURCES: $(grep -m 1 error "$T/err")"
	exit 0
fi

# --- running --------------------------------------------------------------------------------------

# funccount ARG…: runs it and leaves $T/out, $T/err and $STATUS.
funccount() {
	timeout --foreground -k 5 60 "$STOOK" funccount --budget off "$@" \
		>"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}

# of_command "WORD…" ARG…: counts one run of `counted N WORD…` after `--`; the true counts are in $T/truth.
of_command() {
	local words=$1
	shift
	: >"$T/truth"
	# shellcheck disable=SC2086 # a list
	funccount "$@" -- "$COUNTED" -o "$T/truth" "$N" $words
}

# begin ARG…: starts funccount in the background; returns when it counts, or has failed.
begin() {
	: >"$T/err" # messages of an earlier run must not be taken for this one's
	timeout --foreground -k 5 60 "$STOOK" funccount --budget off "$@" \
		>"$T/out" 2>"$T/err" </dev/null &
	COUNTER=$!
	STARTED+=("$COUNTER")
	wait_until 20 has_begun
}
has_begun() { grep -q '^Tracing ' "$T/err" || ! kill -0 "$COUNTER" 2>/dev/null; }

# finish: sends SIGINT, as Ctrl-C does; timeout passes it on once if it is in the foreground.
finish() {
	kill -INT "$COUNTER" 2>/dev/null
	wait "$COUNTER"
	STATUS=$?
}

# --- comparing ------------------------------------------------------------------------------------

# Prints the rows of the table, sorted: name without the detail in parentheses, and count.
rows() {
	awk '
	/^FUNC +COUNT$/ { is_table = 1; next }
	NF == 0 { is_table = 0 }
	is_table && $NF ~ /^[0-9]+$/ { print $1, $NF }' "$T/out" | sort
}

# expect REGEX: puts the true counts of the functions whose names match into $T/wanted, without zeros.
expect() { grep -E "$1" "$T/truth" | grep -v ' 0$' | sort >"$T/wanted"; }

# check_rows NAME: compares the table with the expected rows.
check_rows() {
	rows >"$T/got"
	if [ "$STATUS" -eq 0 ] && [ -s "$T/wanted" ] && cmp -s "$T/wanted" "$T/got"; then
		pass "$1"
	else
		fail "$1" "status $STATUS, $(wc -l <"$T/got") rows of $(wc -l <"$T/wanted"): $(
			diff "$T/wanted" "$T/got" | grep '^[<>]' | head -n 6 | tr '\n' ' ')$(
			tail -n 3 "$T/err" | tr '\n' ' ' | cut -c 1-300)"
	fi
}

# --- user functions -------------------------------------------------------------------------------

of_command "" "${USER[@]}"
expect '^hit_'
check_rows "a command, from its first instruction"
of_command "" --without uprobe_multi "${USER[@]}"
expect '^hit_'
check_rows "a command, by one tracefs event with many places"

of_command simple "$COUNTED:hit_chosen*"
expect '^hit_chosen'
check_rows "IFUNC: the selected implementation"
check "IFUNC: the resolver is refused, with the reason" grep -qi 'hit_chosen\b.*ifunc' "$T/err"

# A function left by longjmp has no return. The two functions of a tail call return at the same time.
for way in "" "--without uprobe_multi"; do
	# shellcheck disable=SC2086 # two words or none
	of_command "simple threads" $way "r:$COUNTED:hit_(recursive|tail_*|jumps_away|in_threads)"
	expect '^hit_(recursive|tail_|in_threads)'
	sed -i 's/^/r:/' "$T/wanted"
	check_rows "returns${way:+, $way}"
done

# Two processes, started after attaching; one of them executes a hard link to the file.
begin "${USER[@]}"
ln "$COUNTED" "$T/also_counted"
"$COUNTED" -o "$T/truth.1" "$N" &
first=$!
"$T/also_counted" -o "$T/truth.2" "$N"
wait "$first"
finish
paste "$T/truth.1" "$T/truth.2" | awk '{ print $1, $2 + $4 }' >"$T/truth"
expect '^hit_'
check_rows "the whole machine: processes that begin later, from their first call"

# --- one process ----------------------------------------------------------------------------------

# waiting NAME WORD…: starts `counted -w N WORD…`, which waits for a line on descriptor 7.
waiting() {
	rm -f "$T/go" "$T/truth" && mkfifo "$T/go"
	exec 7<>"$T/go"
	"$COUNTED" -w -o "$T/truth" "$N" "$@" <"$T/go" >"$T/said" 2>&1 7>&- &
	PID=$!
	STARTED+=("$PID")
	wait_until 10 grep -q ready "$T/said"
}
says_ready() { test "$(grep -c ready "$T/said")" -eq "$1"; }

# go_on: lets the waiting program do its work and wait again.
go_on() {
	echo >&7
	wait_until 30 says_ready 2
}

for what in "-p" "-p, one tracefs event"; do
	without=()
	[ "$what" = "-p" ] || without=(--without uprobe_multi)
	waiting simple starts library late threads processes signals
	begin "${without[@]}" -p "$PID" "${USER[@]}"
	"$COUNTED" -o "$T/truth.other" "$N"
	go_on
	finish
	expect '^hit_'
	check_rows "$what: that process and its children"
	stop "$PID"
done

waiting simple threads processes
begin --no-follow -p "$PID" "$COUNTED:hit_*"
go_on
finish
expect '^hit_(rec|alias|chos|tail|jump|in_threads|thread_body|short)'
printf 'hit_twin %d\n' "$N" >>"$T/wanted"
sort -o "$T/wanted" "$T/wanted"
check_rows "-p --no-follow: without its children"
stop "$PID"

# The program of a pid.
waiting signals
begin "$PID:hit_*"
go_on
finish
expect '^hit_'
check_rows "PID:pattern"
stop "$PID"

# --- the kernel, tracepoints ----------------------------------------------------------------------

case $(uname -m) in
x86_64) system_call=__x64_sys_ ;;
aarch64) system_call=__arm64_sys_ ;;
esac

# A kernel function may be shown with other names of the same address.
of_command kernel "${system_call}getppid" "${system_call}umask" "${system_call}fadvise64"
if grep -q 'neither kprobes nor fentry' "$T/err"; then
	skip "kernel functions" "kprobes or fentry"
else
	sed -i -E "s/[^ ]*${system_call}([a-z0-9]+)[^ ]* /sys_\\1 /" "$T/out"
	expect '^sys_'
	check_rows "kernel functions"
fi

# has_tracepoint CATEGORY/NAME: in a separate mount namespace, since tracefs may not be mounted.
# shellcheck disable=SC2016 # the inner shell expands it
has_tracepoint() {
	unshare --mount sh -c 'mount -t tracefs none /sys/kernel/tracing &&
		test -d "/sys/kernel/tracing/events/$0"' "$1" 2>/dev/null
}
if has_tracepoint syscalls/sys_enter_getppid; then
	of_command kernel t:syscalls:sys_enter_getppid t:syscalls:sys_enter_umask \
		t:syscalls:sys_enter_fadvise64
	sed -i -E 's/^.*sys_enter_/sys_/' "$T/out"
	expect '^sys_'
	check_rows "tracepoints of system calls"
else
	skip "tracepoints of system calls" "CONFIG_FTRACE_SYSCALLS"
fi

# 8 and 64 threads, each of which exits.
of_command threads t:task:task_newtask t:sched:sched_process_exit
sed -i -E 's/^.*(task_newtask|sched_process_exit)/\1/' "$T/out"
printf 'sched_process_exit 73\ntask_newtask 72\n' >"$T/wanted"
check_rows "tracepoints of threads"

# --- static probes --------------------------------------------------------------------------------

if echo '#include <sys/sdt.h>' | "${CC:-cc}" -E - >"$T/preprocessed" 2>&1; then
	for what in "" "--without uprobe_multi"; do
		# shellcheck disable=SC2086 # two words or none
		of_command static $what "u:$COUNTED:counted:*guarded"
		sed -i -E 's/^.*counted:/probe_/' "$T/out"
		expect '^probe_'
		check_rows "static probes, one behind a semaphore${what:+, $what}"
	done
else
	skip "static probes" "sys/sdt.h (systemtap-sdt-dev)"
fi

# A real program with semaphores. The counted work of the interpreter is between its two reads from stdin.
# (Python 3.11 reports returns of functions, but entries only if lines are probed as well.)
# A python3 on PATH may be a script that starts another one.
python=
for candidate in /usr/bin/python3 "$(command -v python3)"; do
	readelf -n "$(readlink -f "$candidate")" 2>/dev/null | grep -q function__entry || continue
	python=$(readlink -f "$candidate")
	break
done
if [ -n "$python" ]; then
	rm -f "$T/go" && mkfifo "$T/go"
	exec 7<>"$T/go"
	"$python" -S -c "
import gc, os
def called(): pass
os.write(1, b'ready\n'); os.read(0, 1)
for _ in range($N): called()
for _ in range(10): gc.collect()
os.write(1, b'ready\n'); os.read(0, 1)" <"$T/go" >"$T/said" &
	PID=$!
	STARTED+=("$PID")
	wait_until 10 says_ready 1
	begin -p "$PID" "u:$python:python:function__return" "u:$PID:python:gc__*"
	go_on
	finish
	sed -i -E 's/^.*python:/probe_/' "$T/out"
	printf 'probe_%s\n' "function__return $N" 'gc__done 10' 'gc__start 10' \
		>"$T/wanted"
	check_rows "static probes of Python"
	stop "$PID"
else
	skip "static probes of a real program" "a python3 that has them"
fi

# --- intervals ------------------------------------------------------------------------------------

# The tables of all intervals must add up to the true counts: nothing is lost between intervals.
of_command "threads processes" -i 0.05 "$COUNTED:hit_*"
nr_tables=$(grep -c '^FUNC' "$T/out")
sums() { awk '{ sum[$1] += $2 } END { for (name in sum) print name, sum[name] }' | sort; }
expect '^hit_'
check_equal "intervals: their sums" "$(rows | sums)" "$(sums <"$T/wanted")"
check "intervals: there are several" test "$nr_tables" -ge 2
