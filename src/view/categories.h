/*
 * Categories of functions: "memory", "network", "copies". A table assigns functions to categories:
 *
 *	# category: patterns
 *	copies: memcpy* __memmove* copy_user*@kernel
 *	json:   *@libjson*.so* "std::vector<json*" /^(parse|lex)_/
 *
 * A pattern is a glob on the function's name, or between slashes a regular expression; in quotation
 * marks it may contain blanks. After `@` comes a glob on the module's name without folders;
 * `kernel` is the kernel with all its modules, `user` everything else. Names match with and without
 * their arguments. The first row that matches decides.
 *
 * A sample belongs to the category of its leaf function; if the leaf has none, to the category of
 * the nearest caller that has one; else to "other". With the built-in table of the kernel, only callers in the
 * kernel are considered. With that of waits, the first row that matches any function of the stack
 * decides. The stack of a waker (`profile --wakers`) is not considered.
 */
#ifndef STOOK_VIEW_CATEGORIES_H
#define STOOK_VIEW_CATEGORIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"

#define CATEGORY_OTHER 0
#define CATEGORIES_MAX 64

struct categories;

/* Creates categories from a table's text. Returns NULL on failure, with the line in *error. */
struct categories *categories_parse(const char *text, size_t nr, struct error *error);

/* Creates those of a built-in table, "kernel" or "waits". 0, -ENOENT if there is no such table, or -ENOMEM. */
int categories_built_in(const char *name, struct categories **ret, struct error *error);
void categories_free(struct categories *categories);

size_t categories_nr(const struct categories *categories); /* including "other", number 0 */
const char *categories_name(const struct categories *categories, uint32_t category);

/* Returns the category of one function. module: name without folders. */
uint32_t categories_of_function(const struct categories *categories, const char *function,
				const char *module, enum frame_kind kind);

/*
 * Categorizes a profile: *ret_of_sample has the category of each sample, *ret_counts the total of
 * each category. The caller frees both. 0 or -ENOMEM.
 */
int categories_count(const struct categories *categories, const struct profile *profile,
		     uint32_t **ret_of_sample, uint64_t **ret_counts);

/* The built-in tables' texts. In the kernel's, patterns without `@` match only kernel functions. */
extern const char kernel_categories[], wait_categories[];

#endif
