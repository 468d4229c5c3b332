#!/usr/bin/env bash
# Ownership of debug files. A stripped program contains the name of its debug file. Its owner must not make
# stook read root's files through a link, or through a mount in the owner's user namespace.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
if [ -z "${OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	OWN_MOUNTS=1 exec unshare --mount bash "$0"
fi
need_live

USER_ID=65534
as_user=(setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups)
namespaces=(unshare --user --map-root-user --mount)
if [ -z "${OWN_MOUNTS:-}" ] || ! "${as_user[@]}" "${namespaces[@]}" true 2>/dev/null; then
	skip "all" "the right to make mount and user namespaces"
	exit 0
fi
for tool in gcc objcopy strip; do
	if ! command -v $tool >/dev/null; then
		skip "all" $tool
		exit 0
	fi
done

HOST_DEBUG=/usr/lib/debug/.build-id
mkdir -p $HOST_DEBUG && mount -t tmpfs none /usr/lib/debug && mkdir $HOST_DEBUG || exit 1
id_of() { sha1sum <<<"$1" | cut -c 1-40; }
debug_path() { id_of "$1" | sed "s|^..|$HOST_DEBUG/&/|; s|$|.debug|"; }

# make NAME BUILD_ID: creates $T/NAME/NAME, stripped, with a debug link to NAME.debug; $T/NAME.debug is
# readable by root only.
make() {
	mkdir "$T/$1"
	gcc -std=gnu11 -O1 -g -D_GNU_SOURCE -w -fno-omit-frame-pointer -DNAME="$1" -Wl,--build-id="$2" \
		-o "$T/$1/$1" tests/live/programs/special/names.c &&
		objcopy --only-keep-debug "$T/$1/$1" "$T/$1.debug" && chmod 600 "$T/$1.debug" &&
		(cd "$T" && strip "$1/$1" && objcopy --add-gnu-debuglink="$1.debug" "$1/$1")
	chown "$USER_ID:$USER_ID" "$T/$1" "$T/$1/$1"
}
for name in linked folder mounted own; do make $name none || exit 1; done
for name in by_id host; do make $name "0x$(id_of $name)" || exit 1; done

"${as_user[@]}" ln -s "$T/linked.debug" "$T/linked/linked.debug"
# A directory that is a symlink: .debug points to root's directory.
"${as_user[@]}" ln -s "$T" "$T/folder/.debug"
"${as_user[@]}" touch "$T/mounted/mounted.debug"
install -o "$USER_ID" "$T/own.debug" "$T/own/own.debug"
mkdir -p "$(dirname "$(debug_path host)")" && cp "$T/host.debug" "$(debug_path host)"

for name in linked folder own host; do start "${as_user[@]}" "$T/$name/$name" 60; done
# shellcheck disable=SC2016
start "${as_user[@]}" "${namespaces[@]}" sh -c 'mount --bind "$0" "$1" && exec "$2" 60' \
	"$T/mounted.debug" "$T/mounted/mounted.debug" "$T/mounted/mounted"
# shellcheck disable=SC2016
start "${as_user[@]}" "${namespaces[@]}" sh -c 'mount -t tmpfs none /usr/lib/debug &&
	mkdir -p "$(dirname "$1")" && touch "$1" && mount --bind "$0" "$1" && exec "$2" 60' \
	"$T/by_id.debug" "$(debug_path by_id)" "$T/by_id/by_id"

profile -a -F 997 -d 2 --by comm -f
check_equal "the run's status" "$STATUS" 0

nameless() {
	check "$2" test "$(sum_matching "^$1;")" -gt 0 -a "$(sum_matching "^$1;.*$1_")" -eq 0
}
nameless linked "root's file by a link of the user's"
nameless folder "root's file in a folder behind a link of the user's"
nameless mounted "root's file, mounted beside the program"
nameless by_id "root's file, mounted where the host has debug files"
check "the owner's own debug file" test "$(sum_matching '^own;.*own_inner')" -gt 0
check "root's debug file of a user's program" test "$(sum_matching '^host;.*host_inner')" -gt 0
