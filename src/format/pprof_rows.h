/*
 * The samples of a profile as pprof has them, in the order of their content. Samples that say the
 * same there are one, as those are that differ only in labels nobody asked for.
 *
 * Used by pprof_write.c alone.
 */
#ifndef STOOK_FORMAT_PPROF_ROWS_H
#define STOOK_FORMAT_PPROF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/pprof.h"
#include "format/pprof_code.h"

struct pprof_row {
	const struct sample *sample; /* for its labels and the number of its frames */
	const uint32_t *frames;	     /* leaf first */
	uint64_t count;
	bool missed_user, missed_kernel; /* one place more, at that end */
	const char *user_end;		 /* to be told; NULL: as expected */
	const char *kernel_end;
};

struct pprof_rows {
	const struct profile *profile;
	const struct pprof_options *options;
	const struct pprof_code *code;
	struct pprof_row *rows;
	size_t nr;
};

/* Also gives ids to those places of the code that rows use. 0 or -ENOMEM. */
int pprof_rows_init(struct pprof_rows *rows, const struct profile *profile,
		    const struct pprof_options *options, struct pprof_code *code);
void pprof_rows_clear(struct pprof_rows *rows);

/* How many places a row's stack has, and the number of one of them, counted from the leaf. */
size_t pprof_row_places(const struct pprof_row *row);
uint32_t pprof_row_place(const struct pprof_code *code, const struct pprof_row *row, size_t i);

#endif
