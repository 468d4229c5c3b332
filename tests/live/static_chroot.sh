#!/usr/bin/env bash
# The static binary in an empty root: a folder with the program in it, /proc and /sys mounted, and
# nothing else: no libraries, no /etc, no /tmp, no shell.
#
# Required are /proc (processes, kallsyms, sysctls) and /sys (the kernel's BTF). Only the files given with -o
# are written.
#
# Alone: it judges how many samples there are in a second.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

STATIC=${STATIC_STOOK:-$ROOT/build/static/stook}
if [ ! -x "$STATIC" ]; then
	skip "all" "build/static/stook: make static"
	exit 0
fi
if ! unshare --mount true 2>/dev/null; then
	skip "all" "the right to make a mount namespace"
	exit 0
fi

check "no interpreter, no shared library" \
	sh -c "! readelf -ld '$STATIC' | grep -qE 'INTERP|NEEDED'"

root=$T/root
mkdir -p "$root/proc" "$root/sys"
cp "$STATIC" "$root/stook"

# The mounts are in a mount namespace that ends with the run.
in_root() {
	# shellcheck disable=SC2016
	timeout 60 unshare --mount bash -c 'root=$1; shift
		mount -t proc none "$root/proc" && mount --rbind /sys "$root/sys" &&
		exec chroot "$root" "$@"' - "$root" "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}

start "$PROGRAMS/spin" 30
in_root /stook profile -f -F 499 -d 1 --stats /stats
check_equal "whole machine: status 0" "$STATUS" 0
check "whole machine: names of a program outside the root" \
	test "$(sum_matching 'main;spin_outer;spin_inner')" -ge 200
check "whole machine: conservation law" law_holds "$root/stats"
in_root /stook profile -F 499 -d 1 -p "$PID" -o /result.folded
check "-o into the empty root" grep -q spin_inner "$root/result.folded"
in_root /stook profile -f -F 499 -- /stook profile --help
check_equal "-- CMD: its status" "$STATUS" 0

rm -f "$root"/stats "$root"/result.folded
in_root /stook profile -F 499 -d 1 -p "$PID"
check "nothing was written into the root" test -z "$(find "$root" -mindepth 1 -maxdepth 1 ! -name proc ! -name sys ! -name stook)"
check "report names functions" grep -q spin_inner "$T/out"
stop "$PID"
