/*
 * Looks up the packed rule of a file offset, in a table that is in the pool. Plain C, for the
 * kernel side and for user space, like unwind_step.h. Define these before including it:
 *
 *	char *unwind_chunk(memory, place)	the chunk that contains a place; NULL if there is none
 *	UNWIND_ITEM(chunk, offset, type)	a pointer to an item in it, never out of bounds
 */
#ifndef STOOK_BPF_UNWIND_LOOKUP_H
#define STOOK_BPF_UNWIND_LOOKUP_H

#include "unwind_pool.h"

/*
 * All ones if a <= b, else 0; both below 2^63. The binary searches are branch-free, because the
 * verifier follows each branch of each iteration.
 */
static __always_inline __u64 unwind_not_above(__u64 a, __u64 b)
{
	return ~(__u64)((__s64)(b - a) >> 63);
}

/* The place of the page that contains a file offset; 0 if there is none. */
static __always_inline __u32 unwind_find_page(struct unwind_memory *memory,
					      const struct unwind_table_entry *table, __u64 offset)
{
	__u64 number = offset >> UNWIND_PAGE_SHIFT;
	char *chunk = unwind_chunk(memory, table->pages);

	if (number >= table->nr_pages || !chunk)
		return 0;
	return *UNWIND_ITEM(chunk, POOL_OFFSET(table->pages) + number * sizeof(__u32), __u32);
}

static __always_inline __u32 unwind_find_in_page(struct unwind_memory *memory, __u32 page,
						 __u64 offset)
{
	__u32 bucket = offset >> UNWIND_BUCKET_SHIFT & (UNWIND_PAGE_BUCKETS - 1);
	__u32 byte = offset & ((1 << UNWIND_BUCKET_SHIFT) - 1);
	__u32 at = POOL_OFFSET(page), entry, nr, turn;
	char *chunk = unwind_chunk(memory, page);

	if (!page || !chunk)
		return UNWIND_PACKED_NONE;
	entry = *UNWIND_ITEM(chunk, at + bucket * sizeof(__u32), __u32);
	if (entry & UNWIND_INDEX_RULE)
		return entry & 0xffffff;
	at += (UNWIND_PAGE_BUCKETS + UNWIND_INDEX_FIRST(entry)) * sizeof(__u32);
	nr = UNWIND_INDEX_NR(entry);
	for (turn = 0; turn < UNWIND_BUCKET_SHIFT + 1 && nr > 1; turn++) {
		__u32 half = nr / 2;
		__u32 row = *UNWIND_ITEM(chunk, at + half * sizeof(__u32), __u32);

		at += (half * sizeof(__u32)) & unwind_not_above(UNWIND_ROW_OFFSET(row), byte);
		nr -= half;
	}
	return UNWIND_ROW_RULE(*UNWIND_ITEM(chunk, at, __u32));
}

/* The packed rule of a file offset. The table must be UNWIND_TABLE_READY. */
static __always_inline __u32 unwind_find_rule(struct unwind_memory *memory,
					      const struct unwind_table_entry *table, __u64 offset)
{
	return unwind_find_in_page(memory, unwind_find_page(memory, table, offset), offset);
}

/*
 * Copies a wide rule of the table, 8 bytes at a time, since 24 is not a power of two. 0, or -1 if
 * there is no such rule.
 */
static __always_inline int unwind_read_wide(struct unwind_memory *memory,
					    const struct unwind_table_entry *table, __u32 number,
					    struct unwind_rule *ret)
{
	__u64 offset = POOL_OFFSET(table->wide) + number * sizeof(*ret), *words = (__u64 *)ret;
	char *chunk = unwind_chunk(memory, table->wide);

	if (number >= table->nr_wide || !chunk)
		return -1;
	words[0] = *UNWIND_ITEM(chunk, offset, __u64);
	words[1] = *UNWIND_ITEM(chunk, offset + 8, __u64);
	words[2] = *UNWIND_ITEM(chunk, offset + 16, __u64);
	return 0;
}

#endif
