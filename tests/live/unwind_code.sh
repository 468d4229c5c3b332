#!/usr/bin/env bash
# The walk by unwind tables through code that is mapped and unmapped during the run, JIT-compiled code, and code
# without unwind information.
#
# Alone: every single sample must be walked to its end, also the first ones, while tables are compiled.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

MS=${MS:-60} # CPU time of each shape
HZ=${HZ:-1999}

build library.so special/library.c gcc "${C_FLAGS[@]}" -fPIC -shared -Wl,-z,lazy || exit 0
build second.so special/library.c gcc "${C_FLAGS[@]}" -fPIC -shared -DFRAME_BYTES=1000 || exit 0
cp "$SPECIAL/library.so" "$SPECIAL/second.so" "$T"
export LIBRARY=$T/library.so SECOND_LIBRARY=$T/second.so
unset LD_BIND_NOW

# code SHAPE [MS]
code() {
	profile -f --annotate --unwind cfi --table-cache "$T/tables" -F "$HZ" -- \
		"$PROGRAMS/unwind_code" "${2:-$MS}" "$1"
}

code jit
check_stacks "jit: from native code through it to native code" jit \
	"$IN_SHAPE;jit;calls_jit;[^;]+;called_by_jit;work;hot"
check "jit: complete" test "$(ended complete)" -ge 95

# CPython's trampolines (-X perf), which have no unwind information either.
for shape in trampoline trampoline_zero trampoline_push; do
	code $shape
	check_stacks "$shape: through it to native code" $shape \
		"$IN_SHAPE;$shape;calls_trampoline(_zero)?;[^;]+;called_by_jit;work;hot"
	check "$shape: complete" test "$(ended complete)" -ge 98
done
code trampoline_leaf
check "trampoline_leaf: whole, at each of its instructions" test \
	"$(sum_matching "^trampoline_leaf;$IN_SHAPE;trampoline_leaf;calls_trampoline_often;[^;]+ ")" \
	-ge $(($(sum_matching '^trampoline_leaf;') / 3)) -a "$(ended complete)" -ge 98
code jit_unknown
check_stacks "jit_unknown: no frame is guessed" jit_unknown '[^;]+;called_by_jit;work;hot'
check "jit_unknown: the reason is reported" test "$(ended no_rule)" -ge 90

code noinfo_frame
check_stacks "noinfo_frame: whole, by its frame pointer (no CFI)" noinfo_frame \
	"$IN_SHAPE;noinfo_frame;noinfo_frame_loop"
for shape in noinfo noinfo_zero; do
	code $shape
	check_stacks "$shape: whole, by decoding its instructions" $shape \
		"$IN_SHAPE;$shape;noinfo_loop"
	check "$shape: complete" test "$(ended complete)" -ge 95
done

code plt
check_stacks "plt: whole, also in the linkage table" plt "$IN_SHAPE;plt;rand_r" 60

code lazy
# The rule for entering the loader from a stub needs a register (rbx) that is known for innermost frames only:
# these walks end there, are reported, and have no wrong frames.
check "lazy: during lazy binding, stacks are whole or reported as incomplete" test \
	"$(sum_matching "^lazy;$IN_SHAPE;lazy;bind_all;library_bind")" -ge 10 -a \
	$(($(ended complete) + $(ended no_rule))) -ge 98 -a "$(ended complete)" -ge 60

code dlopen 200
check_stacks "dlopen: libraries that were loaded a moment ago" dlopen \
	"$IN_SHAPE;run_dlopen;calls_library;library_call;first_inner;work;hot"
check "dlopen: complete" test "$(ended complete)" -ge 98

# Code that was replaced by a mapping may be walked by the old rules for some milliseconds, but has no old names.
code remap_old 200
check_stacks "remap: the old library" remap_old \
	"$IN_SHAPE;remap;calls_library;library_call;first_inner;work;hot"
check "remap: the new one in its place" test \
	"$(sum_matching "^remap_new;$IN_SHAPE;remap;calls_library;library_call;second_inner;work;hot")" \
	-ge $(($(sum_matching '^remap_new;.*;hot') * 90 / 100)) -a "$(sum_matching '^remap_new;')" -ge 20
check "remap: no name of the old one any more" test "$(sum_matching '^remap_new;.*first_')" -eq 0
