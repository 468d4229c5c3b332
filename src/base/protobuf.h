/*
 * The wire format of Protocol Buffers, without schemas: callers know the fields of their messages.
 *
 * Writing: a message is built field by field; a nested message is built first and then appended.
 * Running out of memory is recorded in the writer, and all later calls are no-ops, so that one
 * check at the end is enough. A zero-initialised writer is empty.
 *
 *	protobuf_number(&line, 1, function_id);
 *	protobuf_message(&location, 4, &line);
 *	protobuf_reset(&line);
 *
 * Reading: over untrusted bytes, see base/bytes.h.
 *
 *	while (protobuf_next(&message, &field))
 *		switch (field.number) …
 *	if (message.failed)
 *		return -EBADMSG;
 */
#ifndef STOOK_BASE_PROTOBUF_H
#define STOOK_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct protobuf_writer {
	uint8_t *bytes;
	size_t nr, cap;
	bool failed; /* out of memory */
};

/* Fields with the default value, 0 or empty, are not written. */
void protobuf_number(struct protobuf_writer *writer, uint32_t field, uint64_t value);
void protobuf_bytes(struct protobuf_writer *writer, uint32_t field, const void *bytes, size_t nr);
void protobuf_packed(struct protobuf_writer *writer, uint32_t field, const uint64_t *values,
		     size_t nr);

/* Written even if empty: for repeated fields, where the position matters. */
void protobuf_text(struct protobuf_writer *writer, uint32_t field, const char *text);
void protobuf_message(struct protobuf_writer *writer, uint32_t field,
		      const struct protobuf_writer *message);

/* Empties the writer for the next message, keeping its memory. */
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
	uint64_t value;	    /* for numeric types; else 0 */
	struct bytes bytes; /* the field's encoding; for PROTOBUF_BYTES its contents */
};

/*
 * Returns the next field; false at the end, and for a malformed message or groups: then
 * message->failed.
 */
bool protobuf_next(struct bytes *message, struct protobuf_field *ret);

/*
 * Reads a message with numbers only: for each field below nr its last value, indexed by the field's
 * number, 0 if missing. False if the message is malformed.
 */
bool protobuf_numbers(struct bytes message, uint64_t *ret, size_t nr);

/*
 * Returns the next number of a repeated field, packed or not; false at the end, or on failure
 * (field->bytes.failed).
 */
bool protobuf_next_number(struct protobuf_field *field, uint64_t *ret);

#endif
