/* Small questions about processes and ourselves, answered from /proc. */
#ifndef STOOK_PROC_PROCESS_INFO_H
#define STOOK_PROC_PROCESS_INFO_H

#include <stdbool.h>
#include <stdint.h>

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

/* Bytes that can be had without pressing anybody else on the host; UINT64_MAX if not told. */
uint64_t process_memory_available(void);

/* Bytes of our own address space, of which most are never touched; 0 if not told. */
uint64_t process_own_address_space(void);

/* Kernel memory that the BPF map behind one of our own descriptors holds; 0 if it can't be told. */
uint64_t process_own_fd_memory(int fd);

#endif
