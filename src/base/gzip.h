/*
 * Compressed streams: gzip's format by zlib. What is written depends on nothing but the bytes that
 * were given: the header has no name and no time.
 */
#ifndef STOOK_BASE_GZIP_H
#define STOOK_BASE_GZIP_H

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

/*
 * Reads all of a stream, of one or several gzip members, or not compressed at all: then its bytes
 * as they are. The caller frees *ret. 0; -EFBIG if it would be more than max_bytes; -EBADMSG if it
 * is damaged or cut off; -ENOMEM; or the stream's errno.
 */
int gzip_read(FILE *in, size_t max_bytes, uint8_t **ret, size_t *ret_nr);

#endif
