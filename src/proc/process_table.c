/*
 * Processes and their mappings over time; the header describes the two passes of an event.
 *
 * The kernel does not report munmap(), so mappings are only added or replaced; a stale one does no
 * harm, since no address in it can be sampled.
 */
#include "proc/process_table.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "proc/look.h"
#include "proc/mappings.h"

/* Late records and the remaining threads of an exited leader may still need its mappings. */
#define KEEP_EXITED_NS (2 * NS_PER_SEC)

/*
 * A process determines how long reading its maps takes, up to MAPS_MAX_BYTES, and can make the
 * kernel lose events, after which they are read again. After a slow read, that is postponed by
 * SNAPSHOT_REST times its duration.
 */
#define LONG_SNAPSHOT_NS (10 * NS_PER_MS)
#define SNAPSHOT_REST	 32

struct process {
	int32_t pid;
	bool replayed;	 /* its mappings come from replayed events */
	bool is_refused; /* we lack permission to read its mappings */
	bool is_silent;	 /* its mappings could not be read in time */
	bool is_awaited; /* a snapshot is wanted */
	struct mappings *mappings;
	struct mappings *snapshot;
	struct mappings *arriving;  /* the part of the next snapshot that is there */
	uint64_t awaited_since;	    /* program_since when it was wanted */
	uint64_t snapshot_began_ns; /* start of reading it */
	uint64_t snapshot_ns;	    /* end of reading it; 0: never tried */
	uint64_t snapshot_since;    /* not valid earlier: another program ran */
	uint64_t program_since;	    /* its latest fork or exec that has arrived */
	uint64_t exited_ns;	    /* 0: running */
};

struct process_table {
	struct file_table *files;
	struct u64_map by_pid;	/* → struct process * */
	uint64_t distrust_ns;	/* events were lost before this time */
	size_t nr_new_mappings; /* added or copied since the last full count */
	uint64_t nr_forgotten;
	size_t nr_refused, nr_silent;
	int32_t *wanted; /* pids to snapshot: [first_wanted, nr_wanted) are still to be taken */
	size_t first_wanted, nr_wanted, cap_wanted;
};

struct process_table *process_table_new(struct file_table *files)
{
	struct process_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->files = files;
	return table;
}

static void process_free(struct process *process)
{
	mappings_unref(process->mappings);
	mappings_unref(process->snapshot);
	mappings_unref(process->arriving);
	free(process);
}

static struct process *process_of(const struct u64_map_slot *slot)
{
	return (struct process *)(uintptr_t)slot->value;
}

static void forget_all(struct process_table *table)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	while ((slot = u64_map_next(&table->by_pid, &position)))
		process_free(process_of(slot));
	u64_map_clear(&table->by_pid);
}

void process_table_free(struct process_table *table)
{
	if (!table)
		return;
	forget_all(table);
	free(table->wanted);
	free(table);
}

static void start_anew(struct process_table *table)
{
	table->nr_forgotten += table->by_pid.nr;
	forget_all(table);
}

static struct process *find(const struct process_table *table, int32_t pid)
{
	const uint64_t *value = u64_map_find(&table->by_pid, (uint32_t)pid);

	return value ? (struct process *)(uintptr_t)*value : NULL;
}

/* Returns the process, adding it if necessary; NULL when out of memory. */
static struct process *find_or_add(struct process_table *table, int32_t pid)
{
	struct process *process = find(table, pid);

	if (process)
		return process;
	if (table->by_pid.nr >= PROCESS_TABLE_MAX)
		start_anew(table);
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	if (u64_map_set(&table->by_pid, (uint32_t)pid, (uintptr_t)process) < 0) {
		free(process);
		return NULL;
	}
	return process;
}

/*
 * True for the names that the kernel gives to shared memory, which has an inode but no file in a
 * file system.
 */
static bool is_shared(const char *path)
{
	return !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/SYSV", 5) ||
	       !strncmp(path, "/anon_hugepage", 14);
}

/* Sets the mapping's kind and file, which is added if it is new. */
static int classify(struct process_table *table, int32_t pid, const struct file_id *id,
		    const char *path, struct mapping *mapping)
{
	int64_t file;

	mapping->kind = MAPPING_ANON;
	if (!strcmp(path, "[vdso]"))
		mapping->kind = MAPPING_VDSO;
	if (id->inode && is_shared(path))
		mapping->kind = MAPPING_SHARED;
	if (!id->inode || path[0] != '/' || is_shared(path) || !strcmp(path, "//anon"))
		return 0;
	file = file_table_add(table->files, id, path, pid, mapping->start, mapping->end);
	if (file == -ENOMEM)
		return -ENOMEM;
	if (file >= 0) {
		mapping->kind = MAPPING_FILE;
		mapping->file = (uint32_t)file;
	}
	return 0;
}

static void set_mappings(struct process *process, struct mappings *mappings)
{
	mappings_unref(process->mappings);
	process->mappings = mappings;
}

static void drop_snapshot(struct process *process)
{
	mappings_unref(process->snapshot);
	process->snapshot = NULL;
	process->snapshot_ns = 0;
}

/* --- number of mappings ---------------------------------------------------------------------- */

/* Mappings shared by n processes count 1/n in each. */
static size_t share_of(const struct mappings *mappings)
{
	return mappings ? mappings_nr(mappings) / mappings_refs(mappings) : 0;
}

static size_t count_mappings(const struct process_table *table)
{
	const struct u64_map_slot *slot;
	size_t position = 0, nr = 0;

	while ((slot = u64_map_next(&table->by_pid, &position)))
		nr += share_of(process_of(slot)->mappings) + share_of(process_of(slot)->snapshot);
	return nr;
}

/*
 * Removes the mappings of large processes. They are then treated as new: their maps are read again.
 */
static void forget_large(struct process_table *table)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	while ((slot = u64_map_next(&table->by_pid, &position))) {
		struct process *process = process_of(slot);

		if (mappings_nr(process->mappings) <= PROCESS_TABLE_LARGE &&
		    mappings_nr(process->snapshot) <= PROCESS_TABLE_LARGE)
			continue;
		set_mappings(process, NULL);
		drop_snapshot(process);
		process->replayed = false;
		table->nr_forgotten++;
	}
}

/* Called when mappings were added or copied. May remove processes or their mappings. */
static void limit_mappings(struct process_table *table, size_t nr_new)
{
	table->nr_new_mappings += nr_new;
	if (table->nr_new_mappings < PROCESS_TABLE_MAX_MAPPINGS / 4)
		return;
	table->nr_new_mappings = 0;
	if (count_mappings(table) <= PROCESS_TABLE_MAX_MAPPINGS)
		return;
	forget_large(table);
	if (count_mappings(table) > PROCESS_TABLE_MAX_MAPPINGS / 2)
		start_anew(table);
}

/* --- snapshots ------------------------------------------------------------------------------- */

static int want_snapshot(struct process_table *table, struct process *process)
{
	if (table->first_wanted == table->nr_wanted)
		table->first_wanted = table->nr_wanted = 0;
	if (ARRAY_ADD(table->wanted, table->nr_wanted, table->cap_wanted, process->pid) < 0)
		return -ENOMEM;
	process->is_awaited = true;
	process->awaited_since = process->program_since;
	return 0;
}

bool process_table_next_look(struct process_table *table, int32_t *ret_pid)
{
	while (table->first_wanted < table->nr_wanted) {
		int32_t pid = table->wanted[table->first_wanted++];
		const struct process *process = find(table, pid);

		if (!process || !process->is_awaited)
			continue; /* forgotten meanwhile */
		*ret_pid = pid;
		return true;
	}
	return false;
}

int process_table_add_mapping(struct process_table *table, int32_t pid,
			      const struct maps_entry *entry, bool is_memory)
{
	struct process *process = find(table, pid);
	struct mapping mapping = {
		.start = entry->start, .end = entry->end, .offset = entry->offset};
	int err;

	if (!process || !process->is_awaited)
		return 0;
	mapping.kind = MAPPING_ANON;
	err = is_memory ? 0 : classify(table, pid, &entry->id, entry->path, &mapping);
	if (!process->arriving)
		process->arriving = mappings_new();
	if (err == 0)
		err = process->arriving ? mappings_add(&process->arriving, &mapping) : -ENOMEM;
	return err == -ENOMEM ? err : 0;
}

static void note_failure(struct process_table *table, struct process *process, int err)
{
	bool is_refused = err == -EACCES, is_silent = err < 0 && !is_refused;

	table->nr_refused += is_refused && !process->is_refused;
	table->nr_silent += is_silent && !process->is_silent;
	process->is_refused |= is_refused;
	process->is_silent |= is_silent;
}

int process_table_looked(struct process_table *table, int32_t pid, const struct maps_looked *looked)
{
	struct process *process = find(table, pid);
	struct mappings *mappings;

	if (!process || !process->is_awaited)
		return 0;
	mappings = process->arriving ? process->arriving : mappings_new();
	if (!mappings)
		return -ENOMEM;
	note_failure(table, process, looked->err);
	table->nr_forgotten += looked->is_cut;
	process->is_awaited = false;
	process->arriving = NULL;
	if (!process->replayed) /* else its next program has mapped them meanwhile */
		set_mappings(process, NULL);
	mappings_unref(process->snapshot);
	process->snapshot = mappings;
	process->snapshot_began_ns = looked->began_ns;
	process->snapshot_ns = looked->ended_ns;
	/* After a later exec, it shows the program before. */
	process->snapshot_since = process->program_since <= looked->ended_ns
					  ? process->program_since
					  : process->awaited_since;
	limit_mappings(table, mappings_nr(mappings)); /* last, because it may free the process */
	return 0;
}

bool process_table_awaits(const struct process_table *table, int32_t pid)
{
	const struct process *process = pid > 0 ? find(table, pid) : NULL;

	return process && process->is_awaited;
}

bool process_table_awaits_for(const struct process_table *table, const struct process_event *event)
{
	const struct file *file = NULL;

	if (event->kind == PROCESS_EXIT || event->pid <= 0)
		return false;
	if (event->kind == PROCESS_MAP && event->mapping.kind == MAPPING_FILE)
		file = file_table_get(table->files, event->mapping.file);
	if (file && file->state == FILE_ASKED && file_is_memfd(file->path))
		return true;
	return process_table_awaits(table,
				    event->kind == PROCESS_FORK ? event->parent : event->pid);
}

static bool is_resting(const struct process *process)
{
	uint64_t took_ns = process->snapshot_ns - process->snapshot_began_ns;

	return process->snapshot_ns && took_ns > LONG_SNAPSHOT_NS &&
	       clock_now_ns() - process->snapshot_ns < took_ns * SNAPSHOT_REST;
}

static bool needs_snapshot(const struct process_table *table, const struct process *process)
{
	return !process->replayed && !process->is_awaited &&
	       process->snapshot_ns <= table->distrust_ns && !is_resting(process);
}

int process_table_ensure(struct process_table *table, int32_t pid)
{
	struct process *process;

	if (pid <= 0)
		return 0; /* outside our pid namespace */
	process = find_or_add(table, pid);
	if (!process)
		return -ENOMEM;
	return needs_snapshot(table, process) ? want_snapshot(table, process) : 0;
}

/* Events from before a loss are not trusted: later ones may be missing. */
static bool is_trusted(const struct process_table *table, const struct process_event *event)
{
	return event->time_ns > table->distrust_ns;
}

/* A snapshot taken after a fork or exec of its process shows the program after that event. */
static void limit_snapshot(struct process *process, uint64_t since_ns)
{
	if (since_ns > process->program_since)
		process->program_since = since_ns;
	if (process->snapshot && since_ns <= process->snapshot_ns &&
	    since_ns > process->snapshot_since)
		process->snapshot_since = since_ns;
}

static int arrive_fork(struct process_table *table, const struct process_event *event)
{
	struct process *child;

	/* The parent existed before us and still runs: its maps are read now. */
	if (process_table_ensure(table, event->parent) < 0)
		return -ENOMEM;
	child = find_or_add(table, event->pid);
	if (!child)
		return -ENOMEM;
	child->replayed = is_trusted(table, event); /* before its first sample */
	limit_snapshot(child, event->time_ns);
	return 0;
}

static int arrive_exec(struct process_table *table, const struct process_event *event)
{
	struct process *process = find_or_add(table, event->pid);

	if (!process)
		return -ENOMEM;
	process->replayed = is_trusted(table, event);
	limit_snapshot(process, event->time_ns);
	return 0;
}

int process_table_arrive(struct process_table *table, struct process_event *event, const char *path)
{
	if (event->pid <= 0)
		return 0; /* outside our pid namespace, where all processes have pid 0 */
	switch (event->kind) {
	case PROCESS_FORK:
		return arrive_fork(table, event);
	case PROCESS_EXEC:
		return arrive_exec(table, event);
	case PROCESS_MAP:
		return classify(table, event->pid, &event->file_id, path, &event->mapping);
	case PROCESS_EXIT:
		return 0;
	}
	return 0;
}

/*
 * The mappings at the replay's position: from events, else from the snapshot if it shows this
 * program.
 */
static struct mappings *current(const struct process *process, uint64_t time_ns)
{
	if (process->mappings)
		return process->mappings;
	if (process->snapshot && time_ns >= process->snapshot_since)
		return process->snapshot;
	return NULL;
}

/* True if maps that were read after a loss are more reliable than an event from before it. */
static bool maps_know_better(const struct process_table *table, const struct process *process,
			     const struct process_event *event)
{
	return process->snapshot && !is_trusted(table, event) &&
	       process->snapshot_ns > table->distrust_ns;
}

static int replay_fork(struct process_table *table, const struct process_event *event)
{
	struct process *child = find_or_add(table, event->pid);
	struct process *parent = find(table, event->parent); /* adding may remove it */
	struct mappings *mappings = NULL;

	if (!child)
		return -ENOMEM;
	child->exited_ns = 0;
	if (child->snapshot_ns < event->time_ns)
		drop_snapshot(child); /* it shows an earlier process with this pid */
	if (parent && !maps_know_better(table, child, event))
		mappings = mappings_ref(current(parent, event->time_ns));
	set_mappings(child, mappings);
	child->replayed = mappings && is_trusted(table, event);
	return 0;
}

static int replay_exec(struct process_table *table, const struct process_event *event)
{
	struct process *process = find_or_add(table, event->pid);
	struct mappings *none = mappings_new();

	if (!process || !none) {
		mappings_unref(none);
		return -ENOMEM;
	}
	process->exited_ns = 0;
	if (maps_know_better(table, process, event)) {
		mappings_unref(none);
		none = NULL;
	}
	set_mappings(process, none);
	return 0;
}

static int replay_map(struct process_table *table, const struct process_event *event)
{
	struct process *process = find(table, event->pid);
	struct mapping mapping = event->mapping;
	bool is_shared;
	int err;

	/* Without a snapshot of a process that existed before us, single events are useless. */
	if (!process || !current(process, event->time_ns))
		return 0;
	if (!process->mappings) {
		if (event->time_ns <= process->snapshot_began_ns)
			return 0; /* included in the snapshot, which may be newer */
		process->mappings = mappings_ref(process->snapshot);
	}
	if (mapping.kind == MAPPING_FILE &&
	    file_is_memory(file_table_get(table->files, mapping.file)))
		mapping.kind = MAPPING_ANON;
	is_shared = mappings_refs(process->mappings) > 1;
	err = mappings_add(&process->mappings, &mapping);
	if (err == 0)
		limit_mappings(table, is_shared ? mappings_nr(process->mappings) : 1);
	return err == -ENOMEM ? err : 0;
}

int process_table_replay(struct process_table *table, const struct process_event *event)
{
	struct process *process;

	if (event->pid <= 0)
		return 0;
	switch (event->kind) {
	case PROCESS_FORK:
		return replay_fork(table, event);
	case PROCESS_EXEC:
		return replay_exec(table, event);
	case PROCESS_MAP:
		return replay_map(table, event);
	case PROCESS_EXIT:
		process = find(table, event->pid);
		if (process)
			process->exited_ns = event->time_ns;
		return 0;
	}
	return 0;
}

const struct mappings *process_table_mappings(struct process_table *table, int32_t pid,
					      uint64_t time_ns)
{
	struct process *process = find(table, pid);

	if (!process)
		return NULL;
	if (process->exited_ns)
		process->exited_ns = time_ns; /* a thread outlives the leader */
	return current(process, time_ns);
}

void process_table_distrust(struct process_table *table)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	table->distrust_ns = clock_now_ns();
	while ((slot = u64_map_next(&table->by_pid, &position)))
		process_of(slot)->replayed = false;
}

/* True if only the leader has exited, or the process is a zombie. */
static bool is_there(int32_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

void process_table_purge(struct process_table *table, uint64_t now_ns)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	while ((slot = u64_map_next(&table->by_pid, &position))) {
		struct process *process = process_of(slot);

		if (!process->exited_ns || process->exited_ns + KEEP_EXITED_NS > now_ns ||
		    is_there(process->pid))
			continue;
		(void)u64_map_remove(&table->by_pid, slot->key);
		process_free(process);
		position--; /* removing may have moved another entry to this slot */
	}
}

uint64_t process_table_nr_forgotten(const struct process_table *table)
{
	return table->nr_forgotten;
}

size_t process_table_nr_refused(const struct process_table *table)
{
	return table->nr_refused;
}

size_t process_table_nr(const struct process_table *table)
{
	return table->by_pid.nr;
}

size_t process_table_nr_silent(const struct process_table *table)
{
	return table->nr_silent;
}
