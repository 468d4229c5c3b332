/*
 * Go's own table of functions, .gopclntab: its runtime needs it, so it is there in stripped
 * programs too.
 */
#ifndef STOOK_ELF_SYMBOLS_GO_FUNCTIONS_H
#define STOOK_ELF_SYMBOLS_GO_FUNCTIONS_H

#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

/* *ret: NULL if the file is not Go's. 0, -ENOMEM, or -ENOEXEC for a table that makes no sense. */
int go_functions_read(struct symbol_table **ret, const struct elf_image *image,
		      struct error *error);

#endif
