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

bool process_proc_is_ours(void)
{
	char link[32], *end;
	ssize_t length = readlink("/proc/self", link, sizeof(link) - 1);

	if (length < 0)
		return true; /* no /proc at all: others will say so */
	link[length] = '\0';
	return strtol(link, &end, 10) == (long)getpid() && !*end;
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

/* One number of an idle state of a CPU; false where there is no such. */
static bool read_idle_state(uint32_t cpu, unsigned state, const char *what, uint64_t *ret)
{
	cleanup_file FILE *file = NULL;
	unsigned long long number;
	char path[96];

	(void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/%s", cpu,
		       state, what);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%llu", &number) != 1)
		return false;
	*ret = number;
	return true;
}

/* The time in all idle states, which the kernel keeps in microseconds; false without cpuidle. */
static bool read_cpuidle(uint32_t cpu, struct cpu_absence *ret)
{
	uint64_t us, nr, idle_us = 0, nr_idle = 0;
	unsigned state;

	for (state = 0;
	     read_idle_state(cpu, state, "time", &us) && read_idle_state(cpu, state, "usage", &nr);
	     state++) {
		idle_us += us;
		nr_idle += nr;
	}
	if (!state)
		return false;
	ret->idle_ns = idle_us * NS_PER_US;
	ret->nr_idle = nr_idle;
	return true;
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
	read_stat(cpu, ret);
	(void)read_cpuidle(cpu, ret);
}

uint64_t process_sysctl(const char *path, uint64_t fallback)
{
	cleanup_file FILE *file = NULL;
	unsigned long long number;
	char full[128];

	(void)snprintf(full, sizeof(full), "/proc/sys/%s", path);
	file = fopen(full, "re");
	return file && fscanf(file, "%llu", &number) == 1 ? number : fallback;
}

uint64_t process_memory_available(void)
{
	cleanup_file FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			return (uint64_t)kib << 10;
	return UINT64_MAX;
}

uint64_t process_own_address_space(void)
{
	cleanup_file FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages;

	return file && fscanf(file, "%llu", &pages) == 1
		       ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE)
		       : 0;
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
