/* What writing to a stream came to, and what reading it will. */
#ifndef STOOK_BASE_STREAM_H
#define STOOK_BASE_STREAM_H

#include <stdio.h>

/*
 * Flushes what was written: 0, or a negative errno if that, or any writing before it, failed. Why an
 * earlier one did is known only if errno was set to 0 before the first.
 */
int stream_finish(FILE *out);

/*
 * The next bytes, which stay to be read. Fewer than were asked for are all that there are; 0 also if
 * they can't be put back.
 */
size_t stream_peek(FILE *in, char *head, size_t nr);

#endif
