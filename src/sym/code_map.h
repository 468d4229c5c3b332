/*
 * Named address ranges of JIT-compiled code, and the readers of the two kinds of files in which
 * runtimes list it.
 *
 * Ranges are added in the order in which the code was written. A later range wins where it overlaps
 * earlier ones, because its code overwrote theirs. The remaining parts of an earlier range, on both
 * sides, keep its name.
 */
#ifndef STOOK_SYM_CODE_MAP_H
#define STOOK_SYM_CODE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/file/read_budget.h"

/* A map with this many ranges, or bytes of names, is full. */
#define CODE_MAP_MAX_RANGES	(8u << 20)
#define CODE_MAP_MAX_NAME_BYTES (512u << 20)

struct code_map;

struct code_map *code_map_new(void); /* NULL when out of memory */
void code_map_free(struct code_map *map);

/*
 * Sets a limit on memory past which the map is full, including the memory needed while settling
 * (twice as much for ranges, a little more if they are nested). A new map has no such limit.
 */
void code_map_limit(struct code_map *map, size_t max_bytes);

/*
 * Adds a range. 0, -ENOMEM, or -ENOSPC when the map is full; on failure nothing was added. At a
 * limit the map is compacted, and is full only if that leaves less than an eighth of the limit
 * free, to avoid compacting again and again for a few ranges each.
 *
 * Empty ranges are ignored. Ranges of 4 GiB or more, or beyond the last address, are truncated. A
 * NUL in the name becomes `?`. A range with an empty name has no name, but still replaces earlier
 * ranges.
 */
int code_map_add(struct code_map *map, uint64_t start, uint64_t bytes, const char *name,
		 size_t name_bytes);

/*
 * Resolves overlaps. Call it after adding, before finding. Ranges added later win over all settled
 * ones. 0 or -ENOMEM; on failure, lookups find the ranges settled before, and a retry is allowed.
 */
int code_map_settle(struct code_map *map);

/*
 * Settles, and frees the names of ranges that are overwritten completely. 0 or -ENOMEM, as above.
 */
int code_map_compact(struct code_map *map);

/*
 * Returns the name of the range at an address, NULL if there is none; valid until the next add or
 * compacting. *ret_start (ret_start may be NULL) is the original start of that range, even if its
 * beginning was overwritten since.
 */
const char *code_map_find(const struct code_map *map, uint64_t address, uint64_t *ret_start);

size_t code_map_nr(const struct code_map *map);	   /* pieces of ranges */
size_t code_map_bytes(const struct code_map *map); /* memory held */

/* --- perf-PID.map (code_map_read.c) ----------------------------------------------------------- */

/*
 * Lines `START SIZE NAME`, numbers in hexadecimal, with or without 0x. The file may grow while it
 * is read, and its last line may be incomplete.
 */
#define PERF_MAP_MAX_BYTES (1ULL << 30)

/* A longer line is truncated; one longer than PERF_MAP_READ_BYTES is invalid. */
#define PERF_MAP_LINE_BYTES 8192
#define PERF_MAP_READ_BYTES (128u << 10)

/*
 * Adds the complete lines from offset *at on, and sets *at to where the next call continues. If the
 * file is shorter than *at, it was rewritten and is read from its beginning. Malformed lines and
 * holes are skipped, and counted in *nr_bad. 0 or a negative errno: -EFBIG if the file continues
 * past PERF_MAP_MAX_BYTES, the error of the budget (NULL: none) when it is used up, -ENOMEM and
 * -ENOSPC of code_map_add(). On failure, too, all lines before *at were added.
 */
int perf_map_read(int fd, struct code_map *map, uint64_t *at, size_t *nr_bad,
		  struct read_budget *budget);

/*
 * The same for the complete lines of a text. *ret_nr: the number of bytes parsed; on failure, up to
 * the line that could not be added.
 */
int perf_map_parse(const char *text, size_t nr, struct code_map *map, size_t *nr_bad,
		   size_t *ret_nr);

/* --- jit-PID.dump (code_map_read.c) ----------------------------------------------------------- */

/* A binary log of the code, machine code included; only names and address ranges are read. */
#define JITDUMP_MAX_BYTES (4ULL << 30)

/* Longer names are truncated. */
#define JITDUMP_NAME_BYTES 8192

/*
 * Adds the complete records from offset *at on (0: the file's beginning, with its header), and sets
 * *at to where the next call continues. If the file is shorter than *at, it was rewritten and is
 * read from its beginning. A record with inconsistent sizes is skipped.
 *
 * 0; -ENOEXEC if it is not a jitdump of this machine's byte order; -EBADMSG at a record whose size
 * is smaller than its header, so that the next record cannot be found; -EFBIG if the file continues
 * past JITDUMP_MAX_BYTES; the error of the budget (NULL: none) when it is used up; or another
 * negative errno. On failure, too, all records before *at were added.
 */
int jitdump_read(int fd, struct code_map *map, uint64_t *at, struct read_budget *budget);

#endif
