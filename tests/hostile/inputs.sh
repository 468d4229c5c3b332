#!/usr/bin/env bash
# report, flame, diff and symbolize as root: the process that parses the input has no rights, and whatever happens to
# it, outputs appear completely or not at all.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

echo 'app;main;work 7' >"$T/in.folded"
"$STOOK" report "$T/in.folded" -o "$T/in.pb.gz" || fail "input" "cannot be made"
mkdir "$T/own" && chown 65534:65533 "$T/own"

# begin COMMAND ARG…: starts a command that waits for its input from a fifo, which stays open as descriptor 9.
begin() {
	rm -f "$T/fifo" "$T/own"/*
	mkfifo "$T/fifo"
	"$STOOK" "$@" >"$T/out" 2>"$T/err" </dev/null &
	run=$!
	STARTED+=("$run")
	exec 9>"$T/fifo"
	wait_until 10 reads || fail "$1" "it does not read"
}
# The process that waits for bytes of the fifo.
reads() {
	reader=$(cat "/proc/$run/task/$run/children" 2>/dev/null)
	reader=${reader% }
	[ -n "$reader" ] && readlink "/proc/$reader/fd"/* 2>/dev/null | grep -q "/fifo$" &&
		grep -q '^0 ' "/proc/$reader/syscall"
}
# ends INPUT: writes the rest of the input; the status is in $STATUS.
ends() {
	[ -z "$1" ] || cat "$1" >&9
	exec 9>&-
	wait "$run"
	STATUS=$?
}
# field NAME PID: prints a line of /proc/PID/status, without its name.
field() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status"; }

# --- rights ------------------------------------------------------------------------------------------

has_no_rights() { # has_no_rights PID
	local set bad=''
	for set in CapInh CapPrm CapEff CapAmb; do
		[ "$(field $set "$1")" = 0000000000000000 ] || bad+=" $set"
	done
	[ "$(field Seccomp "$1") $(field NoNewPrivs "$1")" = "2 1" ] || bad+=" seccomp or no_new_privs"
	[ "$(field Uid "$1" | tr '\t' '\n' | sort -u | wc -l)" -eq 1 ] || bad+=" several users"
	[ "$(field Uid "$1" | cut -f 1)" -ge 61184 ] || bad+=" user $(field Uid "$1")"
	[ "$(field Gid "$1" | cut -f 1)" -ge 61184 ] || bad+=" group $(field Gid "$1")"
	[ -z "$(field Groups "$1")" ] || bad+=" groups"
	# Its input and outputs, the standard streams, a socket and a buffer: no folder, no other file.
	[ -z "$(find "/proc/$1/fd" -lname '/*' -not -lname "$T/*" -not -lname /dev/null \
		-not -lname '/memfd:stook-names*')" ] || bad+=" files"
	[ -z "$(find -L "/proc/$1/fd" -maxdepth 1 -mindepth 1 -type d)" ] || bad+=" folders"
	echo "$bad"
}

attack() { # attack NAME INPUT COMMAND ARG…
	local name=$1 input=$2
	shift 2
	umask 027
	begin "$@" -o "$T/own/new.folded" -o "$T/own/second.pb.gz"
	check_equal "$name: the process that reads has no rights" "$(has_no_rights "$reader")" ""
	check_equal "$name: the host of that process is root" "$(field Uid "$run" | cut -f 1)" 0
	ends "$input"
	check_equal "$name: status" $STATUS 0
	check_equal "$name: outputs belong to root" \
		"$(stat -c '%u:%g %a' "$T/own/new.folded" "$T/own/second.pb.gz" | sort -u)" "0:0 640"

	echo old >"$T/own/old.folded"
	chown 65534:65533 "$T/own/old.folded" && chmod 604 "$T/own/old.folded"
	begin "$@" -o "$T/own/second.folded" -o "$T/own/none.pb.gz"
	kill -SEGV "$reader"
	ends ""
	check_equal "$name: a crash: status" $STATUS 1
	check "$name: a crash: it is reported" \
		grep -qx 'stook: the process that reads the input was killed by signal 11 .*' "$T/err"
	check_equal "$name: a crash: no output" "$(find "$T/own" -type f | wc -l)" 0

	begin "$@"
	kill -KILL "$run"
	check "$name: it ends with its host" wait_until 5 has_ended "$reader"
	ends ""
	umask 022
}

attack report "$T/in.folded" report "$T/fifo"
attack flame "$T/in.folded" flame "$T/fifo"
attack diff "$T/in.folded" diff "$T/in.folded" "$T/fifo"
attack symbolize "$T/in.pb.gz" symbolize "$T/fifo"

# --- stores ------------------------------------------------------------------------------------------

# A lock of SQLite's, which a writer takes that waits for readers, holds the reader up.
lock_store='
import fcntl, sys, time
store = open(sys.argv[1], "r+b")
fcntl.lockf(store, fcntl.LOCK_EX, 1, 0x40000000)
print("locked", flush=True)
time.sleep(60)'
opens_store() {
	reader=$(cat "/proc/$run/task/$run/children" 2>/dev/null)
	reader=${reader% }
	[ -n "$reader" ] && readlink "/proc/$reader/fd"/* 2>/dev/null | grep -qx "$T/store"
}
if build/tests/tools/store_cost -k 3 -b 1700000000 "$T/store" "$T/in.folded"; then
	chown 65534:65533 "$T/store"
	start python3 -c "$lock_store" "$T/store"
	locker=$PID
	wait_until 10 test -s "$T/started"
	"$STOOK" query --store "$T/store" --from @1700000000 --to @1700000030 -o "$T/own/store.folded" 2>"$T/err" &
	run=$!
	STARTED+=("$run")
	wait_until 10 opens_store || fail "query" "it does not read"
	kill -STOP "$reader" # it waits for some seconds only
	check_equal "query: the process that reads has no rights" "$(has_no_rights "$reader")" ""
	check_equal "query: it has the store for reading only" \
		"$(find "/proc/$reader/fd" -lname "$T/store*" -perm -u=w | wc -l)" 0
	kill "$locker"
	kill -CONT "$reader"
	wait "$run"
	check_equal "query: status" $? 0
	check_equal "query: output" "$(cat "$T/own/store.folded")" "app;main;work 21"
	rm -f "$T/own"/*
else
	fail "query" "there is no store"
fi

# --- outputs and signals -----------------------------------------------------------------------------

echo old >"$T/own/old.folded"
chown 65534:65533 "$T/own/old.folded" && chmod 604 "$T/own/old.folded"
"$STOOK" report "$T/in.folded" -o "$T/own/old.folded"
check_equal "an existing output keeps its owner and mode" \
	"$(stat -c '%u:%g %a' "$T/own/old.folded") $(cat "$T/own/old.folded")" "65534:65533 604 app;main;work 7"

mkfifo "$T/fifo.folded"
timeout 10 cat "$T/fifo.folded" >"$T/copy" &
timeout 10 "$STOOK" report "$T/in.folded" -o "$T/fifo.folded"
check_equal "an output that is a fifo: status" $? 0
wait $!
check_equal "an output that is a fifo" "$(cat "$T/copy")" "app;main;work 7"

# The commands of this script ignore SIGINT.
for name in TERM HUP PIPE; do
	begin report "$T/fifo" -o "$T/own/new.folded"
	kill -$name "$reader"
	ends ""
	check_equal "SIG$name ends both" "$STATUS" $((128 + $(kill -l $name)))
	check_equal "SIG$name leaves nothing behind" "$(find "$T/own" -type f | wc -l)" 0
done

# The address space is not limited: a profile may be large.
begin report "$T/fifo"
check_equal "memory is not limited" "$(awk '/^Max address space/ { print $4 }' "/proc/$reader/limits")" unlimited
ends "$T/in.folded"

# --- a kernel without seccomp ------------------------------------------------------------------------

for command in report flame "diff $T/in.folded" symbolize; do
	input=$T/in.folded
	[ "$command" != symbolize ] || input=$T/in.pb.gz
	# shellcheck disable=SC2086 # a command and its argument
	python3 tests/tools/without_seccomp.py "$STOOK" $command "$input" -o "$T/own/none.folded" \
		>"$T/out" 2>"$T/err" </dev/null
	check_equal "${command%% *} without seccomp: status" $? 1
	check_equal "${command%% *} without seccomp: it refuses" "$(cat "$T/err")" \
		"stook: cannot give up privileges to read the input: this kernel has no filters of system calls (seccomp)
  hint: run this as an ordinary user: it needs no privileges"
	check_equal "${command%% *} without seccomp: no output" "$(cat "$T/out")$(find "$T/own" -name 'none*')" ""
done

# --- who has rights ----------------------------------------------------------------------------------

if command -v setpriv >/dev/null; then
	chmod 755 "$T"
	begin_as_other() {
		setpriv --reuid=65534 --regid=65534 --clear-groups "$STOOK" report - <"$T/fifo" >"$T/out" 2>"$T/err" &
		run=$!
		STARTED+=("$run")
		exec 9>"$T/fifo"
	}
	reads_itself() { grep -q '^0 ' "/proc/$run/syscall" && [ "$(field Uid "$run" | cut -f 1)" = 65534 ]; }
	begin_as_other
	check "an ordinary user has nothing to lose: it reads in one process" wait_until 10 reads_itself
	check_equal "an ordinary user: no child" "$(cat "/proc/$run/task/$run/children")" ""
	ends "$T/in.folded"
	check_equal "an ordinary user: status" $STATUS 0
	check_equal "an ordinary user without seccomp" "$(python3 tests/tools/without_seccomp.py \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$STOOK" report -f - <"$T/in.folded")" "app;main;work 7"
fi
