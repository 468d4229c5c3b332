/* Reads a file's static probes (USDT) from its notes, section .note.stapsdt. */
#ifndef STOOK_ELF_IMAGE_USDT_NOTES_H
#define STOOK_ELF_IMAGE_USDT_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"

struct usdt_note {
	const char *provider, *name, *arguments; /* arguments: "-4@%eax 8@-24(%rbp)", or "" */
	uint64_t vaddr;	    /* of the instruction, as linked now (corrected in prelinked files) */
	uint64_t semaphore; /* file offset of its counter; 0: none */
	bool is_astray;	    /* its semaphore is not in the file: it would never be hit */
};

struct usdt_notes {
	struct usdt_note *notes; /* in the file's order */
	size_t nr, capacity;
	char *text; /* contains the notes' strings */
};

/*
 * Reads the notes into *notes, which must be {0} and is unchanged on failure. A file without any
 * gives 0 notes. 0, -ENOMEM, -E2BIG beyond a limit, or -ENOEXEC.
 */
int usdt_notes_read(struct usdt_notes *notes, const struct elf_image *image, struct error *error);
void usdt_notes_clear(struct usdt_notes *notes);

#endif
