/*
 * perf script text, written for what reads perf's: stackcollapse-perf.pl, speedscope, the Firefox
 * profiler; and read, of perf 3 to 6: `perf script | stook flame -`. perf_script_parts.h shows what it
 * looks like.
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
 * Writes and flushes. 0, -ENOMEM, or the stream's errno.
 *
 * One entry stands for all samples with such a stack and labels: its period is their count, so that
 * totals are right for whoever adds up periods. Each value that a sample has is an entry of its own,
 * with the value's type for the event; but not a value that is only the count times the event's
 * period, as "cpu" is in pprof files. Labels that were not asked for are left out, but for a tid,
 * which is 0 then: readers want a number there. Entries are spread evenly over the time of the run,
 * as far as it is known, or begin with the slice of time that they are of. Comments at the head of
 * the text say what the periods are, for the reader below; see perf_script_write.c.
 *
 * In the names of threads control characters, `\`, a `#` that comes first, and blanks at both ends are
 * octal numbers, `\040`. The kernel's code is in `[kernel.kallsyms]`, JIT-compiled code in
 * `/tmp/perf-PID.map`, inlined functions are `(inlined)`. Addresses are the profile's; 0 where there is
 * a name only. A stack that could not be read is `[Missed User Stack]` (or Kernel), as in folded
 * stacks.
 */
int perf_script_write(const struct profile *profile, const struct format_options *options,
		      FILE *out);

/* True if a file that begins with these bytes is such text. */
bool perf_script_is_it(const char *head, size_t nr);

/*
 * Adds what the stream has to a new profile. 0, also of an empty one; or a negative errno: -EBADMSG
 * if it has lines and no sample, and does not say itself what it counts. After a failure the profile
 * holds some of it.
 *
 * A sample weighs its period where perf printed one, else 1, as stackcollapse-perf.pl counts. Each
 * event is a value of its own (profile_values.h), and the one with the most samples is the count: it
 * is what perf was asked for, while what a program's start touches comes first in the text. Where
 * there are periods or several events, "samples" is one more value: how many there were, of all
 * events. In text that perf_script_write() wrote, the values are those that its comments say.
 *
 * Labels are comm, tid, pid and cpu, as far as they are printed. Frames have names and files, but no
 * addresses: those are of a process whose mappings are not there. The frame's file tells if it is in
 * the kernel, JIT-compiled, or inlined; `FILE.c:LINE` is from lines of -F +srcline.
 *
 * Passed over: other comments, branch stacks, the fields of tracepoints.
 */
int perf_script_read(FILE *in, struct profile *profile, struct format_notes *notes,
		     struct error *error);

#endif
