#!/bin/sh
# The first process of a test machine: mounts what a Linux system has mounted, runs the tests (those
# that $TESTS names, or all) one after the other, and switches the machine off. What the tests share
# is here too; each is a file of its own that is sourced in a shell of its own:
#
#   PASS name   FAIL name: what was seen   SKIP name: what it needed   FIGURE name value…
#
# on the console, a line a check. There is no tool here but busybox. All of it works in /tmp, on
# files with short names.
# shellcheck disable=SC2034 # what the tests read
PATH=/bin
export PATH

pass() { echo "PASS $TEST: $1"; }
fail() { echo "FAIL $TEST: $1${2:+: $2}"; }
skip() { echo "SKIP $TEST: $1: needs $2"; }
figure() { echo "FIGURE $*"; }

# What stook said last, on one line.
said() {
	tail -n 4 err | tr '\n' ' ' | cut -c 1-300
}

# check NAME COMMAND…: what stook said goes whole to the console, where it failed.
check() {
	checked=$1
	shift
	if "$@"; then
		pass "$checked"
	else
		fail "$checked" "[$*] $(said)"
		tail -n 40 err
	fi
}

# profile ARGUMENT…: leaves out, err, stats (`name value` a line) and $STATUS; never lasts forever.
profile() {
	rm -f stats stats.json
	timeout -s KILL 90 stook profile --stats stats.json "$@" >out 2>err </dev/null
	STATUS=$?
	sed -n 's/^ *"\([a-z_]*\)": \([0-9]*\),*$/\1 \2/p' stats.json >stats 2>/dev/null
	return $STATUS
}

# start COMMAND…: in the background; its pid is in $PID, and a moment later it runs.
start() {
	"$@" >started 2>&1 </dev/null &
	PID=$!
	sleep 0.5
}

stop() {
	kill -KILL "$@" 2>/dev/null
	wait "$@" 2>/dev/null
	return 0 # not what they ended with
}

# stat_of NAME: one of the run's own numbers; 0 where it is not there.
stat_of() {
	awk -v name="$1" '$1 == name { value = $2 } END { print value + 0 }' stats
}

# sum_matching REGEX: samples in the folded lines that match it. A bracket is [[]: awk takes the
# backslashes out of it.
sum_matching() {
	awk -v re="$1" '$0 ~ re { sum += $NF } END { printf "%d\n", sum }' out
}

percent() { # percent PART WHOLE
	if [ "$2" -gt 0 ]; then echo $((100 * $1 / $2)); else echo 0; fi
}

cpu_ms() { # cpu_ms PID: the CPU time it has had
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print 10 * ($12 + $13) }'
}

# check_amount NAME GOT EXPECTED: some samples, and no more than the clocks say. An emulated CPU
# whose host is busy misses most of its ticks, while its clocks run on.
check_amount() {
	figure "$TEST: $1: $2 samples, $3 expected"
	check "$1: some came, and not too many" \
		test $(($2 * 20)) -ge "$3" -a $(($2 * 10)) -le $(($3 * 12))
}

# check_missed NAME GOT EXPECTED: stook's estimate says how many are missing.
check_missed() {
	known=$(($2 + $(stat_of unseen_estimate)))
	figure "$TEST: $1: $2 and missed are $known, $3 expected"
	check "$1: the missed are told" test $((known * 100)) -ge $(($3 * 85)) -a \
		$((known * 100)) -le $(($3 * 120))
}

mount_all() {
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev
	mount -t tmpfs tmp /tmp
	mount -t cgroup2 cgroup /sys/fs/cgroup
}

# An emulated CPU takes long over each interrupt: the kernel would allow fewer and fewer of them.
allow_slow_samples() {
	echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
}

# A test that dies without a word is a failure, not an absence.
run_test() {
	TEST=$(basename "$1" .sh)
	# shellcheck source=/dev/null # each of tests/vm/guest
	(. "$1") >result
	status=$?
	cat result
	if [ $status -ne 0 ] || ! grep -qE '^(PASS|FAIL|SKIP) ' result; then
		fail "ends" "status $status"
	fi
}

# What the kernel itself has to complain of.
kernel_log() {
	TEST=kernel
	dmesg >log
	if ! grep -q 'Linux version' log; then
		fail "its log can be read"
	elif grep -E 'BUG:|WARNING:|Oops|rcu.*(stall|detected)|lockup' log >complaints; then
		fail "no complaint in the kernel's log" "$(head -n 2 complaints | tr '\n' ' ')"
	else
		pass "no complaint in the kernel's log"
	fi
}

mkdir -p /proc /sys /tmp
/bin/busybox --install -s /bin
mount_all
allow_slow_samples
cd /tmp || exit
echo "BOOTED $(uname -r)"
for test in /tests/${TESTS:-*}.sh; do
	run_test "$test"
done
kernel_log
echo END
poweroff -f
