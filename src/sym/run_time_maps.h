/*
 * The names of code made at run time: of each process the map that it writes, and its jitdump, read
 * when they are first wanted and read on when they have grown. A file that was written anew is read
 * anew. Once a later program writes to the same place, what was read of the earlier one is all that
 * is known of it.
 */
#ifndef STOOK_SYM_RUN_TIME_MAPS_H
#define STOOK_SYM_RUN_TIME_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "proc/file_table.h"
#include "proc/runtime_table.h"
#include "sym/code_map.h"

struct run_time_maps;

/* The map of one process may take so much even if less is allowed to all. */
#define RUN_TIME_MAP_BYTES (64u << 20)

/*
 * Past max_bytes, maps of other processes than the one that is asked for are given up, and read
 * again as a whole the next time. A map that is too large by itself, for max_bytes and
 * RUN_TIME_MAP_BYTES, is given up for good, until another file takes its place: the names in its
 * rest are the latest ones, so those before it can't be believed.
 */
struct run_time_maps *run_time_maps_new(size_t max_bytes);
void run_time_maps_free(struct run_time_maps *maps);

/*
 * The names of one process (its number, and what is known of it) as of now; *ret is NULL if it has
 * none, else good until the next call. 0; -ENOMEM; -EFBIG, once, for a map that is too large; or
 * another negative errno if not all could be read: *ret is set then too.
 */
int run_time_maps_get(struct run_time_maps *maps, uint32_t number,
		      const struct runtime_process *process, struct file_table *files,
		      const struct code_map **ret);

#endif
