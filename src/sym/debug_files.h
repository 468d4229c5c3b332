/*
 * Finds the separate debug file of a stripped file: by build id, then by the name in the stripped
 * file (.gnu_debuglink); inside the process' root, then in ours; and from a debuginfod server. A
 * candidate counts only if its build id, or its checksum, matches.
 */
#ifndef STOOK_SYM_DEBUG_FILES_H
#define STOOK_SYM_DEBUG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/file/read_budget.h"
#include "elf/image/debug_link.h"
#include "elf/image/elf_image.h"
#include "sym/debuginfod.h"
#include "worker/worker.h"

/* A file with code, and what is needed to find its names. */
struct code_file {
	int fd;		  /* -1: can't be opened here; its debug file may still be found */
	bool is_unread;	  /* fd is -1 because we may not read it */
	const char *path; /* in its process' root */
	int root_fd;	  /* a handle of that root; -1: our own root */
	uid_t root_uid;	  /* the root user there, from root_uid_of() (proc/root_table) */
	uid_t uid;	  /* the file's owner; -1: unknown */
	bool is_of_root;  /* only root can write it: see file_is_of_root() */
	struct worker_file id;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: none, or not known yet */
	/* See debug_files_find(). */
	bool debug_is_known;
	int debug_fd; /* of its debug file, if debug_is_known; or what debug_files_open() returned */
};

/* --- on this machine -------------------------------------------------------------------------- */

/* Where to look: folders in our own root that the user named, searched before the usual one. */
struct debug_places {
	const char *const *folders;
	size_t nr_folders;
	/* For reading checksums; either may be NULL. */
	struct debug_link_crcs *crcs;
	struct read_budget *budget;
	struct debuginfod *server; /* NULL: servers are not asked */
	/* In a parser: stook is asked for candidates, and nothing above but crcs and budget is used. */
	struct worker_job *job;
};

/*
 * Uses no debug files in the root in which the file was first seen if the file may be shared with others: then those
 * would be named by the files of one of them.
 */
void debug_files_choose_root(struct code_file *file);

/* Stook's side of a parser's request. Returns 0, or -ENODATA: no such place. */
int debug_files_place(const struct debug_places *places, const struct code_file *file,
		      const struct worker_want *want, struct worker_place *ret);

/* The same for a file that a debug file refers to (WANT_PATH). */
int debug_files_path_place(const struct debug_places *places, const struct code_file *file,
			   const struct worker_want *want, struct worker_place *ret);

/*
 * Opens the debug file, or an unstripped copy of the file. Returns a descriptor, which the caller
 * closes; -ENOENT; or an error for which worker_is_passing(): it may be there, and must be looked for again another
 * time. image: the stripped file itself, NULL if it can't be opened.
 */
int debug_files_open(const struct debug_places *places, const struct code_file *file,
		     const struct elf_image *image);

/* The same, searched once per file: `file` owns the descriptor, until debug_files_forget(). */
int debug_files_find(const struct debug_places *places, struct code_file *file,
		     const struct elf_image *image);
void debug_files_forget(struct code_file *file);

/*
 * Opens the debug file that a server has; only in a parser. Returns a descriptor, which the caller closes; -ENOENT,
 * also if the file has another build id; or an error for which worker_is_passing().
 */
int debug_files_from_server(const struct debug_places *places, const struct code_file *file);

#endif
