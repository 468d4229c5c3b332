/* Numbers for files, and their descriptors. */
#include "proc/file_table.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd_io.h"
#include "base/hash.h"
#include "proc/file_open.h"
#include "proc/root_table.h"

#define NO_FILE UINT32_MAX

/* Limit of compared files with the same inode number: a target can replace a file without end. */
#define FORMER_MAX 64

/*
 * A process that lives for a millisecond may exit before its file is opened through it; in a
 * container there is no other way. So this many processes with the same file are tried.
 */
#define GONE_TRIES 64

struct entry {
	struct file file;
	char *path;
	uint32_t older; /* another file with the same hash: mostly the inode's earlier content */
	uint32_t next, previous; /* in its list of open files */
	uint32_t nr_tries;	 /* attempts to open it */
};

/* Open files, the one opened first at the front. */
struct open_list {
	uint32_t first, last;
};

struct file_table {
	struct entry *entries;
	size_t nr, capacity;
	size_t path_bytes, nr_cut;     /* of all paths; number of files with a truncated one */
	struct u64_map newest_by_hash; /* hash of device and inode → number */
	size_t nr_open, max_open;
	struct open_list lists[2]; /* files without samples, files with samples */
	struct root_table *roots;
};

struct file_table *file_table_new(size_t max_open)
{
	struct file_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->max_open = max_open ? max_open : 1;
	table->lists[false] = table->lists[true] = (struct open_list){NO_FILE, NO_FILE};
	table->roots = root_table_new();
	if (!table->roots) {
		free(table);
		return NULL;
	}
	return table;
}

void file_table_free(struct file_table *table)
{
	size_t i;

	if (!table)
		return;
	for (i = 0; i < table->nr; i++) {
		if (table->entries[i].file.fd >= 0)
			(void)close(table->entries[i].file.fd);
		free(table->entries[i].path);
	}
	free(table->entries);
	u64_map_clear(&table->newest_by_hash);
	root_table_free(table->roots);
	free(table);
}

static uint64_t hash_of(const struct file_id *id)
{
	return hash_add(hash_u64((uint64_t)id->major << 32 | id->minor), id->inode);
}

static bool same_file(const struct file_id *a, const struct file_id *b)
{
	return a->major == b->major && a->minor == b->minor && a->inode == b->inode &&
	       (!a->generation || !b->generation || a->generation == b->generation);
}

static uint32_t newest(const struct file_table *table, uint64_t hash)
{
	const uint64_t *number = u64_map_find(&table->newest_by_hash, hash);

	return number ? (uint32_t)*number : NO_FILE;
}

/* --- open files ------------------------------------------------------------------------------ */

static void list_open(struct file_table *table, uint32_t number)
{
	struct entry *entry = &table->entries[number];
	struct open_list *list = &table->lists[entry->file.sampled];

	entry->next = NO_FILE;
	entry->previous = list->last;
	if (list->last != NO_FILE)
		table->entries[list->last].next = number;
	else
		list->first = number;
	list->last = number;
}

static void unlist_open(struct file_table *table, uint32_t number)
{
	const struct entry *entry = &table->entries[number];
	struct open_list *list = &table->lists[entry->file.sampled];

	if (entry->previous != NO_FILE)
		table->entries[entry->previous].next = entry->next;
	else
		list->first = entry->next;
	if (entry->next != NO_FILE)
		table->entries[entry->next].previous = entry->previous;
	else
		list->last = entry->previous;
}

/*
 * Makes room for one more descriptor: closes files without samples first, the oldest of each kind
 * first.
 */
static void make_room(struct file_table *table)
{
	while (table->nr_open >= table->max_open) {
		uint32_t number = table->lists[false].first;
		struct file *file;

		if (number == NO_FILE)
			number = table->lists[true].first;
		file = &table->entries[number].file;
		unlist_open(table, number);
		(void)close(file->fd);
		file->fd = -1;
		file->state = FILE_CLOSED;
		table->nr_open--;
	}
}

/* A copy of the path, or of its end if there is no room for more; to be freed. */
static char *copy_path(struct file_table *table, const char *path)
{
	size_t nr = strlen(path);
	char *copy = NULL;

	if (nr <= FILE_PATH_TAIL || nr <= FILE_PATHS_MAX_BYTES - table->path_bytes) {
		copy = strdup(path);
		if (copy && nr > FILE_PATH_TAIL)
			table->path_bytes += nr;
		return copy;
	}
	path += nr - FILE_PATH_TAIL;
	while ((*path & 0xc0) == 0x80) /* don't start in the middle of a character */
		path++;
	if (asprintf(&copy, "…%s", path) < 0)
		return NULL;
	table->nr_cut++;
	return copy;
}

/* Adds a new entry without a descriptor. */
static int64_t append(struct file_table *table, const struct file_id *id, const char *path)
{
	uint64_t hash = hash_of(id);
	struct entry entry = {.file = {.id = *id, .fd = -1, .state = FILE_GONE, .root_fd = -1},
			      .older = newest(table, hash)};

	if (table->nr >= FILE_TABLE_MAX)
		return -ENOSPC;
	if (ARRAY_RESERVE(table->entries, table->capacity, table->nr + 1) < 0)
		return -ENOMEM;
	entry.path = copy_path(table, path);
	if (!entry.path || u64_map_set(&table->newest_by_hash, hash, table->nr) < 0) {
		free(entry.path);
		return -ENOMEM;
	}
	entry.file.path = entry.path;
	table->entries[table->nr] = entry;
	return (int64_t)table->nr++;
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return fd_read_at(fd, 0, magic, sizeof(magic)) == 0 && !memcmp(magic, ELFMAG, SELFMAG);
}

static void set_fd(struct file_table *table, uint32_t number, int fd)
{
	struct file *file = &table->entries[number].file;

	file->fd = fd;
	file->is_elf = is_elf(fd);
	file->state = FILE_OPEN;
	if (!file->id.generation)
		file->id.generation = file_generation(fd); /* /proc/PID/maps doesn't have it */
	table->nr_open++;
	list_open(table, number);
}

/*
 * Opens a file through a process. Returns a descriptor, file_open_mapped()'s error, or -ENOSPC. The
 * content of such a file is trusted as a file of the process' root, so that root must be known: if
 * a container's file were taken for one below our root, it would be read with the host's trust. If
 * the table of roots is full, nothing is opened. If the process has exited or may not be inspected,
 * the file is tried below our own root, identified by device and inode.
 */
static int open_in_root(struct file_table *table, struct file *file, int32_t pid, uint64_t start,
			uint64_t end)
{
	int root = root_table_add(table->roots, pid), fd;

	if (root == -ENOSPC)
		return root;
	if (root >= 0) {
		file->root_fd = root_table_fd(table->roots, root);
		file->root_uid = root_table_uid(table->roots, root);
		return file_open_mapped(&file->id, file->path, pid, start, end);
	}
	fd = file_open_again(&file->id, -1, file->path);
	return fd < 0 && root == -EACCES ? root : fd;
}

/* True if a known file should be opened again through another process. */
static bool is_worth_a_try(const struct entry *entry)
{
	return entry->file.state == FILE_NOT_OPENED ||
	       (entry->file.state == FILE_GONE && entry->nr_tries < GONE_TRIES);
}

int64_t file_table_add(struct file_table *table, const struct file_id *id, const char *path,
		       int32_t pid, uint64_t start, uint64_t end)
{
	uint32_t known;
	int64_t number;
	unsigned tries;
	int fd;
	struct file *file;

	for (known = newest(table, hash_of(id)), tries = FORMER_MAX; known != NO_FILE && tries;
	     known = table->entries[known].older, tries--)
		if (same_file(&table->entries[known].file.id, id))
			break;
	if (known != NO_FILE && tries && !is_worth_a_try(&table->entries[known]))
		return known;
	number = known != NO_FILE && tries ? known : append(table, id, path);
	if (number < 0)
		return number;
	make_room(table);
	table->entries[number].nr_tries++;
	file = &table->entries[number].file;
	fd = open_in_root(table, file, pid, start, end);
	if (fd >= 0)
		set_fd(table, (uint32_t)number, fd);
	else
		file->state = fd == -EACCES   ? FILE_REFUSED
			      : fd == -ENOSPC ? FILE_NOT_OPENED
					      : FILE_GONE;
	return number;
}

int64_t file_table_add_fd(struct file_table *table, const char *path, int fd)
{
	struct file_id id;
	struct stat st;
	int64_t number;

	if (fstat(fd, &st) < 0)
		return -errno;
	id = (struct file_id){major(st.st_dev), minor(st.st_dev), st.st_ino, 0};
	number = append(table, &id, path);
	if (number < 0)
		return number;
	make_room(table);
	set_fd(table, (uint32_t)number, fd);
	return number;
}

int file_table_reopen(struct file_table *table, uint32_t number)
{
	struct file *file = &table->entries[number].file;
	int fd;

	if (file->state != FILE_CLOSED)
		return -ENOENT;
	make_room(table);
	fd = file_open_again(&file->id, file->root_fd, file->path);
	if (fd < 0) {
		file->state = fd == -EACCES ? FILE_REFUSED : FILE_GONE;
		return -ENOENT;
	}
	set_fd(table, number, fd);
	return 0;
}

size_t file_table_nr(const struct file_table *table)
{
	return table->nr;
}

size_t file_table_nr_cut(const struct file_table *table)
{
	return table->nr_cut;
}

const struct file *file_table_get(const struct file_table *table, uint32_t number)
{
	return &table->entries[number].file;
}

void file_table_mark_sampled(struct file_table *table, uint32_t number)
{
	struct file *file = &table->entries[number].file;

	if (file->sampled)
		return;
	if (file->fd >= 0)
		unlist_open(table, number);
	file->sampled = true;
	if (file->fd >= 0)
		list_open(table, number);
}
