#!/usr/bin/env bash
# Functions shared by the live tests. Each test sources this file, from any directory:
#
#   . "$(dirname "$0")/lib.sh"
#
# A test prints one line per check: `PASS name`, `FAIL name: details`, `SKIP name: REQUIREMENT`. All other output
# goes to stderr. $T is the test's own directory. At the end of the test it is removed, and all processes started
# with `start` are killed.
# shellcheck shell=bash disable=SC2034

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
ROOT=$PWD
STOOK=${STOOK:-$ROOT/build/stook}
PROGRAMS=$ROOT/build/tests/live/programs
TEST=$(basename "$0" .sh)
T=$(mktemp -d "${TMPDIR:-/tmp}/stook-test.XXXXXX") || exit 1
chmod 755 "$T"
STARTED=()

# Counts must not depend on other load. Between sessions, priorities of autogroups count, if the kernel has them;
# the session must belong to this test alone. With -15, a few busy loops kept RCU's thread and other kernel
# threads from running for a minute (Linux 6.18).
if [ "$(id -u)" -eq 0 ]; then
	renice -n -5 -p $$ >/dev/null
	[ "$(cut -d ' ' -f 6 /proc/$$/stat)" -ne $$ ] || echo -5 2>/dev/null >/proc/$$/autogroup
fi

cleanup() {
	local pid
	for pid in "${STARTED[@]}"; do
		kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	rm -rf --one-file-system "$T"
}
trap cleanup EXIT

pass() { echo "PASS $TEST: $1"; }
fail() { echo "FAIL $TEST: $1${2:+: $2}"; }
skip() { echo "SKIP $TEST: $1: needs $2"; }
note() { echo "$*" >&2; }

# check NAME COMMAND…: passes if the command succeeds; a failure prints stook's last messages.
check() {
	local name=$1
	shift
	if "$@"; then
		pass "$name"
	else
		fail "$name" "[$*] $(tail -n 3 "$T/err" 2>/dev/null | tr '\n' ' ' | cut -c 1-300)"
	fi
}

# check_equal NAME GOT WANTED
check_equal() {
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got '$2', want '$3'"; fi
}

# Skips the whole test if it cannot run here.
need_live() {
	if [ "$(id -u)" -ne 0 ]; then
		skip "all" "root"
		exit 0
	fi
	if [ ! -r /sys/kernel/btf/vmlinux ]; then
		skip "all" "a kernel with BTF (/sys/kernel/btf/vmlinux)"
		exit 0
	fi
	if [ ! -x "$STOOK" ] || [ ! -x "$PROGRAMS/spin" ]; then
		fail "all" "$STOOK and $PROGRAMS must be built: make all programs"
		exit 1
	fi
}

# profile ARG…: runs `stook profile`, and leaves $T/out, $T/err, $T/stats, $STATUS and $WALL_MS. Kills a run
# that takes longer than LIMIT (60) seconds; STATUS is then 124 or 137.
profile() {
	local begin
	rm -f "$T/stats"
	begin=$(now_ms)
	timeout -k 5 "${LIMIT:-60}" "$STOOK" profile --stats "$T/stats" "$@" \
		>"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
	WALL_MS=$(($(now_ms) - begin))
	[ "$WALL_MS" -lt 15000 ] || note "after $WALL_MS ms: stook profile $*"
	return $STATUS
}

# profile_for TICKS PID ARG…: as profile, until the process has used so much CPU time, in ticks of 10 ms.
profile_for() {
	local ticks=$1 pid=$2 begin run
	shift 2
	rm -f "$T/stats"
	begin=$(now_ms)
	"$STOOK" profile --stats "$T/stats" "$@" >"$T/out" 2>"$T/err" </dev/null &
	run=$!
	STARTED+=("$run")
	wait_until 20 has_dropped_rights "$run"
	let_run "$pid" "$ticks"
	kill -INT "$run"
	wait_until "${LIMIT:-60}" has_ended "$run" || kill -KILL "$run"
	wait "$run"
	STATUS=$?
	WALL_MS=$(($(now_ms) - begin))
	return $STATUS
}
# A run gives up all rights that it needs no more as soon as it samples.
has_dropped_rights() { [ "$(grep CapEff "/proc/$1/status")" != "$(grep CapEff /proc/self/status)" ]; } 2>/dev/null
has_ended() { ! kill -0 "$1" 2>/dev/null; }

# cpu_ticks PID: prints the CPU time that a process has used, in ticks of 10 ms.
cpu_ticks() { sed "s/.*) //" "/proc/$1/stat" | awk "{ print \$12 + \$13 }"; }

# let_run PID TICKS: waits until the process has used that much more CPU time, however busy the machine is.
let_run() { wait_until 20 has_run "$1" $(($(cpu_ticks "$1") + $2)); }
has_run() { [ "$(cpu_ticks "$1")" -ge "$2" ]; } 2>/dev/null

now_ms() { date +%s%3N; }

# start COMMAND…: in the background; its pid is in $PID, its output in $T/started. That file is new for each
# command, so that output of an earlier one is never mistaken for its output.
start() {
	rm -f "$T/started"
	: >"$T/started"
	"$@" >"$T/started" 2>&1 </dev/null &
	PID=$!
	STARTED+=("$PID")
}

# stop PID…: ends started processes, and waits for them.
stop() {
	kill -TERM "$@" 2>/dev/null
	wait "$@" 2>/dev/null
	return 0 # ignores their exit statuses
}

# samples PID: true once its perf events are open, some milliseconds before it samples.
samples() { readlink "/proc/$1"/fd/* 2>/dev/null | grep -q perf_event; }

# free_port: prints a TCP port that is not in use.
free_port() {
	local port
	for ((port = 20000 + RANDOM % 10000; ; port++)); do
		(exec 9<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}

# serve_silence FILE: starts a server of debug files that never answers. Its address is in $DEBUGINFOD_URLS, its pid in
# $PID; FILE gets a line "asked" for each connection.
serve_silence() {
	python3 -c '
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connections = []
while True:
    connections.append(listener.accept())
    print("asked", flush=True)' >"$1" 2>/dev/null &
	PID=$!
	STARTED+=("$PID")
	wait_until 5 grep -q . "$1"
	export DEBUGINFOD_URLS
	DEBUGINFOD_URLS=http://127.0.0.1:$(head -n 1 "$1")
}

# wait_until SECONDS COMMAND…: true as soon as the command succeeds.
wait_until() {
	local end=$(($(now_ms) + $1 * 1000))
	shift
	until "$@"; do
		[ "$(now_ms)" -ge "$end" ] && return 1
		sleep 0.02
	done
}

# numbers_of FILE: prints the statistics in the JSON of --stats, one `name value` per line.
numbers_of() { sed -nE 's/^ *"([a-z_]+)": ([0-9]+),?$/\1 \2/p' "$1" 2>/dev/null; }

# stat_of NAME [FILE]: prints one of the statistics; 0 if it is missing.
stat_of() {
	numbers_of "${2:-$T/stats}" | awk -v name="$1" '$1 == name { v = $2 } END { print v + 0 }'
}

# Prints the time that the hypervisor took from the CPUs since the host started, in ms.
stolen_ms() { awk '$1 == "cpu" { print $9 * 10 }' /proc/stat; }

# Sum up folded lines on stdin: all, or those that match the extended regular expression.
sum_folded() { awk '{ n += $NF } END { printf "%d\n", n }'; }
sum_matching() { awk -v re="$1" '$0 ~ re { n += $NF } END { printf "%d\n", n }' "${2:-$T/out}"; }

# nanoseconds_hold [TOTAL]: prints the sums of waits that do not hold. TOTAL: that of the output.
nanoseconds_hold() {
	numbers_of "$T/stats" | awk -v sum="$1" '
		{ v[$1] = $2 }
		END {
			if (!("waited_ns" in v)) { print "no stats"; exit }
			parts = v["counted_ns"] + v["sent_ns"] + v["passed_ns"] + v["cut_ns"]
			if (v["waited_ns"] != parts) printf "waited %.0f, parts %.0f; ", v["waited_ns"], parts
			if (v["law_violations"]) printf "%.0f epochs violate the law; ", v["law_violations"]
			if (v["mismatches"]) printf "%.0f did not arrive; ", v["mismatches"]
			entries = v["idle"] + v["own"] + v["filtered"] + v["ended"] + v["recorded"] + \
				v["counted"] + v["thinned"] + v["lost_total"]
			if (v["entries"] != entries) printf "entries %.0f, parts %.0f; ", v["entries"], entries
			shown = v["counted_ns"] + v["sent_ns"] + v["open_ns"] + v["unended_ns"] + \
				v["sampled_ns"] - v["hidden_ns"]
			if (!v["cut_ns"] && v["shown_ns"] != shown)
				printf "shown %.0f, arrived %.0f; ", v["shown_ns"], shown
			if (sum != "" && v["shown_ns"] != sum) printf "shown %.0f, in the output %.0f; ", v["shown_ns"], sum
		}'
}

# total [FILE…]: prints the sum of folded lines, which may have too many digits for an integer of awk.
total() { awk '{ n += $NF } END { printf "%.0f", n }' "$@"; }

# percent PART WHOLE: prints an integer, rounded down; 0 if WHOLE is 0.
percent() { echo $((${2:-0} > 0 ? 100 * $1 / $2 : 0)); }

# law_holds [STATS [FOLDED]]: checks the conservation law, and that the output contains all samples shown.
# Prints the errors.
law_holds() {
	local stats=${1:-$T/stats} folded=${2:-$T/out}
	numbers_of "$stats" | awk -v sum="$(sum_folded <"$folded")" '
		{ v[$1] = $2 }
		/^lost_/ && $1 != "lost_total" && $1 != "lost_events" { lost += $2 }
		END {
			right = v["idle"] + v["own"] + v["filtered"] + v["recorded"] + v["counted"] + \
				v["thinned"] + v["lost_total"]
			shown = v["recorded"] + v["counted"] - v["hidden"]
			if (!("entries" in v)) { print "no stats were written"; exit 1 }
			if (v["entries"] != right)
				{ printf "entries %d, sum of the parts %d\n", v["entries"], right; exit 1 }
			if (lost != v["lost_total"])
				{ printf "lost_total %d, sum of reasons %d\n", v["lost_total"], lost + 0; exit 1 }
			if (shown != sum || shown != v["shown"])
				{ printf "recorded + counted - hidden %d, shown %d, sum of the lines %d\n",
				  shown, v["shown"], sum; exit 1 }
		}' 1>&2
}

# --- attackers ------------------------------------------------------------------------------------

# Prefix of a command: runs it as an ordinary user of the host, who cannot write to $T.
AS_USER=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# True if the files have no control characters except tabs and newlines.
no_controls() { ! LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' "$@"; }

# --- stacks that are known by construction --------------------------------------------------------

# Prints the stack of a shape, as programs/shapes.h makes it, from the program's first frame to the shape.
IN_MAIN='_start;[^;]+;([^;]+;)?main'
IN_SHAPE="$IN_MAIN;run_shape"

# wrong_stacks COMM CHAIN [PERCENT]: prints errors in a thread's stacks in $T/out, which has kernel frames
# annotated; nothing if all are correct. CHAIN is the complete user stack, an extended regular expression for
# each frame. The last one, without a ';' in brackets, is the function that uses the time: at least PERCENT
# (80) of it, with the clock that its caller reads.
#
# Stacks that end there must be the chain, without exception. Others are on the way there or back; one in fifty
# of these may be truncated. A process has no user stack where the kernel starts or ends it, or only the call of
# _exit(), which takes as long as there is memory to be freed.
wrong_stacks() {
	CHAIN=$2 awk -v comm="$1" -v least="${3:-80}" '
	BEGIN {
		chain = ENVIRON["CHAIN"]
		stem = hot = chain
		sub(/;[^;]*$/, "", stem)
		sub(/^.*;/, "", hot)
	}
	index($0, comm ";") != 1 { next }
	{
		n = $NF
		sub(/ [0-9]+$/, "")
		bare = /;(do_exit|[a-z_]*execve|ret_from_fork)/
		gsub(/;[^;]*_\[k\]/, "")
		if (bare && ($0 == comm || /;_[eE]xit$/)) next
		all += n
		if ($0 ~ ("^" comm ";(" chain "$|" stem ";[^;]*clock_gettime)")) right += n
		else if ($0 ~ (";" hot "$")) { wrong += n; example = $0 }
		else if ($0 !~ ("^" comm ";(_start|" stem ")(;|$)")) { stray += n; stray_example = $0 }
	}
	END {
		if (wrong) printf "%d of %d wrong, as %s", wrong, all, substr(example, 1, 300)
		else if (stray > 1 + all / 50)
			printf "%d of %d stray, as %s", stray, all, substr(stray_example, 1, 300)
		else if (right < 10 || right < all * least / 100)
			printf "only %d of %d", right, all
	}' "$T/out"
}

# check_stacks NAME COMM CHAIN [PERCENT]
check_stacks() {
	check_equal "$1" "$(wrong_stacks "$2" "$3" "${4:-}" || echo "; awk ended with status $?")" ""
}

# Prints the share of the last run's user stacks whose walk ended in this way, in percent, from its statistics.
ended() { percent "$(stat_of "user_end_$1")" "$(walked)"; }
walked() { numbers_of "$T/stats" | awk '/^user_end_/ { n += $2 } END { print n + 0 }'; }

# build NAME SOURCE COMPILER ARG…: builds one of programs/special as $SPECIAL/NAME, again only if its source
# changes. Prints what is missing if there is no compiler, or if it fails.
SPECIAL=$PROGRAMS/special
build() {
	local output=$SPECIAL/$1 source=$ROOT/tests/live/programs/$2
	local header=$ROOT/tests/live/programs/shapes.h
	[ "$output" -nt "$source" ] && [ "$output" -nt "$header" ] && return
	mkdir -p "$SPECIAL"
	if ! command -v "$3" >/dev/null; then
		skip "$1" "$3"
		return 1
	fi
	if ! "${@:3}" -o "$output" "$source" >"$T/err" 2>&1; then
		skip "$1" "that '$3' can build it: $(grep -m 1 -i error "$T/err")"
		return 1
	fi
}
C_FLAGS=(-std=gnu11 -O2 -g -fomit-frame-pointer -D_GNU_SOURCE -w -pthread)
