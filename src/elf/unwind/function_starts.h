/*
 * Finds the starts of a file's functions in its call frame information, which stripping doesn't
 * remove. So functions without a name can be distinguished, and are named the same way in each run.
 *
 * A part of a function that the compiler has moved elsewhere (`f.cold`) has an entry of its own,
 * and is a function of its own here. So is each part of an assembly function with several entries.
 * Code without an entry (crt's _init and _fini, some assembly, all of Go) is not found.
 */
#ifndef STOOK_ELF_UNWIND_FUNCTION_STARTS_H
#define STOOK_ELF_UNWIND_FUNCTION_STARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

/*
 * A symbol_source: the names are empty. *ret: NULL if the file has no .eh_frame. PLT stubs, which
 * share one entry, are skipped: see elf/symbols/plt_stubs.h. 0, -ENOMEM, or -ENOEXEC.
 */
int function_starts_read(struct symbol_table **ret, const struct elf_image *image,
			 struct error *error);

/*
 * True if the entry that begins at this address describes a function that was just called: the
 * return address is where a call leaves it. False for `f.cold`, which is jumped to from the middle
 * of f.
 */
bool function_start_is_called(const struct elf_image *image, uint64_t start);

#endif
