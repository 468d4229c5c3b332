/*
 * Files that somebody may take for profiles, and that are none that can be read: what they are is
 * told by their first bytes, and what to do about it.
 */
#ifndef STOOK_CMD_FOREIGN_INPUT_H
#define STOOK_CMD_FOREIGN_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct foreign_input {
	const char *why;     /* it can't be read */
	const char *command; /* what to pipe: its text before the file's name; NULL: nothing */
	const char *more;    /* behind that, or alone */
	bool (*is_it)(const struct foreign_input *foreign, const char *head, size_t nr);
	const char *magic; /* for is_it(), a text that files have at this place */
	size_t magic_at;
};

/* NULL: nothing that is known. */
const struct foreign_input *foreign_input_by_head(const char *head, size_t nr);

/* What to try with such a file; `-` is standard input. */
void foreign_input_hint(const struct foreign_input *foreign, const char *path, struct error *error);

#endif
