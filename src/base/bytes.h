/*
 * Reading bytes that somebody else made, within bounds.
 *
 * A cursor that stands before the next byte. A read that does not fit fails: it gives 0 (or NULL),
 * and from then on nothing is left and every other read fails too. So a parser reads what it wants
 * and asks once, at the end, whether all of it was there. Numbers are little-endian.
 *
 * The bytes stay the caller's, and must outlive the cursor and all that was cut from it.
 */
#ifndef STOOK_BASE_BYTES_H
#define STOOK_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	const uint8_t *at;
	size_t nr; /* left */
	bool failed;
};

static inline struct bytes bytes_of(const void *start, size_t nr)
{
	return (struct bytes){.at = start, .nr = nr};
}

uint8_t bytes_u8(struct bytes *bytes);
uint16_t bytes_u16(struct bytes *bytes);
uint32_t bytes_u32(struct bytes *bytes);
uint64_t bytes_u64(struct bytes *bytes);

/* LEB128 as DWARF has it. Bits past the 64th are dropped; so is padding. */
uint64_t bytes_uleb(struct bytes *bytes);
int64_t bytes_sleb(struct bytes *bytes);

/* Steps over so many bytes; where they are, or NULL. */
const uint8_t *bytes_skip(struct bytes *bytes, uint64_t nr);

/* Steps over so many bytes; a cursor over them, failed if they are not there. */
struct bytes bytes_cut(struct bytes *bytes, uint64_t nr);

/* Steps over a text and its NUL; NULL if there is no NUL. */
const char *bytes_string(struct bytes *bytes);

#endif
