/*
 * Named address ranges of JIT-compiled code, and the readers of the two kinds of files that
 * runtimes write about it.
 *
 * Ranges come in the order in which the code was written; a later one wins where it overlaps
 * earlier ones, as its code overwrote theirs. The parts of an earlier one that are left on both
 * sides keep its name.
 */
#ifndef STOOK_SYM_CODE_MAP_H
#define STOOK_SYM_CODE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/read_budget.h"

/* A map of so many ranges, or bytes of names, is full. */
#define CODE_MAP_MAX_RANGES	(8u << 20)
#define CODE_MAP_MAX_NAME_BYTES (512u << 20)

struct code_map;

struct code_map *code_map_new(void); /* NULL when out of memory */
void code_map_free(struct code_map *map);

/*
 * From now on it is full, too, where it would take so much memory, with what settling takes for a
 * moment (twice as much for ranges, a little more where they are nested). At first there is no such
 * limit.
 */
void code_map_limit(struct code_map *map, size_t max_bytes);

/*
 * 0, -ENOMEM, or -ENOSPC when it is full; then nothing was added. At a limit the map is compacted,
 * and is full only if that leaves less than an eighth of it free: room is not made again and again
 * for a few ranges.
 *
 * Empty ranges are dropped; what is of 4 GiB or more, or would reach past the last address, is cut.
 * A NUL in the name becomes `?`. A range with an empty name has none, and takes its addresses from
 * earlier ones all the same.
 */
int code_map_add(struct code_map *map, uint64_t start, uint64_t bytes, const char *name,
		 size_t name_bytes);

/*
 * Sorts out who wins; to be called after adding, before finding. More may be added later: it wins
 * over all that was there. 0 or -ENOMEM; then what was settled before is found, and it may be tried
 * again.
 */
int code_map_settle(struct code_map *map);

/* Settles, and drops the names of ranges of which nothing is left. 0 or -ENOMEM, likewise. */
int code_map_compact(struct code_map *map);

/*
 * NULL if no range has the address. *ret_start (which may be NULL) is where the whole range that
 * has it started, though its beginning may belong to another by now. Good until the next add or
 * compacting.
 */
const char *code_map_find(const struct code_map *map, uint64_t address, uint64_t *ret_start);

size_t code_map_nr(const struct code_map *map);	   /* of pieces that are left of ranges */
size_t code_map_bytes(const struct code_map *map); /* memory held */

/* --- perf-PID.map (code_map_read.c) ----------------------------------------------------------- */

/*
 * Lines `START SIZE NAME`, numbers in hexadecimal, with or without 0x; the file grows while it is
 * read, and its last line may be incomplete.
 */
#define PERF_MAP_MAX_BYTES (1ULL << 30)

/* A longer line is cut; one that is longer than what is read at once is none. */
#define PERF_MAP_LINE_BYTES 8192
#define PERF_MAP_READ_BYTES (128u << 10)

/*
 * Adds the whole lines from *at on, which is where the next call is to go on when the file has
 * grown. A file that is shorter than *at was written anew: it is read from its beginning. Lines
 * that are none are passed over, and counted in *nr_bad; so are holes. 0 or a negative errno:
 * -EFBIG when there is more behind PERF_MAP_MAX_BYTES, what the budget (NULL: none) refuses with,
 * -ENOMEM and -ENOSPC of code_map_add(). All before *at was added then too.
 */
int perf_map_read(int fd, struct code_map *map, uint64_t *at, size_t *nr_bad,
		  struct read_budget *budget);

/*
 * The same for the whole lines of a text; *ret_nr is how many bytes they are, up to the one that
 * could not be added if that failed.
 */
int perf_map_parse(const char *text, size_t nr, struct code_map *map, size_t *nr_bad,
		   size_t *ret_nr);

/* --- jit-PID.dump (code_map_read.c) ----------------------------------------------------------- */

/* A binary record of the code, with the code itself; only names and places are taken from it. */
#define JITDUMP_MAX_BYTES (4ULL << 30)

/* Longer names are cut. */
#define JITDUMP_NAME_BYTES 8192

/*
 * Adds the whole records from *at on (0: the file's beginning, with its header), which is where the
 * next call is to go on when the file has grown. A file that is shorter than *at was written anew:
 * it is read from its beginning. A record that contradicts itself is passed over.
 *
 * 0; -ENOEXEC if it is no jitdump of this machine's byte order; -EBADMSG at a record that does not
 * even have room for its own size, behind which nothing can be found; -EFBIG when there is more
 * behind JITDUMP_MAX_BYTES; what the budget (NULL: none) refuses with; or another negative errno. All before *at was added then too.
 */
int jitdump_read(int fd, struct code_map *map, uint64_t *at, struct read_budget *budget);

#endif
