/*
 * Finding the file of debug information that belongs to a stripped one: by build id, then by the
 * name that the stripped file gives (.gnu_debuglink); inside the root that its process sees, then
 * in ours; and from a debuginfod server. A file that is found counts only if its build id, or its
 * checksum, matches.
 */
#ifndef STOOK_SYM_DEBUG_FILES_H
#define STOOK_SYM_DEBUG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/read_budget.h"
#include "elf/image/debug_link.h"
#include "elf/image/elf_image.h"

/* A file with code: what is needed to find names for it. */
struct code_file {
	int fd;		/* -1: it can't be opened here; its debug file may be found all the same */
	bool is_unread; /* fd is -1 because we may not read it */
	const char *path; /* as its process saw it */
	int root_fd;	  /* a handle of the root that the path is below; -1: ours */
	uid_t root_uid;	  /* who is root there, as root_uid_of() has it (proc/root_table) */
	bool is_of_root;  /* root alone can write it: see file_is_of_root() */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: none, or not known yet */
	/* See debug_files_find(). */
	bool debug_is_known;
	int debug_fd; /* of its debug file, once debug_is_known; below 0: there is none */
};

/* --- on this machine -------------------------------------------------------------------------- */

/* Where to look: folders of our own root that the user named, before the usual one. */
struct debug_places {
	const char *const *folders;
	size_t nr_folders;
	/* For checksums; either may be NULL. */
	struct debug_link_crcs *crcs;
	struct read_budget *budget;
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

/* --- from a server ---------------------------------------------------------------------------- */

/* All that a run waits for servers, at most; then nobody is asked any more. */
#define DEBUGINFOD_MAX_NS (30 * NS_PER_SEC)

struct debuginfod;

/* NULL if the environment does not ask for it, or when out of memory. */
struct debuginfod *debuginfod_new(void);
void debuginfod_free(struct debuginfod *client);

/*
 * A descriptor of the debug file, or -ENOENT; one of another build id counts as none. It waits no
 * longer than the budget (NULL: none) allows.
 */
int debuginfod_open(struct debuginfod *client, const uint8_t *build_id, size_t build_id_bytes,
		    const struct read_budget *budget);

/* Why some files were not asked for, to be reported at the end of the run; NULL: none. */
const char *debuginfod_trouble(const struct debuginfod *client);

#endif
