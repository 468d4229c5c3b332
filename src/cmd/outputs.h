/*
 * Where results go: to stdout, to files, or both. Files are opened before the run, so that what
 * can't be written is known before anything was sampled, and appear whole when they are complete.
 */
#ifndef STOOK_CMD_OUTPUTS_H
#define STOOK_CMD_OUTPUTS_H

#include "base/out_file.h"
#include "cmd/profile_options.h"

struct outputs {
	const struct profile_options *options;
	struct out_file files[PROFILE_MAX_OUTPUTS];
	size_t nr_files;
	struct out_file stats;
	unsigned interval; /* how many were written; with --interval, files are numbered */
};

/* 0 or a negative errno. */
int outputs_open(struct outputs *outputs, const struct profile_options *options,
		 struct error *error);

/* Writes the (named) profile everywhere. With --interval, the next files are opened. */
int outputs_write(struct outputs *outputs, const struct profile *profile, struct error *error);

/* Gives up what was not written. */
void outputs_clear(struct outputs *outputs);

#endif
