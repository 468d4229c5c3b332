#!/usr/bin/env bash
# Converts folded stacks to pprof and back: tests/replay/folded_rounds.sh
#
# Nothing may be lost: names with blanks and colons, words next to `;`, delimiters, missed stacks,
# annotations, fractions, and both numbers of a difference.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

# folded ARG…: prints the profile as folded stacks
folded() {
	"$STOOK" report --format folded "$@" 2>"$T/err" </dev/null
}

# round NAME [ARG…] <LINES: as folded stacks, then twice through pprof
round() {
	local name=$1
	shift
	cat >"$T/in.folded"
	folded "$T/in.folded" "$@" >"$T/once"
	check_equal "$name: read and written" "$(cat "$T/once" "$T/err")" "$(cat "$T/in.folded")"
	"$STOOK" report "$T/in.folded" "$@" -o "$T/1.pb.gz" 2>"$T/err" &&
		"$STOOK" report "$T/1.pb.gz" "$@" -o "$T/2.pb.gz" 2>>"$T/err"
	check "$name: the same pprof file again" cmp "$T/1.pb.gz" "$T/2.pb.gz"
	folded "$T/2.pb.gz" "$@" >"$T/out"
	check "$name: through pprof" cmp "$T/out" "$T/in.folded"
}

# Byte for byte, so in the output's order: heaviest first, then by text.
judge_names() {
	round "names with blanks" <<-'LINES'
	my thread;f(int, char) const;operator new[](unsigned long) 7
	a; b ;c  5
	a;cpu 3 4
	a;b  3
	b;main 1
	LINES
	round "names that look like numbers" <<-'LINES'
	a;17;0x20 9 b;12.5 12
	7 6
	b;main 1
	LINES
	round "colons and brackets" <<-'LINES'
	a:b;std::vector<int, std::less<> >::at;[unknown];[deleted] 9
	(a);<b>;"c";{d} 2
	LINES
	round "other scripts and broken UTF-8 stay apart" <<-LINES
	грач;函数;f 3
	a;$'\xef\xbf\xbd';f 2
	LINES
	round "threads without a stack" <<-'LINES'
	a;b 13
	swapper/0 12
	LINES
}

judge_no_threads() {
	round "functions alone" --no-comm <<-'LINES'
	one 4
	main;foo 3
	two 3
	LINES
	check_equal "a root function is one" \
		"$("$STOOK" report "$T/in.folded" --no-comm --focus main --format csv 2>&1 </dev/null |
			sed -n '2,$s/,.*//p' | sort)" '"foo"
"main"'
	check_equal "and without the option that is told" \
		"$("$STOOK" report "$T/in.folded" 2>&1 >/dev/null </dev/null | sed -n 2p)" \
		"  hint: use --no-comm if these are functions and lines have no thread names"
	check_equal "but not with -q" \
		"$("$STOOK" report -q "$T/in.folded" 2>&1 >/dev/null </dev/null)" ""
	gzip -c "$T/in.folded" >"$T/in.folded.gz"
	check_equal "compressed ones, too" "$(folded --no-comm "$T/in.folded.gz")" "$(cat "$T/in.folded")"
}

judge_stacks() {
	round "delimiters" --delimited <<-'LINES'
	a;main;-;do_syscall_64;vfs_read 5
	a;main 2
	LINES
	round "a delimiter between nothing is a word" <<-'LINES'
	a;main;-;x;-;y 5
	a;-;vfs_read 4
	a;main;- 3
	a;-;- 2
	-;- 1
	LINES
	round "stacks that were missed" <<-'LINES'
	a;[Missed User Stack];[Missed Kernel Stack] 5
	a;main;[Missed Kernel Stack] 4
	a;[Missed User Stack] 3
	a;[Missed Kernel Stack] 2
	a;x;[Missed User Stack];y 1
	LINES
	round "marks" --annotate <<-'LINES'
	a;main;jit_[j];sys_[k];in_[i];vfs_[k] 5
	a;[Missed User Stack];sys_[k];vfs_[k] 4
	a;main;outer;in_[i];deeper_[i] 3
	a;sys_[k];main;user_[k];b 2
	x_[i];_[k];y 1
	LINES
}

judge_numbers() {
	round "fractions" <<-'LINES'
	a;b 12.5
	a;c 7
	a;d 0.000001
	LINES
	round "the largest number" <<-'LINES'
	a;b 9223372036854775807
	LINES
	round "both numbers of a difference" <<-'LINES'
	a;main;c 0 7
	a;main;b 4 2
	a;main;d 2 0
	LINES
	round "a difference with fractions" <<-'LINES'
	a;b 1.5 2
	a;c 0.25 0
	LINES
}

judge_nothing() {
	: >"$T/empty.folded"
	check_equal "an empty file has no samples" \
		"$("$STOOK" report "$T/empty.folded" 2>&1 </dev/null; echo "$?")" "No samples.
0"
	check_equal "no more has it as pprof" \
		"$("$STOOK" report "$T/empty.folded" -o "$T/1.pb.gz" 2>&1 </dev/null
		"$STOOK" report "$T/1.pb.gz" 2>&1 </dev/null; echo "$?")" "No samples.
0"
	check_equal "an empty stream of unknown format is an error" \
		"$("$STOOK" report - 2>&1 </dev/null; echo "$?")" \
		"stook: cannot read 'standard input': it is empty
1"
}

judge_names
judge_no_threads
judge_stacks
judge_numbers
judge_nothing
