/*
 * Processes and tables in the pool.
 *
 * A file keeps its table number even if its table is evicted and loaded again, because mappings and cached rules in the
 * kernel refer to the number. When most numbers are used, those of files that no published process has mapped are given
 * to other files, after the end of the next epoch: until then programs may still refer to them.
 */
#include "collect/unwind/unwinder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "collect/unwind/table_worker.h"
#include "collect/unwind/unwind_pool.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/unwind_compile.h"
#include "proc/file_open.h"

#define VDSO_TABLE     0
#define NO_TABLE       UINT32_MAX
#define LEFT_OUT       (UINT32_MAX - 1) /* UNWIND_MAX_TABLES reached */
#define NO_FILE	       UINT32_MAX
#define MANY_TABLES    (UNWIND_MAX_TABLES / 4 * 3)
#define MAX_DISK_BYTES (256ULL << 20)

/*
 * After this number of walks that ended outside all mappings, the mappings are taken as complete:
 * the process itself has such stacks.
 */
#define STRAYS_UNTIL_FINAL 3

/*
 * Tables that are not used for this long, or up to twice as long, are dropped: programs that come and go would fill the
 * memory up to its limit. If such a table is needed again, it is mostly read from the cache.
 */
#define UNUSED_NS (300 * NS_PER_SEC)

/*
 * If tables need more memory than there is, they must not displace each other in turn: each would be made in each epoch,
 * and few walks would find theirs. So a table that was used in the last RECENT_EPOCHS stays, unless MANY_SAMPLES wait for
 * the new one. A table that finds no room is tried again after twice as many epochs each time, up to MOST_PAUSE.
 */
#define RECENT_EPOCHS 4
#define MANY_SAMPLES  64
#define MOST_PAUSE    64

/* Interval at which deadlines and the budget of parsers are checked while waiting for tables. */
#define LOOK_MS 20

struct table {
	uint32_t file;	/* NO_FILE: the vdso's, or the number is not used */
	uint32_t next;	/* in its list of unused numbers; 0: last */
	bool is_mapped; /* while numbers are taken back */
	bool is_asked;	/* requested from the worker */
	bool is_due;	/* in due */
	bool is_unread; /* absent because its file was not open at the time */
	/* Absent because its file or device was given up, memory was short, or all it has is in a debug file: for minutes. */
	bool is_refused;
	bool is_provisional; /* made without a debug file that may be there */
	uint32_t not_before; /* epoch of the next attempt, after a full pool or a temporary error */
	uint32_t pause; /* epochs between the last two attempts that found no room; 0: none did */
	uint32_t nr_samples;	/* that waited for it lately, until … */
	uint32_t sampled_epoch; /* … this epoch */
	uint64_t sample_ns;	/* time of the last of them: they are walked again and again */
	struct loaded_table loaded;
};

struct unwinder {
	struct unwinder_options options;
	struct unwind_pool *pool;
	struct table_worker *worker;
	struct table *tables;
	size_t nr_tables, table_capacity;
	uint32_t unused,
		retired; /* lists of numbers without a file: to be used again; from the next epoch on */
	size_t nr_unused;	      /* in both lists */
	struct u64_map table_of_file; /* file number → table number, or LEFT_OUT */
	size_t nr_left_out;	      /* of these */
	bool lacks_tables;	      /* a process may have been published with such a file */
	uint32_t *stale;	      /* pids; some may be unpublished by now */
	size_t nr_stale, stale_capacity;
	uint32_t *due; /* tables to be requested when their files were looked at */
	size_t nr_due, due_capacity;
	uint32_t sequence; /* of the last published process */
	uint32_t epoch;
	uint32_t checked_epoch; /* when unused tables were last dropped */
	uint64_t checked_ns;
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

/*
 * A table that needs most of the memory would displace all others, again and again. On its way there are three copies of
 * it outside of the pool: the answer, what was read of it, and the table.
 */
static size_t max_table_bytes(const struct unwinder *unwinder)
{
	return unwinder->options.max_bytes / 3;
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
	if (!options->unused_ns)
		unwinder->options.unused_ns = UNUSED_NS;
	unwinder->checked_ns = clock_now_ns();
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
	u64_map_clear(&unwinder->table_of_file);
	free(unwinder->stale);
	free(unwinder->due);
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

/* Gives a file a table number. -ENOSPC: all are in use. */
static int64_t give_number(struct unwinder *unwinder, uint32_t file)
{
	const uint32_t number = unwinder->unused;

	if (!number && unwinder->nr_tables == UNWIND_MAX_TABLES)
		return -ENOSPC;
	if (!number)
		return add_table(unwinder, file) < 0 ? -ENOMEM : (int64_t)unwinder->nr_tables - 1;
	unwinder->unused = unwinder->tables[number].next;
	unwinder->nr_unused--;
	unwinder->tables[number] = (struct table){.file = file};
	set_state(unwinder, number, UNWIND_TABLE_WANTED);
	return number;
}

static int64_t table_of_file(struct unwinder *unwinder, uint32_t file)
{
	const uint64_t *known = u64_map_find(&unwinder->table_of_file, file);
	int64_t number = known ? (int64_t)*known : LEFT_OUT;

	if (!known) {
		if (u64_map_set(&unwinder->table_of_file, file, LEFT_OUT) < 0)
			return -ENOMEM;
		number = give_number(unwinder, file);
		if (number == -ENOMEM) {
			(void)u64_map_remove(&unwinder->table_of_file, file);
			return -ENOMEM;
		}
		number = number < 0 ? LEFT_OUT : number;
		unwinder->nr_left_out += number == LEFT_OUT;
		unwinder->lacks_tables |= number == LEFT_OUT;
		if (unwinder->cost.nr_files_left_out < unwinder->nr_left_out)
			unwinder->cost.nr_files_left_out = unwinder->nr_left_out;
		/* Cannot fail: the key exists. */
		(void)u64_map_set(&unwinder->table_of_file, file, (uint64_t)number);
	}
	if (number == LEFT_OUT)
		return -ENOSPC;
	look_again(unwinder, (uint32_t)number);
	return number;
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

/* True if no attempt has to wait for another epoch. */
static bool is_due(const struct unwinder *unwinder, const struct table *table)
{
	return (int32_t)(unwinder->epoch - table->not_before) >= 0;
}

static bool is_wanted(const struct unwinder *unwinder, uint32_t number)
{
	const struct table *table = &unwinder->tables[number];

	return table->file != NO_FILE && !table->is_asked &&
	       entry_of(unwinder, number)->state == UNWIND_TABLE_WANTED && is_due(unwinder, table);
}

/* False if its file has to be looked at first, or the worker has no room. */
static bool can_request(const struct unwinder *unwinder, uint32_t number)
{
	const uint32_t file = unwinder->tables[number].file;

	return table_worker_has_room(unwinder->worker) &&
	       file_table_get(unwinder->options.files, file)->state != FILE_ASKED &&
	       !file_table_reopen(unwinder->options.files, file);
}

static void request(struct unwinder *unwinder, uint32_t number)
{
	struct table *table = &unwinder->tables[number];
	const struct file *file = file_table_get(unwinder->options.files, table->file);
	struct table_wish wish;

	if (file->handle < 0) {
		table->is_unread = true;
		set_state(unwinder, number, UNWIND_TABLE_ABSENT);
		return;
	}
	wish = (struct table_wish){
		.number = number,
		.fd = fcntl(file->handle, F_DUPFD_CLOEXEC, 0),
		.file = worker_file_of(&file->id),
		.may_cache = file->is_of_root,
	};
	if (wish.fd >= 0)
		table->is_asked = table_worker_add(unwinder->worker, &wish) == 0;
	if (!table->is_asked)
		table->not_before = unwinder->epoch + 1;
}

/* Has a table made; if that is not possible yet, as soon as it is: whoever needs it may not ask a second time. */
static void ask(struct unwinder *unwinder, uint32_t number)
{
	struct table *table = &unwinder->tables[number];

	if (!is_wanted(unwinder, number) || table->is_due)
		return;
	if (can_request(unwinder, number))
		request(unwinder, number);
	else
		table->is_due = ARRAY_ADD(unwinder->due, unwinder->nr_due, unwinder->due_capacity,
					  number) == 0;
}

static void request_due(struct unwinder *unwinder)
{
	size_t kept = 0, i;

	for (i = 0; i < unwinder->nr_due; i++) {
		const uint32_t number = unwinder->due[i];
		const bool is_wanted_still = is_wanted(unwinder, number);

		if (is_wanted_still && !can_request(unwinder, number)) {
			unwinder->due[kept++] = number;
			continue;
		}
		unwinder->tables[number].is_due = false;
		if (is_wanted_still)
			request(unwinder, number);
	}
	unwinder->nr_due = kept;
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

void unwinder_request_likely(struct unwinder *unwinder, const struct mappings *mappings,
			     const uint64_t *words, size_t nr)
{
	const struct mapping *mapping = NULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		int64_t number;

		if (mapping && words[i] >= mapping->start && words[i] < mapping->end)
			continue; /* same mapping as the previous word */
		mapping = mappings_find(mappings, words[i]);
		number = mapping ? table_of_mapping(unwinder, mapping) : -1;
		if (number > VDSO_TABLE)
			ask(unwinder, (uint32_t)number);
	}
}

/* True if a table is loaded and was not used in the last min_age epochs. */
static bool is_idle(const struct unwinder *unwinder, uint32_t number, uint32_t min_age)
{
	const struct unwind_table_entry *entry = entry_of(unwinder, number);

	return entry->state == UNWIND_TABLE_READY &&
	       (int32_t)(unwinder->epoch - entry->used_epoch) >= (int32_t)min_age;
}

/* Returns the least recently used idle table, or NO_TABLE. */
static uint32_t least_used(const struct unwinder *unwinder, uint32_t min_age)
{
	uint32_t best = NO_TABLE, i;
	int32_t oldest = -1;

	for (i = VDSO_TABLE + 1; i < unwinder->nr_tables; i++) {
		int32_t age = (int32_t)(unwinder->epoch - entry_of(unwinder, i)->used_epoch);

		if (!is_idle(unwinder, i, min_age) || age <= oldest)
			continue;
		best = i;
		oldest = age;
	}
	return best;
}

/* Returns how many bytes the idle tables have. */
static size_t idle_bytes(const struct unwinder *unwinder, uint32_t min_age)
{
	size_t bytes = 0;
	uint32_t i;

	for (i = VDSO_TABLE + 1; i < unwinder->nr_tables; i++)
		if (is_idle(unwinder, i, min_age))
			bytes += loaded_table_bytes(&unwinder->tables[i].loaded);
	return bytes;
}

/*
 * Evicts tables that were not used in the last min_age epochs until `bytes` will be free; none if that is impossible.
 * Their memory is reusable only when the epoch has ended. True if there will be room then.
 */
static bool evict(struct unwinder *unwinder, size_t bytes, uint32_t min_age)
{
	size_t freed = unwind_pool_limbo_bytes(unwinder->pool); /* already released */

	if (freed < bytes && freed + idle_bytes(unwinder, min_age) < bytes)
		return false;
	while (freed < bytes) {
		uint32_t victim = least_used(unwinder, min_age);
		struct loaded_table *loaded = &unwinder->tables[victim].loaded;

		freed += loaded_table_bytes(loaded);
		loaded_table_unload(loaded, unwinder->pool, UNWIND_TABLE_WANTED);
		unwinder->cost.nr_evicted++;
	}
	return true;
}

/* Makes room for a table, which is requested again in the next epoch; or else later. */
static void make_room(struct unwinder *unwinder, struct table *table, size_t bytes)
{
	const uint32_t min_age = table->nr_samples < MANY_SAMPLES ? RECENT_EPOCHS : 1;

	if (evict(unwinder, bytes, min_age))
		return;
	unwinder->cost.nr_crowded++;
	table->pause = table->pause ? 2 * table->pause : 1;
	if (table->pause > MOST_PAUSE)
		table->pause = MOST_PAUSE;
	table->not_before = unwinder->epoch + table->pause;
}

/*
 * Drops the tables that were not used since the last such check, and has those asked for again that were refused or are
 * provisional.
 */
static void drop_unused(struct unwinder *unwinder)
{
	const uint64_t now_ns = clock_now_ns();
	uint32_t i;

	if (now_ns - unwinder->checked_ns < unwinder->options.unused_ns)
		return;
	for (i = VDSO_TABLE + 1; i < unwinder->nr_tables; i++) {
		const struct unwind_table_entry *entry = entry_of(unwinder, i);
		struct table *table = &unwinder->tables[i];

		if (table->is_refused && table->file != NO_FILE)
			set_state(unwinder, i, UNWIND_TABLE_WANTED);
		table->is_refused = false;
		if (entry->state == UNWIND_TABLE_READY &&
		    (table->is_provisional ||
		     (int32_t)(entry->used_epoch - unwinder->checked_epoch) < 0))
			loaded_table_unload(&table->loaded, unwinder->pool, UNWIND_TABLE_WANTED);
	}
	unwinder->checked_epoch = unwinder->epoch;
	unwinder->checked_ns = now_ns;
}

/* True for errors that say nothing about the file; a device that was given up is refused for minutes. */
static bool is_temporary(int err)
{
	return worker_is_passing(err) && err != -EHOSTDOWN;
}

static void take_table(struct unwinder *unwinder, struct made_table *made)
{
	struct table *table = &unwinder->tables[made->number];
	int err;

	table->is_asked = false;
	table->not_before = unwinder->epoch + 1; /* for the case that loading fails */
	if (is_temporary(made->err))
		return;
	unwinder->cost.nr_too_large +=
		made->err == -EMSGSIZE || made->err == -E2BIG || made->err == -ENOBUFS;
	if (made->err || !made->table.nr_pages ||
	    unwind_table_bytes(&made->table) > max_table_bytes(unwinder)) {
		set_state(unwinder, made->number, UNWIND_TABLE_ABSENT);
		table->is_refused = made->err == -EHOSTDOWN || made->err == -EOWNERDEAD ||
				    made->err == -ENOBUFS || made->is_provisional;
		return;
	}
	entry_of(unwinder, made->number)->used_epoch = unwinder->epoch;
	err = loaded_table_load(&table->loaded, unwinder->pool, made->number, &made->table);
	if (err == -E2BIG)
		set_state(unwinder, made->number, UNWIND_TABLE_ABSENT);
	else if (err < 0)
		make_room(unwinder, table, unwind_table_bytes(&made->table));
	if (err < 0)
		return;
	table->pause = table->nr_samples = 0;
	table->is_provisional = made->is_provisional;
	unwinder->cost.nr_tables++;
	unwinder->cost.nr_tables_cached += made->from_cache;
}

bool unwinder_poll(struct unwinder *unwinder)
{
	struct made_table made;
	bool any = false;

	request_due(unwinder);
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

void unwinder_pace(struct unwinder *unwinder, const struct table_pace *pace)
{
	table_worker_pace(unwinder->worker, pace);
}

bool unwinder_is_in_debt(struct unwinder *unwinder)
{
	return table_worker_is_in_debt(unwinder->worker);
}

size_t unwinder_nr_waiting(const struct unwinder *unwinder)
{
	return table_worker_nr_waiting(unwinder->worker);
}

/* --- processes ------------------------------------------------------------------------------- */

static struct unwind_process *process_at(const struct unwinder *unwinder, uint64_t slot)
{
	return unwind_pool_at(unwinder->pool, (uint32_t)slot);
}

/* Returns the slot of a pid, or NULL. */
static uint64_t *find_slot(const struct unwinder *unwinder, uint32_t pid)
{
	struct unwind_process_set *set = unwind_pool_set_of(unwinder->pool, pid);
	size_t way;

	for (way = 0; way < UNWIND_PROCESS_WAYS; way++)
		if (set->slots[way] >> 32 == pid && set->slots[way])
			return (uint64_t *)&set->slots[way];
	return NULL;
}

/*
 * Returns the pid's slot, else a free one, else the slot of another process, whose next sample comes
 * raw.
 */
static uint64_t *choose_slot(struct unwinder *unwinder, uint32_t pid)
{
	struct unwind_process_set *set = unwind_pool_set_of(unwinder->pool, pid);
	uint64_t *slot = find_slot(unwinder, pid);
	size_t way;

	for (way = 0; !slot && way < UNWIND_PROCESS_WAYS; way++)
		if (!set->slots[way])
			slot = (uint64_t *)&set->slots[way];
	if (slot)
		return slot;
	unwinder->cost.nr_displaced++;
	return (uint64_t *)&set->slots[unwinder->hand++ % UNWIND_PROCESS_WAYS];
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

static int make_mapping(struct unwinder *unwinder, const struct mapping *from,
			struct unwind_mapping *ret)
{
	int64_t number = table_of_mapping(unwinder, from);

	if (number == -ENOMEM)
		return -ENOMEM;
	*ret = (struct unwind_mapping){
		.start = from->start,
		.end = from->end,
		.offset = from->offset,
		.table = number < 0 ? 0 : (uint32_t)number,
		.kind = number < 0 ? UNWIND_BY_FRAME_POINTER : UNWIND_BY_TABLE,
	};
	return 0;
}

static int fill_mappings(struct unwinder *unwinder, struct unwind_process *process,
			 const struct mappings *mappings)
{
	struct unwind_mapping *to = (struct unwind_mapping *)(process + 1);
	int err = 0;
	size_t i;

	for (i = 0; i < process->nr_mappings && !err; i++)
		err = make_mapping(unwinder, mappings_get(mappings, i), &to[i]);
	return err;
}

/* True if a published process has these mappings: JIT compilers report the same memory again and again. */
static bool is_unchanged(struct unwinder *unwinder, const struct unwind_process *process,
			 const struct mappings *mappings)
{
	const struct unwind_mapping *known = (const struct unwind_mapping *)(process + 1);
	struct unwind_mapping one;
	size_t i;

	if (process->nr_mappings != mappings_nr(mappings))
		return false;
	for (i = 0; i < process->nr_mappings; i++)
		if (make_mapping(unwinder, mappings_get(mappings, i), &one) < 0 ||
		    memcmp(&known[i], &one, sizeof(one)) != 0)
			return false;
	return true;
}

/*
 * A process that changes thousands of mappings all the time would use up the pool with memory that is reusable only
 * when the epoch has ended. So the epoch ends early, and nothing is published until then if that is not enough.
 */
bool unwinder_wants_epoch_end(const struct unwinder *unwinder)
{
	return unwind_pool_limbo_bytes(unwinder->pool) > unwinder->options.max_bytes / 8;
}

static bool has_too_much_in_limbo(const struct unwinder *unwinder)
{
	return unwind_pool_limbo_bytes(unwinder->pool) > unwinder->options.max_bytes / 4;
}

int unwinder_publish(struct unwinder *unwinder, uint32_t pid, uint64_t start_time_ns,
		     uint64_t exec_id, const struct mappings *mappings)
{
	const uint64_t *slot = pid ? find_slot(unwinder, pid) : NULL;
	struct unwind_process *process = slot ? process_at(unwinder, *slot) : NULL;
	size_t nr = mappings_nr(mappings);
	uint32_t place = 0;

	if (!pid)
		return 0;
	if (process && process->start_time_ns == start_time_ns && process->exec_id == exec_id &&
	    is_unchanged(unwinder, process, mappings)) {
		process->is_stale = 0;
		return 0;
	}
	if (nr > UNWIND_MAX_MAPPINGS)
		nr = UNWIND_MAX_MAPPINGS;
	if (!has_too_much_in_limbo(unwinder))
		place = unwind_pool_allocate(unwinder->pool, process_bytes(nr));
	if (!place) {
		(void)evict(unwinder, process_bytes(nr), 1);
		unwinder_forget(unwinder, pid);
		unwinder->cost.nr_unpublished++;
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
	unwinder->cost.nr_mappings_cut += mappings_nr(mappings) - nr;
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

/* Calls visit for all mappings of published processes. */
static void visit_mappings(struct unwinder *unwinder,
			   void (*visit)(struct unwinder *unwinder, uint32_t pid,
					 const struct unwind_mapping *mapping))
{
	const struct unwind_process_set *set;
	uint32_t i;
	size_t k;

	for (i = 0; (set = unwind_pool_set(unwinder->pool, i / UNWIND_PROCESS_WAYS)); i++) {
		const uint64_t slot = set->slots[i % UNWIND_PROCESS_WAYS];
		const struct unwind_process *process = process_at(unwinder, slot);

		for (k = 0; slot && k < process->nr_mappings; k++)
			visit(unwinder, (uint32_t)(slot >> 32),
			      (const struct unwind_mapping *)(process + 1) + k);
	}
}

/* Marks the table that a mapping refers to. */
static void mark_mapped(struct unwinder *unwinder, uint32_t pid,
			const struct unwind_mapping *mapping)
{
	(void)pid;
	if (mapping->kind == UNWIND_BY_TABLE)
		unwinder->tables[mapping->table].is_mapped = true;
}

/* Marks a process that has no table for a mapping: it has no file, or that was left out. */
static void mark_lacking(struct unwinder *unwinder, uint32_t pid,
			 const struct unwind_mapping *mapping)
{
	if (mapping->kind == UNWIND_BY_FRAME_POINTER)
		unwinder_mark_stale(unwinder, pid);
}

/* Takes back the number of a file; the next mapping of the file gets another one. */
static void retire(struct unwinder *unwinder, uint32_t number)
{
	struct table *table = &unwinder->tables[number];

	if (entry_of(unwinder, number)->state == UNWIND_TABLE_READY)
		loaded_table_unload(&table->loaded, unwinder->pool, UNWIND_TABLE_WANTED);
	(void)u64_map_remove(&unwinder->table_of_file, table->file);
	*table = (struct table){.file = NO_FILE, .next = unwinder->retired};
	unwinder->retired = number;
	unwinder->nr_unused++;
}

/* Takes back the numbers of files that are not mapped, if few are left. */
static void retire_unmapped(struct unwinder *unwinder)
{
	uint32_t number;

	if (unwinder->nr_tables - unwinder->nr_unused < MANY_TABLES)
		return;
	visit_mappings(unwinder, mark_mapped);
	for (number = VDSO_TABLE + 1; number < unwinder->nr_tables; number++) {
		struct table *table = &unwinder->tables[number];

		if (table->file != NO_FILE && !table->is_mapped && !table->is_asked)
			retire(unwinder, number);
		table->is_mapped = false;
	}
}

/*
 * Gives files that were left out another chance: they are looked up again with their mappings. If there are numbers now,
 * the processes that may have mapped one are published anew.
 */
static void take_left_out(struct unwinder *unwinder)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	while (unwinder->nr_left_out && (slot = u64_map_next(&unwinder->table_of_file, &position)))
		if (slot->value == LEFT_OUT && u64_map_remove(&unwinder->table_of_file, slot->key))
			position--; /* another one may have moved to this slot */
	unwinder->nr_left_out = 0;
	if (!unwinder->lacks_tables ||
	    (!unwinder->unused && unwinder->nr_tables == UNWIND_MAX_TABLES))
		return;
	unwinder->lacks_tables = false;
	visit_mappings(unwinder, mark_lacking);
}

void unwinder_epoch_ends(struct unwinder *unwinder)
{
	unwind_pool_epoch_ends(unwinder->pool);
}

void unwinder_epoch_ended(struct unwinder *unwinder, uint32_t epoch)
{
	unwinder->epoch = epoch + 1;
	unwind_pool_epoch_ended(unwinder->pool);
	while (unwinder->retired) {
		const uint32_t number = unwinder->retired;

		unwinder->retired = unwinder->tables[number].next;
		unwinder->tables[number].next = unwinder->unused;
		unwinder->unused = number;
	}
	take_left_out(unwinder);
	retire_unmapped(unwinder);
	drop_unused(unwinder);
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

/* Counts a sample that waits for a table, once. */
static void await_table(struct unwinder *unwinder, uint32_t number, uint64_t time_ns)
{
	struct table *table = &unwinder->tables[number];

	if (time_ns <= table->sample_ns)
		return;
	table->sample_ns = time_ns;
	if (table->sampled_epoch != unwinder->epoch) /* older samples count less */
		table->nr_samples /= 2;
	table->sampled_epoch = unwinder->epoch;
	table->nr_samples++;
}

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
		await_table(unwinder, ret->wanted_table, record->time_ns);
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

/* A table that is only due is not: the samples that wait for it are counted when it is requested. */
static bool is_on_its_way(const struct unwinder *unwinder, uint32_t number)
{
	const struct table *table = &unwinder->tables[number];

	return entry_of(unwinder, number)->state == UNWIND_TABLE_WANTED &&
	       (table->is_asked || !is_due(unwinder, table));
}

struct lacked_table unwinder_lacked(const struct unwinder *unwinder,
				    const struct user_stack *walked)
{
	const uint32_t number = walked->wanted_table;

	return (struct lacked_table){
		.number = is_on_its_way(unwinder, number) ? number : 0,
		.epoch = unwinder->epoch,
	};
}

bool unwinder_still_lacks(const struct unwinder *unwinder, const struct lacked_table *lacked)
{
	return lacked->number && lacked->epoch == unwinder->epoch &&
	       is_on_its_way(unwinder, lacked->number);
}

void unwinder_read_cost(const struct unwinder *unwinder, struct unwinder_cost *ret)
{
	*ret = unwinder->cost;
	ret->bytes = unwind_pool_bytes(unwinder->pool);
	ret->chunk_bytes = unwind_pool_chunk_bytes(unwinder->pool);
}
