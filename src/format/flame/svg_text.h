/* What the SVG writer's files put into attributes and between tags. */
#ifndef STOOK_FORMAT_FLAME_SVG_TEXT_H
#define STOOK_FORMAT_FLAME_SVG_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/flame/palette.h"

/* Escaped for text and attributes; what is no character that may be shown becomes U+FFFD. */
void svg_text(FILE *out, const char *text);

/* The same, of at most so many characters: what is longer ends in "..". */
void svg_text_cut(FILE *out, const char *text, size_t characters);

/* With at most so many decimals (up to 9), rounded, without zeros at the end. At least 0. */
void svg_number(FILE *out, double number, unsigned decimals);

/* With exactly so many decimals, and % behind. */
void svg_percent(FILE *out, double share, unsigned decimals);

void svg_color(FILE *out, struct color color);

#endif
