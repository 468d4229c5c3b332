/*
 * zlib allocates with this program's calloc(), so that tests can make it fail. Reading checks the
 * first two bytes for gzip's magic number; consecutive members are one stream, as in gzip. The
 * output buffer doubles up to the limit, so a small input that expands to gigabytes costs no more
 * memory than the limit. Typical data compresses to a tenth, very repetitive lists to a hundredth;
 * deflate's maximum is a thousandth, for one byte repeated.
 */
#include "format/gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cleanup.h"

#define CHUNK_BYTES  65536
#define GZIP_WINDOW  (MAX_WBITS + 16) /* gzip's header and checksum instead of zlib's */
#define MEMORY_LEVEL 8

struct gzip_writer {
	FILE *out;
	z_stream stream;
	uint8_t chunk[CHUNK_BYTES];
};

static void *allocate(void *context, unsigned nr, unsigned bytes)
{
	return calloc(nr, bytes);
}

static void release(void *context, void *memory)
{
	free(memory);
}

/* --- writing -----------------------------------------------------------------------------------
 */

struct gzip_writer *gzip_writer_new(FILE *out)
{
	struct gzip_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->out = out;
	writer->stream.zalloc = allocate;
	writer->stream.zfree = release;
	if (deflateInit2(&writer->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
			 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(writer);
		return NULL;
	}
	return writer;
}

void gzip_writer_free(struct gzip_writer *writer)
{
	if (!writer)
		return;
	(void)deflateEnd(&writer->stream);
	free(writer);
}

/* Compresses the input given to the stream. zlib can't fail here; writing can. */
static int drain(struct gzip_writer *writer, int flush)
{
	size_t nr;

	do {
		writer->stream.next_out = writer->chunk;
		writer->stream.avail_out = CHUNK_BYTES;
		if (deflate(&writer->stream, flush) == Z_STREAM_ERROR)
			return -EINVAL;
		nr = CHUNK_BYTES - writer->stream.avail_out;
		errno = 0;
		if (fwrite(writer->chunk, 1, nr, writer->out) != nr)
			return errno ? -errno : -EIO;
	} while (!writer->stream.avail_out);
	return 0;
}

int gzip_write(struct gzip_writer *writer, const void *bytes, size_t nr)
{
	const uint8_t *from = bytes;
	int result = 0;

	while (nr && !result) {
		uInt part = nr < UINT32_MAX / 2 ? (uInt)nr : UINT32_MAX / 2;

		writer->stream.next_in = (uint8_t *)from;
		writer->stream.avail_in = part;
		result = drain(writer, Z_NO_FLUSH);
		from += part;
		nr -= part;
	}
	return result;
}

int gzip_finish(struct gzip_writer *writer)
{
	writer->stream.next_in = NULL;
	writer->stream.avail_in = 0;
	return drain(writer, Z_FINISH);
}

/* --- reading -----------------------------------------------------------------------------------
 */

struct reader {
	FILE *in;
	z_stream stream;
	bool is_inflating; /* the zlib stream is initialised */
	bool is_between;   /* at the end of a member: the input may end here */
	uint8_t *bytes;
	size_t nr, cap, max;
	uint64_t nr_read; /* compressed */
	uint8_t chunk[CHUNK_BYTES];
};

bool gzip_is_compressed(const char *head, size_t nr)
{
	return nr >= 2 && head[0] == '\x1f' && head[1] == '\x8b';
}

/* Reads the next chunk: returns its size, 0 at the end of the file, or the stream's errno. */
static int64_t read_chunk(struct reader *reader)
{
	size_t nr;

	errno = 0;
	nr = fread(reader->chunk, 1, CHUNK_BYTES, reader->in);
	if (ferror(reader->in))
		return errno ? -errno : -EIO;
	return (int64_t)nr;
}

/* One byte over the limit is allowed, to distinguish reaching the limit from exceeding it. */
static int make_room(struct reader *reader)
{
	if (reader->nr > reader->max)
		return -EFBIG;
	return ARRAY_RESERVE(reader->bytes, reader->cap, reader->nr + 1);
}

static int copy_chunk(struct reader *reader, size_t nr)
{
	if (nr > reader->max - reader->nr)
		return -EFBIG;
	if (ARRAY_RESERVE(reader->bytes, reader->cap, reader->nr + nr + 1) < 0)
		return -ENOMEM;
	memcpy(reader->bytes + reader->nr, reader->chunk, nr);
	reader->nr += nr;
	return 0;
}

static bool is_bomb(const struct reader *reader)
{
	return reader->nr > GZIP_BOMB_BYTES && reader->nr / GZIP_MAX_RATIO > reader->nr_read;
}

static int inflate_some(struct reader *reader)
{
	z_stream *stream = &reader->stream;
	size_t room, wanted = reader->max - reader->nr;
	int result;

	room = reader->cap - reader->nr;
	room = room <= wanted ? room : wanted + 1;
	room = room < UINT32_MAX / 2 ? room : UINT32_MAX / 2;
	stream->next_out = reader->bytes + reader->nr;
	stream->avail_out = (uInt)room;
	result = inflate(stream, Z_NO_FLUSH);
	reader->nr += room - stream->avail_out;
	reader->is_between = result == Z_STREAM_END;
	if (is_bomb(reader))
		return -E2BIG;
	if (result == Z_STREAM_END)
		return inflateReset(stream) == Z_OK ? 0 : -EINVAL;
	if (result == Z_MEM_ERROR)
		return -ENOMEM;
	return result == Z_OK || result == Z_BUF_ERROR ? 0 : -EBADMSG;
}

static int inflate_chunk(struct reader *reader, size_t nr)
{
	bool is_full = false;
	int result = 0;

	reader->stream.next_in = reader->chunk;
	reader->stream.avail_in = (uInt)nr;
	reader->nr_read += nr;
	while ((reader->stream.avail_in || is_full) && !result) {
		result = make_room(reader);
		if (!result)
			result = inflate_some(reader);
		/* The output buffer was full, so zlib may have more output. */
		is_full = !reader->stream.avail_out && !reader->is_between;
	}
	if (!result && reader->nr > reader->max)
		return -EFBIG;
	return result;
}

static int start(struct reader *reader, size_t nr)
{
	if (!gzip_is_compressed((const char *)reader->chunk, nr))
		return 0;
	reader->stream.zalloc = allocate;
	reader->stream.zfree = release;
	if (inflateInit2(&reader->stream, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	reader->is_inflating = true;
	return 0;
}

static int read_all(struct reader *reader)
{
	int64_t nr = read_chunk(reader);
	int result = nr < 0 ? (int)nr : start(reader, (size_t)nr);

	while (nr > 0 && !result) {
		result = reader->is_inflating ? inflate_chunk(reader, (size_t)nr)
					      : copy_chunk(reader, (size_t)nr);
		if (!result)
			nr = read_chunk(reader);
	}
	if (!result && nr < 0)
		return (int)nr;
	if (!result && reader->is_inflating && !reader->is_between)
		return -EBADMSG;
	return result;
}

int gzip_read(FILE *in, size_t max_bytes, uint8_t **ret, size_t *ret_nr)
{
	cleanup_free struct reader *reader = calloc(1, sizeof(*reader));
	int result;

	if (!reader)
		return -ENOMEM;
	reader->in = in;
	reader->max = max_bytes;
	result = read_all(reader);
	if (reader->is_inflating)
		(void)inflateEnd(&reader->stream);
	if (!result)
		result = make_room(reader); /* so that it is not NULL even for an empty input */
	if (result) {
		free(reader->bytes);
		return result;
	}
	*ret = reader->bytes;
	*ret_nr = reader->nr;
	return 0;
}
