/*
 * The content of a block: amounts of each value for pairs of labels and stack, as compressed bytes.
 *
 *	number of values; for each: type, unit           (numbers of strings)
 *	number of sets of labels; for each:
 *		labels, number of stacks; for each:
 *			stack, difference to the one before
 *			amount of each value
 *
 * All numbers are ULEB128. Labels and stacks are sorted by their numbers, labels stored as differences too.
 */
#ifndef STOOK_STORE_BLOCK_H
#define STOOK_STORE_BLOCK_H

#include <stdint.h>

#include "base/bytes.h"
#include "profile/profile.h"
#include "store/objects.h"

struct block_value {
	int64_t type, unit;
};

struct block_entry {
	int64_t labels, stack;
	size_t amounts; /* index of the first */
};

/*
 * A block being made. Amounts of equal labels and stacks are added up when it is written, and when there are twice as many
 * entries as the last time.
 */
struct block {
	struct block_value values[PROFILE_MAX_VALUES];
	size_t nr_values;
	struct block_entry *entries;
	size_t nr, capacity;
	uint64_t *amounts;
	size_t nr_amounts, cap_amounts;
	size_t nr_merged; /* entries that were left when they were last added up */
};

void block_clear(struct block *block);

/* Returns the number of the value, which is added if needed; -E2BIG. All values come before the first entry. */
int block_add_value(struct block *block, struct block_value value);

/* Returns the entry's amounts, all 0, valid until the next call; NULL when out of memory. */
uint64_t *block_add_entry(struct block *block, int64_t labels, int64_t stack);

/* Sorts the entries and appends the bytes. 0 or -ENOMEM. */
int block_write(struct block *block, struct content *to);

/* Reads a block's bytes. */
struct block_reader {
	uint8_t *bytes; /* of the whole, uncompressed */
	struct bytes rest;
	struct block_value values[PROFILE_MAX_VALUES];
	size_t nr_values;
	uint64_t nr_labels, nr_stacks; /* left: sets of labels, stacks of the present one */
	struct block_entry at;
	uint64_t amounts[PROFILE_MAX_VALUES]; /* of the present entry */
};

/* 0; -EBADMSG; or -ENOMEM. */
int block_reader_open(struct block_reader *reader, struct bytes bytes);
void block_reader_clear(struct block_reader *reader);

/* Moves to the next entry: 1; 0 after the last one; -EBADMSG. */
int block_reader_next(struct block_reader *reader);

/* Adds all entries of a block, whose values must have been added. 0 or a negative errno. */
int block_add_all(struct block *block, struct block_reader *from,
		  int64_t (*map_labels)(void *context, int64_t labels), void *context);

#endif
