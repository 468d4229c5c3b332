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

/* Gives up all maps if together they hold too much. */
static void make_room(struct run_time_maps *maps)
{
	size_t i, bytes = 0;

	for (i = 0; i < maps->nr; i++)
		if (maps->entries[i].map)
			bytes += code_map_bytes(maps->entries[i].map);
	for (i = 0; i < maps->nr && bytes > maps->max_bytes; i++)
		forget(&maps->entries[i]);
}

static struct entry *entry_of(struct run_time_maps *maps, uint32_t number)
{
	struct entry *entry;

	if (array_reserve(&maps->entries, &maps->capacity, (size_t)number + 1,
			  sizeof(*maps->entries)) < 0)
		return NULL;
	while (maps->nr <= number)
		maps->entries[maps->nr++] = (struct entry){0};
	entry = &maps->entries[number];
	if (!entry->map)
		entry->map = code_map_new();
	return entry->map ? entry : NULL;
}

/*
 * Whether the perf map is another file than before, or has been written from its beginning, as
 * JVMs do each time that they are asked.
 */
static bool is_another(const struct entry *entry, const struct stat *st, bool is_java)
{
	return entry->inode &&
	       (is_java || entry->device != st->st_dev || entry->inode != st->st_ino ||
		(uint64_t)st->st_size < entry->perf_at);
}

static int read_perf_map(struct entry *entry, const struct runtime_process *process)
{
	cleanup_fd int fd = runtime_process_open_map(process);
	size_t nr_bad = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	if (is_another(entry, &st, process->runtime && process->runtime->is_java)) {
		forget(entry);
		entry->map = code_map_new();
		if (!entry->map)
			return -ENOMEM;
	}
	entry->device = st.st_dev;
	entry->inode = st.st_ino;
	return perf_map_read(fd, entry->map, &entry->perf_at, &nr_bad);
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

int run_time_maps_get(struct run_time_maps *maps, uint32_t number,
		      const struct runtime_process *process, struct file_table *files,
		      const struct code_map **ret)
{
	struct entry *entry;
	int err, jitdump_err, settle_err;

	make_room(maps);
	entry = entry_of(maps, number);
	if (!entry)
		return -ENOMEM;
	err = read_perf_map(entry, process);
	if (!entry->map)
		return -ENOMEM;
	jitdump_err = read_jitdump(entry, process, files);
	settle_err = code_map_settle(entry->map);
	if (err == -ENOMEM || jitdump_err == -ENOMEM || settle_err == -ENOMEM) {
		forget(entry);
		return -ENOMEM;
	}
	*ret = code_map_nr(entry->map) ? entry->map : NULL;
	return err < 0 ? err : jitdump_err;
}
