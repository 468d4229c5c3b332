/*
 * Finding the file of debug information that belongs to a stripped one: by build id, then by the
 * name that the stripped file gives (.gnu_debuglink); inside the root that its process sees, then
 * in ours. What is found counts only if its build id, or its checksum, says that it belongs there.
 */
#ifndef STOOK_SYM_DEBUG_FILES_H
#define STOOK_SYM_DEBUG_FILES_H

#include <stddef.h>

#include "elf/image/elf_image.h"
#include "sym/code_file.h"

/* Where to look: folders of our own root that the user named, before the usual one. */
struct debug_places {
	const char *const *folders;
	size_t nr_folders;
};

/*
 * A descriptor of the debug file, or of the whole file under another name; or -ENOENT. image: the
 * stripped file itself, NULL if it is not to be had.
 */
int debug_files_open(const struct debug_places *places, const struct code_file *file,
		     const struct elf_image *image);

/* The same, looked for once: the descriptor is the file's, until debug_files_forget(). */
int debug_files_find(const struct debug_places *places, struct code_file *file,
		     const struct elf_image *image);
void debug_files_forget(struct code_file *file);

#endif
