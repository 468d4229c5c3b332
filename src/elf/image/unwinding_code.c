/*
 * A language with exceptions has a routine of its own that the unwinder asks at each frame, its
 * personality, and code of it refers to that by name: C++ to __gxx_personality_v0. So the strings of
 * the symbol tables tell. They are read in pieces: there may be hundreds of megabytes.
 *
 * A stripped program that contains its language's library has no such name any more. But where
 * something is caught, the tables of exceptions (.gcc_except_table) have types. Those of C, whose
 * functions can only clean up (pthread_cleanup_push, in libc too), never have.
 */
#include "elf/image/unwinding_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image/elf_section.h"

#define PIECE_BYTES   (256u << 10)
#define OVERLAP_BYTES 64 /* a name that is cut in one piece is whole in the next one */

/* Of strings, in each of both tables. */
#define STRINGS_MAX_BYTES (1u << 30)

/* Of tables of exceptions: something is caught long before. */
#define TABLES_MAX_BYTES (1u << 20)

#define DW_EH_PE_OMIT 0xff

#define COMMON_PART "_personality"

/* What is before and behind the common part. __gcc_personality_v0, of C, catches nothing. */
static const struct {
	const char *before, *behind;
} personalities[] = {
	{"__gxx", "_v0"}, {"rust_eh", ""},   {"__gnat", "_v0"},	    {"__gdc", "_v0"},
	{"_d_eh", ""},	  {"__objc", "_v0"}, {"__gnu_objc", "_v0"}, {"__gccgo", "_v0"},
};

/* --- names ----------------------------------------------------------------------------------- */

/*
 * Whether a name's common part, at a place among strings, is a personality's. Others may end in it:
 * DW.ref.__gxx_personality_v0, Rust's that have their crate before; and a version may follow.
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

static bool names_personality(const char *strings, size_t nr)
{
	const char *at = strings;

	while ((at = memmem(at, nr - (size_t)(at - strings), COMMON_PART, strlen(COMMON_PART)))) {
		if (is_personality(strings, nr, (size_t)(at - strings)))
			return true;
		at++;
	}
	return false;
}

static bool section_names_personality(const struct elf_image *image, const char *name)
{
	cleanup_free char *piece = NULL;
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
		if (names_personality(piece, nr))
			return true;
	}
	return false;
}

/* --- tables of exceptions -------------------------------------------------------------------- */

/* Moves on behind a number of seven bits a byte, which is cut at 32. */
static uint32_t take_number(const uint8_t *bytes, size_t nr, size_t *at)
{
	uint32_t number = 0;
	unsigned int shift = 0;

	while (*at < nr) {
		uint8_t byte = bytes[(*at)++];

		if (shift < 32)
			number |= (uint32_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			break;
	}
	return number;
}

/*
 * There is a table for each function, with zeros between them: where its code begins, which is
 * omitted, how types are written, which is omitted where there are none, and the list of calls. This
 * is all of a table without types.
 */
static bool tables_have_types(const uint8_t *bytes, size_t nr)
{
	size_t at = 0;

	while (at < nr) {
		uint32_t nr_calls;

		if (!bytes[at]) {
			at++;
			continue;
		}
		if (bytes[at] != DW_EH_PE_OMIT || nr - at < 4)
			return false;
		if (bytes[at + 1] != DW_EH_PE_OMIT)
			return true;
		at += 3;
		nr_calls = take_number(bytes, nr, &at);
		if (nr_calls > nr - at)
			return false;
		at += nr_calls;
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
	return tables_have_types(bytes, header.sh_size);
}

bool unwinding_code_is_in(const struct elf_image *image)
{
	return section_names_personality(image, ".dynstr") ||
	       section_names_personality(image, ".strtab") || catches(image);
}
