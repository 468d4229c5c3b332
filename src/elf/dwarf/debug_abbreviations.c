/*
 * Abbreviations become steps: `so many bytes` wherever the forms have fixed sizes, which adjoining
 * ones share. Codes are numbered from 1 by all who make them: an array holds them.
 */
#include "elf/dwarf/debug_abbreviations.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define CODE_MAX       (1u << 20) /* the largest units have some thousands */
#define ATTRIBUTES_MAX 4096	  /* of one abbreviation */

/* --- forms --------------------------------------------------------------------------------- */

static struct debug_skip fixed(unsigned bytes)
{
	return (struct debug_skip){SKIP_BYTES, (uint16_t)bytes};
}

static struct debug_skip kind(enum debug_skip_kind kind)
{
	return (struct debug_skip){(uint16_t)kind, 0};
}

static struct debug_skip skip_of_fixed_form(const struct debug_unit_sizes *sizes, uint64_t form)
{
	switch (form) {
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
	case DW_FORM_ref_addr: /* DWARF 2 had addresses there */
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

struct debug_skip debug_skip_of_form(const struct debug_unit_sizes *sizes, uint64_t form)
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
	default:
		return skip_of_fixed_form(sizes, form);
	}
}

/* --- abbreviations ------------------------------------------------------------------------- */

/* Adds a step to the abbreviation, or to its last one. */
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
	if (array_reserve(&all->skips, &all->cap_skips, all->nr_skips + 1, sizeof(*all->skips)) < 0)
		return -ENOMEM;
	all->skips[all->nr_skips++] = skip;
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
		if (add_skip(all, abbreviation, debug_skip_of_form(sizes, form)) < 0)
			return -ENOMEM;
	}
	return -ENOEXEC;
}

static int keep_abbreviation(struct debug_abbreviations *all, uint64_t code,
			     const struct debug_abbreviation *abbreviation)
{
	if (code >= CODE_MAX)
		return -ENOEXEC;
	if (array_reserve(&all->by_code, &all->capacity, code + 1, sizeof(*all->by_code)) < 0)
		return -ENOMEM;
	if (code >= all->nr) {
		memset(all->by_code + all->nr, 0, (code + 1 - all->nr) * sizeof(*all->by_code));
		all->nr = code + 1;
	}
	if (!all->by_code[code].tag)
		all->by_code[code] = *abbreviation;
	return 0;
}

static int read_abbreviations(struct debug_abbreviations *all, struct bytes bytes,
			      const struct debug_unit_sizes *sizes)
{
	uint64_t code;
	int err;

	all->nr = all->nr_skips = 0;
	while ((code = bytes_uleb(&bytes)) != 0) {
		struct debug_abbreviation abbreviation = {
			.tag = (uint16_t)bytes_uleb(&bytes),
			.has_children = bytes_u8(&bytes) != 0,
			.first_skip = (uint32_t)all->nr_skips,
		};

		err = read_attributes(all, &bytes, sizes, &abbreviation);
		if (err == 0)
			err = keep_abbreviation(all, code, &abbreviation);
		if (err < 0)
			return err;
	}
	return bytes.failed ? -ENOEXEC : 0;
}

int debug_abbreviations_need(struct debug_abbreviations *all, struct bytes bytes,
			     const struct debug_unit_sizes *sizes)
{
	int err;

	if (all->start == bytes.at && !memcmp(&all->sizes, sizes, sizeof(*sizes)))
		return 0;
	all->start = NULL;
	err = read_abbreviations(all, bytes, sizes);
	if (err < 0)
		return err;
	all->start = bytes.at;
	all->sizes = *sizes;
	return 0;
}

void debug_abbreviations_clear(struct debug_abbreviations *all)
{
	free(all->by_code);
	free(all->skips);
	*all = (struct debug_abbreviations){0};
}
