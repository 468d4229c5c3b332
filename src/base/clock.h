/*
 * The clock used for all times, CLOCK_MONOTONIC, which BPF and sideband events use too; and points in time as people
 * write them.
 */
#ifndef STOOK_BASE_CLOCK_H
#define STOOK_BASE_CLOCK_H

#include <stddef.h>
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
 * Returns for how long the machine has been suspended since boot, which CLOCK_MONOTONIC does not count. Too long by
 * less than CLOCK_ASLEEP_ERROR_NS, since two clocks are read.
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

/* --- moments ---------------------------------------------------------------------------------- */

/*
 * Points in time as people write them, in nanoseconds of the wall clock since 1970:
 *
 *	now
 *	-1h -90m -2d -1w		before now
 *	03:12 03:12:05			the last time that the clock showed this
 *	2026-11-23 2026-11-23 03:12	local time; also with T, as in ISO 8601, and UTC with Z
 *	@1795403520			seconds since 1970
 */
#define MOMENT_WANTED "now, -1h, -2d, 03:12, '2026-11-23 03:12', or @SECONDS since 1970"

/* 0 or -EINVAL. */
int moment_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns);

/* Two moments. A time of day without a date is the last one before the other end. 0, or -EINVAL if one is bad. */
int moment_parse_range(const char *from, const char *to, uint64_t now_ns, uint64_t *ret_from_ns,
		       uint64_t *ret_to_ns);

/* A length of time as after `-`: "90m", "2d". 0 or -EINVAL. */
int moment_parse_length(const char *text, uint64_t *ret_ns);

/* Formats the local time, in full seconds. Returns text. */
#define MOMENT_BYTES 32
const char *moment_text(char text[MOMENT_BYTES], uint64_t time_ns);

#endif
