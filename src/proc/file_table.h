/*
 * The files that code comes from, each known by a small number for the whole run.
 *
 * A file is (device, inode, generation), not a path: the path is only its name. It is opened at
 * first sight, because it may be deleted a moment later, and stays open, within a limit, until its
 * symbols are read.
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
	uint64_t generation; /* tells apart files that had one inode in turn; 0: not known */
};

/* Why a file has no descriptor, or that it has one. */
enum file_state {
	FILE_OPEN,
	FILE_CLOSED,   /* was open; closed to stay within the limit */
	FILE_GONE,     /* when we looked there was no such regular file any more */
	FILE_REFUSED,  /* we may not read it */
	FILE_LEFT_OUT, /* in a root past those that are told apart (proc/root_table): not opened */
};

struct file {
	struct file_id id;
	const char *path; /* as its process saw it when it was mapped */
	enum file_state state;
	int fd;		/* -1 unless FILE_OPEN */
	bool sampled;	/* some frame lies in it */
	bool is_elf;	/* by its first bytes, when it was opened */
	int root_fd;	/* a handle of the root that the path is below, the table's; -1: ours */
	uid_t root_uid; /* who is root there, as root_uid_of() has it; -1: nobody that we know */
};

struct file_table;

/* More different files than this are not told apart any more. */
#define FILE_TABLE_MAX 262144

/*
 * All paths together; when they are longer, only the last FILE_PATH_TAIL bytes of further ones are
 * kept, behind an ellipsis. Such a file can't be opened again, nor its debug file found by its path.
 */
#define FILE_PATHS_MAX_BYTES (16u << 20)
#define FILE_PATH_TAIL	     64

/* Keeps at most max_open files open. NULL when out of memory. */
struct file_table *file_table_new(size_t max_open);
void file_table_free(struct file_table *table);

/*
 * The number of the file that process pid has mapped at [start, end), which is opened if it is
 * new, or was FILE_GONE when few others had it mapped. -ENOMEM, or -ENOSPC past FILE_TABLE_MAX. Of a process whose root can't be told, only a
 * file is opened that lies below our own one too.
 */
int64_t file_table_add(struct file_table *table, const struct file_id *id, const char *path,
		       int32_t pid, uint64_t start, uint64_t end);

/* A file that is open already; takes the descriptor on success. */
int64_t file_table_add_fd(struct file_table *table, const char *path, int fd);

size_t file_table_nr(const struct file_table *table);
size_t file_table_nr_cut(const struct file_table *table); /* files whose path was cut */
const struct file *file_table_get(const struct file_table *table, uint32_t number);

/*
 * Opens a FILE_CLOSED one again, below the root that it was seen in, if the file of that path is
 * still the same; else it is FILE_GONE or FILE_REFUSED. 0, or -ENOENT.
 */
int file_table_reopen(struct file_table *table, uint32_t number);

/* Files that have frames are closed last when the limit is reached. */
void file_table_mark_sampled(struct file_table *table, uint32_t number);

#endif
