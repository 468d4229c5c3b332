/*
 * .eh_frame stays when a program is stripped. All of its entries are gone through for one address,
 * which takes some milliseconds in a large file: addresses are asked for one by one, by hand.
 */
#include "probe/find/code_bounds.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/unwind/cfi_entries.h"

static int look_through(const struct cfi_section *section, uint64_t vaddr, uint64_t *ret_start,
			uint64_t *ret_end)
{
	cleanup_free struct cfi_reader *reader = malloc(sizeof(*reader));
	struct cfi_function function;
	enum cfi_found found;

	if (!reader)
		return -ENOMEM;
	cfi_reader_init(reader, section);
	while ((found = cfi_reader_next(reader, &function)) != CFI_END) {
		if (found != CFI_FUNCTION || vaddr < function.start || vaddr >= function.end)
			continue;
		*ret_start = function.start;
		*ret_end = function.end;
		return 0;
	}
	return -ENOENT;
}

int code_bounds_find(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_start,
		     uint64_t *ret_end)
{
	struct cfi_section section = {0};
	bool is_broken;
	int err;

	err = cfi_section_read_eh_frame(&section, image, &is_broken, NULL);
	if (!err)
		err = section.nr ? look_through(&section, vaddr, ret_start, ret_end) : -ENOENT;
	cfi_section_clear(&section);
	return err == -ENOMEM ? err : err < 0 ? -ENOENT : 0;
}
