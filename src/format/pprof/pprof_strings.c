/* See pprof_strings.h. */
#include "format/pprof/pprof_strings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/pprof/pprof_text.h"

int pprof_strings_init(struct pprof_strings *strings, const struct pprof_tables *tables,
		       struct profile *profile)
{
	*strings = (struct pprof_strings){.profile = profile, .tables = tables};
	strings->numbers = calloc(tables->nr_strings + 1, sizeof(*strings->numbers));
	return strings->numbers ? 0 : -ENOMEM;
}

void pprof_strings_clear(struct pprof_strings *strings)
{
	free(strings->numbers);
	*strings = (struct pprof_strings){0};
}

static int64_t add(struct pprof_strings *strings, const char *bytes, size_t nr)
{
	cleanup_free char *repaired = NULL;

	if (pprof_text_is_plain(bytes, nr))
		return profile_add_string_bytes(strings->profile, bytes, nr);
	repaired = pprof_text_repaired(bytes, nr);
	return repaired ? profile_add_string(strings->profile, repaired) : -ENOMEM;
}

int64_t pprof_strings_get(struct pprof_strings *strings, uint32_t number)
{
	struct bytes text = strings->tables->strings[number];
	int64_t added;

	if (strings->numbers[number])
		return strings->numbers[number] - 1;
	added = add(strings, (const char *)text.at, text.nr);
	if (added >= 0)
		strings->numbers[number] = (uint32_t)added + 1;
	return added;
}
