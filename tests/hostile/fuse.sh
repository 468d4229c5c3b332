#!/usr/bin/env bash
# An ELF file in a FUSE file system of an ordinary user, with different bytes at each read: data that was
# checked once may differ when it is read again. Runs must end, and functions of other files must have names.
#
# The test has its own mount namespace: nothing is left behind.
set -u
if [ -z "${OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	OWN_MOUNTS=1 exec unshare --mount bash "$0"
fi
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live
if [ -z "${OWN_MOUNTS:-}" ] || [ ! -w /dev/fuse ]; then
	skip "all" "/dev/fuse and the right to mount"
	exit 0
fi
trap 'umount -l "$T/fuse" 2>/dev/null; cleanup' EXIT

mkdir "$T/fuse"
python3 tests/tools/hostile_elf.py everything "$T/file" || exit 1
start "$PROGRAMS/attacker" code "$T/file" 0x10000 # writes the code
wait_until 10 grep -q ready "$T/started"
stop "$PID"
"$PROGRAMS/fuse_file" "$T/file" "$T/fuse" 0x10000 0x20000 >"$T/served" 2>&1 &
STARTED+=("$!")
if ! wait_until 10 grep -q ready "$T/served"; then
	skip "all" "a FUSE file system: $(cat "$T/served")"
	exit 0
fi
cat "$T/fuse/file" >"$T/once"
cmp -s "$T/once" "$T/fuse/file"
check_equal "its bytes change" $? 1

bad=
for i in 1 2 3 4 5 6; do
	start "${AS_USER[@]}" "$PROGRAMS/attacker" code "$T/fuse/file" 0x10000
	wait_until 10 grep -q ready "$T/started" || note "$(cat "$T/started")"
	options=()
	[ $((i % 2)) -eq 0 ] || options=(--inline --lines)
	LIMIT=60 profile_for 50 "$PID" -p "$PID" -F 99 -f "${options[@]}"
	law_holds "$T/stats" "$T/out" || bad="$bad law"
	[ "$STATUS" -eq 0 ] || bad="$bad status $STATUS in run $i: $(tail -n 1 "$T/err")"
	[ "$(sum_folded <"$T/out")" -gt 10 ] || bad="$bad no samples in run $i after $WALL_MS ms: $(head -n 4 "$T/err");"
	[ "$(stat_of max_rss_kb)" -lt 400000 ] || bad="$bad $(stat_of max_rss_kb) KiB in run $i"
	[ $(($(stat_of user_us) + $(stat_of sys_us))) -lt 10000000 ] || bad="$bad CPU time in run $i"
	stop "$PID"
done
check_equal "six runs over a file that changes with each read" "$bad" ""
