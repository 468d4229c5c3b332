/*
 * The labels of one sample of a pprof file while they are read. Those that a profile has a place for
 * are known by their keys, ours and those of others; all others, and what says one thing twice, go
 * into the sample's label set, in the order of the file.
 *
 * Used by pprof_read.c alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_LABELS_H
#define STOOK_FORMAT_PPROF_PPROF_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/pprof/pprof.h"
#include "format/pprof/pprof_strings.h"
#include "profile/profile.h"

/* What a label's key says. */
enum pprof_label_key {
	PPROF_KEY_NEW, /* not looked at so far */
	PPROF_KEY_OTHER,
	PPROF_KEY_THREAD,
	PPROF_KEY_PROCESS, /* a name for the thread only where there is none */
	PPROF_KEY_CGROUP,
	PPROF_KEY_PID,
	PPROF_KEY_TID,
	PPROF_KEY_CPU,
	PPROF_KEY_USER_END,
	PPROF_KEY_KERNEL_END,
	PPROF_KEY_SLICE_START,
	PPROF_KEY_SLICE_END,
	NR_PPROF_KEYS,
};

/* Labels of the set that may turn out to be something else: these keys may be first in it. */
#define PPROF_NR_DOUBTFUL 3

struct pprof_labels {
	struct pprof_strings *strings;
	struct format_notes *notes;
	uint8_t *keys; /* enum pprof_label_key by string */

	/* Of the sample: */
	struct sample_labels labels;
	unsigned taken; /* bits by key */
	struct set_label set[LABEL_SET_MAX + PPROF_NR_DOUBTFUL];
	size_t nr_set;
	size_t place[NR_PPROF_KEYS]; /* + 1: of those that are in doubt, where in the set; 0: not */
};

/* 0 or -ENOMEM. */
int pprof_labels_init(struct pprof_labels *labels, struct pprof_strings *strings,
		      struct format_notes *notes);
void pprof_labels_clear(struct pprof_labels *labels);

/* For the next sample. */
void pprof_labels_begin(struct pprof_labels *labels);

/* Whether the label was there, and has been taken. */
bool pprof_labels_have(const struct pprof_labels *labels, enum pprof_label_key key);

/* Takes a Label message: 0, -EBADMSG or -ENOMEM. */
int pprof_labels_read(struct pprof_labels *labels, struct bytes message, struct error *error);

/* After the last one: labels->labels is complete then, but for stacks' ends. 0 or -ENOMEM. */
int pprof_labels_finish(struct pprof_labels *labels);

#endif
