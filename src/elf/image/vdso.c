/* The vdso has no length to ask for: its section headers are what comes last in it. */
#include "elf/image/vdso.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

/* It has two pages of 4 KiB, or one of 64. */
#define VDSO_MAX_BYTES (256u << 10)

const void *vdso_find(size_t *ret_bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	uint64_t bytes;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || !header->e_shoff)
		return NULL;
	bytes = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
	if (bytes > VDSO_MAX_BYTES)
		return NULL;
	*ret_bytes = bytes;
	return header;
}
