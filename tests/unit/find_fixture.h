/* Runs target_find() and shows the probes that it found. */
#ifndef STOOK_TESTS_UNIT_FIND_FIXTURE_H
#define STOOK_TESTS_UNIT_FIND_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "probe/find/find.h"
#include "unit/test.h"
#include "worker/worker.h"

#define FOUND_PATTERNS_MAX 8

struct found {
	const char *patterns[FOUND_PATTERNS_MAX];
	struct target_options options;
	struct probe_list list;
	struct error error;
	int err;
};

/* Returns the worker of all searches of this process. */
static inline struct worker *found_worker(void)
{
	static struct worker *worker;

	if (!worker)
		worker = worker_new(NULL);
	CHECK(worker);
	return worker;
}

/* Searches for up to three patterns; second and third may be NULL. Clears earlier results first. */
static inline void found_find(struct found *found, const char *first, const char *second,
			      const char *third)
{
	probe_list_clear(&found->list);
	memset(&found->error, 0, sizeof(found->error));
	found->patterns[0] = first;
	found->patterns[1] = second;
	found->patterns[2] = third;
	found->options.patterns = found->patterns;
	found->options.nr_patterns = second ? third ? 3 : 2 : 1;
	found->options.worker = found_worker();
	found->err = target_find(&found->options, &found->list, &found->error);
	CHECK(found->err == 0 || found->error.text[0]);
	CHECK_EQ(found->err < 0 ? found->err : 0, found->error.code);
}

/* Returns the probes' names in list order: "a|b r:c twin[x.c]". Valid until the next call. */
static inline const char *found_names(const struct found *found)
{
	static char text[4096];
	size_t i, at = 0;

	text[0] = '\0';
	for (i = 0; i < found->list.nr_probes && at < sizeof(text); i++) {
		const struct probe *probe = &found->list.probes[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s%s%s%s%s", i ? " " : "",
				       probe->is_return ? "r:" : "", probe->name,
				       probe->detail ? "[" : "", probe->detail ? probe->detail : "",
				       probe->detail ? "]" : "");
	}
	return text;
}

/* Returns the reason why a name was refused, "" if it was not. */
static inline const char *found_refusal(const struct found *found, const char *name)
{
	size_t i;

	for (i = 0; i < found->list.nr_refusals; i++)
		if (!strcmp(found->list.refusals[i].name, name))
			return found->list.refusals[i].why;
	return "";
}

#endif
