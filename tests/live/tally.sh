#!/usr/bin/env bash
# Ground truth for tally: programs/tally_calls.c calls known functions known numbers of times with known arguments:
# in threads and in a forked child, recursively, left by longjmp and by the end of a thread. Rows must be exactly
# as expected, and every hit must be counted in exactly one place:
#
#   entries = calls + excluded + tallied + lost_*,   calls = returns + abandoned + open
#
# Each of THREADS (4) threads calls the main function N (10000) times.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

N=${N:-10000}
THREADS=${THREADS:-4}
CALLS=$PROGRAMS/tally_calls
TAKES=$(((THREADS + 1) * N)) # the child calls too
TURNS=$((N / 100))
DEPTH=10 # as in the program

# --- running and reading ---------------------------------------------------------------------------

# tally ARG…: runs the program once. Leaves rows in $T/out.csv, the accounting in $T/json.
tally() {
	rm -f "$T/out.csv" "$T/json"
	timeout -k 5 "${LIMIT:-60}" "$STOOK" tally --budget off -o "$T/out.csv" --json "$@" \
		-- "$CALLS" "$THREADS" "$N" >"$T/json" 2>"$T/err" </dev/null
	STATUS=$?
}

# rows: prints the rows of $T/out.csv, sorted, without the time column and the heading.
rows() { tr -d '\r' <"$T/out.csv" | sed -e 1d -e 's/^[^,]*,//' -e 's/"//g' | sort; }

# figure NAME: prints one of the counters in $T/json.
figure() { grep -o "\"$1\": [0-9]*" "$T/json" | head -n 1 | sed 's/.*: //'; }

lost() { grep -o '"lost_[a-z_]*": [0-9]*' "$T/json" | awk '{ n += $2 } END { print n + 0 }'; }

# check_law NAME: checks that the counters of hits add up to the number of hits.
check_law() {
	local entries calls parts
	entries=$(figure entries)
	calls=$(figure calls)
	parts=$((calls + $(figure excluded) + $(figure tallied) + $(lost)))
	check_equal "$1: entries are the sum of their parts" "$parts" "${entries:-none}"
	[ "${entries:-0}" -gt 0 ] || fail "$1" "no entries"
}

# check_rows NAME WANTED…: the rows are exactly these, and no hits were lost.
check_rows() {
	local name=$1
	shift
	check_equal "$name" "$(rows)" "$(printf '%s\n' "$@" | sort)"
	check_equal "$name: status" "$STATUS" 0
	check_equal "$name: nothing is lost" "$(lost)" 0
	check_law "$name"
}

# series FIRST STEP NR: prints count,sum,min,max,avg of FIRST, FIRST + STEP, …, times THREADS + 1
series() {
	awk -v first="$1" -v step="$2" -v nr="$3" -v times="$((THREADS + 1))" 'BEGIN {
		last = first + step * (nr - 1)
		least = step < 0 ? last : first
		most = step < 0 ? first : last
		printf "%d,%d,%d,%d,%.3f", nr * times, (first + last) / 2 * nr * times, least, most,
			(first + last) / 2 }'
}

# --- arguments -------------------------------------------------------------------------------------

tally "$CALLS:take" --value '(int)arg1'
check_rows "arguments are summed up" "take,$(series 0 1 "$N")"

tally "$CALLS:take" --value arg2 --by 'func,str(arg3)'
check_rows "texts are keys, values may be negative" \
	"take,even,$(series -10 6 $((N / 2)))" "take,odd one,$(series -7 6 $((N / 2)))"

tally "$CALLS:take" --by '(int)arg1 & 3'
check_rows "an expression is a key" "0,$((TAKES / 4))" "1,$((TAKES / 4))" "2,$((TAKES / 4))" \
	"3,$((TAKES / 4))"

tally "$CALLS:take" --by 'hex((int)arg1 & 1),comm'
check_rows "numbers in hexadecimal, and the thread's name" "0x0,tally_calls,$((TAKES / 2))" \
	"0x1,tally_calls,$((TAKES / 2))"

tally "$CALLS:take" --by tid
check_equal "each thread has a row" "$(rows | sed 's/^[^,]*,//' | sort -u)" "$N"
check_equal "… and the number of rows is right" "$(rows | wc -l)" "$((THREADS + 1))"

# --- filters ---------------------------------------------------------------------------------------

tally "$CALLS:take" --value arg2 --by func \
	--where 'str(arg3) == "odd one" && arg2 > 0 && (comm == "tally_calls" || pid == 1)'
# i = 1 and 3 have -7 and -1
first=$((5 * 3 - 10))
check_rows "a filter over numbers and texts" "take,$(series $first 6 $((N / 2 - 2)))"
check_equal "… and the others are counted" "$(figure excluded)" $((TAKES - (N / 2 - 2) * (THREADS + 1)))

tally "$CALLS:take" --where 'comm != "tally_calls"'
check_equal "a filter without matches: no rows" "$(rows)" ""
check_equal "… all are excluded" "$(figure excluded)" "$TAKES"

tally "$CALLS:take" --where 'str(arg1) == "x"' # arg1 is a small number, no address
check_equal "unreadable text: the comparison is unknown" "$(figure lost_unreadable)" "$TAKES"
check_law "unreadable text"
tally "$CALLS:take" --where 'arg2 < -100 && str(arg1) == "x"'
check_equal "… unless the other side of && is false" "$(figure excluded)" "$TAKES"
tally "$CALLS:take" --by 'str(arg1)'
check_equal "a key that can't be read has a row" "$(rows)" ",$TAKES"

# --- returns, and calls paired with them ---------------------------------------------------------

tally "$CALLS:take" --value retval --where 'retval < 0'
check_rows "return values" "take,$(series -1 -2 $((N / 2)))"

tally "$CALLS:take" --value retval --by 'func,str(arg3)' --where 'arg2 > 100000000 || arg2 < 100'
least=$(((100 + 10 + 2) / 3)) # calls with arg2 < 100
check_rows "arguments of the call, with the result" \
	"take,even,$(series 0 2 $(((least + 1) / 2)))" "take,odd one,$(series -1 -2 $((least / 2)))"
check_equal "… all calls returned" "$(figure returns)" "$TAKES"

wanted=()
for level in $(seq $DEPTH); do
	wanted+=("$level,$TURNS,$((TURNS * level)),$level,$level,$level.000")
done
tally "$CALLS:deep" --value retval --by '(int)arg1'
check_rows "recursion: each return belongs to its call" "${wanted[@]}"

tally "$CALLS:leave" --value '(int)retval' --by '(int)arg1,(int)arg2'
check_rows "longjmp: only calls that return are paired" "1,0,$TURNS,$TURNS,1,1,1.000"
check_equal "… and the others are counted as abandoned" "$(figure abandoned)" $((TURNS * DEPTH))

tally "$CALLS:hop" --value retval --by arg1
wanted=()
for left in $(seq $DEPTH); do wanted+=("$left,$TURNS,0,0,0,0.000"); done
check_rows "jumps to a function's own start: calls with the same frame" "${wanted[@]}"
check_equal "… none is counted as abandoned" "$(figure abandoned)" 0

tally "$CALLS:quit" --value latency
check_equal "a function that never returns has no row" "$(rows)" ""
check_equal "… but its call is counted" "$(figure calls)" 1

tally "$CALLS:(take|deep|leave|hop|quit)" --value latency --by func
check_equal "all functions in one run" "$(rows | cut -d, -f1,2)" \
	"$(printf '%s\n' "deep,$((TURNS * DEPTH))" "hop,$((TURNS * DEPTH))" "leave,$TURNS" "take,$TAKES")"
check_law "all functions in one run"
check_equal "… calls have returned, are abandoned, or are still open" \
	"$(($(figure calls) - $(figure returns) - $(figure abandoned) <= 1))" 1

# --- histograms --------------------------------------------------------------------------------------

tally "$CALLS:take" --value arg2 --linear "0,$((N * 3)),$((N * 3))" --by func
below=$(((10 + 2) / 3)) # i * 3 < 10
check_equal "a linear histogram" "$(rows | cut -d, -f1,7-)" "$(
	printf 'take,%s\n' "-9223372036854775808,-1,$((below * (THREADS + 1)))" \
		"0,$((N * 3 - 1)),$(((N - below) * (THREADS + 1)))")"

tally "$CALLS:take" --value '(int)arg1' --hist --by func
check_equal "a histogram by powers of two has all hits" \
	"$(rows | awk -F, '{ n += $NF } END { print n }')" "$TAKES"
check_equal "… each in its bucket" "$(rows | grep ',64,127,')" \
	"take,$(series 0 1 "$N"),64,127,$((64 * (THREADS + 1)))"

# --- limits ------------------------------------------------------------------------------------------

tally "$CALLS:take" --by '(int)arg1' --max-rows 100
check_law "more keys than rows"
check_equal "more keys than rows: as many rows as the limit" "$(rows | wc -l)" 100
check_equal "… and the other hits are counted in lost_full" "$(figure lost_full)" $((TAKES - 100 * (THREADS + 1)))

tally "$CALLS:deep" --value latency --max-calls 3
check_law "more open calls than the limit"
check_equal "more open calls than the limit: counted in lost_calls_full" \
	"$(figure lost_calls_full)" $((TURNS * (DEPTH - 3)))

# --- tracepoints and static probes -------------------------------------------------------------------

timeout 20 "$STOOK" tally t:sched:sched_process_exec --by 'pid, args.filename' --csv \
	-- /bin/true >"$T/out" 2>"$T/err" </dev/null
check "a tracepoint's text field" grep -q '"/bin/true",1' "$T/out"
timeout 20 "$STOOK" tally t:syscalls:sys_enter_openat --by 'str(args.filename)' --csv \
	-- ls /nowhere/at-all >"$T/out" 2>"$T/err" </dev/null
check "a text of the process" grep -q 'ld.so.cache",1' "$T/out"

# static_rows ARG…: the rows of a run of the program with a static probe.
static_rows() {
	rm -f "$T/out.csv"
	timeout -k 5 60 "$STOOK" tally -o "$T/out.csv" "u:$SPECIAL/tally_static:tally:hit" "$@" \
		-- "$SPECIAL/tally_static" 1000 2>"$T/err" </dev/null
	rows
}

for level in 0 2; do
	rm -f "$SPECIAL/tally_static"
	build tally_static special/tally_static.c "${CC:-cc}" "-O$level" || continue
	check_equal "a static probe's arguments, built with -O$level" \
		"$(static_rows --value arg1 --by 'arg4, str(arg5)')" \
		"$(printf '42,even,500,249500,0,998,499.000\n42,odd,500,250000,1,999,500.000')"
	check_equal "… smaller ones with a sign" "$(static_rows --value arg2 --by func)" \
		"tally:hit,1000,-499500,-999,0,-499.500"
	check_equal "… and without" "$(static_rows --value arg3 --by 'arg3 == (u16)(arg1 * 1000)' |
		cut -d, -f1,2)" "1,1000"
done

# A full disk is reported once, and ends the run.
timeout 20 "$STOOK" tally "$CALLS:take" -i 0.2 -d 5 >/dev/full 2>"$T/err" </dev/null
check_equal "a full disk: status 1" $? 1
check_equal "the error is printed once" "$(grep -c 'cannot write to standard output' "$T/err")" 1

# --- mistakes ----------------------------------------------------------------------------------------

# refused NAME STATUS WANTED ARG…: must exit with STATUS, and print only a message matching WANTED.
refused() {
	local name=$1 status=$2 words=$3
	shift 3
	timeout 20 "$STOOK" tally "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
	if [ $STATUS -ne "$status" ]; then
		fail "$name" "status $STATUS, want $status: $(head -n 2 "$T/err" | tr '\n' ' ')"
	elif ! head -n 1 "$T/err" | grep -qF -- "$words"; then
		fail "$name" "'$words' is not in: $(head -n 2 "$T/err" | tr '\n' ' ')"
	else
		pass "$name"
	fi
}
refused "no pattern" 2 "no pattern given"
refused "a bad pattern" 2 "bad pattern" "$CALLS:(a"
refused "a bad expression" 2 "bad expression 'arg1 >'" "$CALLS:take" --where 'arg1 >'
refused "a bad expression behind a text field" 2 "expected (column 25)" t:sched:sched_switch \
	--where 'args.next_comm == "x" ||'
refused "a bad histogram" 2 "bad value '1,2'" "$CALLS:take" --value arg1 --linear 1,2
refused "a field that is not there" 1 "has no field 'nothing'" t:sched:sched_switch --by args.nothing
refused "an argument of a tracepoint" 1 "it has fields" t:sched:sched_switch --by arg1
refused "the return of a tracepoint" 1 "does not return" t:sched:sched_switch --value latency
refused "a field of a function" 1 "not a tracepoint" "$CALLS:take" --value args.x
refused "a seventh argument" 1 "no arg7" "$CALLS:take" --value arg7
refused "a histogram of nothing" 2 "--value is missing" "$CALLS:take" --hist
refused "stacks" 2 "cannot use stacks as keys" "$CALLS:take" --by stack
