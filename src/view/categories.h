/*
 * Categories of functions: "memory", "network", "copies". A table says which function belongs
 * where:
 *
 *	# category: patterns
 *	copies: memcpy* __memmove* copy_user*@kernel
 *	json:   *@libjson*.so* "std::vector<json*" /^(parse|lex)_/
 *
 * A pattern is a glob on the function's name, or between slashes a regular expression; in quotation
 * marks it may have blanks. Behind `@` stands a glob on the module's name without folders; `kernel`
 * is the kernel with all its modules, `user` everything else. Names match without their arguments,
 * too. The first row that matches decides.
 *
 * A sample belongs to the category of the function that ran; if that has none, to its nearest
 * caller's that has one; else to no category. The built-in table knows the kernel's callers only.
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

/*
 * From a table's text, or from the built-in table for the kernel. NULL with an error that names the line.
 */
struct categories *categories_parse(const char *text, size_t nr, struct error *error);
struct categories *categories_of_kernel(struct error *error);
void categories_free(struct categories *categories);

size_t categories_nr(const struct categories *categories); /* with "other", which is number 0 */
const char *categories_name(const struct categories *categories, uint32_t category);

/* The category of one function; module: its name without folders. */
uint32_t categories_of_function(const struct categories *categories, const char *function,
				const char *module, enum frame_kind kind);

/*
 * Of all of a profile: *ret_of_sample has the category of each sample, *ret_counts the count of
 * each category. Both are the caller's to free. 0 or -ENOMEM.
 */
int categories_count(const struct categories *categories, const struct profile *profile,
		     uint32_t **ret_of_sample, uint64_t **ret_counts);

/* The built-in table's text. Patterns are about the kernel unless they say otherwise. */
extern const char kernel_categories[];

#endif
