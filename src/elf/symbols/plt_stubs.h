/*
 * Names for the stubs through which a file calls other files' functions: `write@plt`. No symbol
 * table has them; they are found by the jump that each stub makes, through a word that a
 * relocation names.
 */
#ifndef STOOK_ELF_SYMBOLS_PLT_STUBS_H
#define STOOK_ELF_SYMBOLS_PLT_STUBS_H

#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

/* *ret: NULL if the file has none that we understand. 0, -ENOMEM or -ENOEXEC. */
int plt_stubs_read(struct symbol_table **ret, const struct elf_image *image, struct error *error);

#endif
