/*
 * perf script text, for what reads perf's: stackcollapse-perf.pl, speedscope, the Firefox profiler.
 *
 *	COMM PID/TID [CPU] SECONDS.MICROSECONDS:  PERIOD EVENT:
 *		HEX-ADDRESS SYMBOL (FILE)
 *
 * One entry stands for all samples with such a stack and labels: its period is their count, so that
 * totals are right for whoever adds up periods. Each value that a sample has is an entry of its own,
 * with the value's type for the event; but not a value that is only the count times the event's
 * period, as "cpu" is in pprof files. Labels that were not asked for are left out, but for a tid,
 * which is 0 then: readers want a number there. Entries are spread evenly over the time of the run,
 * as far as it is known, or begin with the slice of time that they are of.
 *
 * That periods are such sums, and of what, is said in comments at the head of the text, which
 * perf_script_read() relies on to get the same numbers and words back, and other readers skip:
 *
 *	# stook: sampled: every 10000000 nanoseconds of cpu-clock
 *	# stook: periods of cpu-clock: count of samples
 *
 * See perf_script_comments.h for all of them. In the names of threads control characters, `\`, a `#`
 * that comes first, and blanks at both ends are octal numbers, `\040`.
 *
 * The kernel's code is in `[kernel.kallsyms]`, code made at run time in `/tmp/perf-PID.map`, what was
 * inlined is `(inlined)`. Addresses are the profile's; 0 where there is a name only. A stack that
 * could not be read is `[Missed User Stack]` (or Kernel), as in folded stacks.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_WRITE_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "format/format.h"
#include "profile/profile.h"

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int perf_script_write(const struct profile *profile, const struct format_options *options,
		      FILE *out);

#endif
