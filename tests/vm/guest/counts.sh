# shellcheck shell=sh disable=SC2154
# Counts of calls are exact, compared with the counts of `counted` itself, for every way to attach
# probes on this kernel, and while probes' programs preempt each other.

N=200
system_call=__x64_sys_
never='^$'
if [ "$(uname -m)" != x86_64 ]; then
	system_call=__arm64_sys_
	# There are no probes on a PC-relative load; fadvise has another number there.
	never='^(hit_starts_literal|sys_fadvise64) '
fi

if ! stook funccount --help >/dev/null 2>&1; then
	skip "counts" "stook funccount"
	return 0
fi

# funccount ARGUMENT…: leaves out, err and $STATUS; has a time limit.
funccount() {
	timeout -s KILL 300 stook funccount --budget off "$@" >out 2>err </dev/null
	STATUS=$?
	return $STATUS
}

# of_command "WORD…" ARGUMENT…: counts in one run of `counted N WORD…`; the true counts are in the
# file truth.
of_command() {
	words=$1
	shift
	rm -f truth
	# shellcheck disable=SC2086 # a list
	funccount "$@" -- counted -o truth $N $words
}

# rows: prints the table's rows, without the suffixes that distinguish functions of one name.
rows() {
	awk '
	/^FUNC +COUNT$/ { is_table = 1; next }
	NF == 0 { is_table = 0 }
	is_table && $NF ~ /^[0-9]+$/ { print $1, $NF }' out | sort
}

# check_rows NAME REGEX: the table equals the true counts of these names.
check_rows() {
	grep -E "$2" truth | grep -v ' 0$' | grep -vE "$never" | sort >wanted
	rows >got
	if [ "$STATUS" -eq 0 ] && [ -s wanted ] && cmp -s wanted got; then
		pass "$1"
	else
		fail "$1" "status $STATUS: $(diff wanted got | grep '^[-+][^-+]' | head -n 6 |
			tr '\n' ' ')$(said)"
	fi
}

milliseconds() { awk '{ printf "%d\n", 1000 * $1 }' /proc/uptime; }

if grep -qw preempt=full /proc/cmdline; then
	mount -t debugfs debugfs /sys/kernel/debug
	check "the kernel preempts itself" grep -q '(full)' /sys/kernel/debug/sched/preempt
fi

# --- user functions -------------------------------------------------------------------------------

for way in "" "--without uprobe_multi"; do
	# shellcheck disable=SC2086 # two words or none
	{
		of_command "" $way /bin/counted:hit_\* /bin/libcounted.so:hit_\* \
			/bin/libcounted_late.so:hit_\*
		check_rows "a command${way:+, $way}" '^hit_'
		of_command "simple threads" $way "r:/bin/counted:hit_(recursive|tail_*|in_threads)"
		sed -i 's/^r://' out
		check_rows "returns${way:+, $way}" '^hit_(recursive|tail_|in_threads)'
	}
done

# Many threads of several processes run at once, for long enough to be preempted often.
: >err # so that an earlier message is not taken for this one's
timeout -s KILL 300 stook funccount --budget off /bin/counted:hit_\* >out 2>err </dev/null &
counter=$!
for turn in $(seq 200); do
	grep -q '^Tracing ' err && break
	sleep 0.2
done
for turn in 1 2 3 4; do
	counted -o "truth.$turn" 2000 threads &
	pids="${pids:-} $!"
done
# shellcheck disable=SC2086 # a list
wait $pids
kill -INT $counter
wait $counter
STATUS=$?
cat truth.? | awk '{ n[$1] += $2 } END { for (name in n) print name, n[name] }' >truth
check_rows "four programs at once, of eight threads" '^hit_'

# --- kernel functions -----------------------------------------------------------------------------

for without in none kprobe_multi kprobe_multi,fentry kprobe_multi,kprobe_event; do
	way="--without $without"
	[ $without != none ] || way=
	functions="${system_call}umask ${system_call}fadvise64"
	rows='^sys_(umask|fadvise64)'
	# A system call without arguments has several names; the kernel may report another one.
	if [ $without != kprobe_multi,kprobe_event ]; then
		functions="$functions ${system_call}getppid"
		rows='^sys_'
	fi
	# shellcheck disable=SC2086 # lists
	of_command kernel $way $functions
	if [ "$STATUS" -ne 0 ] && grep -q 'neither kprobes nor fentry' err; then
		skip "kernel functions${way:+, $way}" "$(said)"
		continue
	fi
	sed -i -E "s/[^ ]*${system_call}([a-z0-9]+)[^ ]* /sys_\\1 /" out
	check_rows "kernel functions${way:+, $way}" "$rows"
done

# Two static functions have this name, for /proc/cpuinfo and for /proc/crypto; most hooks find only the first by it.
first=$(awk '$3 == "c_start" { print $1; exit }' /proc/kallsyms)
for way in "" "--without kprobe_multi,fentry" "--without kprobe_multi,kprobe_event"; do
	# shellcheck disable=SC2086 # two words or none
	funccount $way k:c_start -- cat /proc/crypto
	if [ "$STATUS" -ne 0 ] && grep -q 'neither kprobes nor fentry\|kprobes cannot distinguish them' err; then
		skip "functions of one name${way:+, $way}" "$(said)"
		continue
	fi
	check "functions of one name${way:+, $way}: the other's calls are not counted" \
		test "$STATUS" -eq 0 -a "$(grep -c "c_start.*$first.* [1-9]" out)" -eq 0
	# shellcheck disable=SC2086
	funccount $way k:c_start -- cat /proc/cpuinfo
	check "functions of one name${way:+, $way}: its own are" grep -q "c_start.* [1-9]" out
done

of_command threads t:task:task_newtask t:sched:sched_process_exit
sed -i -E 's/^.*(task_newtask|sched_process_exit)/\1/' out
printf 'sched_process_exit 73\ntask_newtask 72\n' >truth
check_rows "tracepoints" .

# --- many -----------------------------------------------------------------------------------------

# least_ms PATTERN: sets $took to how much longer than asked for a count of these functions takes: mostly grace periods.
# The best of some tries, because the host may be busy.
least_ms() {
	took=1000000
	for _ in $(seq 5); do
		begin=$(milliseconds)
		funccount -d 0.1 "$1"
		this=$(($(milliseconds) - begin - 100))
		[ $this -ge $took ] || took=$this
		[ $took -gt 1000 ] || break
	done
}
# On a slow host, the emulated CPU takes a second to load the programs.
least_ms '/bin/count_many:many_0_0_*'
all=$took
least_ms /bin/count_many:many_0_0_240
figure "counts: 141 functions without a hit: $all ms more than asked for; one: $took"
check "141 functions: attached and detached within a second, or half a second after one: $all ms, one $took" \
	test "$STATUS" -eq 0 -a \( "$all" -le 1000 -o $((all - took)) -le 500 \)
funccount --without uprobe_multi '/bin/count_many:many_0_*' -- count_many 3
awk 'BEGIN { for (i = 0; i < 1000; i++) print 3 }' >truth
rows | awk '{ print $2 }' >got.counts
check "1,000 functions by one tracefs event: each has its count" cmp truth got.counts
