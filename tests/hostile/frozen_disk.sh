#!/usr/bin/env bash
# The cache of unwind tables is on a file system that is frozen, as for a snapshot of its disk: whoever creates a file
# there, or marks one as used, waits until it is thawed. So does a busy disk for shorter times. The rings must be read
# meanwhile, and tables that do not come from the cache be made.
#
# The test has its own mount namespace: nothing is left behind.
set -u
if [ -z "${OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	OWN_MOUNTS=1 exec unshare --mount bash "$0"
fi
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live
mkdir "$T/disk"
if ! { [ "${OWN_MOUNTS:-}" ] && truncate -s 64M "$T/image" && mkfs.ext4 -q "$T/image" &&
	mount -o loop "$T/image" "$T/disk" && fsfreeze -f "$T/disk" && fsfreeze -u "$T/disk"; } 2>/dev/null; then
	skip "all" "mkfs.ext4, fsfreeze, and the right to mount a loop device"
	exit 0
fi
trap 'fsfreeze -u "$T/disk" 2>/dev/null; umount -l "$T/disk"; cleanup' EXIT
CACHE=$T/disk/cache
mkdir -m 700 "$CACHE"

# frozen NAME: a run of four seconds; the disk is thawed five seconds after its beginning.
frozen() {
	local run
	fsfreeze -f "$CACHE"
	"$STOOK" profile -a -f -F 499 -d 4 --table-cache "$CACHE" --stats "$T/stats" >"$T/out" 2>"$T/err" &
	run=$!
	STARTED+=("$run")
	wait_until 20 samples "$run"
	"$PROGRAMS/spin" 1 >/dev/null # its tables, and those of other programs, are needed now
	sleep 4
	fsfreeze -u "$CACHE"
	wait "$run"
	check_equal "$1: status" $? 0
	check "$1: the conservation law" law_holds
	check "$1: no stall: $(stat_of longest_stall_us) us" test "$(stat_of longest_stall_us)" -lt 1000000
	check "$1: samples are whole" test $(($(sum_matching '_start;.*spin_outer') * 10)) -ge \
		$(($(sum_matching '^spin;') * 9))
	check "$1: there are samples" test "$(sum_matching "^spin;")" -gt 10
}

frozen "tables are stored"
check "they are stored when it is thawed" test "$(find "$CACHE" -type f ! -name 'new-*' | wc -l)" -gt 0
frozen "tables are loaded"
