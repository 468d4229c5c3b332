/*
 * The executable memory of a process: a sorted array of mappings without overlaps. Shared by
 * reference between a process and its forked children until one of them changes it.
 */
#ifndef STOOK_PROC_MAPPINGS_H
#define STOOK_PROC_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

enum mapping_kind {
	MAPPING_FILE,
	MAPPING_VDSO,
	MAPPING_ANON, /* no file behind it: code made at run time */
};

struct mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file, of start */
	enum mapping_kind kind;
	uint32_t file; /* MAPPING_FILE: its number in the file table */
};

/* More than this many in one process are not kept; the kernel's own default limit is 65,530. */
#define MAPPINGS_MAX 65536

struct mappings;

struct mappings *mappings_new(void); /* one reference; NULL when out of memory */
struct mappings *mappings_ref(struct mappings *mappings);
void mappings_unref(struct mappings *mappings);

/*
 * Puts one in, cutting away whatever it overlaps: the later mapping is the one that is there. If
 * the array is shared, *mappings becomes a copy. 0, -ENOMEM, or -ENOSPC past MAPPINGS_MAX.
 */
int mappings_add(struct mappings **mappings, const struct mapping *mapping);

/* The mapping that address lies in, or NULL; good until the next add. NULL mappings are empty. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

size_t mappings_nr(const struct mappings *mappings);
const struct mapping *mappings_get(const struct mappings *mappings, size_t i);

#endif
