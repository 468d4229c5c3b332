/* Strings in JSON. */
#ifndef STOOK_FORMAT_TEXT_JSON_H
#define STOOK_FORMAT_TEXT_JSON_H

#include <stdio.h>

/*
 * Writes text in quotation marks, escaped; null for NULL. Each invalid byte of UTF-8 becomes
 * U+FFFD, so that the output is valid JSON whatever the names of functions are. Characters that are
 * unsafe for terminals (base/text.h) are escaped.
 */
void json_write_string(FILE *out, const char *text);

#endif
