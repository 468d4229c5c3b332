/*
 * Texts as Markdown has them, in its tables too: whatever a target calls its functions stays text.
 */
#ifndef STOOK_FORMAT_TEXT_MARKDOWN_TEXT_H
#define STOOK_FORMAT_TEXT_MARKDOWN_TEXT_H

#include <stdio.h>

/*
 * A name without control characters, cut where it is longer than a reader would read: to be freed;
 * NULL when out of memory.
 */
char *markdown_clean_name(const char *name);

/* Such a name in a code span. 0 or -ENOMEM. */
int markdown_write_code(FILE *out, const char *name);

/* Words of a sentence. */
void markdown_write_words(FILE *out, const char *text);

#endif
