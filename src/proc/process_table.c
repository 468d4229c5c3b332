/*
 * Processes and their mappings over time; the header describes the two passes of an event.
 *
 * The kernel does not report munmap(), so mappings are only added or replaced; a stale one does no
 * harm, since no address in it can be sampled.
 */
#include "proc/process_table.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "proc/look.h"
#include "proc/mappings.h"
#include "proc/process_info.h"

/* Late records and the remaining threads of an exited leader may still need its mappings. */
#define KEEP_EXITED_NS (2 * NS_PER_SEC)

/*
 * A process determines how long reading its maps takes, up to MAPS_MAX_BYTES, and can make the
 * kernel lose events, after which they are read again. After a slow read, that is postponed by
 * SNAPSHOT_REST times its duration. All processes together are read again at most REFRESHES_A_SECOND times a second,
 * after as many at once: reading takes CPU time, for lack of which more events may be lost.
 */
#define LONG_SNAPSHOT_NS   (10 * NS_PER_MS)
#define SNAPSHOT_REST	   32
#define REFRESHES_A_SECOND 500

/*
 * The maps of a process that did not answer in time, since something held its mmap_lock, are read again so many times:
 * after 10, 80 and 640 s. Each try may leave an opener behind.
 */
#define SILENT_TRIES   3
#define SILENT_REST_NS (10 * NS_PER_SEC)

/* Processes that are checked for having exited unnoticed, in each purge. */
#define SWEEP_SLOTS 8192

/*
 * After so many processes were forgotten, free memory is given back to the kernel. What a burst of processes needed
 * lies between entries that stay, and free() keeps it: 19 of 22 MB, after 20,000 processes had come and gone.
 */
#define TRIM_AFTER 1024

struct process {
	int32_t pid;
	bool is_refused; /* we lack permission to read its mappings */
	bool is_silent;	 /* its mappings could not be read in time, once or more */
	bool is_awaited; /* a snapshot is wanted */
	/* The program that has the mappings, or is to get the snapshot; {0}: no record showed it yet. */
	struct program_id program;
	struct mappings *mappings; /* at the replay's position; NULL: unknown */
	struct mappings *arriving; /* the part of the next snapshot that is there */
	/* Start and end of reading the snapshot that the mappings began with; 0: they are of events only. */
	uint64_t began_ns, ended_ns;
	/*
	 * All events since then have arrived or will: the time of its latest fork or exec, or of its snapshot. While
	 * a snapshot is awaited: its first fork or exec since it was wanted. 0: none.
	 */
	uint64_t known_ns;
	/* Its latest fork or exec that arrived; and the one that the mappings follow. */
	uint64_t changed_ns, since_ns;
	uint64_t exited_ns; /* 0: running */
	/* The latest snapshots failed, so many; when the next one may be taken. What is in mappings is not all. */
	unsigned nr_silent;
	uint64_t retry_ns;
	uid_t arranger; /* of its files, see struct file_id; as far as a snapshot of it, or of an ancestor, showed */
	int32_t parent;	       /* that forked it; 0: not known */
	uint32_t program_file; /* the first one that it mapped, + 1; 0: not known */
	char name[PROCESS_NAME_BYTES];
};

struct process_table {
	struct file_table *files;
	struct u64_map by_pid;	/* → struct process * */
	uint64_t distrust_ns;	/* events were lost before this time */
	uint64_t refresh_ns;	/* when REFRESHES_A_SECOND would have allowed for the latest one */
	size_t swept;		/* position of the next process to check in by_pid */
	size_t nr_new_mappings; /* added or copied since the last full count */
	size_t nr_purged;	/* since memory was last given back */
	uint64_t nr_forgotten;
	size_t nr_refused, nr_silent;
	uint64_t nr_left_out, nr_postponed, nr_looked;
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

/* Takes the mappings, of which nothing else is known yet; NULL: unknown. */
static void set_mappings(struct process *process, struct mappings *mappings)
{
	mappings_unref(process->mappings);
	process->mappings = mappings;
	process->program = (struct program_id){0};
	process->began_ns = process->ended_ns = 0;
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
		nr += share_of(process_of(slot)->mappings);
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

		if (mappings_nr(process->mappings) <= PROCESS_TABLE_LARGE)
			continue;
		set_mappings(process, NULL);
		process->known_ns = 0;
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

static bool is_newer(const struct program_id *a, const struct program_id *b)
{
	if (a->start_time_ns != b->start_time_ns)
		return a->start_time_ns > b->start_time_ns;
	return a->exec_id > b->exec_id;
}

static bool is_identified(const struct process *process)
{
	return process->program.start_time_ns != 0;
}

/*
 * Wants a snapshot for an event or record of that time; program: the record's, or NULL. Returns 1 or -ENOMEM; or 0 if
 * it would show another program, since a later fork or exec has arrived.
 */
static int want_snapshot(struct process_table *table, struct process *process,
			 const struct program_id *program, uint64_t time_ns)
{
	if (process->known_ns > time_ns)
		return 0;
	if (table->first_wanted > table->nr_wanted / 2) { /* those that were taken */
		table->nr_wanted -= table->first_wanted;
		memmove(table->wanted, table->wanted + table->first_wanted,
			table->nr_wanted * sizeof(*table->wanted));
		table->first_wanted = 0;
	}
	if (ARRAY_ADD(table->wanted, table->nr_wanted, table->cap_wanted, process->pid) < 0)
		return -ENOMEM;
	process->is_awaited = true;
	process->known_ns = 0;
	if (program && is_newer(program, &process->program)) {
		if (is_identified(process))
			set_mappings(process, NULL);
		process->program = *program;
	}
	return 1;
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

/* Adds a mapping if the process does not have too many. 0 or -ENOMEM. */
static int add_mapping(struct process_table *table, struct mappings **mappings,
		       const struct mapping *mapping)
{
	int err = mappings_add(mappings, mapping);

	table->nr_left_out += err == -ENOSPC;
	return err == -ENOMEM ? err : 0;
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
		err = process->arriving ? add_mapping(table, &process->arriving, &mapping)
					: -ENOMEM;
	return err;
}

static void note_failure(struct process_table *table, struct process *process,
			 const struct maps_looked *looked)
{
	const bool is_refused = looked->err == -EACCES, is_silent = looked->err < 0 && !is_refused;

	process->nr_silent = is_silent ? process->nr_silent + 1 : 0;
	process->retry_ns = 0;
	if (is_silent && process->nr_silent <= SILENT_TRIES)
		process->retry_ns =
			looked->ended_ns + (SILENT_REST_NS << 3 * (process->nr_silent - 1));
	table->nr_refused += is_refused && !process->is_refused;
	table->nr_silent += is_silent && !process->is_silent;
	process->is_refused |= is_refused;
	process->is_silent |= is_silent;
}

/* A program is mapped below its libraries. */
static uint32_t first_file(const struct mappings *mappings)
{
	size_t i;

	for (i = 0; i < mappings_nr(mappings); i++)
		if (mappings_get(mappings, i)->kind == MAPPING_FILE)
			return mappings_get(mappings, i)->file + 1;
	return 0;
}

int process_table_looked(struct process_table *table, int32_t pid, const struct maps_looked *looked)
{
	struct process *process = find(table, pid);
	struct mappings *mappings;
	bool is_over; /* another program ran before the reading ended: its events are all that is needed */

	if (!process || !process->is_awaited)
		return 0;
	is_over = process->known_ns && process->known_ns <= looked->ended_ns;
	mappings = process->arriving;
	note_failure(table, process, looked);
	table->nr_forgotten += looked->is_cut;
	process->is_awaited = false;
	process->arriving = NULL;
	if (!process->known_ns && !process->retry_ns)
		process->known_ns = looked->began_ns;
	if (is_over) {
		mappings_unref(mappings);
		return 0;
	}
	if (!mappings) { /* what is known of an exited process remains, and its events are still replayed */
		if (!process->mappings)
			process->mappings = mappings_new();
		return process->mappings ? 0 : -ENOMEM;
	}
	table->nr_looked++;
	mappings_unref(process->mappings);
	process->mappings = mappings;
	process->program_file = first_file(mappings);
	process->arranger = looked->arranger;
	memcpy(process->name, looked->name, sizeof(process->name));
	process->name[sizeof(process->name) - 1] = '\0';
	process->began_ns = looked->began_ns;
	process->ended_ns = looked->ended_ns;
	/* The snapshot is of a program whose fork or exec the replay has not reached. */
	if (process->changed_ns > process->since_ns && process->changed_ns <= looked->began_ns) {
		process->since_ns = process->changed_ns;
		process->program = (struct program_id){0};
	}
	limit_mappings(table, mappings_nr(mappings)); /* last, because it may free the process */
	return 0;
}

bool process_table_awaits(struct process_table *table, int32_t pid,
			  const struct program_id *program, uint64_t time_ns)
{
	struct process *process = pid > 0 ? find(table, pid) : NULL;

	if (!process)
		return false;
	/* An exec was missed, or a fork of a process with the same pid. */
	if (program && !process->is_awaited && is_identified(process) &&
	    is_newer(program, &process->program))
		(void)want_snapshot(table, process, program, time_ns);
	return process->is_awaited;
}

bool process_table_awaits_for(const struct process_table *table, const struct process_event *event)
{
	const struct file *file = NULL;
	const struct process *process;

	if (event->kind == PROCESS_EXIT || event->pid <= 0)
		return false;
	if (event->kind == PROCESS_MAP && event->mapping.kind == MAPPING_FILE)
		file = file_table_get(table->files, event->mapping.file);
	if (file && file->state == FILE_ASKED && file_is_memfd(file->path))
		return true;
	process = find(table, event->kind == PROCESS_FORK ? event->parent : event->pid);
	return process && process->is_awaited;
}

static bool is_resting(const struct process *process, uint64_t now_ns)
{
	uint64_t took_ns = process->ended_ns - process->began_ns;

	return took_ns > LONG_SNAPSHOT_NS && now_ns - process->ended_ns < took_ns * SNAPSHOT_REST;
}

/* True if the maps of a known process may be read again now. */
static bool may_refresh(struct process_table *table, const struct process *process)
{
	uint64_t now_ns = clock_now_ns();

	if (is_resting(process, now_ns) || table->refresh_ns > now_ns)
		return false;
	if (table->refresh_ns + NS_PER_SEC < now_ns)
		table->refresh_ns = now_ns - NS_PER_SEC;
	table->refresh_ns += NS_PER_SEC / REFRESHES_A_SECOND;
	return true;
}

/* True if events of the process may be missing. */
static bool is_doubted(const struct process_table *table, const struct process *process)
{
	return process->known_ns <= table->distrust_ns;
}

int process_table_ensure(struct process_table *table, int32_t pid, const struct program_id *program,
			 uint64_t time_ns)
{
	struct process *process;

	if (pid <= 0)
		return 0; /* outside our pid namespace */
	process = find_or_add(table, pid);
	if (!process)
		return -ENOMEM;
	if (process->is_awaited || !is_doubted(table, process) ||
	    (process->retry_ns && process->retry_ns > clock_now_ns()))
		return 0;
	if (process->mappings && !process->nr_silent && !may_refresh(table, process)) {
		table->nr_postponed++;
		return 0;
	}
	return want_snapshot(table, process, program, time_ns);
}

void process_table_rearranged(struct process_table *table, int32_t pid)
{
	struct process *process = find(table, pid);

	if (!process || process->is_awaited)
		return;
	process->known_ns = 0;
	(void)process_table_ensure(table, pid, NULL, UINT64_MAX);
}

/* A fork or exec of the process: from now on events report all of its mappings. */
static int arrive_program(struct process_table *table, const struct process_event *event)
{
	struct process *process = find_or_add(table, event->pid);
	const struct process *parent = find(table, event->parent); /* adding may remove it */

	if (!process)
		return -ENOMEM;
	if (event->kind == PROCESS_FORK)
		process->arranger = parent ? parent->arranger : 0;
	if (event->time_ns <= process->ended_ns)
		set_mappings(
			process,
			NULL); /* they are of the new program, which the replay has not reached */
	if (!process->is_awaited || !process->known_ns)
		process->known_ns = event->time_ns;
	if (event->time_ns > process->changed_ns)
		process->changed_ns = event->time_ns;
	process->exited_ns = 0; /* purging it now would lose known_ns */
	return 0;
}

int process_table_arrive(struct process_table *table, struct process_event *event, const char *path)
{
	const struct process *process;

	if (event->pid <= 0)
		return 0; /* outside our pid namespace, where all processes have pid 0 */
	switch (event->kind) {
	case PROCESS_FORK:
	case PROCESS_EXEC:
		return arrive_program(table, event);
	case PROCESS_MAP:
		process = find(table, event->pid);
		event->file_id.arranger = process ? process->arranger : 0;
		return classify(table, event->pid, &event->file_id, path, &event->mapping);
	case PROCESS_RENAME:
	case PROCESS_EXIT:
		return 0;
	}
	return 0;
}

/* True if the mappings were read later than that. */
static bool is_included(const struct process *process, const struct process_event *event)
{
	return event->time_ns <= process->began_ns;
}

/* The replay has reached a fork or exec. Takes the mappings that the program begins with; NULL: unknown. */
static void begin_program(struct process *process, struct mappings *mappings, uint64_t time_ns)
{
	set_mappings(process, mappings);
	process->since_ns = time_ns;
	process->nr_silent = 0;
	process->retry_ns = 0;
}

static int replay_fork(struct process_table *table, const struct process_event *event)
{
	struct process *child = find_or_add(table, event->pid);
	const struct process *parent = find(table, event->parent); /* adding may remove it */

	if (!child)
		return -ENOMEM;
	child->exited_ns = 0;
	child->parent = event->parent;
	if (is_included(child, event))
		return 0;
	if (parent) {
		child->program_file = parent->program_file;
		memcpy(child->name, parent->name, sizeof(child->name));
	}
	begin_program(child, parent && !parent->nr_silent ? mappings_ref(parent->mappings) : NULL,
		      event->time_ns);
	if (!child->mappings && child->known_ns <= event->time_ns)
		child->known_ns = 0;
	if (child->mappings && is_doubted(table, parent) && child->known_ns == event->time_ns)
		child->known_ns = parent->known_ns;
	return 0;
}

static int replay_exec(struct process_table *table, const struct process_event *event)
{
	struct process *process = find_or_add(table, event->pid);
	struct mappings *none;

	if (!process)
		return -ENOMEM;
	process->exited_ns = 0;
	if (is_included(process, event))
		return 0;
	none = mappings_new();
	if (!none)
		return -ENOMEM;
	begin_program(process, none, event->time_ns);
	process->program_file = 0;
	memcpy(process->name, event->name, sizeof(process->name));
	return 0;
}

static int replay_map(struct process_table *table, const struct process_event *event)
{
	struct process *process = find(table, event->pid);
	struct mapping mapping = event->mapping;
	bool is_shared;
	int err;

	/* Without a snapshot of a process that existed before us, single events are useless. */
	if (!process || !process->mappings || is_included(process, event))
		return 0;
	if (mapping.kind == MAPPING_FILE &&
	    file_is_memory(file_table_get(table->files, mapping.file)))
		mapping.kind = MAPPING_ANON;
	if (mapping.kind == MAPPING_FILE && !process->program_file)
		process->program_file = mapping.file + 1;
	is_shared = mappings_refs(process->mappings) > 1;
	err = add_mapping(table, &process->mappings, &mapping);
	if (err == 0)
		limit_mappings(table, is_shared ? mappings_nr(process->mappings) : 1);
	return err;
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
	case PROCESS_RENAME:
		process = find(table, event->pid);
		if (process && !is_included(process, event))
			memcpy(process->name, event->name, sizeof(process->name));
		return 0;
	case PROCESS_EXIT:
		process = find(table, event->pid);
		if (process)
			process->exited_ns = event->time_ns;
		return 0;
	}
	return 0;
}

const struct mappings *process_table_mappings(struct process_table *table, int32_t pid,
					      const struct program_id *program, uint64_t time_ns)
{
	struct process *process = find(table, pid);

	if (!process)
		return NULL;
	if (process->exited_ns)
		process->exited_ns = time_ns; /* a thread outlives the leader */
	if (!program)
		return process->mappings;
	if (time_ns <
	    process->since_ns) /* read late, or of the program before an exec that is included */
		return NULL;
	/* In the middle of an exec, the id is still that of the program before, but nothing is mapped. */
	if (!is_identified(process) && mappings_nr(process->mappings))
		process->program = *program;
	return is_identified(process) && (is_newer(program, &process->program) ||
					  is_newer(&process->program, program))
		       ? NULL
		       : process->mappings;
}

const struct mappings *process_table_tied_mappings(const struct process_table *table, int32_t pid,
						   const struct program_id *program)
{
	const struct process *process = find(table, pid);

	return process && process->program.start_time_ns == program->start_time_ns &&
			       process->program.exec_id == program->exec_id
		       ? process->mappings
		       : NULL;
}

const char *process_table_name(const struct process_table *table, int32_t pid,
			       struct process_name *ret)
{
	const struct process *process = find(table, pid), *ancestor = process;
	size_t i;

	*ret = (struct process_name){.pid = pid};
	if (!process)
		return NULL;
	memcpy(ret->name, process->name, sizeof(ret->name));
	for (i = 0; i < PROCESS_ANCESTORS && ancestor; i++) {
		ret->ancestors[i] = ancestor->parent;
		ancestor = ancestor->parent ? find(table, ancestor->parent) : NULL;
	}
	if (!process->program_file)
		return NULL;
	return file_table_get(table->files, process->program_file - 1)->path;
}

void process_table_distrust(struct process_table *table, uint64_t until_ns)
{
	if (until_ns > table->distrust_ns)
		table->distrust_ns = until_ns;
}

/* Looks for processes whose exit may have been lost, some of them each time. */
static void sweep(struct process_table *table, uint64_t now_ns)
{
	const struct u64_map_slot *slot = NULL;
	size_t tries;

	for (tries = 0; tries < SWEEP_SLOTS && (slot = u64_map_next(&table->by_pid, &table->swept));
	     tries++) {
		struct process *process = process_of(slot);

		if (!process->exited_ns && is_doubted(table, process) &&
		    !process_exists(process->pid))
			process->exited_ns = now_ns;
	}
	if (tries < SWEEP_SLOTS)
		table->swept = 0;
}

void process_table_purge(struct process_table *table, uint64_t now_ns, process_gone_fn *gone,
			 void *context)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	sweep(table, now_ns);
	while ((slot = u64_map_next(&table->by_pid, &position))) {
		struct process *process = process_of(slot);

		/* known_ns: its pid has been used again since, which the replay has not reached. */
		if (!process->exited_ns || process->exited_ns + KEEP_EXITED_NS > now_ns ||
		    process->known_ns > now_ns || process_exists(process->pid))
			continue;
		if (gone)
			gone(context, process->pid);
		(void)u64_map_remove(&table->by_pid, slot->key);
		process_free(process);
		table->nr_purged++;
		position--; /* removing may have moved another entry to this slot */
	}
	if (table->nr_purged >= TRIM_AFTER) {
		(void)malloc_trim(0);
		table->nr_purged = 0;
	}
}

void process_table_mark_files(const struct process_table *table)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	while ((slot = u64_map_next(&table->by_pid, &position))) {
		if (process_of(slot)->program_file)
			file_table_mark_used(table->files, process_of(slot)->program_file - 1);
		mappings_mark_files(process_of(slot)->mappings, table->files);
		mappings_mark_files(process_of(slot)->arriving, table->files);
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

uint64_t process_table_nr_left_out(const struct process_table *table)
{
	return table->nr_left_out;
}

uint64_t process_table_nr_looked(const struct process_table *table)
{
	return table->nr_looked;
}

uint64_t process_table_nr_postponed(const struct process_table *table)
{
	return table->nr_postponed;
}

size_t process_table_nr_silent(const struct process_table *table)
{
	return table->nr_silent;
}
