#!/usr/bin/env bash
# stook funccount as a command: its output on stdout and stderr, the ways in which a run ends, exit statuses, and
# error messages. counts.sh tests that the counts are right.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

SPIN=$T/spin # a file that no other test executes
cp "$PROGRAMS/spin" "$SPIN"
QUIET_SPIN=(sh -c "exec $SPIN \$0 >/dev/null") # keeps its first line out of our table

# funccount ARG…: runs it with a timeout and leaves $T/out, $T/err, $STATUS and $WALL_MS.
funccount() {
	local begin
	begin=$(now_ms)
	timeout -k 5 "${LIMIT:-60}" "$STOOK" funccount "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
	WALL_MS=$(($(now_ms) - begin))
	return $STATUS
}

says() { grep -qE -- "$1" "$T/err"; }
prints() { grep -qE -- "$1" "$T/out"; }

# Prints the count of a function in the tables on stdout, summed up over all intervals; 0 if it is missing.
count_of() { awk -v name="$1" '$1 == name { n += $2 } END { print n + 0 }' "${2:-$T/out}"; }

# refused NAME STATUS WORDS ARG…: must fail with STATUS, a message matching WORDS, and an empty stdout.
refused() {
	local name=$1 status=$2 words=$3
	shift 3
	LIMIT=20 funccount "$@"
	if [ "$STATUS" -ne "$status" ]; then
		fail "$name" "status $STATUS, want $status: $(head -n 2 "$T/err" | tr '\n' ' ')"
	elif ! says "$words"; then
		fail "$name" "'$words' is not in: $(head -n 3 "$T/err" | tr '\n' ' ')"
	elif [ -s "$T/out" ]; then
		fail "$name" "it prints '$(head -n 1 "$T/out")'"
	else
		pass "$name"
	fi
}

# --- usage: status 2, and the value in the message --------------------------------------------------

refused "no pattern" 2 'no pattern' -d 1
refused "two durations" 2 "more than one duration: '2'" 1 x 2
refused "bad budget" 2 "'much' for --budget" x --budget much
refused "bad order" 2 "'size' for --sort" x --sort size
refused "bad top" 2 "'0' for --top" x --top 0
refused "bad feature" 2 "'magic' for --without" x --without magic
refused "bad number of probes" 2 "'-1' for --max-probes" x --max-probes -1
refused "bad pid" 2 "'zwei' for --pid" x -p zwei
refused "two formats" 2 'json.*csv' x --json --csv
refused "unknown extension" 2 "'a.xml'" x -o a.xml
refused "unknown option" 2 'no-such-option' x --no-such-option
refused "-- without a command" 125 "no command after '--'" x --
refused "usage with a command" 125 "'0' for --top" x --top 0 -- true
"$STOOK" funccount --help >"$T/out" 2>"$T/err"
check_equal "--help: status 0" $? 0
check "--help: on stdout" prints '--no-follow'

# --- missing or not permitted: status 1 -------------------------------------------------------------

refused "bad pattern, with its place" 2 "bad pattern .*spin:\(a" "$SPIN:(a"
refused "nothing matched" 1 'spin_iner' "$SPIN:spin_iner"
check "nothing matched: the closest name" says 'hint.*spin_inner'
refused "no such program" 1 'no-such-program' no-such-program:main
refused "no such pid" 1 'no such process: 4194000' "$SPIN:main" -p 4194000
refused "no such tid" 1 'no such thread: 4194000' "$SPIN:main" -t 4194000
refused "no such cgroup" 1 '/no/such/cgroup' "$SPIN:main" --cgroup /no/such/cgroup
refused "more than --max-probes" 1 'max-probes' 'c:*' --max-probes 10
refused "output in no folder, found before the run" 1 '/no/such/folder' \
	"$SPIN:main" -o /no/such/folder/a.csv
refused "no such command" 127 'no-such-command' "$SPIN:spin_inner" -- no-such-command
refused "no program" 126 'etc' "$SPIN:spin_inner" -- /etc/passwd
refused "our failure with a command" 125 'spin_iner' "$SPIN:spin_iner" -- true

cp "$STOOK" "$T/stook" && chmod 755 "$T/stook"
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$T/stook" "$@"; }
as_nobody funccount c:malloc -d 1 >"$T/out" 2>"$T/err"
check_equal "without root: status 1" $? 1
check "without root: names the capability" says 'CAP_BPF'
as_nobody funccount --list c:malloc >"$T/out" 2>"$T/err"
check_equal "without root: --list works" $? 0
check "without root: --list prints" prints '^malloc'

# --- the list -----------------------------------------------------------------------------------------

funccount --list "$SPIN:spin_*"
check_equal "--list: status 0" "$STATUS" 0
check_equal "--list: names and places" "$(cut -f 1 "$T/out" | sort | tr '\n' ' ')" \
	"spin_inner spin_outer spin_thread "
# readelf gives the expected place: the symbol's address minus that of its segment, in the file.
place=$(readelf -sW "$SPIN" | awk '$8 == "spin_inner" { print $2 }')
segment=$(readelf -lW "$SPIN" | awk '$1 == "LOAD" && /R E/ { print $2, $3 }')
wanted=$(printf '%s+0x%x' "$(readlink -f "$SPIN")" $((0x$place - ${segment#* } + ${segment% *})))
check_equal "--list: file and offset" "$(awk '$1 == "spin_inner" { print $2 }' "$T/out")" "$wanted"
# The same as a table, in the formats of tables, by two commands.
fields() { # fields NAME: the row of a probe in the JSON in $T/out: file, offset, kind
	python3 -c '
import json, sys
for row in json.load(open(sys.argv[1]))["probes"]:
    if row["name"] == sys.argv[2]:
        print("%s+%s %s %s" % (row["file"], hex(row["offset"]), row["kind"], row["refusal"]))' "$T/out" "$1"
}
funccount --list --json "$SPIN:spin_*"
check_equal "--list --json: file, offset, kind" "$(fields spin_inner)" "$wanted function None"
cp "$T/out" "$T/list.json"
"$STOOK" list --json "$SPIN:spin_*" >"$T/out" 2>"$T/err"
check_equal "stook list: status 0" $? 0
check "stook list PROGRAM:FUNCTION: the same" cmp -s "$T/out" "$T/list.json"
"$STOOK" list --csv "$SPIN:spin_i*" >"$T/out" 2>"$T/err"
check_equal "stook list --csv" "$(tr -d '\r' <"$T/out" | sed 's/^"spin_inner","function","[^"]*",[0-9]*,.*/spin_inner/')" \
	'name,kind,file,offset,address,refusal
spin_inner'
"$STOOK" list -o "$T/list.md" "$SPIN:spin_i*" >"$T/out" 2>"$T/err"
check "stook list -o" grep -q 'spin_inner.*0x' "$T/list.md"
"$STOOK" list 'sched:sched_process_e*' >"$T/out" 2>"$T/err"
check "stook list: a tracepoint is an event" prints 'sched_process_exec  *tracepoint'
"$STOOK" list 't:sched:sched_process_e*' >"$T/out" 2>"$T/err"
check "stook list: t: makes it a probe" prints '^t:sched:sched_process_exec  *tracepoint|^sched:sched_process_exec  *tracepoint'
"$STOOK" list cpu-clock "$SPIN:spin_i*" >"$T/out" 2>"$T/err"
check_equal "stook list: events and functions: status 1" $? 1
check "stook list: events and functions: told" says "list them one after the other"
"$STOOK" list "$SPIN:nothing" >"$T/out" 2>"$T/err"
check_equal "stook list: no such function: status 1" $? 1
funccount --list 't:sched:sched_process_e*'
check "--list: tracepoints" prints 'sched_process_exec'

funccount --list "uprobe:$SPIN:spin_inner" "uretprobe:$SPIN:spin_inner"
check_equal "--list: bpftrace's prefixes" "$(cut -f 1 "$T/out" | sort | tr '\n' ' ')" \
	"r:spin_inner spin_inner "
funccount --list -r "$SPIN:^spin_i"
check_equal "--list -r: from the start of a name, as bcc" "$(cut -f 1 "$T/out")" spin_inner
funccount --list sched:sched_switch
check_equal "--list: a tracepoint as perf has it" "$(cut -f 1 "$T/out")" sched:sched_switch
check "--list: reports that it is taken for a tracepoint" says "is interpreted as t:sched:sched_switch"
if funccount vfs_read -d 0.1; then
	skip "kernel functions on a kernel without kprobes: names tracepoints" "such a kernel"
else
	check "kernel functions on a kernel without kprobes: names tracepoints" \
		says "hint.*t:syscalls:sys_enter_read"
fi

# --- the table ----------------------------------------------------------------------------------------

funccount "$SPIN:spin_*" -- "${QUIET_SPIN[@]}" 0.3
check_equal "a command: its status" "$STATUS" 0
check_equal "the table: an empty line first" "$(sed -n 1p "$T/out")" ""
check_equal "the table: bcc's head" "$(sed -n 2p "$T/out")" \
	"FUNC                                    COUNT"
check "the table: bcc's rows" prints '^spin_inner {26} {1,8}[0-9]+$'
check_equal "the table: ascending, without functions that were not called" \
	"$(tail -n +3 "$T/out" | sed '/^[0-9]*$/d' | awk '{ print $1 }' | tr '\n' ' ')" \
	"spin_outer spin_inner "
check_equal "a command: from its first call" "$(count_of spin_outer)" 1
check "Tracing: on stderr, with bcc's words" says \
	'^Tracing 3 functions for ".*spin:spin_\*"\.\.\. Hit Ctrl-C to end\.$'
check "Detaching: on stderr" says '^Detaching\.\.\.$'
funccount -q "$SPIN:spin_*" -- "${QUIET_SPIN[@]}" 0.1
check_equal "-q: nothing on stderr" "$(cat "$T/err")" ""
funccount "$SPIN:spin_inner" -- sh -c "$SPIN 0.1 >/dev/null; exit 7"
check_equal "a command's children are followed, its status is ours" "$STATUS" 7
check "a command's children are counted" test "$(count_of spin_inner)" -ge 1
funccount --no-follow "$SPIN:spin_inner" -- sh -c "$SPIN 0.1 >/dev/null; exit 7"
check_equal "--no-follow: children are not counted" "$(count_of spin_inner)" 0
# shellcheck disable=SC2016
funccount "$SPIN:spin_inner" -- sh -c 'kill -9 $$'
check_equal "a command's signal" "$STATUS" 137

start "$SPIN" 60 2
spin=$PID
funccount "$SPIN:spin_*" -p "$spin" -d 0.5
check_equal "a duration: status 0" "$STATUS" 0
check "a duration: is kept" test "$WALL_MS" -ge 500 -a "$WALL_MS" -le 3000
check "a duration: counts" test "$(count_of spin_inner)" -ge 10
funccount "$SPIN:spin_*" -p "$spin" 0.5
check "a bare number is a duration" test "$STATUS" -eq 0 -a "$(count_of spin_inner)" -ge 10
funccount "$SPIN:spin_*" -p 1 -d 0.3
check_equal "another pid: nothing" "$(count_of spin_inner)" 0
funccount -t "$spin" "$SPIN:spin_inner" -d 0.3
check_equal "a thread that waits: nothing" "$(count_of spin_inner)" 0
thread=$(find "/proc/$spin/task" -maxdepth 1 -name '[0-9]*' -printf '%f\n' | sort -n | tail -n 1)
funccount -t "$thread" "$SPIN:spin_inner" -d 0.3
check "a thread that spins: counts" test "$(count_of spin_inner)" -ge 5

funccount -T -i 0.5 -d 1.7 "$SPIN:spin_inner" -p "$spin"
check_equal "intervals: as many tables as there is time for" "$(grep -c '^FUNC' "$T/out")" 4
check_equal "-T: a time above each" "$(grep -cE '^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]$' "$T/out")" 4
check_equal "-T: the time is between the empty line and the head" \
	"$(head -n 3 "$T/out" | sed -E 's/^[0-9:]{8}$/TIME/; s/^FUNC.*/HEAD/' | tr '\n' ' ')" \
	" TIME HEAD "
funccount --top 1 "$SPIN:spin_*" -d 0.3
check_equal "--top 1: one row" "$(tail -n +3 "$T/out" | grep -c .)" 1
check "--top 1: the most called" prints '^spin_inner '
funccount --rate "$SPIN:spin_inner" -d 0.5 -p "$spin"
check "--rate: a column" prints '^FUNC +COUNT +PER SECOND$'
rate=$(awk '$1 == "spin_inner" && $3 > 1.2 * $2 && $3 < 2.2 * $2' "$T/out")
check "--rate: is count by time" test -n "$rate"

# --- JSON, CSV, files -----------------------------------------------------------------------------------

funccount --json -i 0.5 -d 1.2 "$SPIN:spin_*" -p "$spin"
if command -v python3 >/dev/null; then
	check_equal "--json: one object per line, with the documented members" "$(python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
functions = [f for line in lines for f in line["functions"]]
assert len(lines) == 3
assert all(set(line) == {"time", "seconds", "missed", "functions"} for line in lines)
assert all(f["name"] == "spin_inner" and f["count"] > 0 and f["state"] == "counted" and
	f["kind"] == "function" and f["file"].endswith("/spin") for f in functions)
print(len(functions))' "$T/out" 2>&1 | tail -n 1)" 3
	funccount --csv -i 0.5 -d 1.2 "$SPIN:spin_*" -p "$spin"
	check_equal "--csv: a head and a line for each function and interval" "$(python3 -c '
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert all(row["name"] == "spin_inner" and int(row["count"]) > 0 for row in rows)
assert all(0.1 < float(row["seconds"]) < 0.7 for row in rows)
print(len(rows))' "$T/out" 2>&1 | tail -n 1)" 3
else
	skip "--json and --csv" "python3"
fi
funccount -o "$T/a.csv" "$SPIN:spin_*" -d 0.3
check_equal "-o: stdout stays empty" "$(cat "$T/out")" ""
check_equal "-o FILE.csv: has a head" "$(head -n 1 "$T/a.csv" | cut -d, -f 1-3)" "time,seconds,name"
funccount -o "$T/a.txt" --json "$SPIN:spin_*" -d 0.3
check "-o FILE.txt: a table" grep -q '^FUNC' "$T/a.txt"
check "-o with --json: stdout has the JSON" prints '^\{"time"'
funccount -o "$T/a.md" --format csv "$SPIN:spin_*" -d 0.3
check "-o FILE.md: a Markdown table" grep -q '^| func' "$T/a.md"
check_equal "-o with --format csv: stdout has the CSV" "$(head -n 1 "$T/out" | cut -d, -f 1-3)" \
	"time,seconds,name"
check_equal "CSV: all lines end in CRLF" "$(grep -c $'\r$' "$T/out")" "$(wc -l <"$T/out")"
timeout 20 "$STOOK" funccount -q -d 0.3 "$SPIN:spin_*" >/dev/full 2>"$T/err"
check_equal "/dev/full: status 1" $? 1
check "/dev/full: error message" says 'space|full'
timeout 20 "$STOOK" funccount -i 0.1 -d 3 "$SPIN:spin_*" 2>"$T/err" | head -n 2 >"$T/out"
check "a reader that closes the pipe: no error message" eval '! says "write|pipe"'

# --- ends -----------------------------------------------------------------------------------------------

# Starts it in the background and waits until it counts; its pid is in $run. SIGHUP is reset, since nohup around
# the tests would leave it ignored.
start_counting() {
	: >"$T/err"
	env --default-signal=HUP "$STOOK" funccount -d 40 "$@" >"$T/out" 2>"$T/err" </dev/null &
	run=$!
	STARTED+=("$run")
	wait_until 10 says '^Tracing'
	sleep 0.5
}

for signal in INT TERM HUP; do
	start_counting "$SPIN:spin_*" -p "$spin"
	kill -$signal "$run"
	begin=$(now_ms)
	wait "$run"
	check_equal "SIG$signal: status 0" $? 0
	check "SIG$signal: ends soon" test $(($(now_ms) - begin)) -le 2000
	check "SIG$signal: prints the counts" test "$(count_of spin_inner)" -ge 10
done

# The run ends when its child exits: the intervals add up to the total.
start_counting -i 0.3 "$SPIN:spin_*" -p "$spin"
stop "$spin"
wait "$run"
check_equal "the target exits: status 0" $? 0
check "the target exits: reported" says 'all targets have exited'
check "the target exits: the last interval is printed" test "$(count_of spin_inner)" -ge 10

funccount -i 0.2 --json "$SPIN:spin_outer" -- sh -c "for i in 1 2 3 4 5; do $SPIN 0.1 >/dev/null; done"
check_equal "intervals sum up to the total" \
	"$(grep -o '"count": [0-9]*' "$T/out" | awk '{ n += $2 } END { print n }')" 5

start_counting "$SPIN:spin_*" -- "$SPIN" 30
child=$(head -n 1 "$T/out")
kill -TERM "$run"
wait "$run"
gone() { ! kill -0 "$1" 2>/dev/null; }
check "SIGTERM with -- CMD: the command ends too" wait_until 2 gone "${child:-1}"
check "SIGTERM with -- CMD: the counts are printed" test "$(count_of spin_inner)" -ge 5

# --- overhead limit -------------------------------------------------------------------------------------

start "$SPIN" 60
spin=$PID
funccount "$SPIN:spin_inner" -p "$spin" -d 0.3
check "a file that no other process executes: no message about others or a budget" \
	eval '! says "slowed down|budget"'
start "$SPIN" 60
other=$PID
funccount "$SPIN:spin_inner" -p "$spin" -d 0.3
check "other processes that run the same file: hint that they are not counted" says 'children are not counted; --follow adds them \(slows down every process that uses spin\)'
check "-p: no budget" eval '! says "budget"'
funccount --follow "$SPIN:spin_inner" -p "$spin" -d 0.3
check "--follow: warns that other processes are slowed down" says 'every process that calls these functions of spin pays'
check "--follow: counts the one process" test "$(count_of spin_inner)" -ge 1
funccount "$SPIN:spin_inner" --budget off -d 0.3
check "--budget off: no message about a budget" eval '! says "--budget"'
funccount --no-follow "$SPIN:spin_inner" -p "$spin" -d 0.5
check "--no-follow: counts the one process" test "$(count_of spin_inner)" -ge 5
funccount "$SPIN:spin_inner" -d 0.3
check "all processes: the budget is reported" says '3 %.*budget off'
for feature in uprobe_multi uprobe_pid; do
	funccount --without $feature "$SPIN:spin_inner" -p "$spin" -d 0.5
	check "--without $feature: counts too" test "$(count_of spin_inner)" -ge 5
done
stop "$spin" "$other"
