/*
 * The functions that ftrace knows; see traceable.h. The kernel takes some 30 ms to write them down,
 * so they are read only when something was refused.
 *
 * Of several names that a function has the list holds one, so what is not found by name is looked up
 * by address, where there are addresses (Linux 6.5). These are of the place that ftrace patches:
 * some bytes into the function, behind a landing pad.
 */
#include "probe/attach/traceable.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/attach/symbol_index.h"
#include "proc/tracefs.h"

#define PATCHED_WITHIN 8 /* bytes: endbr64 on x86; bti and a mov on arm64 */

/* Lines are "name" or "name [module]". */
static void mark_listed(const char *listed, const struct symbol_index *index, bool *is_listed)
{
	const uint32_t *numbers;
	size_t nr, i;

	for (; *listed; listed += strcspn(listed, "\n"), listed += *listed == '\n') {
		numbers = symbol_index_find(index, listed, strcspn(listed, " \t\n"), &nr);
		for (i = 0; i < nr; i++)
			is_listed[numbers[i]] = true;
	}
}

static int by_address(const void *a, const void *b, void *context)
{
	const struct probe_list *list = context;
	uint64_t left = list->probes[*(const uint32_t *)a].address;
	uint64_t right = list->probes[*(const uint32_t *)b].address;

	return left < right ? -1 : left > right;
}

/* How many of the sorted numbers are of functions that begin at an address or before. */
static size_t nr_up_to(const struct probe_list *list, const uint32_t *sorted, size_t nr,
		       uint64_t address)
{
	size_t low = 0, middle;

	while (low < nr) {
		middle = low + (nr - low) / 2;
		if (list->probes[sorted[middle]].address <= address)
			low = middle + 1;
		else
			nr = middle;
	}
	return low;
}

/* Lines are "ffffffff81000010 name" or "ffffffff81000010 name [module]". */
static int mark_addresses(const char *listed, const struct probe_list *list,
			  const uint32_t *numbers, size_t nr, bool *is_listed)
{
	cleanup_free uint32_t *sorted = calloc(nr + 1, sizeof(*sorted));
	uint64_t place;
	size_t i;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, numbers, nr * sizeof(*sorted));
	qsort_r(sorted, nr, sizeof(*sorted), by_address, (void *)list);
	for (; *listed; listed += strcspn(listed, "\n"), listed += *listed == '\n') {
		place = strtoull(listed, NULL, 16);
		for (i = nr_up_to(list, sorted, nr, place); i > 0; i--) {
			if (list->probes[sorted[i - 1]].address + PATCHED_WITHIN < place)
				break;
			is_listed[sorted[i - 1]] = true;
		}
	}
	return 0;
}

static int mark(const struct probe_list *list, const uint32_t *numbers, size_t nr,
		const char *names, const char *addresses, bool *is_listed)
{
	cleanup(symbol_index_clear) struct symbol_index index = {0};

	if (symbol_index_init(&index, list, numbers, nr) < 0)
		return -ENOMEM;
	mark_listed(names, &index, is_listed);
	return addresses ? mark_addresses(addresses, list, numbers, nr, is_listed) : 0;
}

int64_t traceable_choose(const struct probe_list *list, const uint32_t *numbers, size_t nr,
			 uint32_t *ret_numbers)
{
	cleanup_free bool *is_listed = calloc(list->nr_probes + 1, sizeof(*is_listed));
	cleanup_free char *names = NULL, *addresses = NULL;
	cleanup_fd int tracefs_fd = tracefs_open(NULL);
	int64_t nr_chosen = 0;
	size_t i;

	if (tracefs_fd >= 0) {
		names = tracefs_read(tracefs_fd, "available_filter_functions", NULL);
		addresses = tracefs_read(tracefs_fd, "available_filter_functions_addrs", NULL);
	}
	if (!is_listed || (names && mark(list, numbers, nr, names, addresses, is_listed) < 0))
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (!names || is_listed[numbers[i]])
			ret_numbers[nr_chosen++] = numbers[i];
	return nr_chosen;
}
