/*
 * The files that code comes from, each identified by a number.
 *
 * A file is (device, inode, generation), not a path: the path is only its name. Whoever arranged the mounts of a
 * process belongs to it as well, since the numbers do not tell what an overlayfs shows. It is looked at when
 * it is first seen, because it may be deleted a moment later. From then on the table has a handle of it
 * (O_PATH: nothing of the file is read, and closing it cannot block), within a limit, until its symbols
 * are read. The table itself makes no system call that could block (proc/look.h).
 *
 * A file is forgotten some time after the last process that had it mapped is gone, see file_table_sweep(). Its number
 * is not given to another one.
 */
#ifndef STOOK_PROC_FILE_TABLE_H
#define STOOK_PROC_FILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Without padding: it goes to the opener as it is in memory. */
struct file_id {
	uint32_t major, minor;
	uint64_t inode;
	uint64_t generation; /* distinguishes files that reused an inode; 0: unknown */
	uint64_t arranger;   /* root_uid_of() the process that mapped it; 0: the host's root */
};

/* Why a file has no handle, or FILE_OPEN. */
enum file_state {
	FILE_OPEN,
	FILE_ASKED,	 /* was not looked at yet */
	FILE_CLOSED,	 /* was open; closed to stay within the limit, or since nothing used it */
	FILE_GONE,	 /* no such regular file existed when it was looked for */
	FILE_REFUSED,	 /* we may not read it */
	FILE_SILENT,	 /* given up until the next sweep: its file system did not answer in time */
	FILE_NOT_OPENED, /* not opened: no room for its root (proc/root_table) */
	FILE_FORGOTTEN,	 /* the table has no file of that number any more */
	NR_FILE_STATES,
};

struct file {
	struct file_id id;
	const char *path; /* in its process' view when it was mapped */
	enum file_state state;
	int handle;   /* O_PATH; -1 unless FILE_OPEN */
	bool sampled; /* it contains the code of some frame */
	/* When it was looked at: */
	bool is_elf;	   /* by its first bytes */
	bool is_of_root;   /* only root can write it: see file_is_of_root() */
	bool is_on_server; /* of a FUSE server */
	uid_t uid;	   /* its owner; -1: unknown */
	int root_fd;	   /* root that path is relative to, owned by the table; -1: ours */
	uid_t root_uid;	   /* root_uid_of() its process; -1: unknown */
};

struct file_table;

/* Limit of files at a time; further ones are not distinguished. */
#define FILE_TABLE_MAX 262144

/*
 * Number of unused files that are kept, or as many as there are used ones, if that is more: some 400 bytes each. A
 * program that runs again and again keeps its number in between, and so its unwind table.
 */
#define FILE_UNUSED_SPARE 512

/*
 * Total size of all paths. Beyond that only the last FILE_PATH_TAIL bytes of a path are kept, after
 * an ellipsis. Such a file can't be reopened, nor can its debug file be found by its path.
 */
#define FILE_PATHS_MAX_BYTES (16u << 20)
#define FILE_PATH_TAIL	     64

/* Limit of looks that are waiting. Beyond it, files are looked at when they are seen again. */
#define FILE_LOOKS_MAX 16384

/* Keeps at most max_open files open, and half as many roots (see proc/root_table.h). NULL when out of memory. */
struct file_table *file_table_new(size_t max_open);
size_t file_table_max_roots(const struct file_table *table); /* ours included */
void file_table_free(struct file_table *table);

/*
 * The number of the next new file, and what an empty table begins with instead of 0: a table that follows another one
 * goes on from its numbers, which may still be in use.
 */
uint32_t file_table_next_number(const struct file_table *table);
void file_table_begin_at(struct file_table *table, uint32_t number);

/*
 * Returns the number of the file that process pid has mapped at [start, end). It wants a look if the file is
 * new, or if it is FILE_GONE after only a few attempts. -ENOMEM, or -ENOSPC beyond FILE_TABLE_MAX. If the
 * process' root is unknown, the file is opened only if it is also found below our own root.
 */
int64_t file_table_add(struct file_table *table, const struct file_id *id, const char *path,
		       int32_t pid, uint64_t start, uint64_t end);

/*
 * Adds a file that no process has mapped here, in a profile of another machine: any regular file at this path below our
 * own root. Returns its number, and wants a look; -ENOMEM, or -ENOSPC beyond FILE_TABLE_MAX.
 */
int64_t file_table_add_path(struct file_table *table, const char *path);

/*
 * Wants a look at a FILE_CLOSED file below the root in which it was seen. False: it can't be had, since it was closed
 * by file_table_sweep(), or is forgotten.
 */
bool file_table_reopen(struct file_table *table, uint32_t number);

struct file_look;
struct file_looked;

/* Takes the next wanted look; false: there is none. Its path is valid until the next add. */
bool file_table_next_look(struct file_table *table, struct file_look *ret);

/* Tells the table what was seen, and passes it the handles. */
void file_table_looked(struct file_table *table, uint32_t number, struct file_looked *looked);

/* True for a path that the kernel gives to a memfd, which has no file system that could be searched for it. */
bool file_is_memfd(const char *path);

/* True for the memory of a JIT compiler: a memfd that is not a whole program (ELF), or could not be opened. */
bool file_is_memory(const struct file *file);

size_t file_table_nr(const struct file_table *table);	     /* without those that are forgotten */
uint64_t file_table_nr_seen(const struct file_table *table); /* with them */
size_t file_table_nr_cut(
	const struct file_table *table); /* files ever seen with a truncated path */
uint64_t file_table_nr_refused(
	const struct file_table *table); /* mappings of files beyond FILE_TABLE_MAX */

/* Number of files with samples in this state, or forgotten in this state. */
uint64_t file_table_nr_sampled(const struct file_table *table, enum file_state state);

/* The file with this number; one that is FILE_FORGOTTEN if there is none. Valid until the next sweep. */
const struct file *file_table_get(const struct file_table *table, uint32_t number);

/*
 * Copies a file of another table under the same number, with handles of its own of the file and its root, so that the
 * other table can change meanwhile. If the root can't be had, the copy is FILE_NOT_OPENED. 0 or -ENOMEM.
 */
int file_table_copy(struct file_table *table, const struct file_table *from, uint32_t number);

/* Moves the files that were copied to `from` into a table. 0 or -ENOMEM. */
int file_table_move(struct file_table *table, struct file_table *from);

/*
 * Lifetimes: mark what is used, then sweep. Files that are not marked are closed, and so are the roots of which no file
 * is used: a handle pins the space of a deleted file, and a container's mounts. They are looked at again when a
 * process maps them, and once so are those that did not answer. Where too many are unused (FILE_UNUSED_SPARE), those
 * for the longest time are forgotten.
 */
void file_table_mark_used(struct file_table *table, uint32_t number);
void file_table_sweep(struct file_table *table);

/* True if as many files were added since the latest sweep as may be unused. */
bool file_table_is_crowded(const struct file_table *table);

/* Marks a file as having samples. Such files are closed last when the limit is reached. */
void file_table_mark_sampled(struct file_table *table, uint32_t number);

#endif
