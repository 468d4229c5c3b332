/*
 * A glob is in several states at once: in all that the bytes so far may have led to. Such a set is
 * one bit a state, and a byte of a name leads from one set to the next.
 *
 * Names come by the hundred thousand, so the sets that can be reached are numbered beforehand, with
 * a table that tells the next from a set's number and the byte: a few steps then tell most names
 * off. Globs for which that table grows too large (`*a????????????` has 8,192 sets) go without it,
 * and their sets are made anew for each name. Either way no name takes more steps than it has
 * bytes.
 */
#include "probe/find/glob_walk.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"

#define WORD_BITS      64
#define WORDS_MAX      ((GLOB_STATES_MAX + WORD_BITS - 1) / WORD_BITS)
#define NR_BYTE_VALUES 256

/* What a table may take: room in a cache, and time to make it. A hundred names need 3,000 sets. */
#define TABLE_SETS_MAX	  4096
#define TABLE_ENTRIES_MAX 262144
#define TABLE_WORK_MAX	  10000000 /* words and states looked at: some 50 ms */
#define NR_BUCKETS	  (2 * TABLE_SETS_MAX)

/* The first two numbers of sets: no name can fit any more; every name does, whatever follows. */
enum { SET_DEAD, SET_ALL, SET_FIRST };

struct glob_walk {
	struct glob glob;
	size_t nr_words;
	uint64_t *last; /* states with which a name may end, following the steps without a byte */
	uint64_t *all;	/* states from which a star takes whatever follows */
	/* The table; next is NULL without one. */
	uint16_t *next; /* by set's number and class of byte */
	uint8_t class_of[NR_BYTE_VALUES];
	size_t nr_classes;
	size_t nr_sets;
	bool fits[TABLE_SETS_MAX]; /* by set's number */
};

static bool has(const uint64_t *set, size_t state)
{
	return set[state / WORD_BITS] >> state % WORD_BITS & 1;
}

static void add(uint64_t *set, size_t state)
{
	set[state / WORD_BITS] |= 1ULL << state % WORD_BITS;
}

static bool has_common(const struct glob_walk *walk, const uint64_t *a, const uint64_t *b)
{
	size_t i;

	for (i = 0; i < walk->nr_words; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Adds to `from` where the state leads without a byte, to `to` where it leads with this one. */
static void step_state(const struct glob *glob, size_t state, uint8_t byte, uint64_t *from,
		       uint64_t *to)
{
	const struct glob_state *at = &glob->states[state];

	switch (at->kind) {
	case GLOB_FORK:
		add(from, state + 1);
		add(from, at->to);
		break;
	case GLOB_JUMP:
		add(from, at->to);
		break;
	case GLOB_STAR:
		add(from, state + 1);
		add(to, state);
		break;
	default:
		if (glob_takes(glob, state, byte))
			add(to, state + 1);
	}
}

/*
 * From one set to the next; false when nothing is left. States lead forward only: what is added to
 * `from` on the way is still ahead.
 */
static bool step(const struct glob_walk *walk, uint64_t *from, uint8_t byte, uint64_t *to)
{
	uint64_t any = 0;
	size_t i;

	memset(to, 0, walk->nr_words * sizeof(*to));
	for (i = 0; i < walk->nr_words; i++) {
		uint64_t done = 0;

		while (from[i] & ~done) {
			unsigned bit = (unsigned)__builtin_ctzll(from[i] & ~done);

			done |= 1ULL << bit;
			step_state(&walk->glob, i * WORD_BITS + bit, byte, from, to);
		}
	}
	for (i = 0; i < walk->nr_words; i++)
		any |= to[i];
	return any;
}

static bool fits_by_steps(const struct glob_walk *walk, const char *name)
{
	uint64_t sets[2][WORDS_MAX];
	unsigned at = 0;

	memset(sets[0], 0, walk->nr_words * sizeof(sets[0][0]));
	add(sets[0], 0);
	for (;; name++, at ^= 1) {
		if (has_common(walk, sets[at], walk->all))
			return true;
		if (!*name)
			return has_common(walk, sets[at], walk->last);
		if (!step(walk, sets[at], (uint8_t)*name, sets[at ^ 1]))
			return false;
	}
}

/* From the end backwards, as states lead forward only. */
static void find_ends(struct glob_walk *walk)
{
	size_t state = walk->glob.nr_states;

	while (state-- > 0) {
		const struct glob_state *at = &walk->glob.states[state];
		bool goes_on = at->kind == GLOB_STAR || at->kind == GLOB_FORK;
		bool goes_to = at->kind == GLOB_JUMP || at->kind == GLOB_FORK;

		if (at->kind == GLOB_END || (goes_on && has(walk->last, state + 1)) ||
		    (goes_to && has(walk->last, at->to)))
			add(walk->last, state);
		if ((at->kind == GLOB_STAR && has(walk->last, state)) ||
		    (goes_on && has(walk->all, state + 1)) || (goes_to && has(walk->all, at->to)))
			add(walk->all, state);
	}
}

/* --- the table -------------------------------------------------------------------------------- */

/* Sets that are numbered already, while a table is made. */
struct numbered {
	uint64_t *sets; /* by number, nr_words each */
	size_t work;
	uint16_t buckets[NR_BUCKETS]; /* by hash: number + 1; 0 is free */
};

/*
 * Tells apart the bytes of each class that the state takes and that it doesn't; in order of bytes.
 */
static void split_classes(struct glob_walk *walk, size_t state)
{
	int16_t numbers[NR_BYTE_VALUES][2]; /* by class and whether the state takes the byte */
	size_t byte;

	memset(numbers, -1, sizeof(numbers));
	walk->nr_classes = 0;
	for (byte = 0; byte < NR_BYTE_VALUES; byte++) {
		bool takes = glob_takes(&walk->glob, state, (uint8_t)byte);
		int16_t *number = &numbers[walk->class_of[byte]][takes];

		if (*number < 0)
			*number = (int16_t)walk->nr_classes++;
		walk->class_of[byte] = (uint8_t)*number;
	}
}

/* Bytes that all states take alike are of one class. */
static void find_classes(struct glob_walk *walk)
{
	const struct glob *glob = &walk->glob;
	size_t state;

	walk->nr_classes = 1;
	for (state = 0; state < glob->nr_states; state++)
		if (glob->states[state].kind == GLOB_BYTE || glob->states[state].kind == GLOB_SET)
			split_classes(walk, state);
}

/* The set's number, given now if it has none; -1 when there are too many. */
static int number_of(struct glob_walk *walk, struct numbered *numbered, const uint64_t *set)
{
	size_t bytes = walk->nr_words * sizeof(*set), number = walk->nr_sets;
	size_t bucket = hash_key(set, bytes) % NR_BUCKETS;

	if (has_common(walk, set, walk->all))
		return SET_ALL;
	for (; numbered->buckets[bucket]; bucket = (bucket + 1) % NR_BUCKETS) {
		size_t other = numbered->buckets[bucket] - 1U;

		if (!memcmp(numbered->sets + other * walk->nr_words, set, bytes))
			return (int)other;
	}
	if (number == TABLE_SETS_MAX || (number + 1) * walk->nr_classes > TABLE_ENTRIES_MAX)
		return -1;
	numbered->buckets[bucket] = (uint16_t)(number + 1);
	memcpy(numbered->sets + number * walk->nr_words, set, bytes);
	walk->fits[number] = has_common(walk, set, walk->last);
	walk->nr_sets++;
	return (int)number;
}

/* What the step took that has closed this set. */
static size_t work_of(const struct glob_walk *walk, const uint64_t *set)
{
	size_t work = walk->nr_words, i;

	for (i = 0; i < walk->nr_words; i++)
		work += (size_t)__builtin_popcountll(set[i]);
	return work;
}

/* Where a set's bytes lead. One byte of each class is tried, the first one. */
static bool fill_row(struct glob_walk *walk, struct numbered *numbered, size_t number)
{
	const uint64_t *from = numbered->sets + number * walk->nr_words;
	uint64_t closed[WORDS_MAX], to[WORDS_MAX];
	size_t byte, nr_tried = 0;

	for (byte = 0; byte < NR_BYTE_VALUES; byte++) {
		int next;

		if (walk->class_of[byte] != nr_tried)
			continue;
		memcpy(closed, from, walk->nr_words * sizeof(*closed));
		(void)step(walk, closed, (uint8_t)byte, to);
		numbered->work += work_of(walk, closed);
		next = number_of(walk, numbered, to);
		if (next < 0 || numbered->work > TABLE_WORK_MAX)
			return false;
		walk->next[number * walk->nr_classes + nr_tried++] = (uint16_t)next;
	}
	return true;
}

/* The set that has nothing is SET_DEAD, the first one of the glob SET_FIRST. */
static bool fill_table(struct glob_walk *walk, struct numbered *numbered)
{
	uint64_t set[WORDS_MAX] = {0};
	size_t number;

	(void)number_of(walk, numbered, set);
	walk->fits[SET_ALL] = true;
	walk->nr_sets = SET_FIRST;
	add(set, 0);
	if (number_of(walk, numbered, set) != SET_FIRST)
		return false;
	for (number = SET_FIRST; number < walk->nr_sets; number++)
		if (!fill_row(walk, numbered, number))
			return false;
	return true;
}

/* -ENOMEM; 0 also if the glob has to go without a table. */
static int make_table(struct glob_walk *walk)
{
	size_t cap_entries = TABLE_ENTRIES_MAX;
	cleanup_free uint64_t *sets = NULL;
	cleanup_free uint16_t *next = NULL;
	struct numbered numbered = {0};

	if (has(walk->all, 0))
		return 0;
	sets = calloc(TABLE_SETS_MAX, walk->nr_words * sizeof(*sets));
	next = calloc(TABLE_ENTRIES_MAX, sizeof(*next));
	if (!sets || !next)
		return -ENOMEM;
	find_classes(walk);
	numbered.sets = sets;
	walk->next = next;
	if (!fill_table(walk, &numbered)) {
		walk->next = NULL;
		return 0;
	}
	(void)take_pointer(&next);
	array_shrink(&walk->next, &cap_entries, walk->nr_sets * walk->nr_classes,
		     sizeof(*walk->next));
	return 0;
}

static bool fits_by_table(const struct glob_walk *walk, const char *name)
{
	size_t set = SET_FIRST;

	for (; *name; name++) {
		set = walk->next[set * walk->nr_classes + walk->class_of[(uint8_t)*name]];
		if (set < SET_FIRST)
			break;
	}
	return walk->fits[set];
}

/* --- a walk ----------------------------------------------------------------------------------- */

struct glob_walk *glob_walk_new(struct glob *glob)
{
	struct glob_walk *walk = calloc(1, sizeof(*walk));

	if (!walk) {
		glob_clear(glob);
		return NULL;
	}
	walk->glob = *glob;
	*glob = (struct glob){0};
	walk->nr_words = (walk->glob.nr_states + WORD_BITS - 1) / WORD_BITS;
	walk->last = calloc(walk->nr_words, sizeof(*walk->last));
	walk->all = calloc(walk->nr_words, sizeof(*walk->all));
	if (!walk->last || !walk->all) {
		glob_walk_free(walk);
		return NULL;
	}
	find_ends(walk);
	if (make_table(walk) < 0) {
		glob_walk_free(walk);
		return NULL;
	}
	return walk;
}

void glob_walk_free(struct glob_walk *walk)
{
	if (!walk)
		return;
	glob_clear(&walk->glob);
	free(walk->last);
	free(walk->all);
	free(walk->next);
	free(walk);
}

bool glob_walk_fits(const struct glob_walk *walk, const char *name)
{
	return walk->next ? fits_by_table(walk, name) : fits_by_steps(walk, name);
}

bool glob_walk_is_any(const struct glob_walk *walk)
{
	return has(walk->all, 0);
}
