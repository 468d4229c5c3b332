/*
 * Goes over the text once and steps back to the last `*` only: time in proportion to both lengths'
 * product at worst, which fnmatch() does not promise, and texts are names that a target made up. Only
 * a `[` that nothing closes costs more: a look at the rest of the glob, which is the user's own.
 */
#include "base/glob.h"

#include <stddef.h>

/* Whether the set at `[` has the byte; *ret_end is behind its `]`, or NULL: it has none. */
static bool set_has(const char *set, char byte, const char **ret_end)
{
	bool inverted = set[1] == '!' || set[1] == '^';
	const char *at = set + 1 + inverted;
	bool has = false;

	*ret_end = NULL;
	do {
		unsigned char first = (unsigned char)*at, last = first;

		if (!*at)
			return false;
		if (at[1] == '-' && at[2] && at[2] != ']') {
			last = (unsigned char)at[2];
			at += 2;
		}
		at++;
		has |= (unsigned char)byte >= first && (unsigned char)byte <= last;
	} while (*at != ']');
	*ret_end = at + 1;
	return has != inverted;
}

/* Whether one element of the glob, which is no `*`, fits the byte; *ret_next is behind it. */
static bool element_fits(const char *glob, char byte, const char **ret_next)
{
	const char *end = NULL;
	bool has;

	*ret_next = glob + 1;
	if (*glob == '?')
		return true;
	if (*glob == '[') {
		has = set_has(glob, byte, &end);
		if (end) {
			*ret_next = end;
			return has;
		}
	}
	if (*glob == '\\' && glob[1]) {
		*ret_next = glob + 2;
		return glob[1] == byte;
	}
	return *glob == byte;
}

bool glob_fits(const char *glob, const char *text)
{
	const char *behind_star = NULL; /* the last one's, and where it ends for now */
	const char *star_end = NULL;

	for (;;) {
		const char *next;

		if (*glob == '*') {
			behind_star = ++glob;
			star_end = text;
			if (!*glob)
				return true;
		} else if (!*text && !*glob) {
			return true;
		} else if (*text && *glob && element_fits(glob, *text, &next)) {
			glob = next;
			text++;
		} else if (behind_star && *star_end) {
			glob = behind_star;
			text = ++star_end;
		} else {
			return false;
		}
	}
}
