/*
 * .gnu_debugdata ("MiniDebugInfo"): a small xz-compressed ELF file inside a stripped one. It has a
 * .symtab with the functions that are not in .dynsym.
 */
#ifndef STOOK_ELF_SYMBOLS_DEBUG_DATA_H
#define STOOK_ELF_SYMBOLS_DEBUG_DATA_H

#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

/*
 * *ret: its functions merged with those of the image's .dynsym; NULL if the image has no such
 * section. 0, -ENOMEM, or -ENOEXEC if it is invalid.
 */
int debug_data_read(struct symbol_table **ret, const struct elf_image *image, struct error *error);

#endif
