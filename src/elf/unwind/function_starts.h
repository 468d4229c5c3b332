/*
 * Where the functions of a file begin, by its call frame information. That stays when a file is
 * stripped, so functions without a name can be distinguished, and called the same in each run.
 *
 * What the compiler has split off a function and put elsewhere (`f.cold`) has an entry of its own,
 * and is a function of its own here. So is each part of a function in assembly that was given several
 * entries. Code without an entry (crt's _init and _fini, some assembly, all of Go) is not known.
 */
#ifndef STOOK_ELF_UNWIND_FUNCTION_STARTS_H
#define STOOK_ELF_UNWIND_FUNCTION_STARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

/*
 * A symbol_source: the names are empty. *ret: NULL if the file has no .eh_frame. The stubs of dynamic
 * linking, which share one entry, are left out: see elf/symbols/plt_stubs.h. 0, -ENOMEM, or -ENOEXEC.
 */
int function_starts_read(struct symbol_table **ret, const struct elf_image *image,
			 struct error *error);

/*
 * True if the entry that begins at this address describes a function that was just called: the return
 * address is where a call leaves it. False of `f.cold`, which is jumped to in the middle of f.
 */
bool function_start_is_called(const struct elf_image *image, uint64_t start);

#endif
