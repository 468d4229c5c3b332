/* The clock used for all times: CLOCK_MONOTONIC, which BPF and sideband events use too. */
#ifndef STOOK_BASE_CLOCK_H
#define STOOK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC 1000000000ULL
#define NS_PER_MS  1000000ULL
#define NS_PER_US  1000ULL

/* Reads another clock, for example CPU time. */
static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/*
 * Returns for how long the machine has been suspended since boot, which CLOCK_MONOTONIC does not count. Too long by less
 * than CLOCK_ASLEEP_ERROR_NS, since two clocks are read.
 */
#define CLOCK_ASLEEP_ERROR_NS NS_PER_MS

static inline uint64_t clock_asleep_ns(void)
{
	uint64_t before_ns, boot_ns;

	do {
		before_ns = clock_now_ns();
		boot_ns = clock_read_ns(CLOCK_BOOTTIME);
	} while (clock_now_ns() - before_ns >= CLOCK_ASLEEP_ERROR_NS);
	return boot_ns - before_ns;
}

#endif
