/*
 * Blocks: an array of entries while one is made, sorted once, and a cursor over bytes when one is read.
 *
 * zlib makes them half as large, at 30 MB/s and more. Readers trust nothing: the store may be damaged.
 */
#include "store/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cleanup.h"

/* Fewer entries are added up once, when the block is written. */
#define MERGED_LEAST 16384

/* --- making ----------------------------------------------------------------------------------- */

void block_clear(struct block *block)
{
	free(block->entries);
	free(block->amounts);
	*block = (struct block){0};
}

int block_add_value(struct block *block, struct block_value value)
{
	size_t i;

	for (i = 0; i < block->nr_values; i++)
		if (block->values[i].type == value.type && block->values[i].unit == value.unit)
			return (int)i;
	if (block->nr_values == ARRAY_SIZE(block->values))
		return -E2BIG;
	block->values[block->nr_values] = value;
	return (int)block->nr_values++;
}

static int compare_entries(const void *a, const void *b)
{
	const struct block_entry *one = a, *other = b;

	return COMPARE(one->labels, other->labels) ?: COMPARE(one->stack, other->stack);
}

/* Leaves one entry of each pair of labels and stack. */
static void add_up(struct block *block)
{
	size_t nr = 0, i;

	if (block->nr)
		qsort(block->entries, block->nr, sizeof(*block->entries), compare_entries);
	for (i = 0; i < block->nr; i++) {
		if (nr && !compare_entries(&block->entries[nr - 1], &block->entries[i]))
			add_words(block->amounts + block->entries[nr - 1].amounts,
				  block->amounts + block->entries[i].amounts,
				  block->nr_values * sizeof(*block->amounts));
		else
			block->entries[nr++] = block->entries[i];
	}
	block->nr = nr;
}

static int compare_amounts(const void *a, const void *b)
{
	const struct block_entry *one = a, *other = b;

	return COMPARE(one->amounts, other->amounts);
}

/* Adds up meanwhile, and closes the gaps between the amounts: the sixty minutes of an hour mostly have the same pairs. */
static void merge(struct block *block)
{
	size_t i;

	add_up(block);
	qsort(block->entries, block->nr, sizeof(*block->entries), compare_amounts);
	for (i = 0; i < block->nr; i++) {
		memmove(block->amounts + i * block->nr_values,
			block->amounts + block->entries[i].amounts,
			block->nr_values * sizeof(*block->amounts));
		block->entries[i].amounts = i * block->nr_values;
	}
	block->nr_amounts = block->nr * block->nr_values;
	block->nr_merged = block->nr;
}

uint64_t *block_add_entry(struct block *block, int64_t labels, int64_t stack)
{
	struct block_entry entry = {labels, stack, 0};
	uint64_t *amounts;

	if (block->nr >= MERGED_LEAST && block->nr >= 2 * block->nr_merged)
		merge(block);
	entry.amounts = block->nr_amounts;
	if (ARRAY_RESERVE(block->amounts, block->cap_amounts,
			  block->nr_amounts + block->nr_values) < 0 ||
	    ARRAY_ADD(block->entries, block->nr, block->capacity, entry) < 0)
		return NULL;
	amounts = block->amounts + block->nr_amounts;
	memset(amounts, 0, block->nr_values * sizeof(*amounts));
	block->nr_amounts += block->nr_values;
	return amounts;
}

static void put_entries(const struct block *block, struct content *content)
{
	int64_t labels = 0, stack = 0;
	uint64_t nr_labels = 0;
	size_t i, k, end;

	for (i = 0; i < block->nr; i++)
		nr_labels += !i || block->entries[i].labels != block->entries[i - 1].labels;
	content_put_uleb(content, nr_labels);
	for (i = 0; i < block->nr; i = end) {
		end = i;
		while (end < block->nr && block->entries[end].labels == block->entries[i].labels)
			end++;
		content_put_uleb(content, (uint64_t)(block->entries[i].labels - labels));
		content_put_uleb(content, end - i);
		labels = block->entries[i].labels;
		stack = 0;
		for (; i < end; i++) {
			const struct block_entry *entry = &block->entries[i];

			content_put_uleb(content, (uint64_t)(entry->stack - stack));
			stack = entry->stack;
			for (k = 0; k < block->nr_values; k++)
				content_put_uleb(content, block->amounts[entry->amounts + k]);
		}
	}
}

int block_write(struct block *block, struct content *to)
{
	cleanup(content_clear) struct content content = {0};
	size_t i;

	add_up(block);
	content_put_uleb(&content, block->nr_values);
	for (i = 0; i < block->nr_values; i++) {
		content_put_uleb(&content, (uint64_t)block->values[i].type);
		content_put_uleb(&content, (uint64_t)block->values[i].unit);
	}
	put_entries(block, &content);
	return content_compress(&content, Z_DEFAULT_COMPRESSION, to);
}

/* --- reading ---------------------------------------------------------------------------------- */

void block_reader_clear(struct block_reader *reader)
{
	free(reader->bytes);
	reader->bytes = NULL;
}

int block_reader_open(struct block_reader *reader, struct bytes bytes)
{
	size_t nr = 0, i;
	int result;

	*reader = (struct block_reader){0};
	result = content_expand(bytes, &reader->bytes, &nr);
	if (result < 0)
		return result;
	reader->rest = bytes_of(reader->bytes, nr);
	reader->nr_values = bytes_uleb(&reader->rest);
	if (reader->nr_values > PROFILE_MAX_VALUES)
		return -EBADMSG;
	for (i = 0; i < reader->nr_values; i++) {
		reader->values[i].type = (int64_t)bytes_uleb(&reader->rest);
		reader->values[i].unit = (int64_t)bytes_uleb(&reader->rest);
	}
	reader->nr_labels = bytes_uleb(&reader->rest);
	return reader->rest.failed ? -EBADMSG : 0;
}

int block_reader_next(struct block_reader *reader)
{
	size_t i;

	while (!reader->nr_stacks) {
		if (!reader->nr_labels)
			return 0;
		reader->nr_labels--;
		reader->at.labels += (int64_t)bytes_uleb(&reader->rest);
		reader->at.stack = 0;
		reader->nr_stacks = bytes_uleb(&reader->rest);
		if (reader->rest.failed)
			return -EBADMSG;
	}
	reader->nr_stacks--;
	reader->at.stack += (int64_t)bytes_uleb(&reader->rest);
	for (i = 0; i < reader->nr_values; i++)
		reader->amounts[i] = bytes_uleb(&reader->rest);
	return reader->rest.failed ? -EBADMSG : 1;
}

int block_add_all(struct block *block, struct block_reader *from,
		  int64_t (*map_labels)(void *context, int64_t labels), void *context)
{
	int numbers[PROFILE_MAX_VALUES];
	int64_t labels, was = 0, mapped = 0;
	uint64_t *amounts;
	size_t i;
	int result;

	for (i = 0; i < from->nr_values; i++) {
		numbers[i] = block_add_value(block, from->values[i]);
		if (numbers[i] < 0)
			return numbers[i];
	}
	while ((result = block_reader_next(from)) > 0) {
		labels = from->at.labels;
		if (labels != was || !mapped)
			mapped = map_labels ? map_labels(context, labels) : labels;
		was = labels;
		if (mapped < 0)
			return (int)mapped;
		amounts = block_add_entry(block, mapped, from->at.stack);
		if (!amounts)
			return -ENOMEM;
		for (i = 0; i < from->nr_values; i++)
			amounts[numbers[i]] += from->amounts[i];
	}
	return result;
}
