/*
 * pprof: gzipped protocol buffers, as read and written by `go tool pprof`, speedscope, Pyroscope and
 * others. Messages and field numbers are those of google's public profile.proto.
 *
 *	sample_type	each value of the profile: samples/count first, then by name; if samples
 *			represent events (profile_values()), also EVENT/UNIT, with the customary
 *			name "cpu" for clocks
 *	default		the main value, or EVENT if that is samples times period
 *	label		thread_comm, cgroup, pid, tid, cpu: the requested ones, with the names of
 *			perf_to_profile; probe: the name of the probe that was hit
 *	label		slice_start, slice_end: the time slice, in nanoseconds since 1970
 *	label		labels of other programs, see profile.h
 *	label		user_stack_end, kernel_stack_end: enum walk_end by name, unless the stack is
 *			complete (kernel: unwound)
 *	comment		the run's own comments
 *	mapping		one for each code segment of a file, with name and build id; a deleted file
 *			is `PATH (deleted)`; the kernel is `[kernel.kallsyms]`, JIT-compiled code
 *			`[JIT]`
 *	location	the address as linked; for the kernel and JIT-compiled code the address;
 *			a file with unknown segments has one mapping from 0, and its addresses are
 *			file offsets
 *	line		the inlined functions, innermost first; code without symbol has no lines and
 *			can be symbolized later, elsewhere
 *
 * A caller's address is its return address - 1, as in pprof's own files.
 * A stack that could not be read is the location `[Missed User Stack]` (or Kernel), without address.
 *
 * Equal profiles give equal bytes: samples, mappings and locations are sorted by content, functions
 * and strings are in the order of first use. Invalid UTF-8 becomes U+FFFD.
 *
 * Not preserved from other programs' files: the order of types and samples, mangled names, start
 * lines of functions, and which frames to hide (drop_frames, keep_frames).
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

/* Writes and flushes. Returns 0, -ENOMEM, or the stream's errno. */
int pprof_write(const struct profile *profile, const struct format_options *options, FILE *out);

/* True if a file that, inflated, begins with these bytes is pprof. */
bool pprof_is_it(const char *head, size_t nr);

/*
 * Reads all bytes of an inflated file into a new profile. The main value is the file's default,
 * else its last value; if that value is only the number of samples times the period, the number of
 * samples is the main value. Returns 0 or a negative errno: -EBADMSG for a file that is not pprof
 * or is malformed. After an error the profile is incomplete.
 */
int pprof_parse(const void *bytes, size_t nr, struct profile *profile, struct format_notes *notes,
		struct error *error);

#endif
