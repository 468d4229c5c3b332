/*
 * Folded stacks: one line a stack, as flamegraph.pl reads them; bcc's `profile -f` format.
 *
 *	COMM;user root;…;user leaf;[-;]kernel root;…;kernel leaf COUNT
 *
 * The thread's name stands first, where scripts look for it: COMM, COMM-PID with LABEL_PID and
 * COMM-PID/TID with LABEL_TID, as stackcollapse-perf.pl writes them with --pid and --tid. What
 * else was asked for follows as frames of its own, coarse before fine: `cgroup PATH`, `cpu N`.
 * Without LABEL_COMM a line begins with `pid PID`, `tid TID`, and so on.
 *
 * Functions that were inlined are frames of their own, callers first. Where source lines are known and
 * asked for a frame is `FUNCTION FILE.c:LINE`. A frame without a name is `[unknown]`, or `[deleted]` if
 * its file could not be read any more. A stack that should be there and could not be read is
 * `[Missed User Stack]` or `[Missed Kernel Stack]`. `;` in names becomes `:`, control characters
 * become `?`; spaces stay. No line comes twice. Lines are sorted by count, heaviest first, then by
 * text, so equal profiles give equal files. A difference has two counts a line, BEFORE COUNT, and is
 * sorted by their sum.
 */
#ifndef STOOK_FORMAT_FOLDED_FOLDED_H
#define STOOK_FORMAT_FOLDED_FOLDED_H

#include <stdio.h>

#include "format/format.h"
#include "profile/profile.h"

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int folded_write(const struct profile *profile, const struct format_options *options, FILE *out);

#endif
