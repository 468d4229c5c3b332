/*
 * Named ranges of addresses of code that was made at run time. Ranges come in the order in which
 * the code was written; a later one wins where it overlaps earlier ones, as its code overwrote
 * theirs. What is left of an earlier one, on both sides, keeps its name.
 */
#ifndef STOOK_SYM_CODE_MAP_H
#define STOOK_SYM_CODE_MAP_H

#include <stddef.h>
#include <stdint.h>

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

#endif
