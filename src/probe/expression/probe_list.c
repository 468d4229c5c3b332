/*
 * Growable arrays. Texts are kept in blocks that never move, so that probes can point into them;
 * they are not allocated one by one, because a large binary has 100,000 names. To make pairs the
 * list must be sorted by place: the call and the return of a function are then neighbours.
 */
#include "probe/expression/probe_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

#define TEXT_BLOCK_BYTES (64u << 10)

struct text_block {
	struct text_block *next; /* the previously filled block */
	size_t nr, capacity;
	char bytes[];
};

void probe_list_init(struct probe_list *list)
{
	*list = (struct probe_list){0};
}

void probe_list_clear(struct probe_list *list)
{
	struct text_block *block, *next;
	size_t i;

	for (i = 0; i < list->nr_files; i++)
		(void)close(list->files[i].handle);
	for (block = list->texts; block; block = next) {
		next = block->next;
		free(block);
	}
	for (i = 0; i < list->nr_probes; i++)
		free(list->probes[i].filter);
	free(list->probes);
	free(list->files);
	free(list->refusals);
	free(list->notes);
	probe_list_init(list);
}

static int add_block(struct probe_list *list, size_t nr)
{
	size_t capacity = nr > TEXT_BLOCK_BYTES ? nr : TEXT_BLOCK_BYTES;
	struct text_block *block = malloc(sizeof(*block) + capacity);

	if (!block)
		return -ENOMEM;
	block->next = list->texts;
	block->nr = 0;
	block->capacity = capacity;
	list->texts = block;
	return 0;
}

const char *probe_list_text(struct probe_list *list, const char *text)
{
	size_t nr = strlen(text) + 1;
	char *copy;

	if ((!list->texts || list->texts->capacity - list->texts->nr < nr) &&
	    add_block(list, nr) < 0)
		return NULL;
	copy = memcpy(list->texts->bytes + list->texts->nr, text, nr);
	list->texts->nr += nr;
	return copy;
}

/* Replaces *text, which may be NULL, by a copy. */
static int copy_text(struct probe_list *list, const char **text)
{
	if (!*text)
		return 0;
	*text = probe_list_text(list, *text);
	return *text ? 0 : -ENOMEM;
}

/* Returns the number of the file with this device and inode, or -ENOENT. */
static int64_t find_file(const struct probe_list *list, const struct probe_file *wanted)
{
	size_t i;

	for (i = 0; i < list->nr_files; i++)
		if (list->files[i].device == wanted->device &&
		    list->files[i].inode == wanted->inode)
			return (int64_t)i;
	return -ENOENT;
}

int64_t probe_list_add_file(struct probe_list *list, const struct probe_file *file)
{
	cleanup_fd int own = file->handle;
	int64_t number = find_file(list, file);
	struct probe_file copy = *file;

	if (number >= 0)
		return number;
	copy.path = probe_list_text(list, file->path);
	if (!copy.path || ARRAY_ADD(list->files, list->nr_files, list->cap_files, copy) < 0)
		return -ENOMEM;
	(void)take_fd(&own);
	return (int64_t)list->nr_files - 1;
}

int64_t probe_list_add(struct probe_list *list, const struct probe *probe)
{
	struct probe copy = *probe;

	if (list->nr_probes >= UINT32_MAX || copy_text(list, &copy.name) < 0 ||
	    copy_text(list, &copy.symbol) < 0 || copy_text(list, &copy.detail) < 0 ||
	    copy_text(list, &copy.arguments) < 0 || copy_text(list, &copy.why_no_return) < 0 ||
	    ARRAY_ADD(list->probes, list->nr_probes, list->cap_probes, copy) < 0)
		return -ENOMEM;
	return (int64_t)list->nr_probes - 1;
}

int probe_list_refuse(struct probe_list *list, const char *name, const char *why)
{
	struct probe_refusal refusal = {name, why};

	if (copy_text(list, &refusal.name) < 0 || copy_text(list, &refusal.why) < 0)
		return -ENOMEM;
	return ARRAY_ADD(list->refusals, list->nr_refusals, list->cap_refusals, refusal);
}

int probe_list_note(struct probe_list *list, const char *note)
{
	const char *copy;
	size_t i;

	for (i = 0; i < list->nr_notes; i++)
		if (!strcmp(list->notes[i], note))
			return 0;
	copy = probe_list_text(list, note);
	return copy ? ARRAY_ADD(list->notes, list->nr_notes, list->cap_notes, copy) : -ENOMEM;
}

/* --- pairs ------------------------------------------------------------------------------------ */

/*
 * Returns 0 if a return probe on the probe's function is possible and does not endanger its
 * program.
 */
static int check_return(const struct probe *probe, const struct probe_pairs_options *options,
			struct error *error)
{
	if (probe->kind == PROBE_TRACEPOINT || probe->kind == PROBE_USDT) {
		(void)error_set(error, -EINVAL, "'%s' is not a function: it does not return",
				probe->name);
		error_hint(error, "retval and latency need functions");
		return -EINVAL;
	}
	if (options->force_returns)
		return 0;
	if (probe->is_go) {
		(void)error_set(error, -EINVAL,
				"'%s' is in a Go program, which a return probe would crash",
				probe->name);
		error_hint(error, "Go moves its stacks; --force probes it anyway");
		return -EINVAL;
	}
	if (probe->unwinds) {
		(void)error_set(error, -EINVAL,
				"with a return probe on '%s', an exception or panic that passes "
				"through it would end the program",
				probe->name);
		error_hint(error, "if there are none, --force probes it anyway");
		return -EINVAL;
	}
	return 0;
}

static bool is_same_place(const struct probe *a, const struct probe *b)
{
	if (a->kind != b->kind || a->file != b->file || a->offset != b->offset)
		return false;
	return a->kind == PROBE_USER || !strcmp(a->symbol, b->symbol);
}

/* Returns the number of the probe's counterpart (call or return) among the first nr; nr: none. */
static size_t find_twin(const struct probe_list *list, size_t number, size_t nr)
{
	const struct probe *probe = &list->probes[number];
	size_t first = number ? number - 1 : 0, i;

	for (i = first; i < nr && i <= number + 1; i++)
		if (list->probes[i].is_return != probe->is_return &&
		    is_same_place(&list->probes[i], probe))
			return i;
	return nr;
}

/* Appends missing counterparts. A pair is identified by the number of its call. */
static int add_twins(struct probe_list *list, size_t nr, uint32_t *functions)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		size_t twin = find_twin(list, i, nr);
		struct probe copy = list->probes[i];
		int64_t added;

		if (twin < nr) {
			functions[i] = (uint32_t)(copy.is_return ? twin : i);
			continue;
		}
		copy.is_return = !copy.is_return;
		added = probe_list_add(list, &copy);
		if (added < 0)
			return (int)added;
		functions[i] = (uint32_t)(copy.is_return ? i : (size_t)added);
		functions[added] = functions[i];
	}
	return 0;
}

/*
 * True if an operand that is known only at calls, or only at returns, would be missing without
 * pairs.
 */
static bool need_pairs(const struct probe_list *list, const struct probe_pairs_options *options)
{
	size_t nr = 0, i;

	for (i = 0; i < list->nr_probes; i++)
		nr += list->probes[i].is_return;
	if (options->paired || (options->calls && options->returns))
		return true;
	return options->calls ? nr > 0 : options->returns && nr && nr < list->nr_probes;
}

/* Refuses the few functions whose return cannot be probed at all, and keeps the others. */
static int leave_out_no_returns(struct probe_list *list, struct error *error)
{
	size_t i, kept = 0;

	for (i = 0; i < list->nr_probes; i++) {
		const struct probe *probe = &list->probes[i];

		if (!probe->why_no_return)
			list->probes[kept++] = *probe;
		else if (probe_list_refuse(list, probe->name, probe->why_no_return) < 0)
			return error_no_memory(error, "");
	}
	if (!kept && list->nr_probes)
		return error_set(error, -EINVAL, "cannot probe the return of '%s': %s",
				 list->probes[0].name, list->probes[0].why_no_return);
	list->nr_probes = kept;
	return 0;
}

int probe_pairs_make(struct probe_list *list, const struct probe_pairs_options *options,
		     struct probe_pairs *ret, struct error *error)
{
	cleanup_free uint32_t *functions = calloc(2 * list->nr_probes + 1, sizeof(*functions));
	bool pairs = need_pairs(list, options);
	size_t nr, i;
	int err = 0;

	if (!functions)
		return error_no_memory(error, "");
	if (pairs || options->returns)
		err = leave_out_no_returns(list, error);
	for (i = 0; i < list->nr_probes && !err && (pairs || options->returns); i++)
		err = check_return(&list->probes[i], options, error);
	if (err)
		return err;
	nr = list->nr_probes;
	for (i = 0; i < nr; i++)
		functions[i] = (uint32_t)i;
	for (i = 0; i < nr && options->returns && !pairs; i++)
		list->probes[i].is_return = true;
	if (pairs && add_twins(list, nr, functions) < 0)
		return error_no_memory(error, "");
	*ret = (struct probe_pairs){pairs, take_pointer(&functions)};
	return 0;
}

void probe_pairs_clear(struct probe_pairs *pairs)
{
	free(pairs->functions);
	*pairs = (struct probe_pairs){0};
}
