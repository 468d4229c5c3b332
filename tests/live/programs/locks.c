/*
 * locks SECONDS FOLDER: threads that wait for locks. At the end, on stdout, for those whose waits are known:
 *
 *	thread l-user-1 4711 2912345678 290
 *
 * Name and tid; the time off its CPU in calls of pthread_mutex_lock(), and their number.
 *
 * - l-user-0 to -2 share a mutex of user space, and sleep while they have it.
 * - l-sleep waits for a condition with a time limit, for its time to pass: a futex that is no lock.
 * - l-map-0 to -3 map and unmap memory of the same process: a lock for reading and writing, for writing.
 * - l-read-0 and -1 read a file of /proc that needs the same lock for reading.
 * - l-name-0 to -3 move files between two folders in FOLDER, which takes a mutex of the file system.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burn.h"

struct worker {
	const char *name;
	void (*run)(struct worker *worker);
	int nr;
	uint64_t waited_ns, calls;
	pid_t tid;
};

static uint64_t end_ns;
static const char *folder;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static int goes_on(void)
{
	return monotonic_ns() < end_ns;
}

NAMED void lock_once(void)
{
	pthread_mutex_lock(&mutex);
}

/* Sleeps outside, too: else it would be the only one that gets it. */
NAMED void in_lock(struct worker *worker)
{
	const uint64_t wall_ns = monotonic_ns(), cpu_ns = thread_cpu_ns();

	lock_once();
	worker->waited_ns += monotonic_ns() - wall_ns - (thread_cpu_ns() - cpu_ns);
	worker->calls++;
	usleep(2000);
	pthread_mutex_unlock(&mutex);
	usleep(500);
}

NAMED void in_condition(struct worker *worker)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 20000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&own_mutex);
	pthread_cond_timedwait(&never, &own_mutex, &until);
	pthread_mutex_unlock(&own_mutex);
}

#define MAP_BYTES (64 << 12)

NAMED void in_map(struct worker *worker)
{
	char *memory = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory != MAP_FAILED)
		munmap(memory, MAP_BYTES);
}

NAMED void in_proc(struct worker *worker)
{
	static const char path[] = "/proc/self/cmdline";
	char bytes[64];
	int fd = open(path, O_RDONLY);

	(void)!read(fd, bytes, sizeof(bytes));
	(void)close(fd);
}

NAMED void in_rename(struct worker *worker)
{
	char from[300], to[300];

	snprintf(from, sizeof(from), "%s/a/%d", folder, worker->nr);
	snprintf(to, sizeof(to), "%s/b/%d", folder, worker->nr);
	if (rename(from, to) || rename(to, from))
		perror("locks: rename");
}

static void *run(void *argument)
{
	struct worker *worker = argument;

	prctl(PR_SET_NAME, worker->name);
	worker->tid = gettid();
	while (goes_on())
		worker->run(worker);
	return NULL;
}

static int make_files(void)
{
	char path[300];
	int i, fd;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%c", folder, 'a' + i);
		if (mkdir(path, 0700))
			return -1;
	}
	for (i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/a/%d", folder, i);
		fd = open(path, O_CREAT | O_WRONLY, 0600);
		if (fd < 0)
			return -1;
		(void)close(fd);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct worker workers[] = {
		{"l-user-0", in_lock},	    {"l-user-1", in_lock},	{"l-user-2", in_lock},
		{"l-sleep", in_condition},  {"l-map-0", in_map},	{"l-map-1", in_map},
		{"l-map-2", in_map},	    {"l-map-3", in_map},	{"l-read-0", in_proc},
		{"l-read-1", in_proc},	    {"l-name-0", in_rename, 0}, {"l-name-1", in_rename, 1},
		{"l-name-2", in_rename, 2}, {"l-name-3", in_rename, 3},
	};
	enum { NR = sizeof(workers) / sizeof(workers[0]) };
	pthread_t threads[NR];
	int i;

	if (argc < 3) {
		fprintf(stderr, "usage: locks SECONDS FOLDER\n");
		return 2;
	}
	folder = argv[2];
	if (make_files()) {
		perror("locks");
		return 1;
	}
	end_ns = monotonic_ns() + (uint64_t)(atof(argv[1]) * 1e9);
	for (i = 0; i < NR; i++)
		pthread_create(&threads[i], NULL, run, &workers[i]);
	for (i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < NR; i++)
		if (workers[i].calls)
			printf("thread %s %d %llu %llu\n", workers[i].name, workers[i].tid,
			       (unsigned long long)workers[i].waited_ns,
			       (unsigned long long)workers[i].calls);
	return 0;
}
