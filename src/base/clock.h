/* The clock that everything is timed by: CLOCK_MONOTONIC, which BPF and sideband events use too. */
#ifndef STOOK_BASE_CLOCK_H
#define STOOK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC 1000000000ULL
#define NS_PER_MS  1000000ULL
#define NS_PER_US  1000ULL

static inline uint64_t clock_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

#endif
