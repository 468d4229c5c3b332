/* Records that wait; see deferred.h. */
#include "collect/unwind/deferred.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int deferred_list_add(struct deferred_list *list, const struct wire_record *record, size_t bytes,
		      const struct mappings *mappings)
{
	struct wire_record *copy;

	if (list->bytes + bytes > DEFERRED_MAX_BYTES)
		return -ENOSPC;
	if (array_reserve(&list->items, &list->capacity, list->nr + 1, sizeof(*list->items)) < 0)
		return -ENOMEM;
	copy = malloc(bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, record, bytes);
	list->items[list->nr++] =
		(struct deferred){copy, mappings_ref((struct mappings *)mappings)};
	list->bytes += bytes;
	return 0;
}

static void release(struct deferred_list *list, struct deferred *item)
{
	list->bytes -= wire_record_bytes(item->record);
	mappings_unref(item->mappings);
	free(item->record);
}

int deferred_list_retry(struct deferred_list *list,
			int (*take)(void *context, const struct wire_record *record,
				    const struct mappings *mappings),
			void *context)
{
	size_t kept = 0, i;
	int err = 0;

	for (i = 0; i < list->nr; i++) {
		struct deferred *item = &list->items[i];
		int taken = err ? err : take(context, item->record, item->mappings);

		if (taken == 0) {
			release(list, item);
			continue;
		}
		if (taken != -EAGAIN)
			err = taken;
		list->items[kept++] = *item;
	}
	list->nr = kept;
	return err;
}

void deferred_list_clear(struct deferred_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		release(list, &list->items[i]);
	free(list->items);
	*list = (struct deferred_list){0};
}
