/* An array of entries, and a map from pids to their places in it. */
#include "proc/process_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void process_names_clear(struct process_names *names)
{
	size_t i;

	for (i = 0; i < names->nr; i++)
		free(names->items[i].path);
	free(names->items);
	u64_map_clear(&names->by_pid);
	*names = (struct process_names){0};
}

const struct process_name *process_names_find(const struct process_names *names, int32_t pid)
{
	const uint64_t *found = u64_map_find(&names->by_pid, (uint32_t)pid);

	return found ? &names->items[*found] : NULL;
}

int process_names_add(struct process_names *names, const struct process_name *name,
		      const char *path)
{
	const uint64_t *found = u64_map_find(&names->by_pid, (uint32_t)name->pid);
	struct process_name item = *name;

	item.path = path ? strdup(path) : NULL;
	if (path && !item.path)
		return -ENOMEM;
	if (found) {
		free(names->items[*found].path);
		names->items[*found] = item;
		return 0;
	}
	if (u64_map_set(&names->by_pid, (uint32_t)item.pid, names->nr) < 0 ||
	    ARRAY_ADD(names->items, names->nr, names->capacity, item) < 0) {
		(void)u64_map_remove(&names->by_pid, (uint32_t)item.pid);
		free(item.path);
		return -ENOMEM;
	}
	return 0;
}

int process_names_join(struct process_names *names, const struct process_names *from)
{
	int err = 0;
	size_t i;

	for (i = 0; i < from->nr && !err; i++)
		err = process_names_add(names, &from->items[i], from->items[i].path);
	return err;
}
