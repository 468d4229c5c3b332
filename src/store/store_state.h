/* The inside of a store, for the files of this folder. */
#ifndef STOOK_STORE_STORE_STATE_H
#define STOOK_STORE_STORE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <sqlite3.h>

#include "base/error.h"
#include "profile/profile.h"
#include "store/block.h"
#include "store/objects.h"

enum block_level {
	LEVEL_EPOCH,
	LEVEL_MINUTE,
	LEVEL_HOUR,
	NR_LEVELS,
};

#define STORE_BUSY_MS 2000 /* that the writer waits for readers, and the other way round */

/* Functions that are inlined at one address; more are not stored. */
#define STORED_MAX_LINES 64

struct sweep; /* expire.c: a search for objects that no block refers to */

/* Bytes of rows that one call of store_expire() reads at most, a block more or less. */
#define SLICE_BYTES (2 << 20)

/* Removing old blocks and what only they referred to, over many calls of store_expire(). */
struct upkeep {
	size_t slice_bytes;
	struct sweep *sweep; /* NULL: none */
	bool shrinks;	     /* the store was larger than its limit, and is not yet small enough */
	unsigned nr_rounds;  /* of removing blocks for that */
	uint64_t remove_bytes; /* of the content of blocks: what is left of this round */
	bool is_round_over;    /* a sweep is due, which begins after this */
	/* Bytes that the store used at the end of the latest round; 0: there was none. */
	uint64_t round_bytes;
};

struct store {
	sqlite3 *db;
	struct upkeep upkeep;
	struct objects objects;
	char *path;
	int lock_fd;  /* held by the writer; -1: a reader */
	dev_t device; /* of the writer's file */
	ino_t inode;
	struct read_vfs *vfs; /* of a reader; NULL: a writer */
};

/* Describes what SQLite returned last: "cannot WHAT store 'PATH': why". Returns the negative errno. */
int store_error(const struct store *store, struct error *error, const char *what);

/* Likewise for a code of objects.h or block.h. */
int store_content_error(const struct store *store, int code, struct error *error, const char *what);

/* Prepares a statement that the caller finalizes; NULL: see store_error(). */
sqlite3_stmt *store_prepare(const struct store *store, const char *text);
void store_finalize(sqlite3_stmt **statement);

bool store_execute(const struct store *store, const char *text);

/*
 * Brings the schema up to date in one transaction: does the steps that the store has not had yet, by its user_version,
 * which is then nr. 0 or a negative errno: nothing has changed.
 */
int store_migrate(struct store *store, const char *const *steps, size_t nr, struct error *error);

/* In `summed`: a longer block, but not known which. No sum has this id, since an epoch comes before it. */
#define BLOCK_SUM_UNKNOWN 1

/* The first column of the first row; `otherwise` if there is no row or it fails. Not in a transaction. */
int64_t store_number(const struct store *store, const char *text, int64_t otherwise);

/* Likewise in a transaction, where a failure must end it: 0 and *ret, which is 0 without a row, or a negative errno. */
int store_ask(const struct store *store, const char *text, int64_t *ret);

/* Ends a transaction: commits if result is 0, else takes everything back. Returns the result. */
int store_end(struct store *store, int result, struct error *error, const char *what);

void store_end_sweep(struct store *store); /* accepts that there is none */

/* --- parts of a profile ----------------------------------------------------------------------- */

#define FRAME_IS_KERNEL	  1U
#define FRAME_HAS_ADDRESS 2U

/* A frame as it is stored, without its module: lines, or, if there are none, its address. */
struct frame_lines {
	const struct code_line *at; /* the innermost first */
	size_t nr;
	struct code_line name; /* of a frame without lines */
};

/* Valid as long as the profile's lines, and not to be moved. */
void frame_lines_init(struct frame_lines *lines, const struct profile *profile,
		      const struct frame *frame);

/* Appends a module's code, which is the rest of some content. */
void store_put_code(struct content *content, const struct module_code *code);

/* Reads all that is left. 0 or -EBADMSG. */
int store_parse_code(struct bytes *bytes, struct module_code *code);

/* Returns the name that a value has in the store. */
const char *store_value_type(const struct profile *profile, const struct profile_value *value);

/* Add what was stored to a profile, whose strings it has. Each returns its number, or -ENOMEM. */
int64_t store_add_module(struct profile *profile, const struct module *module);
int64_t store_add_lines(struct profile *profile, enum frame_kind kind, uint32_t module,
			const struct code_line *lines, size_t nr);

/* --- objects ---------------------------------------------------------------------------------- */

/* Decoded content of a frame. Numbers are those of objects. */
struct stored_frame {
	bool is_kernel, has_address; /* otherwise: lines, at least one unless it has no name */
	int64_t module;
	uint64_t address;
	struct stored_line {
		int64_t function, file;
		uint32_t line;
	} lines[STORED_MAX_LINES]; /* the innermost first */
	size_t nr_lines;
};

/* 0 or -EBADMSG. */
int stored_frame_parse(struct stored_frame *frame, struct bytes bytes);

/* Decoded content of a set of labels. Strings are numbers of objects. */
struct stored_labels {
	int64_t comm, cgroup, probe; /* 0: none */
	int32_t pid, tid, cpu;
	uint8_t user_end, kernel_end;
	struct stored_label {
		int64_t key, text, unit, number;
	} others[LABEL_SET_MAX];
	size_t nr_others;
};

int64_t store_add_labels(struct store *store, const struct stored_labels *labels);
int store_get_labels(struct store *store, int64_t number, struct stored_labels *ret);

#endif
