# shellcheck shell=sh disable=SC2154
# Stacks at probes: each hit is in one stack, and nearly all end in the probed function. (On a busy
# host, a short-lived process may be gone before its mappings are read.)

stackcount() {
	timeout -s KILL 240 stook stackcount -f --budget off "$@" >out 2>err </dev/null
	STATUS=$?
}

for way in "" "--without uprobe_multi"; do
	rm -f truth
	# shellcheck disable=SC2086 # two words or none
	stackcount $way /bin/counted:hit_recursive -- counted -o truth 200 simple
	hits=$(sed -n 's/^hit_recursive //p' truth)
	named=$(sum_matching ';hit_recursive [0-9]')
	check "user functions${way:+, $way}: every hit" \
		test "$STATUS" -eq 0 -a "$(sum_matching .)" -eq "$hits"
	check "user functions${way:+, $way}: with names" test $((named * 100)) -ge $((hits * 90))
done

stackcount t:task:task_newtask -- counted -o truth 200 threads
check "a tracepoint" test "$(sum_matching '^counted;.*task_newtask')" -eq 72

# A filter is evaluated by our instructions; for `stook stat`, by the kernel. busybox executes its own tools as
# /proc/self/exe, and spin prints a number.
filter='filename == "/bin/spin" && common_pid > 1 || filename ~ "/bin/tru*"'
stackcount t:sched:sched_process_exec --filter "$filter" -- sh -c '/bin/spin 1; /bin/spin 1; sleep 0'
hits=$(sum_matching sched_process_exec)
stook stat -e sched:sched_process_exec --filter "$filter" --csv -- sh -c '/bin/spin 1; /bin/spin 1; sleep 0' >rows 2>err
check "a filter: $hits hits" test "$hits" -eq 2 -a "$(tail -n 1 rows | cut -d, -f 4)" = 2
