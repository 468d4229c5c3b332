/*
 * Growable arrays, and the texts in blocks that never move: a probe can point into them. A large
 * binary has 100,000 names, so they are not allocated one by one.
 */
#include "probe/expression/probe_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

#define TEXT_BLOCK_BYTES (64u << 10)

struct text_block {
	struct text_block *next; /* the one that was filled before */
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
		(void)close(list->files[i].fd);
	for (block = list->texts; block; block = next) {
		next = block->next;
		free(block);
	}
	free(list->probes);
	free(list->files);
	free(list->refusals);
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

/* A text that may be missing. */
static int copy_text(struct probe_list *list, const char **text)
{
	if (!*text)
		return 0;
	*text = probe_list_text(list, *text);
	return *text ? 0 : -ENOMEM;
}

/* The number of the file that a descriptor is of, or -ENOENT. */
static int64_t find_file(const struct probe_list *list, const struct stat *wanted)
{
	struct stat st;
	size_t i;

	for (i = 0; i < list->nr_files; i++)
		if (fstat(list->files[i].fd, &st) == 0 && st.st_dev == wanted->st_dev &&
		    st.st_ino == wanted->st_ino)
			return (int64_t)i;
	return -ENOENT;
}

static int64_t add_new_file(struct probe_list *list, int fd, const char *path, uint64_t inode)
{
	const char *copy = probe_list_text(list, path);

	if (!copy || array_reserve(&list->files, &list->cap_files, list->nr_files + 1,
				   sizeof(*list->files)) < 0)
		return -ENOMEM;
	list->files[list->nr_files] = (struct probe_file){fd, copy, inode};
	return (int64_t)list->nr_files++;
}

int64_t probe_list_add_file(struct probe_list *list, int fd, const char *path)
{
	struct stat st;
	int64_t number;

	if (fstat(fd, &st) < 0) {
		number = -errno;
		(void)close(fd);
		return number;
	}
	number = find_file(list, &st);
	if (number == -ENOENT) {
		number = add_new_file(list, fd, path, st.st_ino);
		if (number >= 0)
			return number;
	}
	(void)close(fd);
	return number;
}

int64_t probe_list_add(struct probe_list *list, const struct probe *probe)
{
	struct probe copy = *probe;

	if (list->nr_probes >= UINT32_MAX || copy_text(list, &copy.name) < 0 ||
	    copy_text(list, &copy.symbol) < 0 || copy_text(list, &copy.detail) < 0 ||
	    copy_text(list, &copy.arguments) < 0 || copy_text(list, &copy.why_no_return) < 0 ||
	    array_reserve(&list->probes, &list->cap_probes, list->nr_probes + 1,
			  sizeof(*list->probes)) < 0)
		return -ENOMEM;
	list->probes[list->nr_probes] = copy;
	return (int64_t)list->nr_probes++;
}

int probe_list_refuse(struct probe_list *list, const char *name, const char *why)
{
	struct probe_refusal refusal = {name, why};

	if (copy_text(list, &refusal.name) < 0 || copy_text(list, &refusal.why) < 0 ||
	    array_reserve(&list->refusals, &list->cap_refusals, list->nr_refusals + 1,
			  sizeof(*list->refusals)) < 0)
		return -ENOMEM;
	list->refusals[list->nr_refusals++] = refusal;
	return 0;
}
