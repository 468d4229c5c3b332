#!/usr/bin/env bash
# Real JVMs, started in various ways, are asked for their perf map. Whether or not they write one, they keep
# running, print nothing because of the request, and no file of ours is left.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
ASK=$ROOT/build/tests/tools/ask_java

if [ "$(id -u)" -ne 0 ]; then
	skip "all" "root"
	exit 0
fi
if ! command -v java >/dev/null || ! command -v javac >/dev/null; then
	skip "all" "a JDK (java and javac)"
	exit 0
fi
if [ ! -x "$ASK" ]; then
	fail "all" "$ASK must be built: make programs"
	exit 1
fi
javac -d "$T" tests/live/programs/JavaLoad.java 2>/dev/null ||
	{ fail "all" "javac does not work" && exit 1; }

# start_jvm COMMAND…: returns when the JVM runs; its pid is in $JVM.
start_jvm() {
	start "$@"
	JVM=$PID
	wait_until 20 grep -q '^ready' "$T/started" || note "$(cat "$T/started")"
}

# stop_jvm: also removes its files in /tmp, which a killed JVM leaves behind.
stop_jvm() {
	kill -KILL "$JVM" 2>/dev/null
	wait "$PID" 2>/dev/null
	rm -f "/tmp/perf-$JVM.map" "/tmp/.java_pid$JVM"
}

ask() { "$ASK" "$JVM" "${1:-5}" >"$T/answer" 2>"$T/err"; }

# check_asked NAME WANTED: the answer contains WANTED; the JVM is unchanged.
check_asked() {
	ask
	if grep -q -- "$2" "$T/answer"; then
		pass "$1: $2"
	else
		fail "$1" "$(cat "$T/answer" "$T/err")"
	fi
	sleep 0.2
	check "$1: lives on" kill -0 "$JVM"
	check_equal "$1: its output" "$(grep -v '^Picked up' "$T/started")" ready
	check "$1: nothing is left" test ! -e "/proc/$JVM/root/tmp/.attach_pid$(inner_pid "$JVM")"
}

inner_pid() { awk '$1 == "NSpid:" { print $NF }' "/proc/$1/status"; }

# --- ways to start a JVM --------------------------------------------------------------------------

written='^0: Java, its perf map has [0-9]\{4,\} bytes'
load=(-cp "$T" JavaLoad 60)

start_jvm java "${load[@]}"
check_asked "plain" "$written"
check "its compiled method is in the map" grep -q 'JavaLoad.work' "/tmp/perf-$JVM.map"
check_asked "a second time" "$written"
stop_jvm

start_jvm java -Xrs "${load[@]}"
check_asked "-Xrs" "$written"
stop_jvm

start_jvm java -XX:+DisableAttachMechanism "${load[@]}"
check_asked "-XX:+DisableAttachMechanism" "it runs with -XX:+DisableAttachMechanism"
stop_jvm

start_jvm java -Xrs -XX:+DisableAttachMechanism "${load[@]}"
check_asked "-Xrs -XX:+DisableAttachMechanism" "it runs with -XX:+DisableAttachMechanism"
stop_jvm

start_jvm env JAVA_TOOL_OPTIONS=-XX:+DisableAttachMechanism java "${load[@]}"
check_asked "the same in its environment" "it runs with -XX:+DisableAttachMechanism"
stop_jvm

for jdk in /usr/lib/jvm/*/bin/java; do
	if [ "$(readlink -f "$jdk")" = "$(readlink -f "$(command -v java)")" ]; then
		continue
	fi
	start_jvm "$jdk" "${load[@]}"
	check_asked "$jdk" "$written"
	stop_jvm
done

# --- users ----------------------------------------------------------------------------------------

other=(setpriv --reuid 12345 --regid 12346 --clear-groups)
start_jvm "${other[@]}" java "${load[@]}"
check_asked "another user's" "$written"
stop_jvm

# The JVM cannot write the map, and reports that only in its own output.
start_jvm "${other[@]}" java "${load[@]}"
echo 'somebody else was here' >"/tmp/perf-$JVM.map"
check_asked "a map that it can't write" "/tmp/perf-$JVM.map belongs to another user"
stop_jvm

# --- in a container --------------------------------------------------------------------------------

# Separate pid, mount and user namespaces, and a private /tmp. Inside, the JVM is pid 1 and root.
mkdir "$T/empty"
# shellcheck disable=SC2016
script='mount --bind "$1" /mnt && mount -t tmpfs none /tmp && exec java -cp /mnt JavaLoad 60'
container=(unshare --user --map-root-user --mount --pid --fork --mount-proc --kill-child)
for user in root another; do
	command=("${container[@]}")
	[ $user = root ] || command=("${other[@]}" "${container[@]}")
	if ! "${command[@]}" true 2>/dev/null; then
		skip "in a container of $user" "the right to make user namespaces"
		continue
	fi
	start_jvm "${command[@]}" bash -c "$script" - "$T"
	JVM=$(awk '{ print $1 }' "/proc/$PID/task/$PID/children")
	check_equal "in a container of $user: is pid 1" "$(inner_pid "$JVM")" 1
	check_asked "in a container of $user" "$written"
	check "in a container of $user: the map is there" test -s "/proc/$JVM/root/tmp/perf-1.map"
	check "in a container of $user: and not here" test ! -e /tmp/perf-1.map
	rm -f "/proc/$JVM/root/tmp/perf-1.map"
	setpriv --bounding-set=-sys_chroot --inh-caps=-sys_chroot "$ASK" "$JVM" 5 >"$T/answer" 2>"$T/err"
	check "in a container of $user, without sys_chroot: the reason" \
		grep -q CAP_SYS_CHROOT "$T/answer" "$T/err"
	check "in a container of $user, without sys_chroot: not asked" \
		test ! -e "/proc/$JVM/root/tmp/perf-1.map"
	stop_jvm
done

# --- during startup -------------------------------------------------------------------------------

# At one point of its startup, the signal would kill a JVM.
died=0
for delay in 0 0.01 0.02 0.03 0.04 0.05 0.06 0.08 0.1 0.13 0.16 0.2; do
	start java "${load[@]}"
	JVM=$PID
	sleep $delay
	ask 2
	note "after $delay s: $(cat "$T/answer")"
	wait_until 20 grep -q '^ready' "$T/started" || died=$((died + 1))
	kill -0 "$JVM" 2>/dev/null || died=$((died + 1))
	stop_jvm
done
check_equal "no JVM died from being asked during its startup" $died 0
