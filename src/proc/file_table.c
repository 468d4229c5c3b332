/* Numbers for files, their handles, and the looks that are wanted for them. */
#include "proc/file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "proc/file_open.h"
#include "proc/look.h"
#include "proc/root_table.h"

#define NO_FILE UINT32_MAX

/* Limit of compared files with the same inode number: a target can replace a file without end. */
#define FORMER_MAX 64

/*
 * A process that lives for a millisecond may exit before its file is opened through it; in a
 * container there is no other way. So this many processes with the same file are tried, a few of them at once.
 */
#define GONE_TRIES    64
#define TRIES_AT_ONCE 4

struct entry {
	struct file file;
	char *path;
	uint32_t older; /* another file with the same hash: mostly the inode's earlier content */
	uint32_t next, previous; /* in its list of open files */
	uint32_t nr_tries;	 /* looks at it that were wanted */
	uint32_t nr_waiting;	 /* of these, without a result so far */
	bool is_copy;		 /* see file_table_copy() */
};

/* A wanted look. */
struct wanted {
	uint32_t file;
	int32_t pid; /* 0: open it again */
	uint64_t start, end;
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
	struct wanted *wanted; /* [first_wanted, nr_wanted) are still to be taken */
	size_t first_wanted, nr_wanted, cap_wanted;
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
		if (table->entries[i].file.handle >= 0)
			(void)close(table->entries[i].file.handle);
		free(table->entries[i].path);
	}
	free(table->entries);
	free(table->wanted);
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
		(void)close(file->handle);
		file->handle = -1;
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
	struct entry entry = {.file = {.id = *id,
				       .handle = -1,
				       .state = FILE_GONE,
				       .uid = (uid_t)-1,
				       .root_fd = -1},
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

static void set_found(struct file_table *table, uint32_t number, const struct found_file *found,
		      bool is_of_root)
{
	struct file *file = &table->entries[number].file;

	make_room(table);
	file->handle = found->handle;
	file->is_elf = found->is_elf;
	file->is_on_server = found->is_on_server;
	file->is_of_root = is_of_root;
	file->uid = found->uid;
	file->state = FILE_OPEN;
	if (!file->id.generation)
		file->id.generation = found->generation; /* /proc/PID/maps doesn't have it */
	table->nr_open++;
	list_open(table, number);
}

/* --- looks ----------------------------------------------------------------------------------- */

/* Wants a look, unless too many are waiting. -ENOMEM. */
static int want_look(struct file_table *table, const struct wanted *wanted)
{
	struct entry *entry = &table->entries[wanted->file];

	if (table->first_wanted == table->nr_wanted)
		table->first_wanted = table->nr_wanted = 0;
	if (table->nr_wanted == FILE_LOOKS_MAX)
		return 0;
	if (ARRAY_ADD(table->wanted, table->nr_wanted, table->cap_wanted, *wanted) < 0)
		return -ENOMEM;
	entry->nr_tries++;
	entry->nr_waiting++;
	entry->file.state = FILE_ASKED;
	return 0;
}

bool file_table_next_look(struct file_table *table, struct file_look *ret)
{
	while (table->first_wanted < table->nr_wanted) {
		const struct wanted *wanted = &table->wanted[table->first_wanted++];
		struct entry *entry = &table->entries[wanted->file];

		if (entry->file.state != FILE_ASKED) { /* seen through another process */
			entry->nr_waiting--;
			continue;
		}
		*ret = (struct file_look){
			.file = wanted->file,
			.id = entry->file.id,
			.path = entry->path,
			.pid = wanted->pid,
			.start = wanted->start,
			.end = wanted->end,
			.root_fd = entry->file.root_fd,
		};
		return true;
	}
	return false;
}

/*
 * Notes the root of the process that the file was found through. Returns false if the table of roots is
 * full: then the file is not used, since its content is trusted as a file of that root.
 */
static bool note_root(struct file_table *table, struct file *file, struct file_looked *looked)
{
	int root;

	if (looked->root_err < 0)
		return true;
	root = root_table_add(table->roots, &looked->root, looked->root_fd);
	looked->root_fd = -1;
	if (root < 0)
		return false;
	file->root_fd = root_table_fd(table->roots, root);
	file->root_uid = root_table_uid(table->roots, root);
	return true;
}

static enum file_state state_after(int err)
{
	switch (err) {
	case -EACCES:
		return FILE_REFUSED;
	case -ETIME:
	case -EOWNERDEAD:
	case -EHOSTDOWN:
		return FILE_SILENT;
	default:
		return FILE_GONE;
	}
}

void file_table_looked(struct file_table *table, uint32_t number, struct file_looked *looked)
{
	struct entry *entry = &table->entries[number];
	struct file *file = &entry->file;
	bool is_wanted = file->state == FILE_ASKED;
	bool has_room = is_wanted ? note_root(table, file, looked) : false;

	entry->nr_waiting -= entry->nr_waiting > 0;
	if (is_wanted && has_room && looked->err == 0) {
		set_found(table, number, &looked->found, looked->is_of_root);
		looked->found.handle = -1;
	} else if (is_wanted && !has_room) {
		file->state = FILE_NOT_OPENED;
	} else if (is_wanted && (state_after(looked->err) != FILE_GONE || !entry->nr_waiting)) {
		file->state = state_after(looked->err);
	}
	if (looked->err == 0 && looked->found.handle >= 0)
		(void)close(looked->found.handle);
	if (looked->root_fd >= 0)
		(void)close(looked->root_fd);
	looked->found.handle = looked->root_fd = -1;
}

/* --- files ----------------------------------------------------------------------------------- */

bool file_is_memfd(const char *path)
{
	return !strncmp(path, "/memfd:", 7);
}

bool file_is_memory(const struct file *file)
{
	return file_is_memfd(file->path) && !file->is_elf;
}

/* True if a known file should be looked at through another process. */
static bool is_worth_a_try(const struct entry *entry)
{
	return entry->file.state == FILE_NOT_OPENED ||
	       (entry->file.state == FILE_GONE && entry->nr_tries < GONE_TRIES) ||
	       (entry->file.state == FILE_ASKED && entry->nr_waiting < TRIES_AT_ONCE);
}

int64_t file_table_add(struct file_table *table, const struct file_id *id, const char *path,
		       int32_t pid, uint64_t start, uint64_t end)
{
	struct wanted wanted = {.pid = pid, .start = start, .end = end};
	uint32_t known;
	int64_t number;
	unsigned tries;

	for (known = newest(table, hash_of(id)), tries = FORMER_MAX; known != NO_FILE && tries;
	     known = table->entries[known].older, tries--)
		if (same_file(&table->entries[known].file.id, id))
			break;
	if (known != NO_FILE && tries && !is_worth_a_try(&table->entries[known]))
		return known;
	number = known != NO_FILE && tries ? known : append(table, id, path);
	if (number < 0)
		return number;
	wanted.file = (uint32_t)number;
	return want_look(table, &wanted) < 0 ? -ENOMEM : number;
}

void file_table_reopen(struct file_table *table, uint32_t number)
{
	const struct wanted again = {.file = number};

	if (table->entries[number].file.state == FILE_CLOSED)
		(void)want_look(table, &again);
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
	if (file->handle >= 0)
		unlist_open(table, number);
	file->sampled = true;
	if (file->handle >= 0)
		list_open(table, number);
}

/* --- copies ---------------------------------------------------------------------------------- */

/* Returns the entry with this number; NULL when out of memory. Entries before it are made, too. */
static struct entry *entry_at(struct file_table *table, uint32_t number)
{
	static const struct entry blank = {.file = {.path = "",
						    .state = FILE_GONE,
						    .handle = -1,
						    .uid = (uid_t)-1,
						    .root_fd = -1}};

	if (ARRAY_RESERVE(table->entries, table->capacity, (size_t)number + 1) < 0)
		return NULL;
	while (table->nr <= number)
		table->entries[table->nr++] = blank;
	return &table->entries[number];
}

/* Replaces a file, and takes its handle. */
static void replace(struct file_table *table, uint32_t number, const struct file *with)
{
	struct entry *entry = &table->entries[number];

	if (entry->file.handle >= 0) {
		unlist_open(table, number);
		(void)close(entry->file.handle);
		table->nr_open--;
	}
	entry->file = *with;
	entry->file.path = entry->path;
	entry->file.sampled = true;
	entry->is_copy = true;
	if (with->handle < 0)
		return;
	entry->file.handle = -1; /* room is made among the others */
	make_room(table);
	entry->file.handle = with->handle;
	table->nr_open++;
	list_open(table, number);
}

int file_table_copy(struct file_table *table, const struct file_table *from, uint32_t number)
{
	struct file file = from->entries[number].file;
	struct entry *entry = entry_at(table, number);

	if (!entry)
		return -ENOMEM;
	if (!entry->path)
		entry->path = strdup(file.path);
	if (!entry->path)
		return -ENOMEM;
	file.handle = file.handle < 0 ? -1 : fcntl(file.handle, F_DUPFD_CLOEXEC, 0);
	if (file.handle < 0 && file.state == FILE_OPEN)
		file.state = FILE_CLOSED;
	replace(table, number, &file);
	return 0;
}

int file_table_move(struct file_table *table, struct file_table *from)
{
	uint32_t number;

	for (number = 0; number < from->nr; number++) {
		struct entry *moved = &from->entries[number];
		struct entry *entry = moved->is_copy ? entry_at(table, number) : NULL;

		if (!moved->is_copy)
			continue;
		if (!entry)
			return -ENOMEM;
		if (!entry->path)
			entry->path = take_pointer(&moved->path);
		if (moved->file.handle >= 0)
			unlist_open(from, number);
		from->nr_open -= moved->file.handle >= 0;
		replace(table, number, &moved->file);
		moved->file.handle = -1;
		moved->is_copy = false;
	}
	return 0;
}
