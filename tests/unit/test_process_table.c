/*
 * proc/process_table on its own: live processes, exited ones, and too many. test_drain.c tests the
 * interleaving of events and records.
 */
#include "unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/isolated.h"
#include "proc/process_table.h"
#include "unit/look_here.h"

#define PID_A 5000001 /* above the greatest pid_max */
#define PID_B 5000002
#define PAGE  0x1000

static struct process_event event_of(enum process_event_kind kind, uint64_t time_ns, int32_t pid)
{
	return (struct process_event){.kind = kind, .time_ns = time_ns, .pid = pid};
}

static int arrive(struct process_table *table, struct process_event *event)
{
	return process_table_arrive(table, event, "//anon");
}

/* The event arrives and is replayed at once. */
static void deliver(struct process_table *table, struct process_event event)
{
	CHECK_EQ(arrive(table, &event), 0);
	CHECK_EQ(process_table_replay(table, &event), 0);
}

static void deliver_exec(struct process_table *table, uint64_t time_ns, int32_t pid)
{
	deliver(table, event_of(PROCESS_EXEC, time_ns, pid));
}

static void check_name(const struct process_table *table, int32_t pid, const char *wanted)
{
	struct process_name name;

	(void)process_table_name(table, pid, &name);
	CHECK_STR(name.name, wanted);
}

static void deliver_exit(struct process_table *table, uint64_t time_ns, int32_t pid)
{
	deliver(table, event_of(PROCESS_EXIT, time_ns, pid));
}

static void deliver_map(struct process_table *table, uint64_t time_ns, int32_t pid, uint64_t start)
{
	struct process_event event = event_of(PROCESS_MAP, time_ns, pid);

	event.mapping = (struct mapping){.start = start, .end = start + PAGE};
	deliver(table, event);
}

static bool has(struct process_table *table, int32_t pid, uint64_t time_ns, uint64_t address)
{
	return mappings_find(process_table_mappings(table, pid, NULL, time_ns), address) != NULL;
}

struct tables {
	struct file_table *files;
	struct process_table *table;
};

static struct process_table *open_tables(struct tables *tables)
{
	tables->files = file_table_new(10);
	tables->table = process_table_new(tables->files);
	CHECK(tables->table != NULL);
	return tables->table;
}

static void close_tables(struct tables *tables)
{
	process_table_free(tables->table);
	file_table_free(tables->files);
}

/* Reads the maps of a process if it is unknown, and looks at its files. */
static int ensure_here(struct tables *tables, int32_t pid)
{
	int err = process_table_ensure(tables->table, pid, NULL, clock_now_ns());

	return err < 0 ? err : look_here(tables->files, tables->table);
}

/* --- exited processes ------------------------------------------------------------------------ */

/* A daemon gives itself a name, its child another one. */
TEST(process_names_follow_exec_fork_and_change)
{
	struct file_table *files = file_table_new(1);
	struct process_table *table = process_table_new(files);
	struct process_event event = event_of(PROCESS_EXEC, 10, PID_A);

	strcpy(event.name, "daemon");
	deliver(table, event);
	event = event_of(PROCESS_FORK, 20, PID_B);
	event.parent = PID_A;
	deliver(table, event);
	check_name(table, PID_B, "daemon");
	event = event_of(PROCESS_RENAME, 30, PID_B);
	strcpy(event.name, "worker");
	deliver(table, event);
	check_name(table, PID_A, "daemon");
	check_name(table, PID_B, "worker");
	process_table_free(table);
	file_table_free(files);
}

TEST(process_table_forgets_the_dead_after_a_while)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);

	deliver_exec(table, 10, PID_A);
	deliver_exec(table, 10, PID_B);
	deliver_map(table, 11, PID_A, PAGE);
	deliver_exit(table, 20, PID_A);
	CHECK(has(table, PID_A, 20, PAGE)); /* for a late record */
	process_table_purge(table, NS_PER_SEC, NULL, NULL);
	CHECK(has(table, PID_A, NS_PER_SEC, PAGE)); /* for a surviving thread */
	process_table_purge(table, NS_PER_SEC * 5 / 2, NULL, NULL);
	CHECK_EQ(process_table_nr(table), 2);
	process_table_purge(table, NS_PER_SEC * 4, NULL, NULL);
	CHECK_EQ(process_table_nr(table), 1);
	CHECK(process_table_mappings(table, PID_A, NULL, 0) == NULL);
	CHECK(process_table_mappings(table, PID_B, NULL, 0) != NULL);
	process_table_free(NULL);
	close_tables(&tables);
}

static void count_gone(void *context, int32_t pid)
{
	CHECK((pid - PID_A) % 3);
	++*(size_t *)context;
}

TEST(process_table_forgets_each_of_many)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	size_t nr_gone = 0;
	int32_t i;

	for (i = 0; i < 5000; i++) {
		deliver_exec(table, 10, PID_A + i);
		if (i % 3)
			deliver_exit(table, 20, PID_A + i);
	}
	process_table_purge(table, 100 * NS_PER_SEC, count_gone, &nr_gone);
	CHECK_EQ(nr_gone, 3333);
	CHECK_EQ(process_table_nr(table), 1667);
	for (i = 0; i < 5000; i++)
		CHECK_EQ(process_table_mappings(table, PID_A + i, NULL, 0) != NULL, i % 3 == 0);
	close_tables(&tables);
}

static void *sleep_on(void *unused)
{
	for (;;)
		(void)pause();
	return unused;
}

/* Starts a process whose leader exits at once while another thread goes on. */
static pid_t start_without_leader(void)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, sleep_on, NULL) != 0)
		_exit(1);
	pthread_exit(NULL);
}

static bool leader_has_ended(pid_t pid)
{
	char path[64], text[512] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	CHECK(file != NULL);
	CHECK(fgets(text, sizeof(text), file) != NULL);
	(void)fclose(file);
	return strstr(text, ") Z ") != NULL;
}

/*
 * The other threads may run one loop for minutes: a record at the beginning of each epoch, then
 * only counts. The maps of such a process cannot be read any more, so the table must keep them.
 */
TEST(process_table_keeps_a_process_without_its_leader)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	pid_t pid = start_without_leader();
	int tries;
	bool kept;

	CHECK(pid > 0);
	for (tries = 0; tries < 1000 && !leader_has_ended(pid); tries++)
		(void)usleep(5000);
	CHECK(leader_has_ended(pid));
	deliver_exec(table, 10, pid);
	deliver_map(table, 11, pid, PAGE);
	deliver_exit(table, 20, pid);
	process_table_purge(table, 10 * NS_PER_SEC, NULL, NULL);
	CHECK_EQ(ensure_here(&tables, pid), 0);
	kept = has(table, pid, 10 * NS_PER_SEC, PAGE);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK(kept);
	process_table_purge(table, 20 * NS_PER_SEC, NULL, NULL); /* now the process is gone */
	CHECK_EQ(process_table_nr(table), 0);
	close_tables(&tables);
}

/* --- processes that were running before ------------------------------------------------------ */

TEST(process_table_reads_maps_once)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	uint64_t here = (uint64_t)(uintptr_t)&process_table_new;
	uint64_t deadline_ns = clock_now_ns() + 60 * NS_PER_SEC;
	const struct mappings *mappings;
	void *memory;

	CHECK_EQ(ensure_here(&tables, getpid()), 0);
	mappings = process_table_mappings(table, getpid(), NULL, clock_now_ns());
	CHECK_EQ(mappings_find(mappings, here)->kind, MAPPING_FILE);
	CHECK(file_table_nr(tables.files) > 0);
	memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	CHECK_EQ(ensure_here(&tables, getpid()), 0);
	CHECK(!has(table, getpid(), clock_now_ns(), (uintptr_t)memory)); /* only an event adds it */
	process_table_distrust(table, clock_now_ns());			 /* events may be lost */
	/* Maps that were slow to read, as under valgrind, are not read again for a while. */
	while (!has(table, getpid(), clock_now_ns(), (uintptr_t)memory)) {
		CHECK_EQ(ensure_here(&tables, getpid()), 0);
		CHECK(clock_now_ns() < deadline_ns);
	}
	close_tables(&tables);
}

TEST(process_table_meets_those_that_are_not_there)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);

	CHECK_EQ(ensure_here(&tables, PID_A), 0);
	CHECK_EQ(ensure_here(&tables, 0), 0); /* outside our pid namespace */
	CHECK_EQ(ensure_here(&tables, -1), 0);
	CHECK(!has(table, PID_A, 1, PAGE));
	CHECK(!has(table, 0, 1, PAGE));
	CHECK(process_table_mappings(table, PID_B, NULL, 1) == NULL);
	CHECK_EQ(process_table_nr(table), 1);
	close_tables(&tables);
}

struct mapper {
	pthread_t thread;
	volatile bool stop;
	uint64_t before_ns, after_ns; /* around the last mmap() */
	void *memory;
};

/*
 * A mapping made while the maps are read can be too late to appear in them. Only its event reports
 * it, and the event must not be dropped as older than the maps. Many mappings make the reading
 * slow.
 */
static void *map_once(void *context)
{
	struct mapper *mapper = context;

	(void)usleep(2000);
	mapper->before_ns = clock_now_ns();
	/* At a low address, which the reader has already passed. */
	mapper->memory = mmap((void *)0x10000000, PAGE, PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	mapper->after_ns = clock_now_ns();
	return NULL;
}

TEST(process_table_mapping_while_maps_are_read)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	size_t nr = 16000, i;
	char *many = mmap(NULL, nr * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mapper mapper = {.memory = NULL};
	struct process_event event;
	uint64_t begin_ns, end_ns;

	CHECK(many != MAP_FAILED);
	for (i = 0; i < nr; i += 2) /* every other page is a separate mapping */
		if (mprotect(many + i * PAGE, PAGE, PROT_READ | PROT_EXEC) < 0)
			SKIP("this host allows too few mappings");
	CHECK_EQ(pthread_create(&mapper.thread, NULL, map_once, &mapper), 0);
	begin_ns = clock_now_ns();
	CHECK_EQ(ensure_here(&tables, getpid()), 0);
	end_ns = clock_now_ns();
	CHECK_EQ(pthread_join(mapper.thread, NULL), 0);
	CHECK(mapper.memory == (void *)0x10000000);
	if (mapper.before_ns < begin_ns || mapper.after_ns > end_ns)
		SKIP("the mapping was not made while the maps were read");
	event = event_of(PROCESS_MAP, (mapper.before_ns + mapper.after_ns) / 2, getpid());
	event.mapping = (struct mapping){.start = 0x10000000, .end = 0x10000000 + PAGE};
	deliver(table, event);
	CHECK(has(table, getpid(), end_ns, 0x10000000));
	close_tables(&tables);
}

/* The maps are those of an earlier process with the pid; the new one's parent is unknown. */
TEST(process_table_drops_maps_of_an_earlier_process)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	uint64_t here = (uint64_t)(uintptr_t)&process_table_new;
	uint64_t now;

	CHECK_EQ(ensure_here(&tables, getpid()), 0);
	now = clock_now_ns();
	CHECK(has(table, getpid(), now, here));
	deliver_exit(table, now, getpid());
	deliver(table, event_of(PROCESS_FORK, now + 1, getpid()));
	CHECK(!has(table, getpid(), now + 1, here));
	CHECK_EQ(ensure_here(&tables, getpid()), 0);
	CHECK(has(table, getpid(), clock_now_ns(), here)); /* and reads the new one's */
	close_tables(&tables);
}

/* --- events that were lost ---------------------------------------------------------------------- */

/* Exits that nobody reported must not leave processes behind. */
TEST(process_table_forgets_the_dead_of_a_loss)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	uint64_t now = clock_now_ns();
	int32_t i;

	for (i = 0; i < 10000; i++)
		deliver_exec(table, now, PID_A + i);
	deliver_exec(table, now, getpid());
	process_table_distrust(table, clock_now_ns());
	for (i = 0; i < 10; i++)
		process_table_purge(table, now + (uint64_t)i * 5 * NS_PER_SEC, NULL, NULL);
	CHECK_EQ(process_table_nr(table), 1);
	close_tables(&tables);
}

/* Takes all wanted snapshots, which find nothing. */
static size_t look_at_none(struct process_table *table)
{
	struct maps_looked looked = {.began_ns = clock_now_ns()};
	int32_t pid;
	size_t nr;

	looked.ended_ns = looked.began_ns;
	for (nr = 0; process_table_next_look(table, &pid); nr++)
		CHECK_EQ(process_table_looked(table, pid, &looked), 0);
	return nr;
}

/* Reading the maps of all processes after each loss would cause the next one. Old mappings are used meanwhile. */
TEST(process_table_reads_few_maps_again_at_a_time)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	uint64_t began_ns = clock_now_ns();
	size_t nr = 0, round;
	int32_t i;

	for (i = 0; i < 2000; i++)
		deliver_exec(table, began_ns, PID_A + i);
	deliver_map(table, began_ns, PID_A + 1999, PAGE);
	for (round = 0; round < 10; round++) {
		process_table_distrust(table, clock_now_ns());
		for (i = 0; i < 2000; i++)
			CHECK(process_table_ensure(table, PID_A + i, NULL, clock_now_ns()) >= 0);
		nr += look_at_none(table);
	}
	CHECK(nr >= 500);
	CHECK(nr <= 501 + (clock_now_ns() - began_ns) / (NS_PER_SEC / 500));
	CHECK_EQ(process_table_nr_postponed(table), 10 * 2000 - nr);
	CHECK(has(table, PID_A + 1999, clock_now_ns(), PAGE));
	/* Processes that are not known do not wait. */
	CHECK_EQ(process_table_ensure(table, PID_A + 2000, NULL, clock_now_ns()), 1);
	close_tables(&tables);
}

/* Only what happened before the report of a loss is doubtful. */
TEST(process_table_trusts_events_after_a_loss)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);

	deliver_exec(table, 10, PID_A);
	deliver_exec(table, 30, PID_B);
	process_table_distrust(table, 20);
	process_table_distrust(table, 15);
	CHECK_EQ(process_table_ensure(table, PID_B, NULL, 40), 0);
	CHECK_EQ(process_table_ensure(table, PID_A, NULL, 40), 1);
	close_tables(&tables);
}

static size_t resident_bytes(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file && fscanf(file, "%*u %zu", &pages) == 1);
	(void)fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

#define BURST 20000

/* Now and then something that stays is allocated between what the processes need. */
TEST(process_table_gives_the_memory_of_a_burst_back)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	static void *others[BURST];
	size_t before, most;
	int32_t i;

	if (ISOLATED_HAS_SHADOW)
		SKIP("an allocator that gives memory back");
	before = resident_bytes();
	for (i = 0; i < BURST; i++) {
		deliver_exec(table, 10, PID_A + i);
		deliver_map(table, 11, PID_A + i, PAGE);
		deliver_exit(table, 20, PID_A + i);
		if (i % 64 == 0)
			others[i] = malloc(32);
	}
	most = resident_bytes();
	process_table_purge(table, 10 * NS_PER_SEC, NULL, NULL);
	CHECK_EQ(process_table_nr(table), 0);
	CHECK(resident_bytes() - before < (most - before) / 2);
	for (i = 0; i < BURST; i++)
		free(others[i]);
	close_tables(&tables);
}

TEST(process_table_marks_mapped_files)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct process_event event = event_of(PROCESS_MAP, 12, PID_A);
	uint64_t inode;

	deliver_exec(table, 10, PID_A);
	for (inode = 1; inode <= 3; inode++) {
		event.file_id = (struct file_id){250, 1, inode, 0};
		event.mapping = (struct mapping){.start = inode * PAGE, .end = (inode + 1) * PAGE};
		CHECK_EQ(process_table_arrive(table, &event, "/gone"), 0);
		if (inode != 2)
			CHECK_EQ(process_table_replay(table, &event), 0);
	}
	/* Many others come and go. */
	for (; inode <= 2 * FILE_UNUSED_SPARE; inode++) {
		event.file_id = (struct file_id){250, 1, inode, 0};
		CHECK_EQ(process_table_arrive(table, &event, "/gone"), 0);
		if (inode % FILE_UNUSED_SPARE)
			continue;
		process_table_mark_files(table);
		file_table_sweep(tables.files);
	}
	for (inode = 1; inode <= 3; inode++)
		CHECK_EQ(file_table_get(tables.files, (uint32_t)inode - 1)->state == FILE_FORGOTTEN,
			 inode == 2);
	close_tables(&tables);
}

/* --- waiting for a look ------------------------------------------------------------------------ */

TEST(process_table_awaits_a_snapshot)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct process_event fork = event_of(PROCESS_FORK, 20, PID_B);
	struct process_event exec = event_of(PROCESS_EXEC, 20, PID_A);
	struct process_event exit = event_of(PROCESS_EXIT, 20, PID_A);
	struct maps_looked looked = {.began_ns = 15, .ended_ns = 16};
	struct maps_entry entry = {.start = PAGE, .end = 2 * PAGE, .path = ""};
	int32_t pid = 0;

	fork.parent = PID_A;
	CHECK(!process_table_awaits(table, PID_A, NULL, 20));
	CHECK_EQ(process_table_ensure(table, PID_A, NULL, 5), 1);
	CHECK_EQ(process_table_ensure(table, PID_A, NULL, 5), 0); /* wanted once */
	CHECK(process_table_awaits(table, PID_A, NULL, 20));
	CHECK(!process_table_awaits(table, PID_B, NULL, 20));
	CHECK(process_table_awaits_for(table, &fork));
	CHECK(process_table_awaits_for(table, &exec));
	CHECK(!process_table_awaits_for(table, &exit));
	CHECK(process_table_next_look(table, &pid));
	CHECK_EQ(pid, PID_A);
	CHECK(!process_table_next_look(table, &pid));
	CHECK_EQ(process_table_add_mapping(table, PID_A, &entry, false), 0);
	CHECK_EQ(process_table_add_mapping(table, PID_B, &entry, false), 0); /* is ignored */
	CHECK(process_table_awaits(table, PID_A, NULL, 20));
	CHECK_EQ(process_table_nr_looked(table), 0);
	CHECK_EQ(process_table_looked(table, PID_A, &looked), 0);
	CHECK_EQ(process_table_nr_looked(table), 1);
	CHECK_EQ(process_table_looked(table, PID_B, &looked), 0);
	CHECK_EQ(process_table_nr_looked(table), 1);
	CHECK(!process_table_awaits(table, PID_A, NULL, 20));
	CHECK(!process_table_awaits_for(table, &fork));
	CHECK(has(table, PID_A, 30, PAGE));
	CHECK_EQ(process_table_nr(table), 1);
	close_tables(&tables);
}

/* The snapshot was read before the exec, and arrives after it. */
TEST(process_table_exec_before_a_snapshot_arrives)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct process_event exec = event_of(PROCESS_EXEC, 20, PID_A);
	struct maps_looked looked = {.began_ns = 10, .ended_ns = 11};
	struct maps_entry entry = {.start = PAGE, .end = 2 * PAGE, .path = ""};

	CHECK_EQ(process_table_ensure(table, PID_A, NULL, 5), 1);
	CHECK_EQ(arrive(table, &exec), 0);
	CHECK_EQ(process_table_add_mapping(table, PID_A, &entry, false), 0);
	CHECK_EQ(process_table_looked(table, PID_A, &looked), 0);
	CHECK(has(table, PID_A, 15, PAGE));
	CHECK_EQ(process_table_replay(table, &exec), 0);
	CHECK(!has(table, PID_A, 20, PAGE));
	deliver_map(table, 21, PID_A, 3 * PAGE);
	CHECK(has(table, PID_A, 21, 3 * PAGE));
	close_tables(&tables);
}

/* The end of an epoch did not wait: the snapshot arrives when the new program has run for a while. */
TEST(process_table_late_snapshot)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct maps_looked looked = {.err = -ETIME, .began_ns = 10, .ended_ns = 30};

	CHECK_EQ(process_table_ensure(table, PID_A, NULL, 5), 1);
	deliver_exec(table, 20, PID_A);
	deliver_map(table, 21, PID_A, PAGE);
	CHECK_EQ(process_table_looked(table, PID_A, &looked), 0);
	CHECK(has(table, PID_A, 30, PAGE));
	CHECK_EQ(process_table_nr_silent(table), 1);
	close_tables(&tables);
}

/*
 * A snapshot is of a program whose exec has arrived, and is not replayed yet. The mappings are not those of the program
 * before.
 */
TEST(process_table_snapshot_of_the_next_program)
{
	static const struct program_id first = {5, 1}, second = {5, 2};
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct process_event exec = event_of(PROCESS_EXEC, 20, PID_A);
	struct maps_looked looked = {.began_ns = 30, .ended_ns = 31};
	struct maps_entry entry = {.start = PAGE, .end = 2 * PAGE, .path = ""};

	deliver_exec(table, 10, PID_A);
	deliver_map(table, 11, PID_A, 3 * PAGE);
	CHECK(process_table_mappings(table, PID_A, &first, 15) != NULL);
	CHECK_EQ(arrive(table, &exec), 0);
	process_table_rearranged(table, PID_A);
	CHECK_EQ(process_table_add_mapping(table, PID_A, &entry, false), 0);
	CHECK_EQ(process_table_looked(table, PID_A, &looked), 0);
	CHECK(process_table_mappings(table, PID_A, &first, 16) == NULL);
	CHECK_EQ(process_table_replay(table, &exec), 0);
	CHECK(!process_table_awaits(table, PID_A, &second, 40));
	CHECK(process_table_mappings(table, PID_A, &second, 40) != NULL);
	CHECK(process_table_tied_mappings(table, PID_A, &first) == NULL);
	CHECK(has(table, PID_A, 40, PAGE));
	close_tables(&tables);
}

/* A sample that is read when the next program's mappings were replayed does not tie them to its own program. */
TEST(process_table_late_sample_before_an_exec)
{
	static const struct program_id first = {5, 1}, second = {5, 2};
	struct tables tables;
	struct process_table *table = open_tables(&tables);

	deliver_exec(table, 20, PID_A);
	deliver_map(table, 21, PID_A, PAGE);
	CHECK(process_table_mappings(table, PID_A, &first, 10) == NULL);
	CHECK(!process_table_awaits(table, PID_A, &second, 22));
	CHECK(process_table_mappings(table, PID_A, &second, 22) != NULL);
	close_tables(&tables);
}

/* A snapshot of a process that is gone by then shows nothing: its events do. */
TEST(process_table_snapshot_of_nothing)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct process_event exec = event_of(PROCESS_EXEC, 20, PID_A);
	struct process_event map = event_of(PROCESS_MAP, 21, PID_A);
	struct maps_looked looked = {.began_ns = 40, .ended_ns = 41};

	map.mapping = (struct mapping){.start = PAGE, .end = 2 * PAGE};
	CHECK_EQ(arrive(table, &exec), 0);
	CHECK_EQ(arrive(table, &map), 0);
	process_table_distrust(table, 25);
	CHECK_EQ(process_table_ensure(table, PID_A, NULL, 30), 1);
	CHECK_EQ(process_table_looked(table, PID_A, &looked), 0);
	CHECK_EQ(process_table_replay(table, &exec), 0);
	CHECK_EQ(process_table_replay(table, &map), 0);
	CHECK(has(table, PID_A, 42, PAGE));
	close_tables(&tables);
}

/* Events of the parent may be missing: so may mappings that the child has from it. */
TEST(process_table_child_of_a_doubted_parent)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct process_event fork = event_of(PROCESS_FORK, 30, PID_B);

	deliver_exec(table, 10, PID_A);
	deliver_map(table, 11, PID_A, PAGE);
	fork.parent = PID_A;
	CHECK_EQ(arrive(table, &fork), 0);
	process_table_distrust(table, 25);
	CHECK_EQ(process_table_replay(table, &fork), 0);
	CHECK(has(table, PID_B, 31, PAGE));
	CHECK_EQ(process_table_ensure(table, PID_B, NULL, 40), 1);
	close_tables(&tables);
}

/*
 * The maps could not be read in time: they are read again later, a few times. A child does not inherit the mappings, which
 * are not known, but is read itself.
 */
TEST(process_table_tries_a_silent_process_again)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct process_event fork = event_of(PROCESS_FORK, 20, PID_B);
	struct maps_looked looked = {.err = -ETIME, .began_ns = clock_now_ns()};
	uint64_t up_ns;
	unsigned nr;

	looked.ended_ns = looked.began_ns;
	CHECK_EQ(process_table_ensure(table, PID_A, NULL, 5), 1);
	CHECK_EQ(process_table_looked(table, PID_A, &looked), 0);
	CHECK_EQ(process_table_ensure(table, PID_A, NULL, looked.ended_ns), 0); /* not yet */
	fork.parent = PID_A;
	CHECK_EQ(arrive(table, &fork), 0);
	CHECK_EQ(process_table_replay(table, &fork), 0);
	CHECK_EQ(process_table_ensure(table, PID_B, NULL, looked.ended_ns), 1);
	/* Asked when the host had just started: it is asked again 10, 80 and 640 s later, if the host runs for so long. */
	looked = (struct maps_looked){.err = -ETIME, .began_ns = 10, .ended_ns = 11};
	up_ns = clock_now_ns();
	for (nr = 0; nr < 10 && process_table_ensure(table, PID_A + 2, NULL, 5) == 1; nr++)
		CHECK_EQ(process_table_looked(table, PID_A + 2, &looked), 0);
	CHECK_EQ(nr, 1 + (up_ns > 10 * NS_PER_SEC) + (up_ns > 80 * NS_PER_SEC) +
			     (up_ns > 640 * NS_PER_SEC));
	CHECK_EQ(process_table_nr_silent(table), 2);
	close_tables(&tables);
}

/* Maps the same file in a process, and returns its number. */
static uint32_t map_file(struct process_table *table, uint64_t time_ns, int32_t pid)
{
	struct process_event event = event_of(PROCESS_MAP, time_ns, pid);

	event.mapping = (struct mapping){.start = PAGE, .end = 2 * PAGE};
	event.file_id = (struct file_id){.major = 1, .inode = 7};
	CHECK_EQ(process_table_arrive(table, &event, "/bin/program"), 0);
	CHECK_EQ(event.mapping.kind, MAPPING_FILE);
	return event.mapping.file;
}

/* A user's overlayfs has files of its own, with the numbers of the host's; all processes of the user share them. */
TEST(process_table_files_of_another_user)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct process_event fork = event_of(PROCESS_FORK, 20, PID_B);
	struct maps_looked looked = {.began_ns = 10, .ended_ns = 11, .arranger = 1000};
	struct maps_entry entry = {.start = PAGE,
				   .end = 2 * PAGE,
				   .id = {.major = 1, .inode = 7, .arranger = 1000},
				   .path = "/bin/program"};
	const uint32_t hosts = map_file(table, 5, PID_A + 2);
	uint32_t users;

	CHECK_EQ(process_table_ensure(table, PID_A, NULL, 5), 1);
	CHECK_EQ(process_table_add_mapping(table, PID_A, &entry, false), 0);
	CHECK_EQ(process_table_looked(table, PID_A, &looked), 0);
	users = process_table_mappings(table, PID_A, NULL, 12) ? map_file(table, 12, PID_A) : hosts;
	CHECK(users != hosts);
	fork.parent = PID_A;
	CHECK_EQ(arrive(table, &fork), 0);
	CHECK_EQ(map_file(table, 21, PID_B), users);
	deliver_exec(table, 22, PID_B);
	CHECK_EQ(map_file(table, 23, PID_B), users);
	fork.parent = PID_A + 2;
	CHECK_EQ(arrive(table, &fork), 0); /* another process with that pid */
	CHECK_EQ(map_file(table, 31, PID_B), hosts);
	process_table_rearranged(table, PID_A); /* is read again */
	CHECK(process_table_awaits(table, PID_A, NULL, 40));
	CHECK_EQ(process_table_ensure(table, PID_A, NULL, 40), 0);
	process_table_rearranged(table, PID_A + 9); /* is not known */
	close_tables(&tables);
}

/* --- memory that looks like a file ----------------------------------------------------------- */

/* Returns the kind found for an executable mapping of fd (-1: shared anonymous memory). */
static enum mapping_kind kind_of(int fd, size_t max_open)
{
	int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_PRIVATE;
	void *memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, flags, fd, 0);
	struct tables tables = {.files = file_table_new(max_open)};
	const struct mapping *mapping;
	enum mapping_kind kind;

	CHECK(memory != MAP_FAILED);
	tables.table = process_table_new(tables.files);
	CHECK_EQ(ensure_here(&tables, getpid()), 0);
	mapping =
		mappings_find(process_table_mappings(tables.table, getpid(), NULL, clock_now_ns()),
			      (uint64_t)(uintptr_t)memory);
	CHECK(mapping != NULL);
	kind = mapping->kind;
	CHECK_EQ(munmap(memory, PAGE), 0);
	close_tables(&tables);
	return kind;
}

static int make_memfd(const char *content)
{
	int fd = memfd_create("code cache", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, PAGE), 0);
	CHECK_EQ(pwrite(fd, content, strlen(content), 0), strlen(content));
	return fd;
}

/* Shared memory appears as /dev/zero; System V shared memory differs in the name only. */
TEST(process_table_takes_nameless_memory_for_memory)
{
	struct tables tables;
	struct process_event event = event_of(PROCESS_MAP, 10, PID_A);
	static const char *const names[] = {"/dev/zero (deleted)", "/SYSV00000000 (deleted)",
					    "/anon_hugepage (deleted)", "//anon", "[heap]"};
	size_t i;

	CHECK_EQ(kind_of(-1, 100), MAPPING_SHARED);
	(void)open_tables(&tables);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		event.file_id = (struct file_id){0, 1, 5, 0};
		event.mapping = (struct mapping){.start = PAGE, .end = 2 * PAGE};
		CHECK_EQ(process_table_arrive(tables.table, &event, names[i]), 0);
		CHECK_EQ(event.mapping.kind, i < 3 ? MAPPING_SHARED : MAPPING_ANON);
	}
	CHECK_EQ(file_table_nr(tables.files), 0);
	CHECK_EQ(process_table_arrive(tables.table, &event, "/gone/file"), 0);
	CHECK_EQ(event.mapping.kind, MAPPING_FILE); /* a deleted file */
	close_tables(&tables);
}

TEST(process_table_takes_memfds_for_memory)
{
	int fd = make_memfd("code of a run-time compiler");

	CHECK_EQ(kind_of(fd, 100), MAPPING_ANON);
	/* Also after the table closed it to stay within its limit. */
	CHECK_EQ(kind_of(fd, 1), MAPPING_ANON);
	(void)close(fd);
}

/* A program loaded from memory has its symbols in the memfd. */
TEST(process_table_takes_programs_in_memfds_for_files)
{
	int fd = make_memfd("\177ELF and so on");

	if (geteuid() != 0)
		SKIP("needs the right to follow /proc/PID/map_files");
	CHECK_EQ(kind_of(fd, 100), MAPPING_FILE);
	(void)close(fd);
}

/* A second process maps the same memfd after the table closed it. */
TEST(process_table_takes_closed_memfds_for_memory)
{
	struct tables tables = {.files = file_table_new(1)};
	struct process_event event = event_of(PROCESS_MAP, 10, PID_A);
	const struct mapping *mapping;
	int fd = make_memfd("code of a run-time compiler");
	int64_t file = add_fd_here(tables.files, "/memfd:code cache (deleted)", fd);

	CHECK_EQ(file, 0);
	CHECK(add_fd_here(tables.files, "/other", make_memfd("other")) >= 0);
	CHECK_EQ(file_table_get(tables.files, 0)->state, FILE_CLOSED);
	tables.table = process_table_new(tables.files);
	event.file_id = file_table_get(tables.files, 0)->id;
	event.mapping = (struct mapping){.start = PAGE, .end = 2 * PAGE};
	deliver_exec(tables.table, 9, PID_A);
	CHECK_EQ(process_table_arrive(tables.table, &event, "/memfd:code cache (deleted)"), 0);
	CHECK_EQ(process_table_replay(tables.table, &event), 0);
	mapping = mappings_find(process_table_mappings(tables.table, PID_A, NULL, 10), PAGE);
	CHECK_EQ(mapping->kind, MAPPING_ANON);
	close_tables(&tables);
}

/* --- too many -------------------------------------------------------------------------------- */

/* The table is reset while a fork is replayed: parent and child are both dropped. */
TEST(process_table_fork_at_the_limit)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	struct process_event fork = event_of(PROCESS_FORK, 20, PID_B);
	int32_t i;

	deliver_exec(table, 10, PID_A);
	deliver_map(table, 11, PID_A, PAGE);
	for (i = 1; i < PROCESS_TABLE_MAX; i++) {
		struct process_event event = event_of(PROCESS_EXEC, 12, PID_B + i);

		CHECK_EQ(arrive(table, &event), 0);
	}
	CHECK_EQ(process_table_nr(table), PROCESS_TABLE_MAX);
	fork.parent = PID_A;
	CHECK_EQ(process_table_replay(table, &fork), 0);
	CHECK(process_table_nr(table) <= PROCESS_TABLE_MAX);
	close_tables(&tables);
}

/*
 * munmap() is not reported: a process may appear to have many mappings, and each child that adds a
 * mapping needs a copy of all of them. Past a limit they are dropped; processes with an ordinary
 * number of mappings stay.
 */
TEST(process_table_limits_mappings_of_all_processes)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	size_t i, nr_copies = PROCESS_TABLE_MAX_MAPPINGS / (MAPPINGS_MAX / 2) * 2;
	uint64_t nr_mappings = 0;

	deliver_exec(table, 10, PID_A);
	deliver_map(table, 11, PID_A, PAGE);
	deliver_exec(table, 10, PID_B);
	for (i = 0; i < MAPPINGS_MAX / 2; i++)
		deliver_map(table, 12, PID_B, 2 * i * PAGE);
	CHECK_EQ(process_table_nr_forgotten(table), 0);
	for (i = 1; i <= nr_copies; i++) {
		struct process_event fork = event_of(PROCESS_FORK, 20 + i, PID_B + (int32_t)i);

		fork.parent = PID_B;
		deliver(table, fork);
		deliver_map(table, 20 + i, PID_B + (int32_t)i, PAGE);
	}
	for (i = 0; i <= nr_copies; i++)
		nr_mappings += mappings_nr(
			process_table_mappings(table, PID_B + (int32_t)i, NULL, 20 + nr_copies));
	CHECK(process_table_nr_forgotten(table) > nr_copies / 4);
	CHECK(nr_mappings <= PROCESS_TABLE_MAX_MAPPINGS / 4 * 5);
	CHECK(has(table, PID_A, 20 + nr_copies, PAGE));
	close_tables(&tables);
}

TEST(process_table_counts_mappings_that_are_too_many)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	size_t i;

	deliver_exec(table, 10, PID_A);
	for (i = 0; i < MAPPINGS_MAX + 10; i++)
		deliver_map(table, 12, PID_A, 2 * i * PAGE);
	CHECK_EQ(mappings_nr(process_table_mappings(table, PID_A, NULL, 13)) +
			 process_table_nr_left_out(table),
		 MAPPINGS_MAX + 10);
	CHECK(process_table_nr_left_out(table) >= 10);
	close_tables(&tables);
}

/* --- processes without permission ------------------------------------------------------------ */

/* Runs in a child that has dropped its permission to read our maps. */
static size_t count_refused(pid_t pid)
{
	struct tables tables;
	struct process_table *table = open_tables(&tables);
	size_t nr;

	CHECK_EQ(ensure_here(&tables, pid), 0);
	process_table_distrust(table, clock_now_ns());
	CHECK_EQ(ensure_here(&tables, pid), 0); /* read again, counted once */
	CHECK_EQ(ensure_here(&tables, getpid()), 0);
	nr = process_table_nr_refused(table);
	close_tables(&tables);
	return nr;
}

TEST(process_table_counts_those_it_may_not_read)
{
	pid_t pid;
	int status;

	if (geteuid() != 0)
		SKIP("needs root, to be somebody else");
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(setgid(65534) == 0 && setuid(65534) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0 &&
				      count_refused(getppid()) == 1
			      ? 0
			      : 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- out of memory --------------------------------------------------------------------------- */

/* A failed fork or mapping event can be replayed again. */
TEST(process_table_without_memory)
{
	struct tables tables;
	struct process_table *table;
	struct process_event events[4];
	size_t nth = 0, done = 0;

	tables.files = file_table_new(1);
	(void)test_fail_allocation(1);
	CHECK(process_table_new(tables.files) == NULL);
	(void)test_fail_allocation(0);
	tables.table = table = process_table_new(tables.files);
	events[0] = event_of(PROCESS_EXEC, 10, PID_A);
	events[1] = event_of(PROCESS_MAP, 11, PID_A);
	events[1].mapping = (struct mapping){.start = PAGE, .end = 2 * PAGE};
	events[2] = event_of(PROCESS_FORK, 12, PID_B);
	events[2].parent = PID_A;
	events[3] = event_of(PROCESS_MAP, 13, PID_B);
	events[3].mapping = (struct mapping){.start = 3 * PAGE, .end = 4 * PAGE};
	while (done < 4) {
		int err;

		(void)test_fail_allocation(++nth);
		err = arrive(table, &events[done]);
		if (!err)
			err = process_table_replay(table, &events[done]);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		if (!err) {
			done++;
			nth = 0;
		}
	}
	CHECK(has(table, PID_A, 20, PAGE));
	CHECK(!has(table, PID_A, 20, 3 * PAGE));
	CHECK(has(table, PID_B, 20, PAGE));
	CHECK(has(table, PID_B, 20, 3 * PAGE));
	close_tables(&tables);
}
