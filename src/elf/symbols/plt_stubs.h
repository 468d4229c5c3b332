/*
 * Names for PLT stubs, through which a file calls other files' functions: `write@plt`. They are not
 * in symbol tables; each stub jumps to the address in a GOT entry, and the symbol of that entry's
 * relocation gives the name.
 */
#ifndef STOOK_ELF_SYMBOLS_PLT_STUBS_H
#define STOOK_ELF_SYMBOLS_PLT_STUBS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

/* *ret: NULL if the file has no stubs, or none that are understood. 0, -ENOMEM or -ENOEXEC. */
int plt_stubs_read(struct symbol_table **ret, const struct elf_image *image, struct error *error);

/*
 * Decodes the stubs in the sections .plt, .plt.got and .plt.sec, by machine: the start and length
 * of each stub, and the word (GOT slot) that holds the address to which it jumps.
 */
struct plt_machine {
	uint16_t machine; /* EM_X86_64, … */
	size_t step;	  /* stubs begin at multiples of it; 0: multiples of the section's unit */
	/*
	 * Decodes the stub at the beginning of code, which is at `address`: returns its length and
	 * *ret_slot; 0 if there is no stub. unit is the distance between stubs in this section.
	 */
	size_t (*decode)(struct bytes code, uint64_t address, size_t unit, uint64_t *ret_slot);
};

/* NULL for machines whose stubs are not supported. */
const struct plt_machine *plt_machine_find(uint16_t machine);

#endif
