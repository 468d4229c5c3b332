/* perf_event_open(2), which libc does not wrap; and which events this machine has. */
#ifndef STOOK_KERNEL_PERF_OPEN_H
#define STOOK_KERNEL_PERF_OPEN_H

#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns an online CPU, for an event that counts on all CPUs whichever it is opened on: a tracepoint, a probe. */
static inline uint32_t perf_any_cpu(void)
{
	const int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (uint32_t)cpu;
}

/* Opens an event, as perf_event_open(2) describes it. Returns -1 and sets errno on failure. */
static inline int perf_open_counter(struct perf_event_attr *attr, int pid, int cpu, int group_fd,
				    unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
			    flags | PERF_FLAG_FD_CLOEXEC);
}

/* Opens an event on a CPU for all tasks. Returns -1 and sets errno on failure. */
static inline int perf_open(struct perf_event_attr *attr, uint32_t cpu)
{
	return perf_open_counter(attr, -1, (int)cpu, -1, 0);
}

/* Opens an event for this process, on all CPUs. Returns -1 and sets errno on failure. */
static inline int perf_open_own(struct perf_event_attr *attr)
{
	return perf_open_counter(attr, 0, -1, -1, 0);
}

/*
 * Opens an event for a moment, by perf's name of it, as a counter of this process in user space, for which few rights
 * are needed. 0 or a negative errno.
 */
int perf_try(const char *name);

/* True if an event could not be opened because there is no such counter: it is neither forbidden nor in use. */
bool perf_is_missing(int err);

/* Writes the names of the generic hardware events that this machine counts: "cycles, instructions"; "": none. */
void perf_list_hardware(char *text, size_t bytes);

#endif
