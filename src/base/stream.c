/* See stream.h. A stream keeps that it failed, but not why: errno does, until something else fails. */
#include "base/stream.h"

#include <errno.h>
#include <stdbool.h>

int stream_finish(FILE *out)
{
	if (ferror(out) || fflush(out) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

/* glibc's streams take back as much as was read of them; of others' only the first byte is sure. */
static bool put_back(const char *head, size_t nr, FILE *in)
{
	while (nr && ungetc((unsigned char)head[nr - 1], in) != EOF)
		nr--;
	return !nr;
}

size_t stream_peek(FILE *in, char *head, size_t nr)
{
	size_t nr_read = 0;
	int byte;

	while (nr_read < nr && (byte = getc_unlocked(in)) != EOF)
		head[nr_read++] = (char)byte;
	clearerr(in);
	return put_back(head, nr_read, in) ? nr_read : 0;
}
