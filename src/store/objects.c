/*
 * A table for each kind, with an index of the content's hash: an index of the content itself would double the file.
 *
 * Most objects of an epoch were in earlier ones, so their numbers are kept in memory, by a hash of 64 bits that
 * depends on a secret of the process. Two contents with the same hash would be taken for one: with a million objects
 * the probability is 3 in 10^8.
 */
#include "store/objects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cleanup.h"

/* The kept numbers are dropped when there are more; a slot has 17 bytes, and at most half are used. */
#define MAX_KNOWN   (1U << 18)
#define LEAST_KNOWN (1U << 12) /* under a limit */
#define KNOWN_BYTES 34

/* Limit on the uncompressed bytes of a block. */
#define MAX_BYTES (1ULL << 30)

const char *const object_tables[NR_OBJECT_KINDS] = {
	[OBJECT_STRING] = "string", [OBJECT_MODULE] = "module", [OBJECT_FRAME] = "frame",
	[OBJECT_STACK] = "stack",   [OBJECT_LABELS] = "labels",
};

int objects_errno(sqlite3 *db)
{
	switch (sqlite3_errcode(db)) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	case SQLITE_SCHEMA:
	case SQLITE_ERROR: /* a table or column that should be there is not */
		return -EBADMSG;
	default:
		return -EIO;
	}
}

void objects_init(struct objects *objects, sqlite3 *db, uint64_t secret)
{
	*objects = (struct objects){.db = db, .secret = secret, .max_known = MAX_KNOWN};
}

void objects_limit(struct objects *objects, size_t bytes)
{
	objects->max_known = MAX_KNOWN;
	while (objects->max_known > LEAST_KNOWN && objects->max_known * KNOWN_BYTES > bytes)
		objects->max_known /= 2;
	if (objects->known.nr > objects->max_known)
		objects_forget(objects);
}

void objects_forget(struct objects *objects)
{
	u64_map_clear(&objects->known);
}

void objects_clear(struct objects *objects)
{
	size_t i;

	for (i = 0; i < NR_OBJECT_KINDS; i++) {
		sqlite3_finalize(objects->find[i]);
		sqlite3_finalize(objects->add[i]);
		sqlite3_finalize(objects->get[i]);
	}
	objects_forget(objects);
}

/* Prepares a statement, two texts with the table's name in between, when it is first used. */
static sqlite3_stmt *prepare(struct objects *objects, sqlite3_stmt **statement,
			     enum object_kind kind, const char *before, const char *after)
{
	char text[128];

	if (*statement)
		return *statement;
	(void)snprintf(text, sizeof(text), "%s %s %s", before, object_tables[kind], after);
	if (sqlite3_prepare_v3(objects->db, text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) !=
	    SQLITE_OK)
		return NULL;
	return *statement;
}

/* The number of the row with this content, 0 if there is none, or a negative errno. */
static int64_t find_row(struct objects *objects, enum object_kind kind, int64_t hash,
			const void *content, size_t nr)
{
	sqlite3_stmt *find = prepare(objects, &objects->find[kind], kind, "SELECT id, content FROM",
				     "WHERE hash = ?");
	int64_t number = 0;
	int step;

	if (!find)
		return objects_errno(objects->db);
	sqlite3_bind_int64(find, 1, hash);
	while ((step = sqlite3_step(find)) == SQLITE_ROW) {
		if ((size_t)sqlite3_column_bytes(find, 1) != nr ||
		    (nr && memcmp(sqlite3_column_blob(find, 1), content, nr) != 0))
			continue;
		number = sqlite3_column_int64(find, 0);
		break;
	}
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		number = objects_errno(objects->db);
	sqlite3_reset(find);
	return number;
}

static int64_t add_row(struct objects *objects, enum object_kind kind, int64_t hash,
		       const void *content, size_t nr)
{
	sqlite3_stmt *add = prepare(objects, &objects->add[kind], kind, "INSERT INTO",
				    "(hash, content) VALUES (?, ?)");
	int64_t number;

	if (!add)
		return objects_errno(objects->db);
	sqlite3_bind_int64(add, 1, hash);
	sqlite3_bind_blob64(add, 2, nr ? content : "", nr, SQLITE_STATIC);
	number = sqlite3_step(add) == SQLITE_DONE ? sqlite3_last_insert_rowid(objects->db)
						  : objects_errno(objects->db);
	sqlite3_reset(add);
	return number;
}

static int64_t find_or_add(struct objects *objects, enum object_kind kind, const void *content,
			   size_t nr)
{
	uint64_t key = hash_add(kind, hash_key(content, nr));
	const uint64_t *known = u64_map_find(&objects->known, key);
	int64_t hash, number;

	if (known)
		return (int64_t)*known;
	hash = (int64_t)hash_stable_keyed(objects->secret, content, nr);
	number = find_row(objects, kind, hash, content, nr);
	if (!number)
		number = add_row(objects, kind, hash, content, nr);
	if (number <= 0)
		return number;
	if (objects->known.nr >= objects->max_known)
		objects_forget(objects);
	return u64_map_set(&objects->known, key, (uint64_t)number) < 0 ? -ENOMEM : number;
}

int64_t objects_add(struct objects *objects, enum object_kind kind, const void *content, size_t nr)
{
	int64_t number = find_or_add(objects, kind, content, nr);

	if (number > 0 && objects->marks)
		object_mark(objects->marks, kind, (uint64_t)number);
	return number;
}

int objects_get(struct objects *objects, enum object_kind kind, int64_t number, struct bytes *ret)
{
	sqlite3_stmt *get =
		prepare(objects, &objects->get[kind], kind, "SELECT content FROM", "WHERE id = ?");
	int step;

	if (!get)
		return objects_errno(objects->db);
	sqlite3_reset(get);
	sqlite3_bind_int64(get, 1, number);
	step = sqlite3_step(get);
	if (step != SQLITE_ROW)
		return step == SQLITE_DONE ? -EBADMSG : objects_errno(objects->db);
	*ret = bytes_of(sqlite3_column_blob(get, 0), (size_t)sqlite3_column_bytes(get, 0));
	return 0;
}

void objects_release(struct objects *objects)
{
	size_t i;

	for (i = 0; i < NR_OBJECT_KINDS; i++)
		(void)sqlite3_reset(objects->get[i]);
}

/* --- marks ------------------------------------------------------------------------------------ */

void object_mark(struct object_marks *marks, enum object_kind kind, uint64_t number)
{
	if (number < marks->limit[kind])
		marks->bits[kind][number / 8] |= (uint8_t)(1U << number % 8);
}

bool object_is_marked(const struct object_marks *marks, enum object_kind kind, uint64_t number)
{
	return number >= marks->limit[kind] || marks->bits[kind][number / 8] & (1U << number % 8);
}

/* --- content ---------------------------------------------------------------------------------- */

void content_clear(struct content *content)
{
	free(content->bytes);
	*content = (struct content){0};
}

void content_put(struct content *content, const void *bytes, size_t nr)
{
	if (content->failed ||
	    ARRAY_RESERVE(content->bytes, content->capacity, content->nr + nr) < 0) {
		content->failed = true;
		return;
	}
	if (nr)
		memcpy(content->bytes + content->nr, bytes, nr);
	content->nr += nr;
}

void content_put_uleb(struct content *content, uint64_t number)
{
	uint8_t bytes[10];
	size_t nr = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[nr++] = (uint8_t)(number | 0x80);
	bytes[nr++] = (uint8_t)number;
	content_put(content, bytes, nr);
}

/* The length of the bytes comes first. */
int content_compress(const struct content *content, int level, struct content *to)
{
	uLong most = compressBound(content->nr);

	content_put_uleb(to, content->nr);
	if (content->failed || to->failed ||
	    ARRAY_RESERVE(to->bytes, to->capacity, to->nr + most) < 0 ||
	    compress2(to->bytes + to->nr, &most, content->bytes, content->nr, level) != Z_OK)
		return -ENOMEM;
	to->nr += most;
	return 0;
}

int content_expand(struct bytes bytes, uint8_t **ret, size_t *ret_nr)
{
	const uint64_t nr = bytes_uleb(&bytes);
	cleanup_free uint8_t *whole = NULL;
	uLongf length = nr;

	/* zlib compresses at most by a factor of 1,032. */
	if (bytes.failed || nr > MAX_BYTES || nr / 1100 > bytes.nr)
		return -EBADMSG;
	whole = malloc(nr + 1);
	if (!whole)
		return -ENOMEM;
	if (uncompress(whole, &length, bytes.at, bytes.nr) != Z_OK || length != nr)
		return -EBADMSG;
	*ret = whole;
	*ret_nr = nr;
	whole = NULL;
	return 0;
}
