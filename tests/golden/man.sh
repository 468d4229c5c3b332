#!/bin/sh
# The manual pages against the code: every option of a command's page is a row of one of its tables
# (src/cmd) with the same letter, name and value, every row is in the page; the same for the
# commands in stook(1), each of which has a page; and all pages are free of formatting errors.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Both lists have lines `LETTER NAME VALUE`, with - for what there is none of.

# {'p', "pid", "PID,…", take_pids, …   or   {0, "cp", NULL, …   or   OPTION_SWITCH(0, "all", …
options_in_code() { # options_in_code FILE…
	sed -n '/rows\[\] = {$/,/^};$/p' "$@" |
		sed -E 's/^\tOPTION_SWITCH\(([^,]*, "[^"]*")/\t{\1, NULL/' |
		sed -nE "s/^\t\{(0|'.'), \"([^\"]*)\", (NULL|\"([^\"]*)\").*/\1 \2 \4/p" |
		sed -e "s/'//g" -e 's/^0 /- /' -e 's/ $/ -/' -e 's/…/.../' |
		sort -u # what several groups have is one option
}

# .It Fl p , Fl -pid Ar PID,...   or   .It Fl -all
options_in_page() { # options_in_page COMMAND
	sed -nE 's/^\.It Fl (([^ -]) , Fl )?-([^ ]+)( Ar (.+))?$/\2 \3 \5/p' "docs/stook-$1.1" |
		sed -e 's/^ /- /' -e 's/ $/ -/'
}

commands_in_code() {
	sed -n '/ commands\[\] = {$/,/^};$/p' src/cmd/commands.c | sed -nE 's/^\t\{"([^"]*)".*/\1/p'
}

commands_in_page() {
	sed -nE 's/^\.It Cm ([^ ]+)$/\1/p' docs/stook.1
}

# compare WHAT: the lists $work/code and $work/page, line by line
compare() {
	if [ ! -s "$work/code" ]; then
		echo "FAIL man: found no $1s in the code: has the table changed its form?"
		return
	fi
	sort "$work/code" >"$work/code.sorted"
	sort "$work/page" >"$work/page.sorted"
	comm -12 "$work/code.sorted" "$work/page.sorted" | sed "s/^/PASS man: $1 /"
	comm -23 "$work/code.sorted" "$work/page.sorted" |
		sed "s/^/FAIL man: only in the code: $1 /"
	comm -13 "$work/code.sorted" "$work/page.sorted" |
		sed "s/^/FAIL man: only in the page: $1 /"
}

# check_command COMMAND FILE…: the page of a command against its tables in these files of src/cmd
check_command() {
	command=$1
	shift
	# --help has no row of its own: every command has it.
	(
		cd src/cmd || exit
		options_in_code "$@"
		echo "h help -"
	) >"$work/code"
	[ "$(wc -l <"$work/code")" -gt 1 ] || : >"$work/code"
	options_in_page "$command" >"$work/page"
	compare "$command option"
}

stacks='options/stack_options.c options/output_options.c options/naming_options.c'
probes='options/probe_options.c options/task_options.c'
inputs='options/quiet_option.c inputs.c options/filter_options.c options/output_options.c'
# shellcheck disable=SC2086 # these are several files each
{
	check_command profile options/task_options.c profile_options.c $stacks
	check_command funccount funccount_options.c $probes row_outputs.c
	check_command stackcount stackcount.c $probes $stacks
	check_command tally tally_options.c $probes row_outputs.c
	check_command diff diff_options.c $inputs
	check_command report report_options.c $inputs
	check_command flame flame.c flame_options.c $inputs
	check_command symbolize options/quiet_option.c options/output_options.c options/naming_options.c
}

# What all commands that write profiles say of formats is the same, and has all names and extensions.
formats_in_page() { # formats_in_page COMMAND
	sed -n '/^\.Sh FORMATS$/,/^\.El$/p' "docs/stook-$1.1"
}

sed -n '/^#define FORMATS/,/[^\\]$/p' src/format/format.c |
	sed -nE 's/.*X\("([a-z]+)", "([^"]*)".*/.It Cm \1 , Pa \2/p' | sed 's/, \./ , ./' |
	sort >"$work/code"
formats_in_page profile | grep '^\.It ' | sort >"$work/page"
compare format
formats_in_page profile >"$work/formats"
for command in stackcount report diff flame symbolize; do
	if formats_in_page $command | cmp -s - "$work/formats"; then
		echo "PASS man: $command has the formats of profile"
	else
		echo "FAIL man: $command has not the formats of profile"
	fi
done

commands_in_code >"$work/code"
commands_in_page >"$work/page"
compare command
while read -r command; do
	if [ -e "docs/stook-$command.1" ]; then
		echo "PASS man: $command has a page"
	else
		echo "FAIL man: $command has no page"
	fi
done <"$work/code"

for page in docs/*.1; do
	if ! command -v groff >/dev/null; then
		echo "SKIP man: $page is well formed: needs groff"
	elif words=$(groff -ww -mandoc -Tutf8 "$page" 2>&1 >/dev/null) && [ -z "$words" ]; then
		echo "PASS man: $page is well formed"
	else
		echo "FAIL man: $page: $(echo "$words" | head -n 1)"
	fi
done
