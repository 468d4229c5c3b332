/*
 * Drives what a session consists of (drain, tables of processes and files, unwinder, its pool, parts of a profile)
 * with a synthetic host and without a kernel, hours in seconds: simulate [NAME=VALUE]…
 *
 *	 hour  heap MB   RSS MB  descr. process    files  tables   slots  pool MB …
 *	  0.1     21.9     29.6     391    2003      393     377    1877     11.9
 *
 * With store=HOURS, each interval is an epoch that goes to a store, which keeps so many hours, as in `stook agent`.
 *
 * The records are those that the kernel side would send: it sees the pool as user space has written it, counts
 * equal stacks of an epoch, and sends a raw stack if something is missing. A stack of known content is checked after
 * it went all the way: each address must have become the right offset of the right file. The exit status is 1 if
 * one did not, if a function has a wrong name, or if samples vanished.
 *
 * With intervals, the functions of a part are named afterwards, as by the thread that does so, and each name in a
 * checked stack is compared with the one that the file has at that place.
 *
 * Time is compressed by rare samples, not by leaving out processes: every fork, exec, mapping and exit happens. A
 * step is a poll; in calm hours it is as long as an epoch, or longer. Four things are replaced: the clock, the
 * opener (it looks into the synthetic host), the parsers that make unwind tables (one rule for all code, in a
 * table of realistic size, after the time that a parser would take), and the processes of the parsers that find names:
 * their task runs here, on an ELF file that is made when it is asked about. JIT-compiled code has no names.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/keeper.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/file/fd_io.h"
#include "collect/drain.h"
#include "collect/part.h"
#include "collect/sampler.h"
#include "collect/unwind/table_worker.h"
#include "collect/unwind/unwinder.h"
#include "event/event.h"
#include "proc/look.h"
#include "profile/merge.h"
#include "sym/names_task.h"
#include "sym/symbolizer.h"
#include "tests/tools/synthetic_host.h"
#include "tests/unit/made_elf.h"
#include "worker/worker.h"

#define EPOCH_NS    (5 * NS_PER_SEC)
#define EVENT_BYTES 72 /* of a fork, exec or exit in the ring of a CPU */
#define MAP_BYTES   128
#define EVENTS_RING (128UL << 10)
#define SAMPLE_HZ   99
#define CHECKED_TID 0x40000000U
#define RAW_WORDS   512 /* stack words of a raw record; real ones have up to 4096 */
#define START_NS    (1000 * NS_PER_SEC)
#define MAX_CHECKED (1U << 17)

/* The parameters: name, default. A small host for some minutes. */
#define WISHES(X)                                                                  \
	X(seed, 1)                                                                 \
	X(cpus, 16)                                                                \
	X(processes, 2000)                                                         \
	X(threads, 5000)                                                           \
	X(files, 1000)                                                             \
	X(hours, 0.5)                                                              \
	X(containers, 100) /* an hour */                                           \
	X(programs, 200)   /* new ones a second in the storm, and else: */         \
	X(programs_calm, 2)                                                        \
	X(storm_minutes, 1)                                                        \
	X(storm_step_ms, 20)                                                       \
	X(samples_storm, 400) /* a second */                                       \
	X(samples_calm, 8)                                                         \
	X(interval_s, 60) /* 0: one profile for the whole run */                   \
	X(jit, 10)	  /* processes with JIT-compiled code, which … */        \
	X(remaps, 20)	  /* … call mprotect() so often a second in the storm */ \
	X(table_mib, 64)                                                           \
	X(profile_mib, 256)                                                        \
	X(checked, 2000)                                                           \
	X(stalls, 1) /* seconds in the storm in which we do not run */             \
	X(rows, 10)                                                                \
	X(first_s, 2) /* at the full rate, at the start */                         \
	X(store, 0)                                                                \
	X(calm_step_s, 5)

static struct wishes {
#define X(name, value) double name;
	WISHES(X)
#undef X
} wishes = {
#define X(name, value) .name = (value),
	WISHES(X)
#undef X
};

static const struct {
	const char *name;
	double *value;
} names[] = {
#define X(name, value) {#name, &wishes.name},
	WISHES(X)
#undef X
};

struct queued_event {
	struct process_event event;
	char path[FILE_PATH_BYTES];
};

/* The truth about a checked sample. */
struct expected {
	struct host_stack stack;
	bool is_seen;
};

/* The parser of unwind tables. */
struct table_worker {
	struct table_wish wishes[512];
	uint64_t samples[512];
	size_t nr;
	uint64_t free_ns, used_ns, started_ns, nr_refused;
};

static struct simulation {
	struct host host;
	uint64_t now_ns, polled_ns, previous_ns, epoch_began_ns, part_began_ns; /* previous: poll */
	uint32_t epoch;
	int some_fd; /* a real descriptor, of which handles are duplicates */
	struct table_worker tables;

	struct file_table *files, *names; /* names: those of the thread that names functions */
	struct process_table *processes;
	struct runtime_table *runtimes, *runtime_names;
	struct profile *profile, *named; /* named: likewise */
	struct unwinder *unwinder;
	struct symbolizer *symbolizer;
	struct read_budget budget; /* of the symbolizer */
	void *parser_state;
	int answer_fd;
	struct {
		struct host_file file;
		int fd;	  /* 0: none */
	} elf_files[256]; /* that were asked about lately, by hash */
	struct drain *drain;
	struct keeper keeper;
	char store_folder[64];
	struct queued_event *events;
	size_t nr_events, cap_events;
	uint64_t event_bytes, ring_bytes, ring_used, ring_raw, raw_second, raw_of_second;
	size_t max_counts;
	struct u64_map counts; /* of this epoch: id → count */

	struct expected *expected;
	uint32_t nr_expected;
	uint64_t check_every, until_check;

	uint64_t nr_samples, nr_recorded, nr_counted, nr_raw, nr_too_many, nr_ring_full;
	uint64_t nr_lost_events, nr_losses, nr_programs, nr_containers, nr_looks, nr_snapshots;
	/* Checked stacks, by the names of their functions. */
	uint64_t nr_named, nr_misnamed, nr_unnamed;
	uint64_t nr_right, nr_wrong, nr_unknown, nr_as_jit, nr_cut, nr_missing, nr_other;
	uint64_t nr_violations, slowest_poll_ns, most_limbo, ends[NR_WALK_ENDS];
	size_t own_bytes; /* heap of the simulation itself */
} sim;

static struct wire_record *record_buffer;

/* --- the clock -------------------------------------------------------------------------------- */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (!sim.now_ns || clock == CLOCK_PROCESS_CPUTIME_ID)
		return __real_clock_gettime(clock, ret);
	*ret = (struct timespec){(time_t)(sim.now_ns / NS_PER_SEC),
				 (long)(sim.now_ns % NS_PER_SEC)};
	return 0;
}

static uint64_t real_ns(void)
{
	struct timespec now;

	(void)__real_clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "simulate: %s\n", what);
	exit(1);
}

/* --- the parsers of unwind tables (instead of collect/unwind/table_worker.c) -------------------- */

#define WORDS_VARIANT 1024

/* One rule for all code: the CFA is sp + 16; the last 256 bytes of a page have no caller. */
static int make_table(struct host_file file, struct unwind_table *ret)
{
	uint32_t nr = file_pages(file) - 1, i;
	uint32_t rows =
		(uint32_t)(mix_numbers(file.inode, 7) % (WORDS_VARIANT - UNWIND_PAGE_BUCKETS));

	*ret = (struct unwind_table){
		.start = TEXT_PAGE, .nr_pages = nr, .nr_words = 2 * WORDS_VARIANT};
	ret->pages = calloc(nr, sizeof(*ret->pages));
	ret->page_words = calloc(nr, sizeof(*ret->page_words));
	ret->words = calloc(ret->nr_words, sizeof(*ret->words));
	if (!ret->pages || !ret->page_words || !ret->words)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		ret->pages[i] = i % 2 * WORDS_VARIANT;
		ret->page_words[i] = UNWIND_PAGE_BUCKETS + rows;
	}
	for (i = 0; i < ret->nr_words; i++)
		ret->words[i] = UNWIND_INDEX_RULE |
				(i % WORDS_VARIANT == UNWIND_PAGE_BUCKETS - 1
					 ? UNWIND_PACKED_END
					 : UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP, 2, 0));
	return 0;
}

struct table_worker *table_worker_new(struct worker *worker, struct unwind_cache *cache,
				      size_t max_bytes, struct error *error)
{
	sim.tables.started_ns = sim.now_ns;
	return &sim.tables;
}

void table_worker_pace(struct table_worker *tables, const struct table_pace *pace)
{
}

bool table_worker_is_in_debt(struct table_worker *tables)
{
	return false;
}

void table_worker_free(struct table_worker *tables)
{
	while (tables && tables->nr)
		(void)close(tables->wishes[--tables->nr].fd);
}

bool table_worker_has_room(const struct table_worker *tables)
{
	return tables->nr < ARRAY_SIZE(tables->wishes);
}

int table_worker_add(struct table_worker *tables, const struct table_wish *wish)
{
	if (tables->nr == ARRAY_SIZE(tables->wishes)) {
		tables->nr_refused++;
		(void)close(wish->fd);
		return -ENOSPC;
	}
	tables->samples[tables->nr] = 0;
	tables->wishes[tables->nr++] = *wish;
	return 0;
}

void table_worker_prioritize(struct table_worker *tables, uint32_t number)
{
	size_t i;

	for (i = 0; i < tables->nr; i++)
		tables->samples[i] += tables->wishes[i].number == number;
}

/* A table from the cache takes 0.2 ms, else 3 ms and 0.5 ms per page; the budget is the real one. */
bool table_worker_take(struct table_worker *tables, struct made_table *ret)
{
	uint64_t allowed_ns = 2 * NS_PER_SEC + (sim.now_ns - tables->started_ns) / 20;
	struct host_file file;
	uint64_t cost_ns;
	size_t best = 0, i;

	if (!tables->nr || tables->free_ns > sim.now_ns || tables->used_ns > allowed_ns)
		return false;
	for (i = 1; i < tables->nr; i++)
		if (tables->samples[i] > tables->samples[best])
			best = i;
	file = (struct host_file){tables->wishes[best].file.minor,
				  (uint32_t)tables->wishes[best].file.inode};
	*ret = (struct made_table){.number = tables->wishes[best].number};
	ret->from_cache = tables->wishes[best].may_cache;
	cost_ns = ret->from_cache ? NS_PER_MS / 5 : (6 + file_pages(file)) * NS_PER_MS / 2;
	if (tables->free_ns < sim.previous_ns) /* parsers work between polls */
		tables->free_ns = sim.previous_ns;
	tables->free_ns += cost_ns;
	tables->used_ns += cost_ns;
	ret->err = make_table(file, &ret->table);
	(void)close(tables->wishes[best].fd);
	tables->nr--;
	tables->wishes[best] = tables->wishes[tables->nr];
	tables->samples[best] = tables->samples[tables->nr];
	return true;
}

size_t table_worker_nr_waiting(const struct table_worker *tables)
{
	return tables->nr;
}

/* --- the opener ------------------------------------------------------------------------------- */

static void look_at_synthetic_file(const struct file_look *look, struct file_looked *ret)
{
	const struct host_process *process = look->pid ? host_find(&sim.host, look->pid) : NULL;
	uint32_t container = look->id.minor == HOST_MINOR ? 0 : look->id.minor - CONTAINER_MINOR;
	bool is_there =
		container ? container_lives(&sim.host, container) && (process || !look->pid) : true;

	*ret = (struct file_looked){
		.err = is_there ? 0 : -ENOENT, .root_err = -ENOENT, .root_fd = -1};
	ret->found = (struct found_file){.handle = -1, .generation = 1, .is_elf = true};
	if (is_there)
		ret->found.handle = fcntl(sim.some_fd, F_DUPFD_CLOEXEC, 0);
	need(!is_there || ret->found.handle >= 0, "out of descriptors");
	ret->is_of_root = !container;
	if (!process)
		return;
	ret->root_err = 0;
	ret->root = (struct root_id){look->id.minor, 2, container, 0};
	ret->root_fd = fcntl(sim.some_fd, F_DUPFD_CLOEXEC, 0);
}

static int look_at_synthetic_maps(int32_t pid)
{
	const struct host_process *process = host_find(&sim.host, pid);
	struct maps_looked looked = {.began_ns = sim.now_ns, .ended_ns = sim.now_ns};
	uint32_t nr = process ? process_nr_files(process) : 0, i;
	char path[FILE_PATH_BYTES];
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		struct host_file file = process_file(&sim.host, process, i);
		struct maps_entry entry = {
			.start = process_start_of(process, i),
			.offset = TEXT_PAGE,
			.executable = true,
			.id = file_identity(file),
			.path = path,
		};

		entry.end = entry.start + (file_pages(file) - 1) * TEXT_PAGE;
		entry.id.generation = 0; /* /proc/PID/maps doesn't have it */
		file_path(file, path);
		err = process_table_add_mapping(sim.processes, pid, &entry, false);
	}
	for (i = 0; process && i < process->nr_jit && !err; i++) {
		struct maps_entry entry = {.start = process_start_of(process, JIT_PLACE) +
						    i * TEXT_PAGE,
					   .executable = true,
					   .path = ""};

		entry.end = entry.start + TEXT_PAGE;
		err = process_table_add_mapping(sim.processes, pid, &entry, false);
	}
	return err ? err : process_table_looked(sim.processes, pid, &looked);
}

/* True if there were wishes. */
static bool look_at_files(struct file_table *files)
{
	struct file_look look;
	bool any = false;

	while (file_table_next_look(files, &look)) {
		struct file_looked looked;

		look_at_synthetic_file(&look, &looked);
		file_table_looked(files, look.file, &looked);
		sim.nr_looks++;
		any = true;
	}
	return any;
}

static bool look_at_everything(void)
{
	uint32_t number;
	int32_t pid;
	bool any = false;

	while (process_table_next_look(sim.processes, &pid)) {
		need(look_at_synthetic_maps(pid) == 0, "out of memory");
		sim.nr_snapshots++;
		any = true;
	}
	any |= look_at_files(sim.files);
	while (runtime_table_next_look(sim.runtimes, &number, &pid))
		runtime_table_looked(sim.runtimes, number, &(struct process_looked){.err = -ESRCH});
	return any;
}

/* --- the parsers that find names (instead of processes of worker/worker.c) ---------------------- */

int __wrap_worker_call_twice(struct worker *worker, enum parser parser,
			     const struct worker_question *question, int stop_fd, void **ret_bytes,
			     size_t *ret_nr);
int __wrap_worker_want(struct worker_job *job, struct worker_want *want);
int __wrap_worker_wait_for_looks(struct worker *worker, uint64_t until_ns, int stop_fd);

#define FILE_MAX_SYMBOLS 129 /* four for each page of the largest file, and an empty one */

/*
 * Makes the file as far as names need it: without its code, but with its symbols. Every other file has a build id.
 * Fills MADE_ROOM bytes; returns the size.
 */
static size_t make_elf(struct host_file file, uint8_t *ret)
{
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint64_t id[2];
	} note = {{4, sizeof(note.id), NT_GNU_BUILD_ID}, "GNU", {file_image(file), file.inode}};
	const uint32_t nr = (file_pages(file) - 1) << (UNWIND_PAGE_SHIFT - FUNCTION_SHIFT);
	const uint64_t bytes = (uint64_t)nr << FUNCTION_SHIFT;
	Elf64_Sym symbols[FILE_MAX_SYMBOLS] = {{0}};
	char strings[4096] = "", space[32], function[32];
	size_t nr_strings = 1, nr_bytes, i;
	Elf64_Ehdr *header = (Elf64_Ehdr *)ret;

	(void)snprintf(space, sizeof(space), "file_%u_%u", file_image(file), file.inode);
	for (i = 0; i < nr; i++) {
		const uint64_t start = TEXT_PAGE + (i << FUNCTION_SHIFT);

		(void)snprintf(function, sizeof(function), "f%u",
			       (uint32_t)(start >> FUNCTION_SHIFT));
		symbols[i + 1] = (Elf64_Sym){.st_name = (uint32_t)nr_strings,
					     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					     .st_shndx = 1,
					     .st_value = start,
					     .st_size = 1 << FUNCTION_SHIFT};
		nr_strings +=
			1 + (size_t)snprintf(strings + nr_strings, sizeof(strings) - nr_strings,
					     "_ZN%zu%s%zu%sEv", strlen(space), space,
					     strlen(function), function);
	}
	need(nr_strings <= sizeof(strings), "too many symbols");
	const struct made_section sections[] = {
		{".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT_PAGE, NULL, bytes},
		{".symtab", SHT_SYMTAB, 0, 0, symbols, (nr + 1) * sizeof(*symbols), 3,
		 sizeof(*symbols)},
		{".strtab", SHT_STRTAB, 0, 0, strings, nr_strings},
		{".note.gnu.build-id", SHT_NOTE, 0, 0, &note, sizeof(note)},
	};
	/* The code's place in the file, which ends before it. */
	const Elf64_Phdr code = {PT_LOAD, PF_R | PF_X, TEXT_PAGE, TEXT_PAGE,
				 0,	  bytes,       bytes,	  TEXT_PAGE};

	nr_bytes = made_elf_build(ret, EM_X86_64, sections, 3 + file.inode % 2);
	header->e_phnum = 1;
	memcpy(ret + header->e_phoff, &code, sizeof(code));
	return nr_bytes;
}

/* Returns a descriptor of the file's ELF file. Those of the same hash replace each other. */
static int elf_file(struct host_file file)
{
	const size_t at = mix_numbers(file.minor, file.inode) % ARRAY_SIZE(sim.elf_files);
	struct host_file *is = &sim.elf_files[at].file;
	int *fd = &sim.elf_files[at].fd;
	uint8_t bytes[MADE_ROOM];
	size_t nr;

	if (*fd && is->minor == file.minor && is->inode == file.inode)
		return *fd;
	if (*fd)
		(void)close(*fd);
	nr = make_elf(file, bytes);
	*fd = memfd_create("code", MFD_CLOEXEC);
	need(*fd >= 0 && write(*fd, bytes, nr) == (ssize_t)nr, "cannot write an ELF file");
	*is = file;
	return *fd;
}

/* Runs the real task, which keeps the symbols of earlier files, as in a parser. */
int __wrap_worker_call_twice(struct worker *worker, enum parser parser,
			     const struct worker_question *question, int stop_fd, void **ret_bytes,
			     size_t *ret_nr)
{
	struct worker_job job = {.fd = -1, .answer_fd = sim.answer_fd};
	const struct host_file file = {question->file.minor, (uint32_t)question->file.inode};

	if (question->handle >= 0)
		job.fd = elf_file(file);
	job.question = bytes_of(question->bytes, question->nr);
	need(names_task(&job, &sim.parser_state) == 0, "cannot name");
	*ret_nr = job.answer_bytes;
	*ret_bytes = malloc(*ret_nr);
	need(*ret_bytes && fd_read_at(sim.answer_fd, 0, *ret_bytes, *ret_nr) == 0, "no answer");
	return 0;
}

/* No file has a debug file. */
int __wrap_worker_want(struct worker_job *job, struct worker_want *want)
{
	return -ENODATA;
}

int __wrap_worker_wait_for_looks(struct worker *worker, uint64_t until_ns, int stop_fd)
{
	(void)look_at_files(sim.names);
	return 0;
}

/* --- the kernel: process events --------------------------------------------------------------- */

static struct process_event *queue(enum process_event_kind kind, int32_t pid, size_t bytes)
{
	need(ARRAY_RESERVE(sim.events, sim.cap_events, sim.nr_events + 1) == 0, "out of memory");
	/* The rings of all CPUs together; a program mostly stays on one. */
	sim.event_bytes += bytes;
	if (sim.event_bytes > EVENTS_RING * (uint64_t)wishes.cpus) {
		sim.nr_lost_events++;
		return NULL;
	}
	sim.events[sim.nr_events].event =
		(struct process_event){.kind = kind, .time_ns = sim.now_ns, .pid = pid};
	return &sim.events[sim.nr_events++].event;
}

static void queue_jit(const struct host_process *process, uint32_t region)
{
	struct process_event *event = queue(PROCESS_MAP, process->pid, MAP_BYTES);

	if (!event)
		return;
	event->mapping.start = process_start_of(process, JIT_PLACE) + region * TEXT_PAGE;
	event->mapping.end = event->mapping.start + TEXT_PAGE;
	(void)strcpy(sim.events[sim.nr_events - 1].path, "//anon");
}

static void queue_start(const struct host_process *process)
{
	struct process_event *event = queue(PROCESS_FORK, process->pid, EVENT_BYTES);
	uint32_t i;

	if (event)
		event->parent = sim.host.processes[0].pid;
	sim.now_ns += 2;
	(void)queue(PROCESS_EXEC, process->pid, EVENT_BYTES);
	for (i = 0; i < process_nr_files(process); i++) {
		struct host_file file = process_file(&sim.host, process, i);

		sim.now_ns += 2;
		event = queue(PROCESS_MAP, process->pid, MAP_BYTES);
		if (!event)
			continue;
		event->mapping = (struct mapping){.start = process_start_of(process, i),
						  .offset = TEXT_PAGE};
		event->mapping.end = event->mapping.start + (file_pages(file) - 1) * TEXT_PAGE;
		event->file_id = file_identity(file);
		file_path(file, sim.events[sim.nr_events - 1].path);
	}
}

static void end_process(struct host_process *process)
{
	(void)queue(PROCESS_EXIT, process->pid, EVENT_BYTES);
	process_end(&sim.host, process);
}

static void start_program(void)
{
	struct host *host = &sim.host;
	struct host_process *process;

	if (host->end_short - host->first_short == host->cap_shorts)
		end_process(&host->shorts[host->first_short++ % host->cap_shorts]);
	process = &host->shorts[host->end_short++ % host->cap_shorts];
	process_begin(host, process, 0, sim.now_ns);
	process->exit_ns = sim.now_ns + SHORT_LIFE_NS;
	queue_start(process);
	sim.nr_programs++;
}

static void end_programs(void)
{
	struct host *host = &sim.host;

	while (host->first_short != host->end_short &&
	       host->shorts[host->first_short % host->cap_shorts].exit_ns <= sim.now_ns)
		end_process(&host->shorts[host->first_short++ % host->cap_shorts]);
}

/* Replaces the oldest container. */
static void start_container(bool is_announced)
{
	struct host *host = &sim.host;
	uint32_t serial = ++host->last_container, i;
	struct host_process *first = host->processes + host->nr_on_host +
				     serial % host->nr_containers * host->nr_in_container;

	for (i = 0; i < host->nr_in_container; i++) {
		if (first[i].pid)
			end_process(&first[i]);
		process_begin(host, &first[i], serial, sim.now_ns);
		if (is_announced)
			queue_start(&first[i]);
	}
	sim.nr_containers += is_announced;
}

/* mprotect() in a JIT compiler: mostly of memory that it had already. */
static void remap(void)
{
	struct host *host = &sim.host;
	struct host_process *process = &host->processes[1 + host_below(host, (uint32_t)wishes.jit)];
	uint32_t region = host_below(host, process->nr_jit + process->nr_jit / 16 + 1);

	if (region >= process->nr_jit)
		region = process->nr_jit < 4000 ? process->nr_jit++ : 0;
	queue_jit(process, region);
}

/* --- the kernel: samples ---------------------------------------------------------------------- */

/* Returns what bpf/walk.bpf.c would: WALK_COMPLETE, or WALK_RAW if something is missing. */
static enum walk_end walk_in_kernel(const struct wire_record *record,
				    const struct host_stack *stack)
{
	struct unwind_pool *pool = unwinder_pool(sim.unwinder);
	const struct unwind_process_set *set = unwind_pool_set_of(pool, record->pid);
	const struct unwind_process *process = NULL;
	const struct unwind_mapping *mappings;
	size_t way, i;

	for (way = 0; way < UNWIND_PROCESS_WAYS; way++)
		if (set->slots[way] >> 32 == record->pid && (uint32_t)set->slots[way])
			process = unwind_pool_at(pool, (uint32_t)set->slots[way]);
	if (!process || process->start_time_ns != record->start_time_ns ||
	    process->exec_id != record->exec_id)
		return WALK_RAW;
	mappings = (const struct unwind_mapping *)(process + 1);
	for (i = 0; i < stack->nr; i++) {
		size_t at =
			array_first(process->nr_mappings, k, mappings[k].end > stack->addresses[i]);
		struct unwind_table_entry *table;

		if (at == process->nr_mappings || mappings[at].start > stack->addresses[i])
			return process->is_final ? WALK_NO_MAPPING : WALK_RAW;
		if (mappings[at].kind == UNWIND_BY_FRAME_POINTER)
			continue;
		table = &unwind_pool_tables(pool)[mappings[at].table];
		if (table->state == UNWIND_TABLE_WANTED)
			return WALK_RAW;
		table->used_epoch = record->epoch;
	}
	return WALK_COMPLETE;
}

/* A raw stack: frames of two words, which suits both the rule of all tables and frame pointers. */
static void fill_raw(struct wire_record *record, const struct host_stack *stack)
{
	uint64_t *words = (uint64_t *)(record + 1), sp = 0x7fff00000000ULL;
	size_t i;

	memset(words, 0, (WIRE_RAW_STACK + RAW_WORDS) * sizeof(*words));
	words[UNWIND_REG_SP] = words[UNWIND_REG_FP] = sp;
	words[WIRE_RAW_PC] = stack->addresses[0];
	for (i = 1; i < stack->nr; i++) {
		words[WIRE_RAW_STACK + 2 * (i - 1)] = sp + 16 * i;
		words[WIRE_RAW_STACK + 2 * (i - 1) + 1] = stack->addresses[i] + 1;
	}
	record->user_end = WALK_RAW;
	record->nr_user = WIRE_RAW_STACK + RAW_WORDS;
}

static void fill_frames(struct wire_record *record, const struct host_stack *stack,
			enum walk_end end)
{
	uint64_t *words = (uint64_t *)(record + 1);
	size_t i;

	for (i = 0; i < stack->nr; i++)
		words[i] = stack->addresses[i] + (i > 0);
	record->user_end = (uint8_t)end;
	record->nr_user = (uint16_t)stack->nr;
}

static uint64_t id_of(const struct wire_record *record)
{
	return hash_stable_bytes(&record->start_time_ns,
				 wire_record_bytes(record) -
					 offsetof(struct wire_record, start_time_ns));
}

static void send(const struct wire_record *record)
{
	size_t bytes = wire_record_bytes(record);

	if (sim.ring_used + bytes + 8 > sim.ring_bytes) {
		sim.nr_ring_full++;
		return;
	}
	sim.ring_used += bytes + 8;
	sim.nr_recorded++;
	need(drain_add_record(sim.drain, record, bytes) == 0, "out of memory");
	if (record->user_end != WALK_RAW && sim.counts.nr < sim.max_counts)
		need(u64_map_set(&sim.counts, record->id, 0) == 0, "out of memory");
}

/* Raw records have half of the ring, and 256 MB a second in total (see collect/sampler.c). */
static bool may_send_raw(size_t bytes)
{
	uint64_t second = sim.now_ns >> 30;

	if (second != sim.raw_second)
		sim.raw_of_second = 0;
	sim.raw_second = second;
	sim.raw_of_second += bytes;
	return sim.ring_used < sim.ring_bytes / 2 && sim.raw_of_second < 256UL << 20;
}

static void check_later(struct wire_record *record, const struct host_stack *stack)
{
	if (sim.until_check-- || sim.nr_expected == MAX_CHECKED)
		return;
	sim.until_check = sim.check_every;
	record->tid = CHECKED_TID + sim.nr_expected;
	sim.expected[sim.nr_expected++] = (struct expected){.stack = *stack};
}

static void sample(const struct host_process *process)
{
	struct wire_record *record = record_buffer;
	uint32_t threads = (uint32_t)(wishes.threads / wishes.processes);
	struct host_stack stack;
	enum walk_end end;
	uint64_t *count;

	process_stack(&sim.host, process, host_below(&sim.host, STACKS_OF_EACH), &stack);
	*record = (struct wire_record){
		.time_ns = sim.now_ns,
		.epoch = sim.epoch,
		.weight = 1,
		.start_time_ns = process->start_ns,
		.exec_id = 1,
		.pid = (uint32_t)process->pid,
		.tid = (uint32_t)process->pid + host_below(&sim.host, threads ? threads : 1),
		.comm = "synthetic",
	};
	sim.nr_samples++;
	check_later(record, &stack);
	end = walk_in_kernel(record, &stack);
	if (end == WALK_RAW && may_send_raw((WIRE_RAW_STACK + RAW_WORDS) * sizeof(uint64_t))) {
		sim.nr_raw++;
		fill_raw(record, &stack);
		send(record);
		return;
	}
	if (end == WALK_RAW)
		sim.nr_too_many++;
	fill_frames(record, &stack, end == WALK_RAW ? WALK_TOO_MANY : end);
	record->id = id_of(record);
	count = u64_map_find(&sim.counts, record->id);
	if (!count) {
		send(record);
		return;
	}
	++*count;
	sim.nr_counted++;
}

static void sample_somebody(double short_share)
{
	struct host *host = &sim.host;
	uint32_t nr_shorts = (uint32_t)(host->end_short - host->first_short);
	uint32_t nr_busy = host->nr_processes / 10 + 1;

	if (nr_shorts && host_below(host, 1000) < short_share * 1000)
		sample(&host->shorts[(host->first_short + host_below(host, nr_shorts)) %
				     host->cap_shorts]);
	else if (host_below(host, 2)) /* a tenth of the processes is busy */
		sample(&host->processes[host_below(host, nr_busy) * 10 % host->nr_processes]);
	else
		sample(&host->processes[host_below(host, host->nr_processes)]);
}

/* --- the session ------------------------------------------------------------------------------ */

static void read_events(void)
{
	size_t i;

	for (i = 0; i < sim.nr_events; i++)
		need(drain_add_event(sim.drain, &sim.events[i].event, sim.events[i].path) == 0,
		     "out of memory");
	sim.nr_events = 0;
	if (sim.event_bytes > EVENTS_RING * (uint64_t)wishes.cpus) {
		sim.nr_losses++;
		process_table_distrust(sim.processes, sim.now_ns);
	}
	sim.event_bytes = 0;
}

/* True if there were answers to looks. */
static bool read_all(void)
{
	sim.ring_used = 0;
	read_events();
	need(drain_ensure_processes(sim.drain) == 0, "out of memory");
	return look_at_everything();
}

static void check_conservation(void)
{
	const struct drain_totals *totals = drain_totals(sim.drain);

	sim.nr_violations += drain_waiting(sim.drain) > 0;
	sim.nr_violations += totals->counted != sim.nr_counted;
	sim.nr_violations += totals->records + drain_nr_deferred(sim.drain) != sim.nr_recorded;
}

static struct part_source source(void)
{
	return (struct part_source){sim.drain, sim.files, sim.runtimes, sim.processes};
}

static void end_epoch(void)
{
	const struct u64_map_slot *slot;
	size_t position = 0;
	uint32_t ended = sim.epoch++;

	if (unwind_pool_limbo_bytes(unwinder_pool(sim.unwinder)) > sim.most_limbo)
		sim.most_limbo = unwind_pool_limbo_bytes(unwinder_pool(sim.unwinder));
	unwinder_epoch_ends(sim.unwinder);
	unwinder_epoch_ended(sim.unwinder, ended);
	(void)read_all();
	while ((slot = u64_map_next(&sim.counts, &position)))
		need(drain_add_count(sim.drain, ended, &(struct wire_count_key){.id = slot->key},
				     &(struct wire_count){.count = slot->value}) == 0,
		     "out of memory");
	u64_map_clear(&sim.counts);
	need(drain_close_epoch(sim.drain, ended, sim.now_ns) == 0, "cannot close the epoch");
	drain_forget_exited(sim.drain, sim.now_ns);
	if (file_table_is_crowded(sim.files)) {
		const struct part_source from = source();

		part_forget_unused(&from, sim.profile);
	}
	sim.epoch_began_ns = sim.now_ns;
	check_conservation();
}

static void poll_once(void)
{
	uint64_t until_ns = sim.polled_ns, began_ns = real_ns();
	bool has_news;

	sim.previous_ns = until_ns;
	sim.polled_ns = sim.now_ns;
	has_news = read_all();
	need(drain_replay(sim.drain, until_ns) == 0, "cannot replay");
	has_news |= unwinder_poll(sim.unwinder);
	if (has_news)
		need(drain_retry(sim.drain, false) == 0, "cannot retry");
	if (real_ns() - began_ns > sim.slowest_poll_ns)
		sim.slowest_poll_ns = real_ns() - began_ns;
}

/* --- checks ----------------------------------------------------------------------------------- */

/* True if a frame is what the truth says. files: the table that the profile's modules refer to. */
static bool is_right(const struct profile *profile, const struct file_table *files,
		     const struct frame *frame, const struct host_stack *stack, size_t i)
{
	const struct module *module = profile_module(profile, frame->module);

	if (!stack->files[i].inode)
		return module->kind == MODULE_RUN_TIME && frame->address == stack->addresses[i];
	if (module->kind != MODULE_FILE || frame->address != stack->offsets[i])
		return false;
	return file_table_get(files, module->file)->id.minor == stack->files[i].minor &&
	       file_table_get(files, module->file)->id.inode == stack->files[i].inode;
}

/* Returns the truth about a sample; NULL if it is not known. */
static struct expected *expected_of(const struct sample *sample)
{
	const uint32_t tid = (uint32_t)sample->labels.tid;

	return tid >= CHECKED_TID && !sample->labels.gave_up ? &sim.expected[tid - CHECKED_TID]
							     : NULL;
}

static void check_sample(const struct sample *sample, struct expected *expected)
{
	const uint32_t *frames = profile_sample_frames(sim.profile, sample);
	bool is_unknown = false, is_jit = false, is_wrong = false;
	size_t i;

	expected->is_seen = true;
	for (i = 0; i < sample->nr_frames && i < expected->stack.nr; i++) {
		const struct frame *frame = profile_frame(sim.profile, frames[i]);
		enum module_kind kind = profile_module(sim.profile, frame->module)->kind;

		if (is_right(sim.profile, sim.files, frame, &expected->stack, i))
			continue;
		is_unknown |= kind == MODULE_UNKNOWN;
		is_jit |= kind == MODULE_RUN_TIME;
		is_wrong |= kind != MODULE_UNKNOWN && kind != MODULE_RUN_TIME;
	}
	is_wrong |= sample->nr_frames > expected->stack.nr;
	sim.nr_wrong += is_wrong;
	sim.nr_as_jit += is_jit && !is_wrong;
	sim.nr_unknown += is_unknown && !is_jit && !is_wrong;
	sim.nr_cut += !is_wrong && !is_jit && !is_unknown && sample->nr_frames < expected->stack.nr;
	sim.nr_right +=
		!is_wrong && !is_jit && !is_unknown && sample->nr_frames == expected->stack.nr;
}

static void check_profile(void)
{
	uint32_t i;

	for (i = 0; i < profile_nr_samples(sim.profile); i++) {
		const struct sample *sample = profile_sample(sim.profile, i);

		sim.ends[sample->labels.user_end] += sample->count;
		if (expected_of(sample))
			check_sample(sample, expected_of(sample));
	}
	sim.nr_other += profile_other_count(sim.profile);
}

/* --- intervals --------------------------------------------------------------------------------- */

static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();

	need(profile, "out of memory");
	profile_set_limit(profile, (size_t)(wishes.profile_mib * (1 << 20)));
	return profile;
}

/* Compares the names of a checked stack, as far as it goes. */
static void check_names(const struct sample *sample, const struct expected *expected)
{
	const uint32_t *frames = profile_sample_frames(sim.named, sample);
	bool is_unnamed = false, is_misnamed = false;
	char name[FUNCTION_NAME_BYTES];
	size_t i;

	for (i = 0; i < sample->nr_frames && i < expected->stack.nr; i++) {
		const struct frame *frame = profile_frame(sim.named, frames[i]);

		if (!expected->stack.files[i].inode ||
		    !is_right(sim.named, sim.names, frame, &expected->stack, i))
			continue; /* it has no name, or was counted by check_sample() */
		function_name(expected->stack.files[i], expected->stack.offsets[i], name);
		is_unnamed |= !profile_is_named(sim.named, frame);
		is_misnamed |= profile_is_named(sim.named, frame) &&
			       strcmp(profile_string(sim.named, frame->function), name) != 0;
	}
	sim.nr_misnamed += is_misnamed;
	sim.nr_unnamed += is_unnamed && !is_misnamed;
	sim.nr_named += !is_unnamed && !is_misnamed;
}

/* As session_names_apply() of run/names.c. */
static void name_frames(void)
{
	const uint64_t refill_ns = (uint64_t)(wishes.interval_s * 1e9) / 10;
	uint32_t i;

	read_budget_refill(&sim.budget, refill_ns);
	symbolizer_give_time(sim.symbolizer, refill_ns);
	need(symbolizer_name(sim.symbolizer, sim.named) == 0, "out of memory");
	for (i = 0; i < profile_nr_samples(sim.named); i++) {
		const struct sample *sample = profile_sample(sim.named, i);

		if (expected_of(sample))
			check_names(sample, expected_of(sample));
	}
}

/* As session_take_part(), and session_names_take() and _release() of run/names.c. */
static void take_part(void)
{
	const struct part_source from = source();
	const struct profile *before = sim.named;
	struct profile *next = make_profile();
	struct session_part part;

	check_profile();
	need(part_take(&from, sim.profile, next, &part) == 0, "out of memory");
	sim.profile = next;
	part_forget_unused(&from, next);
	need(file_table_move(sim.names, part.files) == 0 &&
		     runtime_table_move(sim.runtime_names, part.runtimes) == 0 &&
		     profile_take_part(&sim.named, part.profile) == 0,
	     "out of memory");
	if (sim.named != before)
		symbolizer_change_profile(sim.symbolizer);
	name_frames();
	if (wishes.store > 0) {
		part.began_ns = sim.part_began_ns;
		part.ended_ns = sim.now_ns;
		part.period_ns = NS_PER_SEC / SAMPLE_HZ;
		need(keeper_add(&sim.keeper, sim.named, &part, (struct interval_span){0}) == 0,
		     "cannot keep");
	}
	file_table_sweep(sim.names);
	runtime_table_close_gone(sim.runtime_names);
	runtime_table_sweep(sim.runtime_names);
	session_part_clear(&part);
	sim.part_began_ns = sim.now_ns;
}

static void open_store(void)
{
	struct keeper_settings *settings = calloc(1, sizeof(*settings));
	char path[sizeof(sim.store_folder) + 8];
	struct error error;

	need(settings, "out of memory");
	settings->retain_ns = (uint64_t)(wishes.store * 3600e9);
	(void)snprintf(sim.store_folder, sizeof(sim.store_folder), "/tmp/stook-simulate.XXXXXX");
	need(mkdtemp(sim.store_folder), "cannot make a folder");
	(void)snprintf(path, sizeof(path), "%s/store", sim.store_folder);
	need(keeper_open(&sim.keeper, path, settings, 0, &error) == 0, "cannot open the store");
}

static void close_store(void)
{
	static const char *const files[] = {"store", "store-wal", "store-shm", "store-lock"};
	char path[sizeof(sim.store_folder) + 16];
	size_t i;

	keeper_close(&sim.keeper);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", sim.store_folder, files[i]);
		(void)unlink(path);
	}
	(void)rmdir(sim.store_folder);
}

/* --- the table --------------------------------------------------------------------------------- */

static size_t nr_descriptors(void)
{
	size_t nr = 0;
	int fd;

	for (fd = 0; fd < 65536; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void print_head(void)
{
	printf("%7s %8s %8s %7s %8s %8s %7s %7s %8s %8s %8s %8s %8s %8s %9s %8s %8s\n", "hour",
	       "heap MB", "RSS MB", "descr.", "process", "files", "tables", "slots", "pool MB",
	       "frames", "samples", "raw", "too many", "evicted", "lost ev.", "real s", "store MB");
}

static void print_row(uint64_t began_ns)
{
	struct unwind_pool *pool = unwinder_pool(sim.unwinder);
	struct mallinfo2 heap = mallinfo2();
	struct unwinder_cost cost;
	size_t rss = 0, slots = 0, tables = 0, i;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fscanf(file, "%*u %zu", &rss) != 1)
		rss = 0;
	if (file)
		(void)fclose(file);
	unwinder_read_cost(sim.unwinder, &cost);
	for (i = 0; unwind_pool_set(pool, (uint32_t)(i / UNWIND_PROCESS_WAYS)); i++)
		slots += unwind_pool_set(pool, (uint32_t)(i / UNWIND_PROCESS_WAYS))
				 ->slots[i % UNWIND_PROCESS_WAYS] != 0;
	for (i = 0; i < UNWIND_MAX_TABLES; i++)
		tables += unwind_pool_tables(pool)[i].state == UNWIND_TABLE_READY;
	printf("%7.2f %8.1f %8.1f %7zu %8zu %8zu %7zu %7zu %8.1f %8zu %8zu %8" PRIu64 " %8" PRIu64
	       " %8zu %9" PRIu64 " %8.1f %8.2f\n",
	       (double)(sim.now_ns - START_NS) / 3600e9,
	       (double)(heap.uordblks + heap.hblkhd - sim.own_bytes) / 1e6,
	       (double)rss * (double)sysconf(_SC_PAGESIZE) / 1e6, nr_descriptors(),
	       process_table_nr(sim.processes), file_table_nr(sim.files), tables, slots,
	       (double)cost.bytes / 1e6, profile_nr_frames(sim.profile),
	       profile_nr_samples(sim.profile), sim.nr_raw, sim.nr_too_many, cost.nr_evicted,
	       sim.nr_lost_events, (double)(real_ns() - began_ns) / 1e9,
	       (double)sim.keeper.bytes / 1e6);
	(void)fflush(stdout);
}

static void print_sums(void)
{
	static const char *const end_names[] = {
#define X(id, name, words) [WALK_##id] = name,
		WALK_ENDS(X)
#undef X
	};
	struct unwinder_cost cost;
	uint32_t i;

	unwinder_read_cost(sim.unwinder, &cost);
	for (i = 0; i < sim.nr_expected; i++)
		sim.nr_missing += !sim.expected[i].is_seen;
	printf("\nchecked %u samples: right %" PRIu64 ", wrong %" PRIu64
	       ", file as JIT code %" PRIu64 ", unknown %" PRIu64 ", cut %" PRIu64
	       ", not there %" PRIu64 "\n",
	       sim.nr_expected, sim.nr_right, sim.nr_wrong, sim.nr_as_jit, sim.nr_unknown,
	       sim.nr_cut, sim.nr_missing);
	printf("their functions: named %" PRIu64 ", misnamed %" PRIu64 ", unnamed %" PRIu64 "\n",
	       sim.nr_named, sim.nr_misnamed, sim.nr_unnamed);
	printf("samples %" PRIu64 ": recorded %" PRIu64 " (raw %" PRIu64
	       ", too many for raw %" PRIu64 "), counted %" PRIu64 ", ring full %" PRIu64
	       ", in [other stacks] %" PRIu64 ", violations %" PRIu64 "\n",
	       sim.nr_samples, sim.nr_recorded, sim.nr_raw, sim.nr_too_many, sim.nr_counted,
	       sim.nr_ring_full, sim.nr_other, sim.nr_violations);
	for (i = 0; i < NR_WALK_ENDS; i++)
		if (sim.ends[i])
			printf("%s %s %" PRIu64, i > 1 ? "," : "walks:", end_names[i], sim.ends[i]);
	printf("\nprograms %" PRIu64 ", containers %" PRIu64 ", losses of events %" PRIu64
	       " (%" PRIu64 " events), snapshots %" PRIu64 ", looks at files %" PRIu64 "\n",
	       sim.nr_programs, sim.nr_containers, sim.nr_losses, sim.nr_lost_events,
	       sim.nr_snapshots, sim.nr_looks);
	printf("processes forgotten %" PRIu64 "; files %" PRIu64 ", refused %" PRIu64
	       ", gone %" PRIu64 ", past the roots %" PRIu64 ", without a table number %zu\n",
	       process_table_nr_forgotten(sim.processes), file_table_nr_seen(sim.files),
	       file_table_nr_refused(sim.files), file_table_nr_sampled(sim.files, FILE_GONE),
	       file_table_nr_sampled(sim.files, FILE_NOT_OPENED), cost.nr_files_left_out);
	printf("processes displaced %" PRIu64 ", not published %" PRIu64 "\n", cost.nr_displaced,
	       cost.nr_unpublished);
	printf("tables loaded %zu, evicted %zu, wishes refused %" PRIu64
	       "; pool %.1f of %.1f MB, most limbo %.1f MB; "
	       "JIT processes %zu\n",
	       cost.nr_tables, cost.nr_evicted, sim.tables.nr_refused, (double)cost.bytes / 1e6,
	       (double)cost.chunk_bytes / 1e6, (double)sim.most_limbo / 1e6,
	       runtime_table_nr(sim.runtimes));
	printf("epochs stored %" PRIuFAST64 ", dropped %" PRIuFAST64 "\n", sim.keeper.nr_stored,
	       sim.keeper.nr_dropped);
	printf("slowest poll %.1f ms\n", (double)sim.slowest_poll_ns / 1e6);
}

/* --- the run ----------------------------------------------------------------------------------- */

static void make_host(void)
{
	struct host *host = &sim.host;
	uint32_t i;

	host->random = (uint64_t)wishes.seed;
	host->nr_containers = (uint32_t)wishes.containers ? (uint32_t)wishes.containers : 1;
	host->nr_host_files = (uint32_t)wishes.files / 2;
	host->nr_processes = (uint32_t)wishes.processes;
	host->nr_in_container = host->nr_processes / 5 / host->nr_containers;
	host->nr_on_host = host->nr_processes - host->nr_containers * host->nr_in_container;
	host->cap_shorts = 1 << 16;
	host->processes = calloc(host->nr_processes, sizeof(*host->processes));
	host->shorts = calloc(host->cap_shorts, sizeof(*host->shorts));
	need(host->processes && host->shorts, "out of memory");
	for (i = 0; i < host->nr_on_host; i++) {
		process_begin(host, &host->processes[i], 0, START_NS - 1);
		if (i && i <= (uint32_t)wishes.jit)
			host->processes[i].nr_jit = 200;
	}
	for (i = 0; i < host->nr_containers; i++)
		start_container(false);
}

/* With the limits of run/names.c. */
static void make_symbolizer(void)
{
	const struct symbolizer_options options = {
		.files = sim.names,
		.runtimes = sim.runtime_names,
		.max_bytes = 256UL << 20,
		.budget = &sim.budget,
	};

	read_budget_init(&sim.budget, 60 * NS_PER_SEC, 4ULL << 30, -1);
	sim.answer_fd = memfd_create("answer", MFD_CLOEXEC);
	sim.symbolizer = symbolizer_new(&options);
	need(sim.symbolizer && sim.answer_fd >= 0, "cannot name");
}

static void make_session(void)
{
	const struct sampled_event sampled = {
		.event.attr.type = PERF_TYPE_SOFTWARE,
		.rate.frequency = SAMPLE_HZ,
	};
	const struct sampling_needs needs = {.events = &sampled,
					     .nr_events = 1,
					     .nr_cpus = (size_t)wishes.cpus,
					     .has_raw = true};
	struct sampling_sizes sizes = {0};
	struct unwinder_options unwinder = {.max_bytes = (size_t)(wishes.table_mib * (1 << 20)),
					    .max_frames = 127};
	struct drain_options options = {.labels = LABEL_PID | LABEL_TID, .cgroup_root_fd = -1};
	const struct mallinfo2 heap = mallinfo2();
	uint64_t limit = fd_raise_limit() / 2;

	sim.own_bytes = heap.uordblks + heap.hblkhd;
	(void)sampling_choose_sizes(&needs, &sizes);
	sim.ring_bytes = sizes.ring_bytes;
	sim.max_counts = sizes.max_counts;
	sim.some_fd = open("/dev/null", O_PATH | O_CLOEXEC);
	sim.files = file_table_new(limit < 8192 ? limit : 8192);
	sim.names = file_table_new(4096);
	sim.runtimes = runtime_table_new();
	sim.runtime_names = runtime_table_new();
	need(sim.files && sim.names && sim.runtimes && sim.runtime_names, "out of memory");
	sim.processes = process_table_new(sim.files);
	unwinder.files = sim.files;
	sim.unwinder = unwinder_new(&unwinder, NULL);
	sim.profile = make_profile();
	sim.named = make_profile();
	make_symbolizer();
	options.files = sim.files;
	options.runtimes = sim.runtimes;
	options.processes = sim.processes;
	options.profile = sim.profile;
	options.unwinder = sim.unwinder;
	sim.drain = drain_new(&options);
	need(sim.processes && sim.unwinder && sim.drain, "out of memory");
	sim.polled_ns = sim.epoch_began_ns = sim.part_began_ns = sim.now_ns;
}

/* Random, with this mean. */
static uint32_t some(double mean)
{
	uint32_t whole = (uint32_t)mean;

	return whole + (host_below(&sim.host, 1 << 20) < (mean - whole) * (1 << 20));
}

/* Everything that happens until the next poll, in random order. */
static void happen(uint64_t step_ns, bool is_storm, double nr_samples)
{
	const uint64_t end_ns = sim.now_ns + step_ns;
	const double seconds = (double)step_ns / 1e9;
	uint32_t left[] = {
		some(nr_samples),
		some((is_storm ? wishes.programs : wishes.programs_calm) * seconds),
		some(wishes.containers * seconds / 3600),
		some((is_storm ? wishes.remaps * wishes.jit : wishes.jit / 100) * seconds),
	};
	uint32_t all = left[0] + left[1] + left[2] + left[3], i;

	for (; all; all--) {
		uint32_t pick = host_below(&sim.host, all);
		uint64_t each_ns = end_ns > sim.now_ns ? (end_ns - sim.now_ns) / (all + 1) : 0;

		for (i = 0; pick >= left[i]; i++)
			pick -= left[i];
		left[i]--;
		sim.now_ns += each_ns;
		end_programs();
		if (i == 0)
			sample_somebody(is_storm ? 0.3 : 0.05);
		else if (i == 1)
			start_program();
		else if (i == 2)
			start_container(true);
		else
			remap();
	}
	if (sim.now_ns < end_ns)
		sim.now_ns = end_ns;
}

static void run(void)
{
	const uint64_t end_ns = START_NS + (uint64_t)(wishes.hours * 3600e9), began_ns = real_ns();
	const uint64_t storm_ns = START_NS + (end_ns - START_NS) / 4;
	const uint64_t storm_end_ns = storm_ns + (uint64_t)(wishes.storm_minutes * 60e9);
	const uint64_t first_ns = START_NS + (uint64_t)(wishes.first_s * 1e9);
	uint64_t next_row_ns = START_NS, stalled = 0;

	print_head();
	while (sim.now_ns < end_ns) {
		bool is_storm = sim.now_ns >= storm_ns && sim.now_ns < storm_end_ns;
		bool is_first = sim.now_ns < first_ns;
		uint64_t step_ns = is_storm ? (uint64_t)(wishes.storm_step_ms * 1e6)
					    : (uint64_t)(wishes.calm_step_s * 1e9);
		double rate = is_storm ? wishes.samples_storm : wishes.samples_calm;

		if (is_first) {
			step_ns = NS_PER_MS;
			rate = wishes.cpus * SAMPLE_HZ;
		} else if (is_storm && stalled < (uint64_t)wishes.stalls) {
			stalled++;
			step_ns = NS_PER_SEC;
		}
		happen(step_ns, is_storm, rate * (double)step_ns / 1e9);
		poll_once();
		if (sim.now_ns - sim.epoch_began_ns >= EPOCH_NS ||
		    unwinder_wants_epoch_end(sim.unwinder))
			end_epoch();
		if (wishes.interval_s > 0 &&
		    sim.now_ns - sim.part_began_ns >= (uint64_t)(wishes.interval_s * 1e9)) {
			end_epoch();
			take_part();
		}
		if (sim.now_ns >= next_row_ns) {
			print_row(began_ns);
			next_row_ns += (uint64_t)((double)(end_ns - START_NS) / wishes.rows);
		}
	}
	drain_expect_end(sim.drain);
	end_epoch();
	need(drain_retry(sim.drain, true) == 0, "cannot retry");
	check_conservation();
	check_profile();
	print_row(began_ns);
	print_sums();
}

static void take_wish(const char *text)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		size_t nr = strlen(names[i].name);

		if (strncmp(text, names[i].name, nr) || text[nr] != '=')
			continue;
		*names[i].value = strtod(text + nr + 1, NULL);
		return;
	}
	fprintf(stderr, "simulate: no such parameter: %s\n", text);
	exit(2);
}

int main(int argc, char **argv)
{
	double all;
	int i;

	for (i = 1; i < argc; i++)
		take_wish(argv[i]);
	all = wishes.samples_calm * wishes.hours * 3600 +
	      wishes.samples_storm * wishes.storm_minutes * 60 +
	      wishes.cpus * SAMPLE_HZ * wishes.first_s;
	sim.check_every = (uint64_t)(all / wishes.checked);
	sim.expected = calloc(MAX_CHECKED, sizeof(*sim.expected));
	record_buffer =
		calloc(1, sizeof(struct wire_record) + WIRE_MAX_RAW_WORDS * sizeof(uint64_t));
	need(sim.expected && record_buffer, "out of memory");
	sim.now_ns = START_NS;
	make_host();
	make_session();
	if (wishes.store > 0)
		open_store();
	run();
	if (wishes.store > 0)
		close_store();
	drain_free(sim.drain);
	unwinder_free(sim.unwinder);
	symbolizer_free(sim.symbolizer);
	names_state_free(sim.parser_state);
	profile_free(sim.profile);
	profile_free(sim.named);
	process_table_free(sim.processes);
	file_table_free(sim.files);
	file_table_free(sim.names);
	runtime_table_free(sim.runtimes);
	runtime_table_free(sim.runtime_names);
	return sim.nr_wrong || sim.nr_misnamed || sim.nr_violations;
}
