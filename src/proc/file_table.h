/*
 * The files that code comes from, each identified by a small number for the whole run.
 *
 * A file is (device, inode, generation), not a path: the path is only its name. It is opened when
 * it is first seen, because it may be deleted a moment later, and stays open, within a limit, until
 * its symbols are read.
 */
#ifndef STOOK_PROC_FILE_TABLE_H
#define STOOK_PROC_FILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct file_id {
	uint32_t major, minor;
	uint64_t inode;
	uint64_t generation; /* distinguishes files that reused an inode; 0: unknown */
};

/* Why a file has no descriptor, or FILE_OPEN. */
enum file_state {
	FILE_OPEN,
	FILE_CLOSED,	 /* was open; closed to stay within the limit */
	FILE_GONE,	 /* no such regular file existed when it was opened */
	FILE_REFUSED,	 /* we may not read it */
	FILE_NOT_OPENED, /* not opened: the table of roots is full (proc/root_table) */
};

struct file {
	struct file_id id;
	const char *path; /* in its process' view when it was mapped */
	enum file_state state;
	int fd;		/* -1 unless FILE_OPEN */
	bool sampled;	/* it contains the code of some frame */
	bool is_elf;	/* by its first bytes, when it was opened */
	int root_fd;	/* root that path is relative to, owned by the table; -1: ours */
	uid_t root_uid; /* root_uid_of() its process; -1: unknown */
};

struct file_table;

/* Limit of files; further ones are not distinguished. */
#define FILE_TABLE_MAX 262144

/*
 * Total size of all paths. Beyond that only the last FILE_PATH_TAIL bytes of a path are kept, after
 * an ellipsis. Such a file can't be reopened, nor can its debug file be found by its path.
 */
#define FILE_PATHS_MAX_BYTES (16u << 20)
#define FILE_PATH_TAIL	     64

/* Keeps at most max_open files open. NULL when out of memory. */
struct file_table *file_table_new(size_t max_open);
void file_table_free(struct file_table *table);

/*
 * Returns the number of the file that process pid has mapped at [start, end). Opens the file if it
 * is new, or if it is FILE_GONE after only a few attempts. -ENOMEM, or -ENOSPC beyond
 * FILE_TABLE_MAX. If the process' root is unknown, the file is opened only if it is also found
 * below our own root.
 */
int64_t file_table_add(struct file_table *table, const struct file_id *id, const char *path,
		       int32_t pid, uint64_t start, uint64_t end);

/* Adds a file that is already open; takes ownership of the descriptor on success. */
int64_t file_table_add_fd(struct file_table *table, const char *path, int fd);

size_t file_table_nr(const struct file_table *table);
size_t file_table_nr_cut(const struct file_table *table); /* files with a truncated path */
const struct file *file_table_get(const struct file_table *table, uint32_t number);

/*
 * Reopens a FILE_CLOSED file below the root in which it was seen, if the file at that path is still
 * the same; otherwise it becomes FILE_GONE or FILE_REFUSED. 0, or -ENOENT.
 */
int file_table_reopen(struct file_table *table, uint32_t number);

/* Marks a file as having samples. Such files are closed last when the limit is reached. */
void file_table_mark_sampled(struct file_table *table, uint32_t number);

#endif
