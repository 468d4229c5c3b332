#!/usr/bin/env bash
# Tests the labels in the output of `report` and `flame`: perf's text has thread ids on every line.
# Pictures and tables merge all threads of a name; formats for other programs keep the ids. Also
# tests output files: `-`, /dev/stdout, links, files of other users.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

for tid in 11 12; do
	printf 'pool %s/%s [000] 1.0: 1 cpu-clock:\n\t1 work+0x1 (/bin/app)\n\t2 main+0x1 (/bin/app)\n\n' 10 $tid
done >"$T/in.perf"

for command in report flame; do
	check_equal "$command: threads of a name are one" \
		"$("$STOOK" $command -q "$T/in.perf" -f)" "pool;main;work 2"
	check_equal "$command --by" "$("$STOOK" $command -q "$T/in.perf" -f --by comm,tid)" \
		"pool-10/11;main;work 1
pool-10/12;main;work 1"
	"$STOOK" $command -q "$T/in.perf" -o "$T/$command.pb.gz" -o "$T/$command.folded"
	check_equal "$command: beside each other: people see names" "$(cat "$T/$command.folded")" \
		"pool;main;work 2"
	check_equal "$command: programs get all" \
		"$("$STOOK" report -q "$T/$command.pb.gz" -f --by tid | wc -l)" 2
	"$STOOK" $command -q "$T/in.perf" --by cpu,cgroup >"$T/out" 2>"$T/err"
	check_equal "$command: what is not there is refused" "$?" 1
	check "$command: and named" grep -q "does not distinguish samples by cgroup" "$T/err"
done

printf 'pool;main;work 2\n' >"$T/in.folded"
check "flame -o -: a picture" grep -q '^<svg' <("$STOOK" flame "$T/in.folded" -o -)
check "flame -o /dev/stdout: a picture" grep -q '^<svg' <("$STOOK" flame "$T/in.folded" -o /dev/stdout)
check_equal "report -o -: the report" "$("$STOOK" report "$T/in.folded" -o -)" \
	"$("$STOOK" report "$T/in.folded")"

"$STOOK" flame "$T/in.folded" -o "$T/one.svg" -o "$T/one.svg" >"$T/out" 2>"$T/err"
check_equal "a file is written once" "$? $(cat "$T/err")" "2 stook: '$T/one.svg' is written to twice"

# Like a shell's `>`.
ln -s real.svg "$T/link.svg"
"$STOOK" flame "$T/in.folded" -o "$T/link.svg"
check "-o follows a link" test -L "$T/link.svg" -a -s "$T/real.svg"
chmod 600 "$T/real.svg"
"$STOOK" flame "$T/in.folded" -o "$T/real.svg"
check_equal "-o keeps the mode" "$(stat -c %a "$T/real.svg")" 600
echo first >"$T/log"
"$STOOK" report "$T/in.folded" -f -o /dev/stdout >>"$T/log"
check_equal "-o /dev/stdout goes on where stdout is" "$(cat "$T/log")" "first
pool;main;work 2
pool;main;work 2"
