/*
 * All entries of all units are gone through, and functions asked for their names. Each one with
 * code of its own ends the search: then there is something to probe. Calls inlined somewhere take
 * their names from what they are copies of.
 *
 * Left out on purpose: names that dwz put into a file of its own, .dwp files.
 */
#include "elf/dwarf/inlined_functions.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "elf/dwarf/debug_entries.h"

#define ENTRIES_PER_LOOK 4096 /* at the clock */

struct search {
	const char *name;
	uint64_t deadline_ns;
	uint64_t nr_entries;
	struct debug_sections sections;
	bool is_inlined, has_code;
};

static bool is_named(Dwarf_Die *entry, const char *wanted)
{
	static const unsigned names[] = {DW_AT_name, DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		Dwarf_Attribute attribute;
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(entry, names[i], &attribute));

		if (name && !strcmp(name, wanted))
			return true;
	}
	return false;
}

/* Whether there is code left. What starts at 0 was discarded by the linker. */
static bool is_kept(Dwarf_Die *entry)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;

	while ((next = dwarf_ranges(entry, next, &base, &start, &end)) > 0)
		if (start && start < end)
			return true;
	return false;
}

static void look_at(struct search *search, uint16_t tag, Dwarf_Die *entry)
{
	if (tag == DW_TAG_inlined_subroutine && search->is_inlined)
		return;
	if (!is_named(entry, search->name) || !is_kept(entry))
		return;
	if (tag == DW_TAG_subprogram)
		search->has_code = true;
	else
		search->is_inlined = true;
}

static bool is_late(struct search *search)
{
	return search->nr_entries++ % ENTRIES_PER_LOOK == 0 &&
	       clock_now_ns() >= search->deadline_ns;
}

static int search_unit(struct search *search, Dwarf_Die *unit)
{
	struct debug_entries entries;
	int err;

	if (is_late(search)) /* units may be many, and empty */
		return -ETIME;
	err = debug_entries_open(&entries, &search->sections, unit);
	if (err < 0)
		return err;
	while (!search->has_code && debug_entries_next(&entries)) {
		uint16_t tag = entries.abbreviation->tag;
		Dwarf_Die entry = {.addr = (void *)entries.at, .cu = unit->cu};

		if (is_late(search))
			return -ETIME;
		if (entries.abbreviation->has_code &&
		    (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine))
			look_at(search, tag, &entry);
	}
	return 0;
}

/* A broken unit is passed over; the others may be sound. */
static int search_units(struct search *search, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die first, split;
	Dwarf_Half version;
	uint8_t type;
	int err = 0;

	while (!search->has_code && err != -ENOMEM && err != -ETIME &&
	       dwarf_get_units(dwarf, unit, &unit, &version, &type, &first, &split) == 0) {
		if (type == DW_UT_skeleton && split.addr)
			first = split;
		if (first.addr && type != DW_UT_type)
			err = search_unit(search, &first);
	}
	return err == -ENOMEM || err == -ETIME ? err : 0;
}

int inlined_functions_has(int fd, const char *name, uint64_t deadline_ns, struct error *error)
{
	struct search search = {.name = name, .deadline_ns = deadline_ns};
	Dwarf *dwarf;
	int err;

	(void)elf_version(EV_CURRENT);
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	if (!dwarf)
		return error_set(error, -ENOENT, "no debug information: %s", dwarf_errmsg(-1));
	err = search_units(&search, dwarf);
	debug_sections_clear(&search.sections);
	(void)dwarf_end(dwarf);
	if (err == -ETIME)
		return error_set(error, err, "reading the debug information takes too long");
	if (err < 0)
		return error_set(error, err, "out of memory for debug information");
	return search.is_inlined && !search.has_code;
}
