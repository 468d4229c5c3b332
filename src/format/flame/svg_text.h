/* Texts, numbers and colours as they stand in SVG and HTML, escaped and rounded. */
#ifndef STOOK_FORMAT_FLAME_SVG_TEXT_H
#define STOOK_FORMAT_FLAME_SVG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/flame/palette.h"
#include "view/diff/comparison.h"

/* Escaped for text and attributes; what is no character that may be shown becomes U+FFFD. */
void svg_text(FILE *out, const char *text);

/* The same, of at most so many characters: what is longer ends in "..". */
void svg_text_cut(FILE *out, const char *text, size_t characters);

/* With at most so many decimals (up to 9), rounded, without zeros at the end. At least 0. */
void svg_number(FILE *out, double number, unsigned decimals);

/* With exactly so many decimals, and % behind. */
void svg_percent(FILE *out, double share, unsigned decimals);

void svg_color(FILE *out, struct color color);

/* True if the names of both compared files are known; style may be NULL. */
bool compared_names_known(const struct comparison_style *style);

/* "old.pb.gz → new.pb.gz", escaped for XML and HTML. Both names must be known. */
void compared_names_write(const struct comparison_style *style, FILE *out);

#endif
