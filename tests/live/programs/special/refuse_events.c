/*
 * A library to preload, which lets this machine's counters be missing, busy or forbidden: each perf_event_open() of an
 * event that is not the kernel's own (software, tracepoint, breakpoint) fails with the error number in REFUSE_ERRNO.
 * With REFUSE_SAMPLING=1, only if it is to be sampled: counting works, on a software event in its place. With
 * REFUSE_PRECISE=1, only precise events, as above; with REFUSE_PRECISE=N, those of level N and higher. With
 * REFUSE_COUNTERS=1 they are opened, and find no counter: reading a pinned event that found none returns nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_kernels_own(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT ||
	       attr->type == PERF_TYPE_BREAKPOINT;
}

#define FDS_MAX 4096
static char has_no_counter[FDS_MAX]; /* by descriptor */

static int is_precise(const struct perf_event_attr *attr)
{
	const char *from = getenv("REFUSE_PRECISE");

	return from && attr->precise_ip && attr->precise_ip >= (unsigned)atoi(from);
}

int close(int fd)
{
	if (fd >= 0 && fd < FDS_MAX)
		has_no_counter[fd] = 0;
	return (int)syscall(SYS_close, fd);
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
	if (fd >= 0 && fd < FDS_MAX && has_no_counter[fd])
		return 0;
	return syscall(SYS_read, fd, buffer, bytes);
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	const char *refused = getenv("REFUSE_ERRNO");
	struct perf_event_attr copy;
	long args[6], fd;
	va_list list;
	int i;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_perf_event_open && refused) {
		copy = *(const struct perf_event_attr *)args[0];
		if (!is_kernels_own(&copy)) {
			if ((!getenv("REFUSE_SAMPLING") && !getenv("REFUSE_PRECISE") &&
			     !getenv("REFUSE_COUNTERS")) ||
			    (getenv("REFUSE_SAMPLING") && copy.sample_period) ||
			    is_precise(&copy)) {
				errno = atoi(refused);
				return -1;
			}
			copy.type = PERF_TYPE_SOFTWARE;
			copy.config = PERF_COUNT_SW_CPU_CLOCK;
			copy.precise_ip = 0;
			copy.pinned = 0;
			args[0] = (long)&copy;
			fd = real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
			if (getenv("REFUSE_COUNTERS") && fd >= 0 && fd < FDS_MAX)
				has_no_counter[fd] = 1;
			return fd;
		}
	}
	return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
