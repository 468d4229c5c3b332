/* See joined_names.h. Nearly always there is one name, of which there is nothing to sort. */
#include "probe/find/joined_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MORE_BYTES sizeof("|and 1234567890 more")

int joined_names_add(struct joined_names *joined, const char *name, uint64_t offset)
{
	char *copy;

	if (array_reserve(&joined->names, &joined->capacity, joined->nr + 1,
			  sizeof(*joined->names)) < 0)
		return -ENOMEM;
	if (!offset)
		copy = strdup(name);
	else if (asprintf(&copy, "%s+0x%" PRIx64, name, offset) < 0)
		copy = NULL;
	if (!copy)
		return -ENOMEM;
	joined->names[joined->nr++] = copy;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_names(struct joined_names *joined)
{
	size_t i, nr = 0;

	qsort(joined->names, joined->nr, sizeof(*joined->names), compare_names);
	for (i = 0; i < joined->nr; i++) {
		if (nr && !strcmp(joined->names[i], joined->names[nr - 1]))
			free(joined->names[i]);
		else
			joined->names[nr++] = joined->names[i];
	}
	joined->nr = nr;
}

/* A first name that is too long by itself is cut. */
static void write_text(struct joined_names *joined)
{
	const size_t room = sizeof(joined->text) - MORE_BYTES;
	size_t i, at = 0;

	for (i = 0; i < joined->nr; i++) {
		if (at && at + strlen(joined->names[i]) + 1 >= room)
			break;
		(void)snprintf(joined->text + at, room - at, "%s%s", at ? "|" : "",
			       joined->names[i]);
		at = strlen(joined->text);
	}
	if (i < joined->nr)
		(void)snprintf(joined->text + at, sizeof(joined->text) - at, "|and %zu more",
			       joined->nr - i);
}

const char *joined_names_take(struct joined_names *joined)
{
	joined->text[0] = '\0';
	if (joined->nr > 1)
		sort_names(joined);
	write_text(joined);
	while (joined->nr)
		free(joined->names[--joined->nr]);
	return joined->text;
}

void joined_names_clear(struct joined_names *joined)
{
	while (joined->nr)
		free(joined->names[--joined->nr]);
	free(joined->names);
	*joined = (struct joined_names){0};
}
