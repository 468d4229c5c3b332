/*
 * Profiles over time, in a file: what `stook agent` writes and `stook query` and `stook serve` read.
 *
 * The store is a sequence of *blocks*. A block is the profile of one epoch, or the sum of the epochs of a minute or
 * of an hour. Strings, frames, stacks and sets of labels are stored once; a block refers to them and has an amount of
 * each value ("cpu" in nanoseconds, "samples") for each pair of labels and stack.
 *
 * One process writes; others may read meanwhile, and see whole blocks only. A block that store_append() has returned
 * 0 for survives a crash of the process and of the host; so does an epoch that store_append_unnamed() has stored until
 * its names are there. Nothing in this header depends on how it is stored.
 */
#ifndef STOOK_STORE_STORE_H
#define STOOK_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct profile;
struct store;

/*
 * Opens the store at `path`, which store_open_writer() creates if it is missing, readable and writable for its owner
 * only. 0; -EBUSY: another process writes to it; -EBADMSG: damaged, or not a store; -EPROTO: written by a later version
 * (for a reader also: an earlier one, which only a writer brings up to date); -EACCES: a file of another user, in a
 * directory like /tmp; or another negative errno. The caller ends with store_close(), which accepts NULL.
 */
int store_open_writer(const char *path, struct store **ret, struct error *error);
void store_close(struct store *store);

/* Limits the memory of a writer: for the numbers of what it has stored, and for SQLite's cache, at most 2 MB. */
void store_limit_memory(struct store *store, size_t bytes);

/*
 * Opens files for a reader that may not do so itself: returns a descriptor for reading, which the reader closes, or a
 * negative errno.
 */
typedef int store_open_fn(void *context, const char *path);

/* Opens a file of a store here: never a symbolic link, and without waiting, as for the writer of a pipe. */
store_open_fn store_open_file;

/*
 * A reader writes nothing, not even beside the store. `open` gets the path with each of the endings of store_files;
 * NULL: store_open_file(). Not for a process that has the store open to write.
 */
int store_open_reader(const char *path, store_open_fn *open, void *context, struct store **ret,
		      struct error *error);

#define STORE_NR_FILES 3
extern const char *const store_files[STORE_NR_FILES]; /* "", "-wal", "-shm" */

/*
 * Moves a damaged store aside, to PATH.damaged, so that a new one can be created. An older one is replaced, or else a bad
 * disk is filled with them. 0; -EINVAL: by its first bytes, the file is no store, and stays; or another negative errno.
 * The new name is in ret, of nr bytes.
 */
int store_put_aside(const char *path, char *ret, size_t nr);

/* --- writing ---------------------------------------------------------------------------------- */

/* All times are nanoseconds of the wall clock, which can be set back: blocks may overlap. */
struct store_epoch {
	uint64_t start_ns, end_ns;
	uint64_t period_ns; /* of the clock that sampled; 0: not known */
	uint64_t lost;	    /* samples */
	/* Numbers of the epochs that it consists of, from 1, ever greater ones; 0: none was stored without names. */
	uint64_t first, last;
	/* For how long: end_ns - start_ns, unless the host slept or its clock was set. */
	uint64_t measured_ns;
};

/*
 * Appends an epoch. All of the profile's values are stored, and the derived one, as profile_values() lists them; time
 * slices are not. Minutes and hours that are over are summed up in the same transaction, which also removes the epochs
 * without names from epoch->first to epoch->last, and settles those before. On failure nothing has changed: -ENOSPC,
 * -EROFS, -EIO, -EBADMSG (damaged), -ENOMEM.
 */
int store_append(struct store *store, const struct store_epoch *epoch,
		 const struct profile *profile, struct error *error);

/*
 * Stores an epoch, with the number epoch->last, whose code has no names yet, or few: store_append() replaces it. For
 * readers it is an epoch like any other. Returns as store_append().
 */
int store_append_unnamed(struct store *store, const struct store_epoch *epoch,
			 const struct profile *profile, struct error *error);

/*
 * Settles the epochs without names that a writer which was killed has left: makes ordinary ones of them, which stay
 * without. *ret_nr is their number. Returns as store_append().
 */
int store_settle(struct store *store, uint64_t *ret_nr, struct error *error);

/*
 * The ages at which blocks are removed. The content of a removed epoch or minute is still in the hour that contains
 * it.
 */
struct store_limits {
	uint64_t epochs_ns, minutes_ns, hours_ns; /* 0: never by age */
	uint64_t bytes; /* of the files; the oldest of the finest blocks go first; 0: no limit */
};

/*
 * Removes what is too old or too much, and all that only removed blocks referred to. Each call does a limited amount of
 * work: 1: there is more, to be done soon, as after the next epoch; else as store_append(). When the store gets larger
 * than limits->bytes, it is made smaller by a tenth.
 */
int store_expire(struct store *store, const struct store_limits *limits, uint64_t now_ns,
		 struct error *error);

/* False: the file that is written to was removed or replaced, and nobody else can read it. */
bool store_is_there(const struct store *store);

uint64_t store_bytes(const struct store *store); /* of the files on the disk, the log included */

/* --- reading ---------------------------------------------------------------------------------- */

struct store_where; /* a condition on labels: store/where.h */

struct store_query {
	uint64_t from_ns, to_ns;
	const struct store_where *where; /* NULL: everything */
	/* The labels that stay: "comm", "pid", "cgroup", or the key of any other. All others are dropped. */
	const char *const *labels;
	size_t nr_labels;
	bool all_labels;   /* stay */
	bool no_stacks;	   /* only sums by labels */
	const char *value; /* to be the main one; NULL: "cpu" if there is one, else the first */
	uint64_t step_ns;  /* length of time slices; 0: none */
	/* NULL, or by slice, from from_ns on: the lengths of its epochs are added. A block is in the slice where it begins. */
	uint64_t *slices_measured_ns;
	size_t nr_slices; /* that this has room for */
	/* Longer blocks are read only where shorter ones are gone; 0: the longest that fit. */
	uint64_t most_ns;
};

struct store_answer {
	uint64_t from_ns, to_ns; /* of the blocks that were added up: a block is never cut */
	uint64_t nr_epochs;	 /* that these are the sums of */
	uint64_t lost;		 /* samples in these */
	uint64_t measured_ns;	 /* sum of the epochs' lengths */
	uint64_t nr_blocks[3];	 /* epochs, minutes, hours that were read */
	/* The length of the longest of these blocks. The time that the host slept is left out: a minute or an hour at most. */
	uint64_t longest_ns;
	/* Sampling periods of the blocks; 0: none is known. A minute or an hour of several periods has none. */
	uint64_t least_period_ns, most_period_ns;
	bool has_mixed_periods;
};

/*
 * Adds up the blocks in a range of time; the finest ones that there still are at its ends. *ret is the caller's,
 * without samples if there are none. -EINVAL: a value that no block has; -E2BIG: too many slices; or a negative
 * errno.
 */
int store_query(struct store *store, const struct store_query *query, struct profile **ret,
		struct store_answer *ret_answer, struct error *error);

/* The range of time that the store has, and how many blocks of each length. */
struct store_extent {
	uint64_t from_ns, to_ns; /* 0: empty */
	uint64_t nr_epochs, nr_minutes, nr_hours;
	uint64_t last_from_ns, last_to_ns; /* the epoch that was appended last */
	uint64_t expired_ns; /* the time that store_expire() was last given; 0: never */
};

int store_extent(struct store *store, struct store_extent *ret, struct error *error);

#endif
