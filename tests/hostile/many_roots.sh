#!/usr/bin/env bash
# More containers than the limit of roots, which is 256 with few descriptors and up to 4,096 with many: files of further
# roots must not be treated as files of the host's root, whose debug files would name them and with whose privileges
# they would be read. They have no names, and this is reported.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

CONTAINERS=254 # with ours and the first one the 256 roots that there may be with 1,024 descriptors
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

# Each directory that a process uses as its root counts. Files executed there belong to that root.
#
# Stook reads the events of one CPU after those of another. If it was not scheduled meanwhile, it would see the
# last container before others that were started earlier. So the last container waits until Stook, the parent
# of the program that starts it, holds a directory for each root of the table; its other directories would be
# the table cache and that of --stats. Batches wait as well, or buffers could overflow.
for ((i = 0; i < CONTAINERS; i++)); do
	mkdir "$T/$i" && cp "$T/wait" "$T/$i/wait"
done
sample_all() { # sample_all MOST: with up to so many roots, without ours
	# shellcheck disable=SC2016
	profile -F 499 --by comm --table-cache none -f -- bash -c '
		trap "kill \$(jobs -p)" EXIT
		nr_roots() { find /proc/$PPID/fd -mindepth 1 -xtype d ! -lname "$0" 2>/dev/null | wc -l; }
		wait_for_roots() {
			for ((tries = 0; tries < 200; tries++)); do
				[ "$(nr_roots)" -lt "$1" ] || break
				sleep 0.02
			done
		}
		cd "$0" && chroot first /first 1
		for ((i = 0; i < $1; i++)); do
			chroot "$i" /wait &
			[ $((i % 32)) -ne 31 ] || wait_for_roots $((i + 1 < $2 ? i + 1 : $2))
		done
		wait_for_roots $(($1 + 1 < $2 ? $1 + 1 : $2))
		nr_roots >roots
		chroot last /last 1' "$T" "$CONTAINERS" "$1"
}

# With more descriptors, all of them have a place.
sample_all 4095
check "more containers are known" test "$(cat "$T/roots")" -gt 254
check "the last of many containers is named" test "$(sum_matching '^last;.*last_inner')" -gt 0
check_equal "no file is past the limit" "$(stat_of files_past_roots)" 0

ulimit -n 1024
sample_all 255
check_equal "the table of roots is full" "$(cat "$T/roots")" 255
check "the first container's file is named" test "$(sum_matching '^first;.*first_inner')" -gt 0
check "the last container's program is sampled" test "$(sum_matching '^last;')" -gt 0
check_equal "the last container's program has no names" "$(sum_matching '^last;.*last_')" 0
check "the missing names are reported" grep -q '1 files with samples were not read: in more containers than the limit of 255' "$T/err"
check_equal "the file is counted" "$(stat_of files_past_roots)" 1
