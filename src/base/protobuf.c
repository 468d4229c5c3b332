/*
 * A field consists of a tag (number << 3 | type) and contents according to the type:
 *
 *	0  varint	seven bits per byte, lowest first; at most ten bytes
 *	1  fixed64	eight bytes, little-endian
 *	2  bytes	a varint with the length, and that number of bytes
 *	5  fixed32	four bytes
 *
 * Types 3 and 4 were groups, which are obsolete: they are rejected.
 */
#include "base/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define VARINT_MAX_BYTES 10
#define MAX_FIELD	 ((1U << 29) - 1)

/* --- writing -----------------------------------------------------------------------------------
 */

/* Reserves nr more bytes; NULL when out of memory. */
static uint8_t *reserve(struct protobuf_writer *writer, size_t nr)
{
	if (writer->failed || ARRAY_RESERVE(writer->bytes, writer->cap, writer->nr + nr) < 0) {
		writer->failed = true;
		return NULL;
	}
	return writer->bytes + writer->nr;
}

static void put_varint(struct protobuf_writer *writer, uint64_t value)
{
	uint8_t *to = reserve(writer, VARINT_MAX_BYTES);

	if (!to)
		return;
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	writer->nr = (size_t)(to - writer->bytes);
}

static void put_tag(struct protobuf_writer *writer, uint32_t field, enum protobuf_type type)
{
	put_varint(writer, (uint64_t)field << 3 | type);
}

static void put_bytes(struct protobuf_writer *writer, uint32_t field, const void *bytes, size_t nr)
{
	uint8_t *to;

	put_tag(writer, field, PROTOBUF_BYTES);
	put_varint(writer, nr);
	to = reserve(writer, nr);
	if (!to || !nr)
		return;
	memcpy(to, bytes, nr);
	writer->nr += nr;
}

void protobuf_number(struct protobuf_writer *writer, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	put_tag(writer, field, PROTOBUF_VARINT);
	put_varint(writer, value);
}

void protobuf_bytes(struct protobuf_writer *writer, uint32_t field, const void *bytes, size_t nr)
{
	if (nr)
		put_bytes(writer, field, bytes, nr);
}

static size_t varint_bytes(uint64_t value)
{
	size_t nr = 1;

	for (; value >= 0x80; value >>= 7)
		nr++;
	return nr;
}

void protobuf_packed(struct protobuf_writer *writer, uint32_t field, const uint64_t *values,
		     size_t nr)
{
	size_t bytes = 0, i;

	if (!nr)
		return;
	for (i = 0; i < nr; i++)
		bytes += varint_bytes(values[i]);
	put_tag(writer, field, PROTOBUF_BYTES);
	put_varint(writer, bytes);
	for (i = 0; i < nr; i++)
		put_varint(writer, values[i]);
}

void protobuf_text(struct protobuf_writer *writer, uint32_t field, const char *text)
{
	put_bytes(writer, field, text, strlen(text));
}

void protobuf_message(struct protobuf_writer *writer, uint32_t field,
		      const struct protobuf_writer *message)
{
	writer->failed |= message->failed;
	put_bytes(writer, field, message->bytes, message->nr);
}

void protobuf_reset(struct protobuf_writer *writer)
{
	writer->nr = 0;
}

void protobuf_clear(struct protobuf_writer *writer)
{
	free(writer->bytes);
	*writer = (struct protobuf_writer){0};
}

/* --- reading -----------------------------------------------------------------------------------
 */

static bool refuse(struct bytes *message)
{
	message->nr = 0;
	message->failed = true;
	return false;
}

static uint64_t get_varint(struct bytes *message)
{
	const uint8_t *start = message->at;
	uint64_t value = bytes_uleb(message);

	if (!message->failed && message->at - start > VARINT_MAX_BYTES)
		refuse(message);
	return message->failed ? 0 : value;
}

/* Reads the value; field->bytes becomes its encoding. */
static void get_contents(struct bytes *message, struct protobuf_field *field)
{
	const uint8_t *start = message->at;

	switch (field->type) {
	case PROTOBUF_VARINT:
		field->value = get_varint(message);
		break;
	case PROTOBUF_FIXED64:
		field->value = bytes_u64(message);
		break;
	case PROTOBUF_FIXED32:
		field->value = bytes_u32(message);
		break;
	case PROTOBUF_BYTES:
		field->bytes = bytes_cut(message, get_varint(message));
		return;
	default:
		refuse(message);
	}
	if (!message->failed)
		field->bytes = bytes_of(start, (size_t)(message->at - start));
}

bool protobuf_next(struct bytes *message, struct protobuf_field *ret)
{
	struct protobuf_field field = {0};
	uint64_t tag;

	if (message->failed || !message->nr)
		return false;
	tag = get_varint(message);
	if (message->failed || tag >> 3 == 0 || tag >> 3 > MAX_FIELD)
		return refuse(message);
	field.number = (uint32_t)(tag >> 3);
	field.type = tag & 7;
	get_contents(message, &field);
	if (message->failed)
		return false;
	*ret = field;
	return true;
}

bool protobuf_numbers(struct bytes message, uint64_t *ret, size_t nr)
{
	struct protobuf_field field;

	memset(ret, 0, nr * sizeof(*ret));
	while (protobuf_next(&message, &field))
		if (field.number < nr)
			ret[field.number] = field.value;
	return !message.failed;
}

bool protobuf_next_number(struct protobuf_field *field, uint64_t *ret)
{
	uint64_t value;

	if (field->type != PROTOBUF_VARINT && field->type != PROTOBUF_BYTES)
		return refuse(&field->bytes);
	if (field->bytes.failed || !field->bytes.nr)
		return false;
	value = get_varint(&field->bytes);
	if (field->bytes.failed)
		return false;
	*ret = value;
	return true;
}
