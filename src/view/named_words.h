/*
 * The words that a profile's labels and frames are, for named stacks: texts put together as the style
 * says, and interned.
 *
 * Running out of memory is noted once, in `error`, and everything after it does nothing.
 *
 * Used by named_stacks.c alone.
 */
#ifndef STOOK_VIEW_NAMED_WORDS_H
#define STOOK_VIEW_NAMED_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "view/named_stacks.h"

struct frame_words {
	uint32_t first; /* in words, callers first */
	uint32_t nr;	/* 0: not needed so far */
};

struct named_words {
	const struct profile *profile;
	const struct named_stacks_style *style;
	struct named_stacks *stacks; /* which own the words */
	struct frame_words *words_of_frame;
	uint32_t *words; /* of frames */
	size_t nr_words, cap_words;
	char *text; /* the word being written */
	size_t nr_text, cap_text;
	int error;
};

/* 0 or -ENOMEM; to be cleared in each case. */
int named_words_init(struct named_words *named, const struct profile *profile,
		     const struct named_stacks_style *style, struct named_stacks *stacks);
void named_words_clear(struct named_words *named);

/* Words of labels: the thread; `WHAT NUMBER`; `WHAT TEXT`, or `[unknown]` for an empty text. */
uint32_t named_words_thread(struct named_words *named, const struct sample_labels *labels);
uint32_t named_words_number(struct named_words *named, const char *what, int32_t number);
uint32_t named_words_text(struct named_words *named, const char *what, const char *text);

/* What stands for a stack that could not be read. */
uint32_t named_words_missed(struct named_words *named, const char *text);

/* Of a frame, callers first; mostly one. Good until the next call. */
const uint32_t *named_words_of_frame(struct named_words *named, uint32_t number, size_t *ret_nr);

#endif
