#!/usr/bin/env bash
# The walk by unwind tables over stacks that are known by construction: every sample must show
# exactly the functions that are there, up to where the program or the thread begins.
#
# Alone: every single sample must be walked to its end, also the first ones, while tables are compiled.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

MS=${MS:-60} # CPU time of each shape
HZ=${HZ:-1999}

# shapes PROGRAM SHAPE…: profiles them one after the other.
shapes() {
	profile -f --annotate --unwind cfi --table-cache "$T/tables" -F "$HZ" -- \
		"$PROGRAMS/$1" "$MS" "${@:2}"
	[ "$STATUS" -eq 0 ] || fail "$1" "status $STATUS: $(tail -n 2 "$T/err")"
}

# check_shape SHAPE CHAIN [WHAT [PERCENT]]
check_shape() {
	local what=${3:-whole}
	check_stacks "$1: $what" "$1" "$IN_SHAPE;$2" "${4:-}"
}

# --- frames that compilers make --------------------------------------------------------------------

shapes unwind_frames chain realigned alloca clobbered realigned_entry noreturn split
check_shape chain 'link_8;link_7;link_6;link_5;link_4;link_3;link_2;link_1;work;hot'
check_shape realigned 'realigned;work;hot'
check_shape alloca 'with_alloca;work;hot'
check_shape clobbered 'with_alloca_above;with_number;work;hot' "the frame pointer comes back"
check_shape realigned_entry 'realigned_entry;work;hot'
check_shape noreturn 'calls_noreturn;work_and_exit;work;hot' "a return address behind its function"
check_shape split 'run_split;split(.cold)?;unlikely_work;work;hot'
check "frames: conservation law" law_holds
check "frames: 98 % of the walks are reported as complete" test "$(ended complete)" -ge 98

# --- large and deep frames -------------------------------------------------------------------------

# Counts a thread's samples that have this many frames of a function, with these frames before and after.
with_depth() {
	awk -v comm="$1" -v depth="$2" -v before="$3" -v after="$4" '
	index($0, comm ";") != 1 { next }
	{
		n = $NF
		gsub(/;[^;]*_\[k\]/, "")
		sub(/ [0-9]+$/, "")
		frames = gsub(/;recurse/, "")
		if (frames == depth && $0 ~ ("^" comm before after "$")) right += n
		if ($0 ~ "hot$") all += n
	}
	END { printf "%d\n", all < 10 ? 0 : 100 * right / all }' "$T/out"
}

# Raw records, which user space walks in the first tenth of a second of a process, have part of the stack only.
# Then the kernel walks.
MS=300 shapes unwind_frames big
check "big: whole, once the kernel walks" test \
	"$(sum_matching "^big;$IN_SHAPE;big_4k;big_40k;big_1m;work;hot")" -ge 100
check "big: never anything but the chain or its end" test \
	"$(sum_matching "^big;($IN_SHAPE;big_4k;big_40k;)?big_1m;work;hot")" -eq \
	"$(sum_matching '^big;.*hot')"
MS=300 shapes unwind_frames deep400
check "deep400: all 400 frames and their callers" \
	test "$(with_depth deep400 400 ";$IN_SHAPE" ';work;hot')" -ge 90
check "deep400: complete" test "$(ended complete)" -ge 90
MS=300 shapes unwind_frames deep600
check "deep600: 512 frames are kept" test "$(with_depth deep600 510 '' ';work;hot')" -ge 90
check "deep600: the stack is reported as truncated" test \
	"$(percent "$(stat_of user_end_truncated)" "$(stat_of shown)")" -ge 90

# --- signals ---------------------------------------------------------------------------------------

RETURN='[^;]+' # the C library's function to which signal handlers return: its name is not exported
RAISE="raise;([^;]+;)?$RETURN"
HANDLER='on_signal;work_a_while;hot'
shapes unwind_signals
check_shape handler "handler;interrupted;loop_in_c;$RETURN;$HANDLER" "" 60
check_shape altstack "altstack;interrupted;loop_in_c;$RETURN;$HANDLER" "" 60
check_shape nested "nested;interrupted;loop_in_c;$RETURN;on_outer_signal;$RAISE;$HANDLER" "" 60
check_shape raised "raised;$RAISE;$HANDLER"
check_shape prologue "prologue;interrupted;push_and_pop;$RETURN;$HANDLER" "" 60
check_shape first_byte "first_byte;interrupted;loop_at_first_byte;$RETURN;$HANDLER" "" 60
check_shape pushes 'pushes;interrupted;push_and_pop' "each instruction by its own rule"
check "signals: 98 % of the walks are complete" test "$(ended complete)" -ge 98

# --- samples in the kernel -------------------------------------------------------------------------

# in_kernel COMM: counts the samples in its chain that have kernel frames.
in_kernel() { sum_matching "^$1;_start;.*;repeat;.*_\\[k\\]"; }

shapes unwind_kernel zeros faults getpid naps clock vfork
check_shape zeros 'run_zeros;repeat;zeros_once;read' whole 40
check_shape faults 'run_faults;repeat;faults_once' whole 40
check_shape getpid 'run_getpid;repeat;getpid_once;syscall'
check_stacks "clock: whole, out of the vdso" clock \
	"$IN_SHAPE;run_clock;repeat;(clock_once;)?clock_gettime;.*vdso.*" 50
check_stacks "vfork: whole, in parent and child" vfork \
	"$IN_SHAPE(;run_vfork;repeat;vfork_once)?;((__)?vfork|_exit|wait4|.unknown.|[!-:<-~]+[+]0x[0-9a-f]+)" 50
check "naps: whole" test "$(sum_matching "^naps;$IN_SHAPE;run_naps;")" -ge \
	"$(sum_matching '^naps;.*(nanosleep|hrtimer)')"
for shape in zeros faults getpid; do
	check "$shape: was hit in the kernel" test "$(in_kernel $shape)" -ge 10
done
check "kernel: 98 % of the walks are complete" test "$(ended complete)" -ge 98

shapes unwind_kernel spawn
check "spawn: the parent is whole, also in clone()" test "$(sum_matching \
	"^spawn;$IN_SHAPE;run_spawn;repeat;spawn_once;.*(clone|fork)")" -ge \
	$(($(sum_matching '^spawn;.*__do_sys_(clone|v?fork)') * 90 / 100))

# --- other stacks ----------------------------------------------------------------------------------

shapes unwind_stacks thread context
check_stacks "thread: whole" thread '[^;]+;([^;]+;)?in_thread;work;hot'
check_stacks "context: down to the frame made by makecontext()" context '([^;]+;)?in_context;work;hot'
shapes unwind_stacks fiber_zero
check_stacks "fiber_zero: nothing beyond its end" fiber_zero 'in_fiber;work;hot'
check "fiber_zero: reported as complete" test "$(ended complete)" -ge 80
shapes unwind_stacks fiber_data fiber_wild fiber_reused
check_stacks "fiber_data: nothing beyond its end" fiber_data 'in_fiber;work;hot'
check_stacks "fiber_wild: nothing beyond its end" fiber_wild 'in_fiber;work;hot'
check_stacks "fiber_reused: nothing beyond its end" fiber_reused 'fiber_reused;in_fiber;work;hot'
check "fibers: the other three are reported as incomplete" test "$(ended complete)" -le 15
