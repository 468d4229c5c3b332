#!/usr/bin/env bash
# A perf map is in /tmp and named after its process, so users control its content and file type. In all cases
# a run must end in time, show nothing of other users' files, and not modify the file.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live
build makes_code special/makes_code.c gcc "${C_FLAGS[@]}" -fno-omit-frame-pointer || exit 0 # as the other tests build it

PYTHON=$(PATH=/usr/bin:/bin command -v python3) # the user's too
if [ -z "$PYTHON" ]; then
	skip "all" "python3 in /usr/bin"
	exit 0
fi
MAPS=()
trap 'rm -rf "${MAPS[@]}"; cleanup' EXIT
chmod 777 "$T"

# victim: starts a process with code that only $MAP can name; its line in the map is $LINE.
victim() {
	start "${AS_USER[@]}" "$SPECIAL/makes_code" 60 1 -
	MAP=/tmp/perf-$PID.map
	MAPS+=("$MAP")
	rm -rf "$MAP"
	wait_until 10 test -s "$T/started" || note "it did not begin"
	LINE=$(sed 's/made/lie/' "$T/started")
}

# named: prints the number of samples with a name from the map. run: profiles 0.3 s of the process, within the
# time that a loaded machine needs.
named() { sum_matching ';lie_'; }
run() { LIMIT=40 profile_for 30 "$PID" -p "$PID" -F 99 -f; }

# harmless NAME: checks that the run ended by itself in time, and has samples without the name.
harmless() {
	run
	check_equal "$1: ends" $STATUS 0
	check "$1: in time ($WALL_MS ms)" [ "$WALL_MS" -lt 15000 ]
	check "$1: has samples" [ "$(sum_folded <"$T/out")" -gt 10 ]
	check_equal "$1: is not read" "$(named)" 0
	stop "$PID"
}

victim
echo "$LINE" | "${AS_USER[@]}" tee "$MAP" >/dev/null
run
check "the owner's own map is read" [ "$(named)" -gt 10 ]
stop "$PID"

victim
"${AS_USER[@]}" mkfifo "$MAP"
harmless "a fifo"

victim
"${AS_USER[@]}" mkdir "$MAP"
harmless "a folder"

victim
"${AS_USER[@]}" ln -s /etc/shadow "$MAP"
harmless "a symlink to /etc/shadow"
check_equal "nothing of /etc/shadow is printed" "$(cat "$T/out" "$T/err" | grep -c "root:")" 0

victim
"${AS_USER[@]}" mkfifo "$T/fifo"
"${AS_USER[@]}" ln -s "$T/fifo" "$MAP"
harmless "a symlink to a fifo"

victim
"${AS_USER[@]}" ln -s /dev/zero "$MAP"
harmless "a symlink to a device"

victim
echo "$LINE" >"$T/roots.map"
"${AS_USER[@]}" ln -s "$T/roots.map" "$MAP"
chmod 600 "$T/roots.map"
chown 1:1 "$T/roots.map"
harmless "a symlink to another user's file"

# open() for reading waits up to 45 seconds if another process holds a write lease.
victim
"${AS_USER[@]}" "$PYTHON" - "$MAP" "$LINE" >"$T/lease" 2>&1 <<'PYTHON' &
import fcntl, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = open(sys.argv[1], "w")
file.write(sys.argv[2] + "\n")
file.flush()
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("leased", flush=True)
time.sleep(60)
PYTHON
holder=$!
STARTED+=("$holder")
if wait_until 10 grep -q leased "$T/lease"; then
	harmless "a leased file"
else
	skip "a leased file" "leases: $(tail -n 1 "$T/lease")"
	stop "$PID"
fi
stop "$holder"

# Written to while it is read, with other text than before.
victim
"${AS_USER[@]}" "$PYTHON" - "$MAP" "$LINE" >"$T/growing" 2>&1 <<'PYTHON' &
import sys, time
end = time.time() + 30
lines = "".join("%x 10 grown_%d\n" % (0x1000 + 16 * i, i) for i in range(20000))
with open(sys.argv[1], "w") as file:
    file.write(sys.argv[2] + "\n")
    file.flush()
    while time.time() < end and file.tell() < 100 << 20:
        file.write(lines)
        time.sleep(0.002)
PYTHON
writer=$!
STARTED+=("$writer")
run
check_equal "a growing map: ends" $STATUS 0
check "a growing map: in time ($WALL_MS ms)" [ "$WALL_MS" -lt 20000 ]
check "a growing map: memory" [ "$(stat_of max_rss_kb)" -lt 700000 ]
stop "$writer" "$PID"

# Three million lines for one address: as many names as requested, within the memory limit.
victim
"${AS_USER[@]}" "$PYTHON" - "$MAP" "$LINE" <<'PYTHON'
import sys
start = sys.argv[2].split()[0]
with open(sys.argv[1], "w") as file:
    for i in range(150):
        file.write("".join("%s %x lie_%d\n" % (start, 1 + i % 7, j) for j in range(20000)))
PYTHON
run
check_equal "three million lines: ends" $STATUS 0
check "three million lines: CPU time" [ "$(stat_of user_us)" -lt 6000000 ]
check "three million lines: memory" [ "$(stat_of max_rss_kb)" -lt 400000 ]
stop "$PID"

# Control characters, and text that looks like the end of a line of folded stacks.
victim
printf '%s\033]0;owned\a\r;fake 1\n' "$LINE" | "${AS_USER[@]}" tee "$MAP" >/dev/null
run
check "control characters: read" [ "$(sum_folded <"$T/out")" -gt 10 ]
check "control characters: none is printed" no_controls "$T/out"
stop "$PID"
