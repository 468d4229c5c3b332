/* See find_order.h. Nothing has a probe's number yet, so they can be moved. */
#include "probe/find/find_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Files before the kernel's functions before its tracepoints. */
static int rank_of(const struct probe *probe)
{
	return probe->kind == PROBE_USDT ? PROBE_USER : (int)probe->kind;
}

/* What is equal is one place; the details are those of kernel functions whose address is hidden. */
static int compare_probes(const void *left, const void *right)
{
	const struct probe *a = left, *b = right;
	int order = rank_of(a) - rank_of(b);

	if (!order)
		order = compare_numbers(a->file, b->file);
	if (!order)
		order = compare_numbers(a->address, b->address);
	if (!order)
		order = compare_numbers(a->offset, b->offset);
	if (!order)
		order = (int)a->kind - (int)b->kind;
	if (!order)
		order = (int)a->is_return - (int)b->is_return;
	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->detail ? a->detail : "", b->detail ? b->detail : "");
}

static void sort_probes(struct probe_list *list)
{
	size_t i, nr = 0;

	if (list->nr_probes)
		qsort(list->probes, list->nr_probes, sizeof(*list->probes), compare_probes);
	for (i = 0; i < list->nr_probes; i++)
		if (!nr || compare_probes(&list->probes[i], &list->probes[nr - 1]))
			list->probes[nr++] = list->probes[i];
	list->nr_probes = nr;
}

/* --- one name in several files --------------------------------------------------------------- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* As short as tells it from the others: its name, its path, or that and the inode (containers). */
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
		has_name_twin |= !strcmp(base_of(list->files[i].path), base_of(file->path));
	}
	if (!has_name_twin)
		return base_of(file->path);
	if (!has_path_twin)
		return file->path;
	if (asprintf(&text, "%s (inode %llu)", file->path, (unsigned long long)file->inode) < 0) {
		text = NULL;
		return NULL;
	}
	return probe_list_text(list, text);
}

static int compare_names(const void *left, const void *right)
{
	const struct probe *a = *(struct probe *const *)left, *b = *(struct probe *const *)right;
	int order = strcmp(a->name, b->name);

	return order ? order : compare_numbers(a->file, b->file);
}

static int add_file_name(struct probe_list *list, struct probe *probe, const char *name)
{
	cleanup_free char *text = NULL;

	if (!probe->detail) {
		probe->detail = name;
		return 0;
	}
	if (asprintf(&text, "%s:%s", name, probe->detail) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	probe->detail = probe_list_text(list, text);
	return probe->detail ? 0 : -ENOMEM;
}

/* Probes of one name: only if they are in different files. */
static int name_files(struct probe_list *list, struct probe **probes, size_t nr,
		      const char *const *names)
{
	size_t i;
	int err = 0;

	if (probes[0]->file == probes[nr - 1]->file)
		return 0;
	for (i = 0; i < nr && !err; i++)
		err = add_file_name(list, probes[i], names[probes[i]->file]);
	return err;
}

static int tell_files_apart(struct probe_list *list)
{
	cleanup_free struct probe **probes = calloc(list->nr_probes + 1, sizeof(struct probe *));
	cleanup_free const char **names = calloc(list->nr_files + 1, sizeof(*names));
	size_t i, end, nr = 0;
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
		err = name_files(list, &probes[i], end - i, names);
	}
	return err;
}

int find_order(struct probe_list *list)
{
	sort_probes(list);
	return list->nr_files > 1 ? tell_files_apart(list) : 0;
}
