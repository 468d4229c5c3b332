/* Texts, numbers and colours for SVG and HTML, escaped and rounded. */
#ifndef STOOK_FORMAT_FLAME_SVG_TEXT_H
#define STOOK_FORMAT_FLAME_SVG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/flame/palette.h"
#include "view/diff/comparison.h"

/* Writes text escaped for content and attributes; invalid characters become U+FFFD. */
void svg_text(FILE *out, const char *text);

/* Like svg_text(), with at most this many characters: longer texts end in "..". */
void svg_text_cut(FILE *out, const char *text, size_t characters);

/* Writes a number >= 0, rounded to at most 9 decimals, without trailing zeros. */
void svg_number(FILE *out, double number, unsigned decimals);

/* Writes a share as a percentage with exactly this many decimals. */
void svg_percent(FILE *out, double share, unsigned decimals);

void svg_color(FILE *out, struct color color);

/* True if the names of both compared files are known; style may be NULL. */
bool compared_names_known(const struct comparison_style *style);

/* "old.pb.gz → new.pb.gz", escaped for XML and HTML. Both names must be known. */
void compared_names_write(const struct comparison_style *style, FILE *out);

#endif
