/* See pprof_sink.h. */
#include "format/pprof/pprof_sink.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/pprof/pprof_fields.h"
#include "format/pprof/pprof_text.h"

#define FLUSH_BYTES 65536

void pprof_sink_note(struct pprof_sink *sink, int64_t result)
{
	if (result < 0 && !sink->error)
		sink->error = (int)result;
}

static void flush(struct pprof_sink *sink)
{
	if (sink->file.failed)
		pprof_sink_note(sink, -ENOMEM);
	if (!sink->error)
		pprof_sink_note(sink, gzip_write(sink->gzip, sink->file.bytes, sink->file.nr));
	protobuf_reset(&sink->file);
}

void pprof_sink_message(struct pprof_sink *sink, uint32_t field)
{
	protobuf_message(&sink->file, field, &sink->message);
	protobuf_reset(&sink->message);
	if (sink->file.nr >= FLUSH_BYTES)
		flush(sink);
}

void pprof_sink_part(struct pprof_sink *sink, uint32_t field)
{
	protobuf_message(&sink->message, field, &sink->part);
	protobuf_reset(&sink->part);
}

static int64_t add_string(struct pprof_sink *sink, const char *text, size_t nr)
{
	cleanup_free char *repaired = NULL;

	if (pprof_text_is_plain(text, nr))
		return strings_add_bytes(sink->strings, text, nr);
	repaired = pprof_text_repaired(text, nr);
	return repaired ? strings_add(sink->strings, repaired) : -ENOMEM;
}

uint64_t pprof_sink_string_bytes(struct pprof_sink *sink, const char *text, size_t nr)
{
	int64_t number = add_string(sink, text, nr);

	pprof_sink_note(sink, number);
	return number < 0 ? 0 : (uint64_t)number;
}

uint64_t pprof_sink_string(struct pprof_sink *sink, const char *text)
{
	return pprof_sink_string_bytes(sink, text, strlen(text));
}

void pprof_sink_finish(struct pprof_sink *sink)
{
	uint32_t i;

	for (i = 0; i < strings_nr(sink->strings) && !sink->error; i++) {
		protobuf_text(&sink->file, PROFILE_STRING_TABLE, strings_get(sink->strings, i));
		if (sink->file.nr >= FLUSH_BYTES)
			flush(sink);
	}
	flush(sink);
	if (!sink->error)
		pprof_sink_note(sink, gzip_finish(sink->gzip));
}

int pprof_sink_init(struct pprof_sink *sink, FILE *out)
{
	*sink = (struct pprof_sink){.strings = strings_new(), .gzip = gzip_writer_new(out)};
	if (sink->strings && sink->gzip)
		return 0;
	pprof_sink_clear(sink);
	return -ENOMEM;
}

void pprof_sink_clear(struct pprof_sink *sink)
{
	protobuf_clear(&sink->file);
	protobuf_clear(&sink->message);
	protobuf_clear(&sink->part);
	strings_free(sink->strings);
	gzip_writer_free(sink->gzip);
	*sink = (struct pprof_sink){0};
}
