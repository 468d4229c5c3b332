/* Small questions about processes and ourselves, answered from /proc. */
#ifndef STOOK_PROC_PROCESS_INFO_H
#define STOOK_PROC_PROCESS_INFO_H

#include <stdbool.h>
#include <stdint.h>

/* The inode number of our own pid namespace; 0 when it is the initial one, or can't be told. */
uint32_t process_own_pidns(void);

/* The pid of the process that a thread belongs to; or -ESRCH. */
int64_t process_of_thread(int32_t tid);

/* The time that a CPU has spent idle since boot, as precisely as this kernel tells it. */
uint64_t process_cpu_idle_ns(uint32_t cpu);

/* Kernel memory that the BPF map behind one of our own descriptors holds; 0 if it can't be told. */
uint64_t process_own_fd_memory(int fd);

#endif
