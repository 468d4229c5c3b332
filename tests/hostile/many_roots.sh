#!/usr/bin/env bash
# More containers than there may be roots: files of those past the limit must not be taken for files
# of our own root, whose debug files would name them and with whose rights they would be read. They
# have no names, and that is told.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

CONTAINERS=257 # ours is one of the 256 roots
FLAGS=(-std=gnu11 -O1 -g -D_GNU_SOURCE -w -static -fno-omit-frame-pointer)
if ! command -v musl-gcc >/dev/null; then
	skip "all" "musl-gcc" # whose static programs are small enough for that many copies
	exit 0
fi
for name in first last; do
	mkdir "$T/$name"
	musl-gcc "${FLAGS[@]}" -DNAME=$name -o "$T/$name/$name" tests/live/programs/special/names.c
done
echo 'int main(void) { for (;;) pause(); }' | musl-gcc "${FLAGS[@]}" -x c -s -o "$T/wait" -

# A folder that a process has made its root is one. What is executed there is a file of that root.
for ((i = 0; i < CONTAINERS; i++)); do
	mkdir "$T/$i" && cp "$T/wait" "$T/$i/wait"
done
# shellcheck disable=SC2016
profile -F 499 --by comm -f -- bash -c '
	trap "kill \$(jobs -p)" EXIT
	cd "$0" && chroot first /first 1
	for ((i = 0; i < $1; i++)); do chroot "$i" /wait & done
	until [ "$(pgrep -c -P $$ -x wait)" -eq "$1" ]; do sleep 0.1; done
	sleep 0.5
	chroot last /last 1' "$T" "$CONTAINERS"

check "the first container's file is named" test "$(sum_matching '^first;.*first_inner')" -gt 0
check "the last one's runs" test "$(sum_matching '^last;')" -gt 0
check_equal "and has no names" "$(sum_matching '^last;.*last_')" 0
check "which is told" grep -q '1 files with samples were not read: in more containers than the limit of 255' "$T/err"
check_equal "and counted" "$(stat_of files_past_roots)" 1
