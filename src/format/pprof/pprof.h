/*
 * pprof: gzipped protocol buffers, as `go tool pprof`, speedscope, Pyroscope and their like read
 * and write them. Messages and field numbers are those of google's public profile.proto.
 *
 *	sample_type	each value of the profile: samples/count first, then by name; where those
 *			stand for events (profile_values()) also EVENT/UNIT, "cpu" for the clocks,
 *			as everybody calls it
 *	default		the main value, or EVENT where that is just samples times period
 *	label		thread_comm, cgroup, pid, tid, cpu: those that were asked for, by the names
 *			that perf_to_profile has for them; probe: the name of the one that was hit
 *	label		slice_start, slice_end: the slice of time, in nanoseconds since 1970
 *	label		labels of other programs, see profile.h
 *	label		user_stack_end, kernel_stack_end: enum walk_end by name, unless the stack is
 *			complete (of the kernel: unwound)
 *	comment		the run's own comments
 *	mapping		one for each segment of code of a file, named and with its build id; a file
 *			that is gone is `PATH (deleted)`; the kernel is `[kernel.kallsyms]`,
 *			JIT-compiled code `[JIT]`
 *	location	the address as linked; for the kernel and JIT-compiled code the address;
 *			a file whose segments are not known has one mapping from 0, and its
 *			addresses are offsets in the file
 *	line		the inlined functions, innermost first; code without a name has none, and
 *			can be named elsewhere
 *
 * A caller's address is its return address less one, as in pprof's own files.
 * A stack that could not be read is the location `[Missed User Stack]` (or Kernel), without address.
 *
 * Equal profiles give equal bytes: samples, mappings and locations are sorted by content, functions
 * and strings come in the order of their first use. Bytes that are no UTF-8 become U+FFFD.
 *
 * Not kept of other programs' files: the order of types and samples, mangled names, lines where functions
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

/* True if a file that begins with these bytes is pprof, inflated. */
bool pprof_is_it(const char *head, size_t nr);

/*
 * Reads all bytes of an inflated file into a new profile. The main value is the file's default, or else
 * its last one; where that is nothing but samples times the period, it is the samples. 0 or a negative
 * errno: -EBADMSG for a file that is no pprof or makes no sense. After a failure the profile holds some of
 * it.
 */
int pprof_parse(const void *bytes, size_t nr, struct profile *profile, struct format_notes *notes,
		struct error *error);

#endif
