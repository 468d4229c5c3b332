/*
 * Orders of things that are known by numbers: arrays of the numbers 0 … nr - 1, sorted by what they
 * stand for.
 */
#ifndef STOOK_BASE_SORT_H
#define STOOK_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compares two numbers, as qsort_r() does: a and b point to a uint32_t. */
typedef int sort_compare_fn(const void *a, const void *b, void *context);

/* The numbers in their order; NULL when out of memory. The caller frees them. */
uint32_t *sort_numbers(size_t nr, sort_compare_fn *compare, const void *context);

/* The place of each number in that order, from 0; likewise. */
uint32_t *sort_ranks(size_t nr, sort_compare_fn *compare, const void *context);

/* A sequence of keys, such as the frames of a stack. */
struct sort_item {
	uint32_t number; /* of the sequence */
	uint32_t key;	 /* used while sorting */
	bool is_same;	 /* result: its keys are those of the item before */
};

/* The key of a sequence at a depth: 0 behind its end. */
typedef uint32_t sort_key_fn(const void *context, uint32_t number, size_t depth);

/*
 * Sorts sequences by their first keys, then by the second ones, and so on; a sequence comes before
 * those that it is the beginning of. No memory is allocated, and no input makes it slow.
 */
void sort_sequences(struct sort_item *items, size_t nr, sort_key_fn *key_at, const void *context);

#endif
