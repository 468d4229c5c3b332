/*
 * A place nearly always has a single name, so nothing has to be sorted. Sorting groups probes with
 * the same name, and within these the ones with the same source. Nothing refers to a probe's number
 * before the list is in its final order, so probes can be moved.
 */
#include "probe/find/probe_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

/* --- the names of one place ------------------------------------------------------------------- */

#define MORE_BYTES sizeof("|and 1234567890 more")

int joined_names_add(struct joined_names *joined, const char *name, uint64_t offset)
{
	char *copy = offset ? text_printf("%s+0x%" PRIx64, name, offset) : strdup(name);

	if (copy && ARRAY_ADD(joined->names, joined->nr, joined->capacity, copy) == 0)
		return 0;
	free(copy);
	return -ENOMEM;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_names(struct joined_names *joined)
{
	size_t i, nr = 0;

	qsort(joined->names, joined->nr, sizeof(*joined->names), compare_texts);
	for (i = 0; i < joined->nr; i++) {
		if (nr && !strcmp(joined->names[i], joined->names[nr - 1]))
			free(joined->names[i]);
		else
			joined->names[nr++] = joined->names[i];
	}
	joined->nr = nr;
}

/* Joins the names up to the limit. If the first name alone exceeds the limit, it is truncated. */
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

/* --- probes with the same name ---------------------------------------------------------------- */

int twins_add(struct twins *twins, uint32_t number, uint64_t address, const char *source)
{
	return ARRAY_ADD(twins->items, twins->nr, twins->capacity,
			 (struct twin){number, address, source});
}

/* The call and the return of a function are no twins: they differ in is_return. */
static int compare_called(const struct probe *a, const struct probe *b)
{
	return strcmp(a->name, b->name) ?: COMPARE(a->is_return, b->is_return);
}

static int compare_twins(const void *left, const void *right, void *context)
{
	const struct probe *probes = context;
	const struct twin *a = left, *b = right;

	return compare_called(&probes[a->number], &probes[b->number])
		       ?: strcmp(a->source ? a->source : "", b->source ? b->source : "")
		       ?: COMPARE(a->address, b->address);
}

static int set_details(const struct twin *twins, size_t nr, struct probe_list *list,
		       const char *before)
{
	bool by_source = twins[0].source;
	char address[64];
	size_t i;

	for (i = 1; i < nr && by_source; i++)
		by_source = strcmp(twins[i].source, twins[i - 1].source) != 0;
	for (i = 0; i < nr; i++) {
		struct probe *probe = &list->probes[twins[i].number];

		(void)snprintf(address, sizeof(address), "%s0x%" PRIx64, before, twins[i].address);
		probe->detail = probe_list_text(list, by_source ? twins[i].source : address);
		if (!probe->detail)
			return -ENOMEM;
	}
	return 0;
}

int twins_distinguish(struct twins *twins, struct probe_list *list, const char *before)
{
	const struct probe *probes = list->probes;
	size_t i, end;
	int err = 0;

	if (twins->nr)
		qsort_r(twins->items, twins->nr, sizeof(*twins->items), compare_twins,
			list->probes);
	for (i = 0; i < twins->nr && !err; i = end) {
		for (end = i + 1;
		     end < twins->nr && !compare_called(&probes[twins->items[i].number],
							&probes[twins->items[end].number]);)
			end++;
		if (end - i > 1)
			err = set_details(&twins->items[i], end - i, list, before);
	}
	return err;
}

void twins_clear(struct twins *twins)
{
	free(twins->items);
	*twins = (struct twins){0};
}

/* --- order ------------------------------------------------------------------------------------ */

/* Order: files, kernel functions, tracepoints. */
static int rank_of(const struct probe *probe)
{
	return probe->kind == PROBE_USDT ? PROBE_USER : (int)probe->kind;
}

/*
 * Equal probes are the same place. Details are compared for kernel functions with hidden addresses.
 */
static int compare_probes(const void *left, const void *right)
{
	const struct probe *a = left, *b = right;

	return rank_of(a) - rank_of(b)
		       ?: COMPARE(a->file, b->file)
		       ?: COMPARE(a->address, b->address)
		       ?: COMPARE(a->offset, b->offset)
		       ?: COMPARE(a->kind, b->kind)
		       ?: COMPARE(a->is_return, b->is_return)
		       ?: strcmp(a->name, b->name)
		       ?: strcmp(a->detail ? a->detail : "", b->detail ? b->detail : "");
}

/* --- one name in several files --------------------------------------------------------------- */

/*
 * Returns the shortest unambiguous name of a file: its name, its path, or path and inode
 * (containers).
 */
static const char *call_file(struct probe_list *list, uint32_t number)
{
	const struct probe_file *file = &list->files[number];
	bool has_name_twin = false, has_path_twin = false;
	cleanup_free char *text = NULL;
	size_t i;

	for (i = 0; i < list->nr_files; i++) {
		if (i == number)
			continue;
		has_path_twin |= !strcmp(list->files[i].path, file->path);
		has_name_twin |=
			!strcmp(text_file_name(list->files[i].path), text_file_name(file->path));
	}
	if (!has_name_twin)
		return text_file_name(file->path);
	if (!has_path_twin)
		return file->path;
	text = text_printf("%s (inode %" PRIu64 ")", file->path, file->inode);
	return text ? probe_list_text(list, text) : NULL;
}

static int compare_names(const void *left, const void *right)
{
	const struct probe *a = *(struct probe *const *)left, *b = *(struct probe *const *)right;

	return strcmp(a->name, b->name) ?: COMPARE(a->file, b->file);
}

static int add_file_name(struct probe_list *list, struct probe *probe, const char *name)
{
	cleanup_free char *text = text_printf("%s:%s", name, probe->detail ? probe->detail : "");

	if (probe->detail)
		probe->detail = text ? probe_list_text(list, text) : NULL;
	else
		probe->detail = name;
	return probe->detail ? 0 : -ENOMEM;
}

static int tell_files_apart(struct probe_list *list)
{
	cleanup_free struct probe **probes = calloc(list->nr_probes + 1, sizeof(struct probe *));
	cleanup_free const char **names = calloc(list->nr_files + 1, sizeof(*names));
	size_t i, k, end, nr = 0;
	int err = 0;

	if (!probes || !names)
		return -ENOMEM;
	for (i = 0; i < list->nr_files; i++)
		if (!(names[i] = call_file(list, (uint32_t)i)))
			return -ENOMEM;
	for (i = 0; i < list->nr_probes; i++)
		if (rank_of(&list->probes[i]) == PROBE_USER)
			probes[nr++] = &list->probes[i];
	qsort(probes, nr, sizeof(struct probe *), compare_names);
	for (i = 0; i < nr && !err; i = end) {
		for (end = i + 1; end < nr && !strcmp(probes[i]->name, probes[end]->name);)
			end++;
		if (probes[i]->file == probes[end - 1]->file)
			continue;
		for (k = i; k < end && !err; k++)
			err = add_file_name(list, probes[k], names[probes[k]->file]);
	}
	return err;
}

int probe_names_order(struct probe_list *list)
{
	size_t i, nr = 0;

	if (list->nr_probes)
		qsort(list->probes, list->nr_probes, sizeof(*list->probes), compare_probes);
	for (i = 0; i < list->nr_probes; i++)
		if (!nr || compare_probes(&list->probes[i], &list->probes[nr - 1]))
			list->probes[nr++] = list->probes[i];
	list->nr_probes = nr;
	return list->nr_files > 1 ? tell_files_apart(list) : 0;
}

/* --- refusals --------------------------------------------------------------------------------- */

#define NAME_MAX_SHOWN 80 /* bytes of each name */
#define REASONS_MAX    64 /* reasons that contain an address all differ; more are of no use */

static struct refused *find_reason(struct refusals *refusals, const char *why)
{
	struct refused *reason;
	size_t i;

	for (i = 0; i < refusals->nr; i++)
		if (!strcmp(refusals->reasons[i].why, why))
			return &refusals->reasons[i];
	if (refusals->nr == REASONS_MAX)
		return &refusals->reasons[REASONS_MAX - 1];
	if (ARRAY_RESERVE(refusals->reasons, refusals->capacity, refusals->nr + 1) < 0)
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

int refusals_add_many(struct refusals *refusals, const char *const *names, size_t nr_names,
		      uint64_t nr, const char *why)
{
	size_t i;
	int err = 0;

	for (i = 0; i < nr_names && err == 0; i++)
		err = refusals_add(refusals, names[i], why);
	if (err == 0 && nr > nr_names)
		find_reason(refusals, why)->nr += nr - nr_names;
	return err;
}

/* "a, b, c, d and 12 more" */
static int tell_many(const struct refused *reason, struct probe_list *list)
{
	char text[REFUSALS_NAMED * (NAME_MAX_SHOWN + sizeof("…, ")) + 64];
	size_t i, at = 0;

	/* There are fewer if a parser has given one twice. */
	for (i = 0; i < REFUSALS_NAMED && reason->names[i]; i++) {
		bool is_cut = strlen(reason->names[i]) > NAME_MAX_SHOWN;

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s%s", i ? ", " : "",
				       NAME_MAX_SHOWN, reason->names[i], is_cut ? "…" : "");
	}
	(void)snprintf(text + at, sizeof(text) - at, " and %zu more", reason->nr - i);
	return probe_list_refuse(list, text, reason->why);
}

int refusals_list(const struct refusals *refusals, struct probe_list *list)
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
