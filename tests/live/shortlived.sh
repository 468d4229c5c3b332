#!/usr/bin/env bash
# Processes that live 5 to 50 ms each: named as a long-lived copy is named. Then the same with a
# file of its own for each, deleted right after it ran: how many are named, and what the rest say.
#
# NR (200) processes of each kind; HZ (999).
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

NR=${NR:-200}
HZ=${HZ:-999}

# tell COMM: splits the samples of those threads (annotated, so that kernel frames are known) into
#   named     the stack has the chain of functions
#   unnamed   it could be that chain: three unknown user frames or more, or no user stack where the
#             kernel was not busy with the process' start or end
#   other     start and end of the process: kernel code, the dynamic loader (stripped, and without
#             frame pointers: two unknown frames of its own at most)
tell() {
	awk -v comm="$1" '
	$0 !~ "^" comm ";" { next }
	/;a_outer[; ]/ { named += $NF; next }
	{
		line = $0
		missed = /\[Missed User Stack\]/ && !/(execve|do_exit|exit_mmap|ret_from_fork)/
		unknown = gsub(/;\[unknown\]/, "", line)
		if (missed || unknown >= 3) unnamed += $NF
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

# --- one file, many processes ----------------------------------------------------------------------

# Starts them beside a stook that runs already, and ends it after the last one. The sum of what they
# worked is left in $WORK_US.
profile_spawned() {
	LIMIT=$((NR / 4 + 60)) profile --annotate -F "$HZ" -o "$T/out.folded" "$@"
	mv "$T/out.folded" "$T/out.moved"
	WORK_US=$(awk '$1 == "microseconds" { print $2 }' "$T/out")
	mv "$T/out.moved" "$T/out"
}

# judge NAME COMM: the figures of the last run.
judge() {
	read -r named unnamed other <<<"$(tell "$2")"
	expected=$((${WORK_US:-0} * HZ / 1000000))
	note "$1: $NR processes, $expected samples of work expected; $named named, $unnamed unnamed," \
		"$other start and end; files gone $(stat_of files_gone)"
}

profile_spawned -a -- "$PROGRAMS/spawn" "$PROGRAMS/shortlived" "$NR" 5000 50000 2
judge "one file" shortlived
show_unnamed shortlived
short=$(thousandths "$named" $((named + unnamed)))
check "short-lived: 99 % of the samples are named as those of the long-lived copy" \
	test $((short * 1000)) -ge $((long * 990))
check "short-lived: no sample of their work is missing" \
	test "$named" -ge $((expected * 97 / 100 - 20))
check "short-lived: conservation law" law_holds

# --- many files, each gone when its process is --------------------------------------------------------

mkdir "$T/copies"
profile_spawned -a -- \
	"$PROGRAMS/spawn" "$PROGRAMS/shortlived" "$NR" 5000 50000 2 "$T/copies"
judge "a file each" 'copy-[0-9]+'
note "a file each, deleted: $(thousandths "$named" $((named + unnamed))) of 1000 samples named; the rest:"
show_unnamed 'copy-[0-9]+' 4
check "a file each: every sample is there, named or not" \
	test $((named + unnamed)) -ge $((expected * 97 / 100 - 20))
check "a file each: conservation law" law_holds
if [ "$unnamed" -gt 0 ]; then
	check "a file each: what could not be read is told" grep -qiE 'gone|deleted' "$T/err"
else
	pass "a file each: all of them were named"
fi
