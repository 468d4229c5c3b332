/*
 * What the writer tells of a sample besides its frames and its values: the labels that were asked
 * for, how its stacks ended where that is not what a reader would take it for, and whether one of
 * them stands there as missed. Samples that agree in all of it have one *label row*, which is known
 * by a number; rank_of says where it comes in the order of their content.
 *
 * Used by the writer alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_ROW_LABELS_H
#define STOOK_FORMAT_PPROF_PPROF_ROW_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/pprof/pprof.h"
#include "format/pprof/pprof_code.h"
#include "profile/stack_table.h"

struct pprof_row_labels {
	struct sample_labels labels; /* 0 where they were not asked for */
	const char *user_end;	     /* to be told; NULL: as expected */
	const char *kernel_end;
	bool missed_user, missed_kernel; /* one place more, at that end */
};

struct pprof_label_rows {
	const struct profile *profile;
	const struct format_options *options;
	const struct pprof_code *code;
	struct stack_table table;
};

/* The number of the sample's label row, known or new; or -ENOMEM. */
int64_t pprof_label_rows_add(struct pprof_label_rows *rows, const struct sample *sample);
struct pprof_row_labels pprof_label_rows_get(const struct pprof_label_rows *rows, uint32_t number);

/* A number that differs where what is told of ends does. */
uint32_t pprof_label_rows_ends(const struct pprof_label_rows *rows, uint32_t number);

/* Where each label row comes in their order (pprof_label_order.c); NULL when out of memory. */
uint32_t *pprof_label_rows_order(const struct pprof_label_rows *rows);

void pprof_label_rows_clear(struct pprof_label_rows *rows);

#endif
