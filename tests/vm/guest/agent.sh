# shellcheck shell=sh
# The agent: the program that measures and thins out its samples loads, alone and beside off-CPU time; a session can
# begin anew after a pause.

agent() {
	timeout -s KILL 240 stook agent --store store --epoch 1 -d 6 "$@" >out 2>err </dev/null
	STATUS=$?
}

start stacks 100000
load=$PID
agent --budget 0.001% -v
check "status 0" test "$STATUS" -eq 0
check "epochs are stored" grep -qE ' [1-9][0-9]* epochs stored, 0 dropped' err
check "the programs measure their time" grep -qE 'BPF programs [0-9.e-]*[1-9]' err
check "the rate falls" grep -q ' at 9.5 Hz' err
rm -f store*
agent --off-cpu --budget off
check "off-CPU: status 0" test "$STATUS" -eq 0
check "off-CPU: epochs are stored" grep -qE ' [1-9][0-9]* epochs stored, 0 dropped' err
rm -f store*
: >pause
says() { # says WORDS: waits for them
	for _ in $(seq 200); do
		! grep -q "$1" err || return 0
		sleep 1
	done
	return 1
}
stook agent --store store --epoch 1 --budget off --pause-file pause >out 2>err </dev/null &
run=$!
says paused && rm pause && says resumed && sleep 3
kill -TERM $run
wait $run
STATUS=$?
check "a pause: status 0" test "$STATUS" -eq 0
check "a pause: it resumes" grep -q resumed err
check "a pause: epochs are stored" grep -qE ' [1-9][0-9]* epochs stored, 0 dropped' err
# The server's clock: here it makes system calls for it, which its filter must let pass.
stook agent --store served --epoch 1 --budget off --listen unix:page >out 2>err </dev/null &
run=$!
says sampling && sleep 5
check "the server runs" pidof stook-server
kill -TERM $run
wait $run
check "the server did not end" test "$(grep -c 'server' err)" -eq 0
stop "$load"
