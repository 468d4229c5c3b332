/*
 * The things that a store has once: strings, modules, frames, stacks, sets of labels. Each is a row with a number,
 * and its content is bytes, in which it refers to others by their numbers.
 *
 * The functions run in the caller's transaction. After a rollback, and when rows were deleted, objects_forget() is due.
 */
#ifndef STOOK_STORE_OBJECTS_H
#define STOOK_STORE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/bytes.h"
#include "base/hash.h"

enum object_kind {
	OBJECT_STRING, /* the text */
	OBJECT_MODULE, /* import_module() */
	OBJECT_FRAME,  /* import_frame() */
	OBJECT_STACK,  /* number of kernel frames, frames from the leaf */
	OBJECT_LABELS, /* store_add_labels() */
	NR_OBJECT_KINDS,
};

extern const char *const object_tables[NR_OBJECT_KINDS];

/* The objects in use, as a bit for each number that there was: a sweep removes the others. */
struct object_marks {
	uint8_t *bits[NR_OBJECT_KINDS];
	/* Numbers from here on were given since, and count as in use. */
	uint64_t limit[NR_OBJECT_KINDS];
};

void object_mark(struct object_marks *marks, enum object_kind kind, uint64_t number);
bool object_is_marked(const struct object_marks *marks, enum object_kind kind, uint64_t number);

struct objects {
	sqlite3 *db;
	sqlite3_stmt *find[NR_OBJECT_KINDS], *add[NR_OBJECT_KINDS], *get[NR_OBJECT_KINDS];
	struct u64_map known; /* hash of kind and content: number */
	size_t max_known;
	uint64_t secret; /* of this store: names could be chosen so that all rows have one hash */
	/* The caller's: gets a mark for each object that is added; NULL: none. */
	struct object_marks *marks;
};

void objects_init(struct objects *objects, sqlite3 *db, uint64_t secret);
void objects_clear(struct objects *objects);

/* Limits the memory for the numbers that are kept. */
void objects_limit(struct objects *objects, size_t bytes);
void objects_forget(struct objects *objects);

/* Returns the number of the object with this content, which is added if needed; or a negative errno. */
int64_t objects_add(struct objects *objects, enum object_kind kind, const void *content, size_t nr);

/* The content of an object, valid until the next call for its kind. -EBADMSG: there is none. */
int objects_get(struct objects *objects, enum object_kind kind, int64_t number, struct bytes *ret);

/* Gives up the last contents, before the end of the transaction: reading them would keep it open. */
void objects_release(struct objects *objects);

/* The negative errno for what SQLite returned last. */
int objects_errno(sqlite3 *db);

/* --- content ---------------------------------------------------------------------------------- */

/* Bytes being written. A failed allocation is noted, and reported by whoever uses the bytes. */
struct content {
	uint8_t *bytes;
	size_t nr, capacity;
	bool failed;
};

void content_clear(struct content *content);
void content_put(struct content *content, const void *bytes, size_t nr);
void content_put_uleb(struct content *content, uint64_t number);

/* Appends the content, compressed at a level of zlib. 0 or -ENOMEM. */
int content_compress(const struct content *content, int level, struct content *to);

/* Expands such bytes, which the caller frees. 0; -EBADMSG; or -ENOMEM. */
int content_expand(struct bytes bytes, uint8_t **ret, size_t *ret_nr);

#endif
