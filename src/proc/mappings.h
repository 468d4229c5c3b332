/*
 * The memory of processes: the executable mappings of one, as a sorted array without overlaps; the
 * lines of /proc/PID/maps; and the processes that have a file mapped.
 */
#ifndef STOOK_PROC_MAPPINGS_H
#define STOOK_PROC_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proc/file_table.h"

enum mapping_kind {
	MAPPING_FILE,
	MAPPING_VDSO,
	MAPPING_ANON,	/* no file behind it: code made at run time */
	MAPPING_SHARED, /* likewise, and its processes share it */
};

struct mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file, of start */
	enum mapping_kind kind;
	uint32_t file; /* MAPPING_FILE: its number in the file table */
};

/* More than this many in one process are not kept; the kernel's own default limit is 65,530. */
#define MAPPINGS_MAX 65536

/* Shared by reference between a process and its forked children until one of them changes it. */
struct mappings;

struct mappings *mappings_new(void); /* one reference; NULL when out of memory */
struct mappings *mappings_ref(struct mappings *mappings);
void mappings_unref(struct mappings *mappings);
unsigned mappings_refs(const struct mappings *mappings); /* how many share it; 0 for NULL */

/*
 * Puts one in, cutting away whatever it overlaps: the later mapping is the one that is there. If
 * the array is shared, *mappings becomes a copy. 0, -ENOMEM, or -ENOSPC past MAPPINGS_MAX.
 */
int mappings_add(struct mappings **mappings, const struct mapping *mapping);

/* The mapping that address lies in, or NULL; good until the next add. NULL mappings are empty. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

size_t mappings_nr(const struct mappings *mappings);
const struct mapping *mappings_get(const struct mappings *mappings, size_t i);

/* --- /proc/PID/maps --------------------------------------------------------------------------- */

/*
 * One line at a time:
 *
 *	struct maps maps;
 *	struct maps_entry entry;
 *
 *	if (maps_open(&maps, pid) == 0)
 *		while (maps_next(&maps, &entry))
 *			…
 *	maps_close(&maps);
 */

/*
 * The kernel composes each line anew, with a path of up to 4 KiB: 65,000 mappings of such a file take
 * three seconds. No more than this is read of a process; real ones have a tenth of it.
 */
#define MAPS_MAX_BYTES (16u << 20)

struct maps_entry {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	bool executable;
	struct file_id id; /* inode 0: not a file */
	const char *path;  /* good until the next call; "" for nameless memory */
};

struct maps {
	FILE *file;
	char *line;
	size_t line_bytes;
	size_t nr_read;
	bool is_cut; /* there is more than MAPS_MAX_BYTES */
};

/* 0 or a negative errno; a process that is gone gives -ENOENT, or just no lines. */
int maps_open(struct maps *maps, int32_t pid);
bool maps_next(struct maps *maps, struct maps_entry *ret);
void maps_close(struct maps *maps);

/* One line, without its newline; it is written into. False if it is none. */
bool maps_parse_line(char *line, struct maps_entry *ret);

/* --- users of files --------------------------------------------------------------------------- */

/*
 * Looks for a process other than these (and than ourselves) that has one of these files, given by
 * inode number, mapped for execution. The index of the file; -ENOENT if there is no such process;
 * -ETIMEDOUT if the search took longer than limit_ns. Processes whose mappings may not be read are
 * skipped.
 */
int64_t file_users_find(const uint64_t *inodes, size_t nr_inodes, const uint32_t *pids,
			size_t nr_pids, uint64_t limit_ns);

#endif
