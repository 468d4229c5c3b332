/*
 * Reads /proc and /sys, anew at each call.
 *
 * The status of a process is read from two files, since neither has everything: the start time is
 * only in stat, the users only in status. If the process exits between the two reads, the second
 * file does not exist; so the result describes one process, unless its pid was reused within that
 * moment.
 */
#include "proc/process_info.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

FILE *process_open_file(int32_t pid, const char *what)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	return fopen(path, "re");
}

/* --- ourselves and the machine ---------------------------------------------------------------- */

#define INITIAL_PIDNS 0xeffffffcU /* PROC_PID_INIT_INO, fixed in the kernel */

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
		return true; /* no /proc at all: reported elsewhere */
	link[length] = '\0';
	return strtol(link, &end, 10) == (long)getpid() && !*end;
}

int64_t process_of_thread(int32_t tid)
{
	cleanup_file FILE *file = process_open_file(tid, "status");
	char line[256];
	int32_t pid;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			return pid;
	return -ESRCH;
}

/* Reads one number of a CPU's idle state; false if there is no such state. */
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

/* Reads the CPU's line of /proc/stat, in ticks of 10 ms; iowait counts as idle time. */
static void read_cpu_stat(uint32_t cpu, struct cpu_absence *ret)
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
	uint64_t us, nr, idle_us = 0, nr_idle = 0;
	unsigned state;

	read_cpu_stat(cpu, ret);
	/* cpuidle, if available, is more precise: microseconds in each idle state. */
	for (state = 0;
	     read_idle_state(cpu, state, "time", &us) && read_idle_state(cpu, state, "usage", &nr);
	     state++) {
		idle_us += us;
		nr_idle += nr;
	}
	if (!state)
		return;
	ret->idle_ns = idle_us * NS_PER_US;
	ret->nr_idle = nr_idle;
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

int process_own_program(void)
{
	const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);
	int fd = open(PROCESS_OWN_PROGRAM, O_PATH | O_CLOEXEC);

	/* In a root without /proc, the path that we were executed by. */
	return fd < 0 && path ? open(path, O_PATH | O_CLOEXEC) : fd;
}

bool process_own_fd_path(int fd, char path[PATH_MAX])
{
	char link[40];
	ssize_t nr;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	nr = readlink(link, path, PATH_MAX - 1);
	if (nr <= 0 || path[0] != '/')
		return false;
	path[nr] = '\0';
	return true;
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

/* --- the status of a process ------------------------------------------------------------------ */

#define STAT_BYTES 1024

#define PF_KTHREAD 0x00200000U /* the kernel's value */

/*
 * Format: pid (comm) state … flags … start …: comm may contain any characters, even blanks and
 * brackets.
 */
static bool read_stat(int32_t pid, struct process_status *ret)
{
	cleanup_file FILE *file = process_open_file(pid, "stat");
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	char text[STAT_BYTES];
	const char *from, *end;
	uint64_t ticks;
	unsigned flags;

	if (!file)
		return false;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	from = strchr(text, '(');
	end = strrchr(text, ')');
	if (!from || !end ||
	    sscanf(end + 1,
		   " %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%" SCNu64,
		   &ret->state, &flags, &ticks) != 3)
		return false;
	ret->is_kernel = flags & PF_KTHREAD;
	(void)snprintf(ret->comm, sizeof(ret->comm), "%.*s", (int)(end - from) - 1, from + 1);
	ret->start_boot_ns = ticks * tick_ns;
	return true;
}

/* Parses NSpid: one pid for each pid namespace, from that of /proc to the innermost. */
static void parse_pids(const char *text, struct process_status *ret)
{
	int length, nr;
	int32_t pid;

	for (nr = 0; sscanf(text, "%d%n", &pid, &length) == 1; nr++) {
		ret->inner_pid = pid;
		text += length;
	}
	ret->is_nested = nr > 1;
}

static bool read_status(int32_t pid, struct process_status *ret)
{
	cleanup_file FILE *file = process_open_file(pid, "status");
	char line[512];
	bool has_uid = false, has_gid = false;

	ret->inner_pid = pid; /* for kernels without pid namespaces */
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "NSpid:", 6))
			parse_pids(line + 6, ret);
		if (sscanf(line, "Uid: %u %u %u %u", &ret->uids[0], &ret->uids[1], &ret->uids[2],
			   &ret->uids[3]) == PROCESS_NR_UIDS) {
			ret->uid = ret->uids[1];
			has_uid = true;
		}
		has_gid |= sscanf(line, "Gid: %*u %u", &ret->gid) == 1;
		(void)sscanf(line, "SigCgt: %" SCNx64, &ret->caught);
	}
	return has_uid && has_gid;
}

int process_status_read(int32_t pid, struct process_status *ret)
{
	struct process_status status = {0};

	if (!read_stat(pid, &status) || !read_status(pid, &status))
		return -ESRCH;
	*ret = status;
	return 0;
}

/* --- the program of a process ----------------------------------------------------------------- */

#define DELETED " (deleted)"

/*
 * The error of a failed access to /proc/PID/exe: -ESRCH if the process has exited.
 *
 * /proc/PID/exe refers to the file itself, even if its path now names another one. A program is
 * always a regular file, so opening it cannot block and has no side effects.
 */
static int no_program(int32_t pid)
{
	int err = -errno;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	return err == -ENOENT && access(path, F_OK) < 0 ? -ESRCH : err;
}

int program_file_open(int32_t pid, char **ret_path)
{
	cleanup_fd int fd = -1;
	char link[64], path[PATH_MAX];
	ssize_t nr;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	nr = readlink(link, path, sizeof(path) - 1);
	if (nr >= 0)
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return no_program(pid);
	if (text_ends_with(path, (size_t)nr, DELETED))
		nr -= (ssize_t)strlen(DELETED);
	*ret_path = strndup(path, (size_t)nr);
	return *ret_path ? take_fd(&fd) : -ENOMEM;
}
