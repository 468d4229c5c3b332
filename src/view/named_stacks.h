/*
 * A profile's stacks as people read them: by names instead of addresses, root first, with the
 * labels in front. Each label and each frame is a *word*; stacks whose words are the same are one
 * stack, however many addresses they had.
 *
 * Words are interned, so merging and comparing stacks means comparing numbers. Word 0 is no word.
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
 * Words take no more memory than this: a small file may have one long name at a million places in
 * the source, each of which would be a word of its own.
 */
#define NAMED_STACKS_MAX_BYTES (2ULL << 30)

/* Suffixes of functions' names by their kind; the first that fits is taken. NULL: none. */
struct named_stacks_suffixes {
	const char *inlined;
	const char *kernel;
	const char *run_time; /* JIT-compiled code */
};

struct named_stacks_style {
	unsigned labels; /* enum label bits; see named_stacks_init() for the words */
	struct named_stacks_suffixes suffixes;
	const char *delimiter; /* a word between user and kernel part; NULL: none */
	char separator;	       /* what stands between words, so ':' replaces it in names; or 0 */
	bool is_safe;	       /* words may be sent to a terminal (base/text.h) */
	bool no_user;	       /* user stacks were not asked for: none is "missed" */
	bool no_kernel;
	bool show_modules;   /* `[unknown] (libfoo.so)` for what has no name */
	bool fold_recursion; /* a function that calls itself is one word, not many */
	bool lines;	     /* source lines behind names, where they are known */
	bool tell_apart;     /* words of other kinds or homes (view/homes.h) are other words */
	bool keep_modules; /* with tell_apart: of a difference, too, functions stay in their modules */
	bool reverse;	   /* leaf first, the labels last */
	bool with_slices;   /* counts are kept by slice of time, too */
	size_t other_value; /* values of this number are added up in others; 0: not wanted */
};

enum word_kind {
	WORD_LABEL, /* a thread's name, a cgroup, … */
	WORD_USER,
	WORD_KERNEL,
	WORD_INLINED,
	WORD_RUN_TIME, /* JIT-compiled code */
	WORD_MISSED,   /* stands for a stack that could not be read */
	NR_WORD_KINDS,
};

/*
 * The origin of a word: with tell_apart that of all its frames, else that of the first one. In a
 * difference, kinds of functions are no origin: the first frame's is told.
 */
struct word_info {
	uint32_t text;	   /* its number in texts */
	uint32_t function; /* the profile's string; 0: no name, or no function */
	uint32_t module;   /* with tell_apart the home; of what is no frame MODULE_NR_UNKNOWN */
	enum word_kind kind;
};

struct named_stacks {
	struct strings *texts;
	struct word_info *words; /* by number */
	size_t nr_words, cap_words;
	struct number_index word_index;
	struct stack_table stacks; /* of words, root first */
	char separator;		   /* the style's */
	uint64_t *counts;	   /* by the number of the stack */
	uint64_t *others;	   /* likewise, of the other value; NULL unless it is wanted */
	struct u64_map slices; /* by stack << 32 | slice: the count in it; empty unless wanted */
	size_t cap_counts, cap_others;
	size_t nr_labels; /* so many words of each stack are labels: the first ones */
	uint64_t total, others_total;
	struct u64_map recursive; /* words that were folded */
};

/*
 * Names all samples. The words of labels are, in this order and as far as asked for:
 *
 *	COMM-PID/TID	as stackcollapse-perf.pl writes it with --tid; COMM-PID as with --pid;
 *			without LABEL_COMM `pid PID` and `tid TID`
 *	cgroup PATH
 *	probe NAME
 *	cpu NUMBER
 *
 * A frame with lines is a word for each function that was inlined there, callers first; with the
 * style's lines it is `FUNCTION FILE.c:LINE`, where the source is known.
 *
 * A name that is missing is `[unknown]`, `[deleted]` if the file was gone, or `[unreadable]` if it
 * may not be read; a stack that should be there but could not be read is `[Missed User Stack]` or
 * `[Missed Kernel Stack]`.
 * Control characters in names become `?`.
 *
 * 0 or -ENOMEM, also where words take too much. The profile is not needed any more afterwards.
 */
int named_stacks_init(struct named_stacks *stacks, const struct profile *profile,
		      const struct named_stacks_style *style);
void named_stacks_clear(struct named_stacks *stacks);

/* The text shown for functions of this module that have no name. */
const char *named_stacks_no_name(const struct profile *profile, uint32_t module);

size_t named_stacks_nr(const struct named_stacks *stacks);
const uint32_t *named_stacks_get(const struct named_stacks *stacks, uint32_t stack, size_t *ret_nr);
const char *named_stacks_word(const struct named_stacks *stacks, uint32_t word);
const struct word_info *named_stacks_info(const struct named_stacks *stacks, uint32_t word);

/*
 * The order of two stacks as texts, in which each word but the last is followed by the style's
 * separator. Words that are told apart and read the same are the same here.
 */
int named_stacks_compare(const struct named_stacks *stacks, uint32_t a, uint32_t b);

/* True if the function calls itself in some stack; known only with fold_recursion. */
bool named_stacks_is_recursive(const struct named_stacks *stacks, uint32_t word);

#endif
