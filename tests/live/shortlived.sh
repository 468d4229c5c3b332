#!/usr/bin/env bash
# Processes that live 5 to 50 ms each: their functions must be named like those of a long-lived process of the
# same program. Then the same with a separate executable for each process, deleted right after it ran: nearly
# all samples are named, or the missing files are reported. Last, the cost of process events for the processes.
#
# NR (200) processes of each kind; HZ (999).
#
# Alone: other tests also fork, and most of its checks are about shares and rates.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

NR=${NR:-200}
HZ=${HZ:-999}

# tell COMM: splits the samples of these threads (annotated, so that kernel frames are known) into
#   named     the stack has the chain of functions
#   unnamed   it could be that chain: three unknown user frames or more, interrupted and not in a
#             system call or a fault; or no user stack where one is expected
#   other     start and end of the process: kernel code, the dynamic loader (stripped, and without
#             frame pointers: unknown frames of its own, seldom three)
tell() {
	awk -v comm="$1" '
	$0 !~ "^" comm ";" { next }
	/;a_outer[; ]/ { named += $NF; next }
	{
		line = $0
		asked = /;(asm_exc_|do_syscall_64|el0t?_|invoke_syscall)/
		missed = /\[Missed User Stack\]/ && !/(execve|do_exit|exit_mmap|ret_from_fork)/
		unknown = gsub(/;\[unknown\]/, "", line)
		if (missed || (unknown >= 3 && !asked)) unnamed += $NF
		else other += $NF
	}
	END { printf "%d %d %d\n", named, unnamed, other }' "$T/out"
}
show_unnamed() {
	grep -E "^$1;" "$T/out" | grep -v ';a_outer[; ]' | head -n "${2:-8}" | cut -c 1-240 >&2
}
thousandths() { echo $(($2 > 0 ? 1000 * $1 / $2 : 0)); }

# --- the long-lived copy ---------------------------------------------------------------------------

profile -f --annotate -F "$HZ" -- "$PROGRAMS/shortlived" 3000000
read -r named unnamed other <<<"$(tell shortlived)"
note "long-lived: $named named, $unnamed unnamed, $other start and end"
long=$(thousandths "$named" $((named + unnamed)))
check "a long-lived copy is named" test "$long" -ge 990

# --- many processes --------------------------------------------------------------------------------

# Both leave the folded lines in $T/out, and in $WORK_US the sum of the processes' own work.
spawn_beside() { # system-wide, by a stook that is already running
	"$STOOK" profile --annotate -F "$HZ" --stats "$T/stats" -a -o "$T/out.folded" \
		2>"$T/err" </dev/null &
	local stook=$!
	STARTED+=("$stook")
	wait_until 10 samples "$stook"
	sleep 0.2
	WORK_US=$("$PROGRAMS/spawn" "$PROGRAMS/shortlived" "$NR" 5000 50000 2 "$@" |
		awk '$1 == "microseconds" { print $2 }')
	kill -INT "$stook"
	wait "$stook"
	mv "$T/out.folded" "$T/out"
}
spawn_below() { # as children of a command
	LIMIT=$((NR / 4 + 60)) profile --annotate -F "$HZ" -o "$T/out.folded" -- \
		"$PROGRAMS/spawn" "$PROGRAMS/shortlived" "$NR" 5000 50000 2 "$@"
	WORK_US=$(awk '$1 == "microseconds" { print $2 }' "$T/out")
	mv "$T/out.folded" "$T/out"
}

# judge NAME COMM: checks the figures of the last run.
judge() {
	read -r named unnamed other <<<"$(tell "$2")"
	expected=$((${WORK_US:-0} * HZ / 1000000))
	short=$(thousandths "$named" $((named + unnamed)))
	note "$1: $NR processes, $expected samples of work expected; $named named, $unnamed unnamed" \
		"($short of 1000 named), $other start and end; files gone $(stat_of files_gone)"
	[ "$unnamed" -gt 0 ] && show_unnamed "$2" 4
	check "$1: no sample of their work is missing" \
		test $((named + unnamed)) -ge $((expected * 97 / 100 - 20)) -a "$expected" -gt 0
	check "$1: conservation law" law_holds
}

mkdir "$T/copies"
for how in beside below; do
	spawn_$how
	judge "one file, $how" shortlived
	check "one file, $how: 99 % of the samples are named as those of the long-lived copy" \
		test $((short * 1000)) -ge $((long * 990))

	spawn_$how "$T/copies"
	judge "a file each, $how" 'copy-[0-9]+'
	# (A few of the dynamic loader's own samples are always counted as unnamed.)
	if [ "$short" -lt 990 ]; then
		check "a file each, $how: files that could not be read are reported" grep -qiE 'gone|deleted' "$T/err"
	else
		pass "a file each, $how: 99 % were named"
	fi
done

# --- cost of reporting processes ----------------------------------------------------------------------

# A CPU interrupts itself to wake stook once after a quiet time, not for each mapping.
# shellcheck disable=SC2016
profile -f --annotate --unwind fp -F "$HZ" -a -- \
	sh -c 'i=0; while [ $i -lt 4000 ]; do /bin/true; i=$((i + 1)); done'
storm=$(sum_matching '^(sh|true);')
waking=$(sum_matching '^(sh|true);.*;perf_.*irq_work_queue')
note "a storm of /bin/true: $storm samples, $waking of them wake us"
check "process events rarely wake stook" test $((waking * 50)) -le "$storm" -a "$storm" -gt 500
