/*
 * A profile's stacks for people: names instead of addresses, root first, preceded by labels. Each
 * label and each function is a *word*; stacks with the same words are merged, even if their
 * addresses differ.
 *
 * Words are interned, so merging and comparing stacks compares numbers. Number 0 means "no word".
 */
#ifndef STOOK_VIEW_NAMED_STACKS_H
#define STOOK_VIEW_NAMED_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strings.h"
#include "profile/profile.h"
#include "profile/stack_table.h"

/*
 * Limit on the memory of words: even a small file may have one long name at a million source lines,
 * each of which would be a word of its own.
 */
#define NAMED_STACKS_MAX_BYTES (2ULL << 30)

/* Suffixes of function names by kind; the first kind that applies is used. NULL: none. */
struct named_stacks_suffixes {
	const char *inlined;
	const char *kernel;
	const char *run_time; /* JIT-compiled code */
};

struct named_stacks_style {
	unsigned labels; /* enum label bits; see named_stacks_init() for the words */
	struct named_stacks_suffixes suffixes;
	const char *delimiter; /* a word between user and kernel part; NULL: none */
	char separator;	       /* between words in the output; replaced by ':' in names; 0: none */
	bool is_safe;	       /* make words safe to print on a terminal (base/text.h) */
	bool no_user;	       /* user stacks were not requested: none is "missed" */
	bool no_kernel;
	bool show_modules;   /* `[unknown] (libfoo.so)` for functions without a name */
	bool fold_recursion; /* a function that calls itself becomes one word */
	bool lines;	     /* source lines after names, if known */
	bool by_origin;	   /* distinguish equal texts of different kinds or homes (view/homes.h) */
	bool keep_modules; /* with by_origin: in a difference, use the function's own module */
	bool reverse;	   /* leaf first, labels last */
	bool keep_order; /* stacks are in the order of the samples: only neighbours that are equal become one */
	bool with_slices;   /* also keep counts by time slice */
	size_t other_value; /* number of a second value to sum in others; 0: none */
};

enum word_kind {
	WORD_LABEL, /* a thread's name, a cgroup, … */
	WORD_USER,
	WORD_KERNEL,
	WORD_INLINED,
	WORD_RUN_TIME, /* JIT-compiled code */
	WORD_MISSED,   /* placeholder for a stack that could not be read */
	NR_WORD_KINDS,
};

/*
 * The origin of a word: with by_origin the common one of all its frames, else the first frame's.
 * In a difference, words of different kinds of functions are merged: kind is the first frame's.
 */
struct word_info {
	uint32_t text;	   /* number in texts */
	uint32_t function; /* the profile's string; 0: no name, or no function */
	uint32_t module;   /* with by_origin the home; MODULE_NR_UNKNOWN if it is not a frame */
	enum word_kind kind;
};

struct named_stacks {
	struct strings *texts;
	struct word_info *words; /* by number */
	size_t nr_words, cap_words;
	struct number_index word_index;
	struct stack_table stacks; /* of words, root first */
	char separator;		   /* the style's */
	uint64_t *counts;	   /* by number of the stack */
	uint64_t *others;	   /* by number of the stack, of other_value; NULL without one */
	struct u64_map slices;	   /* stack << 32 | slice -> count; empty without with_slices */
	size_t cap_counts, cap_others;
	size_t nr_labels; /* number of words at the start of each stack that are labels */
	uint64_t total, others_total;
	struct u64_map recursive; /* words that were folded */
};

/*
 * Names all samples. The words of labels, if requested, are in this order:
 *
 *	COMM-PID/TID	as stackcollapse-perf.pl writes it with --tid; COMM-PID as with --pid;
 *			without LABEL_COMM `pid PID` and `tid TID`
 *	cgroup PATH
 *	probe NAME
 *	cpu NUMBER
 *	KEY TEXT, …	all labels with other keys; `[no label]` without any
 *
 * A frame with lines is one word per inlined function, callers first; with the style's lines, a
 * word is `FUNCTION FILE.c:LINE` if the source is known.
 *
 * A missing name is `[unknown]`, `[deleted]` if the file no longer existed, or `[unreadable]`
 * if it could not be read. A requested stack that could not be read is `[Missed User Stack]`
 * or `[Missed Kernel Stack]`. Control characters in names become `?`.
 *
 * 0 or -ENOMEM, also past NAMED_STACKS_MAX_BYTES. The profile is not used afterwards.
 */
int named_stacks_init(struct named_stacks *stacks, const struct profile *profile,
		      const struct named_stacks_style *style);
void named_stacks_clear(struct named_stacks *stacks);

/* Returns the text for functions without a name in this module. */
const char *named_stacks_no_name(const struct profile *profile, uint32_t module);

size_t named_stacks_nr(const struct named_stacks *stacks);
const uint32_t *named_stacks_get(const struct named_stacks *stacks, uint32_t stack, size_t *ret_nr);
const char *named_stacks_word(const struct named_stacks *stacks, uint32_t word);
const struct word_info *named_stacks_info(const struct named_stacks *stacks, uint32_t word);

/*
 * Compares two stacks as texts, with the style's separator between words. Different words with the
 * same text are equal here.
 */
int named_stacks_compare(const struct named_stacks *stacks, uint32_t a, uint32_t b);

/* True if the function calls itself in some stack; known only with fold_recursion. */
bool named_stacks_is_recursive(const struct named_stacks *stacks, uint32_t word);

#endif
