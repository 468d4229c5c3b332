/* See tracepoints.h. Some thousands; of those that are chosen the number is asked for one by one. */
#include "probe/find/tracepoints.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proc/tracefs.h"

#define NAME_BYTES 512

int tracepoints_parse(struct tracepoints *tracepoints, char *list)
{
	char *line, *next, *colon;

	*tracepoints = (struct tracepoints){.text = list};
	for (line = list; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		colon = strchr(line, ':');
		if (!colon || colon == line || !colon[1])
			continue;
		*colon = '\0';
		if (array_reserve(&tracepoints->items, &tracepoints->capacity, tracepoints->nr + 1,
				  sizeof(*tracepoints->items)) < 0)
			return -ENOMEM;
		tracepoints->items[tracepoints->nr++] = (struct tracepoint){line, colon + 1, 0};
	}
	return 0;
}

static int compare_tracepoints(const void *left, const void *right)
{
	const struct tracepoint *a = left, *b = right;
	int order = strcmp(a->category, b->category);

	return order ? order : strcmp(a->name, b->name);
}

int tracepoints_read(struct tracepoints *tracepoints, int tracefs_fd, struct error *error)
{
	char *list = tracefs_read(tracefs_fd, "available_events", NULL);

	if (!list)
		return error_set_errno(error, "cannot read tracefs' available_events");
	if (tracepoints_parse(tracepoints, list) < 0)
		return error_set(error, -ENOMEM, "out of memory for tracepoints");
	if (tracepoints->nr)
		qsort(tracepoints->items, tracepoints->nr, sizeof(*tracepoints->items),
		      compare_tracepoints);
	return 0;
}

void tracepoints_clear(struct tracepoints *tracepoints)
{
	free(tracepoints->text);
	free(tracepoints->items);
	exclusions_clear(&tracepoints->exclusions);
	*tracepoints = (struct tracepoints){0};
}

static bool fits(const struct pattern *pattern, const struct tracepoint *tracepoint)
{
	return (!pattern->category || matcher_fits(pattern->category, tracepoint->category)) &&
	       (!pattern->name || matcher_fits(pattern->name, tracepoint->name));
}

size_t tracepoints_choose(struct tracepoints *tracepoints, const struct pattern *pattern)
{
	size_t i, nr = 0;

	for (i = 0; i < tracepoints->nr; i++) {
		if (!fits(pattern, &tracepoints->items[i]))
			continue;
		tracepoints->items[i].nr_chosen++;
		nr++;
	}
	return nr;
}

static bool is_left_out(const struct tracepoints *tracepoints, const struct tracepoint *tracepoint)
{
	const struct exclusions *exclusions = &tracepoints->exclusions;
	size_t i;

	for (i = 0; i < exclusions->nr; i++)
		if (exclusion_is_about(exclusions->patterns[i], PATTERN_TRACEPOINT, false) &&
		    fits(exclusions->patterns[i], tracepoint))
			return true;
	return false;
}

size_t tracepoints_settle(struct tracepoints *tracepoints)
{
	size_t i, nr = 0;

	for (i = 0; i < tracepoints->nr; i++) {
		struct tracepoint *tracepoint = &tracepoints->items[i];

		if (tracepoint->nr_chosen && is_left_out(tracepoints, tracepoint))
			tracepoint->nr_chosen = 0;
		nr += tracepoint->nr_chosen > 0;
	}
	return nr;
}

static int add(const struct tracepoint *tracepoint, int tracefs_fd, struct probe_list *list,
	       struct error *error)
{
	struct probe probe = {.kind = PROBE_TRACEPOINT};
	char name[NAME_BYTES], symbol[NAME_BYTES];
	int64_t id;

	(void)snprintf(name, sizeof(name), "%s:%s", tracepoint->category, tracepoint->name);
	(void)snprintf(symbol, sizeof(symbol), "%s/%s", tracepoint->category, tracepoint->name);
	id = tracefs_event_id(tracefs_fd, symbol);
	if (id == -ENOENT) /* ftrace's own have none; a module's can go meanwhile */
		return probe_list_refuse(list, name,
					 "it has no number, so nothing can be attached");
	if (id < 0)
		return error_set(error, (int)id, "cannot read the number of tracepoint '%s': %s",
				 name, strerror((int)-id));
	probe.tracepoint = (uint32_t)id;
	probe.name = name;
	probe.symbol = symbol;
	id = probe_list_add(list, &probe);
	return id < 0 ? error_set(error, (int)id, "out of memory for tracepoints") : 0;
}

int tracepoints_add(const struct tracepoints *tracepoints, int tracefs_fd, struct probe_list *list,
		    struct error *error)
{
	size_t i;
	int err = 0;

	for (i = 0; i < tracepoints->nr && !err; i++)
		if (tracepoints->items[i].nr_chosen)
			err = add(&tracepoints->items[i], tracefs_fd, list, error);
	return err;
}

void tracepoints_offer(const struct tracepoints *tracepoints, struct closest *closest)
{
	size_t i;

	for (i = 0; i < tracepoints->nr; i++)
		closest_offer(closest, tracepoints->items[i].name);
}
