#!/usr/bin/env bash
# --filter: a program whose system calls are known makes the same counts in `stat`, where the kernel evaluates the
# filter, in `perf stat`, and in `profile` and `stackcount`, where stook's own instructions do.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

TRUE=$(readlink -f "$(type -P true)")
WRITES=syscalls:sys_enter_write
# 500 writes of 1 byte, 300 of 7, 200 of 64; six programs are executed.
cat >"$T/load" <<-LOAD
	dd if=/dev/zero of=/dev/null bs=1 count=500 status=none
	dd if=/dev/zero of=/dev/null bs=7 count=300 status=none
	dd if=/dev/zero of=/dev/null bs=64 count=200 status=none
	$TRUE
	$TRUE
	env $TRUE
LOAD
LOAD=(sh "$T/load")

stook() { timeout -k 5 60 "$STOOK" "$@" >"$T/out" 2>"$T/err" </dev/null; }
folded() { awk '{ sum += $NF } END { printf "%d\n", sum }' "$T/out"; }

by_stat() { # by_stat EVENT FILTER
	stook stat -e "$1" --filter "$2" --csv -- "${LOAD[@]}"
	tail -n 1 "$T/out" | cut -d, -f 4
}

by_perf() { perf stat -x, -e "$1" --filter "$2" -- "${LOAD[@]}" 2>&1 | cut -d, -f 1; }

by_profile() {
	stook profile -f -e "$1" --filter "$2" --stats "$T/stats" -- "${LOAD[@]}"
	echo "$(folded)$(stat_of lost_total | grep -v '^0$')"
}

by_stackcount() {
	stook stackcount -f --budget off "t:$1" --filter "$2" -- "${LOAD[@]}"
	folded
}

is_first=1
while IFS='|' read -r count event filter; do
	check_equal "stat: $event: $filter" "$(by_stat "$event" "$filter")" "$count"
	check_equal "profile: $event: $filter" "$(by_profile "$event" "$filter")" "$count"
	check_equal "stackcount: $event: $filter" "$(by_stackcount "$event" "$filter")" "$count"
	if perf stat -e task-clock true 2>/dev/null; then
		check_equal "perf: $event: $filter" "$(by_perf "$event" "$filter")" "$count"
	elif [ -n "$is_first" ]; then
		skip "beside perf" "perf"
	fi
	is_first=
done <<-FILTERS
	500|$WRITES|count == 1
	800|$WRITES|count < 0x40 && fd == 1
	200|$WRITES|!(count == 1 || count == 7)
	200|$WRITES|count & 64
	0|$WRITES|count < 0
	1000|$WRITES|comm == "dd"
	0|$WRITES|common_pid == 1
	3|sched:sched_process_exec|filename == "$TRUE"
	1|sched:sched_process_exec|filename ~ "/usr/bin/env*" || filename ~ "/bin/env*"
	3|sched:sched_process_exec|filename ~ "/*" && comm != "dd" && comm != "env" && comm != "sh"
FILTERS

# A program that only looks takes no hit from the counters of others.
stook stackcount -f --budget off "t:$WRITES" --filter 'count == 7' -- \
	"$STOOK" stat -q -e "$WRITES" -o "$T/stat.csv" -- "${LOAD[@]}"
check_equal "beside: hits of the filter" "$(folded)" 300
check_equal "beside: counts of others" "$(tail -n 1 "$T/stat.csv" | cut -d, -f 4)" 1000

# Each tracepoint has the filter of its own pattern.
stook profile -f -e "$WRITES" --filter 'count == 7' -e sched:sched_process_exec \
	--filter "filename == \"$TRUE\"" --by probe -- "${LOAD[@]}"
check_equal "two tracepoints: writes" "$(grep -F "$WRITES" "$T/out" | awk '{ n += $NF } END { print n }')" 300
check_equal "two tracepoints: programs" "$(grep -F sched_process_exec "$T/out" | awk '{ n += $NF } END { print n }')" 3

# --- mistakes --------------------------------------------------------------------------------------

check_error() { # check_error NAME STATUS MESSAGE-PATTERN
	check "$1: status" test "$STATUS" -eq "$2"
	check "$1: message" grep -qE "$3" "$T/err"
}

for command in stat profile; do
	no_tracepoint=2 # known while options are parsed
	[ $command = profile ] || no_tracepoint=1
	stook $command -e "$WRITES" --filter 'cont == 1' -d 0.1
	STATUS=$?
	check_error "$command: no such field" 1 "no field 'cont' \(column 1\)"
	check "$command: no such field: the fields" grep -qE 'hint: its fields are .*fd, buf, count' "$T/err"
	stook $command -e "$WRITES" --filter 'count == 1 &' -d 0.1
	STATUS=$?
	check_error "$command: cut short" 1 "&& or \|\| expected \(column 12\)"
	stook $command -e page-faults --filter 'count == 1' -d 0.1
	STATUS=$?
	check_error "$command: no tracepoint" $no_tracepoint "is for tracepoints, not for 'page-faults'"
	stook $command --filter 'count == 1' -d 0.1
	STATUS=$?
	check_error "$command: before its event" 2 "has no tracepoint"
done
stook profile -e sched:sched_process_exec --filter 'filename ~ "*true"' -d 0.1
STATUS=$?
check_error "profile: a glob that only the kernel evaluates" 1 "a glob other than 'text\*' cannot be evaluated"
check_equal "stat: a glob" "$(by_stat sched:sched_process_exec 'filename ~ "*/true"')" 3
stook stackcount c:malloc --filter 'count == 1' -d 0.1
STATUS=$?
check_error "stackcount: no tracepoint" 1 "is for tracepoints, not for 'c:malloc'"
