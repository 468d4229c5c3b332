/* Only a text with a NUL needs a copy; other control characters are the writers' business. */
#include "format/text/clean_string.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int64_t clean_string_add(struct profile *profile, const char *text, size_t nr)
{
	cleanup_free char *copy = NULL;
	char *nul;

	if (!nr)
		return 0; /* the empty string is always there */
	if (!memchr(text, '\0', nr))
		return profile_add_string_bytes(profile, text, nr);
	copy = malloc(nr);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, nr);
	while ((nul = memchr(copy, '\0', nr)))
		*nul = '?';
	return profile_add_string_bytes(profile, copy, nr);
}
