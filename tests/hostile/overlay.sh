#!/usr/bin/env bash
# A user mounts an overlayfs over a folder of root's in a user namespace, and shows another program there under the same
# path. The host's program must keep its own names; so must a program in such a container.
#
# Alone: other tests map thousands of files, and those of a program that lives for two seconds would be looked at too late.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

USER_ID=65534
in_container=(setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups unshare --user --map-root-user --mount)
# shellcheck disable=SC2016
if ! "${in_container[@]}" sh -c 'mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w &&
	mount -t overlay overlay -o lowerdir=/usr,upperdir=/mnt/u,workdir=/mnt/w /usr' 2>/dev/null; then
	skip "all" "an overlayfs in a user namespace (Linux 5.11)"
	exit 0
fi
for tool in gcc python3; do
	if ! command -v $tool >/dev/null; then
		skip "all" $tool
		exit 0
	fi
done

chmod 755 "$T"
FLAGS=(-std=gnu11 -O1 -g -D_GNU_SOURCE -w -fno-omit-frame-pointer)
for name in victim later; do
	mkdir -m 755 "$T/$name"
	gcc "${FLAGS[@]}" -DNAME=true -o "$T/$name/$name" tests/live/programs/special/names.c || exit 1
done
gcc "${FLAGS[@]}" -DNAME=lies -o "$T/lies" tests/live/programs/special/names.c || exit 1

# forge FOLDER: maps root's program of that folder, whose path then leads to the user's. What is mapped is not there any
# more when it is looked at.
cat >"$T/forge" <<'END_OF_SCRIPT'
mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w && cp "$1/lies" "/mnt/u/${2##*/}" && exec python3 - "$2/${2##*/}" <<'PY'
import ctypes, mmap, os, subprocess, sys, time
path = sys.argv[1]
folder = os.path.dirname(path)
fd = os.open(path, os.O_RDONLY)
subprocess.check_call(["mount", "-t", "overlay", "overlay", "-o",
	f"lowerdir={folder},upperdir=/mnt/u,workdir=/mnt/w", folder])
size = os.fstat(fd).st_size
print(open(path, "rb").read() != os.pread(fd, size, 0), flush=True)
while True:
	mmap.mmap(fd, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
	time.sleep(0.05)
PY
END_OF_SCRIPT
chmod 755 "$T/forge" "$T/lies"

# shellcheck disable=SC2016
profile -a -F 997 --by comm -f -- bash -c '
	"${@:2}" sh "$0/forge" "$0" "$0/victim" >"$0/forged" &
	for try in $(seq 200); do [ -s "$0/forged" ] && break; sleep 0.1; done
	"$0/victim/victim" 1; kill -KILL $!' \
	"$T" x "${in_container[@]}"
check_equal "the user's mount shows another program" "$(cat "$T/forged")" True
check_equal "the run's status" "$STATUS" 0
check "root's program by its own symbols" test "$(sum_matching '^victim;.*true_inner')" -gt 0
check_equal "root's program has no names from the user's" "$(sum_matching '^victim;.*lies_')" 0

# --- a container of the user's ----------------------------------------------------------------------

cat >"$T/contain" <<'END_OF_SCRIPT'
mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w && cp "$1/lies" /mnt/u/theirs &&
	mount -t overlay overlay -o "lowerdir=$1/later,upperdir=/mnt/u,workdir=/mnt/w" "$1/later" &&
	"$1/later/theirs" 1 && exec "$1/later/later" "$2"
END_OF_SCRIPT
chmod 755 "$T/contain"
start "${in_container[@]}" sh "$T/contain" "$T" 60
sleep 1.5
profile -a -F 997 -d 1 --by comm -f
stop "$PID"
check "a program below a user's overlayfs, since before the run" test "$(sum_matching '^later;.*true_inner')" -gt 0
profile -a -F 997 --by comm -f -- "${in_container[@]}" sh "$T/contain" "$T" 1
check "a program of the user's, in an overlayfs made in the run" test "$(sum_matching '^theirs;.*lies_inner')" -gt 0
check "a program below it" test "$(sum_matching '^later;.*true_inner')" -gt 0
