#!/usr/bin/env bash
# A user's FUSE file system whose server stops answering, a process that never leaves mmap(), and a debuginfod
# server that never answers: runs end on time, report what they gave up, and leave no process behind but those
# that the kernel holds, until the server is gone.
#
# SCENARIO=REGEX runs only the scenarios whose names match it: SCENARIO='read, overlay' tests/run hostile hang
#
# A process in a request without an answer cannot be killed. Servers therefore end by themselves
# (LIFETIME), whatever happens to this test. Each has a mount namespace of its own, which ends with it.
#
# Alone: other tests would meet processes whose files do not answer; ps hangs while one has its mmap_lock held.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

LATE_MS=3000   # after its duration a run must end within this time
NEXT_MS=1000   # more for a run of all processes, which meets the silent device of the scenario beside it, too
LIFETIME=20    # seconds of a server
SIDE_BY_SIDE=2 # scenarios
SCENARIO=${SCENARIO:-.}

# The words of a run that gave up something.
GIVEN_UP='did not answer|given up|gave up|in time|too long'

# --- set-up --------------------------------------------------------------------------------------------

# Kills the running children of this shell, a scenario, and what they have started. Only what was not yet waited
# for: a pid may have been used again.
quit() {
	local name
	for name in "${RUNS[@]}"; do
		[ -s "$S/$name/end" ] || kill_session "$(cat "$S/$name/pid")"
	done
	# shellcheck disable=SC2046 # a list of pids
	kill -KILL $(jobs -pr)
	rm -f "/tmp/.java_pid$TARGET"
} 2>/dev/null

# shellcheck disable=SC2046
end_scenarios() { kill -TERM $(jobs -pr) && wait; } 2>/dev/null
trap 'end_scenarios; cleanup' EXIT

# Distributions let everybody open /dev/fuse; that of the host is left as it is.
mknod "$T/fuse" c 10 229 && chmod 666 "$T/fuse"
# shellcheck disable=SC2016 # $0 is expanded by sh
if ! unshare -m true 2>/dev/null || ! "${AS_USER[@]}" sh -c ': <>"$0"' "$T/fuse" 2>/dev/null; then
	skip "all" "FUSE and the right to mount"
	exit 0
fi
has_user_namespaces() { "${AS_USER[@]}" unshare -Urm true 2>/dev/null; }

# serve MOUNT: starts a server. Its directory is $S, the mounted files are in $FILES, and "${IN[@]}" is the
# prefix of a command of the user who may use them. MOUNT is
#	direct	mounted by a user, in a user namespace: the kernel refuses all other users, root included
#	overlay	the same and a read-only overlayfs on top, which lets root in with the rights of the user
#	root	mounted by root, for all users
serve() {
	local as=("${AS_USER[@]}" unshare -Urm)
	[ "$1" != root ] || as=(unshare -m)
	mkdir "$S" "$S/files" "$S/empty" "$S/overlay" && mkfifo -m 666 "$S/control"
	"${as[@]}" "$PROGRAMS/silent_files" serve "$T/fuse" "$S/files" "$S/control" "$LIFETIME" >"$S/served" 2>&1 &
	SERVER=$!
	IN=("${AS_USER[@]}" nsenter -t "$SERVER" -U -m --preserve-credentials)
	[ "$1" != root ] || IN=(nsenter -t "$SERVER" -m "${AS_USER[@]}")
	FILES=$S/files
	wait_until 5 grep -q ready "$S/served" || return 1
	[ "$1" = overlay ] || return 0
	FILES=$S/overlay
	"${IN[@]}" mount -t overlay overlay -o "lowerdir=$S/files:$S/empty" "$S/overlay" 2>>"$S/served"
}

# target COMMAND…: starts a process of the user; its pid is in $TARGET.
target() {
	: >"$S/target"
	"${IN[@]}" "$@" >"$S/target" 2>&1 </dev/null &
	TARGET=$!
	wait_until 5 grep -q ready "$S/target"
}

# silent KIND: true once the server does not answer it.
silent() { grep -qx "silent $1" "$S/served"; }

# --- runs ----------------------------------------------------------------------------------------------

# run NAME ARG…: runs stook for a second, in the background, as a session of its own. "${BEFORE[@]}" is the prefix of
# its command.
BEFORE=()
run() {
	local name=$1
	shift
	[ "$1" != profile ] || set -- profile -f -F 499 --stats "$S/$name/stats" "${@:2}"
	mkdir "$S/$name"
	RUNS+=("$name")
	now_ms >"$S/$name/begin"
	(
		setsid "${BEFORE[@]}" "$STOOK" "$@" >"$S/$name/out" 2>"$S/$name/err" </dev/null &
		echo $! >"$S/$name/pid"
		wait $!
		echo $? $(($(now_ms) - $(cat "$S/$name/begin"))) >"$S/$name/end"
	) 2>/dev/null &
}

# sampling NAME: true once the run has opened its events.
sampling() { samples "$(cat "$S/$1/pid")"; } 2>/dev/null

# of_session SID: prints "PID STATE" for each of its processes. Not from /proc/PID/stat, and not by ps: in some
# kernels they wait for a process that hangs in execve().
of_session() {
	grep -sE '^(State|NSsid):' /proc/[0-9]*/status | awk -F '[/:\t ]+' -v sid="$1" '
		$5 == "State" { state = $6 }
		$5 == "NSsid" && $6 == sid { print $3, state }'
}
is_held_or_gone() { ! of_session "$1" | grep -qv ' [DZ]$'; }
is_gone() { [ -z "$(of_session "$1")" ]; }

# kill_session SID: kills stook and its helper processes, not a command of theirs, which ends by itself.
kill_session() {
	local pid
	of_session "$1" | while read -r pid _; do
		! grep -q ^stook "/proc/$pid/comm" || kill -KILL "$pid"
	done
} 2>/dev/null

# where SID: prints the system calls that its processes are in, and their stacks in the kernel.
where() {
	local pid state task
	of_session "$1" | while read -r pid state; do
		for task in "/proc/$pid/task"/*; do
			echo "$(cat "$task/comm") $state, system call" \
				"$(timeout 0.2 cut -d ' ' -f 1 "$task/syscall" || echo 'unknown, in execve()'):" \
				"$(timeout 0.2 sed 's/^[^ ]* //; s/+.*//' "$task/stack" | head -n 12 | tr '\n' ' ')"
		done
	done 2>/dev/null
}

# most_ms NAME: prints how long a run may take.
most_ms() {
	local ms=$((1000 + LATE_MS))

	[ "$1" != all ] || ms=$((ms + NEXT_MS))
	[ "$1" != long-command ] || ms=$((ms + 1000)) # it lasts two seconds
	echo $ms
}

# Waits for all runs. One that is late is killed. Time in which the machine itself stood still, so that this shell did
# not run either, is given to them.
await() {
	local name limit sid now before still=0
	before=$(now_ms)
	for name in "${RUNS[@]}"; do
		limit=$(($(cat "$S/$name/begin") + $(most_ms "$name")))
		while now=$(now_ms) && [ ! -s "$S/$name/end" ] && [ "$now" -lt $((limit + still)) ]; do
			[ $((now - before)) -le 200 ] || still=$((still + now - before))
			before=$now
			sleep 0.05
		done
	done
	[ $still = 0 ] || note "$SCENE: the machine stood still for $still ms"
	for name in "${RUNS[@]}"; do
		[ ! -s "$S/$name/end" ] || continue
		sid=$(cat "$S/$name/pid")
		: >"$S/$name/late"
		note "$SCENE: $name is late:"
		note "$(where "$sid" | sed 's/^/    /')"
		kill_session "$sid"
	done
}

# judge NAME STATUS… [+ CONDITION…]: checks a run: its time, its exit status, and
#	samples	it has samples, and the law holds
#	says	it reports what it gave up
#	names	it names a file that did not answer
judge() {
	local name=$1 bad='' status ms sid all=" $* "
	local dir=$S/$1
	shift
	sid=$(cat "$dir/pid")
	if [ -e "$dir/late" ]; then
		fail "$SCENE: $name" "it does not end within $(most_ms "$name") ms"
		return
	fi
	read -r status ms <"$dir/end"
	[[ ${all%%+*} == *" $status "* ]] || bad+=" status $status: $(head -n 1 "$dir/err");"
	if [[ $all == *" samples "* ]]; then
		[ "$(sum_folded <"$dir/out")" -ge 3 ] || bad+=" $(sum_folded <"$dir/out") samples;"
		law_holds "$dir/stats" "$dir/out" || bad+=" the law;"
	fi
	[[ $all != *" says "* ]] || grep -qE "$GIVEN_UP" "$dir/err" || bad+=" does not say what was given up;"
	[[ $all != *" names "* ]] || grep -qE "'[^']*/(program|libjvm\.so)'|process [0-9]+ could" "$dir/err" ||
		bad+=" does not name what hung;"
	wait_until 1 is_held_or_gone "$sid" || bad+=" leaves behind $(of_session "$sid" | tr '\n' ' ')"
	check_equal "$SCENE: $name ($ms ms)" "$bad" ""
	[ -z "$bad" ] || note "$(sed 's/^/    /' "$dir/err" | head -n 12)"
}

# The server goes, and with it everything that the kernel holds.
all_gone() {
	local name
	for name in "${RUNS[@]}"; do
		is_gone "$(cat "$S/$name/pid")" || return 1
	done
}
finish() {
	local name
	kill -KILL "$SERVER"
	kill -KILL "$TARGET"
	wait "$SERVER" "$TARGET"
	check "$SCENE: nothing is left when the server is gone" wait_until 5 all_gone
	for name in "${RUNS[@]}"; do kill_session "$(cat "$S/$name/pid")"; done
} 2>/dev/null

# --- silent files --------------------------------------------------------------------------------------

# probe KIND: makes such a request.
probe() {
	local path=/proc/$TARGET/root$FILES/program
	local itself=/proc/$TARGET/exe # without a path
	case $1 in
	open | flush) set -- head -c 1 "$itself" ;;
	read) set -- tail -c 1 "$itself" ;;
	getattr) set -- stat -L "$itself" ;;
	lookup) set -- stat "$path" ;;
	statfs) set -- stat -f "$path" ;;
	ioctl) set -- lsattr -v "$path" ;;
	esac
	[ "$MOUNT" != direct ] || set -- "${IN[@]}" "$@"
	"$@" >/dev/null 2>&1 &
	PROBE=$!
}

# record: makes a profile without names of the program, from a copy that is at its path where the server is not mounted.
record() {
	cp "$PROGRAMS/silent_files" "$FILES/program"
	"$STOOK" profile -q --no-symbols -F 499 -o "$S/raw.pb.gz" -- \
		"$FILES/program" run "$FILES" /dev/null nothing 1 >/dev/null </dev/null
	rm "$FILES/program"
}

# files KIND MOUNT: the server does not answer this kind of requests, in a file that two processes run: one before
# and one during the runs.
files() {
	local kind=$1 says=says named='' first=nothing MOUNT=$2
	[ "$kind" != read ] || first='read' # from the start: later the kernel may have cached what somebody read
	if ! serve "$MOUNT" || ! target "$FILES/program" jvm "$FILES" "$S/control" $first "$LIFETIME"; then
		fail "$SCENE: set-up" "$(cat "$S/served" "$S/target")"
		return
	fi
	record
	# The command lasts two seconds: stook knows after a moment that it has entered a user's namespace, and then gives
	# its file a second.
	# shellcheck disable=SC2016 # the arguments are expanded by sh
	run long-command profile -- "${IN[@]}" \
		sh -c '"$@" >/dev/null' sh "$FILES/program" run "$FILES" "$S/control" "$kind" 2
	wait_until 5 silent "$kind" || fail "$SCENE: set-up" "the command did not run"
	probe "$kind"
	run all profile -d 1
	run pid profile -d 1 -p "$TARGET"
	run java profile -d 1 -p "$TARGET" --java
	run lines profile -d 1 -p "$TARGET" --lines --inline
	run funccount funccount -d 1 -p "$TARGET" "$TARGET:file_work"
	BEFORE=(nsenter -t "$SERVER" -m)
	run symbolize symbolize "$S/raw.pb.gz" -f
	BEFORE=()
	await
	check "$SCENE: the server is silent" grep -q "^$kind $PROBE " "$S/served"
	check "$SCENE: a request hangs" kill -0 "$PROBE"
	if [ "$MOUNT" = direct ]; then
		says=
		timeout 1 head -c 1 "/proc/$TARGET/exe" >/dev/null 2>&1
		check_equal "$SCENE: the kernel refuses root" $? 1
	elif [[ $kind =~ lookup|statfs|ioctl ]]; then
		says= # a run need not make such requests
	fi
	[ -z "$says" ] || named=names
	note "$SCENE: requests without an answer: $(grep -E '^[a-z]+ [0-9]+ ' "$S/served" | grep -v " $PROBE " |
		awk '{ n[$3]++ } END { for (comm in n) printf "%s %d ", comm, n[comm] }')"
	judge long-command 0 + samples $says
	judge all 0 + samples $says
	judge pid 0 + samples $says $named
	judge java 0 + samples $says
	judge lines 0 + samples $says
	judge funccount 0 1 + $says
	# By its path, the file behind an overlayfs may be stale for root.
	[ "$MOUNT" = root ] || says=
	judge symbolize 0 + $says
	finish
}

# --- a locked memory -----------------------------------------------------------------------------------

# A process in mmap() with its mmap_lock held. No probe is attached: the kernel takes the mmap_lock of each process that
# has mapped the probed file, and nobody on the host can fork until it has got it. (Here it has not mapped the file, and
# is linked statically: a probe that is attached after all does no harm.)
locked() {
	local probe spin name
	if ! serve direct || ! target "$PROGRAMS/silent_files" map "$FILES" "$S/control" "$LIFETIME"; then
		fail "$SCENE: set-up" "$(cat "$S/served" "$S/target")"
		return
	fi
	cat "/proc/$TARGET/maps" >/dev/null 2>&1 &
	probe=$!
	run all profile -d 1
	run pid profile -d 1 -p "$TARGET"
	run java profile -d 1 -p "$TARGET" --java
	run lines profile -d 1 -p "$TARGET" --lines --inline
	"$PROGRAMS/spin" "$LIFETIME" >/dev/null &
	spin=$!
	run funccount funccount -d 1 -p "$spin" "$spin:spin_inner"
	run funccount-all funccount -d 1 "$PROGRAMS/spin:spin_inner"
	await
	kill -KILL $spin
	wait $spin 2>/dev/null
	check "$SCENE: its maps cannot be read" kill -0 $probe
	kill -KILL $probe
	wait $probe 2>/dev/null
	judge all 0 + samples says
	judge pid 0 + samples says
	judge java 0 + samples says
	judge lines 0 + samples says
	for name in funccount funccount-all; do
		judge $name 1 + says
		check "$SCENE: $name names the process" grep -q "process $TARGET did not answer" "$S/$name/err"
	done
	finish
}

# --- files of the host that were replaced by silent ones ------------------------------------------------

# A user maps code of files on the host's disk, and his silent file in their place before they are looked at. That must
# not be taken for the disk: a program of root's that starts then has its names.
swapped() {
	local i
	if ! serve overlay; then
		fail "$SCENE: set-up" "$(cat "$S/served")"
		return
	fi
	for i in 1 2 3 4 5 6 7 8 late; do cp "$PROGRAMS/spin" "$S/host$i"; done
	run all profile -d 3
	wait_until 5 sampling all
	"${IN[@]}" "$PROGRAMS/silent_files" swap "$FILES" "$S/control" "$S"/host[1-8] >"$S/target" 2>&1 &
	TARGET=$!
	wait_until 5 silent getattr
	sleep 1
	"$S/hostlate" 0.8 >/dev/null
	await
	judge all 0 + samples
	check "$SCENE: the disk is not given up" test "$(sum_matching 'hostlate.*;spin_inner' "$S/all/out")" -gt 0
	finish
}

# The same, from its start on: its mappings are known from the kernel's events. The command itself ends: else the
# run would wait for it.
locked_command() {
	if ! serve direct; then
		fail "$SCENE: set-up" "$(cat "$S/served")"
		return
	fi
	TARGET=$SERVER
	# shellcheck disable=SC2016
	run command profile -d 1 --java -- "${IN[@]}" \
		sh -c 'setsid "$@" >/dev/null & sleep 1' sh "$PROGRAMS/silent_files" map "$FILES" "$S/control" "$LIFETIME"
	await
	check "$SCENE: the server is silent" grep -q "^read " "$S/served"
	judge command 0 + samples says
	finish
}

# --- a JVM whose /tmp does not answer ------------------------------------------------------------------

# Children of the run look for the JVM's files, and cannot be killed.
temporary_files() {
	if ! serve overlay || ! target "$PROGRAMS/silent_files" jvm "$FILES" "$S/control" tmp "$LIFETIME"; then
		fail "$SCENE: set-up" "$(cat "$S/served" "$S/target")"
		return
	fi
	run java profile -d 1 -p "$TARGET" --java
	run intervals profile -d 1 -i 0.5 -p "$TARGET" --java
	await
	check "$SCENE: stook's request hangs" grep -q "^lookup .* stook" "$S/served"
	judge java 0 + samples says
	judge intervals 0 + says
	finish
}

# --- a process in execve() -----------------------------------------------------------------------------

# A process that hangs in execve(), where it closes a file. Meanwhile many files of /proc/PID cannot be read, in some
# kernels stat as well.
executing() {
	local probe
	if ! serve direct || ! target "$PROGRAMS/silent_files" exec "$FILES" "$S/control" "$S/hang"; then
		fail "$SCENE: set-up" "$(cat "$S/served" "$S/target")"
		return
	fi
	# Two begin before, two after it hangs.
	run all-before profile -d 1
	run pid-before profile -d 1 -p "$TARGET" --java
	wait_until 5 sampling all-before
	wait_until 5 sampling pid-before
	sleep 0.5
	: >"$S/hang"
	wait_until 5 silent flush
	sleep 0.2
	cat "/proc/$TARGET/maps" >/dev/null 2>&1 &
	probe=$!
	run all profile -d 1
	run pid profile -d 1 -p "$TARGET"
	await
	check "$SCENE: its maps cannot be read" kill -0 $probe
	kill -KILL $probe
	wait $probe 2>/dev/null
	judge all-before 0 + samples
	judge pid-before 0 + samples
	judge all 0
	judge pid 0 1
	finish
}

# --- a server of debug files ---------------------------------------------------------------------------

debuginfod() {
	mkdir "$S"
	cp "$PROGRAMS/spin" "$S/nameless" && strip --strip-all "$S/nameless" || return
	serve_silence "$S/served"
	SERVER=$PID
	"$S/nameless" "$LIFETIME" >/dev/null &
	TARGET=$!
	DEBUGINFOD_CACHE_PATH=$S/cache run pid profile -d 1 -p "$TARGET" --naming-time 1
	DEBUGINFOD_CACHE_PATH=$S/cache2 run lines profile -d 1 -p "$TARGET" --naming-time 1 --lines
	await
	check "$SCENE: the server was asked" grep -q asked "$S/served"
	judge pid 0 + samples
	judge lines 0 + samples
	check "$SCENE: missing names are reported" grep -q 'debuginfod\|names are missing' "$S/pid/err"
	finish
}

# --- all -----------------------------------------------------------------------------------------------

# scenario NAME COMMAND…: in a subshell, beside others.
nr_started=0
scenario() {
	[[ $1 =~ $SCENARIO ]] || return 0
	nr_started=$((nr_started + 1))
	(
		SCENE=$1 S=$T/$nr_started RUNS=() SERVER='' TARGET=''
		trap quit EXIT
		begin=$(now_ms)
		"${@:2}"
		note "$SCENE: $(($(now_ms) - begin)) ms"
	) &
	while [ "$(jobs -pr | wc -l)" -ge $SIDE_BY_SIDE ]; do wait -n; done
}

# Runs on the whole system meet the neighbour's files, too: mounts of one kind run side by side.
for mount in direct overlay root; do
	if [ $mount != root ] && ! has_user_namespaces; then
		skip "$mount" "user namespaces for ordinary users"
		continue
	fi
	more=()
	[ $mount != root ] || more=(lookup statfs ioctl) # overlayfs does not pass them on
	for kind in open read flush getattr "${more[@]}"; do
		scenario "$kind, $mount" files "$kind" $mount
	done
	wait
done
if has_user_namespaces; then
	scenario "locked memory" locked
	scenario "locked memory of a command" locked_command
	scenario "replaced files" swapped
	scenario "temporary files" temporary_files
	scenario "execve" executing
else
	skip "locked memory" "user namespaces for ordinary users"
fi
wait
if "$STOOK" --version | grep -q static || ! command -v strip python3 >/dev/null ||
	! ldconfig -p | grep -q libdebuginfod; then
	skip "debuginfod" "strip, python3, libdebuginfod and a binary that loads it"
else
	scenario "debuginfod" debuginfod
fi
wait
