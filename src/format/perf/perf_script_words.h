/*
 * The values of a profile as events of perf script text: one word each, and no two the same. The
 * count goes by the event that was sampled, whether it is a number of samples or its sum; others go
 * by their type, and where that is a word that is taken, with a number behind it: `cpu~2`.
 *
 * Used by perf_script_write.c and perf_script_comments.c.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_WORDS_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_WORDS_H

#include <stddef.h>
#include <stdio.h>

#include "profile/profile.h"

struct perf_words {
	const char *texts[PROFILE_MAX_VALUES];	   /* by the number of the value */
	unsigned char numbers[PROFILE_MAX_VALUES]; /* 0: none */
	size_t nr;
};

/* Texts are the profile's. */
void perf_words_init(struct perf_words *words, const struct profile *profile);

void perf_words_put(const struct perf_words *words, size_t value, FILE *out);

/* A text of several words, as one. */
void perf_words_put_text(const char *text, FILE *out);

#endif
