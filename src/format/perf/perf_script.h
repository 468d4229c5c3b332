/*
 * perf script text: written for programs that read perf's output (stackcollapse-perf.pl,
 * speedscope, the Firefox profiler), and read from perf 3 to 6: `perf script | stook flame -`.
 * perf_script_parts.h describes the text.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "format/format.h"
#include "profile/profile.h"

/*
 * Writes and flushes. Returns 0, -ENOMEM, or the stream's errno.
 *
 * One entry represents all samples with the same stack and labels: its period is their count, so
 * that readers that add up periods get the right totals. Each value of a sample is a separate
 * entry, with the value's type as the event; except a value that is only the count times the
 * event's period, like "cpu" in pprof files. Labels that were not requested are omitted, except the
 * tid, which is then 0, because readers expect a number there. Entries are spread evenly over the
 * duration of the run, if known, or have the start time of their slice. Comments at the top of the
 * text describe the periods, for the reader below; see perf_script_write.c.
 *
 * In thread names, control characters, `\`, a leading `#`, and leading or trailing blanks are
 * written as octal numbers, `\040`. Kernel code is in `[kernel.kallsyms]`, JIT-compiled code in
 * `/tmp/perf-PID.map`, inlined functions are `(inlined)`. Addresses are those of the profile; 0 for
 * a frame that has only a name. A stack that could not be read is `[Missed User Stack]` (or
 * Kernel), as in folded stacks.
 */
int perf_script_write(const struct profile *profile, const struct format_options *options,
		      FILE *out);

/* True if a file that begins with these bytes is perf script text. */
bool perf_script_is_it(const char *head, size_t nr);

/*
 * Adds the stream's samples to a new profile. Returns 0, also for an empty stream; or a negative
 * errno: -EBADMSG if the text has lines but no sample, and no comments that say what it counts.
 * After an error the profile is incomplete.
 *
 * The weight of a sample is its period if printed, else 1, as in stackcollapse-perf.pl. Each event
 * is a separate value (profile_values.h). The event with the most samples is the count: it is the
 * event perf was started with, whereas events of a program's start come first in the text. If there
 * are periods or several events, there is an additional value "samples", the number of samples of
 * all events. In text written by perf_script_write(), the values are those in its comments.
 *
 * Labels are comm, tid, pid and cpu, if printed. Frames have names and files, but no addresses,
 * which would be meaningless without the mappings of the process. The frame's file decides if it is
 * kernel code, JIT-compiled, or inlined; `FILE.c:LINE` comes from lines of -F +srcline.
 *
 * Skipped: other comments, branch stacks, fields of tracepoints.
 */
int perf_script_read(FILE *in, struct profile *profile, struct format_notes *notes,
		     struct error *error);

#endif
