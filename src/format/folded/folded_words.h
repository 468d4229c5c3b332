/*
 * The text of folded stacks, taken apart: the numbers at the ends of lines, and words. Each different
 * word is looked at once, and then known by a small number with the frames that it stands for.
 */
#ifndef STOOK_FORMAT_FOLDED_FOLDED_WORDS_H
#define STOOK_FORMAT_FOLDED_FOLDED_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "profile/profile.h"

/*
 * Takes the number off the end of `STACK COUNT`, or `STACK BEFORE COUNT` of a difference, and one
 * byte of the whitespace before it: *nr is what is left. *ret_lossy becomes true if the scaled number
 * had to be rounded. False if there is none, or it is out of bounds, and then nothing is changed.
 */
bool folded_take_number(const char *text, size_t *nr, struct value_scale scale, uint64_t *ret,
			bool *ret_lossy);

/* Counts of lines by their form. */
struct folded_shape {
	size_t nr_lines;
	size_t nr_good;		  /* that end in a number */
	size_t nr_double;	  /* that end in two */
	unsigned decimals;	  /* the most that the last number of one has */
	unsigned decimals_before; /* likewise the number before it */
};

/* Looks at the lines in so many bytes; the last one need not end. Empty ones don't count. */
struct folded_shape folded_shape(const char *text, size_t nr);

/* The meaning of the mark behind a name, or of the word itself. */
enum folded_mark {
	FOLDED_PLAIN,
	FOLDED_KERNEL,
	FOLDED_RUN_TIME,
	NR_FOLDED_KINDS, /* of frames */
	FOLDED_INLINED = NR_FOLDED_KINDS,
	FOLDED_MISSED_USER,
	FOLDED_MISSED_KERNEL,
	FOLDED_DELIMITER, /* `-` */
	FOLDED_WAKER,	  /* `--` */
};

#define FOLDED_NONE	  UINT32_MAX
#define FOLDED_EMPTY_WORD 0 /* the number of the word without text */

struct folded_word {
	uint32_t nr_text;
	enum folded_mark mark;
	uint32_t name; /* the profile's string, without the mark; 0: none */
	/* What it stands for, taken for each kind; FOLDED_NONE: not asked for so far. */
	uint32_t frames[NR_FOLDED_KINDS];
	uint32_t comm; /* the profile's string, as the first word; likewise */
};

struct folded_words {
	struct profile *profile;
	struct strings *texts;
	struct folded_word *words; /* by the number of the text */
	size_t cap_words;
	uint32_t run_time_module; /* FOLDED_NONE: not needed so far */
};

int folded_words_init(struct folded_words *words, struct profile *profile); /* 0 or -ENOMEM */
void folded_words_clear(struct folded_words *words);

/* The number of a text, or -ENOMEM. */
int64_t folded_words_add(struct folded_words *words, const char *text, size_t nr);

static inline const struct folded_word *folded_word(const struct folded_words *words, uint32_t word)
{
	return &words->words[word];
}

static inline const char *folded_word_text(const struct folded_words *words, uint32_t word)
{
	return strings_get(words->texts, word);
}

/*
 * Numbers in the profile, or -ENOMEM. A frame is of a kind below NR_FOLDED_KINDS; a mark of another
 * kind is part of its name.
 */
int64_t folded_words_comm(struct folded_words *words, uint32_t number);
int64_t folded_words_frame(struct folded_words *words, uint32_t number, enum folded_mark kind);

/* The frame of the first word, into which the others were inlined, callers first. */
int64_t folded_words_inlined(struct folded_words *words, const uint32_t *chain, size_t nr,
			     enum folded_mark kind);

#endif
