/* See pprof_text.h. */
#include "format/pprof/pprof_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "format/text/columns.h"

#define REPLACEMENT	  "\xef\xbf\xbd"
#define REPLACEMENT_BYTES 3

bool pprof_text_is_plain(const char *bytes, size_t nr)
{
	unsigned char all = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		all |= (unsigned char)bytes[i];
	return all < 0x80;
}

/* How many bytes are right as they are; 0: the next one is not. */
static size_t right_bytes(const char *text)
{
	return (unsigned char)*text < 0x80 ? 1 : text_character(text);
}

char *pprof_text_repaired(const char *bytes, size_t nr)
{
	cleanup_free char *text = strndup(bytes, nr);
	char *repaired = text ? calloc(nr + 1, REPLACEMENT_BYTES) : NULL;
	char *to = repaired;
	const char *from;
	size_t right;

	if (!repaired)
		return NULL;
	for (from = text; *from; from += right ? right : 1) {
		right = right_bytes(from);
		if (right)
			memcpy(to, from, right);
		else
			memcpy(to, REPLACEMENT, REPLACEMENT_BYTES);
		to += right ? right : REPLACEMENT_BYTES;
	}
	return repaired;
}
