/*
 * The samples of a profile as pprof has them, in the order of their content: by labels first, and
 * then by stacks from the root, so that neighbours are alike, which gzip likes. Samples that say the
 * same there are one, as those are that differ only in labels nobody asked for.
 *
 *	for (i = 0; pprof_rows_next(&rows, &i, &row);)
 *
 * Used by pprof_write.c alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_ROWS_H
#define STOOK_FORMAT_PPROF_PPROF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/pprof/pprof.h"
#include "format/pprof/pprof_code.h"
#include "format/pprof/pprof_row_labels.h"
#include "format/pprof/pprof_values.h"

struct pprof_row {
	struct pprof_row_labels what;
	const struct sample *sample; /* one of those that the row is of, for its frames */
	const uint32_t *frames;	     /* leaf first */
	uint64_t values[PPROF_MAX_SAMPLE_TYPES];
};

/* A sample with a value. */
struct pprof_row_sample {
	uint64_t key; /* says where it comes: rank of its labels << 32 | rank of its stack */
	uint32_t sample, label_row;
};

struct pprof_rows {
	const struct profile *profile;
	const struct pprof_values *values;
	struct pprof_label_rows labels;
	struct pprof_row_sample *samples;
	size_t nr;
};

/* Also gives ids to those places of the code that rows use. 0 or -ENOMEM. */
int pprof_rows_init(struct pprof_rows *rows, const struct profile *profile,
		    const struct format_options *options, const struct pprof_values *values,
		    struct pprof_code *code);
void pprof_rows_clear(struct pprof_rows *rows);

/* The row at *position, which is moved behind its samples; false at the end. */
bool pprof_rows_next(const struct pprof_rows *rows, size_t *position, struct pprof_row *ret);

/* How many places a row's stack has, and the number of one of them, counted from the leaf. */
size_t pprof_row_places(const struct pprof_row *row);
uint32_t pprof_row_place(const struct pprof_code *code, const struct pprof_row *row, size_t i);

#endif
