#!/usr/bin/env bash
# Tests stook report: tests/replay/report.sh
#
# Uses made-up stacks with known numbers, unreadable files and invalid options; and, as root, a
# recording of perf: `perf report` and `stook report` must show the same, function by function.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

stacks() {
	cat <<-'STACKS'
	web;main;handle;read;do_syscall_64_[k];vfs_read_[k];copy_user_generic_[k] 50
	web;main;handle;parse 25
	web;main;idle 5
	db;main;loop;parse 12
	db;main;loop;write;do_syscall_64_[k];tcp_sendmsg_[k];rb_insert_color_[k] 8
	STACKS
}

# report ARG…: leaves $T/out, $T/err and $STATUS.
report() {
	"$STOOK" report "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}

# row NAME ARG…: prints self and total of a row from the CSV
row() { # row NAME ARG…
	local name=$1
	shift
	report "$T/in.folded" --format csv "$@"
	awk -F, -v name="\"$name\"" '$1 == name { print $(NF - 3), $(NF - 2) }' "$T/out"
}

# Prints the sum of all rows' counts.
total() { # total ARG…
	report "$T/in.folded" -s comm --format csv "$@"
	awk -F, 'NR > 1 { sum += $(NF - 3) } END { print sum + 0 }' "$T/out"
}

# A function sampled in two of its lines is one row, unless lines are requested.
judge_lines() {
	printf 'app 1 %s: 1 cycles:\n\t1 work+0x1 (/bin/app)\n  app.c:%s\n\t2 main+0x1 (/bin/app)\n  app.c:3\n\n' \
		1.0 7 2.0 8 >"$T/lines.perf"
	report "$T/lines.perf" --format folded
	check_equal "functions, whatever the line" "$(cat "$T/out")" "app;main;work 2"
	report "$T/lines.perf" --format folded --lines
	check_equal "--lines" "$(cat "$T/out")" "app;main app.c:3;work app.c:7 1
app;main app.c:3;work app.c:8 1"
}

judge_rows() {
	check_equal "self and total of a function" "$(row parse)" "37 37"
	check_equal "of a caller" "$(row main)" "0 100"
	check_equal "rows by thread" "$(row db -s comm)" "20 20"
	check_equal "rows by kind" "$(row kernel --group-by kind)" "58 58"
	check_equal "categories count for the nearest caller" "$(row network -s category)" "8 8"
	check_equal "a table of one's own" "$(printf 'text: parse\n' >"$T/table"
		row text -s category --categories "$T/table")" "37 37"
	report "$T/in.folded" -s comm --format csv --comm db
	check_equal "no rows for what a filter leaves out" "$(tail -n +2 "$T/out" | cut -d , -f 1)" '"db"'
	report "$T/in.folded" -g graph,0
	check "-g graph,0 leaves nothing out" grep -q 'CALL PATH (below 0% left out)' "$T/out"
	check_equal "sorted by total" \
		"$(report "$T/in.folded" --children --format csv -n 1; sed -n '2s/,.*//p' "$T/out")" '"main"'
	printf 'a;b 10\na;c 2.25\n' >"$T/weights.folded"
	report "$T/weights.folded"
	check_equal "weights with fractions" "$(head -n 1 "$T/out")" "12.25, the sum of weight"
	check_equal "rows by perf's words" "$(row parse -s overhead,sym,period)" "37 37"
	report "$T/in.folded" -s comm,sym,dso,kind,line,category --format csv
	check_equal "rows by six keys" "$(head -n 1 "$T/out" | tr -d '\r')" \
		"comm,function,module,kind,line,category,self,total,self_percent,total_percent"
	report "$T/in.folded" --format json
	check_equal "JSON that others read" "$(python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
print(report["total"], sum(row["self"] for row in report["rows"]))' "$T/out")" "100 100"
	report "$T/in.folded" --format csv
	check_equal "CSV that others read" "$(python3 -c '
import csv, sys
print(sum(int(row["self"]) for row in csv.DictReader(open(sys.argv[1]))))' "$T/out")" 100
}

judge_filters() {
	check_equal "--comm" "$(total --comm '^w')" 80
	check_equal "--not-comm" "$(total --not-comm '^w')" 20
	check_equal "--symbol is about what ran" "$(total --symbol parse)" 37
	check_equal "--not-symbol" "$(total --not-symbol 'parse|idle')" 58
	check_equal "--focus is about the stack" "$(total --focus do_syscall_64)" 58
	check_equal "--ignore" "$(total --ignore do_syscall_64)" 42
	check_equal "--module" "$(total --module kernel)" 58
	check_equal "several want what all of them want" "$(total --comm web --focus parse)" 25
	report "$T/in.folded" --comm nobody
	check_equal "nothing left is no failure" "$STATUS" 0
	check_equal "and is said" "$(cat "$T/out" "$T/err" | tr '\n' '|')" \
		"No samples.|stook: no samples left: --comm excludes all of 100 samples|"
}

# Prints the paths below the table for perf's option values.
paths() { # paths ARG…
	report "$T/in.folded" -n 1 "$@"
	sed '1,/^$/d' "$T/out" | sed -n '/^ *[A-Z]* *\(CALL\|STACK\)/,$p'
}

judge_paths() {
	check "-g graph,0.5,caller" grep -q '^ 80.0%  └ main' <(paths -g graph,0.5,caller)
	check "words in any order" grep -q 'below 30% left out' <(paths -g caller,30,graph)
	check "and only their beginnings" grep -q '^ 50.0%  web;main;' <(paths -g fo,30)
	check "-g callee has what ran on top" grep -q '^ 37.0%  parse$' <(paths -g callee)
	check "-g fractal is of the branch" grep -q '^ 66.7%' <(paths -g fractal,5)
	check "a limit of branches" grep -q '2 others' <(paths -g callee,0.5,2)
	check_equal "-g none" "$(paths -g none)" ""
	check_equal "no colours in a file" "$(paths -g graph | grep -c $'\033')" 0
}

judge_conversions() {
	report "$T/in.folded" -o "$T/out.pb.gz" -o "$T/out.md" -o "$T/out.json"
	check_equal "files are written" "$STATUS" 0
	"$STOOK" report "$T/out.pb.gz" --format folded --annotate >"$T/back.folded" 2>"$T/err"
	check_equal "folded, pprof and back" "$(sort "$T/back.folded")" "$(sort "$T/in.folded")"
	check "what is for a ticket" grep -q '^The heaviest path' "$T/out.md"
	check_equal "equal inputs give equal reports" \
		"$("$STOOK" report "$T/in.folded" | cksum)" "$(shuf "$T/in.folded" | "$STOOK" report | cksum)"
}

# check_refused NAME STATUS WORDS ARG…
check_refused() {
	local name=$1 status=$2 words=$3
	shift 3
	report "$@"
	check_equal "$name: status" "$STATUS" "$status"
	check "$name: says why" grep -qF -- "$words" "$T/err"
}

judge_refusals() {
	check_refused "no such file" 1 "cannot open '$T/none'" "$T/none"
	check_refused "no profile" 1 "cannot read '/bin/true'" /bin/true
	xz -c "$T/in.folded" >"$T/in.folded.xz"
	check_refused "what is compressed" 1 "pipe the output of 'xz -dc $T/in.folded.xz'" "$T/in.folded.xz"
	printf '@[\n    foo+1\n    main+2\n]: 12\n' >"$T/map.folded"
	check_refused "bpftrace's maps" 1 "stackcollapse-bpftrace.pl $T/map.folded" "$T/map.folded"
	check_refused "no rows" 2 "bad value '0' for --top" "$T/in.folded" -n 0
	check_refused "a label that is not there" 1 "has no pids" "$T/in.folded" --pid 1
	check_refused "a key that is not there" 1 "by pid" "$T/in.folded" -s pid
	check_refused "a bad pattern" 2 "bad value '(' for --symbol" "$T/in.folded" --symbol '('
	check_refused "a bad key" 2 "bad value 'nothing'" "$T/in.folded" -s nothing
	check_refused "bad paths" 2 "bad value 'graph,bogus'" "$T/in.folded" -g graph,bogus
	check_refused "no table" 1 "cannot open '$T/none'" "$T/in.folded" --categories "$T/none"
	printf 'a: b\nc\n' >"$T/table"
	check_refused "a bad table" 1 "line 2: no 'category:'" "$T/in.folded" --categories "$T/table"
}

# Long names and deep stacks stay within the width.
judge_widths() {
	python3 -c '
name = "std::vector<" + "std::pair<int, std::string>, " * 20 + "int>::push_back"
for i in range(200):
    print("comm;" + ";".join(f"{name}_{k % (i + 1)}(int)" for k in range(100)), i + 1)' \
		>"$T/wide.folded"
	for width in 60 80 200; do
		report "$T/wide.folded" -w "$width"
		check_equal "no line is wider than $width" \
			"$(python3 -c '
import sys
print(sum(len(line.rstrip("\n")) > int(sys.argv[2]) for line in open(sys.argv[1], encoding="utf-8")))' \
				"$T/out" "$width")" 0
	done
	report "$T/in.folded" -w 60 -s comm,sym,dso,line,kind,category
	check "keys that have no room in the width are shown" \
		grep -q 'web  *copy_user_generic  *\[kernel\] .* kernel  *copies' "$T/out"
}

# Uses kernel samples of one recording: each function must have exactly the same sum of periods.
# (Names of user functions have versions and parameters, which perf report and perf script show
# differently.) The kernel has static functions of one name: perf has a row for each, but its text
# does not distinguish them, so rows are summed by name.
judge_by_perf() {
	if [ "$(id -u)" -ne 0 ] || ! command -v perf >/dev/null; then
		skip "the same as perf report" "root and perf"
		return
	fi
	perf record -q -e cpu-clock -F 999 -g -a -o "$T/perf.data" -- \
		sh -c 'find /usr/share/doc >/dev/null; seq 300000 | sort -R >/dev/null' 2>"$T/err"
	perf report -i "$T/perf.data" --stdio -q --no-children --no-inline -g none \
		-F period,sym -t '|' 2>/dev/null |
		sed -nE 's/^ *([0-9]+) *\|\[k\] +([^ ]+) *$/\1 \2/p' | grep -v ' 0x' |
		awk '{ sum[$2] += $1 } END { for (name in sum) printf "%.0f %s\n", sum[name], name }' |
		sort >"$T/perf.rows"
	perf script -i "$T/perf.data" --no-inline 2>/dev/null >"$T/perf.txt"
	"$STOOK" report -s sym,kind --format csv <"$T/perf.txt" 2>"$T/err" |
		sed -nE 's/^"([^" ]+)","kernel",([1-9][0-9]*),.*/\2 \1/p' | grep -v ' \[unknown\]$' |
		sort >"$T/stook.rows"
	check "perf report has rows" test "$(wc -l <"$T/perf.rows")" -gt 20
	check_equal "perf report and stook report say the same" "$(rows_that_differ | head -n 5)" ""
}

# perf report has the address of samples with an empty stack, which perf script does not print. The
# periods of such samples, and no more, may be missing.
rows_that_differ() {
	awk '
		FILENAME ~ /perf.txt$/ {
			if (NF && !nr_lines++) {
				match($0, /[0-9]+ [^ ]*: *$/)
				period = substr($0, RSTART) + 0
			}
			if (!NF) {
				if (nr_lines == 1) without_stack += period
				nr_lines = 0
			}
			next
		}
		FILENAME ~ /perf.rows$/ { perf[$2] = $1; next }
		{ stook[$2] = $1 }
		END {
			for (name in perf) {
				missing += perf[name] - stook[name]
				if (perf[name] < stook[name]) print name, perf[name], stook[name]
			}
			for (name in stook) if (!(name in perf)) print name, 0, stook[name]
			if (missing > without_stack) print missing " missing, without a stack " without_stack
		}' "$T/perf.txt" "$T/perf.rows" "$T/stook.rows"
}

# stdout's reader goes away before all is written.
judge_closed_pipe() {
	awk 'BEGIN { for (i = 0; i < 20000; i++) print "a;main;f" i " 1" }' >"$T/many.folded"
	"$STOOK" report "$T/many.folded" -f -o "$T/kept.folded" 2>"$T/err" | true
	check_equal "a closed pipe: the file of -o is whole" "$(wc -l <"$T/kept.folded")" 20000
}

if [ ! -x "$STOOK" ]; then
	fail "all" "$STOOK must be built: make all"
	exit 1
fi
stacks >"$T/in.folded"
judge_rows
judge_lines
judge_filters
judge_paths
judge_conversions
judge_closed_pipe
judge_refusals
judge_widths
judge_by_perf
