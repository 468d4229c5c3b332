#!/usr/bin/env bash
# stook query on stores that store_cost writes: outputs, ranges of time, labels, lists, differences, and what is
# refused.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
tools=build/tests/tools
[ -x $tools/store_cost ] || { skip "all" "build/tests/tools/store_cost"; exit 0; }
export TZ=UTC LC_ALL=C.UTF-8

hour=1699999200 # 2023-11-14 22:00:00
store="$T/store"
printf '%s\n' 'redis;main;libc.so!read;sys_read_[k] 3' 'redis;main;get 5' 'nginx;main;serve 2' >"$T/in.stacks"
$tools/make_pprof --all <"$T/in.stacks" >"$T/in.pb.gz"
# 12 minutes of epochs of 10 s.
$tools/store_cost -k 72 -b $hour "$store" "$T/in.pb.gz" || fail "store" "cannot be made"

query() { "$STOOK" query --store "$store" "$@" 2>"$T/err"; }
all=(--from 22:00 --to '2023-11-14 22:12' --value samples)

# --- profiles ------------------------------------------------------------------------------------------

check_equal "folded" "$(query "${all[@]}" -f)" "redis;main;get 360
redis;main;read;sys_read 216
nginx;main;serve 144"
check_equal "the answer's range" "$(cat "$T/err")" \
	"stook: 2023-11-14 22:00:00 to 22:12:00: 72 epochs, 12m0s measured at 100 Hz
stook: 1 sample was lost in this time"
check_equal "-q is quiet" "$(query -q "${all[@]}" -f | wc -l; cat "$T/err")" 3
check_equal "--where" "$(query "${all[@]}" -f --where 'comm=redis && request~^r0')" "redis;main;read;sys_read 216"
check_equal "--by" "$(query "${all[@]}" -f --by comm,request | sort | head -n 1)" "nginx;request r2;main;serve 144"
check_equal "--by with two keys" "$(query "${all[@]}" -f --by request,size | sort | head -n 1)" \
	"request r0, size 0;main;read;sys_read 216"
check_equal "--comm" "$(query "${all[@]}" -f --comm nginx)" "nginx;main;serve 144"
check_equal "--value" "$(query "${all[@]}" --value alloc -f --comm nginx)" "nginx;main;serve 14400"
query "${all[@]}" -o "$T/out.svg" -o "$T/out.html" -o "$T/out.pb.gz" -o "$T/out.folded" -o "$T/out.txt"
check "a picture" grep -q '^<svg' "$T/out.svg"
check "a page" grep -q '<html' "$T/out.html"
check_equal "pprof" "$("$STOOK" report -q -f "$T/out.pb.gz" --value samples)" "$(cat "$T/out.folded")"
check_equal "a report is that of the file" "$(sed 1d "$T/out.txt")" \
	"$("$STOOK" report -q "$T/out.pb.gz" --value samples | sed 1d)"
check "rows by label" grep -q 'nginx' <(query "${all[@]}" -s comm -g none)

# --- times ---------------------------------------------------------------------------------------------

check_equal "a minute" "$(query --from @$((hour + 60)) --to @$((hour + 120)) --value samples -f --comm nginx)" \
	"nginx;main;serve 12"
check_equal "half an epoch is a whole one" \
	"$(query --from @$((hour + 65)) --to @$((hour + 75)) --value samples -f --comm nginx;
		cat "$T/err")" \
	"nginx;main;serve 4
stook: 2023-11-14 22:01:00 to 22:01:20: 2 epochs, 20s measured at 100 Hz
stook: asked for 2023-11-14 22:01:05 to 22:01:15; what was summed up is not divided"
now=$(date +%s)
$tools/store_cost -k 30 -b $((now - 600)) "$T/recent" "$T/in.pb.gz"
check_equal "the last hour is the default" \
	"$("$STOOK" query -q --store "$T/recent" --value samples -f --comm nginx)" "nginx;main;serve 60"
check_equal "--from -1h --to -30m" \
	"$("$STOOK" query -q --store "$T/recent" --from -1h --to -30m 2>&1 | cut -d ' ' -f 1-5)" \
	"stook: no samples from $(date -d @$((now - 3600)) +%F)
  hint: the store"

# --- lists ---------------------------------------------------------------------------------------------

query --list --value samples >"$T/list"
check_equal "--list: times" "$(head -n 2 "$T/list")" "2023-11-14 22:00:00 to 22:12:00, 12m0s measured
kept: 72 epochs, 11 minutes, 0 hours"
check "--list: values" grep -qE '^alloc +bytes +72,000$' "$T/list"
check "--list: labels" grep -qE '^request +3 +r1 +50.0%$' "$T/list"
check_equal "--list --json" "$(query --list --value samples --json |
	python3 -c 'import json,sys; j=json.load(sys.stdin)
print(j["from"], j["epochs"], [r["text"] for r in j["labels"] if r["label"]=="comm"])')" \
	"$hour 72 ['redis', 'nginx']"
query --list -o "$T/list.svg" 2>/dev/null
check_equal "--list is no picture" "$? $(head -n 1 "$T/err")" \
	"2 stook: '$T/list.svg' cannot have the table of --list: use .txt, .md, .csv or .json"

# --- differences ---------------------------------------------------------------------------------------

printf '%s\n' 'redis;main;libc.so!read;sys_read_[k] 3' 'redis;main;get 9' 'nginx;main;serve 2' >"$T/more.stacks"
$tools/make_pprof --all <"$T/more.stacks" >"$T/more.pb.gz"
$tools/store_cost -k 72 -b $((hour + 86400)) "$store" "$T/more.pb.gz"
day=(--from '2023-11-15 22:00' --to '2023-11-15T22:12:00Z' --value samples)
check_equal "--diff -1d" "$(query "${day[@]}" --diff -1d --json | python3 -c 'import json,sys
for r in json.load(sys.stdin)["rows"]: print(r["name"], r["self"]["before"], r["self"]["after"], r["self"]["kind"])' |
	sort)" "get 360 648 more
main 0 0 None
read 0 0 None
serve 144 144 less
sys_read 216 216 less"
check "--diff by module" grep -q 'MODULE' <(query "${day[@]}" --diff -1d --group-by module)
check "--diff FROM..TO" grep -q ' get ' <(query "${day[@]}" --diff "@$hour..@$((hour + 720))")
query "${day[@]}" --diff -2d >/dev/null
check_equal "--diff with nothing before" "$? $(head -n 1 "$T/err")" \
	"1 stook: no samples from 2023-11-13 22:00:00 to 22:12:00"

for range in -5m "@$((hour + 86400 + 300))..@$((hour + 86400 + 800))"; do
	query "${day[@]}" --diff "$range" >/dev/null
	check_equal "--diff $range of times that overlap" "$? $(head -n 1 "$T/err")" \
		"2 stook: --diff $range: the two times overlap"
done
query --diff -5m >/dev/null
check "--diff -5m without --from: the last five minutes" grep -q 'no samples from' "$T/err"

# --- growth --------------------------------------------------------------------------------------------

query --regressions >/dev/null
check_equal "--regressions needs time" "$? $(head -n 1 "$T/err")" "1 stook: too little time to find regressions in"
printf '%s\n' 'redis;main;get 50' 'redis;main;set 30' 'redis;main;hash 10' 'nginx;main;serve 40' 'nginx;main;log 20' \
	>"$T/service.folded"
for percent in 0 10; do
	$tools/store_cost -d 16 -e 3600 -n 3000 -c 0 -g hash:10:$percent "$T/grown.$percent" "$T/service.folded" >/dev/null
done
check_equal "--regressions: a function that grew is first" \
	"$("$STOOK" query -q --store "$T/grown.10" --regressions --json | python3 -c 'import json,sys
for r in json.load(sys.stdin)["rows"]: print(r["name"], r["service"], r["since"], r["cost"] > 0.002)' | head -n 1)" \
	"hash redis 2023-11-24 22:00 True"
# What is older is not listed, but it is what later days are compared with.
since() {
	"$STOOK" query -q --store "$T/grown.10" --regressions --from "@$1" --json |
		python3 -c 'import json,sys; print("".join(r["name"] for r in json.load(sys.stdin)["rows"]))'
}
check_equal "--regressions --from: on the day of the growth" "$(since 1700900000)" "hash"
check_equal "--regressions --from: on the next day" "$(since 1700950000)" ""
check_equal "--regressions --from: in words" \
	"$("$STOOK" query -q --store "$T/grown.10" --regressions --from @1700950000 | cut -d ';' -f 1)" \
	"0 of 5 functions grew since $(date -d @1700950000 '+%F %T')"
check_equal "--regressions: nothing grew" \
	"$("$STOOK" query -q --store "$T/grown.0" --regressions)" \
	"0 of 5 functions grew; 0 have too few samples, or were not there long enough, to be tested."

# --- what is refused -----------------------------------------------------------------------------------

refuses() { # refuses NAME STATUS MESSAGE ARG…
	local name=$1 status=$2 message=$3
	shift 3
	"$STOOK" query "$@" >"$T/out" 2>"$T/err"
	check_equal "refuses $name" "$? $(head -n 1 "$T/err")" "$status stook: $message"
}
refuses "no store" 2 "no store given"
refuses "a missing file" 1 "cannot open store '$T/none': No such file or directory" --store "$T/none"
refuses "a folder" 1 "'$T' is not a store of stook" --store "$T"
echo "my diary, which is longer than the header of a database, so that it is read as one" >"$T/diary"
cat "$T/diary" "$T/diary" "$T/diary" "$T/diary" "$T/diary" "$T/diary" "$T/diary" >"$T/diaries"
refuses "another file" 1 "cannot open store '$T/diaries': file is not a database" --store "$T/diaries"
: >"$T/empty"
refuses "an empty file" 1 "'$T/empty' is not a store of stook" --store "$T/empty"
refuses "paths with --diff" 2 "--list, --diff and --regressions have tables of their own, which --top and --by can \
change, and that of --diff --group-by function or module" --store "$store" --diff -1d -g none
refuses "a word" 2 "unexpected argument '$store'" "$store"
refuses "a bad time" 2 \
	"bad value 'teatime' for --from: now, -1h, -2d, 03:12, '2026-11-23 03:12', or @SECONDS since 1970" \
	--store "$store" --from teatime
refuses "an empty range" 2 "--from '@5' is not before --to '@4'" --store "$store" --from @5 --to @4
refuses "a bad condition" 2 "missing text at character 9 of condition 'comm=a&&'" --store "$store" --where 'comm=a&&'
check "and says what is right" grep -q '^  hint: KEY=TEXT' "$T/err"
refuses "an unknown value" 1 "no value 'bytes' in store '$(realpath "$store")'" --store "$store" "${all[@]}" --value bytes
check_equal "and names the others" "$(tail -n 1 "$T/err")" "  hint: there are: cpu, samples, alloc"
refuses "two kinds of answer" 2 "only one of --list, --diff and --regressions can be given" \
	--store "$store" --list --regressions
refuses "--list with --resymbolize" 2 "--list has no code that --resymbolize could name" \
	--store "$store" --list --resymbolize
refuses "--debug-dir alone" 2 "--debug-dir needs --resymbolize" --store "$store" --debug-dir /
query "${all[@]}" --by tenant >/dev/null
check_equal "refuses an unknown label" "$? $(sed -n 3p "$T/err")" "1 stook: no sample has the label 'tenant'"
query "${all[@]}" --where 'comm=postgres' >/dev/null
check_equal "nothing matches" "$? $(head -n 1 "$T/err")" \
	"1 stook: no samples with 'comm=postgres' from 2023-11-14 22:00:00 to 22:12:00"

if command -v sqlite3 >/dev/null; then
	cp "$store" "$T/later"
	sqlite3 "$T/later" 'PRAGMA user_version = 99'
	refuses "a later version" 1 "store '$(realpath "$T/later")' was written by a later version of stook" --store "$T/later"
	sqlite3 "$T/other" 'CREATE TABLE diary (day, text)'
	refuses "another application's database" 1 "'$(realpath "$T/other")' is not a store of stook" --store "$T/other"
else
	skip "refuses a later version" "sqlite3"
fi

# A damaged store ends neither in a crash nor in silence.
size=$(stat -c %s "$store")
bad=
for at in 100 $((size / 4)) $((size / 2)) $((size * 3 / 4)); do
	cp "$store" "$T/damaged"
	head -c 2048 /dev/zero | tr '\0' '\377' | dd of="$T/damaged" bs=1 seek="$at" conv=notrunc status=none
	timeout 20 "$STOOK" query --store "$T/damaged" "${all[@]}" -f >"$T/out" 2>"$T/err"
	status=$?
	[ $status -le 1 ] || bad+=" $at: $status"
	[ $status -eq 0 ] || grep -q "^stook: cannot .* store\|is not a store" "$T/err" || bad+=" $at: $(head -n 1 "$T/err")"
	head -c "$at" "$store" >"$T/cut"
	timeout 20 "$STOOK" query --store "$T/cut" "${all[@]}" -f >"$T/out" 2>"$T/err"
	[ $? -eq 1 ] || bad+=" cut at $at: $?"
done
check_equal "damage" "$bad" ""

# --- names from others ---------------------------------------------------------------------------------

printf 'evil\033[31m;main;f\033]0;x\007 3\n' >"$T/hostile.folded"
$tools/store_cost -k 2 -b $hour "$T/hostile" "$T/hostile.folded"
for how in --list -f --regressions "-s comm"; do
	# shellcheck disable=SC2086 # two words
	"$STOOK" query --store "$T/hostile" "${all[@]}" $how >>"$T/shown" 2>&1
done
check_equal "control characters are not shown" "$(grep -c $'[\033\007]' "$T/shown")" 0

# --- files ---------------------------------------------------------------------------------------------

files_of_store() { stat -c '%n %s %y' "$T"/store*; }
before=$(files_of_store)
query "${all[@]}" -f >/dev/null
check_equal "nothing is written beside the store" "$(files_of_store)" "$before"
ln -s store "$T/link"
check_equal "through a link" "$("$STOOK" query -q --store "$T/link" "${all[@]}" -f --comm nginx)" "nginx;main;serve 144"
