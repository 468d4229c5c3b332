/*
 * The units of a file are visited in order. A unit whose ranges contain some of the addresses is
 * searched for their inlined calls and their lines at once: so no index of units is kept, results
 * arrive early, and libdw reads the file sequentially. .debug_aranges is not used: clang doesn't
 * write it, so its absence proves nothing.
 *
 * Inlined calls are found in one pass over all entries of the unit, in which an address is assigned
 * to its function, then to the calls inlined there, and so on: its chain. Entries without code are
 * skipped. The whole unit is searched, although most of it are types and functions without any of
 * the addresses: compilers put functions with code below entries that have none (methods of local
 * classes, lambdas, in blocks of any depth). Only the children of an inlined call are skipped if
 * DW_AT_sibling allows it.
 *
 * A split unit's entries are in its .dwo file, its ranges and lines in the linked file. If the .dwo
 * is not found, the linked part is searched, where clang repeats inlined calls.
 *
 * Not supported: units without any ranges (all compilers write them for code), and .dwp files,
 * which libdw 0.188 does not know: their units count as split units without a .dwo.
 */
#include "elf/dwarf/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/dwarf/debug_entries.h"
#include "elf/image/elf_image.h"

#define FUNCTIONS_MAX (64u << 20) /* functions with addresses in one unit */

/* A function, or an inlined call of one, that contains one of the addresses. */
struct debug_function {
	Dwarf_Die entry;
	uint32_t caller;  /* number of the function it is inlined into; 0: none */
	const char *name; /* set on first use */
};

/* A function with code that encloses the current entry. */
struct open_function {
	unsigned depth;
	uint32_t number; /* 0: it contains none of the addresses */
};

struct debug_chains {
	struct debug_sections sections;
	const uint64_t *addresses; /* addresses in the unit, sorted */
	uint32_t *innermost;	   /* for each address, an index of functions; 0: none */
	size_t nr, cap_innermost;
	struct debug_function *functions; /* the first one is unused */
	size_t nr_functions, cap_functions;
	struct open_function *open;
	size_t cap_open;
};

/* A unit that contains some of the addresses. */
struct unit {
	Dwarf_Die linked;   /* has the line table */
	Dwarf_Die whole;    /* has the functions: the same, or in the .dwo */
	Dwarf_Files *files; /* of the line table; NULL: none, or not requested */
};

struct search {
	const struct debug_info_request *request;
	struct debug_info_work *work;
	uint8_t *is_reported; /* for each address */
	struct debug_chains chains;
	size_t *places; /* of the unit: the indices of its addresses, and the addresses */
	uint64_t *addresses;
	size_t nr, cap_places, cap_addresses;
	struct debug_line lines[DEBUG_LINES_MAX];
};

/* --- chains ---------------------------------------------------------------------------------- */

/*
 * The index of the first of these sorted addresses that is at or above start; nr if there is none.
 */
static size_t first_address(const uint64_t *addresses, size_t nr, uint64_t start)
{
	return array_nr_below(addresses, nr, sizeof(*addresses), 0, start);
}

/*
 * Assigns the addresses in the function's ranges to it, if they belong to its caller and to no
 * other call in the caller so far. True if there are any. Code at address 0 was discarded by the
 * linker.
 */
static bool take_addresses(struct debug_chains *chains, uint32_t number)
{
	struct debug_function *function = &chains->functions[number];
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	bool any = false;

	while ((next = dwarf_ranges(&function->entry, next, &base, &start, &end)) > 0) {
		size_t i = first_address(chains->addresses, chains->nr, start);

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
	if (chains->nr_functions >= FUNCTIONS_MAX)
		return -ENOMEM;
	return ARRAY_ADD(chains->functions, chains->nr_functions, chains->cap_functions, *function);
}

/*
 * Visits a function with code, nested in nr_open others. Returns 1 if it contains an address, 0, or
 * -ENOMEM.
 */
static int visit_function(struct debug_chains *chains, const struct debug_function *function,
			  unsigned depth, size_t nr_open)
{
	uint32_t number = (uint32_t)chains->nr_functions;
	bool any;

	if (ARRAY_RESERVE(chains->open, chains->cap_open, nr_open + 1) < 0)
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

/*
 * Reads the chains of these addresses, replacing the previous ones. Without `inlined`, only the
 * functions that calls are inlined into. unit is the first entry. 0, -ENOEXEC, -ENOMEM.
 */
static int read_chains(struct debug_chains *chains, Dwarf_Die *unit, const uint64_t *addresses,
		       size_t nr, bool inlined)
{
	static const struct debug_function unused;
	struct debug_entries entries;
	int err;

	chains->nr_functions = 0;
	chains->nr = 0;
	if (ARRAY_RESERVE(chains->innermost, chains->cap_innermost, nr) < 0 ||
	    add_function(chains, &unused) < 0)
		return -ENOMEM;
	chains->addresses = addresses;
	chains->nr = nr;
	memset(chains->innermost, 0, nr * sizeof(*chains->innermost));
	err = debug_entries_open(&entries, &chains->sections, unit);
	return err < 0 ? err : read_functions(chains, &entries, unit, inlined);
}

bool debug_info_exists(int fd)
{
	static const char *const names[] = {".debug_info", ".zdebug_info"};
	struct elf_image image;
	bool is_in = false;
	GElf_Shdr header;
	size_t i;

	if (elf_image_open(&image, fd, NULL) < 0)
		return false;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		is_in |= elf_section_find(&image, names[i], &header) == 0 &&
			 header.sh_type != SHT_NOBITS;
	elf_image_close(&image);
	return is_in;
}

/* --- one address ----------------------------------------------------------------------------- */

static const char *function_name(struct debug_function *function)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	Dwarf_Attribute attribute;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && !function->name; i++)
		function->name = dwarf_formstring(
			dwarf_attr_integrate(&function->entry, names[i], &attribute));
	return function->name;
}

/* Reads the location of an inlined call, which is the line in its caller. */
static void read_call(struct unit *unit, Dwarf_Die *entry, struct debug_line *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (dwarf_formudata(dwarf_attr(entry, DW_AT_call_file, &attribute), &number) == 0)
		ret->file = dwarf_filesrc(unit->files, number, NULL, NULL);
	if (dwarf_formudata(dwarf_attr(entry, DW_AT_call_line, &attribute), &number) == 0 &&
	    number <= UINT32_MAX)
		ret->line = (uint32_t)number;
}

static struct debug_line innermost_line(struct unit *unit, uint64_t address)
{
	Dwarf_Line *line = unit->files ? dwarf_getsrc_die(&unit->linked, address) : NULL;
	struct debug_line ret = {0};
	int number;

	if (line) {
		ret.file = dwarf_linesrc(line, NULL, NULL);
		if (dwarf_lineno(line, &number) == 0 && number > 0)
			ret.line = (uint32_t)number;
	}
	return ret;
}

/* Reports the functions at the unit's i-th address, if anything is known about it. */
static int report_address(struct search *search, struct unit *unit, size_t i)
{
	const struct debug_info_request *request = search->request;
	struct debug_line line = innermost_line(unit, search->addresses[i]);
	uint32_t number = search->chains.innermost[i];
	size_t nr = 0, first;

	if (!number && line.file)
		search->lines[nr++] = line;
	while (number) {
		struct debug_function *function = &search->chains.functions[number];

		line.function = function_name(function);
		nr -= nr == DEBUG_LINES_MAX;
		search->lines[nr++] = line;
		line = (struct debug_line){0};
		if (function->caller && unit->files)
			read_call(unit, &function->entry, &line);
		number = function->caller;
	}
	if (!nr)
		return 0;
	search->is_reported[search->places[i]] = 1;
	first = request->inlined ? 0 : nr - 1;
	return request->found(request->context, search->places[i], search->lines + first,
			      nr - first);
}

/* --- one unit -------------------------------------------------------------------------------- */

static int compare_places(const void *left, const void *right)
{
	const size_t *a = left, *b = right;

	return COMPARE(*a, *b);
}

/*
 * Finds the addresses within the unit's ranges, sorted (ranges may be unsorted) and without
 * duplicates. A range at address 0 was discarded by the linker.
 */
static int find_addresses(struct search *search, Dwarf_Die *unit)
{
	const struct debug_info_request *request = search->request;
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	size_t i, nr = 0;

	search->nr = 0;
	while ((next = dwarf_ranges(unit, next, &base, &start, &end)) > 0) {
		i = first_address(request->addresses, request->nr, start);
		for (; start && i < request->nr && request->addresses[i] < end; i++) {
			if (search->is_reported[i])
				continue;
			if (ARRAY_ADD(search->places, search->nr, search->cap_places, i) < 0)
				return -ENOMEM;
		}
	}
	if (!search->nr)
		return 0;
	if (ARRAY_RESERVE(search->addresses, search->cap_addresses, search->nr) < 0)
		return -ENOMEM;
	qsort(search->places, search->nr, sizeof(*search->places), compare_places);
	for (i = 0; i < search->nr; i++) {
		if (nr && search->places[nr - 1] == search->places[i])
			continue;
		search->places[nr] = search->places[i];
		search->addresses[nr++] = request->addresses[search->places[i]];
	}
	search->nr = nr;
	return 0;
}

static int search_unit(struct search *search, Dwarf_Die *linked)
{
	struct unit unit = {.linked = *linked};
	uint8_t type = 0;
	size_t i, nr_files;
	int err;

	search->work->nr_units_read++;
	if (dwarf_cu_info(linked->cu, NULL, &type, NULL, &unit.whole, NULL, NULL, NULL) < 0 ||
	    !unit.whole.addr) {
		search->work->nr_split_lost += type == DW_UT_skeleton;
		unit.whole = *linked;
	}
	if (search->request->lines && dwarf_getsrcfiles(&unit.linked, &unit.files, &nr_files) < 0)
		unit.files = NULL;
	/* Lines found in a broken unit are reported; other units may be valid. */
	err = read_chains(&search->chains, &unit.whole, search->addresses, search->nr,
			  search->request->inlined || search->request->lines);
	if (err == -ENOMEM)
		return err;
	for (i = 0, err = 0; i < search->chains.nr && err >= 0; i++)
		err = report_address(search, &unit, i);
	return err < 0 ? err : 0;
}

static int search_units(struct search *search, Dwarf *dwarf, struct error *error)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Half version;
	Dwarf_Die first;
	uint8_t type;
	int end, err;

	while ((end = dwarf_get_units(dwarf, unit, &unit, &version, &type, &first, NULL)) == 0) {
		search->work->nr_units++;
		if (!first.addr || type == DW_UT_type)
			continue;
		err = find_addresses(search, &first);
		if (err == 0 && search->nr)
			err = search_unit(search, &first);
		if (err == -ENOMEM)
			return error_no_memory(error, "for debug information");
		if (err < 0)
			return err;
	}
	if (end < 0 && !search->work->nr_units)
		return error_set(error, -ENOEXEC, "invalid debug information: %s",
				 dwarf_errmsg(-1));
	return 0;
}

/* --- the file -------------------------------------------------------------------------------- */

int debug_info_find(int fd, const struct debug_info_request *request, struct debug_info_work *ret,
		    struct error *error)
{
	cleanup_free uint8_t *is_reported = calloc(request->nr + 1, 1);
	cleanup_free struct search *search = calloc(1, sizeof(*search));
	struct debug_info_work work = {0};
	Dwarf *dwarf = NULL;
	Elf *elf = NULL;
	int err;

	if (!is_reported || !search)
		return error_no_memory(error, "for debug information");
	*search = (struct search){.request = request, .work = &work, .is_reported = is_reported};
	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		(void)elf_end(elf);
		return error_set(error, -ENOEXEC, "not an ELF file");
	}
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dwarf)
		err = search_units(search, dwarf, error);
	else
		err = error_set(error, -ENOENT, "no debug information: %s", dwarf_errmsg(-1));
	debug_sections_clear(&search->chains.sections);
	free(search->chains.innermost);
	free(search->chains.functions);
	free(search->chains.open);
	free(search->places);
	free(search->addresses);
	(void)dwarf_end(dwarf);
	(void)elf_end(elf);
	if (err == 0)
		*ret = work;
	return err;
}
