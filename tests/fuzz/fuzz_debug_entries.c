/*
 * elf/dwarf/debug_entries on arbitrary abbreviations and entries. The reader must stay inside the
 * input and terminate.
 *
 * The first byte chooses the sizes of addresses and offsets, the next two give the length of the
 * abbreviations in bytes; the rest are entries.
 *
 *	make fuzz && build/fuzz/fuzz_debug_entries -max_len=4096 CORPUS
 */
#include <stdlib.h>
#include <string.h>

#include "elf/dwarf/debug_entries.h"
#include "fuzz/fuzz.h"

/* Copies the bytes to the heap, so that AddressSanitizer sees a read past their end. */
static struct bytes copy_of(struct bytes bytes)
{
	uint8_t *copy = malloc(bytes.nr + !bytes.nr);

	if (!copy)
		abort();
	if (bytes.nr)
		memcpy(copy, bytes.at, bytes.nr);
	return bytes_of(copy, bytes.nr);
}

static void walk(const struct debug_abbreviations *all, const struct debug_unit_sizes *sizes,
		 struct bytes bytes)
{
	struct debug_entries entries = {.abbreviations = all, .bytes = bytes, .sizes = *sizes};
	const uint8_t *last = NULL;

	while (debug_entries_next(&entries)) {
		const uint8_t *at = entries.at;

		if (at < bytes.at || at >= bytes.at + bytes.nr || (last && at <= last))
			abort();
		last = at;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct bytes all_bytes = bytes_of(bytes, nr), abbreviations, entries;
	struct debug_abbreviations all = {0};
	struct debug_unit_sizes sizes;
	uint8_t choice = bytes_u8(&all_bytes);
	uint16_t nr_abbreviations = bytes_u16(&all_bytes);

	sizes.version = choice & 7;
	sizes.address_bytes = choice & 8 ? 4 : 8;
	sizes.offset_bytes = choice & 16 ? 8 : 4;
	if (nr_abbreviations > all_bytes.nr)
		nr_abbreviations = (uint16_t)all_bytes.nr;
	abbreviations = copy_of(bytes_cut(&all_bytes, nr_abbreviations));
	entries = copy_of(bytes_of(all_bytes.at, all_bytes.nr));
	if (debug_abbreviations_load(&all, abbreviations, &sizes) == 0)
		walk(&all, &sizes, entries);
	debug_abbreviations_clear(&all);
	free((void *)abbreviations.at);
	free((void *)entries.at);
	return 0;
}
