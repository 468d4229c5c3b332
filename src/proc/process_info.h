/* Facts about processes, ourselves and the machine, from /proc and /sys. */
#ifndef STOOK_PROC_PROCESS_INFO_H
#define STOOK_PROC_PROCESS_INFO_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Opens /proc/PID/WHAT for reading; NULL with errno. */
FILE *process_open_file(int32_t pid, const char *what);

/* --- ourselves and the machine ---------------------------------------------------------------- */

/* The inode number of our own pid namespace; 0 if it is the initial one or unknown. */
uint32_t process_own_pidns(void);

/* True if our user namespace is not the initial one: the kernel does not let its capabilities count for the host. */
bool process_own_userns(void);

/* True if /proc shows our own pid namespace. Otherwise its pids refer to other processes. */
bool process_proc_is_ours(void);

/* The pid of the process that a thread belongs to; or -ESRCH. */
int64_t process_of_thread(int32_t tid);

/* Time in which a CPU could not have been sampled, since boot. */
struct cpu_absence {
	uint64_t idle_ns;   /* with the kernel's precision */
	uint64_t nr_idle;   /* number of times it went idle; 0 if unknown */
	uint64_t stolen_ns; /* steal time (hypervisor), in steps of 10 ms */
};

/* Reads that of each of the CPUs; {0} for one that is offline. */
void process_cpu_absences(const uint32_t *cpus, size_t nr_cpus, struct cpu_absence *ret);

/* Returns how many threads the host has now; 0 if that can't be read. */
uint64_t process_nr_threads(void);

/*
 * True if the kernel accounts how long threads wait for a CPU. Built without SCHED_INFO it does not,
 * nor before Linux 5.14 without SCHEDSTATS.
 */
bool process_has_delays(void);

/* The number in /proc/sys/PATH, or fallback if it can't be read. */
uint64_t process_sysctl(const char *path, uint64_t fallback);

/* The path of the executable of the calling process. */
#define PROCESS_OWN_PROGRAM "/proc/self/exe"

/* Opens our own executable as an O_PATH handle. Returns -1 with errno on failure. */
int process_own_program(void);

/* The path of the file behind one of our own descriptors; false if it has none. */
bool process_own_fd_path(int fd, char path[PATH_MAX]);

/* Kernel memory used by the BPF map behind one of our own descriptors; 0 if unknown. */
uint64_t process_own_fd_memory(int fd);

uint64_t process_usage_ns(const struct rusage *usage);

/* The use of resources by this process and its descendants. */
struct process_usage {
	uint64_t own_ns;    /* CPU time of this process */
	uint64_t helper_ns; /* of its descendants, dead or alive; of these, in steps of 10 ms */
	uint64_t pss_bytes; /* proportional set size; 0 unless asked for */
	uint64_t apart_pss_bytes;
};

/* apart_pid: a child that is not counted, nor its descendants, except for apart_pss_bytes; 0: none. */
void process_own_usage(bool with_memory, int32_t apart_pid, struct process_usage *ret);

/*
 * Sums up the proportional set size in /proc/PID/smaps or smaps_rollup, in bytes, without BPF maps that the process has
 * mapped: the kernel allocates these.
 */
uint64_t process_sum_pss(FILE *smaps);

/* --- /proc/PID/status and /proc/PID/stat ------------------------------------------------------ */

/* Real, effective, saved, and file system uid; usually all the same. */
#define PROCESS_NR_UIDS 4

struct process_status {
	char comm[16];
	char state;	   /* 'R', 'S', … 'T' stopped, 'Z' zombie */
	bool is_kernel;	   /* a kernel thread */
	int32_t inner_pid; /* pid in its innermost pid namespace */
	bool is_nested;	   /* that namespace is not /proc's */
	uid_t uid;	   /* effective; all ids are as in our user namespace */
	uid_t uids[PROCESS_NR_UIDS];
	gid_t gid;
	uint64_t caught; /* signals with a handler: signal n is bit n - 1 */
};

/* 0, or -ESRCH if it has exited. A pid may refer to another process at the next call. Does not block. */
int process_status_read(int32_t pid, struct process_status *ret);

/*
 * Reads when a process was started: since boot, including suspend, in clock ticks. 0 or -ESRCH. Blocks while the
 * process is in the middle of an execve().
 */
int process_start_read(int32_t pid, uint64_t *ret_boot_ns);

/*
 * True if a process that started at start_boot_ns according to /proc can be the one that the kernel reported to start at
 * start_time_ns, of CLOCK_MONOTONIC; 0: unknown.
 */
bool process_start_can_be(uint64_t start_time_ns, uint64_t start_boot_ns);

/* True if there is a process with this pid, also one of which only the leader has exited. Does not block. */
bool process_exists(int32_t pid);

/* Reads the name of a process; "" if it has exited. Does not block. */
void process_name_read(int32_t pid, char ret[16]);

static inline bool process_status_catches(const struct process_status *status, int signal)
{
	return status->caught >> (signal - 1) & 1;
}

/* True if a thread of the process runs, or would if there were a CPU for it. Does not block. */
bool process_is_runnable(int32_t pid);

/* CPU time of all of its threads, with those that have ended; 0 if it has exited. Does not block. */
uint64_t process_cpu_ns(int32_t pid);

/* Lists the tids of a process, to be freed. 0, -ESRCH or -ENOMEM. */
int process_threads(int32_t pid, uint32_t **ret, size_t *ret_nr);

/* Likewise its children, if the kernel lists them. */
int process_children(int32_t pid, int32_t **ret, size_t *ret_nr);

/* Waits until a process lets others read its mmap_lock: it has it while it changes its mappings. */
void process_memory_await(int32_t pid);

/* --- the program of a process ----------------------------------------------------------------- */

/*
 * Reads the path of the file that a process executes, in the process' view, without " (deleted)". Touches no file
 * and does not block. 0; -ESRCH: no such process; -ENOENT: a kernel thread; or another negative errno.
 */
int process_program_path(int32_t pid, char path[PATH_MAX]);

/*
 * Finds the file that a process executes, deleted or not. Returns an O_PATH handle and
 * sets *ret_path, to be freed, to its path in the process' view. -ESRCH: no such process; -ENOENT:
 * a kernel thread, which has no program; or another negative errno.
 */
int process_program_find(int32_t pid, char **ret_path);

#endif
