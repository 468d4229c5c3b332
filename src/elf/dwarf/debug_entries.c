/*
 * Steps over entries, within the bounds of the unit and its section. What an attribute says is left
 * to libdw, which is asked for the few entries that matter.
 */
#include "elf/dwarf/debug_entries.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

/* --- sections ------------------------------------------------------------------------------ */

/* Whether a section is called so, with a z in front for compressed, and what is to stand behind. */
static bool is_called(const char *name, const char *want, const char *suffix)
{
	size_t nr = strlen(want);

	name += name[0] == '.';
	name += name[0] == 'z';
	return !strncmp(name, want, nr) && !strcmp(name + nr, suffix);
}

/* The bytes as libdw has them, which has expanded what was compressed. */
static struct bytes section_bytes(Elf *elf, const char *want, const char *suffix)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return bytes_of(NULL, 0);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || !is_called(name, want, suffix))
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf)
			return bytes_of(data->d_buf, data->d_size);
	}
	return bytes_of(NULL, 0);
}

static bool is_within(struct bytes bytes, const uint8_t *at)
{
	return bytes.at && at >= bytes.at && at < bytes.at + bytes.nr;
}

/* Finds the sections that the unit is in. A file may have both kinds. */
static int find_sections(struct debug_sections *all, Dwarf_Die *unit)
{
	static const char *const suffixes[] = {"", ".dwo"};
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(unit->cu));
	size_t i;

	if (is_within(all->info, unit->addr))
		return 0;
	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		all->info = section_bytes(elf, "debug_info", suffixes[i]);
		all->abbrev = section_bytes(elf, "debug_abbrev", suffixes[i]);
		if (is_within(all->info, unit->addr))
			return 0;
	}
	return -ENOEXEC;
}

/* --- entries ------------------------------------------------------------------------------- */

/* The unit's bytes from its first entry on; its length stands before its header. */
static struct bytes unit_bytes(struct bytes info, Dwarf_Die *unit)
{
	const uint8_t *first = unit->addr, *start = first - dwarf_cuoffset(unit);
	struct bytes content;
	uint64_t nr;

	if (!is_within(info, start) || start > first)
		return bytes_of(NULL, 0);
	(void)bytes_skip(&info, (uint64_t)(start - info.at));
	nr = bytes_u32(&info);
	if (nr == UINT32_MAX)
		nr = bytes_u64(&info);
	content = bytes_cut(&info, nr);
	if (!is_within(content, first))
		return bytes_of(NULL, 0);
	(void)bytes_skip(&content, (uint64_t)(first - content.at));
	return content;
}

int debug_entries_open(struct debug_entries *entries, struct debug_sections *sections,
		       Dwarf_Die *unit)
{
	struct debug_entries opened = {.abbreviations = &sections->abbreviations};
	struct bytes abbrev;
	Dwarf_Die itself;
	Dwarf_Off offset;
	int err;

	if (!dwarf_cu_die(unit->cu, &itself, &opened.sizes.version, &offset,
			  &opened.sizes.address_bytes, &opened.sizes.offset_bytes, NULL, NULL))
		return -ENOEXEC;
	err = find_sections(sections, unit);
	if (err < 0)
		return err;
	opened.bytes = unit_bytes(sections->info, unit);
	abbrev = sections->abbrev;
	(void)bytes_skip(&abbrev, offset);
	if (!opened.bytes.nr || !abbrev.nr)
		return -ENOEXEC;
	err = debug_abbreviations_need(&sections->abbreviations, abbrev, &opened.sizes);
	if (err == 0)
		*entries = opened;
	return err;
}

/* Most codes and lengths are a byte long. */
static inline uint64_t read_uleb(struct bytes *bytes)
{
	if (bytes->nr && *bytes->at < 0x80) {
		bytes->nr--;
		return *bytes->at++;
	}
	return bytes_uleb(bytes);
}

static inline void skip_bytes(struct bytes *bytes, uint64_t nr)
{
	if (nr <= bytes->nr) {
		bytes->at += nr;
		bytes->nr -= nr;
	} else {
		bytes->failed = true;
		bytes->nr = 0;
	}
}

static void skip_value(struct debug_entries *entries, struct debug_skip skip)
{
	struct bytes *bytes = &entries->bytes;

	switch ((enum debug_skip_kind)skip.kind) {
	case SKIP_BYTES:
		skip_bytes(bytes, skip.bytes);
		break;
	case SKIP_LEB:
		(void)read_uleb(bytes);
		break;
	case SKIP_STRING:
		(void)bytes_string(bytes);
		break;
	case SKIP_BLOCK1:
		skip_bytes(bytes, bytes_u8(bytes));
		break;
	case SKIP_BLOCK2:
		skip_bytes(bytes, bytes_u16(bytes));
		break;
	case SKIP_BLOCK4:
		skip_bytes(bytes, bytes_u32(bytes));
		break;
	case SKIP_BLOCK:
		skip_bytes(bytes, read_uleb(bytes));
		break;
	case SKIP_INDIRECT:
		skip = debug_skip_of_form(&entries->sizes, read_uleb(bytes));
		if (skip.kind != SKIP_INDIRECT) {
			skip_value(entries, skip);
			break;
		}
		/* fallthrough */
	case SKIP_UNKNOWN:
		bytes->failed = true;
		break;
	}
}

static bool take_entry(struct debug_entries *entries, const void *at, uint64_t code)
{
	const struct debug_abbreviations *all = entries->abbreviations;
	const struct debug_abbreviation *abbreviation;
	uint32_t i;

	if (code >= all->nr || !all->by_code[code].tag)
		return false;
	abbreviation = &all->by_code[code];
	for (i = 0; i < abbreviation->nr_skips; i++)
		skip_value(entries, all->skips[abbreviation->first_skip + i]);
	entries->abbreviation = abbreviation;
	entries->at = at;
	entries->at_depth = entries->depth;
	entries->depth += abbreviation->has_children;
	return !entries->bytes.failed;
}

bool debug_entries_next(struct debug_entries *entries)
{
	while (!entries->bytes.failed && entries->bytes.nr) {
		const void *at = entries->bytes.at;
		uint64_t code = read_uleb(&entries->bytes);

		if (code)
			return take_entry(entries, at, code);
		if (entries->depth <= 1) /* the unit's own children end */
			return false;
		entries->depth--;
	}
	return false;
}

void debug_entries_pass_children(struct debug_entries *entries, Dwarf_Die *entry)
{
	const uint8_t *end = entries->bytes.at + entries->bytes.nr;
	Dwarf_Die sibling;

	if (!entries->abbreviation->has_sibling || !entries->abbreviation->has_children)
		return;
	if (dwarf_siblingof(entry, &sibling) != 0 ||
	    (const uint8_t *)sibling.addr < entries->bytes.at ||
	    (const uint8_t *)sibling.addr > end)
		return;
	entries->bytes = bytes_of(sibling.addr, (size_t)(end - (const uint8_t *)sibling.addr));
	entries->depth = entries->at_depth;
}

void debug_sections_clear(struct debug_sections *sections)
{
	debug_abbreviations_clear(&sections->abbreviations);
	*sections = (struct debug_sections){0};
}
