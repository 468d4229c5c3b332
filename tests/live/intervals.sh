#!/usr/bin/env bash
# stook profile -i: naming and writing happen beside the sampling, which they cannot hold up.
#
# Alone: it judges whether intervals end in time. COMPILE=1: also for 40 s beside a compile by clang, a large program in
# C++ whose debug files such a server is asked for.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

# An interval is taken away from the session within this time after its end, besides what the kernel takes to end an
# epoch: a grace period, which is 10 to 20 ms mostly, and was 140 ms after a CPU had come back.
LATE_US=50000

check_in_time() { # check_in_time RUN
	local late turn
	late=$(stat_of latest_interval_us) turn=$(stat_of longest_turn_us)
	check "$1intervals end in time ($late us late, of which the kernel takes up to $turn us)" test $((late - turn)) -lt $LATE_US
}

# Prints the number of samples in the files of all intervals.
sum_of_files() { cat "$T"/each.*.folded | sum_folded; }
nr_files() { find "$T" -name 'each.*.folded' -size +0 | wc -l; }
about() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; }

# Profiles everything in intervals, one file each.
in_intervals() {
	rm -f "$T"/each.*
	profile -a -F 499 "$@" -o "$T/each.folded"
}

start "$PROGRAMS/spin" 60
spin=$PID
start "$PROGRAMS/forkstorm" 60

# --- names -----------------------------------------------------------------------------------------------

in_intervals -d 3 -i 0.5
check_equal "six intervals" "$(stat_of intervals)" 6
check_equal "a file for each" "$(nr_files)" $((6 - $(stat_of intervals_joined)))
check_equal "all samples are in the files" "$(sum_of_files)" "$(stat_of shown)"
check "nothing is lost" test "$(stat_of lost)" -eq 0
named=0
for file in "$T"/each.*.folded; do
	[ "$(sum_matching 'main;spin_outer;spin_inner' "$file")" -lt 10 ] || named=$((named + 1))
done
check_equal "each has names" $named "$(nr_files)"
cat "$T"/each.*.folded >"$T/all"
check "new processes have names" test "$(sum_matching 'storm_outer;storm_inner' "$T/all")" -ge 100
check_in_time ""

# --- a server of debug files that does not answer ----------------------------------------------------

if "$STOOK" --version | grep -q static || ! command -v strip python3 >/dev/null ||
	! ldconfig -p | grep -q libdebuginfod; then
	skip "debuginfod" "strip, python3, libdebuginfod and a binary that loads it"
else
	serve_silence "$T/server"
	cp "$PROGRAMS/stacks" "$T/nameless" && strip --strip-all "$T/nameless"
	start "$T/nameless" 30
	nameless=$PID
	export DEBUGINFOD_CACHE_PATH=$T/cache
	in_intervals -d 6 -i 0.5 --lines --naming-time 4 -o "$T/each.pb.gz"
	check "debuginfod: it was asked" grep -q asked "$T/server"
	check_equal "debuginfod: twelve intervals" "$(stat_of intervals)" 12
	check "debuginfod: what waits is joined" test "$(stat_of intervals_joined)" -ge 1
	check_equal "debuginfod: a file for each that was not joined" "$(nr_files)" \
		$((12 - $(stat_of intervals_joined)))
	check_equal "debuginfod: all samples are in the files" "$(sum_of_files)" "$(stat_of shown)"
	check "debuginfod: nothing is lost" test "$(stat_of lost)" -eq 0
	length_us=$(for file in "$T"/each.*.pb.gz; do
		"$STOOK" report -q -g none --format json "$file"
	done | awk '/"duration":/ { sum += substr($0, index($0, "\"duration\":") + 11) } END { printf "%.0f\n", sum * 1e6 }')
	check "debuginfod: the files are as long as the run ($length_us us of $(stat_of sampled_us)), joined or not" \
		about "$length_us" $(($(stat_of sampled_us) * 98 / 100)) $(($(stat_of sampled_us) * 102 / 100))
	cat "$T"/each.*.folded >"$T/all"
	check "debuginfod: the law holds" law_holds "$T/stats" "$T/all"
	check_in_time "debuginfod: "
	check "debuginfod: the run ends in time" about "$WALL_MS" 6000 11500
	stop "$nameless"
	if [ "${COMPILE:-}" ]; then
		start env -u DEBUGINFOD_URLS make -C "$ROOT" -j2 B="$T/build" CC=clang all
		in_intervals -d 40 -i 2 --lines
		check_equal "compile: twenty intervals" "$(stat_of intervals)" 20
		check "compile: nothing is lost" test "$(stat_of lost)" -eq 0
		cat "$T"/each.*.folded >"$T/all"
		check "compile: clang's functions are seen" test "$(sum_matching '^clang' "$T/all")" -ge 1000
		check "compile: the law holds" law_holds "$T/stats" "$T/all"
		check_in_time "compile: "
	fi
	unset DEBUGINFOD_URLS
fi

# --- times, and formats for other programs ----------------------------------------------------------------

profile -F 499 -i 0.4 -d 1 -p "$spin" -o "$T/timed.pb.gz"
check "the last interval has its own length" python3 -c 'import json, sys
sys.exit(not 0.1 < json.loads(sys.argv[1])["duration"] < 0.35)' \
	"$("$STOOK" report -q -g none --format json "$T/timed.3.pb.gz")"
"$STOOK" profile -q --format json -F 499 -i 0.3 -d 1 -p "$spin" >"$T/each.json" 2>"$T/err"
check "JSON of intervals can be read" python3 -c 'import json, sys
text, nr, decoder = open(sys.argv[1]).read().strip(), 0, json.JSONDecoder()
while text:
	text, nr = text[decoder.raw_decode(text)[1]:].strip(), nr + 1
sys.exit(nr < 3)' "$T/each.json"

# --- failures to write -------------------------------------------------------------------------------------

begin=$(now_ms)
timeout 20 "$STOOK" profile -q -f -F 99 -i 0.3 -p "$spin" 2>"$T/err" | head -n 1 >"$T/first"
took=$(($(now_ms) - begin))
check "a closed pipe ends the run ($took ms)" test -s "$T/first" -a "$took" -lt 3000
check "a closed pipe is no failure" test ! -s "$T/err"

begin=$(now_ms)
timeout 20 "$STOOK" profile -q -f -F 99 -i 0.3 -p "$spin" >/dev/full 2>"$T/err"
status=$?
took=$(($(now_ms) - begin))
check "a full disk ends the run ($took ms)" test $status -eq 1 -a "$took" -lt 3000
check_equal "a full disk is reported once" "$(wc -l <"$T/err")" 1

