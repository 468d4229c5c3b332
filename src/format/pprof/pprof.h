/*
 * pprof: gzipped protocol buffers, as `go tool pprof`, speedscope, Pyroscope and their like read
 * and write them. Messages and field numbers are those of google's public profile.proto.
 *
 *	sample_type	each value of the profile: samples/count first, then by name; where counts
 *			are samples taken with a fixed period also EVENT/UNIT, which is count times
 *			period ("cpu" for the clocks, as everybody calls it); see pprof_values.h
 *	default		the count, or EVENT where that is just count times period
 *	label		thread_comm, cgroup, pid, tid, cpu: those that were asked for, by the names
 *			that perf_to_profile has for them
 *	label		slice_start, slice_end: when it was, in nanoseconds of the day's clock
 *	label		what else samples are labelled with, see label_sets.h
 *	label		user_stack_end, kernel_stack_end: enum walk_end by name, unless the stack is
 *			complete (of the kernel: unwound)
 *	comment		what the run had to say of itself
 *	mapping		one for each segment of code of a file, named and with its build id; a file
 *			that is gone is `PATH (deleted)`; the kernel is `[kernel.kallsyms]`, code
 *			made at run time `[JIT]`
 *	location	the address as linked; for the kernel and run-time code the address itself;
 *			a file whose segments are not known has one mapping from 0, and its
 *			addresses are offsets in the file
 *	line		the inlined functions, innermost first; code without a name has none, and
 *			can be named elsewhere
 *
 * Addresses are those to look up, so a caller's is its return address less one, as pprof's own are.
 * A stack that could not be read is the location `[Missed User Stack]` (or Kernel), without address.
 *
 * Equal profiles give equal bytes: samples, mappings and locations are sorted by content, functions
 * and strings come in the order of their first use. Bytes that are no UTF-8 become U+FFFD.
 *
 * Not kept of what others write: the order of types and samples, mangled names, lines where functions
 * begin, and which frames are to be hidden (drop_frames, keep_frames).
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_H
#define STOOK_FORMAT_PPROF_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "format/format.h"
#include "profile/profile.h"

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int pprof_write(const struct profile *profile, const struct format_options *options, FILE *out);

/* Whether so many first bytes of a file are pprof, compressed or not. */
bool pprof_is_it(const char *head, size_t nr);

/*
 * Adds what the stream has to a new profile; compressed or not. The count of a sample is its value of
 * the default type, or else of the last one; or its number of samples, if that times the period is
 * what the default type says. All others are further values, see profile_values.h. 0 or a negative
 * errno: -EBADMSG for what is no pprof file or makes no sense, -EFBIG for what is too large. After a
 * failure the profile holds some of it.
 */
int pprof_read(FILE *in, struct profile *profile, struct format_notes *notes, struct error *error);

/* Its two steps: the file's bytes, inflated, which the caller frees; and what they say. */
int pprof_inflate(FILE *in, uint8_t **ret, size_t *ret_nr, struct error *error);
int pprof_parse(const void *bytes, size_t nr, struct profile *profile, struct format_notes *notes,
		struct error *error);

#endif
