#!/usr/bin/env bash
# The helper processes that read other people's files: their rights, and runs, of profile and of the agent, in which they
# are killed at random all the time (KILLS=1000 for an hour of it). They end in time, lose no sample, and all that is
# missing are names that were asked for at such a moment.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

KILLS=${KILLS:-120}
SECONDS_OF_RUN=$((KILLS / 15 + 2))

# kill_helpers: kills one of the helpers of $run again and again, at random moments. Leaves how often in $nr.
kill_helpers() {
	local pids
	nr=0
	while kill -0 "$run" 2>/dev/null && [ $nr -lt "$KILLS" ]; do
		mapfile -t pids < <(helpers)
		if [ ${#pids[@]} -gt 0 ]; then
			kill -KILL "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null && nr=$((nr + 1))
		fi
		sleep 0.0$((RANDOM % 9 + 1))
	done
}

# helpers: prints the pids of stook's helper processes.
helpers() {
	local child
	for child in $(cat "/proc/$run/task"/*/children 2>/dev/null); do
		! grep -qa "^stook-${1:-}" "/proc/$child/cmdline" 2>/dev/null || echo "$child"
	done
}
has_helpers() { [ "$(helpers parser | wc -l)" -ge 3 ]; }

# New programs all the time: root's and a user's, so that each has symbols and tables to be read.
mkdir "$T/programs" && chown 65534 "$T/programs"
keep_starting() {
	local i
	for ((i = 0; i < SECONDS_OF_RUN * 4; i++)); do
		cp "$PROGRAMS/spin" "$T/programs/new$i"
		[ $((i % 2)) -eq 0 ] || chown 65534 "$T/programs/new$i"
		timeout 1 "$T/programs/new$i" 0.2 >/dev/null 2>&1
	done
}

: >"$T/out"
"$STOOK" profile -f --table-cache none -i 1 -F 499 -d "$SECONDS_OF_RUN" --lines --stats "$T/stats" \
	>"$T/out" 2>"$T/err" </dev/null &
run=$!
STARTED+=("$run")
wait_until 20 samples "$run" || fail "start" "it does not sample"
begin=$(now_ms)
keep_starting &
STARTED+=("$!")

# --- rights ------------------------------------------------------------------------------------------

wait_until 20 has_helpers || fail "helpers" "there are no parsers of names"
# field NAME PID: prints a line of /proc/PID/status, without its name.
field() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status"; }
bad='' nr_parsers=0
for pid in $(helpers parser); do
	nr_parsers=$((nr_parsers + 1))
	rights="$(field CapEff "$pid") $(field CapPrm "$pid") $(field CapAmb "$pid") $(field Seccomp "$pid") $(field NoNewPrivs "$pid")"
	[ "$rights" = "0000000000000000 0000000000000000 0000000000000000 2 1" ] || bad+=" $pid: $rights"
	[ "$(field Uid "$pid" | tr '\t' '\n' | sort -u | wc -l)" -eq 1 ] || bad+=" $pid: several users"
	[ "$(field Uid "$pid" | cut -f 1)" -ge 61184 ] || bad+=" $pid: user $(field Uid "$pid")"
	[ -z "$(field Groups "$pid")" ] || bad+=" $pid: groups $(field Groups "$pid")"
	[ "$(find "/proc/$pid/fd" -lname 'anon_inode:*' | wc -l)" -eq 0 ] || bad+=" $pid: has descriptors of stook"
done
check_equal "$nr_parsers parsers have no rights" "$bad" ""
# The capabilities that security.md lists for root: CAP_CHOWN to SETUID without FSETID, SYS_CHROOT, SYS_PTRACE,
# SYS_NICE, SYSLOG, PERFMON, BPF, CHECKPOINT_RESTORE.
KEPT=0x1c4008c00ef
for pid in $run $(helpers opener); do
	for set in CapEff CapPrm CapBnd; do
		check_equal "$(cat "/proc/$pid/comm") has given up the other capabilities: $set" \
			$((0x$(field $set "$pid") & ~KEPT)) 0
	done
done
for pid in $(helpers opener); do
	check_equal "an opener gains no rights" "$(field NoNewPrivs "$pid")" 1
done

# --- killed at random ----------------------------------------------------------------------------------

kill_helpers
wait_until $((SECONDS_OF_RUN + 20)) has_ended "$run"
took=$(($(now_ms) - begin))
kill -KILL "$run" 2>/dev/null
wait "$run"
check_equal "$nr kills: status" $? 0
check "$nr kills: it ends in time ($took ms of $SECONDS_OF_RUN s)" test $took -lt $((SECONDS_OF_RUN * 1000 + 2500))
check "$nr kills: no sample is lost" law_holds
check "$nr kills: they are reported" grep -q '^files .*helper processes that read files crashed' "$T/err"
all=$(sum_matching '^new[0-9]+;.*spin_|^new[0-9]+;.*\[unknown\]|^new[0-9]+;.*new[0-9]+\+0x')
named=$(sum_matching '^new[0-9]+;.*spin_inner')
note "$named of $all samples of new programs have names"
check "$nr kills: most names are there" test "$all" -gt 100 -a $((named * 100)) -ge $((all * 60))

# --- an agent ----------------------------------------------------------------------------------------

STORE=$T/store
"$STOOK" agent --store "$STORE" --epoch 1 --budget off -F 499 >"$T/agent.log" 2>"$T/err" </dev/null &
run=$!
STARTED+=("$run")
wait_until 20 grep -q 'sampling at' "$T/err" || fail "agent" "it does not sample"
keep_starting &
starter=$!
STARTED+=("$starter")
wait_until 20 has_helpers || fail "agent" "there are no parsers of names"
kill_helpers
wait "$starter"
cp "$PROGRAMS/spin" "$T/programs/last"
start "$T/programs/last" 600
is_named() { "$STOOK" query -q --store "$STORE" --where comm=last -f 2>/dev/null | grep -q ';spin_inner '; }
check "agent, $nr kills: names come back" wait_until 60 is_named
stop "$PID"
kill -TERM "$run"
wait "$run"
check_equal "agent, $nr kills: status" $? 0
check "agent, $nr kills: the sums agree" test "$(grep -c 'do not agree' "$T/err")" -eq 0
read -r lost gaps < <(build/tests/tools/print_store -e "$STORE" comm | awk '
	$1 == "epoch" { lost += $5; gaps += end && $2 > end + 1e6; end = $3 }
	END { print lost + 0, gaps + 0 }')
check_equal "agent, $nr kills: no sample is lost" "$lost" 0
check_equal "agent, $nr kills: there is no time without an epoch" "$gaps" 0

# --- memory ------------------------------------------------------------------------------------------

# Of a run that has read the unwind tables of a large program, and no names yet.
"$STOOK" profile -q -f -F 99 -d 12 --table-cache none >"$T/out" 2>"$T/err" </dev/null &
run=$!
STARTED+=("$run")
wait_until 20 samples "$run"
if command -v node >/dev/null; then
	timeout 1 node -e 'for (;;);'
else
	timeout 1 python3 -c 'while True: pass'
fi
are_small() {
	sizes=$(for pid in $(helpers); do sed -n 's/^Pss: *//p' "/proc/$pid/smaps_rollup"; done 2>/dev/null)
	[ "$(wc -l <<<"$sizes")" -ge 2 ] && ! grep -qvE '^([0-9]{1,3}|[12][0-9]{3}) kB$' <<<"$sizes"
}
check "idle helper processes have less than 3 MB each" wait_until 8 are_small
note "PSS of the helper processes: $(tr '\n' ' ' <<<"$sizes")"
stop "$run"

# --- without seccomp -----------------------------------------------------------------------------------

# Parsers would have no filter of system calls, so they read nothing.
begin=$(now_ms)
python3 tests/tools/without_seccomp.py "$STOOK" profile -F 499 --stats "$T/stats" \
	-o "$T/without.folded" -- "$PROGRAMS/spin" 0.5 >/dev/null 2>"$T/err" </dev/null
check_equal "without seccomp: status" $? 0
check "without seccomp: parsers that cannot be started are not waited for" \
	test $(($(now_ms) - begin)) -lt 10000
check "without seccomp: no sample is lost" law_holds "$T/stats" "$T/without.folded"
check_equal "without seccomp: no file is read" "$(sum_matching ';spin_' "$T/without.folded")" 0
check "without seccomp: it is reported" \
	grep -q '^files .*not read: this kernel has no filters of system calls (seccomp)' "$T/err"
