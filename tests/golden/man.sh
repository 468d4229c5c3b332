#!/bin/sh
# Manual pages against the program's own tables, as printed by tests/tools/print_options: a page has
# exactly the options of its command, with the same letter, name and value; the pages have exactly the
# formats; stook(1) has exactly the commands, and each command has a page. All pages have the usual
# sections in the same order, no formatting errors, and no quotation marks that are paired wrongly.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

build/tests/tools/print_options >"$work/tables" || exit

# Lists have lines `LETTER NAME VALUE`, with - for none. `completion` has no options of its own.
options_in_code() { # options_in_code COMMAND
	sed -n "s/^option $1 //p" "$work/tables" | sed 's/…/.../'
	echo "h help -" # in every command, and in no table
}

# .It Fl p , Fl -pid Ar PID,...   or   .It Fl -all
options_in_page() { # options_in_page COMMAND
	sed -nE 's/^\.It Fl (([^ -]) , Fl )?-([^ ]+)( Ar (.+))?$/\2 \3 \5/p' "docs/stook-$1.1" |
		sed -e 's/^ /- /' -e 's/ $/ -/'
}

commands_in_page() {
	sed -nE 's/^\.It Cm ([^ ]+)$/\1/p' docs/stook.1
}

# compare WHAT: the lists $work/code and $work/page, line by line
compare() {
	if [ ! -s "$work/code" ]; then
		echo "FAIL man: the program has no $1s"
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

for command in profile funccount stackcount tally stat sched agent query serve open diff report flame list doctor symbolize; do
	options_in_code $command >"$work/code"
	options_in_page $command >"$work/page"
	compare "$command option"
done

# The section FORMATS is the same for all commands that write profiles, and complete.
formats_in_page() { # formats_in_page COMMAND
	sed -n '/^\.Sh FORMATS$/,/^\.El$/p' "docs/stook-$1.1"
}

sed -nE 's/^format ([a-z]+) (.*)/.It Cm \1 , Pa \2/p' "$work/tables" | sed 's/, \./ , ./' | sort >"$work/code"
formats_in_page profile | grep '^\.It ' | sort >"$work/page"
compare format
formats_in_page profile >"$work/formats"
for command in stackcount report query diff flame symbolize; do
	if formats_in_page $command | cmp -s - "$work/formats"; then
		echo "PASS man: $command has the FORMATS of profile"
	else
		echo "FAIL man: the FORMATS of $command differ from those of profile"
	fi
done

sed -n 's/^command //p' "$work/tables" >"$work/code"
commands_in_page >"$work/page"
compare command
while read -r command; do
	if [ -e "docs/stook-$command.1" ]; then
		echo "PASS man: $command has a page"
	else
		echo "FAIL man: $command has no page"
	fi
done <"$work/code"

usual_sections="NAME SYNOPSIS DESCRIPTION EXAMPLES OPTIONS EXIT_STATUS SECURITY SEE_ALSO"
for page in docs/*.1; do
	sections=$(sed -n 's/^\.Sh //p' "$page" | tr ' \n' '_ ')
	case $page in # ENVIRONMENT, FILES and other sections stand between these
	*-completion.1) wanted=$(echo "$usual_sections" | sed 's/SECURITY //') ;;
	*) wanted=$usual_sections ;;
	esac
	if echo " $sections" | grep -q "$(echo " $wanted" | sed 's/ /.* /g')"; then
		echo "PASS man: $page has the usual sections"
	else
		echo "FAIL man: $page: sections '$sections', expected '$wanted'"
	fi
	if ! command -v groff >/dev/null; then
		echo "SKIP man: $page is well formed: needs groff"
	elif words=$(groff -ww -mandoc -Tutf8 "$page" 2>&1 >/dev/null) && [ -z "$words" ]; then
		echo "PASS man: $page is well formed"
	else
		echo "FAIL man: $page: $(echo "$words" | head -n 1)"
	fi
	# A quotation macro quotes the rest of its line: a second one on the line is nested, and a list
	# gets one pair of quotes around all of it.
	lists=$(grep -nE '^\.(Pq )?(Ql|Dq|Sq|Qq) .* [,;|] .|^\..* (Ql|Dq|Sq|Qq) .* (Ql|Dq|Sq|Qq) ' "$page")
	nested=$(groff -mandoc -Tutf8 -P-cbou "$page" 2>/dev/null | tr '\n' ' ' |
		LC_ALL=C sed -e 's/\xe2\x80\x98/\x01/g' -e 's/\xe2\x80\x99/\x02/g' | grep -ao "$(printf '\001[^\002]*\001.')" |
		tr '\001' '<' | head -n 1)
	if [ "$lists$nested" ]; then
		echo "FAIL man: $page: quotes around more than one thing: $(echo "$lists$nested" | head -n 1)"
	else
		echo "PASS man: $page has quotes in pairs"
	fi
done
