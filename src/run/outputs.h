/*
 * Where profiles go: to stdout, to files, or both, in any format. Files are opened before the run, so
 * that what can't be written is known before anything was sampled, and appear whole when they are
 * complete.
 */
#ifndef STOOK_RUN_OUTPUTS_H
#define STOOK_RUN_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/out_file.h"
#include "format/format.h"
#include "run/config.h"

struct outputs {
	const struct output_options *options;
	struct format_options format;
	unsigned kept_labels; /* instead of the format's, of those that keep labels */
	bool are_many;	      /* one after the other: files are numbered */
	struct out_file files[OUTPUTS_MAX];
	size_t nr_files;
	unsigned number; /* how many were written */
};

/* format: what is known of the profile; options and the terminal tell the rest. 0 or -errno. */
int outputs_open(struct outputs *outputs, const struct output_options *options,
		 const struct format_options *format, bool are_many, struct error *error);

/*
 * Which of an input's labels are there: those that were asked for, if any; else people see samples by
 * thread name, and formats that keep labels for other programs get all of them.
 */
void outputs_set_labels(struct outputs *outputs, unsigned asked, unsigned there);

/* Writes the (named) profile everywhere. If they are many, the next files are opened. */
int outputs_write(struct outputs *outputs, const struct profile *profile, struct error *error);

/* Gives up what was not written. */
void outputs_clear(struct outputs *outputs);

#endif
