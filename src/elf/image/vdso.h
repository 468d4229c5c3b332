/* The code that the kernel maps into every process, found in our own: it is the same in all. */
#ifndef STOOK_ELF_IMAGE_VDSO_H
#define STOOK_ELF_IMAGE_VDSO_H

#include <stddef.h>

/* An ELF image in memory, and its length; NULL if there is none that makes sense. */
const void *vdso_find(size_t *ret_bytes);

#endif
