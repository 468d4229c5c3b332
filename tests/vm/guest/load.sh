# shellcheck shell=sh disable=SC2154
# The verifier accepts every program, also with all options on, and reports the number of
# instructions that it processed.

# Before Linux 5.15 the profiler passes the location of a task's registers to its program.
constants=
grep -qw bpf_task_pt_regs /proc/kallsyms || constants=task_registers_at

accepted() { # accepted OBJECT
	verified "$1" $constants >counts 2>err || return
	while read -r program plain all; do
		figure verified "$program" "$plain" "$all"
	done <counts
}

# Before Linux 5.13 kernel names come from /proc/kallsyms instead.
for object in /bpf/*.linked.o; do
	name=$(basename "$object" .linked.o)
	if [ "$name" = kernel_ask ] && ! grep -qw bpf_snprintf /proc/kallsyms; then
		skip "the verifier takes $name" "a kernel with bpf_snprintf()"
	else
		check "the verifier takes $name" accepted "$object"
	fi
done

profile -a -d 1
check "profile -a: status 0" test "$STATUS" -eq 0
check "profile -a: the sampled event is reported" grep -qE '^stook: (cycles|cpu-clock) at 99 Hz' err

profile -f -d 1 -a --by pid,tid,comm,cpu,cgroup --idle
check "every key of --by, idle too: status 0" test "$STATUS" -eq 0
check "every key of --by, idle too: has samples" test "$(sum_matching ';cpu [01];')" -gt 0
