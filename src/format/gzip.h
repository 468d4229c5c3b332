/*
 * Streams in gzip's format, using zlib. The output depends only on the bytes written: the header
 * has no name and no time.
 */
#ifndef STOOK_FORMAT_GZIP_H
#define STOOK_FORMAT_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gzip_writer;

/* Compresses to out, which the caller owns. NULL when out of memory. */
struct gzip_writer *gzip_writer_new(FILE *out);
void gzip_writer_free(struct gzip_writer *writer);

/*
 * Each returns 0 or a negative errno. Without gzip_finish() the output is incomplete; out is not
 * flushed.
 */
int gzip_write(struct gzip_writer *writer, const void *bytes, size_t nr);
int gzip_finish(struct gzip_writer *writer);

/* True if a stream that begins with these bytes is compressed. */
bool gzip_is_compressed(const char *head, size_t nr);

/* Larger outputs with a higher compression ratio are rejected as decompression bombs. */
#define GZIP_MAX_RATIO	256
#define GZIP_BOMB_BYTES (64ULL << 20)

/*
 * Reads a whole stream: one or several gzip members, or uncompressed bytes, which are returned as
 * they are. The caller frees *ret. Returns 0; -EFBIG if the result exceeds max_bytes; -E2BIG if it
 * exceeds both GZIP_BOMB_BYTES and GZIP_MAX_RATIO times the compressed size; -EBADMSG if it is
 * corrupt or truncated; -ENOMEM; or the stream's errno.
 */
int gzip_read(FILE *in, size_t max_bytes, uint8_t **ret, size_t *ret_nr);

#endif
