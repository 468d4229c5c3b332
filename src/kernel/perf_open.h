/* perf_event_open(2), which libc does not wrap. */
#ifndef STOOK_KERNEL_PERF_OPEN_H
#define STOOK_KERNEL_PERF_OPEN_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Opens an event on a CPU for all tasks. Returns -1 and sets errno on failure. */
static inline int perf_open(struct perf_event_attr *attr, uint32_t cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

#endif
