/*
 * perf-PID.map: what a runtime writes of the code that it makes. Lines `START SIZE NAME`, numbers
 * in hexadecimal, with or without 0x; it grows while we read it, and its last line may be half
 * there.
 */
#ifndef STOOK_SYM_PERF_MAP_H
#define STOOK_SYM_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "sym/code_map.h"

#define PERF_MAP_MAX_BYTES (1ULL << 30)

/* A longer line is cut; one that is longer than what is read at once is none. */
#define PERF_MAP_LINE_BYTES 8192
#define PERF_MAP_READ_BYTES (128u << 10)

/*
 * Adds the whole lines from *at on, which is where the next call is to go on when the file has
 * grown. A file that is shorter than *at was written anew: it is read from its beginning. Lines
 * that are none are passed over, and counted in *nr_bad. 0 or a negative errno: -EFBIG when there
 * is more behind PERF_MAP_MAX_BYTES, -ENOMEM and -ENOSPC of code_map_add(). All before *at was
 * added then too.
 */
int perf_map_read(int fd, struct code_map *map, uint64_t *at, size_t *nr_bad);

/*
 * The same for the whole lines of a text; *ret_nr is how many bytes they are, up to the one that
 * could not be added if that failed.
 */
int perf_map_parse(const char *text, size_t nr, struct code_map *map, size_t *nr_bad,
		   size_t *ret_nr);

#endif
