/* A handful of reasons, looked through one by one. */
#include "probe/find/refusals.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NAME_MAX_SHOWN 80 /* bytes, of each of many */
#define REASONS_MAX    64 /* those with an address in them differ; nobody reads more */

static struct refused *find_reason(struct refusals *refusals, const char *why)
{
	struct refused *reason;
	size_t i;

	for (i = 0; i < refusals->nr; i++)
		if (!strcmp(refusals->reasons[i].why, why))
			return &refusals->reasons[i];
	if (refusals->nr == REASONS_MAX)
		return &refusals->reasons[REASONS_MAX - 1];
	if (array_reserve(&refusals->reasons, &refusals->capacity, refusals->nr + 1,
			  sizeof(*refusals->reasons)) < 0)
		return NULL;
	reason = &refusals->reasons[refusals->nr];
	*reason = (struct refused){.why = strdup(why)};
	if (!reason->why)
		return NULL;
	refusals->nr++;
	return reason;
}

int refusals_add(struct refusals *refusals, const char *name, const char *why)
{
	struct refused *reason = find_reason(refusals, why);
	size_t i;

	if (!reason)
		return -ENOMEM;
	for (i = 0; i < reason->nr && i < REFUSALS_NAMED; i++)
		if (!strcmp(reason->names[i], name))
			return 0;
	if (reason->nr < REFUSALS_NAMED) {
		reason->names[reason->nr] = strdup(name);
		if (!reason->names[reason->nr])
			return -ENOMEM;
	}
	reason->nr++;
	return 0;
}

/* "a, b, c, d and 12 more" */
static int tell_many(const struct refused *reason, struct probe_list *list)
{
	char text[REFUSALS_NAMED * (NAME_MAX_SHOWN + sizeof("…, ")) + 64];
	size_t i, at = 0;

	for (i = 0; i < REFUSALS_NAMED; i++) {
		bool is_cut = strlen(reason->names[i]) > NAME_MAX_SHOWN;

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s%s", i ? ", " : "",
				       NAME_MAX_SHOWN, reason->names[i], is_cut ? "…" : "");
	}
	(void)snprintf(text + at, sizeof(text) - at, " and %zu more", reason->nr - REFUSALS_NAMED);
	return probe_list_refuse(list, text, reason->why);
}

int refusals_tell(const struct refusals *refusals, struct probe_list *list)
{
	size_t i, j;
	int err = 0;

	for (i = 0; i < refusals->nr && !err; i++) {
		const struct refused *reason = &refusals->reasons[i];

		if (reason->nr > REFUSALS_NAMED) {
			err = tell_many(reason, list);
			continue;
		}
		for (j = 0; j < reason->nr && !err; j++)
			err = probe_list_refuse(list, reason->names[j], reason->why);
	}
	return err;
}

void refusals_clear(struct refusals *refusals)
{
	size_t i, j;

	for (i = 0; i < refusals->nr; i++) {
		free(refusals->reasons[i].why);
		for (j = 0; j < REFUSALS_NAMED; j++)
			free(refusals->reasons[i].names[j]);
	}
	free(refusals->reasons);
	*refusals = (struct refusals){0};
}
