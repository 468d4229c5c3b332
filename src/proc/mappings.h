/*
 * Memory mappings of processes: the executable mappings of one, as a sorted array without overlaps;
 * the lines of /proc/PID/maps; and the processes that have a file mapped.
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
	MAPPING_ANON,	/* anonymous memory: JIT-compiled code */
	MAPPING_SHARED, /* anonymous memory shared between processes */
};

struct mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file, at start */
	enum mapping_kind kind;
	uint32_t file; /* MAPPING_FILE: its number in the file table */
};

/* Limit per process; further mappings are dropped. The kernel's own default limit is 65,530. */
#define MAPPINGS_MAX 65536

/* Shared by reference between a process and its forked children until one of them changes it. */
struct mappings;

struct mappings *mappings_new(void); /* one reference; NULL when out of memory */
struct mappings *mappings_ref(struct mappings *mappings);
void mappings_unref(struct mappings *mappings);
unsigned mappings_refs(const struct mappings *mappings); /* number of references; 0 for NULL */

/*
 * Adds a mapping and cuts away the parts of others that it overlaps, since a later mapping replaces
 * earlier ones. Adjacent ones of the same code become one. If the array is shared and changes, *mappings becomes
 * a copy. 0, -ENOMEM, or -ENOSPC beyond MAPPINGS_MAX.
 */
int mappings_add(struct mappings **mappings, const struct mapping *mapping);

/* The mapping that contains address, or NULL; valid until the next add. NULL mappings are empty. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

size_t mappings_nr(const struct mappings *mappings);
const struct mapping *mappings_get(const struct mappings *mappings, size_t i);

/* Marks the files that are mapped, see file_table_sweep(). */
void mappings_mark_files(const struct mappings *mappings, struct file_table *files);

/* --- /proc/PID/maps --------------------------------------------------------------------------- */

/*
 * Reads the file line by line:
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
 * The kernel formats each line anew, with a path of up to 4 KiB: 65,000 mappings of such a file
 * take three seconds. Limit of bytes read for one process; real ones have a tenth of it.
 */
#define MAPS_MAX_BYTES (16u << 20)

struct maps_entry {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	bool executable;
	struct file_id id; /* inode 0: not a file */
	const char *path;  /* valid until the next call; "" for anonymous memory */
};

struct maps {
	FILE *file;
	char *line;
	size_t line_bytes;
	size_t nr_read;
	bool is_cut; /* truncated: there is more than MAPS_MAX_BYTES */
};

/* 0 or a negative errno; for an exited process -ENOENT, or no lines. */
int maps_open(struct maps *maps, int32_t pid);
bool maps_next(struct maps *maps, struct maps_entry *ret);
void maps_close(struct maps *maps);

/* Parses a line without its newline; the line is modified. False if it is malformed. */
bool maps_parse_line(char *line, struct maps_entry *ret);

/* --- users of files --------------------------------------------------------------------------- */

struct file_users {
	const uint64_t *inodes; /* of the files; none: nothing is searched for */
	size_t nr_inodes;
	const uint32_t *pids; /* processes that are not searched */
	size_t nr_pids;
	uint64_t limit_ns; /* for the search */
	/* Called before each process, which may block. May be NULL. */
	void (*begins)(void *context, int32_t pid);
	void *context;
};

/*
 * Searches for a process other than `pids` (and ourselves) that has one of these files mapped for execution. Returns
 * the index of the file; -ENOENT if there is no such process; -ETIMEDOUT if the search took longer than its limit.
 * Processes whose mappings may not be read are skipped.
 *
 * Also takes the mmap_lock of every process for a moment, as the kernel does when a probe is attached to a file that
 * the process has mapped: does not return while one of them holds it, in an mmap() that does not end.
 */
int64_t file_users_find(const struct file_users *question);

#endif
