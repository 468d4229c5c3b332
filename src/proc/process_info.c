/*
 * Reads /proc and /sys, anew at each call.
 *
 * The start time of a process is only in its stat, which nobody can read while the process is in an execve() that does
 * not end; all else is in its status.
 */
#include "proc/process_info.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
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

#define INITIAL_USERNS 0xeffffffdU /* PROC_USER_INIT_INO */

bool process_own_userns(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino != INITIAL_USERNS;
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

/*
 * Reads the lines of CPUs in /proc/stat, in ticks of 10 ms; iowait counts as idle time. The file has one line for each
 * CPU, and the kernel makes all of it at each reading.
 */
static void read_cpu_stats(const uint32_t *cpus, size_t nr_cpus, struct cpu_absence *ret)
{
	cleanup_file FILE *file = fopen("/proc/stat", "re");
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long idle, iowait, steal;
	size_t at = 0, tries;
	char line[512];
	unsigned number;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "cpu%u %*u %*u %*u %llu %llu %*u %*u %llu", &number, &idle,
			   &iowait, &steal) != 4)
			continue;
		/* Both are mostly in the same order, so the next CPU of the list is tried first. */
		for (tries = 0; tries < nr_cpus && cpus[at] != number; tries++)
			at = (at + 1) % nr_cpus;
		if (tries == nr_cpus)
			continue;
		ret[at].idle_ns = (idle + iowait) * tick_ns;
		ret[at].stolen_ns = steal * tick_ns;
	}
}

/* cpuidle, if available, is more precise: microseconds in each idle state. */
static void read_idle_states(uint32_t cpu, struct cpu_absence *ret)
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
		return;
	ret->idle_ns = idle_us * NS_PER_US;
	ret->nr_idle = nr_idle;
}

void process_cpu_absences(const uint32_t *cpus, size_t nr_cpus, struct cpu_absence *ret)
{
	size_t i;

	for (i = 0; i < nr_cpus; i++)
		ret[i] = (struct cpu_absence){0};
	read_cpu_stats(cpus, nr_cpus, ret);
	for (i = 0; i < nr_cpus; i++)
		read_idle_states(cpus[i], &ret[i]);
}

uint64_t process_nr_threads(void)
{
	cleanup_file FILE *file = fopen("/proc/loadavg", "re");
	unsigned long long nr;

	return file && fscanf(file, "%*s %*s %*s %*u/%llu", &nr) == 1 ? nr : 0;
}

/* Our own process has waited at least once, when it was created. */
bool process_has_delays(void)
{
	cleanup_file FILE *file = fopen("/proc/self/schedstat", "re");
	unsigned long long nr_waits;

	return file && fscanf(file, "%*u %*u %llu", &nr_waits) == 1 && nr_waits;
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

/* --- what we use ------------------------------------------------------------------------------ */

#define MAX_GENERATIONS 4 /* of descendants: helper processes, and processes that they start */

static void add_cpu_time(int32_t pid, struct process_usage *sum)
{
	cleanup_file FILE *file = process_open_file(pid, "stat");
	const uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t user, system, children_user, children_system;
	char text[1024];
	const char *end;

	if (!file)
		return;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	end = strrchr(text, ')');
	if (end && sscanf(end + 1,
			  " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64
			  " %" SCNu64 " %" SCNu64,
			  &user, &system, &children_user, &children_system) == 4)
		sum->helper_ns += (user + system + children_user + children_system) * tick_ns;
}

#define BPF_MAP_NAME " anon_inode:bpf-map\n"

/* A mapping begins with a line "START-END …", in lower-case hexadecimal; its other lines begin with a name. */
uint64_t process_sum_pss(FILE *smaps)
{
	const size_t name_bytes = strlen(BPF_MAP_NAME);
	unsigned long long kilobytes;
	cleanup_free char *line = NULL;
	size_t capacity = 0;
	uint64_t sum = 0;
	bool is_ours = true;
	ssize_t nr;

	while ((nr = getline(&line, &capacity, smaps)) > 0) {
		if (line[0] >= 'A' && line[0] <= 'Z')
			sum += is_ours && sscanf(line, "Pss: %llu kB", &kilobytes) == 1
				       ? kilobytes * 1024
				       : 0;
		else
			is_ours = (size_t)nr < name_bytes ||
				  strcmp(line + nr - name_bytes, BPF_MAP_NAME) != 0;
	}
	return sum;
}

/* Only this process maps BPF maps; for the others, the sum that the kernel has takes less time to read. */
static uint64_t read_pss(int32_t pid, const char *what)
{
	cleanup_file FILE *file = process_open_file(pid, what);

	return file ? process_sum_pss(file) : 0;
}

/* How descendants are counted. */
struct usage_walk {
	bool with_memory;
	int32_t apart_pid;
	struct process_usage *sum;
};

/* Children belong to the thread that started them. */
int process_children(int32_t pid, int32_t **ret, size_t *ret_nr)
{
	cleanup_free uint32_t *tids = NULL;
	cleanup_free int32_t *pids = NULL;
	size_t nr_tids = 0, nr = 0, cap = 0, i;
	int err = process_threads(pid, &tids, &nr_tids);

	for (i = 0; i < nr_tids && !err; i++) {
		cleanup_file FILE *children = NULL;
		char what[48];
		int32_t child;

		(void)snprintf(what, sizeof(what), "task/%u/children", tids[i]);
		children = process_open_file(pid, what);
		while (!err && children && fscanf(children, "%d", &child) == 1)
			err = ARRAY_ADD(pids, nr, cap, child);
	}
	if (err)
		return err;
	*ret = take_pointer(&pids);
	*ret_nr = nr;
	return 0;
}

static void add_descendants(const struct usage_walk *walk, int32_t pid, bool is_apart,
			    unsigned generation)
{
	struct process_usage *sum = walk->sum;
	cleanup_free int32_t *children = NULL;
	size_t nr = 0, i;

	if (generation > MAX_GENERATIONS || process_children(pid, &children, &nr) < 0)
		return;
	for (i = 0; i < nr; i++) {
		const bool child_apart = is_apart || children[i] == walk->apart_pid;

		if (child_apart && !walk->with_memory)
			continue;
		if (!child_apart)
			add_cpu_time(children[i], sum);
		if (walk->with_memory)
			*(child_apart ? &sum->apart_pss_bytes : &sum->pss_bytes) +=
				read_pss(children[i], "smaps_rollup");
		add_descendants(walk, children[i], child_apart, generation + 1);
	}
}

#define USAGE_TRIES 4

uint64_t process_usage_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * NS_PER_US;
}

void process_own_usage(bool with_memory, int32_t apart_pid, struct process_usage *ret)
{
	const struct usage_walk walk = {with_memory, apart_pid, ret};
	const int32_t own = getpid();
	struct rusage before, ended;
	int tries = 0;

	(void)getrusage(RUSAGE_CHILDREN, &ended);
	do { /* a child that another thread waits for meanwhile would count twice, or not at all */
		before = ended;
		*ret = (struct process_usage){0};
		add_descendants(&walk, own, false, 1);
		(void)getrusage(RUSAGE_CHILDREN, &ended);
	} while (process_usage_ns(&ended) != process_usage_ns(&before) && ++tries < USAGE_TRIES);
	ret->helper_ns += process_usage_ns(&ended);
	if (with_memory)
		ret->pss_bytes += read_pss(own, "smaps");
	ret->own_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* --- the status of a process ------------------------------------------------------------------ */

#define STAT_BYTES 1024

/*
 * Format: pid (comm) state … start …: comm may contain any characters, even blanks and brackets.
 */
int process_start_read(int32_t pid, uint64_t *ret_boot_ns)
{
	cleanup_file FILE *file = process_open_file(pid, "stat");
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	char text[STAT_BYTES];
	const char *end;
	uint64_t ticks;

	if (!file)
		return -ESRCH;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1,
			   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			   "%*s %*s %" SCNu64,
			   &ticks) != 1)
		return -ESRCH;
	*ret_boot_ns = ticks * tick_ns;
	return 0;
}

/* The two clocks differ by the suspend time before the start, which is at most the suspend time until now. */
bool process_start_can_be(uint64_t start_time_ns, uint64_t start_boot_ns)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t awake_ns = clock_now_ns(), total_ns = clock_read_ns(CLOCK_BOOTTIME);
	uint64_t asleep_ns = total_ns > awake_ns ? total_ns - awake_ns : 0;

	return !start_time_ns || (start_boot_ns + tick_ns >= start_time_ns &&
				  start_boot_ns <= start_time_ns + asleep_ns + tick_ns);
}

bool process_exists(int32_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

void process_name_read(int32_t pid, char ret[16])
{
	cleanup_file FILE *file = process_open_file(pid, "comm");
	size_t nr = file ? fread(ret, 1, 15, file) : 0;

	if (nr && ret[nr - 1] == '\n')
		nr--;
	ret[nr] = '\0';
}

/* Copies a name, in which the kernel has escaped newlines and backslashes. */
static void parse_name(const char *from, char to[16])
{
	size_t nr = 0;

	while (*from && *from != '\n' && nr < 15) {
		if (from[0] == '\\' && (from[1] == '\\' || from[1] == 'n'))
			from++;
		else if (from[0] != '\\') {
			to[nr++] = *from++;
			continue;
		}
		to[nr++] = (char)(*from == 'n' ? '\n' : *from);
		from++;
	}
	to[nr] = '\0';
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

int process_status_read(int32_t pid, struct process_status *ret)
{
	cleanup_file FILE *file = process_open_file(pid, "status");
	struct process_status status = {.inner_pid = pid}; /* for kernels without pid namespaces */
	bool has_uid = false, has_gid = false, has_memory = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "Name:\t", 6))
			parse_name(line + 6, status.comm);
		if (!strncmp(line, "NSpid:", 6))
			parse_pids(line + 6, &status);
		if (sscanf(line, "Uid: %u %u %u %u", &status.uids[0], &status.uids[1],
			   &status.uids[2], &status.uids[3]) == PROCESS_NR_UIDS) {
			status.uid = status.uids[1];
			has_uid = true;
		}
		has_gid |= sscanf(line, "Gid: %*u %u", &status.gid) == 1;
		has_memory |= !strncmp(line, "VmSize:", 7);
		(void)sscanf(line, "State: %c", &status.state);
		(void)sscanf(line, "SigCgt: %" SCNx64, &status.caught);
	}
	if (!has_uid || !has_gid)
		return -ESRCH;
	status.is_kernel = !has_memory && status.state != 'Z' && status.state != 'X';
	*ret = status;
	return 0;
}

int process_threads(int32_t pid, uint32_t **ret, size_t *ret_nr)
{
	cleanup_free uint32_t *tids = NULL;
	size_t nr = 0, cap = 0;
	struct dirent *entry;
	char path[64];
	DIR *threads;
	int err = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	if (!threads)
		return -ESRCH;
	while (!err && (entry = readdir(threads)))
		if (entry->d_name[0] != '.')
			err = ARRAY_ADD(tids, nr, cap, (uint32_t)strtoul(entry->d_name, NULL, 10));
	(void)closedir(threads);
	if (err || !nr)
		return err ? err : -ESRCH;
	*ret = take_pointer(&tids);
	*ret_nr = nr;
	return 0;
}

bool process_is_runnable(int32_t pid)
{
	cleanup_free uint32_t *tids = NULL;
	struct process_status status;
	size_t nr = 0, i;

	if (process_threads(pid, &tids, &nr) < 0)
		return false;
	for (i = 0; i < nr; i++)
		if (process_status_read((int32_t)tids[i], &status) == 0 && status.state == 'R')
			return true;
	return false;
}

uint64_t process_cpu_ns(int32_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) == 0 ? clock_read_ns(clock) : 0;
}

/*
 * Reads where no memory is, so that no page of the process is touched. Its mappings would not do: since Linux 6.17
 * they are read without the lock. Where /proc/PID/mem is not allowed, the command line takes the lock too, unless the
 * process has given itself none.
 */
void process_memory_await(int32_t pid)
{
	cleanup_fd int fd = -1;
	char path[64], byte;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd >= 0)
		(void)!pread(fd, &byte, 1, 0);
}

/* --- the program of a process ----------------------------------------------------------------- */

#define DELETED " (deleted)"

/*
 * The error of a failed access to /proc/PID/exe: -ESRCH if the process has exited.
 *
 * /proc/PID/exe refers to the file itself, even if its path now names another one.
 */
static int no_program(int32_t pid)
{
	int err = -errno;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	return err == -ENOENT && access(path, F_OK) < 0 ? -ESRCH : err;
}

int process_program_path(int32_t pid, char path[PATH_MAX])
{
	char link[64];
	ssize_t nr;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	nr = readlink(link, path, PATH_MAX - 1);
	if (nr < 0)
		return no_program(pid);
	if (text_ends_with(path, (size_t)nr, DELETED))
		nr -= (ssize_t)strlen(DELETED);
	path[nr] = '\0';
	return 0;
}

int process_program_find(int32_t pid, char **ret_path)
{
	char link[64], path[PATH_MAX];
	cleanup_fd int handle = -1;
	int err = process_program_path(pid, path);

	if (err)
		return err;
	(void)snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	handle = open(link, O_PATH | O_CLOEXEC);
	if (handle < 0)
		return no_program(pid);
	*ret_path = strdup(path);
	return *ret_path ? take_fd(&handle) : -ENOMEM;
}
