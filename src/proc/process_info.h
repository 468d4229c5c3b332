/* Questions about processes and ourselves, answered from /proc. */
#ifndef STOOK_PROC_PROCESS_INFO_H
#define STOOK_PROC_PROCESS_INFO_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Opens /proc/PID/WHAT for reading; NULL with errno. */
FILE *process_open_file(int32_t pid, const char *what);

/* --- ourselves and the machine ---------------------------------------------------------------- */

/* The inode number of our own pid namespace; 0 when it is the initial one, or can't be told. */
uint32_t process_own_pidns(void);

/* Whether /proc shows the pid namespace that we are in: else its numbers mean other processes. */
bool process_proc_is_ours(void);

/* The pid of the process that a thread belongs to; or -ESRCH. */
int64_t process_of_thread(int32_t tid);

/* Time in which a CPU could not have been sampled, since boot. */
struct cpu_absence {
	uint64_t idle_ns;   /* as precisely as this kernel tells it */
	uint64_t nr_idle;   /* how often it fell idle; 0 if that is not told */
	uint64_t stolen_ns; /* by the hypervisor, which ran something else; in steps of 10 ms */
};

void process_cpu_absence(uint32_t cpu, struct cpu_absence *ret);

/* The number in /proc/sys/PATH; fallback if it can't be read. */
uint64_t process_sysctl(const char *path, uint64_t fallback);

/* Bytes of our own address space, of which most are never touched; 0 if not told. */
uint64_t process_own_address_space(void);

/* The path of the file behind one of our own descriptors; false if it has none. */
bool process_own_fd_path(int fd, char path[PATH_MAX]);

/* Kernel memory that the BPF map behind one of our own descriptors holds; 0 if it can't be told. */
uint64_t process_own_fd_memory(int fd);

/* --- /proc/PID/stat and /proc/PID/status ------------------------------------------------------ */

/* Real, effective, saved, of the file system; they mostly are one. */
#define PROCESS_NR_UIDS 4

struct process_status {
	char comm[16];
	char state;		/* 'R', 'S', … 'T' stopped, 'Z' dead */
	bool is_kernel;		/* a thread of the kernel's own */
	uint64_t start_boot_ns; /* since boot, with time asleep, in steps of the clock's tick */
	int32_t inner_pid;	/* in its innermost pid namespace */
	bool is_nested;		/* that namespace is not the one of our /proc */
	uid_t uid;		/* effective; all ids as our own user namespace has them */
	uid_t uids[PROCESS_NR_UIDS];
	gid_t gid;
	uint64_t caught; /* signals with a handler: signal n is bit n - 1 */
};

/* 0, or -ESRCH if it is gone. A number may mean another process from one call to the next. */
int process_status_read(int32_t pid, struct process_status *ret);

static inline bool process_status_catches(const struct process_status *status, int signal)
{
	return status->caught >> (signal - 1) & 1;
}

/* --- the program of a process ----------------------------------------------------------------- */

/*
 * A descriptor for reading, of the file that a process executes, deleted or not; its path, as the
 * process sees it, is *ret_path, to be freed. -ESRCH: no such process; -ENOENT: a thread of the
 * kernel, which has none; or another negative errno.
 */
int program_file_open(int32_t pid, char **ret_path);

#endif
