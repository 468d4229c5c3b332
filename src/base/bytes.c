/* The bounded reader: all reads go through bytes_skip(), the only place that checks the bounds. */
#include "base/bytes.h"

#include <endian.h>
#include <string.h>

static void fail(struct bytes *bytes)
{
	bytes->nr = 0;
	bytes->failed = true;
}

const uint8_t *bytes_skip(struct bytes *bytes, uint64_t nr)
{
	const uint8_t *start = bytes->at;

	if (bytes->failed || nr > bytes->nr) {
		fail(bytes);
		return NULL;
	}
	bytes->at += nr;
	bytes->nr -= nr;
	return start;
}

uint8_t bytes_u8(struct bytes *bytes)
{
	const uint8_t *from = bytes_skip(bytes, 1);

	return from ? *from : 0;
}

/* nr: at most 8 */
static uint64_t read_number(struct bytes *bytes, size_t nr)
{
	const uint8_t *from = bytes_skip(bytes, nr);
	uint64_t value = 0;

	if (from)
		memcpy(&value, from, nr);
	return le64toh(value);
}

uint16_t bytes_u16(struct bytes *bytes)
{
	return (uint16_t)read_number(bytes, sizeof(uint16_t));
}

uint32_t bytes_u32(struct bytes *bytes)
{
	return (uint32_t)read_number(bytes, sizeof(uint32_t));
}

uint64_t bytes_u64(struct bytes *bytes)
{
	return read_number(bytes, sizeof(uint64_t));
}

/* Seven bits per byte, the lowest first; the eighth bit is set if more bytes follow. */
static uint64_t read_leb(struct bytes *bytes, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = bytes_u8(bytes);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift = shift < 64 ? shift + 7 : shift;
	} while (byte & 0x80);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= UINT64_MAX << shift;
	return bytes->failed ? 0 : value;
}

uint64_t bytes_uleb(struct bytes *bytes)
{
	return read_leb(bytes, false);
}

int64_t bytes_sleb(struct bytes *bytes)
{
	return (int64_t)read_leb(bytes, true);
}

struct bytes bytes_cut(struct bytes *bytes, uint64_t nr)
{
	const uint8_t *start = bytes_skip(bytes, nr);

	return (struct bytes){.at = start, .nr = start ? nr : 0, .failed = !start};
}

const char *bytes_string(struct bytes *bytes)
{
	const uint8_t *end = bytes->nr ? memchr(bytes->at, '\0', bytes->nr) : NULL;

	if (!end) {
		fail(bytes);
		return NULL;
	}
	return (const char *)bytes_skip(bytes, (size_t)(end - bytes->at) + 1);
}
