/*
 * Compressed streams: gzip's format by zlib. What is written depends on nothing but the bytes that
 * were given: the header has no name and no time.
 */
#ifndef STOOK_BASE_GZIP_H
#define STOOK_BASE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gzip_writer;

/* Writes to out, which stays the caller's. NULL when out of memory. */
struct gzip_writer *gzip_writer_new(FILE *out);
void gzip_writer_free(struct gzip_writer *writer);

/* Each 0 or a negative errno. What was not finished is not whole; out is not flushed. */
int gzip_write(struct gzip_writer *writer, const void *bytes, size_t nr);
int gzip_finish(struct gzip_writer *writer);

/* True if a stream that begins with these bytes is compressed. */
bool gzip_is_it(const char *head, size_t nr);

/* Beyond so many bytes, what inflates to so many times its size is none of our data. */
#define GZIP_MAX_RATIO	256
#define GZIP_BOMB_BYTES (64ULL << 20)

/*
 * Reads all of a stream, of one or several gzip members, or not compressed at all: then its bytes
 * as they are. The caller frees *ret. 0; -EFBIG if it would be more than max_bytes; -E2BIG if it is
 * more than GZIP_BOMB_BYTES and GZIP_MAX_RATIO times what it was inflated from; -EBADMSG if it is
 * damaged or cut off; -ENOMEM; or the stream's errno.
 */
int gzip_read(FILE *in, size_t max_bytes, uint8_t **ret, size_t *ret_nr);

#endif
