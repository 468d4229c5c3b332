#!/usr/bin/env bash
# -o in a directory like /tmp, where another user has put a fifo, a symlink, a file or a hard link under the
# name that root is going to write: with the kernel's own protections off, and at their strictest.
#
# Alone: it changes sysctls.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

need_live
if ! command -v setpriv >/dev/null; then
	skip "all" "setpriv"
	exit 0
fi

shared=$T/shared
own=$T/own
mkdir -m 1777 "$shared"
mkdir "$own"
echo 'app;main;secret_of_root 7' >"$T/in.folded"
settings=(symlinks hardlinks fifos regular)

declare -A saved
for name in "${settings[@]}"; do
	saved[$name]=$(cat "/proc/sys/fs/protected_$name")
done
restore() {
	local name
	for name in "${settings[@]}"; do
		echo "${saved[$name]}" >"/proc/sys/fs/protected_$name"
	done
	cleanup
}
trap restore EXIT

protect() { # protect no|yes
	local name
	for name in "${settings[@]}"; do
		case $1-$name in
		no-*) echo 0 ;;
		*-fifos | *-regular) echo 2 ;;
		*) echo 1 ;;
		esac >"/proc/sys/fs/protected_$name" || return 1
	done
}

other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# write PATH: runs stook as root; the status is 124 if it hangs.
write() {
	timeout -k 2 10 "$STOOK" flame "$T/in.folded" -o "$1" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}

refused() { [ "$STATUS" -eq 1 ] && grep -q "cannot write .* belongs to user 65534" "$T/err"; }
written() { [ "$STATUS" -eq 0 ] && [ -f "$1" ] && grep -q secret_of_root "$1"; }
lacks() { ! grep -q secret_of_root "$1" 2>/dev/null; }
is_empty() { [ ! -s "$1" ]; }
is_unmade() { [ ! -e "$1" ]; }

attack() { # attack no|yes: with the kernel's protections
	local how="protections $1" out=$shared/out.svg file

	# A fifo with a reader would get the whole profile; one without a reader would make the run hang.
	other mkfifo "$shared/heard.svg" "$shared/unheard.svg"
	start other timeout 20 cat "$shared/heard.svg"
	local reader=$PID
	write "$shared/heard.svg"
	check "$how: a fifo of another user is refused" refused
	stop "$reader"
	check "$how: and its reader gets nothing" is_empty "$T/started"
	write "$shared/unheard.svg"
	check "$how: a fifo without a reader does not hang the run" refused

	# A file of another user, who would own the result.
	other sh -c "echo mine >'$shared/foreign.svg'; chmod 666 '$shared/foreign.svg'"
	write "$shared/foreign.svg"
	check "$how: a file of another user is refused" refused
	check "$how: and gets nothing" lacks "$shared/foreign.svg"

	# Symlinks: to a file of root's, to a missing file, and in the middle of the path.
	echo precious >"$own/precious.svg"
	other ln -s "$own/precious.svg" "$shared/link.svg"
	other ln -s "$own/new.svg" "$shared/dangling.svg"
	other ln -s "$own" "$shared/folder"
	ln -s "$shared/link.svg" "$own/through.svg"
	for file in link.svg dangling.svg folder/new.svg folder/precious.svg; do
		write "$shared/$file"
		check "$how: a symlink of another user is refused ($file)" refused
	done
	write "$own/through.svg"
	check "$how: also behind a symlink of ours" refused
	check_equal "$how: the symlink's target is unchanged" "$(cat "$own/precious.svg")" precious
	check "$how: no file is created through a symlink" is_unmade "$own/new.svg"

	# A hard link to a file of root's: with the protections on, it cannot be created.
	chmod 600 "$own/precious.svg"
	if other ln "$own/precious.svg" "$shared/hard.svg" 2>/dev/null; then
		write "$shared/hard.svg"
		check_equal "$how: a file with a hard link is not written into" \
			"$(cat "$own/precious.svg")" precious
	fi

	# Root's own files still work: a new file, an existing file, link and fifo, and a directory of its own.
	write "$out"
	check "$how: a new file is written" written "$out"
	write "$out"
	check "$how: and written again" written "$out"
	ln -s "$own/target.svg" "$shared/ours.svg"
	write "$shared/ours.svg"
	check "$how: a symlink of ours is followed" written "$own/target.svg"
	mkfifo "$shared/fifo.svg"
	start timeout 20 cat "$shared/fifo.svg"
	write "$shared/fifo.svg"
	wait "$PID"
	check "$how: our own fifo is written to its reader" grep -q secret_of_root "$T/started"
	chown 65534 "$own/target.svg"
	write "$own/target.svg"
	check "$how: a file of another user in a folder of ours" written "$own/target.svg"
	check_equal "$how: still belongs to that user" "$(stat -c %u "$own/target.svg")" 65534
	# The owner of a directory may leave files there for everybody: the kernel allows this too.
	mkdir -m 1777 "$T/his" && chown 65534 "$T/his"
	other touch "$T/his/left.svg"
	write "$T/his/left.svg"
	check "$how: a file of the folder's owner" written "$T/his/left.svg"
	rm -rf "${shared:?}"/* "${own:?}"/* "$T/his"
}

for protections in no yes; do
	if protect "$protections" 2>/dev/null; then
		attack "$protections"
	else
		skip "protections $protections" "the right to write /proc/sys/fs/protected_*"
	fi
done
