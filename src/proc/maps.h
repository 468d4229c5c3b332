/*
 * The lines of /proc/PID/maps, one at a time.
 *
 *	struct maps maps;
 *	struct maps_entry entry;
 *
 *	if (maps_open(&maps, pid) == 0)
 *		while (maps_next(&maps, &entry))
 *			…
 *	maps_close(&maps);
 */
#ifndef STOOK_PROC_MAPS_H
#define STOOK_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proc/file_table.h"

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
};

/* 0 or a negative errno; a process that is gone gives -ENOENT, or just no lines. */
int maps_open(struct maps *maps, int32_t pid);
bool maps_next(struct maps *maps, struct maps_entry *ret);
void maps_close(struct maps *maps);

/* One line, without its newline; it is written into. False if it is none. */
bool maps_parse_line(char *line, struct maps_entry *ret);

#endif
