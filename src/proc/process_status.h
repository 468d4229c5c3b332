/* What /proc/PID/stat and /proc/PID/status say of a process. */
#ifndef STOOK_PROC_PROCESS_STATUS_H
#define STOOK_PROC_PROCESS_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_status {
	char comm[16];
	char state;		/* 'R', 'S', … 'T' stopped, 'Z' dead */
	uint64_t start_boot_ns; /* since boot, with time asleep, in steps of the clock's tick */
	int32_t inner_pid;	/* in its innermost pid namespace */
	bool is_nested;		/* that namespace is not the one of our /proc */
	uid_t uid;		/* effective; both as our own user namespace has them */
	gid_t gid;
	uint64_t caught; /* signals with a handler: signal n is bit n - 1 */
};

/* 0, or -ESRCH if it is gone. A number may mean another process from one call to the next. */
int process_status_read(int32_t pid, struct process_status *ret);

static inline bool process_status_catches(const struct process_status *status, int signal)
{
	return status->caught >> (signal - 1) & 1;
}

#endif
