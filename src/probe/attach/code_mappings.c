/*
 * Mappings of code; see code_mappings.h. One for each file, from its first place to its last. They
 * need not be executable: the kernel puts breakpoints wherever a file may be executed from.
 */
#include "probe/attach/code_mappings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Where a file's places lie; none if the end is 0. */
struct extent {
	uint64_t start, end;
};

static void widen(struct extent *extent, uint64_t offset)
{
	if (!extent->end || offset < extent->start)
		extent->start = offset;
	if (offset >= extent->end)
		extent->end = offset + 1;
}

static struct code_mapping map(int fd, const struct extent *extent)
{
	uint64_t start = extent->start & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	struct code_mapping mapping = {.bytes = extent->end - start};

	mapping.memory = mmap(NULL, mapping.bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)start);
	if (mapping.memory == MAP_FAILED)
		mapping.memory = NULL;
	return mapping;
}

int code_mappings_init(struct code_mappings *mappings, const struct probe_list *list,
		       const uint32_t *numbers, size_t nr)
{
	cleanup_free struct extent *extents = calloc(list->nr_files + 1, sizeof(*extents));
	size_t i;

	*mappings = (struct code_mappings){0};
	mappings->files = calloc(list->nr_files + 1, sizeof(*mappings->files));
	if (!extents || !mappings->files)
		return -ENOMEM;
	mappings->nr = list->nr_files;
	for (i = 0; i < nr; i++) {
		const struct probe *probe = &list->probes[numbers[i]];

		if (probe_is_user(probe))
			widen(&extents[probe->file], probe->offset);
	}
	for (i = 0; i < list->nr_files; i++)
		if (extents[i].end)
			mappings->files[i] = map(list->files[i].fd, &extents[i]);
	return 0;
}

void code_mappings_clear(struct code_mappings *mappings)
{
	size_t i;

	for (i = 0; i < mappings->nr; i++)
		if (mappings->files[i].memory)
			(void)munmap(mappings->files[i].memory, mappings->files[i].bytes);
	free(mappings->files);
	*mappings = (struct code_mappings){0};
}
