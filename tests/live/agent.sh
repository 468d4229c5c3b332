#!/usr/bin/env bash
# stook agent: what it keeps is the CPU time of processes, at every rate; what it survives, and that it gets out of the
# way when asked.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

cp "$PROGRAMS/spin" "$T/agent_load" # a name that no other test's process has
PRINT_STORE=$ROOT/build/tests/tools/print_store
STORE=$T/store

# agent ARG…: starts an agent in the background and waits until it samples; its pid is in $AGENT, its messages in
# $T/err.
agent() {
	: >"$T/err" # of the one before
	"$STOOK" agent --epoch 1 --budget off "$@" 2>"$T/err" </dev/null &
	AGENT=$!
	STARTED+=("$AGENT")
	wait_until 20 says 'sampling at\|paused:'
}
says() { grep -q "$1" "$T/err"; }
silent() { ! says "$1"; }

# Ends the agent, and leaves its $STATUS.
end_agent() {
	kill -TERM "$AGENT"
	wait "$AGENT"
	STATUS=$?
}

# sum_of KEY LABEL [VALUE [STORE]]: prints the sum of a value by a label, in milliseconds.
sum_of() {
	"$PRINT_STORE" "${4:-$STORE}" "$1" "${3:-cpu}" |
		awk -v label="$2" '$2 == label { sum += $1 } END { printf "%d\n", sum / 1e6 }'
}
nr_epochs() { "$PRINT_STORE" "${1:-$STORE}" comm | awk '$1 == "epochs" { print $2 }'; }
has_epochs() { [ "$(nr_epochs "${2:-$STORE}")" -ge "$1" ]; } 2>/dev/null
# within GOT WANTED ERROR [MORE]
within() { awk -v a="$1" -v b="$2" -v error="$3" -v more="${4:-0}" 'BEGIN { exit !(a - b <= error + more && b - a <= error) }'; }

# spend TICKS: runs a load that much, and stops it where it is; its pid is in $LOAD, its CPU time in ms in $SPENT, and what
# was stolen from the CPUs meanwhile, in which it seems to run, in $STOLEN.
spend() {
	local before
	before=$(stolen_ms)
	start "$T/agent_load" 120
	LOAD=$PID
	let_run "$LOAD" "$1"
	kill -STOP "$LOAD"
	STOLEN=$(($(stolen_ms) - before))
	SPENT=$(($(cpu_ticks "$LOAD") * 10))
}

refused() {
	timeout 20 "$STOOK" agent --store "$1" -d 1 2>"$T/refused"
	[ $? -eq 1 ] && grep -q 'another process writes' "$T/refused"
}

# --- CPU time ---------------------------------------------------------------------------------------------

# Prints how much memory the parsers of a process may allocate, each number once.
parser_limits() {
	local child
	for child in $(pgrep -P "$1" -x stook-parser); do
		awk '/^Max data size/ { print $5 }' "/proc/$child/limits"
	done | sort -n | uniq
}

agent --store "$STORE" -F 199
spend 600
check "an agent beside it is refused" refused "$STORE"
check_equal "memory: the parsers of unwind tables have 12 of 64 parts of the default" \
	"$(parser_limits "$AGENT" | head -n 1)" $((12 * 2 << 20))
end_agent
check_equal "SIGTERM ends it well" $STATUS 0
kept=$(sum_of pid "$LOAD")
# A sample each 5.03 ms: the standard error is less than that of as many independent ones.
error=$(awk -v ms="$SPENT" 'BEGIN { e = 3 * sqrt(ms * 1000 / 199); print (e > ms / 50 ? e : ms / 50) }')
check "CPU time is that of the kernel's account ($kept of $SPENT ms, error $error, stolen $STOLEN)" \
	within "$kept" "$SPENT" "$error" "$STOLEN"
check_equal "labels: the name of the process" "$(sum_of process agent_load)" "$kept"
check_equal "labels: its program" "$(sum_of executable "$T/agent_load")" "$kept"
check "the sums agree" silent 'do not agree'
check_equal "nothing is lost" "$("$PRINT_STORE" "$STORE" comm | awk '$1 == "epochs" { print $8 }')" 0
kill -KILL "$LOAD"

# A budget that no agent can hold: the rate is halved after each epoch, and the samples that are left weigh the more.
# The variance of the sum is, for each epoch, the CPU time in it times the period, and the messages have the rates.
rm -f "$STORE"*
agent --store "$STORE" -F 199 --budget 0.001% -v --epoch 3
began=$(now_ms) stolen=$(stolen_ms)
start "$PROGRAMS/spin" 120
LOAD=$PID
wait_until 40 says ' at 12.4 Hz'
kill -STOP "$LOAD"
took=$(($(now_ms) - began)) stolen=$(($(stolen_ms) - stolen))
SPENT=$(($(cpu_ticks "$LOAD") * 10))
end_agent
kept=$(sum_of pid "$LOAD")
error=$(awk -v spent="$SPENT" -v took="$took" -F ' at | Hz' '
	/% of.* Hz/ && !($2 in rates) { rates[$2]; variance += 3000 * 1000 / $2 }
	END { print 3 * sqrt((variance + 3000 * 1000 / 199) * spent / took) }' "$T/err")
rates=$(awk -F ' at | Hz' '/% of.* Hz/ { printf "%s ", $2 }' "$T/err")
check "under a budget: the sums agree" silent 'do not agree'
check "under a budget, the rate falls (${rates% })" says ' at 24.9 Hz'
check "CPU time does not depend on the rate ($kept of $SPENT ms, error $error, stolen $stolen)" \
	within "$kept" "$SPENT" "$error" "$stolen"
kill -KILL "$LOAD"

# --- time off the CPU ---------------------------------------------------------------------------------------

rm -f "$STORE"*
agent --store "$STORE" --off-cpu --off-cpu-budget off -F 199
sleep 2 &
sleeper=$!
wait $sleeper
spend 200
end_agent
check "off-CPU: the sums agree" silent 'do not agree'
slept=$(sum_of pid $sleeper sleeping)
check "time asleep is a value of its own ($slept ms)" within "$slept" 2000 100
kept=$(sum_of pid "$LOAD")
check "so is CPU time ($kept of $SPENT ms, stolen $STOLEN)" within "$kept" "$SPENT" 300 "$STOLEN"
check_equal "states are values; waits are not counted" \
	"$("$STOOK" query --store "$STORE" --list | grep -cE '^(waits|sleeping) ')" 1
kill -KILL "$LOAD"

rm -f "$STORE"*
agent --store "$STORE" --off-cpu --off-cpu-budget off -F 199 --budget 0.001% -v --epoch 2
start "$PROGRAMS/spin" 120
wait_until 40 says ' at 49.8 Hz'
sleep 2
stop "$PID"
end_agent
check "off-CPU, under a budget: the sums agree" silent 'do not agree'

# --- labels that processes give themselves ------------------------------------------------------------------

publish() { # publish MODE [PROGRAM]: starts a program that does
	start "$PROGRAMS/otel_context" "$@"
	wait_until 10 test -s "$T/started"
}
service_has() { [ "$(sum_of service.name "$1")" -gt 0 ]; } 2>/dev/null
# spent_by CONDITION: prints the samples for which it holds, in milliseconds.
spent_by() {
	"$STOOK" query --store "$STORE" --where "$1" -f 2>/dev/null |
		awk '{ sum += $NF } END { printf "%d\n", sum / 1e6 }'
}
has_spent() { [ "$(spent_by "$1")" -gt "${2:-0}" ]; }

rm -f "$STORE"*
publish memfd
published=$PID
hostile=()
for mode in garbage huge writing terminal silent; do
	publish "$mode"
	hostile+=("$PID")
	[ $mode != silent ] || silent=$PID
done
grep -q published "$T/started" || skip "a context that cannot be read" userfaultfd
agent --store "$STORE" -F 199 --relabel 'replace service.name~^memfd$ team=web'
check "a process' service has its name" wait_until 60 service_has memfd
publish late
late=$PID
check "also one that comes late" wait_until 60 service_has late
cp "$PROGRAMS/otel_context" "$T/otel_other"
publish exec "$T/otel_other"
executed=$PID
check "a process is labelled before an exec" wait_until 60 service_has exec
kill -USR1 "$executed"
check "one that does not answer is sampled" wait_until 40 has_spent "pid=$silent"
check "another program is sampled" wait_until 60 has_spent "pid=$executed && comm=otel_other" 50
check "other attributes have labels, too" has_spent "pid=$published && service.version=1.2"
check "rules know them" has_spent "pid=$published && team=web"
check "queries group by them" grep -q '^service.name memfd;' \
	<("$STOOK" query --store "$STORE" --by service.name -f)
check_equal "no other process has them" \
	"$(spent_by "service.version && pid!=$published && service.name=memfd")" 0
check_equal "an attribute is not taken for a label of ours" "$(sum_of process forged)" 0
check_equal "a program has no labels of the one before" "$(spent_by "comm=otel_other && service.name")" 0
check_equal "hostile contexts give no labels" \
	"$("$STOOK" query --store "$STORE" --list | awk '/^service.name / { print $2 }')" 4
check_equal "command lines are not asked for" "$("$STOOK" query --store "$STORE" --list | grep -c '^cmdline ')" 0
end_agent
check_equal "with hostile contexts it ends well" $STATUS 0
check "a context above the limit is told" says 'attributes of processes left out .*: [1-9]'

rm -f "$STORE"*
start env SHARD=north DB_PASSWORD=hunter2 bash -c 'while :; do :; done' busy --token=hunter2 license-hunter2 role=db
agent --store "$STORE" -F 199 --with-cmdline --with-env SHARD,DB_PASSWORD --redact '^license'
check "--with-cmdline, --with-env" wait_until 60 has_spent "env.SHARD=north && cmdline~role=db$"
check "… secrets are taken out" has_spent \
	'env.DB_PASSWORD="[redacted]" && cmdline~"--token=.redacted. .redacted. role=db$"'
end_agent
check_equal "… and are nowhere in the store" "$(cat "$STORE"* | grep -c hunter2)" 0
stop "$PID"
check "the sums agree" silent 'do not agree'
stop "${hostile[@]}" "$published" "$late" "$executed"
rm -f "$STORE"*
publish anon
if grep -q unnamed "$T/started"; then
	skip "a context in anonymous memory" "a kernel with names for it (CONFIG_ANON_VMA_NAME)"
else
	agent --store "$STORE"
	check "so has one in anonymous memory" wait_until 30 service_has anon
	end_agent
fi
stop "$PID"

# --- pauses -------------------------------------------------------------------------------------------------

rm -f "$STORE"*
agent --store "$STORE" --pause-file "$T/pause"
attached() { readlink "/proc/$AGENT"/fd/* 2>/dev/null | grep -qE 'perf_event|bpf-prog|bpf_link'; }
detached() { ! attached; }
check "something is attached" attached
check "a run beside it works" profile -d 0.2 -q -f -a
: >"$T/pause"
check "a file pauses it" wait_until 10 says 'paused: the file'
check "nothing is attached in a pause" wait_until 10 detached
rm "$T/pause"
check "without the file it resumes" wait_until 20 attached
kill -USR1 "$AGENT"
check "SIGUSR1 pauses it" wait_until 10 detached
sleep 2 # what was collected is named
epochs=$(nr_epochs)
sleep 4.5
check "in a pause no epochs are stored" test "$(nr_epochs)" -le $((epochs + 1))
kill -USR1 "$AGENT"
check "another one resumes it" wait_until 20 attached
check "epochs follow" wait_until 20 has_epochs $((epochs + 2))
end_agent
check_equal "after pauses it ends well" $STATUS 0
: >"$T/pause"
agent --store "$STORE" --pause-file "$T/pause"
check "with the file it starts paused" says 'paused: the file'
check "with the file nothing is attached at the start" detached
check "it is not sampling then" silent 'sampling at'
epochs=$(nr_epochs)
rm "$T/pause"
check "without the file it begins" wait_until 20 attached
check "epochs follow then" wait_until 20 has_epochs $((epochs + 2))
end_agent
check_equal "after a paused start it ends well" $STATUS 0

# --- the configuration, read again ---------------------------------------------------------------------------

rm -f "$STORE"*
start "$T/agent_load" 120
echo 'relabel = replace comm~^agent_load$ colour=red' >"$T/conf"
agent --store "$STORE" --config "$T/conf" -F 199
has_value() { "$STOOK" query --store "$STORE" --list | grep -q "^$1 "; }
has_spent_since() { [ "$(spent_by "$1")" -ge $((${2:-0} + 500)) ]; }
check "a rule of the configuration" wait_until 60 has_spent_since colour=red
echo 'relabel = replace comm~^agent_load$ colour' >"$T/conf"
kill -HUP "$AGENT"
check "SIGHUP: one that is not valid is told" wait_until 10 says 'was not read again: the options stay'
red=$(spent_by colour=red)
check "… and changes nothing" wait_until 60 has_spent_since colour=red "$red"
printf 'relabel = replace comm~^agent_load$ colour=blue\noff-cpu = yes\n' >"$T/conf"
kill -HUP "$AGENT"
check "SIGHUP: a valid one is taken" wait_until 10 says "'$T/conf' was read again"
check "… with its rules" wait_until 60 has_spent_since colour=blue
red=$(spent_by colour=red)
check "… and its values" wait_until 20 has_value sleeping
end_agent
check_equal "… instead of the former" "$(spent_by colour=red)" "$red"
check_equal "after that it ends well" $STATUS 0
check "the sums agree" silent 'do not agree'
stop "$PID"

# --- the end ------------------------------------------------------------------------------------------------

rm -f "$STORE"*
agent --store "$STORE" --epoch 60
spend 50
end_agent
check_equal "the last epoch is stored" "$(nr_epochs)" 1
check "with what it has" test "$(sum_of pid "$LOAD")" -gt 0
kill -KILL "$LOAD"

# What was stored before kill -9 is there after it, and the next agent goes on.
rm -f "$STORE"*
begun=0 kept=0 later=0
for round in $(seq 20); do
	agent --store "$STORE" --epoch 1 || break
	begun=$((begun + 1))
	[ $((round % 2)) -eq 0 ] || wait_until 20 has_epochs $((later + 1))
	sleep $((RANDOM % 2)).$((RANDOM % 10))
	before=$(nr_epochs)
	kill -KILL "$AGENT"
	wait "$AGENT" 2>/dev/null
	after=$(nr_epochs)
	[ "${after:-0}" -ge "${before:-0}" ] && kept=$((kept + 1))
	[ "${after:-0}" -gt "$later" ] && later=$after
done
check_equal "twenty times kill -9: the next one starts" $begun 20
check_equal "… and no epoch is gone" $kept 20
check "… and epochs were stored ($later)" test "$later" -ge 10

# Names that cost more than the budget are waited for for a minute: the epochs are stored without.
rm -f "$STORE"*
store_ends() { "$PRINT_STORE" "$STORE" comm | awk '$1 == "range" { print $3 }'; }
measured_ms() { "$PRINT_STORE" "$STORE" comm | awk '$1 == "epochs" { printf "%d\n", $10 / 1e6 }'; }
agent --store "$STORE" --budget 0.02%
start "$T/agent_load" 120
LOAD=$PID
wait_until 20 has_epochs 3
sleep 12
kill -KILL "$AGENT"
killed=$(date +%s%N)
wait "$AGENT" 2>/dev/null
stop "$LOAD"
late=$(((killed - $(store_ends)) / 1000000))
check "under a budget, kill -9 takes the running epoch only (the store ends $late ms before)" test $late -le 3000
epochs=$(nr_epochs) measured=$(measured_ms) kept=$(sum_of comm agent_load)
check "… and all before it are there ($epochs, $measured ms)" test "$epochs" -ge 10 -a "$measured" -ge 13000
check "… with what ran" test "$kept" -gt 0
agent --store "$STORE" --epoch 60
check "… the next agent says how many have no names" says 'before it had named all code: [1-9][0-9]* epochs are kept'
check_equal "… and keeps them" "$(nr_epochs) $(measured_ms) $(sum_of comm agent_load)" "$epochs $measured $kept"
end_agent

# --- a store that fails -----------------------------------------------------------------------------------------

rm -f "$STORE"*
agent --store "$STORE"
wait_until 20 has_epochs 1
end_agent
pages=$(($(stat -c %s "$STORE") / 4096))
dd if=/dev/urandom of="$STORE" bs=4096 seek=1 count=$((pages - 1)) conv=notrunc status=none
agent --store "$STORE"
check "a damaged store is replaced" wait_until 20 has_epochs 2
end_agent
check "… put aside, and said" test -e "$STORE.damaged" -a "$(grep -c 'is damaged: moved' "$T/err")" -eq 1
echo "a letter" >"$T/letter"
export JOURNAL_STREAM
JOURNAL_STREAM=$(stat -c %d:%i "$T/err")
timeout 20 "$STOOK" agent --store "$T/letter" -d 1 2>"$T/err"
check_equal "a file that is no store is refused" $? 1
unset JOURNAL_STREAM
check "… and the journal is told as an error" grep -q '^<3>stook: ' "$T/err"
check_equal "… and stays" "$(cat "$T/letter")" "a letter"

mkdir "$T/small"
if ! mount -t tmpfs -o size=2M none "$T/small" 2>/dev/null; then
	skip "a full disk" "to mount a tmpfs"
else
	agent --store "$T/small/store"
	check "a full disk: before" wait_until 20 has_epochs 1 "$T/small/store"
	dd if=/dev/zero of="$T/small/filler" bs=4096 status=none 2>/dev/null
	check "a full disk: epochs are dropped, and said" wait_until 30 says 'epochs are dropped: .* full'
	check "a full disk: it goes on" kill -0 "$AGENT"
	rm "$T/small/filler"
	check "a full disk: it recovers" wait_until 30 says 'epochs are stored again; [1-9]'
	epochs=$(nr_epochs "$T/small/store")
	check "a full disk: epochs follow" wait_until 20 has_epochs $((epochs + 2)) "$T/small/store"
	end_agent
	check_equal "a full disk: it ends well" $STATUS 0
	umount "$T/small"
fi

# --- the server -------------------------------------------------------------------------------------------------

if ! command -v curl >/dev/null; then
	skip "the server" curl
else
	get() { curl -sS -m 10 --unix-socket "$T/page" "http://localhost$1" 2>&1; }
	is_healthy() { [ "$(get /healthz)" = ok ]; }
	serves_load() { get '/api/profile?from=-5m&by=comm&format=folded' | grep -q '^agent_load;'; }
	counts_epochs() { get /metrics | grep -q '^stook_epochs_stored_total [1-9]'; }
	server_pid() { pgrep -P "$(pgrep -P "$AGENT" -x stook-serve)"; }
	is_another() { local pid; pid=$(server_pid) && [ "$pid" != "$server" ] && is_healthy; }
	are_over() { ! kill -0 "$opener" && ! kill -0 "$server"; } 2>/dev/null

	rm -f "$STORE"*
	agent --store "$STORE" --listen "unix:$T/page"
	check "server: data arrive" wait_until 20 is_healthy
	spend 50
	check "server: what ran is in a profile" wait_until 20 serves_load
	check "server: its metrics are the agent's" wait_until 5 counts_epochs
	opener=$(pgrep -P "$AGENT" -x stook-serve) server=$(server_pid)
	check_equal "server: it has no capability" \
		"$(sed -n 's/^CapEff:\t*//p' "/proc/$server/status")" 0000000000000000
	check "server: … and another user" test "$(stat -c %u "/proc/$server")" -ne 0
	check_equal "server: it can write nothing that the agent has mapped" "$(grep -c 'rw-s' "/proc/$server/maps")" 0
	# Its processes for questions are gone soon: look while they are there.
	check_equal "server: a question may use 1.5 times as much memory as the agent" "$(python3 - "$server" "$T/page" <<'PYTHON'
import socket, sys, time
end = time.monotonic() + 30
while time.monotonic() < end:
	s = socket.socket(socket.AF_UNIX)
	s.connect(sys.argv[2])
	s.sendall(b"GET /api/profile?from=-1h&format=html HTTP/1.0\r\nHost: localhost\r\n\r\n")
	s.setblocking(False)
	while True:
		try:
			for pid in open(f"/proc/{sys.argv[1]}/task/{sys.argv[1]}/children").read().split():
				limits = open(f"/proc/{pid}/limits").read().splitlines()
				space = next(line for line in limits if line.startswith("Max address space"))
				if "unlimited" not in space:
					print(int(space.split()[3]) >> 20, "MiB")
					sys.exit()
		except OSError:
			pass
		try:
			if not s.recv(65536):
				break
		except BlockingIOError:
			pass
PYTHON
)" "192 MiB"
	kill -KILL "$server"
	check "server: it is started again" wait_until 30 is_another
	server=$(server_pid) epochs=$(nr_epochs)
	check "server: epochs are stored meanwhile" wait_until 20 has_epochs $((epochs + 2))
	kill -KILL "$AGENT" "$LOAD"
	wait "$AGENT" 2>/dev/null
	check "server: it ends with an agent that is killed" wait_until 10 are_over
	agent --store "$STORE" --listen "unix:$T/page"
	wait_until 20 is_healthy
	opener=$(pgrep -P "$AGENT" -x stook-serve) server=$(server_pid)
	end_agent
	check "server: … and with one that ends" wait_until 10 are_over

	# A pause ends an epoch before its time.
	rm -f "$STORE"*
	agent --store "$STORE" --epoch 60 --listen "unix:$T/page"
	spend 50
	kill -USR1 "$AGENT"
	counts_samples() { get /metrics | grep -q '^stook_samples_total{result="recorded"} [1-9]'; }
	check "server: it counts the samples before a pause" wait_until 10 counts_samples
	end_agent
	kill -KILL "$LOAD"

	# Names of programs that begin all the time cost more than this budget: epochs are named a minute at a time.
	rm -f "$STORE"*
	agent --store "$STORE" --budget 0.01% --listen "unix:$T/page"
	spend 100
	wait_until 70 is_healthy
	turns=0 red=
	while [ $((turns += 1)) -le 40 ]; do
		is_healthy || red=$(get /healthz)
		sleep 1
	done
	check_equal "server: it is not red while epochs are named together ($(nr_epochs) in ${turns} s)" "$red" ''
	kill -STOP "$AGENT"
	is_red() { get /healthz | grep -q 'no epoch was stored for'; }
	check "server: it is red when an agent hangs" wait_until 90 is_red
	kill -CONT "$AGENT"
	end_agent
fi

# --- names that are left out ----------------------------------------------------------------------------------

rm -f "$STORE"*
agent --store "$STORE" --exclude '^agent_lo' --exclude '^kworker' -F 199 --listen "unix:$T/page"
wait_until 20 has_epochs 1
spend 300
if command -v curl >/dev/null; then
	nr_filtered() {
		get /metrics | awk '$1 == "stook_samples_total{result=\"filtered\"}" { print $2 }'
	}
	is_filtered() { [ "$(nr_filtered)" -gt 100 ]; } 2>/dev/null
	check "--exclude: the kernel leaves them out" wait_until 10 is_filtered
fi
end_agent
check_equal "--exclude: they are not stored" "$(sum_of comm agent_load)" 0
check "--exclude: others are" test "$(nr_epochs)" -ge 1
check "--exclude: the sums agree" silent 'do not agree'
kill -KILL "$LOAD"

# --- the service manager ------------------------------------------------------------------------------------

if ! command -v python3 >/dev/null; then
	skip "notifications" python3
else
	start python3 -u -c '
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
while True:
    print(listener.recv(4096).decode().replace("\n", " "))' "$T/notify"
	heard=$T/started
	wait_until 10 test -S "$T/notify"
	export NOTIFY_SOCKET=$T/notify WATCHDOG_USEC=2000000
	agent --store "$STORE"
	unset NOTIFY_SOCKET WATCHDOG_USEC
	check "the manager hears that it is ready" wait_until 10 grep -q READY=1 "$heard"
	check "… that it is alive" wait_until 10 grep -q WATCHDOG=1 "$heard"
	end_agent
	check "… and that it ends" wait_until 10 grep -q STOPPING=1 "$heard"
fi
