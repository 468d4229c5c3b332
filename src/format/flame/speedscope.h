/*
 * speedscope's own file format, by its public schema: JSON with a table of frames and, for each
 * value that samples have, a profile of the type "sampled".
 *
 *	frames		name; file and line where the source is known, else the file that the code is
 *			in; labels that were asked for are frames at the root, as in folded stacks
 *	profiles	first the event's own amount (count times period) where the period is fixed,
 *			then the count, then what other values there are
 *	samples		root first, each stack once, in the order of their names: so its "time order"
 *			is a flame graph; of a profile with slices of time slice by slice, so that it
 *			is the order of time
 *
 * One profile has all threads, told apart by their frames: a thread can be singled out there, and
 * the whole can't be had from a list of hundreds.
 *
 * Equal profiles give equal bytes.
 */
#ifndef STOOK_FORMAT_FLAME_SPEEDSCOPE_H
#define STOOK_FORMAT_FLAME_SPEEDSCOPE_H

#include <stdbool.h>
#include <stdio.h>

#include "format/format.h"
#include "profile/profile.h"

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int speedscope_write(const struct profile *profile, const struct format_options *options,
		     FILE *out);

#endif
