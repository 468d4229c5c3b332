/*
 * Protocol Buffers' wire format, without schemas: who writes or reads a message knows its fields.
 *
 * Writing: a message is built field by field; a message inside of another is built by itself first
 * and then put in. Running out of memory is noted in the writer, and everything after it does
 * nothing, so that it is asked about once, at the end. A writer of zeros is empty.
 *
 *	protobuf_number(&line, 1, function_id);
 *	protobuf_message(&location, 4, &line);
 *	protobuf_reset(&line);
 *
 * Reading: over bytes that somebody else made, see base/bytes.h.
 *
 *	while (protobuf_next(&message, &field))
 *		switch (field.number) …
 *	if (message.failed)
 *		return -EBADMSG;
 */
#ifndef STOOK_FORMAT_PPROF_PROTOBUF_H
#define STOOK_FORMAT_PPROF_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct protobuf_writer {
	uint8_t *bytes;
	size_t nr, cap;
	bool failed; /* out of memory */
};

/* What has its default value, 0 or empty, is not written. */
void protobuf_number(struct protobuf_writer *writer, uint32_t field, uint64_t value);
void protobuf_bytes(struct protobuf_writer *writer, uint32_t field, const void *bytes, size_t nr);
void protobuf_packed(struct protobuf_writer *writer, uint32_t field, const uint64_t *values,
		     size_t nr);

/* Written even if it is empty: one of several, whose place counts. */
void protobuf_text(struct protobuf_writer *writer, uint32_t field, const char *text);
void protobuf_message(struct protobuf_writer *writer, uint32_t field,
		      const struct protobuf_writer *message);

/* Empties the writer for the next message, and keeps its memory. */
void protobuf_reset(struct protobuf_writer *writer);
void protobuf_clear(struct protobuf_writer *writer);

enum protobuf_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2, /* text, a message, or packed numbers */
	PROTOBUF_FIXED32 = 5,
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;	    /* of the types that are a number; else 0 */
	struct bytes bytes; /* what the field is made of: of PROTOBUF_BYTES the contents */
};

/* The next field; false at the end, and where the message is broken or has groups: then it failed.
 */
bool protobuf_next(struct bytes *message, struct protobuf_field *ret);

/*
 * All of a message that has numbers alone: the last one of each field below nr, by the field's number, 0 where
 * there is none. False if the message is broken.
 */
bool protobuf_numbers(struct bytes message, uint64_t *ret, size_t nr);

/* The next number of a repeated field, which may be packed or not; false at the end or a failure of
 * field->bytes. */
bool protobuf_next_number(struct protobuf_field *field, uint64_t *ret);

#endif
