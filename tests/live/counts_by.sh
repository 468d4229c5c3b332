#!/usr/bin/env bash
# funccount --by: calls distinguished by process, thread, name, CPU and cgroup. Two programs of four threads
# each call known functions known numbers of times, and the counts must be equal to these.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

LOAD=$PROGRAMS/stack_paths
THREADS=4
FIRST=${FIRST:-1000}   # rounds of the first program
SECOND=${SECOND:-1700} # rounds of the second one

# Both wait until the file $T/gate exists, so that all of their calls are counted.
start_both() {
	rm -f "$T/gate"
	"$LOAD" "$FIRST" $THREADS "$T/gate" >"$T/truth.1" &
	one=$!
	"$LOAD" "$SECOND" $THREADS "$T/gate" >"$T/truth.2" &
	other=$!
	STARTED+=("$one" "$other")
}
has_begun() { grep -q '^Tracing ' "$T/err" || ! kill -0 "$counter" 2>/dev/null; }

# count ARG…: counts both, from their first call to their last
count() {
	local counter
	start_both
	: >"$T/err"
	timeout --foreground -k 5 60 "$STOOK" funccount --budget off -p "$one,$other" "$@" \
		"$LOAD:(reached|way_a)" >"$T/out" 2>"$T/err" </dev/null &
	counter=$!
	STARTED+=("$counter")
	wait_until 20 has_begun
	: >"$T/gate"
	wait "$counter"
	STATUS=$?
	wait "$one" "$other"
}

# sum COLUMNS…: prints the counts of the CSV, summed up by these columns and sorted
sum() {
	awk -F, -v wanted="$*" '
	NR == 1 { nr = split(wanted, names, " "); for (i = 1; i <= NF; i++) at[$i] = i; next }
	{
		key = ""
		for (i = 1; i <= nr; i++)
			key = key $at[names[i]] " "
		gsub(/"/, "", key)
		sums[key] += $at["count"]
	}
	END { for (key in sums) print key sums[key] }' "$T/out" | sort
}

# of_both NAME CALLS: prints the expected lines `NAME PID CALLS` of a function that each round calls CALLS times
of_both() {
	printf '%s %s %s\n' "$1" "$one" $((FIRST * THREADS * $2)) \
		"$1" "$other" $((SECOND * THREADS * $2))
}

# --- processes and threads ------------------------------------------------------------------------

count --csv --by pid
check_equal "two processes" "$(sum name pid)" "$({ of_both reached 9; of_both way_a 1; } | sort)"

count --csv --by pid,tid,comm
check_equal "threads: their number" "$(sum name tid | wc -l)" $((2 * 2 * THREADS))
check_equal "threads: each has its own calls" "$(sum name pid tid | awk '{ print $1, $2, $4 }' | uniq -c |
	awk '{ print $1, $2, $3, $4 }')" \
	"$(printf '%s\n' "$THREADS reached $one $((FIRST * 9))" \
		"$THREADS reached $other $((SECOND * 9))" "$THREADS way_a $one $FIRST" \
		"$THREADS way_a $other $SECOND" | sort -k 2,2 -k 3,3)"
check_equal "threads: their name" "$(sum comm | awk '{ print $1 }')" stack_paths

count --csv --by cpu,cgroup -i 0.2
check_equal "CPUs and intervals add up" "$(sum name)" \
	"$(printf '%s\n' "reached $(((FIRST + SECOND) * THREADS * 9))" \
		"way_a $(((FIRST + SECOND) * THREADS))")"

# --- output ---------------------------------------------------------------------------------------

count --by pid --top 1
check_equal "the table's last row" "$(tail -n 1 "$T/out" | awk '{ print $1, $2, $3 }')" \
	"$other reached $((SECOND * THREADS * 9))"
check_equal "the table's columns" "$(awk 'NF { print $1, $2, $3; exit }' "$T/out")" "PID FUNC COUNT"
count --by pid,comm --json
check "an object for each row" grep -q "{\"pid\": $one, \"comm\": \"stack_paths\", \"name\": \"reached\"" \
	"$T/out"

# --- a table that is too small --------------------------------------------------------------------

count --csv --by tid --max-rows 3
all=$(((FIRST + SECOND) * THREADS * 10))
lost=$(sed -n 's/^stook: lost \([0-9,]*\) hits: table of keys full.*/\1/p' "$T/err" | tr -d ,)
check_equal "no room: shown and lost hits add up to all hits" \
	$(($(sum kind | awk '{ print $NF }') + ${lost:-0})) $all
check "no room: some are lost" [ "${lost:-0}" -gt 0 ]

# --- errors ---------------------------------------------------------------------------------------

"$STOOK" funccount --by pid,stack c:malloc 1 >"$T/out" 2>"$T/err"
check_equal "no such key: status 2" $? 2
check "no such key: the error lists the keys" grep -q "'pid,stack' for --by: a list of pid,tid,comm,cpu,cgroup" "$T/err"
