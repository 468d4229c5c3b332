/* Texts as JSON has them. */
#ifndef STOOK_FORMAT_TEXT_JSON_H
#define STOOK_FORMAT_TEXT_JSON_H

#include <stdio.h>

/*
 * Writes text in quotation marks, escaped; null for NULL. What is no UTF-8 becomes U+FFFD, a byte
 * each, so that the output is JSON whatever a target calls its functions. What a terminal must not be
 * sent (base/text.h) is escaped.
 */
void json_write_string(FILE *out, const char *text);

#endif
