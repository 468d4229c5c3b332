/*
 * collect/drain against a model: random histories of processes with known mappings, divided into
 * random polls and epochs, and delivered as a kernel could deliver them. Every sample must get what
 * its process had mapped at its time, and all totals must be exact.
 *
 * The model of the kernel: the samples of one stack in one epoch become a record and a count, or
 * sometimes two records (a lost race for the insert). A poll first reads records from the ring up
 * to some time, or less if a reservation is in the way; then the events of each CPU up to a later
 * time, which differs by CPU; then the events that arrived during the poll. Then the drain replays
 * everything older than the start of the previous poll; a poll that ends an epoch replays
 * everything up to the epoch's end. In the model, a stack gets a new identity with every change of
 * its process' mappings. In the kernel it keeps its identity: there, the result is exact only for
 * the first of the samples that are counted together.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "unit/drain_fixture.h"

#define NR_ROUNDS     3000
#define MAX_HAPPENING 400
#define NR_PIDS	      6
#define NR_PAGES      24
#define NR_FILES      5
#define NR_CPUS	      3
#define MAX_DEPTH     5
#define MAX_POLLS     40
#define MS	      1000000ULL
#define HISTORY_NS    (1000 * MS) /* of the first event */

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % limit;
}

static bool one_in(uint64_t n)
{
	return random_below(n) == 0;
}

/* --- histories ------------------------------------------------------------------------------- */

enum page_kind { PAGE_NONE, PAGE_FILE, PAGE_ANON, PAGE_VDSO };

struct page {
	enum page_kind kind;
	unsigned file;
	uint64_t offset; /* of the page in its file or in the vdso */
};

struct model_process {
	bool alive;
	uint64_t leader_exit_ns; /* other threads run on for a while; 0: alive */
	uint64_t identity;	 /* changes with each fork, exec and change of mappings */
	struct program_id program;
	struct page pages[NR_PAGES];
};

struct happening {
	uint64_t time_ns;
	bool is_sample;
	unsigned cpu; /* CPU whose ring has the event */
	struct made_event event;
	struct made_record record;
	char truth[256];
	uint32_t epoch;
	bool in_ring; /* sent as a record; else only counted */
	bool given;
};

struct history {
	struct happening items[MAX_HAPPENING];
	size_t nr;
	struct model_process processes[NR_PIDS];
	uint64_t now_ns, identities;
	unsigned labels;
	bool has_comm;
};

static const char *const comms[] = {"alpha", "beta", "apex"};
static const char *const paths[] = {"/m/f0", "/m/f1", "/m/f2", "/m/f3", "/m/f4"};

static int32_t pid_of(size_t process)
{
	return PID_A + (int32_t)process;
}

static struct happening *happen(struct history *history, struct made_event event)
{
	struct happening *item = &history->items[history->nr++];

	memset(item, 0, sizeof(*item));
	item->time_ns = history->now_ns;
	item->event = event;
	item->cpu = (unsigned)random_below(NR_CPUS);
	return item;
}

static void model_exec(struct history *history, size_t number)
{
	struct model_process *process = &history->processes[number];

	memset(process->pages, 0, sizeof(process->pages));
	process->identity = ++history->identities;
	process->program.exec_id++;
	(void)happen(history, made_exec(history->now_ns, pid_of(number)));
}

static void model_map(struct history *history, size_t number)
{
	struct model_process *process = &history->processes[number];
	uint64_t first = random_below(NR_PAGES), nr = 1 + random_below(6), i;
	struct page page = {.kind = 1 + (enum page_kind)random_below(3)};
	const char *path = page.kind == PAGE_ANON ? "//anon" : "[vdso]";

	if (first + nr > NR_PAGES)
		nr = NR_PAGES - first;
	if (one_in(2))
		page.kind = PAGE_FILE;
	if (page.kind == PAGE_FILE) {
		page.file = (unsigned)random_below(NR_FILES);
		page.offset = random_below(100) << 12;
		path = paths[page.file];
	}
	(void)happen(history, made_map(history->now_ns, pid_of(number), (1 + first) << 12,
				       (1 + first + nr) << 12, page.offset, path));
	for (i = 0; i < nr; i++, page.offset += 4096)
		process->pages[first + i] = page;
	process->identity = ++history->identities;
}

static void model_fork(struct history *history, size_t parent)
{
	size_t child = random_below(NR_PIDS);

	if (history->processes[child].alive)
		return;
	history->processes[child] = history->processes[parent];
	history->processes[child].leader_exit_ns = 0;
	history->processes[child].identity = ++history->identities;
	history->processes[child].program.start_time_ns = history->now_ns;
	(void)happen(history, made_fork(history->now_ns, pid_of(parent), pid_of(child)));
}

static void model_exit(struct history *history, size_t number)
{
	struct model_process *process = &history->processes[number];

	if (number == 0)
		return; /* keep one process that can fork */
	if (!process->leader_exit_ns)
		(void)happen(history, made_exit(history->now_ns, pid_of(number)));
	if (!process->leader_exit_ns && one_in(3))
		process->leader_exit_ns = history->now_ns;
	else
		process->alive = false;
}

/* The format is that of sample_text(). */
static void append_frame(const struct model_process *process, uint64_t address, bool blank_before,
			 char *truth)
{
	const char *blank = blank_before ? " " : "";
	char *end = truth + strlen(truth);
	size_t room = sizeof(((struct happening *)0)->truth) - strlen(truth);
	uint64_t number = (address >> 12) - 1;
	struct page page = {.kind = PAGE_NONE};

	if (number < NR_PAGES)
		page = process->pages[number];
	if (page.kind == PAGE_FILE)
		(void)snprintf(end, room, "%s%s+%" PRIx64, blank, paths[page.file] + 3,
			       page.offset + (address & 0xfff));
	else if (page.kind == PAGE_VDSO)
		(void)snprintf(end, room, "%s[vdso]+%" PRIx64, blank,
			       page.offset + (address & 0xfff));
	else if (page.kind == PAGE_ANON)
		(void)snprintf(end, room, "%s[JIT]+%" PRIx64, blank, address);
	else
		(void)snprintf(end, room, "%s[unknown]+0", blank);
}

static void model_sample(struct history *history, size_t number)
{
	const struct model_process *process = &history->processes[number];
	struct happening *item = happen(history, (struct made_event){.path = NULL});
	struct wire_record *record = &item->record.record;
	unsigned comm = (unsigned)random_below(ARRAY_SIZE(comms));
	unsigned labels = history->labels;
	uint64_t i;

	item->is_sample = true;
	record->time_ns = history->now_ns;
	record->pid = (uint32_t)pid_of(number);
	record->start_time_ns = process->program.start_time_ns;
	record->exec_id = process->program.exec_id;
	record->tid = labels & LABEL_TID ? record->pid + (uint32_t)random_below(2) : 0;
	memcpy(record->comm, comms[comm], strlen(comms[comm]));
	record->user_end = WALK_UNWOUND;
	record->nr_user = (uint16_t)random_below(MAX_DEPTH);
	if (labels & LABEL_COMM)
		(void)snprintf(item->truth, sizeof(item->truth), "%s:", comms[comm]);
	if (labels & (LABEL_PID | LABEL_TID))
		(void)snprintf(item->truth + strlen(item->truth), 64,
			       "%d:%d:0:", labels & LABEL_PID ? (int)record->pid : 0,
			       (int)record->tid);
	for (i = 0; i < record->nr_user; i++) {
		uint64_t address = 4096 * random_below(NR_PAGES + 2) + 2048 * random_below(2) + 1;

		if (i && one_in(4))
			address--; /* a return address at a page's begin belongs to the one before
				    */
		item->record.frames[i] = address;
		append_frame(process, i ? address - 1 : address, i > 0, item->truth);
	}
	record->id = hash_stable_add(hash_stable_bytes(item->record.frames, i * sizeof(uint64_t)),
				     process->identity);
	record->id = hash_stable_add(hash_stable_add(record->id, comm), record->tid);
}

/* Repeats a sample some time later. There are few stacks, so that they repeat. */
static void model_sample_again(struct history *history, const struct happening *like)
{
	struct happening *item = happen(history, (struct made_event){.path = NULL});
	uint64_t time_ns = item->time_ns;

	*item = *like;
	item->time_ns = item->record.record.time_ns = time_ns;
}

/* True if the sample can repeat: its process is alive and nothing has changed since. */
static bool may_come_again(const struct history *history, size_t from)
{
	const struct happening *sample = &history->items[from];
	int32_t pid = (int32_t)sample->record.record.pid;
	size_t i;

	if (!sample->is_sample || !history->processes[pid - PID_A].alive)
		return false;
	for (i = from + 1; i < history->nr; i++)
		if (!history->items[i].is_sample && history->items[i].event.event.pid == pid)
			return false;
	return true;
}

/* Threads end before the process would be forgotten after its leader's exit. */
static void end_threads(struct history *history)
{
	size_t i;

	for (i = 0; i < NR_PIDS; i++) {
		struct model_process *process = &history->processes[i];

		if (process->leader_exit_ns && history->now_ns > process->leader_exit_ns + 500 * MS)
			process->alive = false;
	}
}

static void let_something_happen(struct history *history)
{
	size_t number = random_below(NR_PIDS), earlier = random_below(history->nr);
	struct model_process *process = &history->processes[number];
	uint64_t dice = random_below(100);

	if (dice < 40 && may_come_again(history, earlier))
		model_sample_again(history, &history->items[earlier]);
	else if (!process->alive)
		return;
	else if (dice < 65)
		model_sample(history, number);
	else if (dice < 78)
		model_map(history, number);
	else if (dice < 88)
		model_fork(history, number);
	else if (dice < 94)
		model_exit(history, number);
	else if (!process->leader_exit_ns)
		model_exec(history, number);
}

static void pass_time(struct history *history)
{
	history->now_ns += 1 + random_below(one_in(3) ? 10 : 20 * MS);
	if (one_in(60))
		history->now_ns += random_below(3000 * MS); /* exited processes are forgotten */
}

static void make_history(struct history *history, size_t length)
{
	static const unsigned labels[] = {0, LABEL_COMM, LABEL_PID | LABEL_COMM,
					  LABEL_PID | LABEL_TID | LABEL_COMM};

	memset(history, 0, sizeof(*history));
	history->now_ns = HISTORY_NS;
	history->labels = labels[random_below(ARRAY_SIZE(labels))];
	history->has_comm = one_in(4);
	history->processes[0].alive = true;
	history->processes[0].program.start_time_ns = 1;
	model_exec(history, 0);
	while (history->nr < length) {
		pass_time(history);
		end_threads(history);
		let_something_happen(history);
	}
	pass_time(history);
}

/* --- polls and epochs ------------------------------------------------------------------------ */

struct poll {
	uint64_t begin_ns; /* the ring is read up to ring_ns, the events up to events_ns */
	uint64_t ring_ns;
	uint64_t events_ns[NR_CPUS], more_events_ns[NR_CPUS];
	bool ends_epoch;
	uint64_t until_ns;   /* end of its replay */
	uint64_t horizon_ns; /* end of the previous replays */
};

struct schedule {
	struct poll polls[MAX_POLLS];
	size_t nr;
};

/* Returns a random time after `from`, mostly soon. */
static uint64_t some_time_after(uint64_t from)
{
	return from + random_below(one_in(2) ? 100 : 30 * MS);
}

static void make_schedule(const struct history *history, struct schedule *schedule)
{
	uint64_t step = (history->now_ns - HISTORY_NS) / (MAX_POLLS - 10) + 1;
	uint64_t last_ns = HISTORY_NS;
	unsigned epoch_every = 1 + (unsigned)random_below(6), cpu;
	bool is_last = false;

	for (schedule->nr = 0; !is_last; schedule->nr++) {
		struct poll *poll = &schedule->polls[schedule->nr];

		poll->begin_ns = last_ns + 1 + random_below(2 * step);
		is_last = schedule->nr == MAX_POLLS - 1 || poll->begin_ns > history->now_ns;
		if (is_last)
			poll->begin_ns = history->now_ns;
		poll->ends_epoch = is_last || one_in(epoch_every);
		poll->ring_ns = some_time_after(poll->begin_ns);
		for (cpu = 0; cpu < NR_CPUS; cpu++) {
			poll->events_ns[cpu] = some_time_after(poll->ring_ns);
			poll->more_events_ns[cpu] = some_time_after(poll->events_ns[cpu]);
		}
		last_ns = poll->ring_ns + 60 * MS; /* the next poll begins later than that */
	}
}

/* Sets each poll's replay end: the epoch's end, or the start of the last poll without one. */
static void set_horizons(struct schedule *schedule)
{
	uint64_t polled_ns = HISTORY_NS, horizon_ns = 0;
	size_t i;

	for (i = 0; i < schedule->nr; i++) {
		struct poll *poll = &schedule->polls[i];

		poll->until_ns = poll->ends_epoch ? poll->begin_ns : polled_ns;
		poll->horizon_ns = horizon_ns;
		if (poll->until_ns > horizon_ns)
			horizon_ns = poll->until_ns;
		if (!poll->ends_epoch)
			polled_ns = poll->begin_ns;
	}
}

/* True if the process changed after the sample and not later than then_ns. */
static bool changed_until(const struct history *history, const struct happening *sample,
			  uint64_t then_ns)
{
	size_t i;

	for (i = 0; i < history->nr; i++) {
		const struct happening *item = &history->items[i];

		if (!item->is_sample && item->time_ns > sample->time_ns &&
		    item->time_ns <= then_ns &&
		    item->event.event.pid == (int32_t)sample->record.record.pid)
			return true;
	}
	return false;
}

/* A sample reads the clock first, then the epoch, which may end in between. */
static void assign_epochs(struct history *history, const struct schedule *schedule)
{
	uint32_t epoch = 0;
	size_t i, poll;

	for (i = 0; i < history->nr; i++) {
		struct happening *item = &history->items[i];

		epoch = 0;
		for (poll = 0; poll < schedule->nr; poll++) {
			uint64_t end_ns = schedule->polls[poll].begin_ns;

			if (!schedule->polls[poll].ends_epoch)
				continue;
			if (item->time_ns > end_ns)
				epoch++;
			else if (item->is_sample && poll + 1 < schedule->nr &&
				 item->time_ns + 5 * MS > end_ns && one_in(2) &&
				 !changed_until(history, item, end_ns))
				epoch++;
			else
				break;
		}
		item->epoch = item->record.record.epoch = epoch;
	}
}

/* --- kernel side ----------------------------------------------------------------------------- */

struct counts {
	struct u64_map by_id; /* of one epoch */
};

/* Decides which samples are records and which are counted, as bpf/record does. */
static void aggregate(struct history *history, struct counts *counts)
{
	size_t i;

	for (i = 0; i < history->nr; i++) {
		struct happening *item = &history->items[i];
		uint64_t id = item->record.record.id;
		uint64_t *count = u64_map_find(&counts[item->epoch].by_id, id);

		if (!item->is_sample)
			continue;
		item->in_ring = !count || one_in(20);
		if (!count)
			CHECK_EQ(u64_map_set(&counts[item->epoch].by_id, id, 0), 0);
		else if (!item->in_ring)
			++*count;
	}
}

/* --- delivery -------------------------------------------------------------------------------- */

struct feeding {
	struct fixture fixture;
	struct history *history;
	struct u64_map expected, got; /* hash of a sample's text → count */
	uint64_t nr_samples, nr_hidden;
	bool hold_allowed;
};

/* True if the ring may be held back before this record without changing its result. */
static bool may_wait(const struct feeding *feeding, size_t from, const struct poll *next)
{
	const struct history *history = feeding->history;
	size_t i;

	for (i = from; i < history->nr; i++) {
		const struct happening *item = &history->items[i];

		if (item->is_sample && item->in_ring && !item->given &&
		    (item->time_ns + 1000 * MS < next->horizon_ns ||
		     changed_until(history, item, next->horizon_ns)))
			return false;
	}
	return true;
}

/* Delivers the ring up to the cut; a reservation may hold it back at any record. */
static void give_ring(struct feeding *feeding, const struct poll *poll, const struct poll *next)
{
	struct history *history = feeding->history;
	size_t i;

	for (i = 0; i < history->nr && history->items[i].time_ns <= poll->ring_ns; i++) {
		struct happening *item = &history->items[i];

		if (!item->is_sample || !item->in_ring || item->given)
			continue;
		if (next && one_in(12) && may_wait(feeding, i, next))
			return;
		CHECK_EQ(give_record(&feeding->fixture, &item->record), 0);
		item->given = true;
	}
}

static void give_events(struct feeding *feeding, const uint64_t *until_ns)
{
	unsigned first = (unsigned)random_below(NR_CPUS), k;
	size_t i;

	for (k = 0; k < NR_CPUS; k++) {
		unsigned cpu = (first + k) % NR_CPUS;

		for (i = 0; i < feeding->history->nr; i++) {
			struct happening *item = &feeding->history->items[i];

			if (item->is_sample || item->given || item->cpu != cpu ||
			    item->time_ns > until_ns[cpu])
				continue;
			CHECK_EQ(give_event(&feeding->fixture, item->event), 0);
			item->given = true;
		}
	}
}

static int add_to(struct u64_map *map, const char *text, uint64_t count)
{
	uint64_t key = hash_stable_bytes(text, strlen(text));
	const uint64_t *known = u64_map_find(map, key);

	return u64_map_set(map, key, (known ? *known : 0) + count);
}

/* Takes the samples out of the profile, as printing an interval does. */
static void take_samples(struct feeding *feeding)
{
	const struct profile *profile = feeding->fixture.profile;
	char text[SAMPLE_TEXT_BYTES];
	size_t i;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, (uint32_t)i);

		sample_text(profile, sample, false, text);
		CHECK_EQ(add_to(&feeding->got, text, sample->count), 0);
	}
	profile_reset_samples(feeding->fixture.profile);
}

static void end_epoch(struct feeding *feeding, const struct counts *counts, uint32_t epoch,
		      uint64_t ended_ns)
{
	struct drain *drain = feeding->fixture.drain;
	const struct u64_map_slot *slot;
	size_t position = 0;

	while ((slot = u64_map_next(&counts[epoch].by_id, &position)))
		CHECK_EQ(drain_add_count(drain, epoch, &(struct wire_count_key){.id = slot->key},
					 &(struct wire_count){.count = slot->value}),
			 0);
	CHECK_EQ(drain_close_epoch(drain, epoch, ended_ns), 0);
	drain_forget_exited(drain, ended_ns);
	if (one_in(2))
		take_samples(feeding);
}

static void feed(struct feeding *feeding, const struct schedule *schedule,
		 const struct counts *counts)
{
	uint32_t epoch = 0;
	size_t i;

	for (i = 0; i < schedule->nr; i++) {
		const struct poll *poll = &schedule->polls[i];
		const struct poll *next = i + 1 < schedule->nr ? poll + 1 : NULL;

		give_ring(feeding, poll, next);
		give_events(feeding, poll->events_ns);
		CHECK_EQ(drain_ensure_processes(feeding->fixture.drain), 0);
		give_events(feeding, poll->more_events_ns);
		if (!next)
			drain_expect_end(feeding->fixture.drain);
		if (poll->ends_epoch)
			end_epoch(feeding, counts, epoch++, poll->until_ns);
		else
			CHECK_EQ(drain_replay(feeding->fixture.drain, poll->until_ns), 0);
	}
	CHECK_EQ(drain_waiting(feeding->fixture.drain), 0);
	take_samples(feeding);
}

/* --- checks ---------------------------------------------------------------------------------- */

static bool is_hidden(const struct history *history, const struct happening *item)
{
	return history->has_comm && item->record.record.comm[0] != 'a';
}

static void expect(struct feeding *feeding)
{
	const struct history *history = feeding->history;
	size_t i;

	for (i = 0; i < history->nr; i++) {
		const struct happening *item = &history->items[i];

		if (!item->is_sample)
			continue;
		feeding->nr_samples++;
		feeding->nr_hidden += is_hidden(history, item);
		if (!is_hidden(history, item))
			CHECK_EQ(add_to(&feeding->expected, item->truth, 1), 0);
	}
}

static uint64_t count_of(const struct u64_map *map, uint64_t key)
{
	const uint64_t *count = u64_map_find(map, key);

	return count ? *count : 0;
}

static bool is_right(const struct feeding *feeding)
{
	const struct drain_totals *totals = drain_totals(feeding->fixture.drain);
	const struct u64_map_slot *slot;
	size_t position = 0;

	while ((slot = u64_map_next(&feeding->expected, &position)))
		if (count_of(&feeding->got, slot->key) != slot->value)
			return false;
	return feeding->expected.nr == feeding->got.nr &&
	       totals->records + totals->counted == feeding->nr_samples &&
	       totals->hidden == feeding->nr_hidden && totals->bad_records == 0;
}

/* Prints what is needed to debug a failure. */
static void print_failure(const struct feeding *feeding)
{
	const struct drain_totals *totals = drain_totals(feeding->fixture.drain);
	size_t i;

	fprintf(stderr, "  %" PRIu64 " samples: %" PRIu64 " records and %" PRIu64 " counted\n",
		feeding->nr_samples, totals->records, totals->counted);
	fprintf(stderr, "  %" PRIu64 " hidden: %" PRIu64 "\n", feeding->nr_hidden, totals->hidden);
	for (i = 0; i < feeding->history->nr; i++) {
		const struct happening *item = &feeding->history->items[i];
		const struct process_event *event = &item->event.event;
		uint64_t key = hash_stable_bytes(item->truth, strlen(item->truth));

		if (!item->is_sample)
			fprintf(stderr, "  %" PRIu64 " %c %d %d\n", item->time_ns,
				"FXME"[event->kind], event -> parent, event -> pid);
		else if (count_of(&feeding->got, key) != count_of(&feeding->expected, key))
			fprintf(stderr, "  %" PRIu64 " sample of %d, epoch %u: '%s'\n",
				item->time_ns, item->record.record.pid, item->epoch, item->truth);
	}
}

static bool play(uint64_t seed)
{
	static struct history history;
	struct counts counts[MAX_POLLS + 1];
	struct feeding feeding = {.history = &history};
	struct schedule schedule;
	struct matcher_error fault;
	struct name_filter names = {0};
	bool right;
	size_t i;

	random_state = seed * 0x9e3779b97f4a7c15ULL + 1;
	memset(counts, 0, sizeof(counts));
	make_history(&history, 20 + random_below(MAX_HAPPENING - 20));
	make_schedule(&history, &schedule);
	set_horizons(&schedule);
	assign_epochs(&history, &schedule);
	aggregate(&history, counts);
	names.only = matcher_new("^a", strlen("^a"), MATCHER_SEARCH, &fault);
	CHECK(names.only);
	fixture_open(&feeding.fixture, history.labels, history.has_comm ? &names : NULL);
	feed(&feeding, &schedule, counts);
	expect(&feeding);
	right = is_right(&feeding);
	if (!right)
		print_failure(&feeding);
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		u64_map_clear(&counts[i].by_id);
	u64_map_clear(&feeding.expected);
	u64_map_clear(&feeding.got);
	fixture_close(&feeding.fixture);
	name_filter_clear(&names);
	return right;
}

TEST(drain_gives_every_sample_its_truth)
{
	uint64_t seed;

	for (seed = 1; seed <= NR_ROUNDS; seed++) {
		if (play(seed))
			continue;
		fprintf(stderr, "  history %" PRIu64 " came out wrong\n", seed);
		CHECK(false);
	}
}
