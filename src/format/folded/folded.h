/*
 * Folded stacks: one line per stack, as read by flamegraph.pl; the format of bcc's `profile -f`.
 *
 *	COMM;user root;…;user leaf;[-;]kernel root;…;kernel leaf COUNT
 *
 * The thread's name is first, where scripts expect it: COMM, COMM-PID with LABEL_PID and
 * COMM-PID/TID with LABEL_TID, like stackcollapse-perf.pl with --pid and --tid. Other requested
 * labels follow as separate frames, coarse before fine: `cgroup PATH`, `probe NAME`, `cpu N`.
 * Without LABEL_COMM a line begins with `pid PID`, `tid TID`, and so on.
 *
 * Inlined functions are separate frames, callers first. With known and requested source lines, a
 * frame is `FUNCTION FILE.c:LINE`. A frame without a name is `[unknown]`, `[deleted]` if its file
 * no longer existed, `[unreadable]` if it could not be read. An expected stack that could
 * not be read is `[Missed User Stack]` or `[Missed Kernel Stack]`. `;` in names becomes `:`,
 * control characters become `?`; spaces stay. No line occurs twice. Lines are sorted by count,
 * largest first, then by text, so equal profiles give equal files. A difference has two counts per
 * line, BEFORE COUNT, and is sorted by their sum.
 */
#ifndef STOOK_FORMAT_FOLDED_FOLDED_H
#define STOOK_FORMAT_FOLDED_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "format/format.h"
#include "profile/profile.h"

/* Writes and flushes. Returns 0, -ENOMEM, or the stream's errno. */
int folded_write(const struct profile *profile, const struct format_options *options, FILE *out);

/* True if a file that begins with these bytes can be folded stacks. */
bool folded_is_it(const char *head, size_t nr);

/*
 * Reads the output of folded_write() and of flamegraph.pl's scripts into a new profile. Returns 0
 * or a negative errno: -EBADMSG if no line is a stack. After an error the profile is incomplete.
 *
 * The first word is the thread's name, the others are frames without addresses. Other tools write
 * only frames; since such lines look the same, the options decide.
 *
 * The marks that `--annotate` appends to names are interpreted: `_[k]` kernel code if it is at the
 * leaf, `_[j]` JIT-compiled code, `_[i]` a function inlined into the preceding frame. Elsewhere a
 * mark is part of the name. Reading a file of ours and writing it again with the same options
 * therefore gives the same lines; except that empty words become `[unknown]`, control characters
 * become `?`, and counts of 0 are dropped.
 *
 * A file is a difference if all lines of its first 256 KiB have two numbers; otherwise a number
 * before the count is part of the stack. If numbers in the first 256 KiB have fractions, all
 * numbers are multiplied to integers, by up to a million; see struct value_scale.
 *
 * A word `-` that occurs once in a line, between two frames, is the delimiter of bcc's `-d` and our
 * `--delimited`: it is not a frame, and kernel frames follow. (`--` is the delimiter of
 * offwaketime, before the waker's stack; in such lines `-` is a name.)
 */
int folded_read(FILE *in, const struct format_read_options *options, struct profile *profile,
		struct format_notes *notes, struct error *error);

#endif
