#!/usr/bin/env bash
# Runs a session's parts on a synthetic host (tests/tools/simulate.c) and checks what its samples became. All of
# their addresses must be in the right file, and no sample may vanish, on a small host and on one that has too many
# processes and files for the memory that it may use. On a host whose containers come and go, nothing may only grow;
# an agent's keeper and store are a part of that run. (The file grows until the store is swept, once a day.)
#
#   tests/replay/simulated_host.sh          half an hour on a small host: seconds
#   tests/replay/simulated_host.sh agent    8 hours of an agent, with an epoch each 10 s: minutes
#   tests/replay/simulated_host.sh month    30 days on 256 CPUs with 20,000 processes: minutes
#
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

SIMULATE=${SIMULATE:-$ROOT/build/tests/tools/simulate}
MONTH="cpus=256 processes=20000 threads=50000 files=5000 hours=720 calm_step_s=30 samples_calm=2 programs_calm=0.5
	storm_minutes=60 programs=1100 samples_storm=1000 stalls=5 jit=200 first_s=10 interval_s=600 checked=100000
	rows=24 table_mib=1024"

# simulate NAME WHOLE PARAMETER…: at least WHOLE percent of the checked stacks are whole; the others are marked as cut.
# At least 99 % of all that were named have the names of all their functions, and none has a wrong one.
simulate() {
	local name=$1 least=$2 whole named
	shift 2
	if "$SIMULATE" "$@" >"$T/simulated"; then
		pass "$name: right files, no wrong name"
	else
		fail "$name: right files, no wrong name" "$(tail -n 10 "$T/simulated" | tr '\n' ' ')"
	fi
	whole=$(sed -n 's/^checked \([0-9]*\) samples: right \([0-9]*\),.*/\1 \2/p' "$T/simulated" |
		awk '{ print int(100 * $2 / $1) }')
	check "$name: whole stacks: ${whole:-0} %" [ "${whole:-0}" -ge "$least" ]
	named=$(sed -n 's/^their functions: named \([0-9]*\), misnamed 0, unnamed \([0-9]*\)$/\1 \2/p' "$T/simulated" |
		awk '$1 { print int(100 * $1 / ($1 + $2)) }')
	check "$name: named: ${named:-0} %" [ "${named:-0}" -ge 99 ]
}

# flat NAME COLUMN FACTOR: in the second half of the time, a column of the table has at most FACTOR times the value of
# the middle.
flat() {
	local column
	column=$(awk -v want="$2" 'NR == 1 { gsub(/heap MB/, "heap"); gsub(/RSS MB/, "rss"); gsub(/pool MB/, "pool")
		for (i = 1; i <= NF; i++) if ($i == want) print i }' "$T/simulated")
	check "$1: $2 $(awk -v c="$column" -v most="$3" '
		/^ *[0-9]/ { row[nr++] = $c }
		END {
			middle = row[int(nr / 2)]
			for (i = int(nr / 2); i < nr; i++) if (row[i] > max) max = row[i]
			printf "%s then at most %s\n", middle, max
			print (max <= most * middle) > "'"$T/is_flat"'"
		}' "$T/simulated")" grep -qx 1 "$T/is_flat"
}

all_flat() {
	flat "$1" heap 1.1
	flat "$1" descr. 1.25
	flat "$1" process 1.05
	flat "$1" files 1.1
	flat "$1" slots 1.1
	flat "$1" rss 1.15
	flat "$1" tables 1.1
	flat "$1" pool 1.25 # some 400 tables, the largest of which has 16 times the size of the smallest
	check "$1: no file is refused" grep -q 'files [0-9]*, refused 0,' "$T/simulated"
}

# no_higher NAME COLUMN: for what rises and falls, such as the store's tables of what it has already: the second half of
# the time has no higher value than the first.
no_higher() {
	local column
	column=$(awk -v want="$2" 'NR == 1 { gsub(/heap MB/, "heap"); for (i = 1; i <= NF; i++) if ($i == want) print i }' "$T/simulated")
	check_equal "$1: $2 $(awk -v c="$column" '
		/^ *[0-9]/ { row[nr++] = $c }
		END {
			for (i = 0; i < nr; i++) if (row[i] > max[i >= nr / 2]) max[i >= nr / 2] = row[i]
			printf "at most %s then at most %s\n", max[0], max[1]
			print (max[1] <= 1.1 * max[0]) > "'"$T/is_flat"'"
		}' "$T/simulated")" "$(cat "$T/is_flat")" 1
}

# kept NAME NR: the intervals are in the store.
kept() {
	check "$1: $2 epochs are stored" grep -qx "epochs stored $2, dropped 0" "$T/simulated"
}

if [ "${1:-}" = agent ]; then
	simulate agent 99 hours=8 containers=200 storm_minutes=5 samples_storm=40 samples_calm=20 interval_s=10 \
		calm_step_s=5 store=2 seed=5 rows=24 checked=5000 profile_mib=16 table_mib=32
	no_higher agent heap
	no_higher agent descr.
	no_higher agent files
	no_higher agent slots
	kept agent 2879
	cat "$T/simulated" >&2
	exit
fi
if [ "${1:-}" = month ]; then
	# shellcheck disable=SC2086
	simulate month 97 $MONTH
	all_flat month
	cat "$T/simulated" >&2
	exit
fi
simulate endless 99 hours=10 containers=200 storm_minutes=0.2 calm_step_s=30 samples_calm=1 programs_calm=0.2 \
	interval_s=300 store=2 seed=3 rows=20 checked=5000
all_flat endless
kept endless 120
simulate small 99
# 20,000 processes of which few run: what they need is printed.
simulate sleeping 99 processes=20000 threads=20000 hours=0.05 storm_minutes=0 programs_calm=0.2 rows=2 seed=4
note "$(head -n 1 "$T/simulated")"
note "$(grep '^ *[0-9]' "$T/simulated" | tail -n 1)"
# shellcheck disable=SC2016 # awk's
check "sleeping: less than 300 MB" awk '/^ *[0-9]/ { rss = $3 } END { exit !(rss > 0 && rss < 300) }' "$T/simulated"
simulate crowded 30 processes=4000 files=2000 table_mib=8 storm_minutes=0.2 hours=0.2 seed=2
