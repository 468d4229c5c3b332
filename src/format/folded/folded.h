/*
 * Folded stacks: one line a stack, as flamegraph.pl reads them; bcc's `profile -f` format.
 *
 *	COMM;user root;…;user leaf;[-;]kernel root;…;kernel leaf COUNT
 *
 * The thread's name stands first, where scripts look for it: COMM, COMM-PID with LABEL_PID and
 * COMM-PID/TID with LABEL_TID, as stackcollapse-perf.pl writes them with --pid and --tid. What
 * else was asked for follows as frames of its own, coarse before fine: `cgroup PATH`, `probe NAME`,
 * `cpu N`.
 * Without LABEL_COMM a line begins with `pid PID`, `tid TID`, and so on.
 *
 * Functions that were inlined are frames of their own, callers first. Where source lines are known and
 * asked for a frame is `FUNCTION FILE.c:LINE`. A frame without a name is `[unknown]`, `[deleted]` if its
 * file was gone, `[unreadable]` if it may not be read. A stack that should be there and could not be read is
 * `[Missed User Stack]` or `[Missed Kernel Stack]`. `;` in names becomes `:`, control characters
 * become `?`; spaces stay. No line comes twice. Lines are sorted by count, heaviest first, then by
 * text, so equal profiles give equal files. A difference has two counts a line, BEFORE COUNT, and is
 * sorted by their sum.
 */
#ifndef STOOK_FORMAT_FOLDED_FOLDED_H
#define STOOK_FORMAT_FOLDED_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "format/format.h"
#include "profile/profile.h"

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int folded_write(const struct profile *profile, const struct format_options *options, FILE *out);

/* True if a file that begins with these bytes may be folded stacks. */
bool folded_is_it(const char *head, size_t nr);

/*
 * Reads what folded_write() writes, and the scripts of flamegraph.pl, into a new profile. 0 or a
 * negative errno: -EBADMSG if no line is a stack. After a failure the profile holds some of it.
 *
 * The first word is the thread's name, the others are frames without addresses. Other tools write
 * frames alone; nothing in a line tells which it is, so the options do.
 *
 * The marks that `--annotate` puts behind names become what they stand for: `_[k]` the kernel's code
 * where it is at the leaf, `_[j]` JIT-compiled code, `_[i]` a function inlined into the frame before it.
 * A mark at another place is part of the name. So reading a file that we wrote, and writing it again
 * with the same marks, gives the same lines; except that empty words become `[unknown]` and control
 * characters `?`, and that counts of 0 are dropped.
 *
 * A file is a difference if all lines of its first 256 KiB have two numbers; else a number at the
 * end of a stack is part of it. If numbers have fractions there, all are multiplied by as much as
 * makes them whole, up to a million; see struct value_scale.
 *
 * A word `-` that is alone of its kind in a line, between two frames, is what bcc's `-d` and our
 * `--delimited` write: no frame, and what follows is the kernel's code. (`--` is offwaketime's, where
 * the stack of a waker follows, and then `-` is just a name.)
 */
int folded_read(FILE *in, const struct format_read_options *options, struct profile *profile,
		struct format_notes *notes, struct error *error);

#endif
