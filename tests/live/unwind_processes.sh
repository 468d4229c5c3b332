#!/usr/bin/env bash
# The walk by unwind tables in short-lived processes: the first stack of a process must be as complete as its
# last one, although unwind tables are compiled only after the first sample.
#
# Alone: processes live for milliseconds, and it judges how soon their tables are ready.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

HZ=${HZ:-1999}

below() { profile -f --annotate --unwind cfi --table-cache none -F "$HZ" -- "$@"; }

# Prints the share of samples, in percent, with a complete user stack, by its first frame. Samples that the kernel
# took while a process had no user stack don't count: during start, exec and exit.
whole_share() {
	awk '
	/;(do_exit|[a-z_]*execve|ret_from_fork|load_elf_binary)[a-z_]*_\[k\]/ { next }
	{ all += $NF }
	/^[^;]+;_start[; ]/ { whole += $NF; next }
	# The dynamic loader has no symbols: its stacks begin with five frames without a name.
	/^[^;]+;(\[unknown\]|_dl_start_user)/ { whole += $NF }
	END { printf "%d\n", all ? 100 * whole / all : 0 }' "$T/out"
}

# --- many short-lived processes --------------------------------------------------------------------

below "$PROGRAMS/spawn" "$PROGRAMS/shortlived" 40 5000 30000 2
check "5 to 30 ms each: 98 % complete" test "$(ended complete)" -ge 98
check "5 to 30 ms each: their work is seen, whole" test \
	"$(sum_matching "^shortlived;$IN_MAIN;.*a_outer")" -ge 100 -a \
	"$(sum_matching "^shortlived;$IN_MAIN;.*a_outer")" -eq "$(sum_matching '^shortlived;.*a_outer')"
mkdir "$T/copies"
below "$PROGRAMS/spawn" "$PROGRAMS/shortlived" 20 5000 30000 2 "$T/copies"
check "a file each: 98 % complete" test "$(ended complete)" -ge 98
# shellcheck disable=SC2016
for _ in 1 2 3; do # a run that something else delays says nothing: 97 % was seen on a busy host
	below sh -c 'i=0; while [ $i -lt 600 ]; do /bin/true; i=$((i + 1)); done'
	[ "$(whole_share)" -lt 98 ] || break
done
check "a shell's loop over /bin/true: 98 % whole" test "$(whole_share)" -ge 98
check "a shell's loop over /bin/true: 96 % are reported as complete" test "$(ended complete)" -ge 96
# More raw records than the limit that holds if user space could not provide the missing tables.
# shellcheck disable=SC2016
below sh -c 'i=0; while [ $i -lt 4000 ]; do /bin/true; i=$((i + 1)); done'
check "a storm of /bin/true for seconds: 98 % complete" test "$(ended complete)" -ge 98
check "a storm of /bin/true for seconds: all of it is walked" test "$(stat_of user_end_too_many)" = 0

# --- the same process with other code --------------------------------------------------------------

# Bound at startup: lazy binding is tested by unwind_code.sh.
if build server special/server.c gcc "${C_FLAGS[@]}" -Wl,-z,now; then
	below "$SPECIAL/server" 40 3000
	check_stacks "fork without exec: whole" child "$IN_MAIN;serve;request;work;hot"
	check "fork without exec: complete" test "$(ended complete)" -ge 98
fi

no_pie=(gcc "${C_FLAGS[@]}" -no-pie -fno-pie)
if build before special/reexec.c "${no_pie[@]}" -DSTEP=before -DFRAME_BYTES=100 &&
	build after special/reexec.c "${no_pie[@]}" -DSTEP=after -DFRAME_BYTES=1000; then
	start "$SPECIAL/before" 600 "$SPECIAL/after"
	profile -f --annotate --unwind cfi --table-cache "$T/tables" -F "$HZ" -p "$PID"
	check_stacks "exec under -p: before" before "$IN_MAIN;before;work;hot"
	check_stacks "exec under -p: after" after "$IN_MAIN;after;work;hot"
	check "exec under -p: complete" test "$(ended complete)" -ge 98
fi

# --- threads without user registers ------------------------------------------------------------------

# A worker of io_uring belongs to a process and has its memory, but runs only in the kernel.
for unwind in cfi fp; do
	profile -f --unwind $unwind -F 499 -- "$PROGRAMS/io_worker" 1
	if [ "$STATUS" -eq 2 ]; then
		skip "$unwind: workers of io_uring" "io_uring"
		continue
	fi
	check "$unwind: workers of io_uring are sampled" test "$(sum_matching '^iou-wrk-')" -ge 10
	check_equal "$unwind: workers of io_uring have no user frame" "$(sum_matching '^iou-wrk-.*unknown')" 0
done

# --- the command after `--` ------------------------------------------------------------------------

# The command sleeps and is not sampled. Its unwind table must be compiled nevertheless, and no other one.
table_of() { readelf -n "$(type -P "$1")" | awk '/Build ID/ { print $3 }'; }
if [ -n "$(table_of sleep 2>/dev/null)" ]; then
	mkdir -m 700 "$T/before"
	profile -f --unwind cfi --table-cache "$T/before" -F 1 -- sleep 0.2
	check "the table of a command without samples" test -e "$T/before/$(table_of sleep)"
	check "no table of another command" test ! -e "$T/before/$(table_of true)"
else
	skip "the table of a command" "readelf, and programs with a build id"
fi
