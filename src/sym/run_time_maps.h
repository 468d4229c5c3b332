/*
 * The names of code made at run time: of each process the map that it writes, and its jitdump, read
 * when they are first wanted and read on when they have grown. A file that was written anew is read
 * anew.
 */
#ifndef STOOK_SYM_RUN_TIME_MAPS_H
#define STOOK_SYM_RUN_TIME_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "proc/file_table.h"
#include "proc/runtime_table.h"
#include "sym/code_map.h"

struct run_time_maps;

/* Past max_bytes, maps are given up after use, and read again as a whole the next time. */
struct run_time_maps *run_time_maps_new(size_t max_bytes);
void run_time_maps_free(struct run_time_maps *maps);

/*
 * The names of one process (its number, and what is known of it) as of now; *ret is NULL if it has
 * none, else good until the next call. 0; -ENOMEM; or another negative errno if not all could be
 * read: *ret is set then too.
 */
int run_time_maps_get(struct run_time_maps *maps, uint32_t number,
		      const struct runtime_process *process, struct file_table *files,
		      const struct code_map **ret);

#endif
