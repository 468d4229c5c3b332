#!/usr/bin/env bash
# Names inside a container: its own mounts, pids, users, C library (musl), /tmp and debug files, while
# the host has files of the same names that lie. Everything planted there to lead out of it, or to
# make a reader hang, costs that program its names and nothing else.
#
# The test runs in a mount namespace of its own, so that the host's lies are nobody else's.
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

# compile NAME: $T/NAME.o, whose functions are called NAME_outer and so on.
compile() { musl-gcc "${PROGRAM_FLAGS[@]}" -DNAME="$1" -c -o "$T/$1.o" $SOURCES/names.c; }

# link FUNCTIONS NAME: $T/FUNCTIONS/NAME with the build id of NAME; beside it NAME.stripped, NAME.debug.
link() {
	local file=$T/$1/$2
	musl-gcc -Wl,--build-id="0x$(id_of "$2")" -o "$file" "$T/$1.o" &&
		objcopy --only-keep-debug "$file" "$file.debug" && strip -o "$file.stripped" "$file"
}

# put FILE PATH: copies with the folders above it.
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

# --- what lies where -------------------------------------------------------------------------------

# The container has the right one, the host a liar of the same build id.
put "$T/true/debug.debug" "$root$HOST_DEBUG/$(debug_path debug)"
put "$T/lie/debug.debug" "$HOST_DEBUG/$(debug_path debug)"
# The host has one at the right place, but of another program.
put "$T/lie/plain.debug" "$HOST_DEBUG/$(debug_path elsewhere)"
# The same path in both, and the host's is another program.
put "$T/true/plain" "$root$T/same/same"
put "$T/lie/plain" "$T/same/same"
# A debug file beside it, and the host's is another program's.
objcopy --remove-section .note.gnu.build-id --add-gnu-debuglink="$T/true/linked.debug" \
	"$T/true/linked.stripped" "$T/true/linked.link" 2>/dev/null
objcopy --remove-section .note.gnu.build-id "$T/true/linked.debug" "$T/true/linked.debug.noid"
objcopy --remove-section .note.gnu.build-id "$T/lie/linked.debug" "$T/lie/linked.debug.noid"
put "$T/true/linked.debug.noid" "$root$T/same/linked.debug"
put "$T/lie/linked.debug.noid" "$T/same/linked.debug"
objcopy --remove-section .gnu_debuglink --add-gnu-debuglink="$root$T/same/linked.debug" \
	"$T/true/linked.link" "$root$T/same/linked"

# planted NAME: where NAME's debug file would lie in the container.
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
# All of it is its root's: the host's root has no say in there.
chown -hR $USER_ID "$root"

# --- the containers --------------------------------------------------------------------------------

# Words for bash in a new mount namespace, in the folder that is to be the root. Of bash nothing but
# what is built in works behind pivot_root.
# shellcheck disable=SC2016
enter='mount -t proc none proc && pivot_root . old && cd / && /bin/detach || exit 1
	run() {
		local path=$1
		shift
		"$path" "$@" >"/tmp/${path##*/}.out" <&- &
		echo "$!" >"/tmp/${path##*/}.pid"
	}'

# pid_of NAME: as the container has it.
pid_of() { cat "$root/tmp/$1.pid"; }

# made_by NAME: the line for a perf map that it printed.
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

# Container in container, root on a filesystem that ends with it; all of it ends while we sample.
# shellcheck disable=SC2016
nested='mkdir "$1/tmp/inner" && mount -t tmpfs none "$1/tmp/inner" &&
	cd "$1" && cp --parents bin/nested bin/nestedcode bin/detach ".$2" ".$3" tmp/inner &&
	cd tmp/inner && mkdir proc tmp old || exit 1
	'"$enter"'
	run /bin/nested 1.5
	run /bin/nestedcode 1.5
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

# With all of a host's rights but another root, and the host's processes in its /proc.
mkdir -p "$T/chroot/proc" "$T/chroot/bin" "$T/chroot$(dirname "$loader")"
cp "$root/bin/magic" "$T/chroot/bin/magic"
cp "$root$loader" "$T/chroot$loader"
put "$T/lie/magic.debug" "$T/outside/magic.debug"
mkdir -p "$(dirname "$T/chroot$HOST_DEBUG/$(debug_path magic)")"
ln -s "/proc/1/root$T/outside/magic.debug" "$T/chroot$HOST_DEBUG/$(debug_path magic)"
# shellcheck disable=SC2016
start unshare --mount bash -c 'mount --bind /proc "$1/proc" && exec chroot "$1" /bin/magic 30' - \
	"$T/chroot" # not mounted for us, who remove the folder in the end

for name in foreign roots mapfifo maplink; do
	wait_until 10 has_made $name || note "$name did not begin: $(cat "$T/started")"
done

# perf_map NAME: where the container's perf map is looked for; a decoy for the host's same number.
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
profile -F 997 -d 3 --by comm,cgroup --annotate -f
sampled_until=$(now_ms)
{ kill -KILL "$container" && wait "$container"; } 2>/dev/null # it takes no other signal

# named NAME STACK: there are samples of the program, and they end in STACK.
named() {
	check "$1" test "$(sum_matching "^$2;.*main;$3( |;[^ ]*_\[k\] )")" -gt 0
}
# nameless NAME COMM: it was sampled, and its own code has no name.
nameless() {
	check "$1" test "$(sum_matching "^$2;.*(\[unknown\](_\[j\])?|;$2[+]0x[0-9a-f]+) ")" -gt 0 -a \
		"$(sum_matching "^$2;.*_(outer|inner|search|0_)")" -eq 0
}

check_equal "the run's status" "$STATUS" 0
check "it ends in time" test "$WALL_MS" -lt 20000
check "conservation law" law_holds
named "a program with symbols" plain 'true_outer;true_inner'
named "musl's functions" plain 'true_outer;(true_search;)?memchr'
check "and not the host's C library" test \
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
named "a perf map by the inner pid" code 'run_made;made_0_\[j\]'
nameless "a perf map of root, who is not root there" roots
nameless "another user's perf map" foreign
nameless "a fifo for a perf map" mapfifo
nameless "a link for a perf map" maplink
check "the nested container ended before the run" \
	test "$(cat "$T/nested-ended" 2>/dev/null || echo 99999999999999)" -lt "$sampled_until"
named "a container in a container that has ended: debug file" nested 'true_outer;true_inner'
named "a container in a container that has ended: perf map" nestedcode 'run_made;made_0_\[j\]'
check_equal "no name of a liar" "$(grep -c lie_ "$T/out")" 0
if [ "$cgroup" ]; then
	check "--by cgroup shows the container's" \
		test "$(sum_matching "^plain;cgroup [^;]*stook-test-$$;.*true_inner")" -gt 0
else
	skip "--by cgroup" "a cgroup2 mount in which a cgroup can be made"
fi
