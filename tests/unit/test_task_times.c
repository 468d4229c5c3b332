/* view/task_times: rows of `stook sched`, and the exact text of its tables in each format. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/text/sheet_write.h"
#include "view/task_times.h"

#define MS 1000000ULL

static struct task_time thread(const char *comm, uint32_t tid, uint64_t run_ms, uint64_t delay_ms)
{
	struct task_time one = {
		.pid = 100,
		.tid = tid,
		.nr_threads = 1,
		.sums.numbers = {run_ms * MS, delay_ms * MS, 2, 3, 4, 5},
		.longest = {delay_ms * MS, 7000 * MS + delay_ms * MS, 1, tid % 2},
	};

	(void)snprintf(one.comm, sizeof(one.comm), "%s", comm);
	one.sums.slots[sched_slot(delay_ms * MS / 2)] = 2;
	return one;
}

static void add(struct task_times *times, struct task_time one, uint64_t on_0, uint64_t on_1)
{
	const uint64_t ran_ns[] = {on_0 * MS, on_1 * MS};

	CHECK_EQ(task_times_add(times, &one, ran_ns), 0);
}

static void add_some(struct task_times *times)
{
	add(times, thread("cc1", 11, 500, 4), 500, 0);
	add(times, thread("cc1", 12, 300, 8), 100, 200);
	add(times, thread("a\033b", 13, 1, 0), 0, 1);
}

static void check_written(enum media medium, struct task_times *times,
			  struct task_times_style *style, const char *want)
{
	const struct sheet_style sheet_style = {.is_first = true, .width = 200};
	struct sheet sheet = {0};
	char *text = NULL;
	size_t nr = 0;
	FILE *out = open_memstream(&text, &nr);

	CHECK(out != NULL);
	CHECK_EQ(task_times_choose(times, TASK_BY_MAX, 0), 0);
	style->time = 1763746015.5;
	style->seconds = 1;
	task_times_fill(&sheet, times, style);
	CHECK_EQ(sheet_write(&sheet, medium, &sheet_style, out), 0);
	(void)fclose(out);
	CHECK_STR(text, want);
	sheet_clear(&sheet);
	free(text);
}

/* The buckets of runqlat: 0 to 1 us, 2 to 3, 4 to 7, … */
TEST(sched_slots)
{
	CHECK_EQ(sched_slot(0), 0);
	CHECK_EQ(sched_slot(1999), 0);
	CHECK_EQ(sched_slot(2000), 1);
	CHECK_EQ(sched_slot(3999), 1);
	CHECK_EQ(sched_slot(4000), 2);
	CHECK_EQ(sched_slot(1024 * 1000 - 1), 9);
	CHECK_EQ(sched_slot(1024 * 1000), 10);
	CHECK_EQ(sched_slot(UINT64_MAX), SCHED_SLOTS - 1);
}

TEST(task_times_of_one_name_share_a_row)
{
	struct task_times times = {.keys = TASK_COMM, .max_rows = 10};
	struct task_times_style style = {.is_plain = true};

	add_some(&times);
	CHECK_EQ(times.nr, 2);
	CHECK_EQ(times.rows[0].sums.numbers.run_ns, 800 * MS);
	CHECK_EQ(times.rows[0].longest.delay_ns, 8 * MS);
	CHECK_EQ(times.rows[0].longest.cpu, 0);
	check_written(MEDIA_TEXT, &times, &style,
		      "\n"
		      "TASK                      RUNTIME(ms)  SWITCHES  MIGRATIONS  AVG DELAY(ms)  "
		      "MAX DELAY(ms)  MAX CPU  MAX DELAY START(s)  MAX DELAY END(s)\n"
		      "cc1:(2)                       800.000        14          10          3.000  "
		      "        8.000        0            7.000000          7.008000\n"
		      "a?b:13                          1.000         7           5          0.000  "
		      "        0.000        1            7.000000          7.000000\n"
		      "TOTAL: 801.000 ms, 21 switches\n");
	task_times_clear(&times);
}

TEST(task_times_in_csv)
{
	struct task_times times = {.keys = TASK_PID | TASK_TID, .max_rows = 10};
	struct task_times_style style = {0};

	add(&times, thread("cc1", 11, 500, 4), 0, 0);
	check_written(MEDIA_CSV, &times, &style,
		      "time,seconds,pid,tid,threads,run_ns,idle_ns,switches,voluntary,involuntary,"
		      "migrations,waits,unsplit,delay_ns,max_delay_ns,max_delay_end_ns,"
		      "max_delay_cpu\r\n"
		      "1763746015.500,1.000,100,11,1,500000000,,7,3,4,5,2,0,4000000,4000000,"
		      "7004000000,1\r\n");
	task_times_clear(&times);
}

TEST(task_times_have_histograms)
{
	struct task_times times = {.max_rows = 10};
	struct task_times_style style = {.has_histograms = true};

	add_some(&times);
	CHECK_EQ(times.nr, 1);
	check_written(
		MEDIA_TEXT, &times, &style,
		"\n"
		"runtime(ms) 801.000, switches 21, migrations 15, avg_delay(ms) 2.000, "
		"max_delay(ms) 8.000\n"
		"     usecs               : count     distribution\n"
		"         0 -> 1          : 2        |****************************************|\n"
		"         2 -> 3          : 0        |                                        |\n"
		"         4 -> 7          : 0        |                                        |\n"
		"         8 -> 15         : 0        |                                        |\n"
		"        16 -> 31         : 0        |                                        |\n"
		"        32 -> 63         : 0        |                                        |\n"
		"        64 -> 127        : 0        |                                        |\n"
		"       128 -> 255        : 0        |                                        |\n"
		"       256 -> 511        : 0        |                                        |\n"
		"       512 -> 1023       : 0        |                                        |\n"
		"      1024 -> 2047       : 2        |****************************************|\n"
		"      2048 -> 4095       : 2        |****************************************|\n");
	task_times_clear(&times);
}

TEST(task_times_have_a_map)
{
	static const struct task_time cpus[] = {{.cpu = 0, .idle_ns = 400 * MS},
						{.cpu = 1, .idle_ns = 799 * MS}};
	struct task_times times = {.keys = TASK_COMM, .max_rows = 10, .nr_cpus = 2};
	struct task_times_style style = {.is_plain = true, .cpus = cpus, .nr_cpus = 2};

	add_some(&times);
	check_written(MEDIA_TEXT, &times, &style,
		      "\n"
		      "busy: CPU0 60.0% CPU1 20.1%\n"
		      "\n"
		      "TASK                      RUNTIME(ms)    CPU0  CPU1\n"
		      "cc1:(2)                       800.000    60.0  20.0\n"
		      "a?b:13                          1.000           0.1\n");
	style.is_plain = false;
	check_written(
		MEDIA_JSON, &times, &style,
		"{\"time\": 1763746015.500, \"seconds\": 1.000, \"tasks\": [{\"comm\": "
		"\"cc1\", \"threads\": 2, \"run_ns\": 800000000, \"idle_ns\": null, "
		"\"switches\": 14, \"voluntary\": 6, \"involuntary\": 8, \"migrations\": 10, "
		"\"waits\": 4, \"unsplit\": 0, \"delay_ns\": 12000000, \"max_delay_ns\": "
		"8000000, \"max_delay_end_ns\": 7008000000, \"max_delay_cpu\": 0, \"ran_ns\": "
		"[{\"from\": 0, \"to\": 0, \"count\": 600000000}, {\"from\": 1, \"to\": 1, "
		"\"count\": 200000000}]}, {\"comm\": \"a\\u001bb\", \"threads\": 1, "
		"\"run_ns\": 1000000, \"idle_ns\": null, \"switches\": 7, \"voluntary\": 3, "
		"\"involuntary\": 4, \"migrations\": 5, \"waits\": 2, \"unsplit\": 0, "
		"\"delay_ns\": 0, \"max_delay_ns\": 0, \"max_delay_end_ns\": 7000000000, "
		"\"max_delay_cpu\": 1, \"ran_ns\": [{\"from\": 1, \"to\": 1, \"count\": "
		"1000000}]}]}\n");
	task_times_clear(&times);
}

/* Many CPUs are a character each. */
TEST(task_times_have_a_wide_map)
{
	struct task_time cpus[20] = {0};
	uint64_t ran_ns[20] = {1000 * MS, 944 * MS, 100 * MS, 94 * MS, MS, MS / 10};
	struct task_times times = {.keys = TASK_COMM, .max_rows = 10, .nr_cpus = 20};
	struct task_times_style style = {.is_plain = true, .cpus = cpus, .nr_cpus = 20};
	struct task_time one = thread("cc1", 11, 500, 4);
	struct sheet sheet = {0};
	char *text = NULL;
	size_t nr = 0, i;
	FILE *out = open_memstream(&text, &nr);

	for (i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i].cpu = (uint32_t)i;
	style.seconds = 1;
	CHECK_EQ(task_times_add(&times, &one, ran_ns), 0);
	CHECK_EQ(task_times_choose(&times, TASK_BY_AVG, 0), 0);
	task_times_fill(&sheet, &times, &style);
	CHECK_EQ(sheet_write(&sheet, MEDIA_TEXT, &(struct sheet_style){.width = 200}, out), 0);
	(void)fclose(out);
	CHECK(strstr(text, "  CPUS 0-19\n"));
	CHECK(strstr(text, "  #91..  "));
	sheet_clear(&sheet);
	task_times_clear(&times);
	free(text);
}

TEST(task_times_are_sorted)
{
	static const struct {
		enum task_order order;
		uint32_t tids[3];
	} orders[] = {
		{TASK_BY_AVG, {12, 11, 13}},	 {TASK_BY_MAX, {12, 11, 13}},
		{TASK_BY_RUNTIME, {11, 12, 13}}, {TASK_BY_SWITCHES, {11, 12, 13}},
		{TASK_BY_DELAY, {12, 11, 13}},	 {TASK_BY_MIGRATIONS, {11, 12, 13}},
		{TASK_BY_NAME, {13, 11, 12}},
	};
	struct task_times times = {.keys = TASK_TID, .max_rows = 10};
	size_t i, k;

	add_some(&times);
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		CHECK_EQ(task_times_choose(&times, orders[i].order, 0), 0);
		CHECK_EQ(times.nr_shown, 3);
		for (k = 0; k < 3; k++)
			CHECK_EQ(times.rows[times.order[k]].tid, orders[i].tids[k]);
	}
	CHECK_EQ(task_times_choose(&times, TASK_BY_MAX, 2), 0);
	CHECK_EQ(times.nr_shown, 2);
	task_times_clear(&times);
}

/* The last row is that of all others, and nothing of their sums is lost. */
TEST(task_times_beyond_the_limit)
{
	struct task_times times = {.keys = TASK_TID, .max_rows = 2, .nr_cpus = 2};
	struct task_times_style style = {.is_plain = true};
	uint64_t run_ns = 0;
	uint32_t i;

	for (i = 0; i < 10; i++)
		add(&times, thread("cc1", i, 1, 1), 1, 0);
	CHECK_EQ(times.nr, 3);
	CHECK_EQ(times.nr_over, 8);
	for (i = 0; i < times.nr; i++)
		run_ns += times.rows[i].sums.numbers.run_ns;
	CHECK_EQ(run_ns, 10 * MS);
	CHECK_STR(times.rows[2].comm, "[others]");
	CHECK_EQ(times.ran_ns[4], 8 * MS);
	times.nr_cpus = 0;
	check_written(MEDIA_CSV, &times, &style,
		      "time,seconds,comm,tid,threads,run_ns,idle_ns,switches,voluntary,involuntary,"
		      "migrations,waits,unsplit,delay_ns,max_delay_ns,max_delay_end_ns,"
		      "max_delay_cpu\r\n"
		      "1763746015.500,1.000,\"[others]\",,8,8000000,,56,24,32,40,16,0,8000000,"
		      "1000000,7001000000,0\r\n"
		      "1763746015.500,1.000,\"cc1\",0,1,1000000,,7,3,4,5,2,0,1000000,1000000,"
		      "7001000000,0\r\n"
		      "1763746015.500,1.000,\"cc1\",1,1,1000000,,7,3,4,5,2,0,1000000,1000000,"
		      "7001000000,1\r\n");
	task_times_clear(&times);
}

TEST(task_times_without_memory)
{
	size_t nth;
	int err = -ENOMEM;

	for (nth = 1; err; nth++) {
		struct task_times times = {.keys = TASK_TID, .max_rows = 2, .nr_cpus = 2};
		struct task_time one = thread("cc1", 1, 1, 1);

		(void)test_fail_allocation(nth);
		err = task_times_add(&times, &one, NULL);
		if (!err)
			err = task_times_choose(&times, TASK_BY_MAX, 0);
		(void)test_fail_allocation(0);
		CHECK(!err || err == -ENOMEM);
		task_times_clear(&times);
	}
	CHECK(nth > 3);
}
