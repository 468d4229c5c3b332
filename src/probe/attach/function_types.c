/*
 * Function types by name; see function_types.h.
 *
 * The kernel describes some 60,000 functions, in no order: each is looked up among ours. Parsing
 * costs ten milliseconds, the looking up three.
 */
#include "probe/attach/function_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/attach/symbol_index.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* Call and return of one function are no two functions. */
static bool are_different(const struct probe *a, const struct probe *b)
{
	return a->address != b->address || (!a->address && a->is_return == b->is_return);
}

/* Of probes of one name. */
static void set_type(const struct probe_list *list, const uint32_t *numbers, size_t nr,
		     uint32_t type, uint32_t *types)
{
	size_t i;

	for (i = 1; i < nr; i++)
		if (are_different(&list->probes[numbers[0]], &list->probes[numbers[i]]))
			type = FUNCTION_TYPE_AMBIGUOUS;
	for (i = 0; i < nr; i++)
		types[numbers[i]] = type;
}

static void find_types(const struct btf *btf, const struct symbol_index *index, uint32_t *types)
{
	uint32_t nr_types = btf__type_cnt(btf), type;

	for (type = 1; type < nr_types; type++) {
		const struct btf_type *entry = btf__type_by_id(btf, type);
		const uint32_t *numbers;
		const char *name;
		size_t nr;

		if (!btf_is_func(entry))
			continue;
		name = btf__name_by_offset(btf, entry->name_off);
		numbers = symbol_index_find(index, name, strlen(name), &nr);
		set_type(index->list, numbers, nr, type, types);
	}
}

static size_t choose_kernel(const struct probe_list *list, uint32_t *ret_numbers)
{
	size_t nr = 0, i;

	for (i = 0; i < list->nr_probes; i++)
		if (list->probes[i].kind == PROBE_KERNEL)
			ret_numbers[nr++] = (uint32_t)i;
	return nr;
}

int function_types_read(const struct probe_list *list, uint32_t **ret_types, struct error *error)
{
	cleanup_free uint32_t *types = calloc(list->nr_probes + 1, sizeof(*types));
	cleanup_free uint32_t *numbers = calloc(list->nr_probes + 1, sizeof(*numbers));
	cleanup(symbol_index_clear) struct symbol_index index = {0};
	struct btf *btf;

	if (!types || !numbers ||
	    symbol_index_init(&index, list, numbers, choose_kernel(list, numbers)) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	btf = btf__parse_raw(KERNEL_BTF);
	if (!btf)
		return error_set_errno(error, "cannot read the kernel's types from %s", KERNEL_BTF);
	find_types(btf, &index, types);
	btf__free(btf);
	*ret_types = take_pointer(&types);
	return 0;
}
