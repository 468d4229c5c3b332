/*
 * Matches names against globs and extended regular expressions. Their cost is limited by a check
 * before they are compiled. A glob takes time in proportion to its own length times the name's, for
 * any glob.
 *
 * A glob consists of bytes: `*` matches any number of bytes, `?` one, `[a-z_]` one of these, `[!a]`
 * or `[^a]` one except these, `(a|b*)` alternatives, which may be nested, be empty, or be written
 * without parentheses. `\` makes the byte after it literal. Parentheses without a `|` of their own
 * are literal, so that `Shape::area(int)` and `main.(*Server).Serve` match the names displayed like
 * this. A plain glob has no alternatives, and a `[` or `\` that is invalid there is literal.
 */
#ifndef STOOK_BASE_MATCHER_H
#define STOOK_BASE_MATCHER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#define MATCHER_TEXT_MAX 4096 /* bytes */

struct matcher;

struct matcher_error {
	size_t at;	  /* offset in the text */
	const char *what; /* "no ')' for this '('" */
};

enum matcher_kind {
	MATCHER_GLOB, /* must match the whole name, like all kinds but the last two */
	MATCHER_REGEX,
	MATCHER_PLAIN_GLOB,
	MATCHER_PREFIX, /* a regular expression, from the name's start */
	MATCHER_SEARCH, /* a regular expression, anywhere in the name */
};

/* Returns NULL on failure, with the reason in *error; error->what is NULL if memory ran out. */
struct matcher *matcher_new(const char *text, size_t nr, enum matcher_kind kind,
			    struct matcher_error *error);
void matcher_free(struct matcher *matcher);

bool matcher_matches(const struct matcher *matcher, const char *name);

/* Of MATCHER_SEARCH: likewise, and where in the name: parts[0] is all that matches, the others what is in brackets. */
#define MATCHER_PARTS 10
bool matcher_find(const struct matcher *matcher, const char *name, regmatch_t parts[MATCHER_PARTS]);

/* Names that are wanted: the ones that one expression matches, without those that others match. */
#define NAME_FILTER_MAX 64

struct name_filter {
	struct matcher *only; /* NULL: all */
	struct matcher *excluded[NAME_FILTER_MAX];
	size_t nr_excluded;
};

bool name_filter_wants(const struct name_filter *filter, const char *name);
/* True if every name is wanted, since nothing was asked for. */
bool name_filter_is_any(const struct name_filter *filter);
void name_filter_clear(struct name_filter *filter);

/* The only name that matches, if that is obvious from the pattern; else NULL. */
const char *matcher_only_name(const struct matcher *matcher);

/* True if every name matches: `*`; for a regular expression only the obvious ones, like `.*`. */
bool matcher_is_any(const struct matcher *matcher);

#endif
