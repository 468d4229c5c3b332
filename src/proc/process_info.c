/* Answers from /proc and /sys; see process_info.h. */
#include "proc/process_info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define INITIAL_PIDNS 0xeffffffcU /* the kernel's fixed number for it */

uint32_t process_own_pidns(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == INITIAL_PIDNS)
		return 0;
	return (uint32_t)st.st_ino;
}

int64_t process_of_thread(int32_t tid)
{
	cleanup_file FILE *file = NULL;
	char path[64], line[256];
	int32_t pid;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			return pid;
	return -ESRCH;
}

/* The time in each idle state, in microseconds; false where there is no cpuidle driver. */
static bool read_cpuidle(uint32_t cpu, uint64_t *ret_ns)
{
	unsigned state;

	*ret_ns = 0;
	for (state = 0;; state++) {
		cleanup_file FILE *file = NULL;
		unsigned long long us;
		char path[96];

		(void)snprintf(path, sizeof(path),
			       "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/time", cpu, state);
		file = fopen(path, "re");
		if (!file || fscanf(file, "%llu", &us) != 1)
			return state > 0;
		*ret_ns += us * NS_PER_US;
	}
}

/* What /proc/stat has of the CPU, in ticks of 10 ms; iowait is idle time too. */
static void read_stat(uint32_t cpu, struct cpu_absence *ret)
{
	cleanup_file FILE *file = fopen("/proc/stat", "re");
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long idle, iowait, steal;
	char line[512];
	unsigned number;

	*ret = (struct cpu_absence){0};
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "cpu%u %*u %*u %*u %llu %llu %*u %*u %llu", &number, &idle,
			   &iowait, &steal) != 4 ||
		    number != cpu)
			continue;
		ret->idle_ns = (idle + iowait) * tick_ns;
		ret->stolen_ns = steal * tick_ns;
		return;
	}
}

void process_cpu_absence(uint32_t cpu, struct cpu_absence *ret)
{
	uint64_t idle_ns;

	read_stat(cpu, ret);
	if (read_cpuidle(cpu, &idle_ns))
		ret->idle_ns = idle_ns;
}

uint64_t process_own_fd_memory(int fd)
{
	cleanup_file FILE *file = NULL;
	unsigned long long bytes;
	char path[64], line[256];

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			return bytes;
	return 0;
}
