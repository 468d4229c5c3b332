/* True if the file's functions may be left by an exception or a panic, which unwinds the stack. */
#ifndef STOOK_ELF_IMAGE_UNWINDING_CODE_H
#define STOOK_ELF_IMAGE_UNWINDING_CODE_H

#include <stdbool.h>

#include "elf/image/elf_image.h"

bool unwinding_code_is_in(const struct elf_image *image);

#endif
