/*
 * perf script text read back, of perf 3 to 6: `perf script | stook flame -`. See perf_script_line.h
 * for what it looks like.
 *
 * A sample weighs its period where perf printed one, else 1, as stackcollapse-perf.pl counts. Each
 * event is a value of its own (profile_values.h), and the one with the most samples is the count.
 * Where there are periods or several events, "samples" is one more value: how many there were, of all
 * events. What perf_script_write() wrote is known by its comments, and read as they say. Labels
 * are comm, tid, pid and cpu, as far as they are printed. Frames have names and files, but no
 * addresses: those are of a process whose mappings are not there. What is in the kernel, made at run
 * time, or inlined is told by the frame's file, and `FILE.c:LINE` from lines of -F +srcline.
 *
 * Passed over: other comments, branch stacks, what tracepoints tell.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_READ_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "format/format.h"
#include "profile/profile.h"

/* Whether so many first bytes of a file are such text. */
bool perf_script_is_it(const char *head, size_t nr);

/*
 * Adds what the stream has to a new profile. 0, also of an empty one; or a negative errno: -EBADMSG
 * if it has lines and no sample, and does not say itself what it counts. After a failure the profile
 * holds some of it.
 */
int perf_script_read(FILE *in, struct profile *profile, struct format_notes *notes,
		     struct error *error);

#endif
