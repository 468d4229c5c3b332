/* See group_likeness.h. Modules and strings are gone through once. */
#include "view/group_likeness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "view/named_stacks.h"

static const char *const no_names[] = {"[unknown]", "[deleted]"};

/* The same name, and the same name for functions that have none. */
static bool read_alike(const struct profile *profile, uint32_t a, uint32_t b)
{
	return !strcmp(profile_module_name(profile, a), profile_module_name(profile, b)) &&
	       !strcmp(named_stacks_no_name(profile, a), named_stacks_no_name(profile, b));
}

/* The first module that reads like this one: it is, or becomes, one of those indexed by name. */
static int find_first(const struct profile *profile, struct number_index *by_name, uint32_t module,
		      uint32_t *ret)
{
	const char *name = profile_module_name(profile, module);
	uint64_t hash = hash_key(name, strlen(name));
	size_t probe = 0;
	uint32_t known;

	while (number_index_next(by_name, hash, &probe, &known))
		if (read_alike(profile, known, module)) {
			*ret = known;
			return 0;
		}
	if (number_index_reserve(by_name) < 0)
		return -ENOMEM;
	number_index_add(by_name, hash, module);
	*ret = module;
	return 0;
}

static int map_modules(struct group_likeness *likeness)
{
	cleanup(number_index_clear) struct number_index by_name = {0};
	size_t nr = profile_nr_modules(likeness->profile);
	uint32_t i;

	likeness->modules = calloc(nr, sizeof(*likeness->modules));
	if (!likeness->modules)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (find_first(likeness->profile, &by_name, i, &likeness->modules[i]) < 0)
			return -ENOMEM;
	return 0;
}

static void find_no_names(struct group_likeness *likeness)
{
	uint32_t nr = profile_nr_strings(likeness->profile), i;
	size_t k;

	for (i = 1; i < nr; i++)
		for (k = 0; k < ARRAY_SIZE(no_names); k++)
			if (!strcmp(profile_string(likeness->profile, i), no_names[k]))
				likeness->no_names[k] = i;
}

int group_likeness_init(struct group_likeness *likeness, const struct profile *profile)
{
	*likeness = (struct group_likeness){.profile = profile};
	if (map_modules(likeness) < 0) {
		group_likeness_clear(likeness);
		return -ENOMEM;
	}
	find_no_names(likeness);
	return 0;
}

void group_likeness_clear(struct group_likeness *likeness)
{
	free(likeness->modules);
	*likeness = (struct group_likeness){0};
}

uint32_t group_likeness_function(const struct group_likeness *likeness, uint32_t function,
				 uint32_t module)
{
	size_t i;

	for (i = 0; function && i < ARRAY_SIZE(likeness->no_names); i++)
		if (function == likeness->no_names[i] &&
		    !strcmp(named_stacks_no_name(likeness->profile, module), no_names[i]))
			return 0;
	return function;
}
