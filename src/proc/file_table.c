/*
 * Numbers for files, their handles, and the looks that are wanted for them.
 *
 * A number is never given to another file, so whoever has an old one (a look that is under way, a module of an earlier
 * interval) finds that the file is forgotten, and not another file. Entries have a life: file_table_sweep().
 */
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

/* Numbers begin anew after this one. */
#define LAST_NUMBER (UINT32_MAX - 2)

/* Limit of compared files with the same inode number: a target can replace a file without end. */
#define FORMER_MAX 64

/*
 * A process that lives for a millisecond may exit before its file is opened through it; in a
 * container there is no other way. So this many processes with the same file are tried, a few of them at once.
 */
#define GONE_TRIES    64
#define TRIES_AT_ONCE 4

/* Each entry is in one of these lists, the one that came first at the front. */
enum list {
	LIST_OPEN,	   /* has a handle, and no samples */
	LIST_OPEN_SAMPLED, /* has a handle, and samples */
	LIST_CLOSED,
	LIST_UNUSED, /* closed, and nobody used it at the latest sweep */
	NR_LISTS,
};

struct entry {
	struct file file;
	uint32_t number;
	char *path;
	bool is_cut; /* the path is only its end, or short: not part of path_bytes */
	struct entry *older,
		*newer; /* other files with the same hash: mostly the inode's other contents */
	struct entry *previous, *next; /* in its list */
	enum list list;
	uint32_t nr_tries; /* looks at it that were wanted; anew if it is FILE_SILENT at a sweep */
	uint32_t nr_waiting; /* of these, without a result so far */
	int root;	     /* in the table of roots; ROOT_OURS also if it is unknown */
	bool is_marked;
	bool is_rootless; /* its root may have been released: it is looked at only through a process */
	bool is_copy;	  /* see file_table_copy() */
};

/* A wanted look. */
struct wanted {
	uint32_t file;
	int32_t pid; /* 0: open it again */
	uint64_t start, end;
};

struct file_table {
	struct u64_map by_number;      /* → struct entry * */
	struct u64_map newest_by_hash; /* hash of device and inode → struct entry * */
	uint32_t next_number;
	struct {
		struct entry *first, *last;
		size_t nr;
	} lists[NR_LISTS];
	size_t path_bytes,
		nr_cut;	     /* of whole long paths; number of files ever with a truncated one */
	uint64_t nr_seen;    /* files, ever */
	uint64_t nr_refused; /* times that a file found no place */
	uint64_t nr_forgotten[NR_FILE_STATES]; /* files with samples, by their last state */
	size_t max_open;
	size_t nr_swept;   /* files that were left after the latest sweep */
	size_t max_unused; /* of them; FILE_UNUSED_SPARE, or more */
	struct root_table *roots;
	struct wanted *wanted; /* [first_wanted, nr_wanted) are still to be taken */
	size_t first_wanted, nr_wanted, cap_wanted;
};

/* Half as many as files: both are descriptors. */
static size_t max_roots(size_t max_open)
{
	if (max_open / 2 < ROOT_TABLE_MIN)
		return ROOT_TABLE_MIN;
	return max_open / 2 < ROOT_TABLE_MAX ? max_open / 2 : ROOT_TABLE_MAX;
}

struct file_table *file_table_new(size_t max_open)
{
	struct file_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->max_open = max_open ? max_open : 1;
	table->max_unused = FILE_UNUSED_SPARE;
	table->roots = root_table_new(max_roots(table->max_open));
	if (!table->roots) {
		free(table);
		return NULL;
	}
	return table;
}

void file_table_begin_at(struct file_table *table, uint32_t number)
{
	table->next_number = number;
}

uint32_t file_table_next_number(const struct file_table *table)
{
	return table->next_number;
}

static void entry_free(struct entry *entry)
{
	if (entry->file.handle >= 0)
		(void)close(entry->file.handle);
	free(entry->path);
	free(entry);
}

static struct entry *entry_in(const struct u64_map *map, uint64_t key)
{
	const uint64_t *value = u64_map_find(map, key);

	return value ? (struct entry *)(uintptr_t)*value : NULL;
}

static struct entry *entry_of(const struct u64_map_slot *slot)
{
	return (struct entry *)(uintptr_t)slot->value;
}

static struct entry *find(const struct file_table *table, uint32_t number)
{
	return entry_in(&table->by_number, number);
}

void file_table_free(struct file_table *table)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	if (!table)
		return;
	while ((slot = u64_map_next(&table->by_number, &position)))
		entry_free(entry_of(slot));
	free(table->wanted);
	u64_map_clear(&table->by_number);
	u64_map_clear(&table->newest_by_hash);
	root_table_free(table->roots);
	free(table);
}

static uint64_t hash_of(const struct file_id *id)
{
	return hash_add(hash_add(hash_u64((uint64_t)id->major << 32 | id->minor), id->inode),
			id->arranger);
}

static bool same_file(const struct file_id *a, const struct file_id *b)
{
	return a->major == b->major && a->minor == b->minor && a->inode == b->inode &&
	       a->arranger == b->arranger &&
	       (!a->generation || !b->generation || a->generation == b->generation);
}

/* --- lists ----------------------------------------------------------------------------------- */

static void unlist(struct file_table *table, struct entry *entry)
{
	if (entry->previous)
		entry->previous->next = entry->next;
	else
		table->lists[entry->list].first = entry->next;
	if (entry->next)
		entry->next->previous = entry->previous;
	else
		table->lists[entry->list].last = entry->previous;
	table->lists[entry->list].nr--;
}

/* Adds an entry that is in no list to the end of one. */
static void list(struct file_table *table, struct entry *entry, enum list list)
{
	struct entry *last = table->lists[list].last;

	entry->list = list;
	entry->next = NULL;
	entry->previous = last;
	if (last)
		last->next = entry;
	else
		table->lists[list].first = entry;
	table->lists[list].last = entry;
	table->lists[list].nr++;
}

static void move_to(struct file_table *table, struct entry *entry, enum list to)
{
	unlist(table, entry);
	list(table, entry, to);
}

static size_t nr_open(const struct file_table *table)
{
	return table->lists[LIST_OPEN].nr + table->lists[LIST_OPEN_SAMPLED].nr;
}

static void close_file(struct file_table *table, struct entry *entry)
{
	(void)close(entry->file.handle);
	entry->file.handle = -1;
	entry->file.state = FILE_CLOSED;
	move_to(table, entry, LIST_CLOSED);
}

/*
 * Makes room for one more descriptor: closes files without samples first, the oldest of each kind
 * first.
 */
static void make_room(struct file_table *table)
{
	while (nr_open(table) >= table->max_open) {
		struct entry *first = table->lists[LIST_OPEN].first;

		close_file(table, first ? first : table->lists[LIST_OPEN_SAMPLED].first);
	}
}

/* --- entries --------------------------------------------------------------------------------- */

/* A copy of the path, or of its end if there is no room for more; to be freed. */
static char *copy_path(struct file_table *table, const char *path, bool *ret_is_cut)
{
	size_t nr = strlen(path);
	char *copy = NULL;

	*ret_is_cut = nr > FILE_PATH_TAIL && nr > FILE_PATHS_MAX_BYTES - table->path_bytes;
	if (!*ret_is_cut) {
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

static void free_path(struct file_table *table, struct entry *entry)
{
	size_t nr = entry->path ? strlen(entry->path) : 0;

	if (!entry->is_cut && nr > FILE_PATH_TAIL)
		table->path_bytes -= nr;
	free(entry->path);
	entry->path = NULL;
}

/* Returns a new entry, without a path and a descriptor, which no identity leads to; NULL when out of memory. */
static struct entry *add_entry(struct file_table *table, uint32_t number)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry || u64_map_set(&table->by_number, number, (uintptr_t)entry) < 0) {
		free(entry);
		return NULL;
	}
	entry->number = number;
	entry->file = (struct file){
		.path = "", .state = FILE_GONE, .handle = -1, .uid = (uid_t)-1, .root_fd = -1};
	list(table, entry, LIST_CLOSED);
	return entry;
}

/* Removes an entry. */
static void forget(struct file_table *table, struct entry *entry)
{
	const uint64_t hash = hash_of(&entry->file.id);

	if (entry->older)
		entry->older->newer = entry->newer;
	if (entry->newer)
		entry->newer->older = entry->older;
	else if (entry_in(&table->newest_by_hash, hash) == entry && entry->older)
		(void)u64_map_set(&table->newest_by_hash, hash, (uintptr_t)entry->older);
	else if (entry_in(&table->newest_by_hash, hash) == entry)
		(void)u64_map_remove(&table->newest_by_hash, hash);
	(void)u64_map_remove(&table->by_number, entry->number);
	table->nr_forgotten[entry->file.state] += entry->file.sampled;
	unlist(table, entry);
	free_path(table, entry);
	entry_free(entry);
}

/* Adds a new file without a descriptor. */
static int64_t append(struct file_table *table, const struct file_id *id, const char *path)
{
	const uint64_t hash = hash_of(id);
	struct entry *entry, *older = entry_in(&table->newest_by_hash, hash);

	if (table->by_number.nr >= FILE_TABLE_MAX) {
		table->nr_refused++;
		return -ENOSPC;
	}
	while (find(table, table->next_number))
		table->next_number = table->next_number == LAST_NUMBER ? 0 : table->next_number + 1;
	entry = add_entry(table, table->next_number);
	if (!entry)
		return -ENOMEM;
	entry->file.id = *id;
	entry->path = copy_path(table, path, &entry->is_cut);
	if (!entry->path || u64_map_set(&table->newest_by_hash, hash, (uintptr_t)entry) < 0) {
		forget(table, entry);
		return -ENOMEM;
	}
	entry->file.path = entry->path;
	entry->older = older;
	if (older)
		older->newer = entry;
	table->nr_seen++;
	table->next_number = entry->number == LAST_NUMBER ? 0 : entry->number + 1;
	return entry->number;
}

static void set_found(struct file_table *table, struct entry *entry, const struct found_file *found,
		      bool is_of_root)
{
	struct file *file = &entry->file;

	make_room(table);
	file->handle = found->handle;
	file->is_elf = found->is_elf;
	file->is_on_server = found->is_on_server;
	file->is_of_root = is_of_root;
	file->uid = found->uid;
	file->state = FILE_OPEN;
	entry->is_rootless = false;
	if (!file->id.generation)
		file->id.generation = found->generation; /* /proc/PID/maps doesn't have it */
	move_to(table, entry, file->sampled ? LIST_OPEN_SAMPLED : LIST_OPEN);
}

/* --- looks ----------------------------------------------------------------------------------- */

static void note_wanted(struct entry *entry)
{
	entry->nr_tries++;
	entry->nr_waiting++;
	entry->file.state = FILE_ASKED;
}

/* Wants a look, unless too many are waiting. -ENOMEM. */
static int want_look(struct file_table *table, struct entry *entry, const struct wanted *wanted)
{
	if (table->first_wanted == table->nr_wanted)
		table->first_wanted = table->nr_wanted = 0;
	if (table->nr_wanted == FILE_LOOKS_MAX)
		return 0;
	if (ARRAY_ADD(table->wanted, table->nr_wanted, table->cap_wanted, *wanted) < 0)
		return -ENOMEM;
	note_wanted(entry);
	return 0;
}

/* Wants a look before all those that wait, of which some have been taken. */
static void want_look_now(struct file_table *table, struct entry *entry,
			  const struct wanted *wanted)
{
	if (table->first_wanted == 0) {
		(void)want_look(table, entry, wanted);
		return;
	}
	table->wanted[--table->first_wanted] = *wanted;
	note_wanted(entry);
}

bool file_table_next_look(struct file_table *table, struct file_look *ret)
{
	while (table->first_wanted < table->nr_wanted) {
		const struct wanted *wanted = &table->wanted[table->first_wanted++];
		struct entry *entry = find(table, wanted->file);

		if (!entry)
			continue;
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
			.root_uid = entry->file.root_uid,
		};
		return true;
	}
	return false;
}

/*
 * Notes the root of the process that the file was found through. Returns false if the table of roots is
 * full: then the file is not used, since its content is trusted as a file of that root.
 */
static bool note_root(struct file_table *table, struct entry *entry, struct file_looked *looked)
{
	struct file *file = &entry->file;
	int root;

	if (looked->root_err < 0)
		return true;
	root = root_table_add(table->roots, &looked->root, looked->root_fd);
	looked->root_fd = -1;
	if (root < 0)
		return false;
	entry->root = root;
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
	case -EIO: /* the opener died */
	case -EBUSY:
	case -EOWNERDEAD:
	case -EHOSTDOWN:
		return FILE_SILENT;
	default:
		return FILE_GONE;
	}
}

static void take_look(struct file_table *table, struct entry *entry, struct file_looked *looked)
{
	const enum file_state state = state_after(looked->err);

	/* A file of another user is no hint that this one is gone. */
	entry->nr_tries -= looked->err == -EXDEV;
	if (!note_root(table, entry, looked)) {
		entry->file.state = FILE_NOT_OPENED;
	} else if (looked->err == 0) {
		set_found(table, entry, &looked->found, looked->is_of_root);
		looked->found.handle = -1;
	} else if (state != FILE_GONE || !entry->nr_waiting) {
		entry->file.state = state;
	}
}

void file_table_looked(struct file_table *table, uint32_t number, struct file_looked *looked)
{
	struct entry *entry = find(table, number);

	if (entry)
		entry->nr_waiting -= entry->nr_waiting > 0;
	if (entry && entry->file.state == FILE_ASKED)
		take_look(table, entry, looked);
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
	       (entry->file.state == FILE_CLOSED && entry->is_rootless) ||
	       (entry->file.state == FILE_SILENT && !entry->nr_tries) ||
	       (entry->file.state == FILE_GONE && entry->nr_tries < GONE_TRIES) ||
	       (entry->file.state == FILE_ASKED && entry->nr_waiting < TRIES_AT_ONCE);
}

int64_t file_table_add(struct file_table *table, const struct file_id *id, const char *path,
		       int32_t pid, uint64_t start, uint64_t end)
{
	struct wanted wanted = {.pid = pid, .start = start, .end = end};
	struct entry *known = entry_in(&table->newest_by_hash, hash_of(id));
	unsigned tries = FORMER_MAX;
	int64_t number;

	while (known && !same_file(&known->file.id, id))
		known = --tries ? known->older : NULL;
	if (known && known->list == LIST_UNUSED)
		move_to(table, known, LIST_CLOSED);
	if (known && !is_worth_a_try(known))
		return known->number;
	number = known ? known->number : append(table, id, path);
	if (number < 0)
		return number;
	wanted.file = (uint32_t)number;
	return want_look(table, find(table, wanted.file), &wanted) < 0 ? -ENOMEM : number;
}

int64_t file_table_add_path(struct file_table *table, const char *path)
{
	const struct file_id any = {0};
	const int64_t number = append(table, &any, path);
	const struct wanted wanted = {.file = (uint32_t)number};

	if (number < 0)
		return number;
	return want_look(table, find(table, wanted.file), &wanted) < 0 ? -ENOMEM : number;
}

bool file_table_reopen(struct file_table *table, uint32_t number)
{
	const struct wanted again = {.file = number};
	struct entry *entry = find(table, number);

	/* If its root may have been released, the path must not be taken for one in ours. */
	if (!entry || entry->file.state != FILE_CLOSED || entry->is_rootless)
		return false;
	want_look_now(table, entry, &again);
	return true;
}

size_t file_table_nr(const struct file_table *table)
{
	return table->by_number.nr;
}

uint64_t file_table_nr_seen(const struct file_table *table)
{
	return table->nr_seen;
}

uint64_t file_table_nr_refused(const struct file_table *table)
{
	return table->nr_refused;
}

size_t file_table_max_roots(const struct file_table *table)
{
	return root_table_max(table->roots);
}

size_t file_table_nr_cut(const struct file_table *table)
{
	return table->nr_cut;
}

uint64_t file_table_nr_sampled(const struct file_table *table, enum file_state state)
{
	const struct u64_map_slot *slot;
	uint64_t nr = table->nr_forgotten[state];
	size_t position = 0;

	while ((slot = u64_map_next(&table->by_number, &position)))
		nr += entry_of(slot)->file.sampled && entry_of(slot)->file.state == state;
	return nr;
}

const struct file *file_table_get(const struct file_table *table, uint32_t number)
{
	static const struct file forgotten = {.path = "",
					      .state = FILE_FORGOTTEN,
					      .handle = -1,
					      .uid = (uid_t)-1,
					      .root_fd = -1,
					      .root_uid = (uid_t)-1};
	const struct entry *entry = find(table, number);

	return entry ? &entry->file : &forgotten;
}

void file_table_mark_sampled(struct file_table *table, uint32_t number)
{
	struct entry *entry = find(table, number);

	if (!entry || entry->file.sampled)
		return;
	entry->file.sampled = true;
	if (entry->list == LIST_OPEN)
		move_to(table, entry, LIST_OPEN_SAMPLED);
}

/* --- lifetimes ------------------------------------------------------------------------------- */

bool file_table_is_crowded(const struct file_table *table)
{
	return table->by_number.nr >= table->nr_swept + table->max_unused;
}

void file_table_mark_used(struct file_table *table, uint32_t number)
{
	struct entry *entry = find(table, number);

	if (entry)
		entry->is_marked = true;
}

/*
 * Releases the roots of which nothing is used, also those that no file has any more: one that was looked at again has
 * the root of the later process. Without memory, another time.
 */
static void release_roots(struct file_table *table)
{
	const size_t nr_roots = root_table_nr(table->roots);
	cleanup_free bool *is_held = calloc(nr_roots, sizeof(*is_held));
	const struct u64_map_slot *slot;
	size_t position = 0, root;

	if (!is_held)
		return;
	while ((slot = u64_map_next(&table->by_number, &position))) {
		const struct entry *entry = entry_of(slot);

		is_held[entry->root] |=
			entry->list != LIST_UNUSED || entry->file.state == FILE_ASKED;
	}
	for (root = ROOT_OURS + 1; root < nr_roots; root++)
		if (root_table_fd(table->roots, (int)root) >= 0 && !is_held[root])
			root_table_release(table->roots, (int)root);
	for (position = 0; (slot = u64_map_next(&table->by_number, &position));) {
		struct entry *entry = entry_of(slot);

		if (is_held[entry->root] || entry->root == ROOT_OURS)
			continue;
		entry->root = ROOT_OURS;
		entry->file.root_fd = -1;
	}
}

void file_table_sweep(struct file_table *table)
{
	const struct u64_map_slot *slot;
	size_t position = 0, nr_used;

	while ((slot = u64_map_next(&table->by_number, &position))) {
		struct entry *entry = entry_of(slot);

		if (entry->is_marked && entry->list == LIST_UNUSED)
			move_to(table, entry, LIST_CLOSED);
		if (!entry->is_marked && entry->file.state == FILE_OPEN)
			close_file(table, entry);
		if (!entry->is_marked && entry->file.state == FILE_CLOSED) {
			entry->is_rootless = true;
			entry->nr_tries = 0;
		}
		if (entry->file.state == FILE_SILENT)
			entry->nr_tries = 0;
		if (!entry->is_marked && entry->list == LIST_CLOSED)
			move_to(table, entry, LIST_UNUSED);
		entry->is_marked = false;
	}
	release_roots(table);
	nr_used = table->by_number.nr - table->lists[LIST_UNUSED].nr;
	table->max_unused = nr_used > FILE_UNUSED_SPARE ? nr_used : FILE_UNUSED_SPARE;
	while (table->lists[LIST_UNUSED].nr > table->max_unused)
		forget(table, table->lists[LIST_UNUSED].first);
	table->nr_swept = table->by_number.nr;
}

/* --- copies ---------------------------------------------------------------------------------- */

/*
 * Replaces a file by one of another table, with a handle of the other's root. handle: a handle of the file, which is
 * taken, or -1. Without room for the root the file is not used, as in take_look().
 */
static void replace(struct file_table *table, struct entry *entry, const struct file_table *from,
		    const struct entry *with, int handle)
{
	cleanup_fd int own = handle;
	const int root = root_table_copy(table->roots, from->roots, with->root);
	struct file *file = &entry->file;

	if (file->handle >= 0)
		close_file(table, entry);
	*file = with->file;
	file->handle = -1; /* room is made among the others */
	file->path = entry->path;
	file->sampled = true;
	if (file->state == FILE_OPEN && own < 0)
		file->state = FILE_CLOSED;
	if (root < 0)
		file->state = FILE_NOT_OPENED;
	entry->root = root < 0 ? ROOT_OURS : root;
	file->root_fd = root_table_fd(table->roots, entry->root);
	entry->is_rootless = with->is_rootless;
	entry->is_copy = true;
	if (file->state == FILE_OPEN) {
		make_room(table);
		file->handle = take_fd(&own);
	}
	move_to(table, entry, file->handle < 0 ? LIST_CLOSED : LIST_OPEN_SAMPLED);
}

int file_table_copy(struct file_table *table, const struct file_table *from, uint32_t number)
{
	const struct entry *known = find(from, number);
	struct entry *entry = find(table, number);
	int handle;

	if (!known)
		return 0;
	if (!entry)
		entry = add_entry(table, number);
	if (entry && !entry->path)
		entry->path = copy_path(table, known->path, &entry->is_cut);
	if (!entry || !entry->path)
		return -ENOMEM;
	handle = known->file.handle;
	replace(table, entry, from, known, handle < 0 ? -1 : fcntl(handle, F_DUPFD_CLOEXEC, 0));
	return 0;
}

int file_table_move(struct file_table *table, struct file_table *from)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	while ((slot = u64_map_next(&from->by_number, &position))) {
		struct entry *moved = entry_of(slot), *entry;

		if (!moved->is_copy)
			continue;
		entry = find(table, moved->number) ?: add_entry(table, moved->number);
		if (entry && !entry->path)
			entry->path = copy_path(table, moved->path, &entry->is_cut);
		if (!entry || !entry->path)
			return -ENOMEM;
		replace(table, entry, from, moved, moved->file.handle);
		moved->file.handle = -1;
		moved->is_copy = false;
		move_to(from, moved, LIST_CLOSED);
	}
	return 0;
}
