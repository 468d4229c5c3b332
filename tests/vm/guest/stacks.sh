# shellcheck shell=sh disable=SC2154,SC2016
# Complete stacks of programs without frame pointers, down to the first function of the program or
# thread.
#
# Until a program's unwind tables are loaded, its samples contain only the top of the stack: the
# first samples of deep stacks are incomplete, and on slow machines these are many.

if ! stook profile --help | grep -q -- --unwind; then
	skip "stacks without frame pointers" "profile --unwind"
	return 0
fi

# whole NAME PERCENT REGEX ARGUMENT…: at least PERCENT of the samples of `deep ARGUMENT…` have such
# a stack. An emulated CPU of a busy host may fail to unwind the first ones in time, so three runs may be made.
whole() {
	shown=$1 least=$2 chain=$3
	shift 3
	for try in 1 2 3; do
		profile -f -e cpu-clock --unwind cfi --max-depth 512 -F 199 -- deep "$@"
		of=$(sum_matching '^deep;.*;deep_burn( |;)')
		got=$(sum_matching "$chain")
		late=0
		[ "$shown" != "$two_stacks" ] || late=$(stat_of walked_late)
		figure "stacks: $shown: $got of $of, $late late"
		[ "$(percent "$got" "$((of - late))")" -lt "$least" ] || break
	done
	check "$shown: $least % of the samples are whole, try $try" \
		test "$((of - late))" -ge 10 -a "$(percent "$got" "$((of - late))")" -ge "$least"
}

# A sample from before the tables are loaded has the memory of one stack: from a signal stack its walk does not
# reach the interrupted one. An emulated machine needs up to 0.2 s for its first tables.
two_stacks="on a signal stack"

# calls N: prints a regex for the chain of 3 N calls, with the end that is common to all stacks.
calls() {
	printf '(deep_a;deep_b;deep_c;){%d}deep_burn( |;)' "$1"
}
main='^deep;_start;.*;main'
thread='^deep;[^;]*(clone|thread_start)[^;]*;start_thread;deep_thread'
signal='run_signal;signal_outer;signal_victim;([^;]*;)?signal_handler'

whole "30 calls" 98 "$main;deep_begin;$(calls 10)" 2 30
whole "in a thread" 98 "$thread;deep_begin;$(calls 10)" 2 30 thread
whole "$two_stacks" 98 "$main;$signal;deep_burn( |;)" 2 signal
whole "300 calls" 50 "$main;deep_begin;$(calls 100)" 2 300

# 600 calls are more than the limit of 512 frames: the innermost ones are kept.
whole "600 calls" 50 "$(calls 170)" 2 600
check "600 calls: counted as cut" test "$(stat_of user_truncated)" -ge "$((of * 9 / 10))"
at_512_frames() {
	awk '/;deep_burn( |;)/ && split($0, frame, ";") >= 512 { n += $NF } END { exit !n }' out
}
check "600 calls: at 512 frames" at_512_frames
