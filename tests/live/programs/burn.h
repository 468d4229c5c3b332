/*
 * Spends CPU time in a known function, for the load programs in this folder. A header and not a
 * library, so that each program is one file that the Makefile's one rule can build.
 */
#ifndef STOOK_TESTS_LIVE_BURN_H
#define STOOK_TESTS_LIVE_BURN_H

#include <stdint.h>
#include <time.h>

/* The function appears in the stack under its own name: never inlined, cloned or merged. */
#define NAMED static __attribute__((noinline, noclone, no_icf))

/* All ticks hit this loop: no calls inside, one load and one store per turn. */
#define BURN_TURNS(turns) \
	for (volatile uint64_t burn_left = (turns); burn_left > 0; burn_left = burn_left - 1)

static inline uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* xorshift64*, seeded, so that a run can be repeated; the state must not be 0. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline uint64_t random_between(uint64_t *state, uint64_t low, uint64_t high)
{
	return low + (random_next(state) >> 16) % (high - low + 1);
}

#endif
