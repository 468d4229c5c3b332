/*
 * pprof: gzipped protocol buffers, as `go tool pprof`, speedscope, Pyroscope and their like read
 * and write them. Messages and field numbers are those of google's public profile.proto.
 *
 *	sample_type	samples/count; with a fixed period also EVENT/UNIT, which is count times
 *			period and the default ("cpu" for the clocks, as everybody calls it);
 *			of sums EVENT/UNIT alone
 *	label		thread_comm, cgroup, pid, tid, cpu: those that were asked for, by the names
 *			that perf_to_profile has for them
 *	label		user_stack_end, kernel_stack_end: enum walk_end by name, unless the stack is
 *			complete (of the kernel: unwound)
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
 * and strings come in the order of their first use.
 */
#ifndef STOOK_FORMAT_PPROF_H
#define STOOK_FORMAT_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"

struct pprof_options {
	unsigned labels; /* enum label bits: which samples are told apart by */
	bool no_user;	 /* user stacks were not asked for: none is "missed" */
	bool no_kernel;
};

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int pprof_write(const struct profile *profile, const struct pprof_options *options, FILE *out);

/* What was read besides the profile. */
struct pprof_notes {
	unsigned labels;	  /* enum label bits that samples had */
	uint64_t dropped_labels;  /* of other names, or with values that make no sense */
	uint64_t dropped_samples; /* with a negative value, as differences have them */
};

/*
 * Adds what the stream has to a new profile; compressed or not. The count of a sample is its value
 * of the type "samples", or else of the default type, or else of the last one. 0 or a negative
 * errno: -EBADMSG for what is no pprof file or makes no sense, -EFBIG for what is too large. After
 * a failure the profile holds some of it.
 */
int pprof_read(FILE *in, struct profile *profile, struct pprof_notes *notes, struct error *error);

/* The same for bytes in memory, not compressed. */
int pprof_parse(const void *bytes, size_t nr, struct profile *profile, struct pprof_notes *notes,
		struct error *error);

#endif
