/*
 * A pprof file on its way out: messages are built one by one and go through a buffer into gzip, the
 * strings that they use are numbered, and written last. Nothing else is held.
 *
 * A failure is noted once, and what follows does nothing. Used by the writer alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_SINK_H
#define STOOK_FORMAT_PPROF_PPROF_SINK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/gzip.h"
#include "base/protobuf.h"
#include "base/strings.h"

struct pprof_sink {
	struct protobuf_writer file;
	struct protobuf_writer message; /* being built */
	struct protobuf_writer part;	/* a message inside of that */
	struct strings *strings;
	struct gzip_writer *gzip;
	int error; /* 0, or what failed first */
};

/* The stream stays the caller's. 0 or -ENOMEM. */
int pprof_sink_init(struct pprof_sink *sink, FILE *out);
void pprof_sink_clear(struct pprof_sink *sink);

/* The string's number in the file; 0 after a failure. */
uint64_t pprof_sink_string(struct pprof_sink *sink, const char *text);
uint64_t pprof_sink_string_bytes(struct pprof_sink *sink, const char *text, size_t nr);

/* Puts the message into the file, or the part into the message, as a field of this number. */
void pprof_sink_message(struct pprof_sink *sink, uint32_t field);
void pprof_sink_part(struct pprof_sink *sink, uint32_t field);

/* Notes a result if it is a failure, and nothing has failed before. */
void pprof_sink_note(struct pprof_sink *sink, int64_t result);

/* The strings, and the end. What is left to do is to flush the stream. */
void pprof_sink_finish(struct pprof_sink *sink);

#endif
