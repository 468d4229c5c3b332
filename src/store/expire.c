/*
 * Removing old blocks, and what only they referred to.
 *
 * Nothing counts references: an epoch would have to change a row for each of its stacks. Instead a *sweep* reads all
 * blocks now and then, and deletes objects that are in none. Since an hour refers to much of what its minutes and
 * epochs do, this is due once a day, or after blocks were removed because the store was too large.
 *
 * A sweep of a large store takes a minute of CPU time, and its deletions would fill the log. So each call does a slice
 * of it, in a transaction of its own, while epochs are appended in between. It reads blocks, then the objects that they
 * refer to, and marks what is in use; then it deletes what has no mark. Nothing that is in use escapes it:
 *
 *  - Objects with a number that was given after the beginning are not deleted, and what they refer to is marked.
 *  - An object that an append finds, and so refers to, is marked (objects.marks), and so is all that it consists of,
 *    since that was looked for, too.
 *  - A sum of blocks gets a number above theirs. If it is one that the sweep is past, so are theirs.
 *
 * A sweep that was not finished, since the process ended or something failed, has changed nothing that is in use, and
 * begins anew.
 */
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "store/store_state.h"

#define NS_PER_DAY 86400000000000ULL

/* A store that has reached its limit is made smaller by a tenth, so that this is not due again soon. */
#define AIM(limit) ((limit) / 10 * 9)

/*
 * Room for the log within the limit. SQLite writes the log back when it has 4 MB, and it has one transaction more: an
 * epoch, or a slice. It is longer only while a reader takes its time.
 */
#define MOST_LOG_BYTES	(8ULL << 20)
#define LOG_ROOM(limit) ((limit) / 8 < MOST_LOG_BYTES ? (limit) / 8 : MOST_LOG_BYTES)

/*
 * Limits on the work of a call, besides reading SLICE_BYTES: each row and page goes through the log. For the size, so
 * many blocks are removed at a time, and each counts as DELETED_BYTES.
 */
#define REMOVED_BLOCKS 256  /* of each level, by age */
#define VACUUMED_PAGES 1024 /* that are given back to the file system */

/* Bytes that a row counts for in a slice, besides its content. */
#define ROW_BYTES     64
#define DELETED_BYTES 1024

/* Numbers are given in order: a thousand a second would take two years. Others are damage. */
#define MAX_NUMBER (1LL << 36)

/* Each round of removing blocks takes twice as much as the one before: there is no need for more. */
#define MAX_ROUNDS 16

/* --- objects in use --------------------------------------------------------------------------- */

/* The kinds that refer to others: to later ones only, and strings. */
static const enum object_kind marked_kinds[] = {OBJECT_LABELS, OBJECT_STACK, OBJECT_FRAME,
						OBJECT_MODULE};

enum sweep_step {
	SWEEP_BLOCKS,
	SWEEP_OBJECTS, /* those of marked_kinds, one after the other */
	SWEEP_DELETIONS = SWEEP_OBJECTS + ARRAY_SIZE(marked_kinds), /* of each kind */
	SWEEP_END = SWEEP_DELETIONS + NR_OBJECT_KINDS,
};

struct sweep {
	struct store *store;
	struct object_marks marks;
	unsigned step;
	int64_t cursor; /* the last row of this step that was read */
	int64_t left;	/* bytes of the present slice */
};

static void mark(struct sweep *sweep, enum object_kind kind, int64_t number)
{
	object_mark(&sweep->marks, kind, (uint64_t)number);
}

static int mark_block(struct sweep *sweep, struct bytes bytes)
{
	cleanup(block_reader_clear) struct block_reader reader;
	int result = block_reader_open(&reader, bytes);
	size_t i;

	if (result < 0)
		return result;
	for (i = 0; i < reader.nr_values; i++) {
		mark(sweep, OBJECT_STRING, reader.values[i].type);
		mark(sweep, OBJECT_STRING, reader.values[i].unit);
	}
	while ((result = block_reader_next(&reader)) > 0) {
		mark(sweep, OBJECT_LABELS, reader.at.labels);
		mark(sweep, OBJECT_STACK, reader.at.stack);
	}
	return result;
}

static void mark_labels(struct sweep *sweep, const struct stored_labels *labels)
{
	size_t i;

	mark(sweep, OBJECT_STRING, labels->comm);
	mark(sweep, OBJECT_STRING, labels->cgroup);
	mark(sweep, OBJECT_STRING, labels->probe);
	for (i = 0; i < labels->nr_others; i++) {
		mark(sweep, OBJECT_STRING, labels->others[i].key);
		mark(sweep, OBJECT_STRING, labels->others[i].text);
		mark(sweep, OBJECT_STRING, labels->others[i].unit);
	}
}

/* Marks what an object refers to. */
static int mark_object(struct sweep *sweep, enum object_kind kind, int64_t number,
		       struct bytes bytes)
{
	struct stored_labels labels;
	struct stored_frame frame;
	size_t i;
	int result = 0;

	switch (kind) {
	case OBJECT_LABELS:
		result = store_get_labels(sweep->store, number, &labels);
		if (!result)
			mark_labels(sweep, &labels);
		break;
	case OBJECT_STACK:
		(void)bytes_uleb(&bytes);
		while (bytes.nr && !bytes.failed)
			mark(sweep, OBJECT_FRAME, (int64_t)bytes_uleb(&bytes));
		break;
	case OBJECT_FRAME:
		result = stored_frame_parse(&frame, bytes);
		if (result < 0)
			break;
		mark(sweep, OBJECT_MODULE, frame.module);
		for (i = 0; i < frame.nr_lines; i++) {
			mark(sweep, OBJECT_STRING, frame.lines[i].function);
			mark(sweep, OBJECT_STRING, frame.lines[i].file);
		}
		break;
	case OBJECT_MODULE:
		(void)bytes_uleb(&bytes);
		mark(sweep, OBJECT_STRING, (int64_t)bytes_uleb(&bytes));
		break;
	default:
		break;
	}
	return result;
}

/* Reads rows of a table from the cursor on, until the slice is over or the step is. */
static int read_rows(struct sweep *sweep, const char *table, enum object_kind kind)
{
	char text[96];
	cleanup(store_finalize) sqlite3_stmt *select = NULL;
	int step = SQLITE_ROW, result = 0;

	(void)snprintf(text, sizeof(text), "SELECT id, content FROM %s WHERE id > ? ORDER BY id",
		       table);
	select = store_prepare(sweep->store, text);
	if (!select)
		return objects_errno(sweep->store->db);
	sqlite3_bind_int64(select, 1, sweep->cursor);
	while (!result && sweep->left > 0 && (step = sqlite3_step(select)) == SQLITE_ROW) {
		struct bytes bytes = bytes_of(sqlite3_column_blob(select, 1),
					      (size_t)sqlite3_column_bytes(select, 1));

		sweep->cursor = sqlite3_column_int64(select, 0);
		sweep->left -= ROW_BYTES + (int64_t)bytes.nr;
		if (kind == NR_OBJECT_KINDS)
			result = mark_block(sweep, bytes);
		else if (object_is_marked(&sweep->marks, kind, (uint64_t)sweep->cursor))
			result = mark_object(sweep, kind, sweep->cursor, bytes);
	}
	if (result < 0 || step == SQLITE_ROW)
		return result;
	return step == SQLITE_DONE ? 1 : objects_errno(sweep->store->db);
}

/* Most numbers that are not marked had their rows deleted long ago: the next row is looked for. */
static int delete_unmarked(struct sweep *sweep, enum object_kind kind)
{
	char text[64];
	cleanup(store_finalize) sqlite3_stmt *find = NULL, *remove = NULL;
	sqlite3 *db = sweep->store->db;
	uint64_t number;
	int64_t found;
	int step;

	(void)snprintf(text, sizeof(text), "SELECT id FROM %s WHERE id >= ? ORDER BY id LIMIT 1",
		       object_tables[kind]);
	find = store_prepare(sweep->store, text);
	(void)snprintf(text, sizeof(text), "DELETE FROM %s WHERE id = ?", object_tables[kind]);
	remove = find ? store_prepare(sweep->store, text) : NULL;
	if (!remove)
		return objects_errno(db);
	for (number = (uint64_t)sweep->cursor + 1; number < sweep->marks.limit[kind]; number++) {
		sweep->cursor = (int64_t)number;
		if (object_is_marked(&sweep->marks, kind, number))
			continue;
		if (sweep->left <= 0) {
			sweep->cursor--;
			return 0;
		}
		sqlite3_reset(find);
		sqlite3_bind_int64(find, 1, (int64_t)number);
		step = sqlite3_step(find);
		if (step == SQLITE_DONE)
			break;
		if (step != SQLITE_ROW)
			return objects_errno(db);
		found = sqlite3_column_int64(find, 0);
		sqlite3_reset(find);
		if (found < (int64_t)number)
			return -EBADMSG;
		number = (uint64_t)found;
		sweep->cursor = found;
		sweep->left -= ROW_BYTES;
		if (object_is_marked(&sweep->marks, kind, number))
			continue;
		sqlite3_reset(remove);
		sqlite3_bind_int64(remove, 1, found);
		if (sqlite3_step(remove) != SQLITE_DONE)
			return objects_errno(db);
		sweep->left -= DELETED_BYTES;
	}
	return 1;
}

/* Does what is left of the present slice. 1: all is done; 0; or a negative errno. */
static int sweep_some(struct sweep *sweep)
{
	int result;

	while (sweep->step < SWEEP_END && sweep->left > 0) {
		if (sweep->step == SWEEP_BLOCKS)
			result = read_rows(sweep, "block", NR_OBJECT_KINDS);
		else if (sweep->step < SWEEP_DELETIONS) {
			enum object_kind kind = marked_kinds[sweep->step - SWEEP_OBJECTS];

			result = read_rows(sweep, object_tables[kind], kind);
		} else {
			result = delete_unmarked(sweep,
						 (enum object_kind)(sweep->step - SWEEP_DELETIONS));
		}
		if (result <= 0)
			return result;
		sweep->step++;
		sweep->cursor = 0;
		/* From here on only objects that are marked, or new, get known again. */
		if (sweep->step == SWEEP_DELETIONS)
			objects_forget(&sweep->store->objects);
	}
	return sweep->step == SWEEP_END;
}

/* 0; -EBADMSG: a number that cannot be; or another negative errno. */
static int make_marks(struct store *store, struct object_marks *marks)
{
	int64_t least, most;
	char text[64];
	size_t i;
	int result;

	for (i = 0; i < NR_OBJECT_KINDS; i++) {
		(void)snprintf(text, sizeof(text), "SELECT min(id) FROM %s", object_tables[i]);
		result = store_ask(store, text, &least);
		(void)snprintf(text, sizeof(text), "SELECT max(id) FROM %s", object_tables[i]);
		result = result ?: store_ask(store, text, &most);
		if (result)
			return result;
		if (least < 0 || most < least || most > MAX_NUMBER)
			return -EBADMSG;
		marks->limit[i] = (uint64_t)most + 1;
		marks->bits[i] = calloc(marks->limit[i] / 8 + 1, 1);
		if (!marks->bits[i])
			return -ENOMEM;
	}
	return 0;
}

static void sweep_free(struct sweep *sweep)
{
	size_t i;

	for (i = 0; sweep && i < NR_OBJECT_KINDS; i++)
		free(sweep->marks.bits[i]);
	free(sweep);
}

static int begin_sweep(struct store *store)
{
	struct sweep *sweep = calloc(1, sizeof(*sweep));
	int result = sweep ? make_marks(store, &sweep->marks) : -ENOMEM;

	if (result < 0) {
		sweep_free(sweep);
		return result;
	}
	sweep->store = store;
	store->upkeep.sweep = sweep;
	store->objects.marks = &sweep->marks;
	return 0;
}

void store_end_sweep(struct store *store)
{
	sweep_free(store->upkeep.sweep);
	store->upkeep.sweep = NULL;
	store->objects.marks = NULL;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/*
 * Deletes blocks of a level that are older than age_ns and in a longer one, the oldest first. Returns how many, or a
 * negative errno.
 */
static int64_t remove_old(struct store *store, enum block_level level, uint64_t age_ns,
			  uint64_t now_ns)
{
	cleanup(store_finalize) sqlite3_stmt *remove = NULL;

	if (!age_ns || age_ns >= now_ns)
		return 0;
	/* The index has the beginnings only. */
	remove = store_prepare(store, "DELETE FROM block WHERE id IN (SELECT id FROM block"
				      " WHERE level = ?1 AND start_ns < ?2 AND end_ns < ?2"
				      " AND (summed OR level = ?3) ORDER BY start_ns LIMIT ?4)");
	if (!remove)
		return objects_errno(store->db);
	sqlite3_bind_int64(remove, 1, level);
	sqlite3_bind_int64(remove, 2, (int64_t)(now_ns - age_ns));
	sqlite3_bind_int64(remove, 3, LEVEL_HOUR);
	sqlite3_bind_int64(remove, 4, REMOVED_BLOCKS);
	if (sqlite3_step(remove) != SQLITE_DONE)
		return objects_errno(store->db);
	return sqlite3_changes(store->db);
}

/* 0 or a negative errno. */
static int used_bytes(const struct store *store, uint64_t *ret)
{
	int64_t page_bytes, nr_pages, nr_free;
	const int result = store_ask(store, "PRAGMA page_size", &page_bytes)
				   ?: store_ask(store, "PRAGMA page_count", &nr_pages)
				   ?: store_ask(store, "PRAGMA freelist_count", &nr_free);

	*ret = !result && nr_pages > nr_free ? (uint64_t)((nr_pages - nr_free) * page_bytes) : 0;
	return result;
}

/*
 * Deletes the oldest blocks of the finest level that has any, until their content is as much as upkeep.remove_bytes, or
 * they are REMOVED_BLOCKS. Returns how many.
 */
static int64_t remove_some(struct store *store)
{
	cleanup(store_finalize) sqlite3_stmt *select =
		store_prepare(store, "SELECT id, length(content) FROM block WHERE level = ?1"
				     " AND (summed OR level = ?2) ORDER BY start_ns, id LIMIT ?3");
	cleanup(store_finalize) sqlite3_stmt *remove =
		store_prepare(store, "DELETE FROM block WHERE id = ?");
	struct upkeep *upkeep = &store->upkeep;
	int64_t ids[REMOVED_BLOCKS];
	int level, nr = 0, step = SQLITE_DONE, i;

	if (!select || !remove)
		return objects_errno(store->db);
	for (level = LEVEL_EPOCH; level < NR_LEVELS && !nr; level++) {
		sqlite3_reset(select);
		sqlite3_bind_int64(select, 1, level);
		sqlite3_bind_int64(select, 2, LEVEL_HOUR);
		sqlite3_bind_int64(select, 3, REMOVED_BLOCKS);
		while (upkeep->remove_bytes && (step = sqlite3_step(select)) == SQLITE_ROW) {
			uint64_t bytes = (uint64_t)sqlite3_column_int64(select, 1);

			ids[nr++] = sqlite3_column_int64(select, 0);
			upkeep->remove_bytes -=
				bytes < upkeep->remove_bytes ? bytes : upkeep->remove_bytes;
		}
		if (step != SQLITE_ROW && step != SQLITE_DONE)
			return objects_errno(store->db);
	}
	sqlite3_reset(select);
	for (i = 0; i < nr; i++) {
		sqlite3_reset(remove);
		sqlite3_bind_int64(remove, 1, ids[i]);
		if (sqlite3_step(remove) != SQLITE_DONE)
			return objects_errno(store->db);
	}
	return nr;
}

/*
 * How much content of blocks to remove, for the store to be smaller by `bytes`: objects are expected to go in proportion.
 * If shorter blocks are removed whose objects are in longer ones, too, less is freed, which shows when a sweep is over:
 * the next round removes twice as much. 0 or a negative errno.
 */
static int plan_round(struct store *store, uint64_t bytes, uint64_t used)
{
	const double factor = (double)(1U << store->upkeep.nr_rounds);
	int64_t content;
	const int result = store_ask(store, "SELECT sum(length(content)) FROM block", &content);

	store->upkeep.remove_bytes =
		1 + (uint64_t)(factor * (double)bytes * (double)content / (double)used);
	return result;
}

/*
 * Begins or continues to make the store smaller than its limit: a round of removing blocks, which a sweep follows, and
 * another one if that was not enough. Until the sweep is over, which frees the objects of what was removed, only growth
 * beyond the limit is a reason for the next round. Returns how many blocks were removed, or a negative errno.
 */
static int64_t shrink(struct store *store, uint64_t limit)
{
	const uint64_t most = limit - LOG_ROOM(limit), aim = AIM(most);
	struct upkeep *upkeep = &store->upkeep;
	const bool is_swept = !upkeep->sweep && !upkeep->is_round_over;
	const uint64_t known = is_swept ? 0 : upkeep->round_bytes;
	uint64_t used;
	int64_t nr = used_bytes(store, &used);

	if (nr < 0)
		return nr;
	if (used > most)
		upkeep->shrinks = true;
	if (used <= aim)
		upkeep->shrinks = false;
	if (!upkeep->shrinks) {
		upkeep->nr_rounds = 0;
		upkeep->remove_bytes = 0;
		upkeep->round_bytes = 0;
		return 0;
	}
	if (!upkeep->remove_bytes) {
		if (!is_swept && used <= (known > most ? known : most))
			return 0;
		nr = plan_round(store, used - (known > aim ? known : aim), used);
	}
	nr = nr < 0 ? nr : remove_some(store);
	if (!nr) { /* what is left is too young to be in a longer block */
		upkeep->shrinks = false;
		upkeep->remove_bytes = 0;
	}
	if (nr <= 0 || upkeep->remove_bytes)
		return nr;
	upkeep->is_round_over = true;
	return used_bytes(store, &upkeep->round_bytes) ?: nr;
}

/* 1: due, 0: not, or a negative errno. */
static int is_sweep_due(const struct store *store, uint64_t now_ns)
{
	int64_t last_ns;
	const int result =
		store_ask(store, "SELECT value FROM meta WHERE key = 'last_sweep_ns'", &last_ns);

	if (result < 0)
		return result;
	return store->upkeep.is_round_over || now_ns < (uint64_t)last_ns ||
	       now_ns - (uint64_t)last_ns >= NS_PER_DAY;
}

static int note_time(struct store *store, const char *key, uint64_t now_ns)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "REPLACE INTO meta VALUES ('%s', %lld)", key,
		       (long long)now_ns);
	return store_execute(store, text) ? 0 : objects_errno(store->db);
}

/* Continues the sweep, or begins one that is due, with what is left of the slice. 0 or a negative errno. */
static int sweep_on(struct store *store, uint64_t now_ns, int64_t *left)
{
	struct upkeep *upkeep = &store->upkeep;
	int result = upkeep->sweep ? 0 : is_sweep_due(store, now_ns);

	if (result > 0) {
		result = begin_sweep(store);
		upkeep->is_round_over = false;
	}
	if (result < 0 || !upkeep->sweep)
		return result;
	upkeep->sweep->left = *left;
	result = sweep_some(upkeep->sweep);
	*left = upkeep->sweep->left;
	if (result <= 0)
		return result;
	store_end_sweep(store);
	if (upkeep->shrinks && upkeep->nr_rounds < MAX_ROUNDS)
		upkeep->nr_rounds++;
	return note_time(store, "last_sweep_ns", now_ns);
}

/* 1: more is to be done; 0; or a negative errno. */
static int remove_slice(struct store *store, const struct store_limits *limits, uint64_t now_ns)
{
	const uint64_t ages[NR_LEVELS] = {limits->epochs_ns, limits->minutes_ns, limits->hours_ns};
	struct upkeep *upkeep = &store->upkeep;
	int64_t left = (int64_t)upkeep->slice_bytes, nr;
	int level, result = 0;
	bool has_more = false;

	for (level = 0; level < NR_LEVELS; level++) {
		nr = remove_old(store, (enum block_level)level, ages[level], now_ns);
		if (nr < 0)
			return (int)nr;
		has_more |= nr == REMOVED_BLOCKS;
	}
	do {
		nr = limits->bytes ? shrink(store, limits->bytes) : 0;
		if (nr < 0)
			return (int)nr;
		left -= nr * DELETED_BYTES;
		if (!upkeep->remove_bytes && left > 0)
			result = sweep_on(store, now_ns, &left);
	} while (!result && upkeep->shrinks && left > 0);
	return result < 0 ? result : has_more || upkeep->shrinks || upkeep->sweep;
}

/* Gives free pages back to the file system, some at a time, and writes the log back if it is in the way. */
static void give_back(struct store *store, uint64_t limit)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "PRAGMA incremental_vacuum(%d)", VACUUMED_PAGES);
	if (store_number(store, "PRAGMA freelist_count", 0) > 0)
		(void)store_execute(store, text);
	if (!limit || store_bytes(store) <= limit)
		return;
	/* It does not wait for readers: there will be another time. */
	(void)sqlite3_busy_timeout(store->db, 0);
	(void)store_execute(store, "PRAGMA wal_checkpoint(TRUNCATE)");
	(void)sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
}

int store_expire(struct store *store, const struct store_limits *limits, uint64_t now_ns,
		 struct error *error)
{
	int has_more, result;

	if (!store_execute(store, "BEGIN IMMEDIATE"))
		return store_error(store, error, "write to");
	has_more = note_time(store, "expired_ns", now_ns);
	if (!has_more)
		has_more = remove_slice(store, limits, now_ns);
	result = has_more < 0 ? has_more : 0;
	if (result < 0)
		(void)store_content_error(store, result, error, "write to");
	result = store_end(store, result, error, "write to");
	if (result < 0) {
		store_end_sweep(store);
		store->upkeep = (struct upkeep){.slice_bytes = store->upkeep.slice_bytes};
		return result;
	}
	give_back(store, limits->bytes);
	return has_more;
}

uint64_t store_bytes(const struct store *store)
{
	struct stat status;
	char path[PATH_MAX];
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < STORE_NR_FILES; i++) {
		(void)snprintf(path, sizeof(path), "%s%s", store->path, store_files[i]);
		if (lstat(path, &status) == 0)
			sum += (uint64_t)status.st_size;
	}
	return sum;
}
