#!/usr/bin/env bash
# ELF files made by a user to attack readers of symbols, unwind information or lines. The user runs each for
# a second of sampling; the limits on CPU time and memory are a multiple of today's cost, and a fraction of
# the cost for a reader without limits.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live
if ! command -v python3 >/dev/null; then
	skip "all" "python3"
	exit 0
fi
chmod 777 "$T"

# run_file KIND CPU_SECONDS MIB OPTION…: kinds are those of tests/tools/hostile_elf.py.
run_file() {
	local kind=$1 cpu_s=$2 mib=$3 used_us
	shift 3
	"${AS_USER[@]}" touch "$T/file"
	python3 tests/tools/hostile_elf.py "$kind" "$T/file" || { fail "$kind" "no file" && return; }
	start "${AS_USER[@]}" "$PROGRAMS/attacker" code "$T/file" 0x10000
	wait_until 20 grep -q ready "$T/started" || note "$(cat "$T/started")"
	LIMIT=60 profile_for 50 "$PID" -p "$PID" -F 99 -f "$@"
	check_equal "$kind: ends" $STATUS 0
	used_us=$(($(stat_of user_us) + $(stat_of sys_us)))
	check "$kind: CPU time ($used_us us)" [ $used_us -lt $((cpu_s * 1000000)) ]
	check "$kind: memory ($(stat_of max_rss_kb) KiB)" [ "$(stat_of max_rss_kb)" -lt $((mib * 1024)) ]
	check "$kind: has samples" [ "$(sum_folded <"$T/out")" -gt 10 ]
	stop "$PID"
	rm -f "$T/file"
}

run_file same_address 6 400
check "same_address: has a name" [ "$(sum_matching 'f00[0-9]*_')" -gt 10 ]
run_file underscores 6 300
run_file control 2 100
check "control: no control characters are printed" \
	no_controls "$T/out"
run_file dynamic 6 200
run_file sections 6 200
run_file segments 4 200
run_file notes 6 200
run_file xz 4 200
run_file xz_ratio 8 600
run_file xz_memory 2 100
run_file unwind 6 300
run_file everything 2 100 --inline --lines
run_file dwarf 4 200 --inline --lines
check "dwarf: it is read by a process that may not grow" [ "$WALL_MS" -lt 50000 ]
