#!/bin/sh
# The first process of a test machine: mounts the usual file systems, runs the tests (all, or the
# ones named in $TESTS, without those in $LEAVE_OUT, both with commas) one after the other, and switches the machine
# off. It also has the functions that the tests share; each test is a file that is sourced in a
# subshell and prints one line per check on the console:
#
#   PASS name   FAIL name: details   SKIP name: needs REQUIREMENT   FIGURE name value…
#
# The only tool is busybox. Everything works in /tmp, on files with short names.
# shellcheck disable=SC2034 # used by the tests
PATH=/bin
export PATH

pass() { echo "PASS $TEST: $1"; }
fail() { echo "FAIL $TEST: $1${2:+: $2}"; }
skip() { echo "SKIP $TEST: $1: needs $2"; }
figure() { echo "FIGURE $*"; }

# Prints the last line of stook's stderr.
said() {
	tail -n 4 err | tr '\n' ' ' | cut -c 1-300
}

# check NAME COMMAND…: runs one check; if it fails, the console gets the whole of stook's stderr.
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

# profile ARGUMENT…: leaves out, err, stats (lines of `name value`) and $STATUS; has a time limit.
profile() {
	rm -f stats stats.json
	timeout -s KILL 240 stook profile --stats stats.json "$@" >out 2>err </dev/null
	STATUS=$?
	sed -n 's/^ *"\([a-z_]*\)": \([0-9]*\),*$/\1 \2/p' stats.json >stats 2>/dev/null
	return $STATUS
}

# start COMMAND…: runs it in the background, sets $PID, and gives it a moment to start.
start() {
	"$@" >started 2>&1 </dev/null &
	PID=$!
	sleep 0.5
}

# opens_events PID: true once its perf events are open.
opens_events() { for fd in "/proc/$1/fd"/*; do readlink "$fd"; done 2>/dev/null | grep -q perf_event; }

stop() {
	kill -KILL "$@" 2>/dev/null
	wait "$@" 2>/dev/null
	return 0 # ignores their exit statuses
}

# stat_of NAME: prints one of the run's statistics, 0 if it is missing.
stat_of() {
	awk -v name="$1" '$1 == name { value = $2 } END { print value + 0 }' stats
}

# waits_hold FOLDED: prints the sums of nanoseconds that do not hold in a run that measures waits.
waits_hold() {
	total=$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$1")
	awk -v total="$total" '
		{ v[$1] = $2 }
		END {
			if (!("waited_ns" in v)) print "no figures"
			if (v["waited_ns"] != v["counted_ns"] + v["sent_ns"] + v["passed_ns"] + v["cut_ns"])
				print "waited"
			if (v["law_violations"] || v["mismatches"]) print "violations"
			if (v["shown_ns"] != total) print "output"
		}' stats
}

# sum_matching REGEX: prints the sum of matching folded lines. Write [[] for a
# bracket: awk removes backslashes.
sum_matching() {
	awk -v re="$1" '$0 ~ re { sum += $NF } END { printf "%.0f\n", sum }' out
}

percent() { # percent PART WHOLE
	if [ "$2" -gt 0 ]; then echo $((100 * $1 / $2)); else echo 0; fi
}

cpu_ms() { # cpu_ms PID: prints its CPU time
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print 10 * ($12 + $13) }'
}

# check_amount NAME GOT EXPECTED: there are samples, and not more than the clocks allow. An emulated
# CPU on a busy host misses most of its ticks, while its clocks go on.
check_amount() {
	figure "$TEST: $1: $2 samples, $3 expected"
	check "$1: at least 5 %, at most 120 % of the expected samples" \
		test $(($2 * 20)) -ge "$3" -a $(($2 * 10)) -le $(($3 * 12))
}

# check_missed NAME GOT EXPECTED: stook's estimate covers the missing samples.
check_missed() {
	known=$(($2 + $(stat_of unseen_estimate)))
	figure "$TEST: $1: $2 and missed are $known, $3 expected"
	check "$1: missed samples are reported" test $((known * 100)) -ge $(($3 * 85)) -a \
		$((known * 100)) -le $(($3 * 120))
}

# check_shares NAME FOLDED SAMPLES MISSED PER_MILLE: the file's amounts agree with the times that the
# program truth has measured, which are in out. With N samples, M missed ones, a path's share p, and
# a tolerance t for what the emulator does to the clocks:
#
#   |n - N p|  <=  4 sqrt(N p (1 - p))  +  t N  +  M / 4  +  1
#
# (busybox's awk has no square root.)
check_shares() {
	awk -v samples="$3" -v missed="$4" -v tolerance="$5" '
	FNR == NR && $1 !~ /^thread:/ && NF == 3 { ns[$1] = $2; sum_ns += $2 }
	FNR == NR { next }
	{
		line = $0
		sub(/ [0-9]+$/, ";", line)
		all += $NF
		for (path in ns)
			if (index(line, ";" path ";")) {
				seen[path] += $NF
				total += $NF
			}
	}
	END {
		if (!total) { print "no sample in any path"; exit }
		nr = samples * total / all
		for (path in ns) {
			share = ns[path] / sum_ns
			off = nr * (seen[path] / total - share)
			beyond = (off < 0 ? -off : off) - nr * tolerance / 1000 - missed / 4 - 1
			if (beyond > 0 && beyond * beyond > 16 * nr * share * (1 - share))
				printf "%s: %.0f samples, %.0f expected; ",
					path, nr * seen[path] / total, nr * share
		}
		printf "%.0f %.0f\n", nr, sum_ns / 1e6 > "total"
	}' out "$2" >wrong
	if [ -s wrong ]; then fail "$1" "$(cat wrong)"; else pass "$1"; fi
}

mount_all() {
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev
	mount -t tmpfs tmp /tmp
	mount -t cgroup2 cgroup /sys/fs/cgroup
}

# An emulated CPU takes long for each interrupt: without this the kernel would lower the rate.
allow_slow_samples() {
	echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
}

seconds_up() { sed 's/[. ].*//' /proc/uptime; }

# A test that dies without output is a failure.
run_test() {
	TEST=$(basename "$1" .sh)
	began=$(seconds_up)
	# shellcheck source=/dev/null # the tests in tests/vm/guest
	(. "$1") >result
	status=$?
	cat result
	if [ $status -ne 0 ] || ! grep -qE '^(PASS|FAIL|SKIP) ' result; then
		fail "ends" "status $status"
	fi
	figure took "$TEST" $(($(seconds_up) - began))
}

# Checks the kernel log for warnings and errors.
kernel_log() {
	TEST=kernel
	dmesg >log
	if ! grep -q 'Linux version' log; then
		fail "the kernel log can be read"
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
for test in $(echo "/tests/${TESTS:-*}.sh" | sed 's|,|.sh /tests/|g'); do
	case ",${LEAVE_OUT:-}," in
	*",$(basename "$test" .sh),"*) continue ;;
	esac
	run_test "$test"
done
kernel_log
echo END
poweroff -f
