/* The fields of a tracepoint, as its file `format` in tracefs tells of them. */
#ifndef STOOK_PROBE_FIND_TRACEPOINT_FORMAT_H
#define STOOK_PROBE_FIND_TRACEPOINT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracepoint_field {
	const char *name; /* in the format, nr_name bytes */
	size_t nr_name;
	uint32_t offset, bytes;
	bool is_signed;
	bool is_array;	  /* in place … */
	bool is_data_loc; /* … or elsewhere: the field says where, from the record's begin or … */
	bool is_relative; /* … from the field's end */
	bool is_char;	  /* its items are characters */
};

/* From one field to the next: *format moves behind it. False at the end. */
bool tracepoint_field_next(const char **format, struct tracepoint_field *ret);

bool tracepoint_field_find(const char *format, const char *name, struct tracepoint_field *ret);

bool tracepoint_field_is_text(const struct tracepoint_field *field);

/* "dev, sector, bytes": the names of all, cut to fit; without those that each tracepoint has. */
void tracepoint_field_names(const char *format, char *ret, size_t bytes);

#endif
