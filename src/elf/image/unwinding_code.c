/*
 * In languages with exceptions, code refers by name to a personality routine, which the unwinder
 * calls for each frame; C++: __gxx_personality_v0. So it is found among the strings of the symbol
 * tables. They are read in pieces: there may be hundreds of megabytes.
 *
 * A stripped program that includes its language's library has no such name any more. But where
 * exceptions are caught, the exception tables (.gcc_except_table) contain types. The tables of C,
 * whose functions can only have cleanups (pthread_cleanup_push, also in libc), never do.
 */
#include "elf/image/unwinding_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "elf/image/elf_image.h"

#define PIECE_BYTES   (256u << 10)
#define OVERLAP_BYTES 64 /* a name truncated in one piece is complete in the next one */

/* Limit of bytes searched in each of the two string tables. */
#define STRINGS_MAX_BYTES (1u << 30)

/* Limit of bytes searched in exception tables: a type is found much earlier. */
#define TABLES_MAX_BYTES (1u << 20)

#define DW_EH_PE_OMIT 0xff

#define COMMON_PART "_personality"

/* The parts of names before and after the common part. C's __gcc_personality_v0 catches nothing. */
static const struct {
	const char *before, *behind;
} personalities[] = {
	{"__gxx", "_v0"}, {"rust_eh", ""},   {"__gnat", "_v0"},	    {"__gdc", "_v0"},
	{"_d_eh", ""},	  {"__objc", "_v0"}, {"__gnu_objc", "_v0"}, {"__gccgo", "_v0"},
};

/* --- names ----------------------------------------------------------------------------------- */

/*
 * True if the common part at this position in the strings belongs to a personality routine's name.
 * The name may have a prefix (DW.ref.__gxx_personality_v0, the crate in Rust), and a version may
 * follow.
 */
static bool is_personality(const char *strings, size_t nr, size_t at)
{
	size_t end = at + strlen(COMMON_PART), i;

	for (i = 0; i < ARRAY_SIZE(personalities); i++) {
		size_t nr_before = strlen(personalities[i].before);
		size_t nr_behind = strlen(personalities[i].behind);

		if (nr_before > at || nr_behind >= nr - end ||
		    memcmp(strings + at - nr_before, personalities[i].before, nr_before) != 0 ||
		    memcmp(strings + end, personalities[i].behind, nr_behind) != 0)
			continue;
		if (strings[end + nr_behind] == '\0' || strings[end + nr_behind] == '@')
			return true;
	}
	return false;
}

static bool section_names_personality(const struct elf_image *image, const char *name)
{
	cleanup_free char *piece = NULL;
	const char *found;
	uint64_t at, nr;
	GElf_Shdr header;

	if (elf_section_find(image, name, &header) < 0 || header.sh_type != SHT_STRTAB ||
	    header.sh_offset > image->bytes || header.sh_size > image->bytes - header.sh_offset)
		return false;
	piece = malloc(PIECE_BYTES);
	if (!piece)
		return false;
	for (at = 0; at < header.sh_size && at < STRINGS_MAX_BYTES;
	     at += PIECE_BYTES - OVERLAP_BYTES) {
		nr = header.sh_size - at < PIECE_BYTES ? header.sh_size - at : PIECE_BYTES;
		if (elf_image_read(image, header.sh_offset + at, piece, nr) < 0)
			return false;
		for (found = piece; (found = memmem(found, nr - (size_t)(found - piece),
						    COMMON_PART, strlen(COMMON_PART)));
		     found++)
			if (is_personality(piece, nr, (size_t)(found - piece)))
				return true;
	}
	return false;
}

/* --- exception tables ------------------------------------------------------------------------ */

/*
 * True if one of the tables has types. There is a table for each function, with zeros between them:
 * the start of its code (encoding omitted), the encoding of types, which is omitted if there are
 * none, and the list of calls, which ends a table without types.
 */
static bool tables_have_types(struct bytes tables)
{
	while (tables.nr) {
		if (!*tables.at) {
			(void)bytes_skip(&tables, 1);
			continue;
		}
		if (tables.nr < 4 || bytes_u8(&tables) != DW_EH_PE_OMIT)
			return false;
		if (bytes_u8(&tables) != DW_EH_PE_OMIT)
			return true;
		(void)bytes_u8(&tables);
		if (!bytes_skip(&tables, (uint32_t)bytes_uleb(&tables)))
			return false;
	}
	return false;
}

static bool catches(const struct elf_image *image)
{
	cleanup_free uint8_t *bytes = NULL;
	GElf_Shdr header;

	if (elf_section_find(image, ".gcc_except_table", &header) < 0)
		return false;
	if (header.sh_size > TABLES_MAX_BYTES)
		header.sh_size = TABLES_MAX_BYTES;
	if (elf_section_read(image, &header, TABLES_MAX_BYTES, &bytes) < 0)
		return false;
	return tables_have_types(bytes_of(bytes, header.sh_size));
}

bool unwinding_code_is_in(const struct elf_image *image)
{
	return section_names_personality(image, ".dynstr") ||
	       section_names_personality(image, ".strtab") || catches(image);
}
