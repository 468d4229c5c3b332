/*
 * Sorts samples, strings and whatever else has numbers 0 … nr - 1: by a comparison, or as sequences, like stacks by
 * their frames.
 */
#ifndef STOOK_PROFILE_SORT_H
#define STOOK_PROFILE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compares the objects of two numbers, like qsort_r()'s function: a and b point to a uint32_t. */
typedef int sort_compare_fn(const void *a, const void *b, void *context);

/* Returns the sorted numbers; NULL when out of memory. The caller frees them. */
uint32_t *sort_numbers(size_t nr, sort_compare_fn *compare, const void *context);

/* Returns the rank of each number, from 0; NULL when out of memory. The caller frees the ranks. */
uint32_t *sort_ranks(size_t nr, sort_compare_fn *compare, const void *context);

/* A sequence of keys, for example the frames of a stack. */
struct sort_item {
	uint32_t number; /* identifies the sequence */
	uint32_t key;	 /* used while sorting */
	bool is_same;	 /* result: its keys equal the previous item's */
};

/* The key of a sequence at a depth; 0 after its end. */
typedef uint32_t sort_key_fn(const void *context, uint32_t number, size_t depth);

/*
 * Sorts sequences lexicographically by their keys; a sequence comes before longer ones that it is a
 * prefix of. No memory is allocated, and no input takes quadratic time.
 */
void sort_sequences(struct sort_item *items, size_t nr, sort_key_fn *key_at, const void *context);

#endif
