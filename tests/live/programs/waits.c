/*
 * waits SECONDS [FILE]: threads whose waits are known by construction, which measure themselves. FILE
 * and FILE.faults are written to; without them, no thread waits for a disk.
 *
 * Each thread calls one path again and again, and each call is measured: the time that passed minus
 * the thread's CPU time is what the thread was off its CPU. At the end, on stdout:
 *
 *	thread w-sleep 4711 in_sleep 3001234567 3003456789 78912345 2912345678 290 2890000000 3
 *	stopped w-stop 4712 500123456 500987654
 *
 * A thread's name, tid and path; how long it existed, at least and at most; its CPU time; the time off
 * its CPU in the path, calls of it, the time asked for (0: not known), and how many times it was preempted. A process'
 * name and pid, and for how long it was stopped, at least and at most.
 *
 * - w-sleep sleeps, for random times.
 * - w-ping and w-pong hand a byte to each other in pipes.
 * - w-futex waits for a condition that the main thread signals, w-disk for a file to be written, w-fault in page faults
 *   for a file that is not in memory.
 * - w-spin-0 and w-spin-1 share a CPU and never wait; with nice 0 and 5, the scheduler gives them CPU time as 1024 to
 *   335. w-yield shares it, too, and gives it away.
 * - w-stop is a process that burns CPU time and is stopped and continued.
 *
 * The system call's wrapper has no frame, nor has a leaf, so that a walk by frame pointers skips its caller: tests
 * look for the function one call further out.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define DISK_BYTES  4096
#define FAULT_PAGES 256

struct worker {
	const char *name, *path;
	void (*run)(struct worker *worker);
	int cpu; /* -1: any */
	int nice;
	int in, out;
	uint64_t random;
	uint64_t created_ns, began_ns, ended_ns, joined_ns, run_ns, nr_preempted;
	uint64_t off_ns, calls, asked_ns;
	pid_t tid;
};

static uint64_t end_ns;
static const volatile char *fault_page;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static unsigned signalled;

struct moment {
	uint64_t wall_ns, cpu_ns;
};

static struct moment now(void)
{
	return (struct moment){monotonic_ns(), thread_cpu_ns()};
}

static void add(struct worker *worker, struct moment begin)
{
	struct moment end = now();
	uint64_t wall_ns = end.wall_ns - begin.wall_ns, cpu_ns = end.cpu_ns - begin.cpu_ns;

	worker->off_ns += wall_ns > cpu_ns ? wall_ns - cpu_ns : 0;
	worker->calls++;
}

static int goes_on(void)
{
	return monotonic_ns() < end_ns;
}

/* --- the paths ------------------------------------------------------------------------------- */

NAMED void sleep_once(uint64_t ns)
{
	struct timespec time = {0, (long)ns};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

NAMED void in_sleep(struct worker *worker)
{
	uint64_t ns = random_between(&worker->random, 500000, 20500000);

	worker->asked_ns += ns;
	sleep_once(ns);
}

NAMED void read_once(struct worker *worker)
{
	char byte;

	if (read(worker->in, &byte, 1) != 1)
		worker->in = -1;
}

NAMED void in_read(struct worker *worker)
{
	read_once(worker);
}

NAMED void wait_once(unsigned before)
{
	pthread_mutex_lock(&lock);
	while (signalled == before)
		pthread_cond_wait(&condition, &lock);
	pthread_mutex_unlock(&lock);
}

NAMED void in_futex(struct worker *worker)
{
	wait_once(__atomic_load_n(&signalled, __ATOMIC_SEQ_CST));
}

NAMED void write_once(struct worker *worker)
{
	static char bytes[DISK_BYTES] __attribute__((aligned(DISK_BYTES)));

	if (pwrite(worker->out, bytes, sizeof(bytes), 0) < 0)
		perror("waits: pwrite");
}

NAMED void in_write(struct worker *worker)
{
	write_once(worker);
}

NAMED void touch_once(void)
{
	(void)*fault_page;
}

NAMED void fault_once(void)
{
	touch_once();
}

NAMED void in_fault(struct worker *worker)
{
	fault_once();
}

NAMED void burn_once(void)
{
	BURN_TURNS(400000);
}

NAMED void in_spin(struct worker *worker)
{
	burn_once();
}

NAMED void yield_once(void)
{
	sched_yield();
}

NAMED void in_yield(struct worker *worker)
{
	yield_once();
}

/* --- threads --------------------------------------------------------------------------------- */

static void measure(struct worker *worker, void (*path)(struct worker *worker))
{
	struct moment begin = now();

	path(worker);
	add(worker, begin);
}

static void run_sleep(struct worker *worker)
{
	measure(worker, in_sleep);
}

static void run_ping(struct worker *worker)
{
	if (write(worker->out, "", 1) == 1)
		measure(worker, in_read);
}

static void run_futex(struct worker *worker)
{
	measure(worker, in_futex);
}

static void run_write(struct worker *worker)
{
	measure(worker, in_write);
}

/* A page that is mapped stays in memory; MADV_RANDOM keeps its neighbours from being read with it. */
static void run_fault(struct worker *worker)
{
	const struct timespec pause = {0, 1000000};
	const long bytes = sysconf(_SC_PAGESIZE);
	const off_t offset = (off_t)random_between(&worker->random, 0, FAULT_PAGES - 1) * bytes;
	void *page = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, worker->in, offset);

	if (page == MAP_FAILED)
		return;
	madvise(page, (size_t)bytes, MADV_RANDOM);
	fault_page = page;
	measure(worker, in_fault);
	munmap(page, (size_t)bytes);
	posix_fadvise(worker->in, offset, bytes, POSIX_FADV_DONTNEED);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void run_spin(struct worker *worker)
{
	measure(worker, in_spin);
}

static void run_yield(struct worker *worker)
{
	int i;

	for (i = 0; i < 50; i++)
		measure(worker, in_yield);
}

static void *run(void *argument)
{
	struct worker *worker = argument;
	struct rusage usage;
	cpu_set_t cpus;

	worker->began_ns = monotonic_ns();
	prctl(PR_SET_NAME, worker->name);
	worker->tid = gettid();
	if (worker->cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(worker->cpu, &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	setpriority(PRIO_PROCESS, 0, worker->nice);
	while (goes_on())
		worker->run(worker);
	if (worker->out >= 0)
		(void)!write(worker->out, "", 1); /* releases the other side */
	worker->run_ns = thread_cpu_ns();
	worker->ended_ns = monotonic_ns();
	getrusage(RUSAGE_THREAD, &usage);
	worker->nr_preempted = (uint64_t)usage.ru_nivcsw;
	return NULL;
}

/* --- the stopped process --------------------------------------------------------------------- */

static uint64_t stopped_least_ns, stopped_most_ns;

static void stop_once(pid_t pid)
{
	uint64_t begin_ns, stopped_ns, continued_ns;
	int status;

	begin_ns = monotonic_ns();
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	stopped_ns = monotonic_ns();
	usleep(30000);
	continued_ns = monotonic_ns();
	kill(pid, SIGCONT);
	waitpid(pid, &status, WCONTINUED);
	stopped_most_ns += monotonic_ns() - begin_ns;
	stopped_least_ns += continued_ns - stopped_ns;
}

static pid_t start_stopped(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "w-stop");
	for (;;)
		burn_once();
}

/* Returns a file none of whose pages are in memory; -1: none. */
static int open_faults(const char *path)
{
	const size_t bytes = FAULT_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	char *zeros = calloc(1, bytes), name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s.faults", path);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	if (fd >= 0 && (!zeros || pwrite(fd, zeros, bytes, 0) != (ssize_t)bytes || fsync(fd)))
		perror("waits: cannot write a file");
	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	free(zeros);
	return fd;
}

int main(int argc, char **argv)
{
	static struct worker workers[] = {
		{"w-sleep", "in_sleep", run_sleep, -1, 0, -1, -1},
		{"w-ping", "in_read", run_ping, -1},
		{"w-pong", "in_read", run_ping, -1},
		{"w-futex", "in_futex", run_futex, -1, 0, -1, -1},
		{"w-spin-0", "in_spin", run_spin, 0, 0, -1, -1},
		{"w-spin-1", "in_spin", run_spin, 0, 5, -1, -1},
		{"w-yield", "in_yield", run_yield, 0, 0, -1, -1},
		{"w-disk", "in_write", run_write, -1, 0, -1, -1},
		{"w-fault", "in_fault", run_fault, -1, 0, -1, -1},
	};
	enum { ALL = sizeof(workers) / sizeof(workers[0]), OF_FILES = 2 };
	const int nr = argc < 3 ? ALL - OF_FILES : ALL;
	pthread_t threads[ALL];
	int there[2], back[2], i;
	pid_t pid;

	if (argc < 2 || pipe(there) || pipe(back)) {
		fprintf(stderr, "usage: waits SECONDS [FILE]\n");
		return 2;
	}
	if (argc > 2) {
		workers[ALL - 2].out = open(argv[2], O_RDWR | O_CREAT | O_DIRECT | O_SYNC, 0600);
		workers[ALL - 1].in = open_faults(argv[2]);
	}
	end_ns = monotonic_ns() + (uint64_t)(atof(argv[1]) * 1e9);
	workers[1].out = there[1], workers[1].in = back[0];
	workers[2].out = back[1], workers[2].in = there[0];
	pid = start_stopped();
	for (i = 0; i < nr; i++) {
		workers[i].random = 88172645463325252ULL + (uint64_t)i;
		workers[i].created_ns = monotonic_ns();
		pthread_create(&threads[i], NULL, run, &workers[i]);
	}
	while (goes_on()) {
		stop_once(pid);
		usleep(7000);
		pthread_mutex_lock(&lock);
		signalled++;
		pthread_cond_broadcast(&condition);
		pthread_mutex_unlock(&lock);
	}
	for (i = 0; i < nr; i++) {
		/* Until the thread has seen the end. */
		while (pthread_tryjoin_np(threads[i], NULL)) {
			pthread_mutex_lock(&lock);
			signalled++;
			pthread_cond_broadcast(&condition);
			pthread_mutex_unlock(&lock);
			usleep(1000);
		}
		workers[i].joined_ns = monotonic_ns();
	}
	kill(pid, SIGKILL);
	waitpid(pid, &i, 0);
	for (i = 0; i < nr; i++) {
		struct worker *worker = &workers[i];

		printf("thread %s %d %s %llu %llu %llu %llu %llu %llu %llu\n", worker->name,
		       worker->tid, worker->path,
		       (unsigned long long)(worker->ended_ns - worker->began_ns),
		       (unsigned long long)(worker->joined_ns - worker->created_ns),
		       (unsigned long long)worker->run_ns, (unsigned long long)worker->off_ns,
		       (unsigned long long)worker->calls, (unsigned long long)worker->asked_ns,
		       (unsigned long long)worker->nr_preempted);
	}
	printf("stopped w-stop %d %llu %llu\n", pid, (unsigned long long)stopped_least_ns,
	       (unsigned long long)stopped_most_ns);
	return 0;
}
