/*
 * Matching names against globs and extended regular expressions, which are checked for what they
 * would cost before they are compiled. A glob takes time in proportion to its own length times the
 * name's, whatever it looks like.
 *
 * A glob is written in bytes: `*` any of them, `?` one, `[a-z_]` one of these, `[!a]` or `[^a]` one
 * but these, `(a|b*)` alternatives, which may be nested, be empty, or stand without parentheses.
 * `\` takes the meaning from the byte behind it. Parentheses without a `|` of their own are
 * themselves, so that `Shape::area(int)` and `main.(*Server).Serve` fit what is shown by these
 * names. A plain glob has no alternatives, and a `[` or `\` that makes no sense there is itself.
 */
#ifndef STOOK_BASE_MATCHER_H
#define STOOK_BASE_MATCHER_H

#include <stdbool.h>
#include <stddef.h>

#define MATCHER_TEXT_MAX 4096 /* bytes */

struct matcher;

struct matcher_error {
	size_t at;	  /* which byte of the text, from 0 on */
	const char *what; /* "no ')' for this '('" */
};

enum matcher_kind {
	MATCHER_GLOB, /* the whole name, as for all kinds but the last two */
	MATCHER_REGEX,
	MATCHER_PLAIN_GLOB,
	MATCHER_PREFIX, /* a regular expression, from the name's start */
	MATCHER_SEARCH, /* a regular expression, anywhere in the name */
};

/* NULL: *error says why; what is NULL when memory is out. */
struct matcher *matcher_new(const char *text, size_t nr, enum matcher_kind kind,
			    struct matcher_error *error);
void matcher_free(struct matcher *matcher);

bool matcher_fits(const struct matcher *matcher, const char *name);

/* The only name that fits, if there is but one and that is plain to see; else NULL. */
const char *matcher_only_name(const struct matcher *matcher);

/* True if every name fits: `*`; for a regular expression only if that is plain to see. */
bool matcher_is_any(const struct matcher *matcher);

#endif
