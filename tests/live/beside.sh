#!/usr/bin/env bash
# Several runs at once: an always-on one, two one-shots that start together with an empty cache, and a funccount. Each
# has its own account, and is an ordinary process for the others. They share the cache, and leave nothing behind.
#
# Alone: it is about shares of CPU time.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

# Copies have names of their own. What a run of a copy leaves behind has the copy's name, too.
for name in always first second counter; do
	cp "$STOOK" "$T/stook_$name"
done

start "$PROGRAMS/spin" 60
OPTIONS=(-a -f -F 499 --table-cache "$T/cache")
"$T/stook_always" profile "${OPTIONS[@]}" -i 0.5 --stats "$T/always.stats" >"$T/always" 2>"$T/always.err" &
always=$!
STARTED+=("$always")
wait_until 10 samples "$always"

runs=()
for name in first second; do
	"$T/stook_$name" profile "${OPTIONS[@]}" -d 2 --stats "$T/$name.stats" >"$T/$name" 2>"$T/$name.err" &
	runs+=($!)
done
"$T/stook_counter" funccount -d 2 c:malloc >"$T/counter" 2>"$T/counter.err" &
runs+=($!)
STARTED+=("${runs[@]}")
statuses=""
for run in "${runs[@]}"; do
	wait "$run"
	statuses+="$? "
done
check_equal "all end well" "$statuses" "0 0 0 "
kill -INT "$always"
wait "$always"
check_equal "so does the one that is always on" "$?" 0
check "funccount has counted" grep -qE '^malloc +[1-9]' "$T/counter"

for name in always first second; do
	check "$name: conservation law" law_holds "$T/$name.stats" "$T/$name"
	check_equal "$name: nothing lost" "$(stat_of lost_total "$T/$name.stats")" 0
	all=$(sum_matching '^spin;' "$T/$name")
	check "$name: names are right" \
		test "$(sum_matching '^spin;.*;spin_outer' "$T/$name")" -ge $((all * 95 / 100)) -a "$all" -gt 100
	check_equal "$name: it leaves out itself" "$(sum_matching "^stook_$name" "$T/$name")" 0
done
check "the one that is always on shows the others" test "$(sum_matching '^stook_(first|second)' "$T/always")" -gt 0

# The tables of both are in the cache, whole, and there are no temporary files.
check_equal "no temporary files in the cache" \
	"$(find "$T/cache" -type f -regextype posix-extended ! -regex '.*/[0-9a-f]+' | wc -l)" 0
"$T/stook_first" profile "${OPTIONS[@]}" -d 0.5 --stats "$T/stats" >"$T/out" 2>"$T/err"
check "the cache is used afterwards" test "$(stat_of tables_cached)" -gt 0

nobody_is_left() { ! pgrep -f "$T/stook_" >/dev/null; }
check "no helper process is left" wait_until 5 nobody_is_left
