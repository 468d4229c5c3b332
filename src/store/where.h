/*
 * Conditions on labels: `comm=redis-server && (cgroup~docker || !service.name)`.
 *
 *	KEY=TEXT   KEY!=TEXT	the label is, or is not, exactly this
 *	KEY~REGEX  KEY!~REGEX	an extended regular expression is found in it, or not
 *	KEY        !KEY		the label is there, or is not
 *	a && b   a || b   !(a)  ( )
 *
 * A missing label is an empty text. Texts with blanks or any of `()&|!=~"` are quoted: "a b", with `\` before `"` and
 * `\`.
 */
#ifndef STOOK_STORE_WHERE_H
#define STOOK_STORE_WHERE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct store_where;

/* Returns NULL on failure, with the place in the error. The caller frees it with store_where_free(). */
struct store_where *store_where_parse(const char *text, struct error *error);
void store_where_free(struct store_where *where);

/* Returns the text of a label, NULL if it is missing; valid until the next call. */
typedef const char *store_label_fn(void *context, const char *key);

bool store_where_matches(const struct store_where *where, store_label_fn *label, void *context);

#endif
