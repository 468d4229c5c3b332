/* The files that the patterns of one search are about, each opened and read once. */
#ifndef STOOK_PROBE_FIND_FOUND_FILES_H
#define STOOK_PROBE_FIND_FOUND_FILES_H

#include <stddef.h>

#include "base/error.h"
#include "probe/find/pattern.h"
#include "probe/find/user_file.h"

/* A pattern that leaves out functions of a file, which may not have been opened (yet). */
struct left_out_file {
	dev_t device;
	ino_t inode;
	const struct pattern *pattern;
};

struct found_files {
	struct user_file **files;
	size_t nr, capacity;
	struct left_out_file *left_out;
	size_t nr_left_out, cap_left_out;
};

/* Takes the file out of *from: it is opened, or was before. 0 or a negative errno. */
int found_files_add(struct found_files *found, struct program_file *from, struct user_file **ret,
		    struct error *error);

/* Tells what a pattern is about that leaves out: known to the files when they are opened. */
int found_files_leave_out(struct found_files *found, const struct program_file *file,
			  const struct pattern *pattern);

void found_files_clear(struct found_files *found);

#endif
