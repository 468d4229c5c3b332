/*
 * Points in time as people write them:
 *
 *	now
 *	-1h -90m -2d -1w		before now
 *	03:12 03:12:05			the last time that the clock showed this
 *	2026-11-23 2026-11-23 03:12	local time; also with T, as in ISO 8601, and UTC with Z
 *	@1795403520			seconds since 1970
 */
#ifndef STOOK_BASE_MOMENT_H
#define STOOK_BASE_MOMENT_H

#include <stddef.h>
#include <stdint.h>

/* All times are nanoseconds of the wall clock since 1970. */

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
