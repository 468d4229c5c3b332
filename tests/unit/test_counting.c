/*
 * collect/counting: what is opened, and what is added up, with counters that the test makes: files with the records
 * that read() would return.
 */
#include "unit/test.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/counting.h"
#include "event/event.h"

#define OPENED_MAX 64

static struct opened {
	struct perf_event_attr attr;
	int pid, cpu, group_fd, fd;
	unsigned long flags;
} opened[OPENED_MAX];
static size_t nr_opened;

/* How the next calls are refused; 0: not. */
static int (*refuse)(const struct perf_event_attr *attr, int pid, int cpu, int group_fd);

/* The events by which CPUs are watched, and CPUs that are offline. */
static struct watch {
	int leader;
	bool is_offline;
} watches[4];

static int fake_watch(int cpu, int group_fd)
{
	int fd = memfd_create("watch", MFD_CLOEXEC);

	CHECK(fd >= 0);
	if (group_fd < 0) {
		watches[cpu].leader = fd;
	} else {
		CHECK_EQ(group_fd, watches[cpu].leader);
	}
	return fd;
}

static int fake_open(struct perf_event_attr *attr, int pid, int cpu, int group_fd,
		     unsigned long flags)
{
	const int code = cpu >= 0 && watches[cpu].is_offline ? ENODEV
			 : refuse			     ? refuse(attr, pid, cpu, group_fd)
							     : 0;

	CHECK(nr_opened < OPENED_MAX);
	if (!code && attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY) {
		CHECK(attr->disabled && pid == -1);
		return fake_watch(cpu, group_fd);
	}
	if (code) {
		errno = code;
		return -1;
	}
	opened[nr_opened] = (struct opened){
		*attr, pid, cpu, group_fd, memfd_create("counter", MFD_CLOEXEC), flags};
	CHECK(opened[nr_opened].fd >= 0);
	return opened[nr_opened++].fd;
}

/* Appends a record, without moving to its end. */
static void make_record(int fd, const uint64_t *numbers, size_t nr)
{
	const off_t at = lseek(fd, 0, SEEK_CUR);

	(void)lseek(fd, 0, SEEK_END);
	CHECK_EQ(write(fd, numbers, nr * sizeof(*numbers)), nr * sizeof(*numbers));
	(void)lseek(fd, at, SEEK_SET);
}

#define RECORD(fd, ...)                                    \
	make_record((fd), (const uint64_t[]){__VA_ARGS__}, \
		    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* A look at a CPU will see this number of events in its group: 2, or 1 when it has been away. */
static void is_seen(unsigned cpu, uint64_t nr_events)
{
	RECORD(watches[cpu].leader, nr_events, 0, 0);
	if (nr_events == 1) /* a shorter record */
		CHECK_EQ(
			ftruncate(watches[cpu].leader, lseek(watches[cpu].leader, 0, SEEK_END) - 8),
			0);
}

static const uint32_t two_cpus[] = {0, 1};
static const struct wanted_tasks all_tasks = {.cgroup_fd = -1, .follow = true};

static struct events parse(const char *text)
{
	const struct event_host_options options = {.devices = "/nowhere", .tracefs_fd = -1};
	struct event_host *host = event_host_open(&options, NULL);
	struct events events = {0};

	CHECK(host);
	CHECK_EQ(events_parse(host, text, &events, NULL), 0);
	event_host_close(host);
	return events;
}

static struct counting *open_events(const char *text, struct counting_config config,
				    struct error *error)
{
	struct events events = parse(text);
	struct counting *counting;

	config.events = events.items;
	config.nr_events = events.nr;
	config.open = fake_open;
	if (!config.tasks)
		config.tasks = &all_tasks;
	if (!config.nr_cpus && config.tasks == &all_tasks) {
		config.cpus = two_cpus;
		config.nr_cpus = 2;
	}
	counting = counting_open(&config, error);
	events_clear(&events);
	return counting;
}

static void check_count(const struct event_count *count, uint64_t value, uint64_t enabled,
			uint64_t running)
{
	CHECK_EQ(count->value, value);
	CHECK_EQ(count->enabled_ns, enabled);
	CHECK_EQ(count->running_ns, running);
}

TEST(counting_scales_by_the_time_that_a_counter_ran)
{
	CHECK_EQ(event_count_estimate(&(struct event_count){1000, 50, 50}), 1000);
	CHECK_EQ(event_count_estimate(&(struct event_count){1000, 100, 25}), 4000);
	CHECK_EQ(event_count_estimate(&(struct event_count){0, 100, 0}), 0);
	CHECK_EQ(event_count_estimate(&(struct event_count){1ULL << 52, 10, 10}), 1LL << 52);
	CHECK_EQ(event_count_estimate(&(struct event_count){1ULL << 50, 4ULL << 40, 1ULL << 40}),
		 1LL << 52);
}

TEST(counting_adds_up_cpus_and_reads_differences)
{
	struct counting *counting = open_events("cycles,faults", (struct counting_config){0}, NULL);
	const struct counting_row *rows;
	size_t nr, i;

	CHECK(counting);
	CHECK_EQ(nr_opened, 4);
	for (i = 0; i < nr_opened; i++) {
		CHECK_EQ(opened[i].pid, -1);
		CHECK_EQ(opened[i].cpu, i / 2);
		CHECK_EQ(opened[i].group_fd, -1);
		CHECK(opened[i].attr.disabled && !opened[i].attr.inherit &&
		      !opened[i].attr.enable_on_exec);
		RECORD(opened[i].fd, 1, 100, 50, 10 + i);
		RECORD(opened[i].fd, 1, 300, 150, 1000 + i);
	}
	rows = counting_read(counting, &nr);
	CHECK_EQ(nr, 1);
	check_count(&rows[0].counts[0], 10 + 12, 200, 100);
	check_count(&rows[0].counts[1], 11 + 13, 200, 100);
	rows = counting_read(counting, &nr);
	check_count(&rows[0].counts[0], 990 + 990, 400, 200);
	/* Nothing left to read: a CPU that went away keeps its count. */
	rows = counting_read(counting, &nr);
	check_count(&rows[0].counts[0], 0, 0, 0);
	counting_free(counting);
}

static struct counting_absence absence_of(const struct counting *counting)
{
	struct counting_absence absence = {0};

	counting_add_absence(counting, &absence);
	return absence;
}

/* A CPU goes offline and comes back: what it had counted is kept, and it is counted again. */
TEST(counting_opens_again_on_a_cpu_that_came_back)
{
	struct counting *counting =
		open_events("{cycles,instructions},faults", (struct counting_config){0}, NULL);
	struct counting_absence absence;
	const struct counting_row *rows;
	size_t nr, i;

	CHECK(counting);
	CHECK_EQ(nr_opened, 6);
	CHECK(!counting_follows_cpus(counting));
	counting_start(counting, 1000);
	CHECK(counting_follows_cpus(counting));
	RECORD(opened[0].fd, 2, 100, 100, 10, 20);
	RECORD(opened[2].fd, 1, 100, 100, 1);
	RECORD(opened[3].fd, 2, 90, 90, 5, 6);
	RECORD(opened[5].fd, 1, 90, 90, 2);
	rows = counting_read(counting, &nr);
	check_count(&rows[0].counts[1], 26, 190, 190);

	is_seen(0, 2);
	is_seen(1, 2);
	counting_follow(counting, 2000);
	absence = absence_of(counting);
	CHECK_EQ(absence.nr_cpus, 0);
	CHECK_EQ(nr_opened, 6);

	/* Its group has fallen apart. */
	is_seen(0, 2);
	is_seen(1, 1);
	watches[1].is_offline = true;
	RECORD(opened[3].fd, 1, 190, 180, 15);
	RECORD(opened[4].fd, 1, 185, 175, 26);
	RECORD(opened[5].fd, 1, 190, 190, 12);
	counting_follow(counting, 3000);
	CHECK_EQ(nr_opened, 6);
	absence = absence_of(counting);
	CHECK_EQ(absence.nr_cpus, 1);
	CHECK_EQ(absence.cpu, 1);
	CHECK_EQ(absence.away_ns, 1000);

	watches[1].is_offline = false;
	is_seen(0, 2);
	counting_follow(counting, 5000);
	CHECK_EQ(nr_opened, 9);
	for (i = 6; i < 9; i++)
		CHECK_EQ(opened[i].cpu, 1);
	CHECK_EQ(opened[7].group_fd, opened[6].fd);
	RECORD(opened[0].fd, 2, 300, 300, 11, 22);
	RECORD(opened[6].fd, 2, 50, 50, 1000, 2000);
	RECORD(opened[8].fd, 1, 50, 50, 3);
	rows = counting_read(counting, &nr);
	CHECK_EQ(nr, 1);
	CHECK_EQ(rows[0].nr_cpus, 2);
	check_count(&rows[0].counts[0], 1 + 10 + 1000, 200 + 100 + 50, 200 + 90 + 50);
	check_count(&rows[0].counts[1], 2 + 20 + 2000, 200 + 95 + 50, 200 + 85 + 50);
	check_count(&rows[0].counts[2], 10 + 3, 100 + 50, 100 + 50);
	is_seen(0, 2);
	is_seen(1, 2);
	counting_follow(counting, 6000);
	absence = absence_of(counting);
	CHECK_EQ(absence.nr_cpus, 1);
	CHECK_EQ(absence.away_ns, 3000);
	CHECK_EQ(absence.uncounted.code, 0);
	counting_free(counting);
}

/* A group that is read before the CPU's absence is noticed. */
TEST(counting_reads_the_members_of_a_group_that_fell_apart)
{
	const struct counting_config config = {.cpus = two_cpus, .nr_cpus = 1};
	struct counting *counting = open_events("{cycles,instructions}", config, NULL);
	const struct counting_row *rows;
	size_t nr;

	CHECK(counting);
	RECORD(opened[0].fd, 2, 100, 100, 10, 20);
	(void)counting_read(counting, &nr);
	RECORD(opened[0].fd, 1, 200, 150, 15);
	RECORD(opened[1].fd, 1, 99, 99, 27);
	rows = counting_read(counting, &nr);
	check_count(&rows[0].counts[0], 5, 100, 50);
	check_count(&rows[0].counts[1], 7, 0, 0);
	counting_free(counting);
}

static size_t nr_online;

static int read_online(struct cpus *ret, struct error *error)
{
	char text[8];

	(void)snprintf(text, sizeof(text), "0-%zu", nr_online - 1);
	return cpus_parse(ret, text);
}

static int is_full(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return cpu == 3 ? EMFILE : 0;
}

TEST(counting_counts_cpus_that_come_online)
{
	const struct wanted_tasks tasks = all_tasks;
	const struct counting_config config = {
		.tasks = &tasks, .online = read_online, .by = COUNTING_CPU};
	struct counting_absence absence;
	const struct counting_row *rows;
	struct counting *counting;
	size_t nr;

	nr_online = 2;
	refuse = is_full;
	counting = open_events("faults", config, NULL);
	CHECK(counting);
	CHECK_EQ(nr_opened, 2);
	counting_start(counting, 100);
	nr_online = 4;
	is_seen(0, 2);
	is_seen(1, 2);
	counting_follow(counting, 300);
	CHECK_EQ(nr_opened, 3);
	CHECK_EQ(opened[2].cpu, 2);
	RECORD(opened[2].fd, 1, 50, 50, 3);
	rows = counting_read(counting, &nr);
	CHECK_EQ(nr, 3);
	CHECK(!strcmp(rows[2].label, "2"));
	CHECK_EQ(rows[2].nr_cpus, 1);
	check_count(&rows[2].counts[0], 3, 50, 50);
	absence = absence_of(counting);
	CHECK_EQ(absence.nr_cpus, 1);
	CHECK_EQ(absence.cpu, 2);
	CHECK_EQ(absence.away_ns, 200);
	CHECK(strstr(absence.uncounted.text, "CPU 3"));
	counting_free(counting);
}

static int has_no_counter(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return cpu == 2 && attr->config != PERF_COUNT_SW_DUMMY ? EMFILE : 0;
}

/* It is tried again at each look. What kept it from being counted stays known when later runs count all CPUs. */
TEST(counting_reports_a_cpu_that_cannot_be_counted)
{
	const struct wanted_tasks tasks = all_tasks;
	const struct counting_config config = {.tasks = &tasks, .online = read_online};
	struct counting_absence absence = {0};
	const struct counting_row *rows;
	struct counting *counting;
	unsigned look;
	size_t nr;

	nr_online = 2;
	refuse = has_no_counter;
	counting = open_events("faults", config, NULL);
	CHECK(counting);
	counting_start(counting, 100);
	nr_online = 3;
	for (look = 0; look < 3; look++) {
		is_seen(0, 2);
		is_seen(1, 2);
		counting_follow(counting, 200 + look);
	}
	rows = counting_read(counting, &nr);
	CHECK_EQ(nr, 1);
	CHECK_EQ(rows[0].nr_cpus, 2);
	counting_add_absence(counting, &absence);
	counting_free(counting);
	refuse = NULL;
	counting = open_events("faults", config, NULL);
	CHECK(counting);
	counting_start(counting, 300);
	counting_add_absence(counting, &absence);
	CHECK(strstr(absence.uncounted.text, "CPU 2"));
	counting_free(counting);
}

static int no_branches(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return attr->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS ? EOPNOTSUPP : 0;
}

TEST(counting_reads_groups_at_once)
{
	const struct counting_config config = {.cpus = two_cpus, .nr_cpus = 1};
	const struct counting_row *rows;
	struct counting *counting;
	size_t nr;

	refuse = no_branches;
	counting = open_events("{cycles,branches,instructions},faults", config, NULL);
	CHECK(counting);
	CHECK_EQ(nr_opened, 3);
	CHECK_EQ(opened[1].group_fd, opened[0].fd);
	CHECK(opened[0].attr.disabled && !opened[1].attr.disabled);
	CHECK_EQ(opened[2].group_fd, -1);
	CHECK_EQ(counting_events(counting)[1].refused, -EOPNOTSUPP);
	CHECK_EQ(counting_events(counting)[2].refused, 0);
	RECORD(opened[0].fd, 2, 100, 40, 1000, 2000);
	RECORD(opened[2].fd, 1, 100, 100, 7);
	rows = counting_read(counting, &nr);
	check_count(&rows[0].counts[0], 1000, 100, 40);
	check_count(&rows[0].counts[1], 0, 0, 0);
	check_count(&rows[0].counts[2], 2000, 100, 40);
	check_count(&rows[0].counts[3], 7, 100, 100);
	counting_free(counting);
}

static int no_cycles(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES ? ENOENT
											    : 0;
}

TEST(counting_without_a_leader_has_no_group)
{
	struct counting *counting;

	refuse = no_cycles;
	counting = open_events("{cycles,instructions},faults", (struct counting_config){0}, NULL);
	CHECK(counting);
	CHECK_EQ(nr_opened, 2);
	CHECK_EQ(counting_events(counting)[0].refused, -ENOENT);
	CHECK_EQ(counting_events(counting)[1].refused, -ENOENT);
	CHECK_EQ(counting_events(counting)[2].refused, 0);
	counting_free(counting);
}

/* A CPU of another kind, for example. */
static int not_on_cpu_0(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return cpu ? 0 : EINVAL;
}

TEST(counting_needs_an_event_on_one_cpu_only)
{
	struct counting *counting;

	refuse = not_on_cpu_0;
	counting = open_events("cycles", (struct counting_config){.by = COUNTING_CPU}, NULL);
	CHECK(counting);
	CHECK_EQ(nr_opened, 1);
	CHECK_EQ(counting_events(counting)[0].refused, 0);
	counting_free(counting);
}

static int no_device(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return attr->type == PERF_TYPE_HARDWARE ? ENODEV : 0;
}

TEST(counting_tells_a_missing_pmu_from_an_offline_cpu)
{
	struct counting *counting;

	refuse = no_device;
	counting = open_events("cycles,page-faults", (struct counting_config){0}, NULL);
	CHECK(counting);
	CHECK_EQ(counting_events(counting)[0].refused, -ENODEV);
	CHECK_EQ(counting_events(counting)[1].refused, 0);
	counting_free(counting);
	watches[0].is_offline = watches[1].is_offline = true;
	counting = open_events("cycles", (struct counting_config){0}, NULL);
	CHECK(counting);
	CHECK_EQ(counting_events(counting)[0].refused, 0);
	counting_free(counting);
}

static int no_third_of_a_group(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return group_fd >= 0 && attr->config == PERF_COUNT_HW_CACHE_MISSES ? EINVAL : 0;
}

TEST(counting_splits_weak_groups_that_do_not_fit)
{
	const struct counting_config config = {.cpus = two_cpus, .nr_cpus = 1};
	struct counting *counting;
	size_t i;

	refuse = no_third_of_a_group;
	counting = open_events("{cycles,instructions,cache-misses}:W", config, NULL);
	CHECK(counting);
	CHECK_EQ(nr_opened, 2 + 3);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(opened[2 + i].group_fd, -1);
		CHECK(opened[2 + i].attr.disabled);
		CHECK(counting_events(counting)[i].is_ungrouped);
		CHECK_EQ(counting_events(counting)[i].refused, 0);
	}
	counting_free(counting);
	nr_opened = 0;
	counting = open_events("{cycles,instructions,cache-misses}", config, NULL);
	CHECK_EQ(nr_opened, 2);
	CHECK_EQ(counting_events(counting)[2].refused, -EINVAL);
	counting_free(counting);
}

static int not_in_the_kernel(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	if (attr->type == PERF_TYPE_BREAKPOINT && attr->exclude_kernel)
		return EINVAL;
	return attr->exclude_kernel ? 0 : EACCES;
}

TEST(counting_without_privileges_leaves_out_the_kernel)
{
	struct counting *counting;

	refuse = not_in_the_kernel;
	counting = open_events("cycles,mem:0x1000,instructions:k,faults:u",
			       (struct counting_config){0}, NULL);
	CHECK(counting);
	CHECK(counting_events(counting)[0].is_user_only);
	CHECK_EQ(counting_events(counting)[0].refused, 0);
	CHECK(opened[0].attr.exclude_kernel && opened[0].attr.exclude_hv);
	/* The reason is that of the first answer. */
	CHECK_EQ(counting_events(counting)[1].refused, -EACCES);
	CHECK_EQ(counting_events(counting)[2].refused, -EACCES);
	CHECK(!counting_events(counting)[3].is_user_only);
	counting_free(counting);
}

static int too_many(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return nr_opened == 3 ? EMFILE : 0;
}

TEST(counting_ends_without_descriptors)
{
	struct error error = {0};
	const size_t nr_open = test_nr_open();

	refuse = too_many;
	CHECK(!open_events("cycles,instructions", (struct counting_config){0}, &error));
	CHECK_EQ(error.code, -EMFILE);
	CHECK(strstr(error.text, "more than 3 counters"));
	CHECK(strstr(error.hint, "2 events of 1 tasks on 2 CPUs"));
	CHECK_EQ(test_nr_open(), nr_open);
}

TEST(counting_opens_on_exec_and_for_children)
{
	static const uint32_t pids[] = {1};
	struct wanted_tasks tasks = {.pids = pids, .nr_pids = 1, .follow = true};
	struct counting_config config = {.tasks = &tasks, .on_exec = true};
	struct counting *counting;
	uint32_t own = (uint32_t)getpid();

	tasks.pids = &own;
	counting = open_events("{faults,cs}", config, NULL);
	CHECK(counting);
	CHECK_EQ(nr_opened, 2);
	CHECK_EQ(opened[0].pid, own);
	CHECK_EQ(opened[0].cpu, -1);
	CHECK(opened[0].attr.inherit && !opened[0].attr.inherit_thread);
	CHECK(opened[0].attr.enable_on_exec && !opened[1].attr.enable_on_exec);
	counting_free(counting);

	nr_opened = 0;
	tasks.follow = false;
	counting = open_events("faults", config, NULL);
	CHECK(opened[0].attr.inherit && opened[0].attr.inherit_thread);
	counting_free(counting);

	nr_opened = 0;
	tasks = (struct wanted_tasks){.tids = pids, .nr_tids = 1, .follow = true};
	config.by = COUNTING_CPU;
	config.cpus = two_cpus;
	config.nr_cpus = 2;
	counting = open_events("faults", config, NULL);
	CHECK_EQ(nr_opened, 2);
	CHECK_EQ(opened[1].cpu, 1);
	CHECK(!opened[0].attr.inherit);
	counting_free(counting);
}

static int has_ended(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return pid == 1 ? ESRCH : 0;
}

TEST(counting_leaves_out_threads_that_ended)
{
	static const uint32_t tids[] = {1, 2};
	const struct wanted_tasks tasks = {.tids = tids, .nr_tids = 2};
	struct counting *counting;

	refuse = has_ended;
	counting =
		open_events("faults,cs",
			    (struct counting_config){.tasks = &tasks, .by = COUNTING_THREAD}, NULL);
	CHECK(counting);
	CHECK_EQ(nr_opened, 2);
	CHECK_EQ(opened[0].pid, 2);
	CHECK_EQ(counting_events(counting)[0].refused, 0);
	counting_free(counting);
}

static pthread_t created;
static size_t nr_created, nr_to_create;

static void *sleep_long(void *context)
{
	(void)sleep(1000);
	return NULL;
}

static int creates_a_thread(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	if (pid == getpid() && nr_created < nr_to_create) {
		nr_created++;
		CHECK_EQ(pthread_create(&created, NULL, sleep_long, NULL), 0);
	}
	return 0;
}

/* A thread that is created while counters are opened may have inherited some, or not: all are opened again. */
TEST(counting_opens_again_if_threads_appear)
{
	const uint32_t own = (uint32_t)getpid();
	const struct wanted_tasks tasks = {.pids = &own, .nr_pids = 1, .follow = true};
	const struct counting_config config = {.tasks = &tasks, .by = COUNTING_THREAD};
	const struct counting_row *rows;
	struct counting *counting;
	size_t nr;

	refuse = creates_a_thread;
	nr_to_create = 1;
	counting = open_events("faults", config, NULL);
	CHECK(counting);
	CHECK_EQ(nr_opened, 1 + 2);
	CHECK(opened[1].pid == (int)own && opened[2].pid != (int)own);
	CHECK_EQ(counting_nr_missed(counting), 0);
	RECORD(opened[1].fd, 1, 10, 10, 5);
	RECORD(opened[2].fd, 1, 20, 20, 6);
	rows = counting_read(counting, &nr);
	CHECK_EQ(nr, 2);
	check_count(&rows[0].counts[0], 5, 10, 10);
	check_count(&rows[1].counts[0], 6, 20, 20);
	counting_free(counting);

	/* A process that never stops: what is missing is counted. */
	nr_opened = nr_created = 0;
	nr_to_create = 1000;
	counting = open_events("faults", config, NULL);
	CHECK(counting);
	CHECK(counting_nr_missed(counting) > 0);
	counting_free(counting);
}

TEST(counting_fails_without_memory)
{
	struct events events = parse("{cycles,instructions},faults");
	const struct counting_config config = {.events = events.items,
					       .nr_events = events.nr,
					       .tasks = &all_tasks,
					       .cpus = two_cpus,
					       .nr_cpus = 2,
					       .by = COUNTING_CPU,
					       .open = fake_open};
	const size_t nr_open = test_nr_open();
	struct counting *counting = NULL;
	size_t nth;

	for (nth = 1; !counting; nth++) {
		struct error error = {0};

		nr_opened = 0;
		(void)test_fail_allocation(nth);
		counting = counting_open(&config, &error);
		(void)test_fail_allocation(0);
		CHECK(counting || error.code == -ENOMEM);
		CHECK(counting || test_nr_open() == nr_open);
	}
	CHECK(nth > 5);
	counting_free(counting);
	CHECK_EQ(test_nr_open(), nr_open);
	events_clear(&events);
}
