#!/usr/bin/env bash
# Ownership of perf maps. In a user namespace, everybody may mount any file that they can name, even without
# permission to read it, over /tmp/perf-PID.map: its lines must not become names.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

USER_ID=65534
as_user=(setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups)
namespaces=(unshare --user --map-root-user --mount)
if ! "${as_user[@]}" "${namespaces[@]}" true 2>/dev/null; then
	skip "all" "the right to make mount and user namespaces"
	exit 0
fi
build makes_code special/makes_code.c gcc "${C_FLAGS[@]}" -fno-omit-frame-pointer || exit 0

MAPS=()
trap 'rm -f "${MAPS[@]}"; cleanup' EXIT

# The address of the code in all of these processes, since address space randomisation is off.
fixed=(setarch --addr-no-randomize)
"${fixed[@]}" "$SPECIAL/makes_code" 0 1 - >"$T/code"
name_it() { sed "s/made_0/$1/" "$T/code"; }

# run NAME COMMAND…: starts a copy of the program, called NAME, through COMMAND.
run() {
	mkdir -p "$T/folder"
	cp "$SPECIAL/makes_code" "$T/folder/$1"
	start "${@:2}" "${fixed[@]}" "${PROGRAM_IN:-$T/folder}/$1" 60 1 -
	eval "$1=$PID"
	MAPS+=("/tmp/perf-$PID.map")
}
# shellcheck disable=SC2016
over_map='touch /tmp/perf-$$.map && mount --bind "$0" /tmp/perf-$$.map && exec "$@"'
# shellcheck disable=SC2016
over_folder='mount --bind "$0" /tmp && exec "$@"'

name_it lie_file >"$T/secret"
chmod 600 "$T/secret"
run file "${as_user[@]}" "${namespaces[@]}" sh -c "$over_map" "$T/secret"

# A file in /proc that belongs to the user, with a line in it.
bash -c 'exec -a "$0" sleep 60' "$(name_it lie_proc)
" &
STARTED+=("$!")
run proc "${as_user[@]}" "${namespaces[@]}" sh -c "$over_map" "/proc/$!/cmdline"

# A directory of root's as /tmp, with a map of root's under the right name.
PROGRAM_IN=/tmp run folder "${as_user[@]}" "${namespaces[@]}" sh -c "$over_folder" "$T/folder"
# shellcheck disable=SC2154
name_it lie_folder >"$T/folder/perf-$folder.map"

run other "${as_user[@]}"
run own "${as_user[@]}"
run daemon "${as_user[@]}" # root has written its map before it gave up its rights
# shellcheck disable=SC2154
{
	name_it lie_other >"/tmp/perf-$other.map" && chown 1:1 "/tmp/perf-$other.map"
	name_it true_own >"/tmp/perf-$own.map" && chown $USER_ID "/tmp/perf-$own.map"
	name_it true_daemon >"/tmp/perf-$daemon.map"
}

are_named() {
	local name
	for name in file proc folder other own daemon; do
		[ "$(cat "/proc/${!name}/comm" 2>/dev/null)" = $name ] || return 1
	done
}
check "all run" wait_until 10 are_named

profile -p "$file,$proc,$folder,$other,$own,$daemon" -F 997 -d 2 --by comm --annotate -f
check_equal "the run's status" "$STATUS" 0

nameless() {
	check "$2" test "$(sum_matching "^$1;.*\[unknown\]_\[j\]")" -gt 0 -a \
		"$(sum_matching "^$1;.*lie_")" -eq 0
}
nameless file "root's own file, mounted over the map"
nameless proc "a file of /proc, mounted over the map"
nameless folder "root's map in a folder that is mounted over /tmp"
nameless other "another user's map"
check "the process' own map" test "$(sum_matching '^own;.*true_own')" -gt 0
check "root's map of a daemon that changed its user" test "$(sum_matching '^daemon;.*true_daemon')" -gt 0
check_equal "no name from an untrusted map" \
	"$(grep -cE '^(file|proc|folder|other|own|daemon);.*lie_' "$T/out")" 0
check "the refused map and its owner are reported" grep -q "perf map .*belongs to another user" "$T/err"
