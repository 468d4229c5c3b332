/*
 * Folded stacks read back: what folded_write() writes, and the scripts of flamegraph.pl.
 *
 *	COMM;root;…;leaf COUNT
 *	COMM;root;…;leaf BEFORE COUNT		of a difference, as difffolded.pl writes it
 *
 * The first word is the thread's name, the others are frames without addresses. Other tools write
 * frames alone; nothing in a line tells which it is, so the options do.
 *
 * The marks that `--annotate` puts behind names become what they stand for: `_[k]` the kernel's code
 * where it is at the leaf, `_[j]` code made at run time, `_[i]` what was inlined into the frame before
 * it. Where a mark can't mean that, it is part of the name. So reading what was written, and writing it
 * again with the same marks, gives the same lines; but for words that are empty, which are
 * `[unknown]`, control characters, which are `?`, and counts of 0, which say nothing.
 *
 * A file is a difference if all lines of its first 256 KiB have two numbers; else a number at the
 * end of a stack is part of it. If numbers have fractions there, all are multiplied by as much as
 * makes them whole, up to a million; see folded_scale.h.
 *
 * A word `-` that is alone of its kind in a line, between two frames, is what bcc's `-d` and our
 * `--delimited` write: no frame, and what follows is the kernel's code. (`--` is offwaketime's, where
 * the stack of a waker follows, and then `-` is just a name.)
 */
#ifndef STOOK_FORMAT_FOLDED_FOLDED_READ_H
#define STOOK_FORMAT_FOLDED_FOLDED_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "format/format.h"
#include "format/text/folded_scale.h"
#include "profile/profile.h"

/* Whether so many first bytes of a file may be folded stacks. */
bool folded_is_it(const char *head, size_t nr);

/*
 * Adds what the stream has to a new profile. 0 or a negative errno: -EBADMSG if no line is one. After
 * a failure the profile holds some of it.
 */
int folded_read(FILE *in, const struct format_read_options *options, struct profile *profile,
		struct format_notes *notes, struct error *error);

#endif
