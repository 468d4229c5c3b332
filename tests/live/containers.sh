#!/usr/bin/env bash
# Names inside a container with its own mounts, pids, users, C library (musl), /tmp and debug files. The host
# has files of the same names with wrong symbols ("lie"). The container also has files that are meant to lead a
# reader out of the container or make it hang: their programs must have no names, and nothing else may be
# affected.
#
# The test runs in its own mount namespace, so that other processes do not see the wrong files on the host.
set -u
if [ -z "${OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	OWN_MOUNTS=1 exec unshare --mount bash "$0"
fi
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

USER_ID=23456 # the container's root, as the host sees it
OTHER_ID=23457
as_user=(setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups)
namespaces=(unshare --user --map-root-user --mount --pid --fork --kill-child)

if [ -z "${OWN_MOUNTS:-}" ] || ! "${as_user[@]}" "${namespaces[@]}" true 2>/dev/null; then
	skip "all" "the right to make mount, pid and user namespaces"
	exit 0
fi
for tool in musl-gcc objcopy strip; do
	if ! command -v $tool >/dev/null; then
		skip "all" "$tool"
		exit 0
	fi
done

HOST_DEBUG=/usr/lib/debug
mkdir -p $HOST_DEBUG && mount -t tmpfs none $HOST_DEBUG || exit 1
DECOYS=() # files of ours in the host's /tmp
trap 'rm -f "${DECOYS[@]}"; cleanup' EXIT

# --- the programs ----------------------------------------------------------------------------------

PROGRAM_FLAGS=(-std=gnu11 -O1 -g -D_GNU_SOURCE -w -fno-omit-frame-pointer
	-mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls)
SOURCES=tests/live/programs/special

id_of() { sha1sum <<<"$1" | cut -c 1-40; }
debug_path() { id_of "$1" | sed 's|^..|.build-id/&/|; s|$|.debug|'; }

# compile NAME: makes $T/NAME.o, whose functions are called NAME_outer and so on.
compile() { musl-gcc "${PROGRAM_FLAGS[@]}" -DNAME="$1" -c -o "$T/$1.o" $SOURCES/names.c; }

# link FUNCTIONS NAME: links FUNCTIONS.o to $T/FUNCTIONS/NAME, with a build id made from NAME. Makes NAME.stripped
# and NAME.debug beside it.
link() {
	local file=$T/$1/$2
	musl-gcc -Wl,--build-id="0x$(id_of "$2")" -o "$file" "$T/$1.o" &&
		objcopy --only-keep-debug "$file" "$file.debug" && strip -o "$file.stripped" "$file"
}

# put FILE PATH: copies FILE to PATH and creates the directories of PATH.
put() { mkdir -p "$(dirname "$2")" && cp "$1" "$2"; }

mkdir "$T/true" "$T/lie"
root=$T/root
mkdir -p "$root"/{bin,proc,tmp,old}
chmod 1777 "$root/tmp"
built=true
compile true && compile lie || built=false
for name in plain debug elsewhere linked outward shadow fifo device nested magic; do
	link true $name || built=false
	put "$T/true/$name.stripped" "$root/bin/$name"
done
for name in plain debug linked outward magic; do
	link lie $name || built=false
done
cp "$T/true/plain" "$root/bin/plain"
musl-gcc "${PROGRAM_FLAGS[@]}" -o "$root/bin/code" $SOURCES/makes_code.c || built=false
for name in foreign roots mapfifo maplink nestedcode; do
	cp "$root/bin/code" "$root/bin/$name"
done
printf '#include <sys/mount.h>\nint main(void) { return umount2("/old", MNT_DETACH); }\n' |
	musl-gcc -static -x c -w -o "$root/bin/detach" -D_GNU_SOURCE - || built=false
loader=$(readelf -l "$root/bin/plain" 2>/dev/null | sed -n 's/.*interpreter: \(.*\)]/\1/p')
put "$(readlink -f "$loader")" "$root$loader" || built=false
if ! $built; then
	fail "all" "the container's programs can't be built"
	exit 1
fi

# --- the files -------------------------------------------------------------------------------------

# The container has the right debug file; the host has one with wrong symbols and the same build id.
put "$T/true/debug.debug" "$root$HOST_DEBUG/$(debug_path debug)"
put "$T/lie/debug.debug" "$HOST_DEBUG/$(debug_path debug)"
# Only the host has a debug file for this build id, and it is another program's.
put "$T/lie/plain.debug" "$HOST_DEBUG/$(debug_path elsewhere)"
# Container and host have programs at the same path; the host's is another program.
put "$T/true/plain" "$root$T/same/same"
put "$T/lie/plain" "$T/same/same"
# A debug file beside the program, found by .gnu_debuglink; the host has another program's at the same path.
objcopy --remove-section .note.gnu.build-id --add-gnu-debuglink="$T/true/linked.debug" \
	"$T/true/linked.stripped" "$T/true/linked.link" 2>/dev/null
objcopy --remove-section .note.gnu.build-id "$T/true/linked.debug" "$T/true/linked.debug.noid"
objcopy --remove-section .note.gnu.build-id "$T/lie/linked.debug" "$T/lie/linked.debug.noid"
put "$T/true/linked.debug.noid" "$root$T/same/linked.debug"
put "$T/lie/linked.debug.noid" "$T/same/linked.debug"
objcopy --remove-section .gnu_debuglink --add-gnu-debuglink="$root$T/same/linked.debug" \
	"$T/true/linked.link" "$root$T/same/linked"

# planted NAME: prints the path at which NAME's debug file is searched for in the container.
planted() {
	local path
	path=$root$HOST_DEBUG/$(debug_path "$1")
	mkdir -p "$(dirname "$path")" && echo "$path"
}
out=../../../../../../../../../..
put "$T/lie/outward.debug" "$T/outside/outward.debug"
ln -s "$out$T/outside/outward.debug" "$(planted outward)"
ln -s "$out/etc/shadow" "$(planted shadow)"
mkfifo "$(planted fifo)"
mknod "$(planted device)" c 1 5 # zero
put "$T/true/nested.debug" "$root$HOST_DEBUG/$(debug_path nested)"
# The container's root owns all of its files, which must not be trusted like files of the host's root.
chown -hR $USER_ID "$root"

# --- the containers --------------------------------------------------------------------------------

# Commands for bash in a new mount namespace; its current directory becomes the root. After pivot_root only the
# built-in commands of bash work.
# shellcheck disable=SC2016
enter='mount -t proc none proc && pivot_root . old && cd / && /bin/detach || exit 1
	run() {
		local path=$1
		shift
		"$path" "$@" >"/tmp/${path##*/}.out" <&- &
		echo "$!" >"/tmp/${path##*/}.pid"
	}'

# pid_of NAME: prints the pid inside the container.
pid_of() { cat "$root/tmp/$1.pid"; }

# made_by NAME: prints the program's output, which is a line for a perf map.
made_by() { cat "$root/tmp/$1.out"; }
has_made() { [ -s "$root/tmp/$1.out" ]; }

cgroup_mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
cgroup=$cgroup_mount/stook-test-$$
if [ "$cgroup_mount" ] && mkdir "$cgroup" 2>/dev/null; then
	trap 'rm -f "${DECOYS[@]}"; cleanup; sleep 0.2; rmdir "$cgroup"' EXIT
else
	cgroup=
fi

# shellcheck disable=SC2016
start bash -c '[ -z "$1" ] || echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$cgroup" \
	"${as_user[@]}" "${namespaces[@]}" bash -c 'mount --bind "$1" "$1" && cd "$1" || exit 1
	'"$enter"'
	for name in plain debug elsewhere outward shadow fifo device; do run "/bin/$name" 30; done
	run "$2/same" 30
	run "$2/linked" 30
	run /bin/code 30
	for name in foreign roots mapfifo maplink; do run "/bin/$name" 30 1 -; done
	wait' - "$root" "$T/same"
container=$PID

# A container inside the container, with its root on a tmpfs of its own. Both end before sampling ends.
# shellcheck disable=SC2016
nested='mkdir "$1/tmp/inner" && mount -t tmpfs none "$1/tmp/inner" &&
	cd "$1" && cp --parents bin/nested bin/nestedcode bin/detach ".$2" ".$3" tmp/inner &&
	cd tmp/inner && mkdir proc tmp old || exit 1
	'"$enter"'
	run /bin/nested 2
	run /bin/nestedcode 2
	wait'
# shellcheck disable=SC2016
start_nested() {
	(
		sleep 0.5
		"${as_user[@]}" "${namespaces[@]}" \
			unshare --mount --pid --fork --kill-child bash -c "$nested" - "$root" "$loader" \
			"$HOST_DEBUG/$(debug_path nested)"
		now_ms >"$T/nested-ended"
	) >&2 &
	STARTED+=($!)
}

# A chroot: in the host's namespaces and with the host's /proc, but with another root.
mkdir -p "$T/chroot/proc" "$T/chroot/bin" "$T/chroot$(dirname "$loader")"
cp "$root/bin/magic" "$T/chroot/bin/magic"
cp "$root$loader" "$T/chroot$loader"
put "$T/lie/magic.debug" "$T/outside/magic.debug"
mkdir -p "$(dirname "$T/chroot$HOST_DEBUG/$(debug_path magic)")"
ln -s "/proc/1/root$T/outside/magic.debug" "$T/chroot$HOST_DEBUG/$(debug_path magic)"
# shellcheck disable=SC2016
start unshare --mount bash -c 'mount --bind /proc "$1/proc" && exec chroot "$1" /bin/magic 30' - \
	"$T/chroot" # mounted in a separate namespace: the test can remove the directory

for name in foreign roots mapfifo maplink; do
	wait_until 10 has_made $name || note "$name did not begin: $(cat "$T/started")"
done

# perf_map NAME: prints the path at which the container's perf map is searched for. The decoys are perf maps on
# the host for the same pids.
perf_map() { echo "$root/tmp/perf-$(pid_of "$1").map"; }
sed 's/made/lie_foreign/' "$root/tmp/foreign.out" >"$(perf_map foreign)"
chown $OTHER_ID "$(perf_map foreign)"
sed 's/made/roots/' "$root/tmp/roots.out" >"$(perf_map roots)"
mkfifo -m 666 "$(perf_map mapfifo)"
made_by maplink | sed 's/made/lie_maplink/' >"$root/tmp/other.map"
chown $USER_ID "$root/tmp/other.map"
ln -s /tmp/other.map "$(perf_map maplink)"
for name in code maplink mapfifo; do
	decoy=/tmp/perf-$(pid_of $name).map
	if [ ! -e "$decoy" ]; then
		DECOYS+=("$decoy")
		echo "0 ffffffffffff lie_host" >"$decoy"
	fi
done

# --- the run ---------------------------------------------------------------------------------------

start_nested
profile -F 997 -d 4 --by comm,cgroup --annotate -f
sampled_until=$(now_ms)
{ kill -KILL "$container" && wait "$container"; } 2>/dev/null # as pid 1 of its namespace it ignores other signals

# named CHECK COMM STACK: there are samples of the program whose user stacks end in STACK.
named() {
	local samples
	samples=$(sum_matching "^$2;.*main;$3( |;[^ ]*_\[k\] )")
	check "$1" test "$samples" -gt 0
	[ "$samples" -gt 0 ] || note "$2: $(grep "^$2;" "$T/out" | head -5)"
}
# nameless CHECK COMM: the program was sampled, and its functions have no names.
nameless() {
	check "$1" test "$(sum_matching "^$2;.*(\[unknown\](_\[j\])?|;$2[+]0x[0-9a-f]+) ")" -gt 0 -a \
		"$(sum_matching "^$2;.*_(outer|inner|search|0_)")" -eq 0
}

check_equal "the run's status" "$STATUS" 0
check "it ends in time" test "$WALL_MS" -lt 20000
check "conservation law" law_holds
named "a program with symbols" plain 'true_outer;true_inner'
named "musl's functions" plain 'true_outer;(true_search;)?memchr'
check "musl's functions have no names from the host's C library" test \
	"$(sum_matching '^plain;.*(libc_start_call_main|avx|sse)')" -eq 0
named "a debug file by build id, the container's" debug 'true_outer;true_inner'
named "a program whose path the host has too" same 'true_outer;true_inner'
named "a debug file by link, the container's" linked 'true_outer;true_inner'
nameless "the host's debug file of another build id is not taken" elsewhere
nameless "nor one that a link leads to out of the root" outward
nameless "nor /etc/shadow" shadow
nameless "a fifo" fifo
nameless "a device" device
nameless "a link through /proc/1/root" magic
named "a perf map, found by the pid inside the container" code 'run_made;made_0_\[j\]'
nameless "a perf map of the host's root, who is not the container's root" roots
nameless "another user's perf map" foreign
nameless "a fifo for a perf map" mapfifo
nameless "a link for a perf map" maplink
check "the nested container ended before the run" \
	test "$(cat "$T/nested-ended" 2>/dev/null || echo 99999999999999)" -lt "$sampled_until"
named "a container in a container that has ended: debug file" nested 'true_outer;true_inner'
named "a container in a container that has ended: perf map" nestedcode 'run_made;made_0_\[j\]'
check_equal "no name from a wrong file" "$(grep -c lie_ "$T/out")" 0
if [ "$cgroup" ]; then
	check "--by cgroup shows the container's" \
		test "$(sum_matching "^plain;cgroup [^;]*stook-test-$$;.*true_inner")" -gt 0
else
	skip "--by cgroup" "a cgroup2 mount in which a cgroup can be made"
fi
