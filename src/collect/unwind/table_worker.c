/*
 * A queue of requests, a queue of finished tables, and two parsers: one for files that only root can write,
 * whose tables are cached on disk, and one for all others.
 *
 * A parser reads the file's build id first and asks if it should continue (WANT_WORK). At that point stook looks
 * up the build id in the cache, which parsers cannot read. The parser waits for the answer, and stook does not.
 *
 * A table that was made without a debug file that may be there is that of no build id. It is used, but not cached.
 */
#include "collect/unwind/table_worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/unwind/table_store.h"
#include "elf/image/debug_link.h"
#include "elf/unwind/unwind_compile.h"

static const struct table_pace default_pace = {.most_ns = 2 * NS_PER_SEC, .share = 0.05};

#define NICER_BY 5

/* Time limit for one table. The largest programs take about a second. */
#define MOST_NS	 (20 * NS_PER_SEC)
#define PACED_BY 6 /* times as much at a low priority */

/* Each request holds a descriptor. Most programs of a fork storm exit before their table is ready. */
#define WISHES_MAX 512

struct wish {
	struct table_wish wish;
	uint64_t samples; /* waiting for it */
	bool is_large;	  /* little memory was not enough: see worker_limit_memory() */
};

/* The table that a parser is compiling. */
struct making {
	struct table_worker *tables;
	struct wish wish; /* its descriptor is ours */
	struct made_table made;
	bool may_cache, is_loading; /* is_loading: from the cache; the parser waits */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;
};

static const enum parser parsers[] = {PARSER_OTHER_FILES, PARSER_ROOT_FILES};

struct table_worker {
	struct worker *worker;
	struct table_store *store; /* NULL: no cache */
	size_t max_bytes;	   /* of a table */
	struct making making[ARRAY_SIZE(parsers)];
	struct wish *wishes;
	size_t nr_wishes, wish_capacity;
	struct made_table *made;
	size_t nr_made, made_capacity;
	size_t nr_waiting;
	struct table_budget budget;
	uint64_t most_ns; /* for one table */
};

/* --- in a parser ------------------------------------------------------------------------------ */

/* Opens the debug file with the build id of `work`. Returns its image, which is *ret, or NULL. */
static const struct elf_image *open_debug(struct worker_job *job, const struct worker_want *work,
					  int *ret_fd, struct elf_image *ret)
{
	struct worker_want want = *work;

	want.kind = WANT_DEBUG_FILE;
	*ret_fd = worker_want(job, &want);
	return *ret_fd >= 0 && elf_image_open(ret, *ret_fd, NULL) == 0 ? ret : NULL;
}

static int compile(struct worker_job *job, const struct elf_image *image)
{
	struct worker_want want = {.kind = WANT_WORK,
				   .build_id_bytes = (uint32_t)image->build_id_bytes};
	struct unwind_table table;
	struct elf_image debug_image;
	const struct elf_image *debug = NULL;
	cleanup_fd int debug_fd = -1;
	size_t build_id_bytes = image->build_id_bytes;
	int err = 0;

	memcpy(want.build_id, image->build_id, image->build_id_bytes);
	if (want.build_id_bytes && worker_want(job, &want) == -EEXIST)
		return -EEXIST;
	if (want.build_id_bytes)
		debug = open_debug(job, &want, &debug_fd, &debug_image);
	if (worker_is_passing(debug_fd))
		build_id_bytes = 0;
	err = unwind_compile(&table, image, debug, NULL);
	if (debug)
		elf_image_close(&debug_image);
	if (err < 0)
		return err;
	err = unwind_file_write(job->answer_fd, image->build_id, build_id_bytes, &table);
	job->answer_bytes = unwind_file_bytes(&table);
	unwind_table_clear(&table);
	return err;
}

int table_worker_task(struct worker_job *job, void **state)
{
	struct elf_image image;
	int err = job->fd < 0 ? job->fd : elf_image_open(&image, job->fd, NULL);

	if (err < 0)
		return err;
	err = compile(job, &image);
	elf_image_close(&image);
	return err;
}

/* --- beginning and end ------------------------------------------------------------------------ */

struct table_worker *table_worker_new(struct worker *worker, struct unwind_cache *cache,
				      size_t max_bytes, struct error *error)
{
	struct table_worker *tables = calloc(1, sizeof(*tables));
	size_t i;

	if (!tables) {
		unwind_cache_close(cache);
		(void)error_no_memory(error, "");
		return NULL;
	}
	tables->worker = worker;
	tables->store = table_store_new(cache);
	if (cache && !tables->store) {
		table_worker_free(tables);
		(void)error_no_memory(error, "");
		return NULL;
	}
	tables->max_bytes = max_bytes;
	tables->most_ns = MOST_NS;
	table_budget_begin(&tables->budget, &default_pace, clock_now_ns());
	/*
	 * Samples wait for tables, so the parsers get a slightly higher priority than other processes. All
	 * programs need libc's table, so the parser for it is started now.
	 */
	for (i = 0; i < ARRAY_SIZE(parsers); i++)
		worker_favor(worker, parsers[i], NICER_BY);
	worker_begin(worker, PARSER_ROOT_FILES);
	return tables;
}

void table_worker_free(struct table_worker *tables)
{
	size_t i;

	if (!tables)
		return;
	for (i = 0; i < tables->nr_wishes; i++)
		(void)close(tables->wishes[i].wish.fd);
	for (i = 0; i < tables->nr_made; i++)
		unwind_table_clear(&tables->made[i].table);
	for (i = 0; i < ARRAY_SIZE(parsers); i++) {
		unwind_table_clear(&tables->making[i].made.table);
		if (tables->making[i].tables)
			(void)close(tables->making[i].wish.wish.fd);
	}
	table_store_free(tables->store);
	free(tables->wishes);
	free(tables->made);
	free(tables);
}

/* --- asking ----------------------------------------------------------------------------------- */

void table_budget_begin(struct table_budget *budget, const struct table_pace *pace, uint64_t now_ns)
{
	*budget = (struct table_budget){*pace, now_ns, pace->most_ns};
}

bool table_budget_allows(struct table_budget *budget, uint64_t now_ns, uint64_t used_ns)
{
	budget->allowed_ns += (uint64_t)((double)(now_ns - budget->since_ns) * budget->pace.share);
	budget->since_ns = now_ns;
	if (budget->allowed_ns > used_ns + budget->pace.most_ns)
		budget->allowed_ns = used_ns + budget->pace.most_ns;
	return used_ns <= budget->allowed_ns;
}

void table_worker_pace(struct table_worker *tables, const struct table_pace *pace)
{
	tables->budget.pace = *pace;
	worker_pace(tables->worker, pace->most_ns, pace->share);
	tables->most_ns = PACED_BY * MOST_NS;
}

bool table_worker_is_in_debt(struct table_worker *tables)
{
	uint64_t used_ns = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parsers); i++)
		used_ns += worker_cpu_ns(tables->worker, parsers[i]);
	return !table_budget_allows(&tables->budget, clock_now_ns(), used_ns);
}

/* -EEXIST: the table was in the cache; -EINPROGRESS: it is being read; -ENODATA: it is not there. */
static int answer_loading(struct making *making)
{
	int err = table_store_finish_loading(making->tables->store, &making->made.table);

	making->is_loading = err == -EINPROGRESS;
	making->made.from_cache = err == 0;
	if (err == 0)
		return -EEXIST;
	return err == -EINPROGRESS ? err : -ENODATA;
}

/* Handles requests of a parser: for the debug file, and to continue if the table is not in the cache. */
static int answer_want(void *context, const struct worker_want *want, struct worker_place *ret)
{
	struct making *making = context;
	char id[DEBUG_FILE_ID_BYTES], path[sizeof(DEBUG_FILE_FOLDER) + DEBUG_FILE_ID_BYTES + 32];

	if (want->kind == WANT_WORK) {
		memcpy(making->build_id, want->build_id, want->build_id_bytes);
		making->build_id_bytes = want->build_id_bytes;
		if (!making->may_cache || !making->tables->store || making->made.from_cache ||
		    table_store_begin_loading(making->tables->store, want->build_id,
					      want->build_id_bytes) < 0)
			return -ENODATA;
		return answer_loading(making);
	}
	debug_file_id(want->build_id, want->build_id_bytes, id);
	if (want->kind != WANT_DEBUG_FILE || want->place || !id[0])
		return -ENODATA;
	(void)snprintf(path, sizeof(path), DEBUG_FILE_FOLDER "/.build-id/%s.debug", id);
	worker_place_add(ret, path);
	return 0;
}

/* Returns the index of the request that most samples wait for; SIZE_MAX: none. */
static size_t find_wish(const struct table_worker *tables, bool may_cache)
{
	size_t best = SIZE_MAX, i;

	for (i = 0; i < tables->nr_wishes; i++)
		if (tables->wishes[i].wish.may_cache == may_cache &&
		    (best == SIZE_MAX || tables->wishes[i].samples > tables->wishes[best].samples))
			best = i;
	return best;
}

static void remove_wish(struct table_worker *tables, size_t i)
{
	tables->nr_wishes--;
	memmove(&tables->wishes[i], &tables->wishes[i + 1],
		(tables->nr_wishes - i) * sizeof(*tables->wishes));
}

/* Adds the finished table. Its space was reserved with the request. */
static void finish_making(struct table_worker *tables, struct making *making)
{
	tables->made[tables->nr_made++] = making->made;
	(void)close(making->wish.wish.fd);
	*making = (struct making){0};
}

/* Puts the request back, to be made with much memory. False if there is no room. */
static bool ask_for_more(struct table_worker *tables, struct making *making)
{
	making->wish.is_large = true;
	if (ARRAY_ADD(tables->wishes, tables->nr_wishes, tables->wish_capacity, making->wish) < 0)
		return false;
	unwind_table_clear(&making->made.table);
	*making = (struct making){0};
	return true;
}

/* Sends the next request to an idle parser. */
static void ask_next(struct table_worker *tables, enum parser parser, struct making *making)
{
	bool may_cache = parser == PARSER_ROOT_FILES;
	size_t i;

	while ((i = find_wish(tables, may_cache)) != SIZE_MAX) {
		const struct table_wish *wish = &tables->wishes[i].wish;
		struct worker_question question = {
			.task = TASK_UNWIND_TABLE,
			.handle = wish->fd,
			.file = wish->file,
			.most_ns = tables->most_ns,
			.most_bytes = sizeof(struct unwind_file_header) + tables->max_bytes,
			.is_large = tables->wishes[i].is_large,
			.place = answer_want,
			.context = making,
		};
		int err = worker_ask(tables->worker, parser, &question);

		if (err == -EAGAIN)
			return;
		*making = (struct making){
			.tables = tables,
			.wish = tables->wishes[i],
			.made = {.number = wish->number, .err = err},
			.may_cache = may_cache,
		};
		remove_wish(tables, i);
		if (err == 0)
			return;
		finish_making(tables, making);
	}
}

/* Gives the i-th parser the next request, unless it has one, or the budget is used up. */
static void ask_if_idle(struct table_worker *tables, size_t i)
{
	if (tables->nr_wishes && !worker_is_busy(tables->worker, parsers[i]) &&
	    !table_worker_is_in_debt(tables))
		ask_next(tables, parsers[i], &tables->making[i]);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* True for a table of no build id, though the file has one. */
static bool is_provisional(const struct making *making, const void *bytes, size_t nr)
{
	struct unwind_file_header header;

	if (nr < sizeof(header) || !making->build_id_bytes)
		return false;
	memcpy(&header, bytes, sizeof(header));
	return !header.build_id_bytes;
}

/* Takes the bytes. */
static int read_answer(struct making *making, int err, void *bytes, size_t nr)
{
	cleanup_free void *own = bytes;
	struct unwind_table *table = &making->made.table;

	if (err == -EEXIST && making->made.from_cache)
		return 0;
	if (making->made.from_cache)
		unwind_table_clear(table); /* the parser continued although it was told not to */
	making->made.from_cache = false;
	if (err < 0)
		return err;
	making->made.is_provisional = is_provisional(making, bytes, nr);
	if (making->made.is_provisional)
		making->build_id_bytes = 0;
	err = unwind_file_parse(bytes, nr, making->build_id, making->build_id_bytes, table);
	if (err == 0 && making->may_cache && making->tables->store && making->build_id_bytes) {
		table_store_keep(making->tables->store, making->build_id, making->build_id_bytes,
				 bytes, nr);
		own = NULL;
	}
	return err;
}

static void fetch(struct table_worker *tables, enum parser parser, struct making *making)
{
	void *bytes = NULL;
	size_t nr = 0;
	int err;

	if (making->is_loading) {
		err = answer_loading(making);
		if (err != -EINPROGRESS)
			worker_answer(tables->worker, parser, err);
	}
	err = worker_fetch(tables->worker, parser, &bytes, &nr);
	if (err == -EAGAIN)
		return;
	making->made.err = read_answer(making, err, bytes, nr);
	if (err == -ENOBUFS && !making->wish.is_large && ask_for_more(tables, making))
		return;
	finish_making(tables, making);
}

bool table_worker_take(struct table_worker *tables, struct made_table *ret)
{
	size_t i;

	worker_step(tables->worker);
	table_store_step(tables->store);
	for (i = 0; i < ARRAY_SIZE(parsers); i++) {
		if (worker_is_busy(tables->worker, parsers[i]))
			fetch(tables, parsers[i], &tables->making[i]);
		ask_if_idle(tables, i);
	}
	if (!tables->nr_made)
		return false;
	*ret = tables->made[0];
	tables->nr_made--;
	memmove(tables->made, tables->made + 1, tables->nr_made * sizeof(*tables->made));
	tables->nr_waiting--;
	return true;
}

bool table_worker_has_room(const struct table_worker *tables)
{
	return tables->nr_wishes < WISHES_MAX;
}

int table_worker_add(struct table_worker *tables, const struct table_wish *wish)
{
	int err = 0;
	size_t i;

	if (!table_worker_has_room(tables))
		err = -ENOSPC;
	else if (ARRAY_RESERVE(tables->made, tables->made_capacity, tables->nr_waiting + 1) < 0)
		err = -ENOMEM;
	else
		err = ARRAY_ADD(tables->wishes, tables->nr_wishes, tables->wish_capacity,
				(struct wish){.wish = *wish});
	if (err < 0) {
		(void)close(wish->fd);
		return err;
	}
	tables->nr_waiting++;
	for (i = 0; i < ARRAY_SIZE(parsers); i++)
		ask_if_idle(tables, i);
	return 0;
}

void table_worker_prioritize(struct table_worker *tables, uint32_t number)
{
	size_t i;

	for (i = 0; i < tables->nr_wishes; i++)
		if (tables->wishes[i].wish.number == number)
			tables->wishes[i].samples++;
}

size_t table_worker_nr_waiting(const struct table_worker *tables)
{
	return tables->nr_waiting;
}
