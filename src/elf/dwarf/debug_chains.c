/*
 * A pass over all entries of a unit, in which an address climbs from the function that has it to
 * the calls inlined there, and in those. Entries without code are passed without being read.
 *
 * The whole unit is looked through, although most of it are types and functions that have none of
 * the addresses: compilers put functions that have code below others that have none (methods of
 * local classes, lambdas, in whatever depth of blocks). Only what is below an inlined call is
 * passed where that is one step.
 */
#include "elf/dwarf/debug_chains.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* With addresses, in one unit. */
#define FUNCTIONS_MAX (64u << 20)

/* A function with code that the pass is inside of. */
struct open_function {
	unsigned depth;
	uint32_t number; /* 0: it has none of the addresses */
};

size_t debug_first_address(const uint64_t *addresses, size_t nr, uint64_t start)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Gives the function those addresses in its ranges that its caller has and no other call in the
 * caller has got. True if there are any. What starts at 0 was discarded by the linker.
 */
static bool take_addresses(struct debug_chains *chains, uint32_t number)
{
	struct debug_function *function = &chains->functions[number];
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	bool any = false;

	while ((next = dwarf_ranges(&function->entry, next, &base, &start, &end)) > 0) {
		size_t i = debug_first_address(chains->addresses, chains->nr, start);

		for (; start && i < chains->nr && chains->addresses[i] < end; i++)
			if (chains->innermost[i] == function->caller) {
				chains->innermost[i] = number;
				any = true;
			}
	}
	return any;
}

static int add_function(struct debug_chains *chains, const struct debug_function *function)
{
	if (chains->nr_functions >= FUNCTIONS_MAX ||
	    array_reserve(&chains->functions, &chains->cap_functions, chains->nr_functions + 1,
			  sizeof(*chains->functions)) < 0)
		return -ENOMEM;
	chains->functions[chains->nr_functions++] = *function;
	return 0;
}

/* Looks at a function with code below nr_open others; whether it has an address, or -ENOMEM. */
static int visit_function(struct debug_chains *chains, const struct debug_function *function,
			  unsigned depth, size_t nr_open)
{
	uint32_t number = (uint32_t)chains->nr_functions;
	bool any;

	if (array_reserve(&chains->open, &chains->cap_open, nr_open + 1, sizeof(*chains->open)) < 0)
		return -ENOMEM;
	if (add_function(chains, function) < 0)
		return -ENOMEM;
	any = take_addresses(chains, number);
	chains->nr_functions -= !any;
	chains->open[nr_open] = (struct open_function){depth, any ? number : 0};
	return any;
}

static int read_functions(struct debug_chains *chains, struct debug_entries *entries,
			  Dwarf_Die *unit, bool inlined)
{
	struct debug_function function = {0};
	size_t nr_open = 0;
	int any;

	while (debug_entries_next(entries)) {
		uint16_t tag = entries->abbreviation->tag;

		while (nr_open && chains->open[nr_open - 1].depth >= entries->at_depth)
			nr_open--;
		if (!entries->abbreviation->has_code ||
		    (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine))
			continue;
		function.entry = (Dwarf_Die){.addr = (void *)entries->at, .cu = unit->cu};
		function.caller = 0;
		if (tag == DW_TAG_inlined_subroutine) {
			function.caller = nr_open ? chains->open[nr_open - 1].number : 0;
			if (!inlined || !function.caller) {
				debug_entries_pass_children(entries, &function.entry);
				continue;
			}
		}
		any = visit_function(chains, &function, entries->at_depth, nr_open);
		if (any < 0)
			return any;
		nr_open++;
		if (!any && tag == DW_TAG_inlined_subroutine)
			debug_entries_pass_children(entries, &function.entry);
	}
	return 0;
}

int debug_chains_read(struct debug_chains *chains, Dwarf_Die *unit, const uint64_t *addresses,
		      size_t nr, bool inlined)
{
	static const struct debug_function unused;
	struct debug_entries entries;
	int err;

	chains->nr_functions = 0;
	chains->nr = 0;
	if (array_reserve(&chains->innermost, &chains->cap_innermost, nr,
			  sizeof(*chains->innermost)) < 0 ||
	    add_function(chains, &unused) < 0)
		return -ENOMEM;
	chains->addresses = addresses;
	chains->nr = nr;
	memset(chains->innermost, 0, nr * sizeof(*chains->innermost));
	err = debug_entries_open(&entries, &chains->sections, unit);
	return err < 0 ? err : read_functions(chains, &entries, unit, inlined);
}

void debug_chains_clear(struct debug_chains *chains)
{
	debug_sections_clear(&chains->sections);
	free(chains->innermost);
	free(chains->functions);
	free(chains->open);
	*chains = (struct debug_chains){0};
}
