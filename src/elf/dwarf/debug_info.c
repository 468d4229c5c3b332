/*
 * The units of a file are gone through in order. One whose ranges hold some of the addresses is
 * searched for their inlined calls (elf/dwarf/debug_chains), and asked for their lines, at once: so no
 * index of units is kept, answers come early, and libdw's reading goes forward in the file.
 * .debug_aranges is not used: clang writes none, so that it can't tell that there is no more.
 *
 * A split unit's entries are in its .dwo file, its ranges and lines in what the linker kept. If
 * the .dwo is not to be found the linked part is searched, where clang repeats inlined calls.
 *
 * Left out on purpose: units without any ranges (nothing that makes code leaves them out), .dwp
 * files, which libdw 0.188 does not know: they count as split units that are lost.
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
#include "elf/dwarf/debug_chains.h"
#include "elf/image/elf_image.h"

/* A unit with addresses. */
struct unit {
	Dwarf_Die linked;   /* what has the line table */
	Dwarf_Die whole;    /* what has the functions: the same, or in the .dwo */
	Dwarf_Files *files; /* of the line table; NULL: none, or not asked for */
};

struct search {
	const struct debug_info_request *request;
	struct debug_info_work *work;
	uint8_t *is_told; /* for each address */
	struct debug_chains chains;
	size_t *places; /* of the unit: numbers of its addresses, and those themselves */
	uint64_t *addresses;
	size_t nr, cap_places, cap_addresses;
	struct debug_line lines[DEBUG_LINES_MAX];
};

bool debug_info_is_in(int fd)
{
	struct elf_image image;
	Elf_Scn *section = NULL;
	bool is_in = false;
	GElf_Shdr header;
	size_t names;

	if (elf_image_open(&image, fd, NULL) < 0)
		return false;
	if (elf_getshdrstrndx(image.elf, &names) == 0)
		while (!is_in && (section = elf_nextscn(image.elf, section))) {
			const char *name = NULL;

			if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS)
				name = elf_strptr(image.elf, names, header.sh_name);
			is_in = name &&
				(!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"));
		}
	elf_image_close(&image);
	return is_in;
}

/* --- one address --------------------------------------------------------------------------- */

static const char *text_of(Dwarf_Die *entry, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(entry, name, &attribute));
}

static const char *function_name(struct debug_function *function)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && !function->name; i++)
		function->name = text_of(&function->entry, names[i]);
	return function->name;
}

/* Where the function is called from, for its caller's line. */
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

/* Fills search->lines; how many they are. */
static size_t read_lines(struct search *search, struct unit *unit, size_t i)
{
	struct debug_line line = innermost_line(unit, search->addresses[i]);
	uint32_t number = search->chains.innermost[i];
	size_t nr = 0;

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
	return nr;
}

static int tell(struct search *search, struct unit *unit, size_t i)
{
	const struct debug_info_request *request = search->request;
	size_t nr = read_lines(search, unit, i), first = 0;

	if (!nr)
		return 0;
	if (!request->inlined)
		first = nr - 1;
	search->is_told[search->places[i]] = 1;
	return request->found(request->context, search->places[i], search->lines + first,
			      nr - first);
}

/* --- one unit ------------------------------------------------------------------------------ */

static int add_place(struct search *search, size_t place)
{
	if (array_reserve(&search->places, &search->cap_places, search->nr + 1,
			  sizeof(*search->places)) < 0)
		return -ENOMEM;
	search->places[search->nr++] = place;
	return 0;
}

static int compare_places(const void *left, const void *right)
{
	const size_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Sorts them, in case that the ranges are not, and takes each once. */
static int take_places(struct search *search)
{
	size_t i, nr = 0;

	if (array_reserve(&search->addresses, &search->cap_addresses, search->nr,
			  sizeof(*search->addresses)) < 0)
		return -ENOMEM;
	qsort(search->places, search->nr, sizeof(*search->places), compare_places);
	for (i = 0; i < search->nr; i++) {
		if (nr && search->places[nr - 1] == search->places[i])
			continue;
		search->places[nr] = search->places[i];
		search->addresses[nr++] = search->request->addresses[search->places[i]];
	}
	search->nr = nr;
	return 0;
}

/* Finds the addresses within the unit's ranges. What starts at 0 was discarded by the linker. */
static int find_addresses(struct search *search, Dwarf_Die *unit)
{
	const struct debug_info_request *request = search->request;
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;

	search->nr = 0;
	while ((next = dwarf_ranges(unit, next, &base, &start, &end)) > 0) {
		size_t i = debug_first_address(request->addresses, request->nr, start);

		for (; start && i < request->nr && request->addresses[i] < end; i++)
			if (!search->is_told[i] && add_place(search, i) < 0)
				return -ENOMEM;
	}
	return search->nr ? take_places(search) : 0;
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
	/* Of a broken unit what was found is told; the others may be sound. */
	err = debug_chains_read(&search->chains, &unit.whole, search->addresses, search->nr,
				search->request->inlined || search->request->lines);
	if (err == -ENOMEM)
		return err;
	for (i = 0, err = 0; i < search->chains.nr && err >= 0; i++)
		err = tell(search, &unit, i);
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
			return error_set(error, err, "out of memory for debug information");
		if (err < 0)
			return err;
	}
	if (end < 0 && !search->work->nr_units)
		return error_set(error, -ENOEXEC, "no sound debug information: %s",
				 dwarf_errmsg(-1));
	return 0;
}

/* --- the file ------------------------------------------------------------------------------ */

/*
 * libdw finds the file that dwz made relative to where /proc/self/fd says that this one lies. In
 * another root there is no such /proc.
 */
static Dwarf *open_alternate(Dwarf *dwarf, const char *folder, int *ret_fd)
{
	char path[PATH_MAX];
	const char *name;
	const void *id;

	if (!folder || dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) <= 0 || name[0] == '/' ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return NULL;
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? NULL : dwarf_begin(*ret_fd, DWARF_C_READ);
}

static int search_file(Dwarf *dwarf, const struct debug_info_request *request,
		       struct debug_info_work *work, struct error *error)
{
	cleanup_free uint8_t *is_told = calloc(request->nr + 1, 1);
	cleanup_free struct search *search = calloc(1, sizeof(*search));
	cleanup_fd int alternate_fd = -1;
	Dwarf *alternate;
	int err;

	if (!is_told || !search)
		return error_set(error, -ENOMEM, "out of memory for debug information");
	*search = (struct search){.request = request, .work = work, .is_told = is_told};
	alternate = open_alternate(dwarf, request->folder, &alternate_fd);
	if (alternate)
		dwarf_setalt(dwarf, alternate);
	err = search_units(search, dwarf, error);
	debug_chains_clear(&search->chains);
	free(search->places);
	free(search->addresses);
	if (alternate)
		dwarf_setalt(dwarf, NULL);
	(void)dwarf_end(alternate);
	return err;
}

int debug_info_find(int fd, const struct debug_info_request *request, struct debug_info_work *ret,
		    struct error *error)
{
	struct debug_info_work work = {0};
	Dwarf *dwarf;
	Elf *elf;
	int err;

	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		(void)elf_end(elf);
		return error_set(error, -ENOEXEC, "no ELF file");
	}
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dwarf)
		err = search_file(dwarf, request, &work, error);
	else
		err = error_set(error, -ENOENT, "no debug information: %s", dwarf_errmsg(-1));
	(void)dwarf_end(dwarf);
	(void)elf_end(elf);
	if (err == 0)
		*ret = work;
	return err;
}
