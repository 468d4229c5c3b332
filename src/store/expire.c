/*
 * Removing old blocks, and what only they referred to.
 *
 * Nothing counts references: an epoch would have to change a row for each of its stacks. Instead all blocks are read
 * now and then, and objects that are in none are deleted. Since an hour refers to nearly all that its minutes and
 * epochs do, this is due once a day, or when the store is too large.
 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "store/store_state.h"

#define NS_PER_DAY 86400000000000ULL

/* Rounds of removing blocks and sweeping, when the store is too large. */
#define MAX_ROUNDS 8

/* Numbers are given in order, and never again: a thousand a second would take two years. Others are damage. */
#define MAX_NUMBER (1LL << 36)

/* --- objects in use --------------------------------------------------------------------------- */

struct marks {
	struct store *store;
	uint8_t *bits[NR_OBJECT_KINDS];
	uint64_t limit[NR_OBJECT_KINDS]; /* all numbers are less */
};

static void marks_clear(struct marks *marks)
{
	size_t i;

	for (i = 0; i < NR_OBJECT_KINDS; i++)
		free(marks->bits[i]);
}

static int marks_init(struct marks *marks, struct store *store)
{
	char text[64];
	int64_t least, most;
	size_t i;

	*marks = (struct marks){.store = store};
	for (i = 0; i < NR_OBJECT_KINDS; i++) {
		(void)snprintf(text, sizeof(text), "SELECT min(id) FROM %s", object_tables[i]);
		least = store_number(store, text, -1);
		(void)snprintf(text, sizeof(text), "SELECT max(id) FROM %s", object_tables[i]);
		most = store_number(store, text, -1);
		if (least < 0 || most < least || most > MAX_NUMBER)
			return objects_errno(store->db) ?: -EBADMSG;
		marks->limit[i] = (uint64_t)most + 1;
		marks->bits[i] = calloc(marks->limit[i] / 8 + 1, 1);
		if (!marks->bits[i])
			return -ENOMEM;
	}
	return 0;
}

static void mark(struct marks *marks, enum object_kind kind, uint64_t number)
{
	if (number < marks->limit[kind])
		marks->bits[kind][number / 8] |= (uint8_t)(1U << number % 8);
}

/* The rows of a damaged table may have any number. */
static bool is_marked(const struct marks *marks, enum object_kind kind, uint64_t number)
{
	return number < marks->limit[kind] && marks->bits[kind][number / 8] & (1U << number % 8);
}

static int mark_block(struct marks *marks, struct bytes bytes)
{
	cleanup(block_reader_clear) struct block_reader reader;
	int result = block_reader_open(&reader, bytes);
	size_t i;

	if (result < 0)
		return result;
	for (i = 0; i < reader.nr_values; i++) {
		mark(marks, OBJECT_STRING, (uint64_t)reader.values[i].type);
		mark(marks, OBJECT_STRING, (uint64_t)reader.values[i].unit);
	}
	while ((result = block_reader_next(&reader)) > 0) {
		mark(marks, OBJECT_LABELS, (uint64_t)reader.at.labels);
		mark(marks, OBJECT_STACK, (uint64_t)reader.at.stack);
	}
	return result;
}

static void mark_labels(struct marks *marks, const struct stored_labels *labels)
{
	size_t i;

	mark(marks, OBJECT_STRING, (uint64_t)labels->comm);
	mark(marks, OBJECT_STRING, (uint64_t)labels->cgroup);
	mark(marks, OBJECT_STRING, (uint64_t)labels->probe);
	for (i = 0; i < labels->nr_others; i++) {
		mark(marks, OBJECT_STRING, (uint64_t)labels->others[i].key);
		mark(marks, OBJECT_STRING, (uint64_t)labels->others[i].text);
		mark(marks, OBJECT_STRING, (uint64_t)labels->others[i].unit);
	}
}

/* Marks what an object refers to. */
static int mark_object(struct marks *marks, enum object_kind kind, int64_t number,
		       struct bytes bytes)
{
	struct stored_labels labels;
	struct stored_frame frame;
	size_t i;
	int result = 0;

	switch (kind) {
	case OBJECT_LABELS:
		result = store_get_labels(marks->store, number, &labels);
		if (!result)
			mark_labels(marks, &labels);
		break;
	case OBJECT_STACK:
		(void)bytes_uleb(&bytes);
		while (bytes.nr && !bytes.failed)
			mark(marks, OBJECT_FRAME, bytes_uleb(&bytes));
		break;
	case OBJECT_FRAME:
		result = stored_frame_parse(&frame, bytes);
		if (result < 0)
			break;
		mark(marks, OBJECT_MODULE, (uint64_t)frame.module);
		for (i = 0; i < frame.nr_lines; i++) {
			mark(marks, OBJECT_STRING, (uint64_t)frame.lines[i].function);
			mark(marks, OBJECT_STRING, (uint64_t)frame.lines[i].file);
		}
		break;
	case OBJECT_MODULE:
		(void)bytes_uleb(&bytes);
		mark(marks, OBJECT_STRING, bytes_uleb(&bytes));
		break;
	default:
		break;
	}
	return result;
}

/* Calls `visit` with each row's number and content, or with 0 and a block's content. */
static int for_each_row(struct marks *marks, const char *table, enum object_kind kind)
{
	char text[64];
	cleanup(store_finalize) sqlite3_stmt *select = NULL;
	bool is_block = kind == NR_OBJECT_KINDS;
	int step, result = 0;

	(void)snprintf(text, sizeof(text), "SELECT id, content FROM %s", table);
	select = store_prepare(marks->store, text);
	if (!select)
		return objects_errno(marks->store->db);
	while (!result && (step = sqlite3_step(select)) == SQLITE_ROW) {
		int64_t number = sqlite3_column_int64(select, 0);
		struct bytes bytes = bytes_of(sqlite3_column_blob(select, 1),
					      (size_t)sqlite3_column_bytes(select, 1));

		if (is_block)
			result = mark_block(marks, bytes);
		else if (is_marked(marks, kind, (uint64_t)number))
			result = mark_object(marks, kind, number, bytes);
	}
	if (!result && step != SQLITE_DONE)
		result = objects_errno(marks->store->db);
	return result;
}

/* Most numbers that are not marked had their rows deleted long ago: the next row is looked for. */
static int delete_unmarked(struct marks *marks, enum object_kind kind)
{
	char text[64];
	cleanup(store_finalize) sqlite3_stmt *find = NULL, *remove = NULL;
	uint64_t number;
	int64_t found;
	int step;

	(void)snprintf(text, sizeof(text), "SELECT id FROM %s WHERE id >= ? ORDER BY id LIMIT 1",
		       object_tables[kind]);
	find = store_prepare(marks->store, text);
	(void)snprintf(text, sizeof(text), "DELETE FROM %s WHERE id = ?", object_tables[kind]);
	remove = find ? store_prepare(marks->store, text) : NULL;
	if (!remove)
		return objects_errno(marks->store->db);
	for (number = 1; number < marks->limit[kind]; number++) {
		if (is_marked(marks, kind, number))
			continue;
		sqlite3_reset(find);
		sqlite3_bind_int64(find, 1, (int64_t)number);
		step = sqlite3_step(find);
		if (step == SQLITE_DONE)
			break;
		if (step != SQLITE_ROW)
			return objects_errno(marks->store->db);
		found = sqlite3_column_int64(find, 0);
		sqlite3_reset(find);
		if (found < (int64_t)number)
			return -EBADMSG;
		number = (uint64_t)found;
		if (is_marked(marks, kind, number))
			continue;
		sqlite3_reset(remove);
		sqlite3_bind_int64(remove, 1, found);
		if (sqlite3_step(remove) != SQLITE_DONE)
			return objects_errno(marks->store->db);
	}
	return 0;
}

/* Deletes the objects that no block refers to. */
static int sweep(struct store *store)
{
	static const enum object_kind order[] = {OBJECT_LABELS, OBJECT_STACK, OBJECT_FRAME,
						 OBJECT_MODULE};
	cleanup(marks_clear) struct marks marks;
	int result = marks_init(&marks, store);
	size_t i;

	if (!result)
		result = for_each_row(&marks, "block", NR_OBJECT_KINDS);
	for (i = 0; !result && i < ARRAY_SIZE(order); i++)
		result = for_each_row(&marks, object_tables[order[i]], order[i]);
	for (i = 0; !result && i < NR_OBJECT_KINDS; i++)
		result = delete_unmarked(&marks, (enum object_kind)i);
	objects_forget(&store->objects);
	return result;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/*
 * Deletes the blocks of a level that are older than age_ns and in a longer one. Returns how many, or a negative
 * errno.
 */
static int64_t remove_old(struct store *store, enum block_level level, uint64_t age_ns,
			  uint64_t now_ns)
{
	cleanup(store_finalize) sqlite3_stmt *remove = NULL;

	if (!age_ns || age_ns >= now_ns)
		return 0;
	remove = store_prepare(store, "DELETE FROM block WHERE level = ?1 AND end_ns < ?2"
				      " AND (summed OR level = ?3)");
	if (!remove)
		return objects_errno(store->db);
	sqlite3_bind_int64(remove, 1, level);
	sqlite3_bind_int64(remove, 2, (int64_t)(now_ns - age_ns));
	sqlite3_bind_int64(remove, 3, LEVEL_HOUR);
	if (sqlite3_step(remove) != SQLITE_DONE)
		return objects_errno(store->db);
	return sqlite3_changes(store->db);
}

static uint64_t used_bytes(const struct store *store)
{
	int64_t page_bytes = store_number(store, "PRAGMA page_size", 0);
	int64_t nr_pages = store_number(store, "PRAGMA page_count", 0);
	int64_t nr_free = store_number(store, "PRAGMA freelist_count", 0);

	return nr_pages > nr_free ? (uint64_t)((nr_pages - nr_free) * page_bytes) : 0;
}

/*
 * Deletes the oldest blocks of the finest level that has any, until their content is as much as `bytes`. Returns how
 * many.
 */
static int64_t remove_some(struct store *store, uint64_t bytes)
{
	cleanup(store_finalize) sqlite3_stmt *remove = store_prepare(
		store,
		"DELETE FROM block WHERE id IN (SELECT id FROM"
		" (SELECT id, sum(length(content)) OVER (ORDER BY start_ns, id) - length(content)"
		"  AS before FROM block WHERE level = ?1 AND (summed OR level = ?2))"
		" WHERE before < ?3)");
	int level;

	if (!remove)
		return objects_errno(store->db);
	for (level = LEVEL_EPOCH; level < NR_LEVELS; level++) {
		sqlite3_reset(remove);
		sqlite3_bind_int64(remove, 1, level);
		sqlite3_bind_int64(remove, 2, LEVEL_HOUR);
		sqlite3_bind_int64(remove, 3, (int64_t)bytes);
		if (sqlite3_step(remove) != SQLITE_DONE)
			return objects_errno(store->db);
		if (sqlite3_changes(store->db))
			return sqlite3_changes(store->db);
	}
	return 0;
}

static int make_smaller(struct store *store, uint64_t limit)
{
	uint64_t bytes = used_bytes(store);
	int64_t nr = 1;
	int round, result = 0;

	for (round = 0; round < MAX_ROUNDS && bytes > limit && nr > 0 && !result; round++) {
		nr = remove_some(store, bytes - limit);
		result = nr < 0 ? (int)nr : sweep(store);
		bytes = used_bytes(store);
	}
	return result;
}

static bool is_sweep_due(const struct store *store, uint64_t now_ns)
{
	uint64_t last_ns = (uint64_t)store_number(
		store, "SELECT value FROM meta WHERE key = 'last_sweep_ns'", 0);

	return now_ns < last_ns || now_ns - last_ns >= NS_PER_DAY;
}

static int note_sweep(struct store *store, uint64_t now_ns)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "REPLACE INTO meta VALUES ('last_sweep_ns', %lld)",
		       (long long)now_ns);
	return store_execute(store, text) ? 0 : objects_errno(store->db);
}

int store_expire(struct store *store, const struct store_limits *limits, uint64_t now_ns,
		 struct error *error)
{
	const uint64_t ages[NR_LEVELS] = {limits->epochs_ns, limits->minutes_ns, limits->hours_ns};
	int64_t nr;
	int level, result = 0;

	if (!store_execute(store, "BEGIN IMMEDIATE"))
		return store_error(store, error, "write to");
	for (level = 0; level < NR_LEVELS && !result; level++) {
		nr = remove_old(store, (enum block_level)level, ages[level], now_ns);
		result = nr < 0 ? (int)nr : 0;
	}
	if (!result && is_sweep_due(store, now_ns))
		result = sweep(store) ?: note_sweep(store, now_ns);
	if (!result && limits->bytes && used_bytes(store) > limits->bytes)
		result = make_smaller(store, limits->bytes);
	if (result < 0)
		(void)store_content_error(store, result, error, "write to");
	result = store_end(store, result, error, "write to");
	if (!result)
		(void)store_execute(store, "PRAGMA incremental_vacuum");
	return result;
}

uint64_t store_bytes(const struct store *store)
{
	return (uint64_t)(store_number(store, "PRAGMA page_size", 0) *
			  store_number(store, "PRAGMA page_count", 0));
}
