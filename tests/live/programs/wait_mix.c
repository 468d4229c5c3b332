/*
 * wait_mix SECONDS: a storm of waits on different paths, of different lengths. Threads hand a byte to each other in
 * pipes, two by two. mix-ask asks on one of four paths, chosen at random: mix-answer answers at once, after some CPU
 * time, or after a sleep. At the end, on stdout, the number of questions, and for each path how long the threads that
 * ask were off their CPU on it, in nanoseconds, by their own clocks.
 *
 *	asked 123456
 *	in_short 123456789
 *
 * Half of the waits are short, and most of the time is in a few long ones: a choice of waits that does not consider
 * their lengths gets the shares of the paths wrong.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"

#define NR_PAIRS 2

enum { IN_SHORT, IN_OTHER_SHORT, IN_BUSY, IN_LONG, NR_PATHS };

static const char *const path_names[NR_PATHS] = {
	[IN_SHORT] = "in_short",
	[IN_OTHER_SHORT] = "in_other_short",
	[IN_BUSY] = "in_busy",
	[IN_LONG] = "in_long",
};

struct pair {
	int question[2], answer[2];
	uint64_t random, asked, off_ns[NR_PATHS];
	pthread_t asks, answers;
};

static uint64_t end_ns;

static uint32_t random_below(struct pair *pair, uint32_t n)
{
	pair->random ^= pair->random << 13;
	pair->random ^= pair->random >> 7;
	pair->random ^= pair->random << 17;
	return (uint32_t)(pair->random >> 32) % n;
}

static void ask(struct pair *pair, char how)
{
	if (write(pair->question[1], &how, 1) != 1 || read(pair->answer[0], &how, 1) != 1)
		exit(1);
	pair->asked++;
}

static void ask_on(struct pair *pair, int path, char how)
{
	const uint64_t ran_ns = thread_cpu_ns(), began_ns = monotonic_ns();

	ask(pair, how);
	pair->off_ns[path] += monotonic_ns() - began_ns;
	pair->off_ns[path] -= thread_cpu_ns() - ran_ns;
}

/* The calls are not the last ones of their functions, so that these are in the stack. */
#define PATH(name, path, how, bytes)         \
	NAMED void name(struct pair *pair)   \
	{                                    \
		volatile char room[bytes];   \
                                             \
		room[0] = (how);             \
		ask_on(pair, path, room[0]); \
		room[0] = 0;                 \
	}

/* Two are in the same place, as far as the program counter and the stack pointer show. */
PATH(in_short, IN_SHORT, 's', 16)
PATH(in_other_short, IN_OTHER_SHORT, 's', 16)
PATH(in_busy, IN_BUSY, 'b', 64)
PATH(in_long, IN_LONG, 'l', 128)

static void *ask_all(void *argument)
{
	struct pair *pair = argument;

	prctl(PR_SET_NAME, "mix-ask");
	while (monotonic_ns() < end_ns) {
		const uint32_t choice = random_below(pair, 64);

		if (choice < 36)
			in_short(pair);
		else if (choice < 54)
			in_other_short(pair);
		else if (choice < 63)
			in_busy(pair);
		else
			in_long(pair);
	}
	ask(pair, 'e');
	return NULL;
}

static void *answer_all(void *argument)
{
	const struct timespec nap = {.tv_nsec = 300000};
	struct pair *pair = argument;
	char how = 0;

	prctl(PR_SET_NAME, "mix-answer");
	while (how != 'e' && read(pair->question[0], &how, 1) == 1) {
		const uint64_t until_ns = thread_cpu_ns() + 30000;

		if (how == 'l')
			nanosleep(&nap, NULL);
		while (how == 'b' && thread_cpu_ns() < until_ns)
			;
		if (write(pair->answer[1], &how, 1) != 1)
			exit(1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct pair pairs[NR_PAIRS];
	uint64_t asked = 0, off_ns[NR_PATHS] = {0};
	size_t i, k;

	end_ns = monotonic_ns() + (uint64_t)(atof(argc > 1 ? argv[1] : "1") * 1e9);
	for (i = 0; i < NR_PAIRS; i++) {
		pairs[i].random = 88172645463325252ULL + i;
		if (pipe(pairs[i].question) < 0 || pipe(pairs[i].answer) < 0 ||
		    pthread_create(&pairs[i].asks, NULL, ask_all, &pairs[i]) ||
		    pthread_create(&pairs[i].answers, NULL, answer_all, &pairs[i]))
			return 1;
	}
	for (i = 0; i < NR_PAIRS; i++) {
		pthread_join(pairs[i].asks, NULL);
		pthread_join(pairs[i].answers, NULL);
		asked += pairs[i].asked;
		for (k = 0; k < NR_PATHS; k++)
			off_ns[k] += pairs[i].off_ns[k];
	}
	printf("asked %llu\n", (unsigned long long)asked);
	for (k = 0; k < NR_PATHS; k++)
		printf("%s %llu\n", path_names[k], (unsigned long long)off_ns[k]);
	return 0;
}
