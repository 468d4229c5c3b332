#!/usr/bin/env bash
# The walk by unwind tables in programs built with other compilers, languages, C libraries and link modes.
#
# Alone: every single sample must be walked to its end, also the first ones, while tables are compiled.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

MS=${MS:-40} # CPU time of each shape
HZ=${HZ:-1999}

run() {
	profile -f --annotate --unwind "${UNWIND:-auto}" --table-cache "$T/tables" -F "$HZ" -- "$@"
}

LINKS='link_8;link_7;link_6;link_5;link_4;link_3;link_2;link_1;work;hot'

# --- ways to link ----------------------------------------------------------------------------------

# built NAME COMPILER ARG…: builds the shapes in this way, and checks that their stacks are complete.
built() {
	build "frames_$1" unwind_frames.c "${@:2}" "${C_FLAGS[@]}" || return
	run "$SPECIAL/frames_$1" "$MS" chain realigned clobbered
	check_stacks "$1: chain" chain "$IN_SHAPE;$LINKS"
	check_stacks "$1: realigned" realigned "$IN_SHAPE;realigned;work;hot"
	check_stacks "$1: clobbered" clobbered "$IN_SHAPE;with_alloca_above;with_number;work;hot"
	check "$1: complete" test "$(ended complete)" -ge 97
}

built no_pie gcc -no-pie -fno-pie
built static gcc -static
built static_pie gcc -static-pie
built clang clang

if build frames_stripped unwind_frames.c gcc -s "${C_FLAGS[@]}"; then
	run "$SPECIAL/frames_stripped" "$MS" chain
	# The thread name, three startup frames, main, run_shape and the chain.
	check "stripped: as many frames as there are" test \
		"$(awk -F';' '/^chain;/ && !/_\[k\]/ && NF == 16 { n++ } END { print n + 0 }' "$T/out")" -ge 1
	check "stripped: complete" test "$(ended complete)" -ge 97
fi

# --- other C libraries -----------------------------------------------------------------------------

# musl has no unwind tables of its own: its frames are found by reading its code.
musl() { # musl PROGRAM SHAPE CHAIN: every stack of the chain is whole
	build "$1_musl_$how" "unwind_$1.c" musl-gcc "${flags[@]}" "${C_FLAGS[@]}" || return
	run "$SPECIAL/$1_musl_$how" "$MS" "$2"
	check "musl, $how: $2" test "$(sum_matching "^$2;$3;hot")" -ge 10 -a \
		"$(sum_matching "^$2;$3;hot")" -eq "$(sum_matching "^$2;.*;hot")"
}
# called NAME: all samples of the thread with this name are in main's chain of calls.
called() {
	local all
	all=$(sum_matching "^$1;.*;does_$1")
	check "musl, $how: $1 has its callers" test "$all" -ge 20 -a \
		"$(sum_matching "^$1;([^;]+;)*main;repeats;does_$1")" -eq "$all"
	check "musl, $how: $1 has no other stacks" test \
		$(($(sum_matching "^$1;") * 90 / 100)) -le \
		"$(sum_matching "^$1;([^;]+;)*main;repeats($|;| )")"
}

for how in dynamic static; do
	flags=(-O2)
	[ $how = static ] && flags=(-static)
	if build "leaves_musl_$how" special/leaves.c musl-gcc "${flags[@]}" "${C_FLAGS[@]}"; then
		run "$SPECIAL/leaves_musl_$how" 150
		for name in memcpy strlen qsort snprintf; do
			called $name
		done
		check "musl, $how: comparisons are called by qsort" test \
			"$(sum_matching ';does_qsort;.*;compare')" -ge 1
		check "musl, $how: complete" test "$(ended complete)" -ge 98
	fi
	musl frames chain "_start;[^;]+;main;run_shape;${LINKS%;hot}"
	musl stacks thread '[^;]+;[^;]+;in_thread;work'
	musl signals handler \
		'_start;[^;]+;main;run_shape;handler;interrupted;loop_in_c;[^;]+;on_signal;work_a_while'
done

# Without symbols, functions are identified by their callers.
if build leaves_musl_stripped special/leaves.c musl-gcc -static -s "${C_FLAGS[@]}"; then
	run "$SPECIAL/leaves_musl_stripped" 100
	check "musl, static and stripped: complete" test "$(ended complete)" -ge 98
fi

# --- other languages -------------------------------------------------------------------------------

if build throw special/throw.cc g++ -O2 -g; then
	run "$SPECIAL/throw" 100
	check "C++: stacks in the exception unwinder are whole" test \
		"$(sum_matching "^throw;$IN_MAIN;catcher.*;.*thrower.*;_Unwind_")" -ge 10
	check "C++: complete" test "$(ended complete)" -ge 98
fi

# both NAME ONE OTHER HOT: all samples there are in one of these two stacks, and each stack has some.
both() {
	local one other
	one=$(sum_matching "^[^;]+;$2;$4")
	other=$(sum_matching "^[^;]+;$3;$4")
	note "$1: $one in the main thread, $other in the other one"
	check "$1" test "$one" -ge 1 -a "$other" -ge 1 -a $((one + other)) -ge 20 -a \
		$((one + other)) -eq "$(sum_matching ";$4")"
}

if build goroutines special/goroutines.go go build; then
	run "$SPECIAL/goroutines" 0.3
	both "Go: from runtime.goexit on, main and a goroutine" \
		'runtime.goexit[^;]*;runtime.main;main.main;main.outer;main.inner' \
		'runtime.goexit[^;]*;([^;]+;)?main.worker;main.outer;main.inner' main.hot
fi

# all_in NAME PART CHAIN [LATE]: every stack that contains PART contains CHAIN, and there are some. Samples that
# were walked late, from their raw records, may contain LATE instead.
all_in() {
	local all late=0
	all=$(sum_matching "$2")
	grep -E "$2" "$T/out" | grep -vE "$3" >&2
	[ -z "${4:-}" ] || late=$(sum_matching "$4")
	check "$1: $all samples, $late of $(stat_of walked_late) late" test "$all" -ge 5 \
		-a "$late" -le "$(stat_of walked_late)" \
		-a $(($(sum_matching "$3") + late)) -eq "$all"
}

# Go by its own table, in all link modes: go_stacks HOW FLAG…
go_stacks() {
	build "go_stacks_$1" special/go_stacks.go go build "${@:2}" || return
	run "$SPECIAL/go_stacks_$1" 0.6
	all_in "Go, $1: a function without a frame has its caller" ';main.leaf' \
		'main.main;main.callsLeaf;main.leaf'
	# A raw record has the memory of one stack. From there the frame pointer leads to the goroutine's stack,
	# if that happens to be in the same memory, but past the function that called systemstack().
	all_in "Go, $1: what runs on the scheduler's stack has its caller" \
		';main.*;runtime.newproc.func1' \
		'main.(starts|main);(runtime.newproc[^;]*;)+runtime.systemstack[^;]*;runtime.newproc.func1' \
		'main.(starts|main);runtime.systemstack[^;]*;runtime.newproc.func1'
	all_in "Go, $1: a stack that grows" ';main.*;runtime.morestack[^;]*;runtime.newstack' \
		'main.grows;(main.deep;)+runtime.morestack[^;]*;runtime.newstack'
	check "Go, $1: complete" test "$(ended complete)" -ge 97
}
go_stacks plain
go_stacks stripped -ldflags='-s -w'
go_stacks pie -buildmode=pie
go_stacks stripped_pie -buildmode=pie -ldflags='-s -w'

if build chain_rust special/chain.rs rustc -O; then
	run "$SPECIAL/chain_rust" 0.3
	calls='[^;]*::outer[^;]*;[^;]*::inner[^;]*'
	both "Rust: main and a thread" "$IN_MAIN;std::rt::.*::main[^;]*;$calls" \
		"[^;]+;([^;]+;)?[^;]*::thread_start;.*$calls" '[^;]*::hot'
	check "Rust: complete" test "$(ended complete)" -ge 90
fi

# --- frame pointers --------------------------------------------------------------------------------


# all_but_few NAME COMM CHAIN: the chain is complete, except where a function has not set up its frame yet.
all_but_few() {
	local whole all
	whole=$(sum_matching "^$2;([^;]+;)+$3")
	all=$(sum_matching "^$2;.*;${3##*;}")
	check "$1" test "$whole" -ge 10 -a $((whole * 100)) -ge $((all * 98))
}

for how in fp auto cfi; do
	UNWIND=$how run "$PROGRAMS/spin" 0.5
	all_but_few "spin by $how: whole" spin 'main;spin_outer;spin_inner'
done
if build narrow special/narrow.c gcc -m32 -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	-nostdlib -static -ffreestanding -fno-pie -no-pie -fno-stack-protector; then
	for how in auto cfi; do
		UNWIND=$how run "$SPECIAL/narrow"
		all_but_few "a 32-bit program, by $how: frame pointers" narrow \
			'narrow_main;narrow_outer;narrow_inner'
	done
fi
