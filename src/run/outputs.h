/*
 * Writes profiles to stdout, to files, or both, in any format. Files are opened before the run, so
 * that a file that cannot be written fails before anything is sampled, and get their names when
 * they are complete.
 */
#ifndef STOOK_RUN_OUTPUTS_H
#define STOOK_RUN_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/error.h"
#include "base/file/out_file.h"
#include "format/format.h"
#include "run/config.h"
#include "worker/sandbox.h"

struct outputs {
	const struct output_options *options;
	struct format_options format;
	unsigned kept_labels; /* labels for formats that keep labels, in place of format.labels */
	bool are_many;	      /* one file per interval: names are numbered */
	time_t ended;	      /* of the interval to write */
	struct out_file files[OUTPUTS_MAX];
	size_t nr_files;
	unsigned number;	 /* number of profiles written */
	struct sandbox *sandbox; /* whose host commits the files; NULL: done here */
};

/* True if a format keeps labels for other programs. Profiles need not have such labels otherwise. */
bool outputs_keep_labels(const struct output_options *options);

/* format: properties of the profile; options and the terminal decide the rest. 0 or -errno. */
int outputs_open(struct outputs *outputs, const struct output_options *options,
		 const struct format_options *format, bool are_many, struct error *error);

/*
 * Chooses the labels to write. there: the labels in the input; asked: the labels that the user
 * requested, 0: none. Requested labels are written exclusively; otherwise people see the thread
 * name, and formats that keep labels for other programs get all.
 */
void outputs_set_labels(struct outputs *outputs, unsigned asked, unsigned there);

/* Writes the (named) profile everywhere; with one file per interval, then opens the next files. */
int outputs_write(struct outputs *outputs, struct profile *profile, struct error *error);

/* In a child without rights: from now on its host, which has the same outputs, commits the files that are written. */
void outputs_confine(struct outputs *outputs, struct sandbox *sandbox);

/* In the host: gives file `number`, which the child has written, its name. 0 or a negative errno. */
int outputs_commit(struct outputs *outputs, uint32_t number, struct error *error);

/* Discards files that are not complete. */
void outputs_clear(struct outputs *outputs);

#endif
