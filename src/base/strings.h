/*
 * Interned strings: each text is stored once and identified by a small number, so that comparing
 * strings is comparing numbers. Number 0 is always the empty string.
 */
#ifndef STOOK_BASE_STRINGS_H
#define STOOK_BASE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct strings;

struct strings *strings_new(void); /* NULL when out of memory */
void strings_free(struct strings *strings);

/* Interns text (copied), which may be part of an interned one; returns its number, or -ENOMEM. */
int64_t strings_add(struct strings *strings, const char *text);
int64_t strings_add_bytes(struct strings *strings, const char *bytes, size_t nr);

/* The text of a number returned by strings_add(); valid until the next add. */
const char *strings_get(const struct strings *strings, uint32_t number);

uint32_t strings_nr(const struct strings *strings);
size_t strings_bytes(const struct strings *strings); /* memory held */

#endif
