#!/usr/bin/env bash
# Pids are those of the user's pid namespace, and paths are resolved in the target's mount namespace.
#
# Alone: it judges how many samples there are in a second.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

if ! unshare --mount --pid --fork --mount-proc true 2>/dev/null; then
	skip "all" "the right to make pid and mount namespaces"
	exit 0
fi
export STOOK PROGRAMS T

# inside SCRIPT ARG…: runs bash in a new pid namespace, where it is pid 1; STATUS is its exit status. Its output
# goes to $T/out and $T/err, and stook in it writes $T/stats.
inside() {
	timeout 60 unshare --mount --pid --fork --mount-proc bash -c "$@" >"$T/out" 2>"$T/err"
	STATUS=$?
}

# --- pids ------------------------------------------------------------------------------------------

# shellcheck disable=SC2016
inside '"$PROGRAMS/spin" 20 >"$T/tid" & spin=$!
	echo "$spin" >"$T/pid"
	"$STOOK" profile -f -F 499 -d 1 --by pid,comm --stats "$T/stats" -p "$spin"
	status=$?
	kill "$spin"
	exit $status'
pid=$(cat "$T/pid")
check_equal "-p with a pid of our own namespace: status 0" "$STATUS" 0
check "-p with a pid of our own namespace: sees it" test "$(sum_matching spin_inner)" -ge 120
check "--by pid prints that pid" \
	test "$(sum_matching "^([^;]*[^0-9;])?$pid([^0-9][^;]*)?;")" -eq "$(sum_folded <"$T/out")"
check "conservation law in a pid namespace" law_holds

# shellcheck disable=SC2016
inside '"$STOOK" profile -f -F 499 --stats "$T/stats" -- "$PROGRAMS/spin" 1'
check "-- CMD in a pid namespace" test "$(sum_matching spin_inner)" -ge 120

# shellcheck disable=SC2016
inside '"$PROGRAMS/forkstorm" 20 2 >/dev/null & storm=$!
	"$STOOK" profile -f -F 499 -d 1 --stats "$T/stats" -p "$storm"
	kill "$storm"'
check "-p follows children in a pid namespace" test "$(sum_matching storm_inner)" -ge 100

# Seen from outside: a process of another pid namespace by its outer pid.
unshare --mount --pid --fork --mount-proc "$PROGRAMS/spin" 20 >/dev/null 2>&1 &
outer=$!
STARTED+=("$outer")
child_spins() {
	target=$(awk '{ print $1 }' "/proc/$outer/task/$outer/children" 2>/dev/null)
	[ "$(cat "/proc/${target:-0}/comm" 2>/dev/null)" = spin ]
}
wait_until 10 child_spins
profile -f -F 499 -d 1 --by pid -p "${target:-$outer}"
check "a target in another pid namespace, by the pid that we see" \
	test "$(sum_matching spin_inner)" -ge 120
check "--by pid prints the pid that we see" \
	test "$(sum_matching "^([^;]*[^0-9;])?${target:-0}([^0-9][^;]*)?;")" -ge 120
kill "${target:-$outer}" 2>/dev/null

# --- files -----------------------------------------------------------------------------------------

# The program is on a tmpfs that only its own mount namespace has. Our root has a decoy under the same path:
# reading the decoy would give wrong names or none.
mkdir "$T/hidden"
cp "$PROGRAMS/forkstorm" "$T/hidden/program"
# shellcheck disable=SC2016
start unshare --mount bash -c 'mount -t tmpfs none "$T/hidden" &&
	cp "$PROGRAMS/spin" "$T/hidden/program" && exec "$T/hidden/program" 20'
wait_until 5 grep -q '^[0-9]' "$T/started"
profile -f -F 499 -d 1 -p "$PID"
check "a file in the target's mount namespace, not ours of the same path" \
	test "$(sum_matching 'main;spin_outer;spin_inner')" -ge 120
stop "$PID"

# The same for a process that exits before anything else of it can be read.
# shellcheck disable=SC2016
inside 'mount -t tmpfs none "$T/hidden" && cp "$PROGRAMS/shortlived" "$T/hidden/program" &&
	"$PROGRAMS/spawn" "$T/hidden/program" 60 5000 50000 2 >/dev/null' &
spawner=$!
STARTED+=("$spawner")
"$STOOK" profile -f -F 999 -d 1 --comm '^program$' --stats "$T/stats" >"$T/short" 2>"$T/err2"
wait "$spawner"
named=$(sum_matching ';a_outer' "$T/short")
all=$(sum_folded <"$T/short")
note "short-lived in another mount namespace: $named of $all samples named"
check "short-lived processes in another mount namespace are named" \
	test "$named" -ge $((all * 85 / 100)) -a "$all" -ge 100

# A changed root. Static programs would hide errors in finding libraries, so the libraries are there too.
root=$T/root
mkdir -p "$root/tmp"
cp "$PROGRAMS/spin" "$root/tmp/spin"
ldd "$PROGRAMS/spin" | grep -oE '/[^ ]+' | while read -r library; do
	mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"
done
start chroot "$root" /tmp/spin 20
wait_until 5 grep -q '^[0-9]' "$T/started"
profile -f -F 499 -d 1 -p "$PID"
check "a target with another root" test "$(sum_matching 'main;spin_outer;spin_inner')" -ge 120
stop "$PID"

# --- a reused pid ------------------------------------------------------------------------------------

# A private pid namespace allows choosing the next pid: three different programs get the same pid.
# shellcheck disable=SC2016
inside 'cd "$T" || exit 1
	again() { echo 299 >/proc/sys/kernel/ns_last_pid && "$@" >>"$T/output" & wait $!; echo $! >>"$T/pids"; }
	(
		sleep 0.5
		again "$PROGRAMS/spin" 0.4
		again "$PROGRAMS/shortlived" 400000
		again "$PROGRAMS/stacks" 0.4
	) &
	"$STOOK" profile -f -F 999 -d 3 --by pid,comm --stats "$T/stats" -a'
rm -f "$T/tid"
if [ "$(grep -c '^300$' "$T/output")" -ge 1 ]; then
	check "pid used again: the first program's names" \
		test "$(sum_matching 'spin.*;main;spin_outer;spin_inner')" -ge 100
	check "pid used again: the second's" \
		test "$(sum_matching 'shortlived.*;main;a_outer;b_middle;c_inner')" -ge 100
	check "pid used again: the third's" test "$(sum_matching 'stacks.*;main;walk_until;')" -ge 100
	check "pid used again: no name of one in a stack of another" \
		test "$(sum_matching 'spin.*(a_outer|walk_until)|shortlived.*(spin_outer|walk_until)|stacks.*(a_outer|spin_outer)')" -eq 0
else
	skip "pid used again" "/proc/sys/kernel/ns_last_pid that can be written"
fi

# --- containers of one image -------------------------------------------------------------------------

# The same file below two overlayfs: a probe in one is in both, and a second one would count each call twice.
mkdir "$T/image" "$T/seen" "$T/room"
cp "$PROGRAMS/spin" "$T/image/imaged"
# shellcheck disable=SC2016
contained=(unshare --mount sh -c 'mount -t tmpfs none "$0/room" && mkdir "$0/room/u" "$0/room/w" &&
	mount -t overlay overlay -o "lowerdir=$0/image,upperdir=$0/room/u,workdir=$0/room/w" "$0/seen" &&
	exec "$0/seen/imaged" 30' "$T")
if ! unshare --mount sh -c "mount -t tmpfs none '$T/room' && mkdir '$T/room/u' '$T/room/w' && mount -t overlay overlay \
	-o 'lowerdir=$T/image,upperdir=$T/room/u,workdir=$T/room/w' '$T/seen'" 2>/dev/null; then
	skip "containers of one image" "overlayfs"
	exit 0
fi
start "${contained[@]}"
one=$PID
start "${contained[@]}"
other=$PID
runs() { [ "$(cat "/proc/$one/comm")" = imaged ] && [ "$(cat "/proc/$other/comm")" = imaged ]; }
wait_until 10 runs
"$STOOK" funccount -l -p "$one,$other" imaged:spin_inner >"$T/out" 2>"$T/err"
check_equal "two containers of one image: one probe" "$(wc -l <"$T/out")" 1
"$STOOK" funccount -l -t "$one" imaged:spin_inner >"$T/out" 2>"$T/err"
check_equal "a thread in a container: the file that it runs" "$(wc -l <"$T/out")" 1
