/*
 * Reads untrusted bytes, within bounds.
 *
 * struct bytes is a cursor before the next byte. A read past the end fails: it returns 0 (or NULL),
 * and from then on every other read fails too. So a parser can read everything and check `failed`
 * once, at the end. Numbers are little-endian.
 *
 * The bytes are owned by the caller and must outlive the cursor and all cursors cut from it.
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

/* LEB128 as in DWARF. Bits beyond the 64th are dropped, including padding. */
uint64_t bytes_uleb(struct bytes *bytes);
int64_t bytes_sleb(struct bytes *bytes);

/* Skips nr bytes and returns a pointer to them, or NULL. */
const uint8_t *bytes_skip(struct bytes *bytes, uint64_t nr);

/* Skips nr bytes and returns a cursor over them, failed if there are fewer. */
struct bytes bytes_cut(struct bytes *bytes, uint64_t nr);

/* Skips a string and its NUL and returns it; NULL if there is no NUL. */
const char *bytes_string(struct bytes *bytes);

#endif
