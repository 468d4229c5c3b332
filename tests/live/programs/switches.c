/*
 * switches SECONDS CPU: threads on one CPU, whose running and waiting is known by construction, and
 * which read at their end what the kernel says of them. On stdout, for each thread:
 *
 *	thread s-spin-0 4711 1501234567 1498765432 377 2 375 3000123456 3004567890 0
 *
 * Its name and tid; the three numbers of its schedstat (ran, waited for a CPU, how often); voluntary
 * and involuntary switches; how long it existed since it first ran, and since it was created; how
 * much later than it asked for its sleeps ended, without what schedstat says that it waited. (For a
 * thread that is woken by a timer and runs at once, schedstat says zero: the kernel reads the clock
 * at the wake-up, and not again for the switch.) And for each time that s-hog kept the CPU from all
 * others: `hogged BEGIN END`, CLOCK_MONOTONIC.
 *
 * - s-spin-0 and s-spin-1 never sleep.
 * - s-sleep sleeps, a known number of times: `slept 30`.
 * - s-ping and s-pong hand a byte to each other in pipes, a known number of times: `rounds 2000`.
 * - s-hog has real-time priority, if it may, and burns 150 ms twice.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

#define SLEEPS	30
#define ROUNDS	2000
#define HOG_NS	150000000ULL
#define NR_HOGS 2

struct worker {
	const char *name;
	void (*run)(struct worker *worker);
	int in, out;
	uint64_t created_ns, began_ns, ended_ns;
	unsigned long long schedstat[3];
	unsigned long long late_ns;
	long voluntary, involuntary;
	int tid;
};

static uint64_t end_ns;
static struct {
	uint64_t begin_ns, end_ns;
} hogged[NR_HOGS];

static void run_spin(struct worker *worker)
{
	while (monotonic_ns() < end_ns)
		;
}

static void read_schedstat(struct worker *worker)
{
	char path[64];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", worker->tid);
	in = fopen(path, "r");
	if (!in || fscanf(in, "%llu %llu %llu", &worker->schedstat[0], &worker->schedstat[1],
			  &worker->schedstat[2]) != 3)
		worker->schedstat[0] = 0;
	if (in)
		fclose(in);
}

static void run_sleep(struct worker *worker)
{
	struct timespec until;
	unsigned long long waited_ns, late_ns = 0;
	int i;

	prctl(PR_SET_TIMERSLACK, 1);
	read_schedstat(worker);
	waited_ns = worker->schedstat[1];
	for (i = 0; i < SLEEPS; i++) {
		uint64_t until_ns = monotonic_ns() + 10000000;

		until.tv_sec = (time_t)(until_ns / 1000000000);
		until.tv_nsec = (long)(until_ns % 1000000000);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		late_ns += monotonic_ns() - until_ns;
	}
	read_schedstat(worker);
	waited_ns = worker->schedstat[1] - waited_ns;
	worker->late_ns = late_ns > waited_ns ? late_ns - waited_ns : 0;
}

static void run_ping(struct worker *worker)
{
	char byte = 0;
	int i;

	for (i = 0; i < ROUNDS; i++)
		if (write(worker->out, &byte, 1) != 1 || read(worker->in, &byte, 1) != 1)
			break;
}

static void run_pong(struct worker *worker)
{
	char byte;
	int i;

	for (i = 0; i < ROUNDS; i++)
		if (read(worker->in, &byte, 1) != 1 || write(worker->out, &byte, 1) != 1)
			break;
}

static void run_hog(struct worker *worker)
{
	struct timespec time = {0, 400000000};
	struct sched_param param = {.sched_priority = 1};
	int i;

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		return;
	for (i = 0; i < NR_HOGS; i++) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
		hogged[i].begin_ns = monotonic_ns();
		while (monotonic_ns() < hogged[i].begin_ns + HOG_NS)
			;
		hogged[i].end_ns = monotonic_ns();
	}
}

static void *work(void *context)
{
	struct worker *worker = context;
	struct rusage usage;

	worker->began_ns = monotonic_ns();
	worker->tid = (int)syscall(SYS_gettid);
	prctl(PR_SET_NAME, worker->name);
	worker->run(worker);
	sched_yield(); /* the kernel adds up the time when a thread leaves its CPU */
	getrusage(RUSAGE_THREAD, &usage);
	worker->voluntary = usage.ru_nvcsw;
	worker->involuntary = usage.ru_nivcsw;
	read_schedstat(worker);
	worker->ended_ns = monotonic_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	int there[2], back[2], nr, i;
	cpu_set_t cpus;
	pthread_t threads[6];

	if (argc != 3 || pipe(there) < 0 || pipe(back) < 0) {
		fprintf(stderr, "usage: switches SECONDS CPU\n");
		return 2;
	}
	struct worker workers[] = {
		{.name = "s-spin-0", .run = run_spin},
		{.name = "s-spin-1", .run = run_spin},
		{.name = "s-sleep", .run = run_sleep},
		{.name = "s-ping", .run = run_ping, .in = back[0], .out = there[1]},
		{.name = "s-pong", .run = run_pong, .in = there[0], .out = back[1]},
		{.name = "s-hog", .run = run_hog},
	};
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[2]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0) {
		perror("sched_setaffinity");
		return 1;
	}
	end_ns = monotonic_ns() + (uint64_t)(atof(argv[1]) * 1e9);
	nr = sizeof(workers) / sizeof(workers[0]);
	for (i = 0; i < nr; i++) {
		workers[i].created_ns = monotonic_ns();
		if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
			return 1;
	}
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < nr; i++)
		printf("thread %s %d %llu %llu %llu %ld %ld %llu %llu %llu\n", workers[i].name,
		       workers[i].tid, workers[i].schedstat[0], workers[i].schedstat[1],
		       workers[i].schedstat[2], workers[i].voluntary, workers[i].involuntary,
		       (unsigned long long)(workers[i].ended_ns - workers[i].began_ns),
		       (unsigned long long)(workers[i].ended_ns - workers[i].created_ns),
		       workers[i].late_ns);
	for (i = 0; i < NR_HOGS; i++)
		printf("hogged %llu %llu\n", (unsigned long long)hogged[i].begin_ns,
		       (unsigned long long)hogged[i].end_ns);
	printf("slept %d\nrounds %d\n", SLEEPS, ROUNDS);
	return 0;
}
