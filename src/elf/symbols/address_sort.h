/* Sorting what begins with an address. */
#ifndef STOOK_ELF_SYMBOLS_ADDRESS_SORT_H
#define STOOK_ELF_SYMBOLS_ADDRESS_SORT_H

#include <stddef.h>

/*
 * Sorts nr items, whose first member is a uint64_t, by it; equal ones keep their order. 0, or
 * -ENOMEM and no change.
 */
int address_sort(void *items, size_t nr, size_t item_bytes);

#endif
