#!/usr/bin/env bash
# Ctrl-C: the first one ends sampling or the lookup of names, and the result is written. The second one ends
# stook at once, at any time.
#
# Looking up names is slow here because of a debuginfod that does not answer: a fake client library.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

for tool in gcc strip; do
	command -v $tool >/dev/null || { skip "all" $tool; exit 0; }
done
gcc -shared -fPIC -o "$T/libdebuginfod.so.1" -x c - <<'C' || exit 1
#include <sys/prctl.h>
#include <unistd.h>
void *debuginfod_begin(void) { return "client"; }
int debuginfod_find_debuginfo(void *client, const unsigned char *id, int bytes, char **path)
{
	prctl(PR_SET_NAME, "asked");
	for (;;)
		pause();
}
C
cp "$PROGRAMS/spin" "$T/nameless" && strip --strip-all "$T/nameless"
if [ "$("$STOOK" --version | grep -c static)" -gt 0 ]; then
	skip "all" "a binary that can load libraries"
	exit 0
fi

start "$T/nameless" 300
nameless=$PID

# run ARG…: starts stook in the background; its pid is in $run.
run() {
	: >"$T/out"
	DEBUGINFOD_URLS=http://localhost:1 DEBUGINFOD_CACHE_PATH=$T/cache LD_LIBRARY_PATH=$T "$STOOK" "$@" \
		>"$T/out" 2>"$T/err" </dev/null &
	run=$!
	STARTED+=("$run")
}

# Stook waits for the library's answer in a child process, which the library renames when it is asked. Other
# children are not told apart by their command lines: until its exec() a child has stook's own.
is_naming() {
	local child
	for child in $(cat "/proc/$run/task/$run/children" 2>/dev/null); do
		if grep -qx asked "/proc/$child/comm" 2>/dev/null; then
			asked=$child
			return 0
		fi
	done
	return 1
}
asked= # the child
# True if stook's signal handlers are installed: SIGINT is bit 1, SIGTERM bit 14. Until its exec() the process is a shell,
# which has handlers, too.
catches() {
	local caught
	caught=$(awk '/^Name/ { name = $2 } /^SigCgt/ && name != "bash" { print $2 }' "/proc/$run/status" 2>/dev/null)
	[ $((0x${caught:-0} & 0x4002)) -ne 0 ]
}

# ends NAME STATUS…: checks that stook exits within 1 s, with one of these statuses.
ends() {
	local name=$1 begin
	shift
	begin=$(now_ms)
	wait_until 10 has_ended "$run"
	check "$name: within 1 s ($(($(now_ms) - begin)) ms)" test $(($(now_ms) - begin)) -le 1000
	kill -KILL "$run" 2>/dev/null # the test must end, too
	wait "$run"
	STATUS=$?
	check "$name: status $STATUS" grep -qw "$STATUS" <<<"$*"
}

# --- first Ctrl-C, while names are looked up ----------------------------------------------------------

for signal in INT TERM; do
	run profile -f -F 199 -d 1 -p "$nameless" --stats "$T/stats"
	wait_until 20 is_naming || fail "SIG$signal in naming" "the lookup of names did not begin"
	check_equal "the child that asks has a user of its own, no capabilities, and gets none" \
		"$(awk '/^(Uid|Gid|Groups|Cap(Prm|Eff|Amb)|NoNewPrivs|Seccomp):/ { $1 = $1; print }' "/proc/$asked/status")" \
		"$(printf '%s\n' 'Uid: 65523 65523 65523 65523' 'Gid: 65523 65523 65523 65523' 'Groups:' \
			'CapPrm: 0000000000000000' 'CapEff: 0000000000000000' 'CapAmb: 0000000000000000' \
			'NoNewPrivs: 1' 'Seccomp: 2')"
	check_equal "and a cache that is its own" "$(stat -c '%u:%g %a' "$T/cache")" "65523:65523 700"
	check "and its memory is not a copy of stook's" test "$(cat "/proc/$asked/cmdline" | tr '\0' ' ' | cut -d ' ' -f 1)" = stook-fetcher
	kill -$signal "$run"
	ends "SIG$signal in naming" 0
	check "SIG$signal in naming: the samples are written" test "$(sum_matching nameless)" -gt 20
	check "SIG$signal in naming: missing names are reported" grep -q 'names are missing: a signal' "$T/err"
	check_equal "SIG$signal in naming: counted in the statistics" "$(stat_of naming_stopped)" 1
done

# --- second Ctrl-C -----------------------------------------------------------------------------------

run profile -f -F 199 -p "$nameless"
wait_until 20 samples "$run"
sleep 1
kill -INT "$run"
wait_until 20 is_naming || fail "SIGINT in sampling" "names are not looked up after it"
check "SIGINT in sampling: names are looked up" is_naming
check "after the first: signals have their default effect" eval '! catches'
kill -INT "$run"
ends "second SIGINT, in naming" 130

run profile -f -F 199 -p "$nameless"
wait_until 20 samples "$run"
sleep 0.5
kill -INT "$run"
wait_until 20 is_naming
kill -TERM "$run"
ends "SIGTERM after SIGINT" 143

run profile -f -F 199 -p "$nameless"
wait_until 20 catches # before or in the first moments of sampling
kill -TERM "$run"
sleep 0.1
kill -TERM "$run"
ends "twice at the start" 0 143

# A full pipe without a reader.
mkfifo "$T/full"
exec 3<>"$T/full"
timeout 1 dd if=/dev/zero of="$T/full" bs=4096 count=64 2>/dev/null
"$STOOK" profile -f -F 199 -d 1 -p $$ -p "$nameless" >"$T/full" 2>"$T/err" </dev/null 3>&- &
run=$!
STARTED+=("$run")
is_writing() { grep -q pipe_write "/proc/$run/wchan" 2>/dev/null || grep -q '^1 0x1 ' "/proc/$run/syscall" 2>/dev/null; }
wait_until 20 is_writing || fail "a full pipe" "it is not written to"
kill -INT "$run"
sleep 0.2
kill -INT "$run" 2>/dev/null
ends "second SIGINT, at a full pipe" 130
exec 3>&-

# --- inherited signal dispositions --------------------------------------------------------------------

# signals_of COMMAND…: prints the signals that the command finds blocked and ignored
signals_of() { timeout 20 "$@" grep -E '^Sig(Blk|Ign)' /proc/self/status 2>"$T/err"; }
check_equal "the command: signals are blocked and ignored as without stook" \
	"$(signals_of "$STOOK" profile -q -o "$T/command.folded" --)" "$(signals_of env)"

(
	trap '' HUP
	exec "$STOOK" profile -f -F 99 -p "$nameless" >"$T/out" 2>"$T/err" </dev/null
) &
run=$!
STARTED+=("$run")
wait_until 20 catches
kill -HUP "$run"
sleep 0.5
check "under nohup SIGHUP ends nothing" kill -0 "$run"
kill -INT "$run"
wait "$run"
check_equal "under nohup SIGINT ends it" $? 0

# timeout(1) sends its signal to its child and to its process group: they count as one signal.
timeout -s INT 5 "$STOOK" profile -f -F 199 -p "$nameless" >"$T/out" 2>"$T/err" </dev/null
check "timeout -s INT: the result is written" test "$(sum_matching nameless)" -gt 20

# --- symbolize -----------------------------------------------------------------------------------------

"$STOOK" profile -q -F 199 -d 1 -p "$nameless" --no-symbols -o "$T/raw.pb.gz" </dev/null 2>"$T/err"
run symbolize "$T/raw.pb.gz" -o "$T/named.pb.gz"
wait_until 20 is_naming || fail "symbolize" "the lookup of names did not begin"
kill -INT "$run"
ends "symbolize: SIGINT in naming" 0
check "symbolize: the profile is written" test -s "$T/named.pb.gz"
check "symbolize: missing names are reported" grep -q 'names are missing: a signal' "$T/err"
