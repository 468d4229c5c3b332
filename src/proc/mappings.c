/*
 * The array of mappings is searched by bisection, and copied when one of several owners changes it.
 * Parsing a line of /proc/PID/maps is a pure function, for tests and fuzzing.
 *
 * Users of files are found in one pass over the maps of all processes. Files are compared by inode
 * number alone: on btrfs and overlayfs, stat() reports another device than the mappings. Two file
 * systems may have the same number by chance; that does no harm, because the result only decides
 * about a note to the user and a default.
 */
#include "proc/mappings.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "proc/process_info.h"

struct mappings {
	unsigned refs;
	struct mapping *items;
	size_t nr, capacity;
};

struct mappings *mappings_new(void)
{
	struct mappings *mappings = calloc(1, sizeof(*mappings));

	if (mappings)
		mappings->refs = 1;
	return mappings;
}

struct mappings *mappings_ref(struct mappings *mappings)
{
	if (mappings)
		mappings->refs++;
	return mappings;
}

void mappings_unref(struct mappings *mappings)
{
	if (!mappings || --mappings->refs)
		return;
	free(mappings->items);
	free(mappings);
}

unsigned mappings_refs(const struct mappings *mappings)
{
	return mappings ? mappings->refs : 0;
}

static struct mappings *copy(const struct mappings *from)
{
	struct mappings *to = mappings_new();

	if (!to || ARRAY_RESERVE(to->items, to->capacity, from->nr + 1) < 0) {
		mappings_unref(to);
		return NULL;
	}
	if (from->nr)
		memcpy(to->items, from->items, from->nr * sizeof(*to->items));
	to->nr = from->nr;
	return to;
}

/* Index of the first mapping that ends above address; nr if there is none. */
static size_t first_above(const struct mappings *mappings, uint64_t address)
{
	return array_first(mappings->nr, i, mappings->items[i].end > address);
}

static void cut_front(struct mapping *mapping, uint64_t start)
{
	mapping->offset += start - mapping->start;
	mapping->start = start;
}

/* Replaces items[first, last) by nr others; there must be room. */
static void splice(struct mappings *mappings, size_t first, size_t last, const struct mapping *with,
		   size_t nr)
{
	memmove(&mappings->items[first + nr], &mappings->items[last],
		(mappings->nr - last) * sizeof(*mappings->items));
	if (nr)
		memcpy(&mappings->items[first], with, nr * sizeof(*with));
	mappings->nr += nr - (last - first);
}

/* True if an address in both, or behind the one in the other, is the same code. */
static bool is_same_code(const struct mapping *a, const struct mapping *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == MAPPING_ANON)
		return true;
	return a->kind == MAPPING_FILE && a->file == b->file &&
	       a->offset - a->start == b->offset - b->start;
}

/* True if adding the mapping changes nothing: a JIT compiler protects its memory again and again. */
static bool is_included(const struct mappings *mappings, const struct mapping *mapping)
{
	const size_t i = first_above(mappings, mapping->start);
	const struct mapping *known = i < mappings->nr ? &mappings->items[i] : NULL;

	return known && known->start <= mapping->start && known->end >= mapping->end &&
	       is_same_code(known, mapping);
}

/* Joins neighbours of the same code among items[from, to]. */
static void join(struct mappings *mappings, size_t from, size_t to)
{
	size_t i;

	for (i = from; i < to && i + 1 < mappings->nr;) {
		struct mapping *one = &mappings->items[i], *next = one + 1;

		if (one->end != next->start || !is_same_code(one, next)) {
			i++;
			continue;
		}
		one->end = next->end;
		splice(mappings, i + 1, i + 2, NULL, 0);
	}
}

int mappings_add(struct mappings **mappings_pointer, const struct mapping *mapping)
{
	struct mappings *mappings = *mappings_pointer;
	struct mapping with[3]; /* rest of the first overlapped, new one, rest of the last */
	size_t first, last, nr = 0;

	if (mapping->end <= mapping->start || is_included(mappings, mapping))
		return 0;
	if (mappings->nr + 2 > MAPPINGS_MAX)
		return -ENOSPC;
	if (mappings->refs > 1) {
		mappings = copy(*mappings_pointer);
		if (!mappings)
			return -ENOMEM;
		mappings_unref(*mappings_pointer);
		*mappings_pointer = mappings;
	}
	if (ARRAY_RESERVE(mappings->items, mappings->capacity, mappings->nr + 2) < 0)
		return -ENOMEM;

	first = first_above(mappings, mapping->start);
	last = first;
	while (last < mappings->nr && mappings->items[last].start < mapping->end)
		last++;
	if (first < last && mappings->items[first].start < mapping->start) {
		with[nr] = mappings->items[first];
		with[nr++].end = mapping->start;
	}
	with[nr++] = *mapping;
	if (first < last && mappings->items[last - 1].end > mapping->end) {
		with[nr] = mappings->items[last - 1];
		cut_front(&with[nr++], mapping->end);
	}
	splice(mappings, first, last, with, nr);
	join(mappings, first ? first - 1 : 0, first + nr);
	return 0;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
	size_t i;

	if (!mappings)
		return NULL;
	i = first_above(mappings, address);
	if (i == mappings->nr || mappings->items[i].start > address)
		return NULL;
	return &mappings->items[i];
}

size_t mappings_nr(const struct mappings *mappings)
{
	return mappings ? mappings->nr : 0;
}

const struct mapping *mappings_get(const struct mappings *mappings, size_t i)
{
	return &mappings->items[i];
}

void mappings_mark_files(const struct mappings *mappings, struct file_table *files)
{
	size_t i;

	for (i = 0; i < mappings_nr(mappings); i++)
		if (mappings->items[i].kind == MAPPING_FILE)
			file_table_mark_used(files, mappings->items[i].file);
}

/* --- /proc/PID/maps --------------------------------------------------------------------------- */

int maps_open(struct maps *maps, int32_t pid)
{
	*maps = (struct maps){.file = process_open_file(pid, "maps")};
	return maps->file ? 0 : -errno;
}

void maps_close(struct maps *maps)
{
	if (maps->file)
		(void)fclose(maps->file);
	free(maps->line);
	*maps = (struct maps){0};
}

/* Parses a hexadecimal number and the separator that must follow it. */
static bool take_hex(char **at, char separator, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(*at, &end, 16);
	if (end == *at || *end != separator || errno)
		return false;
	*at = end + 1;
	return true;
}

/* Format: start-end perms offset major:minor inode   path */
bool maps_parse_line(char *line, struct maps_entry *ret)
{
	uint64_t major, minor;
	char *end;

	if (!take_hex(&line, '-', &ret->start) || !take_hex(&line, ' ', &ret->end) ||
	    ret->end <= ret->start || strlen(line) < 5 || line[4] != ' ')
		return false;
	ret->executable = line[2] == 'x';
	line += 5;
	if (!take_hex(&line, ' ', &ret->offset) || !take_hex(&line, ':', &major) ||
	    !take_hex(&line, ' ', &minor))
		return false;
	ret->id = (struct file_id){.major = (uint32_t)major, .minor = (uint32_t)minor};
	ret->id.inode = strtoull(line, &end, 10);
	if (end == line || (*end && *end != ' '))
		return false;
	ret->path = end + strspn(end, " ");
	return true;
}

bool maps_next(struct maps *maps, struct maps_entry *ret)
{
	ssize_t length;

	while ((length = getline(&maps->line, &maps->line_bytes, maps->file)) > 0) {
		maps->nr_read += (size_t)length;
		maps->is_cut = maps->nr_read > MAPS_MAX_BYTES;
		if (maps->is_cut)
			return false;
		if (maps->line[length - 1] == '\n')
			maps->line[length - 1] = '\0';
		if (maps_parse_line(maps->line, ret))
			return true;
	}
	return false;
}

/* --- users of files --------------------------------------------------------------------------- */

static bool is_known(const struct file_users *question, uint32_t pid)
{
	size_t i;

	if (pid == (uint32_t)getpid())
		return true;
	for (i = 0; i < question->nr_pids; i++)
		if (question->pids[i] == pid)
			return true;
	return false;
}

static int64_t find_inode(const struct file_users *question, uint64_t inode)
{
	size_t i;

	for (i = 0; i < question->nr_inodes; i++)
		if (question->inodes[i] == inode)
			return (int64_t)i;
	return -ENOENT;
}

static int64_t search_process(const struct file_users *question, uint32_t pid, uint64_t end_ns)
{
	struct maps maps;
	struct maps_entry entry;
	int64_t found = -ENOENT;

	if (maps_open(&maps, (int32_t)pid) < 0)
		return -ENOENT;
	while (found == -ENOENT && maps_next(&maps, &entry)) {
		if (clock_now_ns() > end_ns)
			found = -ETIMEDOUT;
		else if (entry.executable && entry.id.inode)
			found = find_inode(question, entry.id.inode);
	}
	maps_close(&maps);
	return found;
}

int64_t file_users_find(const struct file_users *question)
{
	const uint64_t end_ns = clock_now_ns() + question->limit_ns;
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int64_t found = -ENOENT;

	if (!processes)
		return -ETIMEDOUT;
	while ((entry = readdir(processes))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (question->begins)
			question->begins(question->context, (int32_t)pid);
		process_memory_await((int32_t)pid);
		if (question->nr_inodes && found == -ENOENT && !is_known(question, pid))
			found = search_process(question, pid, end_ns);
	}
	(void)closedir(processes);
	return found;
}
