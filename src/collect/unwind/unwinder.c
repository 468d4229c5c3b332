/*
 * Processes and tables in the pool.
 *
 * A file keeps its table number for the whole run, even if its table is evicted and loaded again,
 * because mappings and cached rules in the kernel refer to the number.
 */
#include "collect/unwind/unwinder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/unwind/table_worker.h"
#include "collect/unwind/unwind_pool.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/unwind_compile.h"
#include "proc/file_open.h"

#define VDSO_TABLE     0
#define NO_TABLE       UINT32_MAX
#define LEFT_OUT       (UINT32_MAX - 1) /* UNWIND_MAX_TABLES reached */
#define NO_FILE	       UINT32_MAX
#define MAX_DISK_BYTES (256ULL << 20)

/*
 * After this number of walks that ended outside all mappings, the mappings are taken as complete:
 * the process itself has such stacks.
 */
#define STRAYS_UNTIL_FINAL 3

/* Interval at which deadlines and the budget of parsers are checked while waiting for tables. */
#define LOOK_MS 20

struct table {
	uint32_t file;
	bool is_asked;	     /* requested from the worker */
	bool is_unread;	     /* absent because its file was not open at the time */
	uint32_t not_before; /* epoch of the next attempt, after a full pool or a temporary error */
	struct loaded_table loaded;
};

struct unwinder {
	struct unwinder_options options;
	struct unwind_pool *pool;
	struct table_worker *worker;
	struct table *tables;
	size_t nr_tables, table_capacity;
	uint32_t *table_of_file; /* file number → table number */
	size_t nr_files, file_capacity;
	uint32_t *stale; /* pids; some may be unpublished by now */
	size_t nr_stale, stale_capacity;
	uint32_t sequence; /* of the last published process */
	uint32_t epoch;
	uint32_t hand; /* next victim in a full set */
	struct unwinder_cost cost;
	struct error cache_error; /* code 0: none */
};

/* --- beginning and end ----------------------------------------------------------------------- */

/*
 * The vdso is the same in all processes, including ours. Without its table, it is walked by frame
 * pointers.
 */
static void load_vdso(struct unwinder *unwinder)
{
	struct unwind_table table = {0};
	struct table *slot = &unwinder->tables[VDSO_TABLE];
	size_t bytes;
	const void *vdso = vdso_find(&bytes);

	unwind_pool_tables(unwinder->pool)[VDSO_TABLE].state = UNWIND_TABLE_ABSENT;
	if (vdso && unwind_compile_memory(&table, vdso, bytes, NULL) == 0)
		(void)loaded_table_load(&slot->loaded, unwinder->pool, VDSO_TABLE, &table);
	unwind_table_clear(&table);
}

static int add_table(struct unwinder *unwinder, uint32_t file)
{
	return ARRAY_ADD(unwinder->tables, unwinder->nr_tables, unwinder->table_capacity,
			 (struct table){.file = file});
}

/* A table that needs most of the memory would displace all others, again and again. */
static size_t max_table_bytes(const struct unwinder *unwinder)
{
	return unwinder->options.max_bytes / 2;
}

struct unwinder *unwinder_new(const struct unwinder_options *options, struct error *error)
{
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
	struct unwind_cache *cache = NULL;

	if (!unwinder || add_table(unwinder, NO_FILE) < 0) {
		(void)error_no_memory(error, "");
		unwinder_free(unwinder);
		return NULL;
	}
	unwinder->options = *options;
	unwinder->pool = unwind_pool_new(options->fds, options->max_bytes, error);
	if (unwinder->pool && options->cache_folder)
		/* Not fatal: without the cache, tables are compiled again. */
		cache = unwind_cache_open(options->cache_folder, MAX_DISK_BYTES,
					  &unwinder->cache_error);
	if (unwinder->pool)
		unwinder->worker =
			table_worker_new(options->worker, cache, max_table_bytes(unwinder), error);
	if (!unwinder->worker) {
		unwinder_free(unwinder);
		return NULL;
	}
	load_vdso(unwinder);
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	size_t i;

	if (!unwinder)
		return;
	table_worker_free(unwinder->worker);
	for (i = 0; i < unwinder->nr_tables; i++)
		loaded_table_clear(&unwinder->tables[i].loaded);
	unwind_pool_free(unwinder->pool);
	free(unwinder->tables);
	free(unwinder->table_of_file);
	free(unwinder->stale);
	free(unwinder);
}

const struct error *unwinder_cache_error(const struct unwinder *unwinder)
{
	return unwinder->cache_error.code ? &unwinder->cache_error : NULL;
}

/* --- tables ---------------------------------------------------------------------------------- */

static struct unwind_table_entry *entry_of(const struct unwinder *unwinder, uint32_t number)
{
	return &unwind_pool_tables(unwinder->pool)[number];
}

static void set_state(const struct unwinder *unwinder, uint32_t number,
		      enum unwind_table_state state)
{
	__atomic_store_n(&entry_of(unwinder, number)->state, state, __ATOMIC_RELEASE);
}

/* Retries a file that could not be opened at first, if it is open now. */
static void look_again(struct unwinder *unwinder, uint32_t number)
{
	struct table *table = &unwinder->tables[number];

	if (!table->is_unread || file_table_get(unwinder->options.files, table->file)->handle < 0)
		return;
	table->is_unread = false;
	set_state(unwinder, number, UNWIND_TABLE_WANTED);
}

static int64_t table_of_file(struct unwinder *unwinder, uint32_t file)
{
	uint32_t *number;

	if (ARRAY_RESERVE(unwinder->table_of_file, unwinder->file_capacity, (size_t)file + 1) < 0)
		return -ENOMEM;
	while (unwinder->nr_files <= file)
		unwinder->table_of_file[unwinder->nr_files++] = NO_TABLE;
	number = &unwinder->table_of_file[file];
	if (*number == NO_TABLE && unwinder->nr_tables == UNWIND_MAX_TABLES) {
		*number = LEFT_OUT;
		unwinder->cost.nr_files_left_out++;
	}
	if (*number == LEFT_OUT)
		return -ENOSPC;
	if (*number == NO_TABLE) {
		if (add_table(unwinder, file) < 0)
			return -ENOMEM;
		*number = (uint32_t)(unwinder->nr_tables - 1);
	}
	look_again(unwinder, *number);
	return *number;
}

/* Returns the number of a mapping's table; negative: none. */
static int64_t table_of_mapping(void *argument, const struct mapping *mapping)
{
	switch (mapping->kind) {
	case MAPPING_FILE:
		return table_of_file(argument, mapping->file);
	case MAPPING_VDSO:
		return VDSO_TABLE;
	default:
		return -ENOENT;
	}
}

static void ask(struct unwinder *unwinder, uint32_t number)
{
	struct table *table = &unwinder->tables[number];
	const struct file *file;
	struct table_wish wish;

	if (table->is_asked || entry_of(unwinder, number)->state != UNWIND_TABLE_WANTED ||
	    (int32_t)(unwinder->epoch - table->not_before) < 0)
		return;
	file = file_table_get(unwinder->options.files, table->file);
	if (file->state == FILE_ASKED)
		return; /* asked again when the file was looked at */
	if (file->handle < 0) {
		table->is_unread = true;
		set_state(unwinder, number, UNWIND_TABLE_ABSENT);
		return;
	}
	wish = (struct table_wish){
		.number = number,
		.fd = fcntl(file->handle, F_DUPFD_CLOEXEC, 0),
		.file = {file->id.major, file->id.minor, file->id.inode},
		.may_cache = file->is_of_root,
	};
	if (wish.fd >= 0)
		table->is_asked = table_worker_add(unwinder->worker, &wish) == 0;
	if (!table->is_asked)
		table->not_before = unwinder->epoch + 1;
}

void unwinder_preload(struct unwinder *unwinder, const struct mappings *mappings)
{
	size_t i;

	for (i = 0; i < mappings_nr(mappings); i++) {
		int64_t number = table_of_mapping(unwinder, mappings_get(mappings, i));

		if (number > VDSO_TABLE)
			ask(unwinder, (uint32_t)number);
	}
}

void unwinder_request_likely(struct unwinder *unwinder, const struct wire_record *record,
			     const struct mappings *mappings)
{
	const uint64_t *words = (const uint64_t *)(record + 1);
	const struct mapping *mapping = NULL;
	size_t i;

	for (i = WIRE_RAW_PC; i < record->nr_user; i++) {
		int64_t number;

		if (mapping && words[i] >= mapping->start && words[i] < mapping->end)
			continue; /* same mapping as the previous word */
		mapping = mappings_find(mappings, words[i]);
		number = mapping ? table_of_mapping(unwinder, mapping) : -1;
		if (number > VDSO_TABLE)
			ask(unwinder, (uint32_t)number);
	}
}

/* Returns the least recently used loaded table; NO_TABLE: all were used in this epoch. */
static uint32_t least_used(const struct unwinder *unwinder)
{
	uint32_t best = NO_TABLE, i;
	int32_t oldest = 0;

	for (i = VDSO_TABLE + 1; i < unwinder->nr_tables; i++) {
		const struct unwind_table_entry *entry = entry_of(unwinder, i);
		int32_t age = (int32_t)(unwinder->epoch - entry->used_epoch);

		if (entry->state != UNWIND_TABLE_READY || age <= oldest)
			continue;
		best = i;
		oldest = age;
	}
	return best;
}

/*
 * Evicts tables until `bytes` will be free. Their memory is reusable only when the epoch has ended;
 * the table that needs it is requested again then.
 */
static void evict(struct unwinder *unwinder, size_t bytes)
{
	size_t freed = unwind_pool_limbo_bytes(unwinder->pool); /* already released */
	uint32_t victim;

	while (freed < bytes && (victim = least_used(unwinder)) != NO_TABLE) {
		struct loaded_table *loaded = &unwinder->tables[victim].loaded;

		freed += loaded_table_bytes(loaded);
		loaded_table_unload(loaded, unwinder->pool, UNWIND_TABLE_WANTED);
		unwinder->cost.nr_evicted++;
	}
}

/* True for errors after which a table may be compiled later: of memory, of workers, and of time limits. */
static bool is_temporary(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -ETIME || err == -EFAULT ||
	       err == -EPROTO || err == -EIO;
}

static void take_table(struct unwinder *unwinder, struct made_table *made)
{
	struct table *table = &unwinder->tables[made->number];
	int err;

	table->is_asked = false;
	table->not_before = unwinder->epoch + 1; /* for the case that loading fails */
	if (is_temporary(made->err))
		return;
	if (made->err || !made->table.nr_pages ||
	    unwind_table_bytes(&made->table) > max_table_bytes(unwinder)) {
		set_state(unwinder, made->number, UNWIND_TABLE_ABSENT);
		return;
	}
	entry_of(unwinder, made->number)->used_epoch = unwinder->epoch;
	err = loaded_table_load(&table->loaded, unwinder->pool, made->number, &made->table);
	if (err == -E2BIG)
		set_state(unwinder, made->number, UNWIND_TABLE_ABSENT);
	else if (err < 0)
		evict(unwinder, unwind_table_bytes(&made->table));
	if (err < 0)
		return;
	unwinder->cost.nr_tables++;
	unwinder->cost.nr_tables_cached += made->from_cache;
}

bool unwinder_poll(struct unwinder *unwinder)
{
	struct made_table made;
	bool any = false;

	while (table_worker_take(unwinder->worker, &made)) {
		take_table(unwinder, &made);
		unwind_table_clear(&made.table);
		any = true;
	}
	return any;
}

struct unwind_pool *unwinder_pool(const struct unwinder *unwinder)
{
	return unwinder->pool;
}

void unwinder_wait(struct unwinder *unwinder, uint64_t until_ns)
{
	struct pollfd made = {.fd = worker_fd(unwinder->options.worker), .events = POLLIN};
	uint64_t now_ns;

	while (unwinder_nr_waiting(unwinder) && (now_ns = clock_now_ns()) < until_ns) {
		uint64_t left_ms = (until_ns - now_ns) / NS_PER_MS + 1;

		(void)poll(&made, 1, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
		(void)unwinder_poll(unwinder);
	}
}

size_t unwinder_nr_waiting(const struct unwinder *unwinder)
{
	return table_worker_nr_waiting(unwinder->worker);
}

void unwinder_epoch_ended(struct unwinder *unwinder, uint32_t epoch)
{
	unwinder->epoch = epoch + 1;
	unwind_pool_epoch_ended(unwinder->pool);
}

/* --- processes ------------------------------------------------------------------------------- */

static struct unwind_process *process_at(const struct unwinder *unwinder, uint64_t slot)
{
	return unwind_pool_at(unwinder->pool, (uint32_t)slot);
}

/* Returns the slot of a pid, or NULL. */
static uint64_t *find_slot(const struct unwinder *unwinder, uint32_t pid)
{
	struct unwind_process_set *set =
		&unwind_pool_processes(unwinder->pool)[unwind_process_set_of(pid)];
	size_t way;

	for (way = 0; way < UNWIND_PROCESS_WAYS; way++)
		if (set->slots[way] >> 32 == pid && set->slots[way])
			return (uint64_t *)&set->slots[way];
	return NULL;
}

/*
 * Returns the pid's slot, else a free one, else the slot of another process, which is published
 * again at its next sample.
 */
static uint64_t *choose_slot(struct unwinder *unwinder, uint32_t pid)
{
	struct unwind_process_set *set =
		&unwind_pool_processes(unwinder->pool)[unwind_process_set_of(pid)];
	uint64_t *slot = find_slot(unwinder, pid);
	size_t way;

	for (way = 0; !slot && way < UNWIND_PROCESS_WAYS; way++)
		if (!set->slots[way])
			slot = (uint64_t *)&set->slots[way];
	return slot ? slot : (uint64_t *)&set->slots[unwinder->hand++ % UNWIND_PROCESS_WAYS];
}

static size_t process_bytes(size_t nr_mappings)
{
	return sizeof(struct unwind_process) + nr_mappings * sizeof(struct unwind_mapping);
}

static void set_slot(struct unwinder *unwinder, uint64_t *slot, uint64_t value)
{
	uint64_t old = *slot;

	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (old)
		unwind_pool_release(unwinder->pool, (uint32_t)old,
				    process_bytes(process_at(unwinder, old)->nr_mappings));
}

static int fill_mappings(struct unwinder *unwinder, struct unwind_process *process,
			 const struct mappings *mappings)
{
	struct unwind_mapping *to = (struct unwind_mapping *)(process + 1);
	size_t i;

	for (i = 0; i < process->nr_mappings; i++) {
		const struct mapping *from = mappings_get(mappings, i);
		int64_t number = table_of_mapping(unwinder, from);

		if (number == -ENOMEM)
			return -ENOMEM;
		to[i] = (struct unwind_mapping){
			.start = from->start,
			.end = from->end,
			.offset = from->offset,
			.table = number < 0 ? 0 : (uint32_t)number,
			.kind = number < 0 ? UNWIND_BY_FRAME_POINTER : UNWIND_BY_TABLE,
		};
	}
	return 0;
}

int unwinder_publish(struct unwinder *unwinder, uint32_t pid, uint64_t start_time_ns,
		     uint64_t exec_id, const struct mappings *mappings)
{
	size_t nr = mappings_nr(mappings);
	struct unwind_process *process;
	uint32_t place;

	if (!pid)
		return 0;
	if (nr > UNWIND_MAX_MAPPINGS)
		nr = UNWIND_MAX_MAPPINGS;
	place = unwind_pool_allocate(unwinder->pool, process_bytes(nr));
	if (!place) {
		evict(unwinder, process_bytes(nr));
		unwinder_forget(unwinder, pid);
		return 0;
	}
	process = unwind_pool_at(unwinder->pool, place);
	*process = (struct unwind_process){
		.start_time_ns = start_time_ns,
		.exec_id = exec_id,
		.sequence = ++unwinder->sequence,
		.nr_mappings = (uint32_t)nr,
		.is_final = nr < mappings_nr(mappings),
	};
	if (fill_mappings(unwinder, process, mappings) < 0) {
		unwind_pool_release(unwinder->pool, place, process_bytes(nr));
		return -ENOMEM;
	}
	set_slot(unwinder, choose_slot(unwinder, pid), (uint64_t)pid << 32 | place);
	return 0;
}

bool unwinder_is_published(const struct unwinder *unwinder, const struct wire_record *record)
{
	const uint64_t *slot = find_slot(unwinder, record->pid);
	const struct unwind_process *process = slot ? process_at(unwinder, *slot) : NULL;

	return process && !process->is_stale && process->start_time_ns == record->start_time_ns &&
	       process->exec_id == record->exec_id;
}

void unwinder_forget(struct unwinder *unwinder, uint32_t pid)
{
	uint64_t *slot = find_slot(unwinder, pid);

	if (slot)
		set_slot(unwinder, slot, 0);
}

void unwinder_mark_stale(struct unwinder *unwinder, uint32_t pid)
{
	uint64_t *slot = find_slot(unwinder, pid);
	struct unwind_process *process = slot ? process_at(unwinder, *slot) : NULL;

	if (!process || process->is_stale)
		return;
	process->is_final = process->nr_mappings == UNWIND_MAX_MAPPINGS;
	process->nr_strays = 0;
	if (ARRAY_ADD(unwinder->stale, unwinder->nr_stale, unwinder->stale_capacity, pid) < 0)
		return; /* detected at its next sample that leaves the known mappings */
	process->is_stale = 1;
}

void unwinder_forget_all(struct unwinder *unwinder)
{
	struct unwind_process_set *sets = unwind_pool_processes(unwinder->pool);
	size_t i;

	for (i = 0; i < UNWIND_PROCESS_SETS * UNWIND_PROCESS_WAYS; i++)
		if (sets[i / UNWIND_PROCESS_WAYS].slots[i % UNWIND_PROCESS_WAYS])
			set_slot(unwinder,
				 (uint64_t *)&sets[i / UNWIND_PROCESS_WAYS]
					 .slots[i % UNWIND_PROCESS_WAYS],
				 0);
}

uint32_t unwinder_next_stale(struct unwinder *unwinder, uint64_t *ret_start_time_ns,
			     uint64_t *ret_exec_id)
{
	while (unwinder->nr_stale) {
		uint32_t pid = unwinder->stale[--unwinder->nr_stale];
		const uint64_t *slot = find_slot(unwinder, pid);
		const struct unwind_process *process = slot ? process_at(unwinder, *slot) : NULL;

		if (!process || !process->is_stale)
			continue;
		*ret_start_time_ns = process->start_time_ns;
		*ret_exec_id = process->exec_id;
		return pid;
	}
	return 0;
}

/* --- raw records ----------------------------------------------------------------------------- */

int unwinder_walk(struct unwinder *unwinder, const struct wire_record *record,
		  const struct mappings *mappings, struct user_stack *ret)
{
	struct stack_walk_context context = {
		.pool = unwinder->pool,
		.mappings = mappings,
		.table_of = table_of_mapping,
		.argument = unwinder,
		.max_frames = unwinder->options.max_frames,
		.epoch = unwinder->epoch,
	};
	struct unwind_process *process;
	const uint64_t *slot;

	stack_walk(&context, (const uint64_t *)(record + 1), record->nr_user, ret);
	if (ret->end == WALK_RAW) {
		ask(unwinder, ret->wanted_table);
		table_worker_prioritize(unwinder->worker, ret->wanted_table);
		return -EAGAIN;
	}
	/* The walk ended outside all known mappings. */
	slot = ret->end == WALK_NO_MAPPING && mappings ? find_slot(unwinder, record->pid) : NULL;
	process = slot ? process_at(unwinder, *slot) : NULL;
	if (process && !process->is_stale && ++process->nr_strays >= STRAYS_UNTIL_FINAL)
		process->is_final = 1;
	unwinder->cost.nr_walked++;
	return 0;
}

void unwinder_read_cost(const struct unwinder *unwinder, struct unwinder_cost *ret)
{
	*ret = unwinder->cost;
	ret->bytes = unwind_pool_bytes(unwinder->pool);
	ret->chunk_bytes = unwind_pool_chunk_bytes(unwinder->pool);
}
