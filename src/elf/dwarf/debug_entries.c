/*
 * Iterates over a unit's entries, within the bounds of the unit and its section. The values of
 * attributes are left to libdw, which is used for the few entries that matter.
 *
 * Abbreviations are translated to a list of skips; adjoining attributes with forms of fixed size
 * share one skip of their total size. All compilers number abbreviation codes from 1, so they are
 * kept in an array.
 */
#include "elf/dwarf/debug_entries.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define CODE_MAX       (1u << 20) /* the largest units have some thousands */
#define ATTRIBUTES_MAX 4096	  /* of one abbreviation */

/* How to skip a value. */
enum debug_skip_kind {
	SKIP_BYTES, /* a fixed number of bytes */
	SKIP_LEB,
	SKIP_STRING,
	SKIP_BLOCK1, /* a length of 1, 2, 4 bytes or LEB128, then that many bytes */
	SKIP_BLOCK2,
	SKIP_BLOCK4,
	SKIP_BLOCK,
	SKIP_INDIRECT, /* the form precedes the value */
	SKIP_UNKNOWN,
};

struct debug_skip {
	uint16_t kind;
	uint16_t bytes;
};

/* --- forms ----------------------------------------------------------------------------------- */

static struct debug_skip fixed(unsigned bytes)
{
	return (struct debug_skip){SKIP_BYTES, (uint16_t)bytes};
}

static struct debug_skip kind(enum debug_skip_kind kind)
{
	return (struct debug_skip){(uint16_t)kind, 0};
}

static struct debug_skip skip_of_form(const struct debug_unit_sizes *sizes, uint64_t form)
{
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return kind(SKIP_LEB);
	case DW_FORM_string:
		return kind(SKIP_STRING);
	case DW_FORM_block1:
		return kind(SKIP_BLOCK1);
	case DW_FORM_block2:
		return kind(SKIP_BLOCK2);
	case DW_FORM_block4:
		return kind(SKIP_BLOCK4);
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return kind(SKIP_BLOCK);
	case DW_FORM_indirect:
		return kind(SKIP_INDIRECT);
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return fixed(0);
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return fixed(1);
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return fixed(2);
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return fixed(3);
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return fixed(4);
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return fixed(8);
	case DW_FORM_data16:
		return fixed(16);
	case DW_FORM_addr:
		return fixed(sizes->address_bytes);
	case DW_FORM_ref_addr: /* an address in DWARF 2 */
		return fixed(sizes->version < 3 ? sizes->address_bytes : sizes->offset_bytes);
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return fixed(sizes->offset_bytes);
	default:
		return kind(SKIP_UNKNOWN);
	}
}

/* --- abbreviations --------------------------------------------------------------------------- */

/* Appends a skip to the abbreviation, or extends its last one. */
static int add_skip(struct debug_abbreviations *all, struct debug_abbreviation *abbreviation,
		    struct debug_skip skip)
{
	struct debug_skip *last = abbreviation->nr_skips ? &all->skips[all->nr_skips - 1] : NULL;

	if (skip.kind == SKIP_BYTES && !skip.bytes)
		return 0;
	if (skip.kind == SKIP_BYTES && last && last->kind == SKIP_BYTES &&
	    last->bytes <= UINT16_MAX - skip.bytes) {
		last->bytes += skip.bytes;
		return 0;
	}
	if (ARRAY_ADD(all->skips, all->nr_skips, all->cap_skips, skip) < 0)
		return -ENOMEM;
	abbreviation->nr_skips++;
	return 0;
}

static int read_attributes(struct debug_abbreviations *all, struct bytes *bytes,
			   const struct debug_unit_sizes *sizes,
			   struct debug_abbreviation *abbreviation)
{
	unsigned i;

	for (i = 0; i < ATTRIBUTES_MAX; i++) {
		uint64_t name = bytes_uleb(bytes), form = bytes_uleb(bytes);

		if (form == DW_FORM_implicit_const)
			(void)bytes_sleb(bytes);
		if (bytes->failed)
			return -ENOEXEC;
		if (!name && !form)
			return 0;
		abbreviation->has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
		abbreviation->has_sibling |= name == DW_AT_sibling;
		if (add_skip(all, abbreviation, skip_of_form(sizes, form)) < 0)
			return -ENOMEM;
	}
	return -ENOEXEC;
}

int debug_abbreviations_load(struct debug_abbreviations *all, struct bytes bytes,
			     const struct debug_unit_sizes *sizes)
{
	const void *start = bytes.at;
	uint64_t code;
	int err;

	if (all->start == start && !memcmp(&all->sizes, sizes, sizeof(*sizes)))
		return 0;
	all->start = NULL;
	all->nr = all->nr_skips = 0;
	while ((code = bytes_uleb(&bytes)) != 0) {
		struct debug_abbreviation abbreviation = {
			.tag = (uint16_t)bytes_uleb(&bytes),
			.has_children = bytes_u8(&bytes) != 0,
			.first_skip = (uint32_t)all->nr_skips,
		};

		err = read_attributes(all, &bytes, sizes, &abbreviation);
		if (err < 0)
			return err;
		if (code >= CODE_MAX)
			return -ENOEXEC;
		if (ARRAY_RESERVE(all->by_code, all->capacity, code + 1) < 0)
			return -ENOMEM;
		if (code >= all->nr) {
			memset(all->by_code + all->nr, 0,
			       (code + 1 - all->nr) * sizeof(*all->by_code));
			all->nr = code + 1;
		}
		if (!all->by_code[code].tag)
			all->by_code[code] = abbreviation;
	}
	if (bytes.failed)
		return -ENOEXEC;
	all->start = start;
	all->sizes = *sizes;
	return 0;
}

void debug_abbreviations_clear(struct debug_abbreviations *all)
{
	free(all->by_code);
	free(all->skips);
	*all = (struct debug_abbreviations){0};
}

/* --- sections -------------------------------------------------------------------------------- */

/* True if the section has this name (possibly with a z in front, for compressed) and suffix. */
static bool is_called(const char *name, const char *want, const char *suffix)
{
	size_t nr = strlen(want);

	name += name[0] == '.';
	name += name[0] == 'z';
	return !strncmp(name, want, nr) && !strcmp(name + nr, suffix);
}

/* A section's bytes from libdw, which has decompressed them. */
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

/* Finds the sections that contain the unit. A file may have both kinds. */
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

/* --- entries --------------------------------------------------------------------------------- */

/* The unit's bytes, starting with its first entry. The unit's length precedes its header. */
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
	err = debug_abbreviations_load(&sections->abbreviations, abbrev, &opened.sizes);
	if (err == 0)
		*entries = opened;
	return err;
}

/* Fast path: most codes and lengths have one byte. */
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
		skip = skip_of_form(&entries->sizes, read_uleb(bytes));
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
		if (entries->depth <= 1) /* end of the unit's own children */
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
