/* One entry a process, by its number; see run_time_maps.h. */
#include "sym/run_time_maps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "sym/jitdump.h"
#include "sym/perf_map.h"

struct entry {
	struct code_map *map; /* NULL: nothing read so far */
	dev_t device;	      /* of the perf map that was read */
	ino_t inode;
	uint64_t perf_at, jitdump_at; /* so far they have been read */
	bool is_too_large;	      /* its map was given up for good */
};

struct run_time_maps {
	struct entry *entries; /* by the process' number */
	size_t nr, capacity;
	size_t max_bytes;
};

struct run_time_maps *run_time_maps_new(size_t max_bytes)
{
	struct run_time_maps *maps = calloc(1, sizeof(*maps));

	if (maps)
		maps->max_bytes = max_bytes;
	return maps;
}

static void forget(struct entry *entry)
{
	code_map_free(entry->map);
	*entry = (struct entry){0};
}

void run_time_maps_free(struct run_time_maps *maps)
{
	size_t i;

	if (!maps)
		return;
	for (i = 0; i < maps->nr; i++)
		forget(&maps->entries[i]);
	free(maps->entries);
	free(maps);
}

/* --- memory -------------------------------------------------------------------------------- */

static size_t bytes_of_all(const struct run_time_maps *maps)
{
	size_t i, bytes = 0;

	for (i = 0; i < maps->nr; i++)
		if (maps->entries[i].map)
			bytes += code_map_bytes(maps->entries[i].map);
	return bytes;
}

/*
 * Gives up maps, but not the one of a number, until all together hold no more than max_bytes.
 * Processes are asked for in the same order again and again: the one before is wanted again last.
 */
static void give_up(struct run_time_maps *maps, size_t number, size_t max_bytes)
{
	size_t i, bytes = bytes_of_all(maps);

	for (i = 1; i < maps->nr && bytes > max_bytes; i++) {
		struct entry *entry = &maps->entries[(number + maps->nr - i) % maps->nr];

		if (!entry->map)
			continue;
		bytes -= code_map_bytes(entry->map);
		forget(entry);
	}
}

/* Sees to it that all hold no more than they may; the names of overwritten code go first. */
static void make_room(struct run_time_maps *maps, size_t number)
{
	size_t i;

	if (bytes_of_all(maps) <= maps->max_bytes)
		return;
	for (i = 0; i < maps->nr; i++)
		if (maps->entries[i].map)
			(void)code_map_compact(maps->entries[i].map);
	give_up(maps, number, maps->max_bytes);
}

/* What the map of one process may hold while the others keep theirs. */
static size_t share_of(const struct run_time_maps *maps, const struct entry *entry)
{
	size_t others = bytes_of_all(maps) - code_map_bytes(entry->map);

	return others < maps->max_bytes ? maps->max_bytes - others : 0;
}

static size_t most_of_one(const struct run_time_maps *maps)
{
	return maps->max_bytes > RUN_TIME_MAP_BYTES ? maps->max_bytes : RUN_TIME_MAP_BYTES;
}

static void mark_too_large(struct entry *entry)
{
	code_map_free(entry->map);
	entry->map = NULL;
	entry->is_too_large = true;
}

/* --- reading ------------------------------------------------------------------------------- */

static struct entry *entry_of(struct run_time_maps *maps, uint32_t number)
{
	if (array_reserve(&maps->entries, &maps->capacity, (size_t)number + 1,
			  sizeof(*maps->entries)) < 0)
		return NULL;
	while (maps->nr <= number)
		maps->entries[maps->nr++] = (struct entry){0};
	return &maps->entries[number];
}

/*
 * Whether the perf map is another file than before, or has been written from its beginning, as
 * JVMs do each time that they are asked. One that was too large is read again only if it is shorter
 * than the part that was read.
 */
static bool is_another(const struct entry *entry, const struct stat *st, bool is_java)
{
	return entry->inode &&
	       ((is_java && !entry->is_too_large) || entry->device != st->st_dev ||
		entry->inode != st->st_ino || (uint64_t)st->st_size < entry->perf_at);
}

/* Opens the perf map, and forgets what was read of another one; -1: there is none. */
static int open_perf_map(struct entry *entry, const struct runtime_process *process)
{
	cleanup_fd int fd = runtime_process_open_map(process);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (is_another(entry, &st, process->runtime && process->runtime->is_java))
		forget(entry);
	entry->device = st.st_dev;
	entry->inode = st.st_ino;
	return take_fd(&fd);
}

static int read_jitdump(struct entry *entry, const struct runtime_process *process,
			struct file_table *files)
{
	int fd = -1;

	if (process->jitdump >= 0) {
		(void)file_table_reopen(files, (uint32_t)process->jitdump);
		fd = file_table_get(files, (uint32_t)process->jitdump)->fd;
	}
	return fd < 0 ? 0 : jitdump_read(fd, entry->map, &entry->jitdump_at);
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EFBIG;
}

/* Reads both on, and settles. perf_fd: -1 for none. */
static int read_on(struct entry *entry, const struct runtime_process *process,
		   struct file_table *files, int perf_fd)
{
	int perf_err = 0, err, settle_err;
	size_t nr_bad = 0;

	if (perf_fd >= 0)
		perf_err = perf_map_read(perf_fd, entry->map, &entry->perf_at, &nr_bad);
	if (is_full(perf_err) || perf_err == -ENOMEM)
		return perf_err;
	err = read_jitdump(entry, process, files);
	if (is_full(err) || err == -ENOMEM)
		return err;
	settle_err = code_map_settle(entry->map);
	if (settle_err < 0)
		return settle_err;
	return perf_err < 0 ? perf_err : err;
}

/* The same within what the map may take, for which others are given up if need be. */
static int read_within_limits(struct run_time_maps *maps, uint32_t number,
			      const struct runtime_process *process, struct file_table *files,
			      int perf_fd)
{
	struct entry *entry = &maps->entries[number];
	int err;

	code_map_limit(entry->map, share_of(maps, entry));
	err = read_on(entry, process, files, perf_fd);
	if (err != -ENOSPC)
		return err;
	give_up(maps, number, 0);
	code_map_limit(entry->map, most_of_one(maps));
	return read_on(entry, process, files, perf_fd);
}

static int update(struct run_time_maps *maps, uint32_t number,
		  const struct runtime_process *process, struct file_table *files)
{
	struct entry *entry = &maps->entries[number];
	cleanup_fd int perf_fd = open_perf_map(entry, process);
	int err;

	if (entry->is_too_large)
		return 0;
	if (!entry->map && !(entry->map = code_map_new()))
		return -ENOMEM;
	err = read_within_limits(maps, number, process, files, perf_fd);
	if (err == -ENOMEM)
		forget(entry);
	if (!is_full(err))
		return err;
	mark_too_large(entry);
	return -EFBIG;
}

int run_time_maps_get(struct run_time_maps *maps, uint32_t number,
		      const struct runtime_process *process, struct file_table *files,
		      const struct code_map **ret)
{
	struct entry *entry;
	int err = 0;

	make_room(maps, number);
	entry = entry_of(maps, number);
	if (!entry)
		return -ENOMEM;
	if (!process->is_superseded)
		err = update(maps, number, process, files);
	if (err != -ENOMEM)
		*ret = entry->map && code_map_nr(entry->map) ? entry->map : NULL;
	return err;
}
