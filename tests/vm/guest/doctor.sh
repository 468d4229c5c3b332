# Levels of perf_event_paranoid, for root and for a user with CAP_BPF and CAP_PERFMON: at each, doctor says what happens
# to runs of the commands. (Debian's kernels open no events for that user at 3 and above.)
# shellcheck shell=sh disable=SC2154,SC3045 # sourced by /init, which sets $TEST and has the functions; busybox
level=/proc/sys/kernel/perf_event_paranoid
before=$(cat $level)
chmod 777 .

# state_of NAME: prints the state of a finding.
state_of() { sed -n "s/.*\"name\": \"$1\", \"state\": \"\([a-z]*\)\".*/\1/p" doctor.json; }

# agrees ROW ARG…: the row is ok if, and only if, `stook ARG…` works; $as is the prefix of the command.
agrees() {
	row=$1
	shift
	# shellcheck disable=SC2086 # words
	timeout -s KILL 240 $as stook "$@" >out 2>err </dev/null
	works=$?
	state=$(state_of "$row")
	[ "$state" = ok ] || state=bad
	[ $works -eq 0 ] && works=ok || works=bad
	check "$where: $row: doctor says $state, a run is $works" test "$state" = "$works"
}

examine() { # examine NAME: of what is to be compared
	# shellcheck disable=SC2086
	timeout -s KILL 300 $as stook doctor --json >doctor.json 2>err </dev/null
	status=$?
	where=$1
	check "$where: it ends with 0 if profile works, else with 1" \
		test "$(state_of profile) $status" = "ok 0" -o "$(state_of profile) $status" = "fails 1"
	figure "$TEST: $where: $(grep -o '"name": "[^"]*", "state": "[fl][a-z]*"' doctor.json |
		sed 's/"name": "\(.*\)", "state": "\(.*\)"/\1 \2/' | tr '\n' ';')"
	agrees profile profile -q -d 0.2 -f
	[ "$(state_of profile)" != ok ] || agrees "hardware counters" profile -q -d 0.2 -f -e cycles
}

echo 2 >$level
as=
examine "root"
agrees "profile --off-cpu" profile -q -d 0.2 -f --off-cpu
agrees "profile --locks" profile -q -d 0.2 -f --locks
agrees sched sched -q -d 0.2
agrees "funccount, user functions" funccount -q -d 0.2 "$(which spin):spin_inner"
agrees "funccount, kernel functions" funccount -q -d 0.2 vfs_mkdir
agrees "funccount, tracepoints" funccount -q -d 0.2 t:sched:sched_process_fork

echo 4 >$level
examine "root, level 4"
as="as_user 0xc000000000"
ulimit -l unlimited # before Linux 5.11, BPF maps count
for at in -1 2 3 4; do
	echo $at >$level
	examine "CAP_BPF and CAP_PERFMON, level $at"
done
echo 2 >$level
(
	ulimit -l 64
	examine "locked memory"
)
as="as_user 0"
echo -1 >$level
examine "no capabilities, level -1"
echo "$before" >$level
