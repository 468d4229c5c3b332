/*
 * Opens a folder in which nobody but its owner, and root, can create or replace files: in it, paths need no further
 * checks. Creates it if necessary.
 */
#ifndef STOOK_BASE_FILE_OWN_FOLDER_H
#define STOOK_BASE_FILE_OWN_FOLDER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct own_folder {
	const char *path;
	const char *what_for; /* for errors: "keep unwind tables" */
	uid_t owner;	      /* another user than ours needs root; the group is the same number */
	size_t nr_made;	      /* the last parts of the path that may be created */
};

/*
 * Returns an O_PATH descriptor, which the caller closes, or a negative errno with a text:
 *
 *	the folder itself must be the owner's, and not writable by others
 *	each parent must be root's or ours, and not writable by others, unless it is sticky; it must be
 *	passable for another owner
 *	the path must be absolute, and no component a symlink
 *
 * A folder that is created is accessible only to us, or only to another owner, who may pass the created parents. A
 * parent that might have been created is made passable if it is ours.
 */
int own_folder_open(const struct own_folder *folder, struct error *error);

#endif
