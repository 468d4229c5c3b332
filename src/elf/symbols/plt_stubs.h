/*
 * Names for the stubs through which a file calls other files' functions: `write@plt`. No symbol
 * table has them; they are found by the jump that each stub makes, through a word that a
 * relocation names.
 */
#ifndef STOOK_ELF_SYMBOLS_PLT_STUBS_H
#define STOOK_ELF_SYMBOLS_PLT_STUBS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

/* *ret: NULL if the file has none that we understand. 0, -ENOMEM or -ENOEXEC. */
int plt_stubs_read(struct symbol_table **ret, const struct elf_image *image, struct error *error);

/*
 * The jumps in the sections .plt, .plt.got and .plt.sec, by machine: where each stub begins, how
 * long it is, and the word (the GOT slot) that holds the address to which it jumps.
 */
struct plt_machine {
	uint16_t machine; /* EM_X86_64, … */
	size_t step;	  /* stubs begin at multiples of it; 0: of the section's unit */
	/*
	 * Decodes the stub at the beginning of code, which stands at an address: its length, and
	 * *ret_slot; 0 if there is none. unit is how far apart stubs are in this section.
	 */
	size_t (*decode)(struct bytes code, uint64_t address, size_t unit, uint64_t *ret_slot);
};

/* NULL for machines whose stubs we don't know. */
const struct plt_machine *plt_machine_find(uint16_t machine);

#endif
