# shellcheck shell=sh disable=SC2154
# The verifier takes every program, with all options on too, and says how long it had to look.

# Before Linux 5.15 the profiler tells its program where a task's registers lie.
constants=
grep -qw bpf_task_pt_regs /proc/kallsyms || constants=task_registers_at

accepted() { # accepted OBJECT
	verified "$1" $constants >counts 2>err || return
	while read -r program plain all; do
		figure verified "$program" "$plain" "$all"
	done <counts
}

# Before Linux 5.13 names come from /proc/kallsyms instead.
for object in /bpf/*.linked.o; do
	name=$(basename "$object" .linked.o)
	if [ "$name" = kernel_ask ] && ! grep -qw bpf_snprintf /proc/kallsyms; then
		skip "the verifier takes $name" "bpf_snprintf(), which this kernel has not"
	else
		check "the verifier takes $name" accepted "$object"
	fi
done

profile -a -d 1
check "profile -a: status 0" test "$STATUS" -eq 0
check "profile -a: says what it samples on" grep -qE '^stook: (cycles|cpu-clock) at 99 Hz' err

profile -f -d 1 -a --by pid,tid,comm,cpu,cgroup --idle
check "every key of --by, idle too: status 0" test "$STATUS" -eq 0
check "every key of --by, idle too: has samples" test "$(sum_matching ';cpu [01];')" -gt 0
