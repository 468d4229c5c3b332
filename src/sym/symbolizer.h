/*
 * Gives every frame of a profile its function name: late, once per address, after the last sample.
 *
 * Frames are taken module by module, so that one symbol table at a time is in memory.
 */
#ifndef STOOK_SYM_SYMBOLIZER_H
#define STOOK_SYM_SYMBOLIZER_H

#include <stddef.h>

#include "base/error.h"
#include "proc/file_table.h"
#include "profile/profile.h"
#include "sym/kernel_names.h"

struct symbolizer_sources {
	struct file_table *files;
	struct kernel_names kernel;	     /* asked first; .name may be NULL */
	struct kernel_names kernel_fallback; /* asked if the first failed; .name may be NULL */
};

/*
 * One for a profile, zeroed before its first call and passed to each of them (a run that prints
 * every few seconds has many): the numbers add up, and nr_frames_tried remembers which frames
 * have been looked at, so that none is looked up twice in vain.
 */
struct symbolizer_result {
	size_t nr_frames_tried;	   /* the first ones of the profile */
	size_t nr_named;	   /* of these, have a name */
	size_t nr_unnamed;	   /* of these, have none */
	size_t nr_files_failed;	   /* files that could not be read or parsed, once for each call */
	struct error kernel_error; /* code != 0: some kernel frames have no names, and why */
};

/*
 * Names the frames that were added since the last call. Only running out of memory is a failure
 * (-ENOMEM; a further call tries the same frames again): what has no name keeps none, and *result
 * says how many and why.
 */
int symbolizer_name_frames(struct profile *profile, const struct symbolizer_sources *sources,
			   struct symbolizer_result *result);

#endif
