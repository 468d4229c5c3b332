/* See stream.h. A stream keeps that it failed, but not why: errno does, until something else fails. */
#include "base/stream.h"

#include <errno.h>

int stream_finish(FILE *out)
{
	if (ferror(out) || fflush(out) != 0)
		return errno ? -errno : -EIO;
	return 0;
}
