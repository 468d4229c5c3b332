/*
 * truth SECONDS [THREADS [SEED]]: measures and prints its own profile.
 *
 * Each thread runs phases. A phase is one call of one known path with a random length; its cost is
 * measured by the thread's CPU clock. At the end one line per path is printed on stdout:
 *
 *   path_a;leaf_x 412345678 210      frames, nanoseconds of CPU, phases
 *   thread:truth-0 1400000000 730    the same by thread
 *
 * Properties:
 * - Lengths are random (0.2 to 4 ms), so a periodic tick cannot keep step with the phases.
 * - The clock gives the time spent, not the time requested: preemption, a slow machine and the
 * profiler's own interrupts do not distort it. (The clock includes interrupt time, which no tick
 * can hit; but that time belongs to the path of the tick, like the sample.)
 * - leaf_x has two callers, so leaf names alone don't give the answer.
 * - in_read is kernel time (copying zeros), in_getppid is half kernel entry and exit. A system call
 * wrapper of the C library has no frame, so a frame-pointer walk skips its caller: tests look for
 * the name one call further out.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

#define MAX_THREADS 16
#define READ_BYTES  (256 * 1024)

/* A unit of work takes about a microsecond on every path, so that one range of lengths fits all. */
#define TURNS_PER_UNIT	  800
#define GETPPIDS_PER_UNIT 3
#define UNITS_PER_READ	  12

struct worker {
	pthread_t thread;
	int number;
	int zero_fd;
	uint64_t random;
	uint64_t end_ns;
	char *buffer;
};

NAMED void leaf_x(uint64_t units)
{
	BURN_TURNS(units * TURNS_PER_UNIT);
}

NAMED void leaf_y(uint64_t units)
{
	BURN_TURNS(units * TURNS_PER_UNIT);
}

NAMED void path_a(struct worker *worker, uint64_t units, int to_y)
{
	if (to_y)
		leaf_y(units);
	else
		leaf_x(units);
}

NAMED void path_b(struct worker *worker, uint64_t units)
{
	leaf_x(units);
}

NAMED void recurse(uint64_t units, int depth)
{
	if (depth > 0)
		recurse(units, depth - 1);
	else
		leaf_y(units);
}

NAMED void read_zeros(struct worker *worker, uint64_t units)
{
	for (uint64_t i = 0; i < units; i += UNITS_PER_READ)
		(void)!read(worker->zero_fd, worker->buffer, READ_BYTES);
}

NAMED void ask_parent(uint64_t units)
{
	for (uint64_t i = 0; i < units * GETPPIDS_PER_UNIT; i++)
		(void)syscall(SYS_getppid);
}

NAMED void phase_a_x(struct worker *worker, uint64_t units)
{
	path_a(worker, units, 0);
}

NAMED void phase_a_y(struct worker *worker, uint64_t units)
{
	path_a(worker, units, 1);
}

NAMED void phase_recurse(struct worker *worker, uint64_t units)
{
	recurse(units, (int)random_between(&worker->random, 1, 30));
}

NAMED void in_read(struct worker *worker, uint64_t units)
{
	read_zeros(worker, units);
}

NAMED void in_getppid(struct worker *worker, uint64_t units)
{
	ask_parent(units);
}

/* A weight sets how often a path is chosen: shares from a few percent to a third. */
static const struct path {
	const char *name; /* consecutive frames that are in each of its stacks */
	void (*run)(struct worker *worker, uint64_t units);
	unsigned weight;
} paths[] = {
	{"path_a;leaf_x", phase_a_x, 6}, {"path_a;leaf_y", phase_a_y, 2},
	{"path_b;leaf_x", path_b, 3},	 {"recurse;leaf_y", phase_recurse, 2},
	{"in_read", in_read, 3},	 {"in_getppid", in_getppid, 2},
};

#define NR_PATHS   (sizeof(paths) / sizeof(paths[0]))
#define NR_WEIGHTS 18
#define UNITS_LOW  200
#define UNITS_HIGH 3000

struct spent {
	uint64_t ns;
	uint64_t phases;
};

static struct spent spent[MAX_THREADS][NR_PATHS];

static size_t path_pick(uint64_t *random)
{
	uint64_t ticket = random_between(random, 0, NR_WEIGHTS - 1);

	for (size_t i = 0; i < NR_PATHS; i++) {
		if (ticket < paths[i].weight)
			return i;
		ticket -= paths[i].weight;
	}
	return 0;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	char name[16];

	snprintf(name, sizeof(name), "truth-%d", worker->number);
	pthread_setname_np(pthread_self(), name);
	while (monotonic_ns() < worker->end_ns) {
		size_t path = path_pick(&worker->random);
		uint64_t units = random_between(&worker->random, UNITS_LOW, UNITS_HIGH);
		uint64_t start = thread_cpu_ns();

		paths[path].run(worker, units);
		spent[worker->number][path].ns += thread_cpu_ns() - start;
		spent[worker->number][path].phases++;
	}
	return NULL;
}

static void print_truth(int nr_threads)
{
	for (size_t path = 0; path < NR_PATHS; path++) {
		struct spent sum = {0};

		for (int i = 0; i < nr_threads; i++) {
			sum.ns += spent[i][path].ns;
			sum.phases += spent[i][path].phases;
		}
		printf("%s %lu %lu\n", paths[path].name, sum.ns, sum.phases);
	}
	for (int i = 0; i < nr_threads; i++) {
		struct spent sum = {0};

		for (size_t path = 0; path < NR_PATHS; path++) {
			sum.ns += spent[i][path].ns;
			sum.phases += spent[i][path].phases;
		}
		printf("thread:truth-%d %lu %lu\n", i, sum.ns, sum.phases);
	}
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	int nr = argc > 2 ? atoi(argv[2]) : 3;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	uint64_t end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);

	if (nr < 1 || nr > MAX_THREADS)
		return 2;
	for (int i = 0; i < nr; i++) {
		workers[i].number = i;
		workers[i].random = (seed + 1) * 0x9e3779b97f4a7c15ull + (uint64_t)i * 77777 + 1;
		workers[i].end_ns = end_ns;
		workers[i].zero_fd = open("/dev/zero", O_RDONLY);
		workers[i].buffer = calloc(1, READ_BYTES);
		if (workers[i].zero_fd < 0 || !workers[i].buffer)
			return 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	for (int i = 0; i < nr; i++)
		pthread_join(workers[i].thread, NULL);
	print_truth(nr);
	return 0;
}
