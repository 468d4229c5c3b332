/* run/verdict: one set of rows, for stderr, profiles' comments and the JSON of --stats. */
#include "run/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/text/sheet_write.h"
#include "profile/profile.h"
#include "unit/look_here.h"
#include "unit/make_profile.h"
#include "unit/test.h"

static const struct stack_options options = {.no_symbols = true};
static const struct stack_source source = {.what = "cpu-clock at 99 Hz", .unit = "samples"};

static struct session_names names = {.options = &options};

static struct run_figures make_figures(void)
{
	struct symbolizer_options naming = {0};
	struct run_figures figures = {
		.session =
			{
				.accounting.sum = {.entries = 19976,
						   .idle = 14,
						   .recorded = 7000,
						   .counted = 12960,
						   .lost[LOST_RING_FULL] = 2},
				.complete = true,
				.shown = 19960,
				.sampled_ns = 10 * NS_PER_SEC,
			},
		.quality = {.user = 1000, .complete = 612, .broken = 388},
		.names = &names,
		.source = &source,
		.now_ns = 10 * NS_PER_SEC,
		.nr_cpus = 2,
	};

	figures.usage.ru_utime.tv_usec = 31000;
	figures.usage.ru_maxrss = 10000;
	names.symbolizer = symbolizer_new(&naming);
	CHECK(names.symbolizer != NULL);
	return figures;
}

static char *write_sheet(const struct verdict *verdict, enum media medium)
{
	const struct sheet_style style = {.width = 4096};
	struct sheet sheet = {0};
	char *text = NULL;
	size_t nr;
	FILE *stream = open_memstream(&text, &nr);

	CHECK(stream != NULL);
	verdict_add_to_sheet(verdict, &sheet);
	CHECK_EQ(sheet_status(&sheet), 0);
	CHECK_EQ(sheet_write(&sheet, medium, &style, stream), 0);
	CHECK_EQ(fclose(stream), 0);
	sheet_clear(&sheet);
	return text;
}

#define HEAD	"stook: cpu-clock at 99 Hz on 2 CPUs for 10.0 s\n"
#define SAMPLES "samples  19,976 fired = 19,960 shown + 14 idle + 0 filtered + 2 lost\n"
#define LOST	"         lost 2: "
#define STACKS	"stacks   user: 61.2 % complete, 38.8 % truncated\n"
#define COST	"cost     user space 0.031 s (0.15 % of 2 CPUs), memory 10.2 MB, kernel maps 0.0 MB\n"

/* The second line comes from the table of loss reasons. */
static void check_text(const char *text)
{
	const char *lost = strstr(text, LOST);

	CHECK(!strncmp(text, HEAD SAMPLES LOST, strlen(HEAD SAMPLES LOST)));
	CHECK(lost != NULL);
	CHECK_STR(strchr(lost, '\n') + 1, STACKS COST);
}

TEST(verdict_for_people)
{
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	struct verdict verdict;
	char *text;

	CHECK(profile != NULL);
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	text = write_sheet(&verdict, MEDIA_TEXT);
	check_text(text);
	free(text);
	verdict_clear(&verdict);
	profile_free(profile);
	symbolizer_free(names.symbolizer);
}

TEST(verdict_tells_the_cost_of_following_switches)
{
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	struct verdict verdict;
	char *text;

	CHECK(profile != NULL);
	figures.session.walks.nr_switches = 1000000;
	figures.session.walks.paid_ns = 2500 * NS_PER_MS;
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	text = write_sheet(&verdict, MEDIA_TEXT);
	CHECK(strstr(text,
		     COST "         following 1,000,000 switches took 2.50 us each, 12.50 % of "
			  "2 CPUs\n") != NULL);
	free(text);
	verdict_clear(&verdict);
	profile_free(profile);
	symbolizer_free(names.symbolizer);
}

static void make_and_write(const struct run_figures *figures, enum media medium, char **ret)
{
	struct profile *profile = profile_new();
	struct verdict verdict;

	CHECK(profile != NULL);
	CHECK_EQ(verdict_make(&verdict, figures, profile), 0);
	*ret = write_sheet(&verdict, medium);
	verdict_clear(&verdict);
	profile_free(profile);
}

static void check_says(const struct run_figures *figures, enum media medium, const char *part)
{
	char *text;

	make_and_write(figures, medium, &text);
	CHECK(strstr(text, part) != NULL);
	free(text);
}

/* Names that the kernel was told to leave out are filtered there. */
TEST(verdict_of_names_that_are_all_left_out)
{
	struct run_figures figures = make_figures();

	figures.session.accounting.sum =
		(struct wire_counters){.entries = 1010, .filtered = 1000, .recorded = 10};
	figures.session.shown = 0;
	figures.session.hidden = 10;
	check_says(&figures, MEDIA_TEXT,
		   "--comm or --exclude left out all threads: 1,010 samples\n");
	symbolizer_free(names.symbolizer);
}

TEST(verdict_of_own_samples)
{
	struct run_figures figures = make_figures();

	figures.session.accounting.sum.own = 20;
	check_says(&figures, MEDIA_TEXT, "+ 14 idle + 20 of stook itself + 0 filtered +");
	symbolizer_free(names.symbolizer);
}

/* Each event in its own unit; one that had to share a counter; programs get a list. */
TEST(verdict_on_events)
{
	static const struct sampled_event events[] = {{.event.name = "cycles"},
						      {.event.name = "cache-misses"}};
	const struct stack_source several = {
		.what = "", .unit = "samples", .events = events, .nr_events = 2, .by_period = true};
	struct run_figures figures = make_figures();
	char *text;

	figures.source = &several;
	figures.session.events[0] =
		(struct session_event){.taken = {.entries = 12, .weight = 12345},
				       .occurrences = 23456,
				       .running_share = 1};
	figures.session.events[1] = (struct session_event){
		.taken = {.entries = 3, .weight = 300}, .occurrences = 301, .running_share = 0.625};
	check_says(&figures, MEDIA_TEXT,
		   "\nevents   cycles: 23,456 counted, 12,345 of them in 12 samples\n"
		   "         cache-misses: 301 counted, 300 of them in 3 samples\n"
		   "         cache-misses had a counter 62.5 % of the time (multiplexed): ");
	figures.session.events[0].nr_cpus_uncounted = 1;
	figures.session.events[0].uncounted_cpu = 3;
	figures.session.events[0].uncounted_ns = 2500 * NS_PER_MS;
	figures.session.events[1].nr_cpus_uncounted = 2;
	figures.session.events[1].uncounted_ns = 5 * NS_PER_SEC;
	make_and_write(&figures, MEDIA_TEXT, &text);
	CHECK(strstr(text, "cycles had no counter on CPU 3: 2.50 s without samples\n") != NULL);
	CHECK(strstr(text, "cache-misses had no counter on 2 CPUs: 5.00 CPU seconds without "
			   "samples\n") != NULL);
	free(text);
	check_says(&figures, MEDIA_JSON,
		   "{\"event\": \"cache-misses\", \"samples\": 3, \"sampled\": 300, "
		   "\"counted\": 301, \"unseen_estimate\": 0, \"running_ppm\": 625000}");
	symbolizer_free(names.symbolizer);
}

/* CPU time of child processes is included in the sum and the share. */
TEST(verdict_on_the_cost_of_helpers)
{
	struct run_figures figures = make_figures();
	char *text;

	figures.helpers.ru_utime.tv_usec = 60000;
	figures.helpers.ru_stime.tv_usec = 9000;
	figures.helpers.ru_maxrss = 9000; /* less than stook's own */
	check_says(&figures, MEDIA_TEXT,
		   "user space 0.100 s (0.50 % of 2 CPUs), 0.069 s of it in helper "
		   "processes, memory 10.2 MB, kernel");
	figures.helpers.ru_maxrss = 50000;
	check_says(&figures, MEDIA_TEXT, "memory 10.2 MB (helper process: 51.2 MB), kernel");
	make_and_write(&figures, MEDIA_JSON, &text);
	CHECK(strstr(text, "\n\"user_us\": 31000,\n") != NULL);
	CHECK(strstr(text, "\n\"helpers_us\": 69000,\n") != NULL);
	CHECK(strstr(text, "\n\"helpers_rss_kb\": 50000,\n") != NULL);
	free(text);
	symbolizer_free(names.symbolizer);
}

TEST(verdict_on_the_cost_of_process_events)
{
	struct run_figures figures = make_figures();
	char *text;

	figures.session.nr_process_events = figures.session.accounting.sum.entries;
	make_and_write(&figures, MEDIA_TEXT, &text);
	CHECK(strstr(text, "forks") == NULL);
	free(text);
	figures.session.nr_process_events = 48312;
	check_says(&figures, MEDIA_TEXT, "\n         the kernel reported 48,312 forks, execs, ");
	check_says(&figures, MEDIA_JSON, "\n\"process_events\": 48312,\n");
	figures.session.sampled_ns *= 10; /* about 480 a second */
	make_and_write(&figures, MEDIA_TEXT, &text);
	CHECK(strstr(text, "forks") == NULL);
	free(text);
	symbolizer_free(names.symbolizer);
}

/* Stacks past the limit of user-space walks are not blamed on their unwind tables. */
TEST(verdict_on_stacks_of_too_many_processes)
{
	struct run_figures figures = make_figures();
	char *text;

	figures.quality.ends[WALK_TOO_MANY] = 200;
	make_and_write(&figures, MEDIA_TEXT, &text);
	CHECK(strstr(text, "20.0 % in new processes, more than user space may") != NULL);
	CHECK(strstr(text, "tables") == NULL);
	free(text);
	check_says(&figures, MEDIA_JSON, "\n\"user_end_too_many\": 200,\n");
	symbolizer_free(names.symbolizer);
}

/* A wait that began before its table was loaded shows so when it ends, however long its process lives. */
TEST(verdict_on_stacks_without_tables)
{
	const struct sampler_waits waits = {0};
	struct run_figures figures = make_figures();
	struct stack_source off_cpu = *figures.source;

	figures.quality.ends[WALK_NO_TABLE] = 200;
	check_says(&figures, MEDIA_TEXT,
		   "20.0 % sampled before the unwind table was ready (process too "
		   "short-lived): frame pointers only,");
	off_cpu.waits = &waits;
	figures.source = &off_cpu;
	check_says(&figures, MEDIA_TEXT, "table was ready: frame pointers only,");
	symbolizer_free(names.symbolizer);
}

TEST(verdict_on_forgotten_mappings)
{
	struct run_figures figures = make_figures();

	figures.session.nr_forgotten = 1234;
	check_says(&figures, MEDIA_TEXT,
		   "1,234 times, mappings of a process were dropped or read in part");
	symbolizer_free(names.symbolizer);
}

/* The row has its own topic, by which a report of the profile finds it. */
/* No shortage is silent. */
TEST(verdict_on_too_many_processes_with_run_time_code)
{
	static const struct stack_options with_names = {.no_symbols = false};
	struct run_figures figures = make_figures();
	char *text;

	names.options = &with_names;
	figures.session.nr_runtimes_refused = 7;
	figures.session.nr_runtimes_unheld = 3;
	make_and_write(&figures, MEDIA_TEXT, &text);
	CHECK(strstr(text, " 7 frames of further ones have no names\n") != NULL);
	CHECK(strstr(text, " the files of 3 further ones were not kept open,") != NULL);
	free(text);
	check_says(&figures, MEDIA_JSON, "\"runtimes_unheld\": 3,");
	names.options = &options;
	symbolizer_free(names.symbolizer);
}

TEST(verdict_on_stacks_without_mappings)
{
	static const struct stack_options with_names = {.no_symbols = false};
	struct run_figures figures = make_figures();

	names.options = &with_names;
	figures.session.nr_unawaited = 9;
	check_says(&figures, MEDIA_TEXT,
		   " 9 stacks could not wait for the mappings of their process:");
	check_says(&figures, MEDIA_JSON, "\"unawaited\": 9,");
	names.options = &options;
	symbolizer_free(names.symbolizer);
}

TEST(verdict_on_the_budget)
{
	const struct probe_list list = {.nr_probes = 3};
	const struct session_probes probes = {.list = &list};
	struct stack_source of_probes = {.what = "3 probes", .unit = "hits", .probes = &probes};
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	struct verdict verdict;
	char *text;

	CHECK(profile != NULL);
	figures.source = &of_probes;
	figures.session.accounting.sum.thinned = 900;
	figures.session.budget = (struct budget_result){.share = 0.03,
							.nr_thinned = 2,
							.thinned_ns = 1200000000,
							.one_of = 8,
							.nr_cut = 1,
							.cut_ns = 2000000000};
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	CHECK_EQ(verdict_add_comments(&verdict, profile), 0);
	text = write_sheet(&verdict, MEDIA_TEXT);
	CHECK(strstr(text, "+ 900 thinned out + 0 filtered +") != NULL);
	free(text);
	CHECK_STR(profile_comment_about(profile, "budget", ""),
		  "from 1.2 s on 1 hit in up to 8 of 2 of 3 probes was recorded and represents "
		  "the others: counts are estimates; at 2.0 s 1 of 3 probes were detached: their "
		  "hits are incomplete (--budget 3%)");
	CHECK(profile_comment_about(profile, "budget", "no such words") == NULL);
	CHECK(profile_comment_about(profile, "budge", "") == NULL);
	verdict_clear(&verdict);
	profile_free(profile);
	symbolizer_free(names.symbolizer);
}

static void check_cut_short(const struct run_figures *figures, const char *words)
{
	char *text;

	make_and_write(figures, MEDIA_TEXT, &text);
	CHECK((strstr(text, "maximum depth") != NULL) == (words != NULL));
	CHECK(!words || strstr(text, words) != NULL);
	free(text);
}

TEST(verdict_names_the_option_of_stacks_that_are_cut)
{
	static const struct stack_options shallow = {.no_symbols = true, .max_depth = 3};
	struct run_figures figures = make_figures();
	struct session_names shallow_names = {.options = &shallow,
					      .symbolizer = figures.names->symbolizer};

	check_cut_short(&figures, NULL);
	figures.quality.truncated = 10;
	check_cut_short(&figures, "maximum depth: 512 frames of a stack are kept\n");
	figures.names = &shallow_names;
	check_cut_short(&figures, "maximum depth: 3 frames of a stack are kept "
				  "(--max-depth, up to 512)\n");
	symbolizer_free(names.symbolizer);
}

/* The same lines as printed. */
TEST(verdict_as_comments)
{
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	char text[1024] = "";
	struct verdict verdict;
	size_t i;

	CHECK(profile != NULL);
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	CHECK_EQ(verdict_add_comments(&verdict, profile), 0);
	for (i = 0; i < profile_nr_comments(profile); i++) {
		(void)strncat(text, profile_comment(profile, i), sizeof(text) - strlen(text) - 2);
		(void)strcat(text, "\n");
	}
	check_text(text);
	verdict_clear(&verdict);
	profile_free(profile);
	symbolizer_free(names.symbolizer);
}

/*
 * Each figure is on a line of its own, for readers without a JSON parser; each row has its topic.
 */
TEST(verdict_for_programs)
{
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	struct verdict verdict;
	char *text;

	CHECK(profile != NULL);
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	text = write_sheet(&verdict, MEDIA_JSON);
	CHECK(!strncmp(text, "{\n\"lost_ring_full\": 2,\n", 23));
	CHECK(strstr(text, "\n\"entries\": 19976,\n") != NULL);
	CHECK(strstr(text, "\n\"max_rss_kb\": 10000,\n") != NULL);
	CHECK(strstr(text, "\n\"user_complete\": 612,\n") != NULL);
	CHECK(strstr(text, "\n{\"topic\": \"samples\", \"sentence\": \"lost 2: ") != NULL);
	CHECK(strstr(text, "\n{\"topic\": \"stacks\", \"sentence\": \"user: 61.2 % complete, "
			   "38.8 % truncated\"},\n") != NULL);
	CHECK_STR(text + strlen(text) - 5, "}]\n}\n");
	free(text);
	verdict_clear(&verdict);
	profile_free(profile);
	symbolizer_free(names.symbolizer);
}

/* Each file with many unnamed samples is listed, with advice on how to get its symbols. */
TEST(verdict_of_files_without_names)
{
	static const struct stack_options with_names = {.no_symbols = false};
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	char package[] = "install zlib1g-dbgsym";
	const struct module_code code = {.build_id = {1}, .build_id_bytes = 20};
	struct verdict verdict;
	uint32_t i;
	char *text;

	CHECK(profile != NULL);
	(void)make_sample(profile, "a;main;libz.so.1!libz.so.1+0x4a20 90");
	(void)make_sample(profile, "a;main;own!own+0x10 9");
	(void)make_sample(profile, "a;main 1");
	for (i = 0; i < profile_nr_modules(profile); i++)
		if (!strcmp(profile_module_name(profile, i), "libz.so.1"))
			CHECK_EQ(profile_set_code(profile, i, &code), 0);
	CHECK_EQ(quality_judge(profile, &figures.quality), 0);
	names.options = &with_names;
	names.packages[0] = package;
	(void)unsetenv("DEBUGINFOD_URLS");
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	text = write_sheet(&verdict, MEDIA_TEXT);
	CHECK(strstr(text, "90.0 % in libz.so.1, stripped: install "
			   "zlib1g-dbgsym, or set DEBUGINFOD_URLS\n") != NULL);
	CHECK(strstr(text, "9.0 % in own, stripped: install its debug file (--debug-dir); it has "
			   "no build id for a debuginfod server\n") != NULL);
	free(text);
	verdict_clear(&verdict);
	(void)setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	text = write_sheet(&verdict, MEDIA_TEXT);
	CHECK(strstr(text, "90.0 % in libz.so.1, stripped: install "
			   "zlib1g-dbgsym; not on the debuginfod server\n") != NULL);
	(void)unsetenv("DEBUGINFOD_URLS");
	free(text);
	verdict_clear(&verdict);
	names.options = &options;
	names.packages[0] = NULL;
	symbolizer_free(names.symbolizer);
	profile_free(profile);
}

/* All JIT-compiled code has the same module name, so truncated stacks in it name the process as well. */
TEST(verdict_on_stacks_that_end_in_run_time_code)
{
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	struct runtime_table *table = runtime_table_new();
	const struct runtime_process *process;
	char expected[128], *text;
	struct verdict verdict;
	int64_t number;

	CHECK(profile && table);
	number = add_runtime_here(table, getpid(), 0, 0, NULL, NULL);
	CHECK_EQ(number, 0); /* make_run_time_module() has the first process */
	process = runtime_table_get(table, 0);
	figures.runtimes = table;
	figures.quality.blamed[0].module = make_run_time_module(profile);
	figures.quality.blamed[0].end = WALK_NO_RULE;
	figures.quality.blamed[0].samples = 388;
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	text = write_sheet(&verdict, MEDIA_TEXT);
	(void)snprintf(expected, sizeof(expected),
		       "38.8 %% in [JIT] of %s (pid %d): ", process->comm, (int)getpid());
	CHECK(strstr(text, expected) != NULL);
	free(text);
	verdict_clear(&verdict);
	runtime_table_free(table);
	profile_free(profile);
	symbolizer_free(names.symbolizer);
}

/* Checks the reason for a run without results of a target. */
static void check_why_none(const struct sampler_waits *waits, uint64_t filtered,
			   const char *expected)
{
	struct run_figures figures = make_figures();
	struct stack_source chosen = source;

	chosen.waits = waits;
	figures.source = &chosen;
	figures.session.shown = 0;
	figures.session.accounting.sum =
		(struct wire_counters){.entries = 100, .filtered = filtered};
	figures.quality = (struct quality){0};
	check_says(&figures, MEDIA_TEXT, expected);
	symbolizer_free(names.symbolizer);
}

/* A target without samples may have run between two of them; one without waits did not wait, but may have run. */
TEST(verdict_on_runs_without_results)
{
	static const struct sampler_waits locks = {.for_locks = true};

	check_why_none(
		NULL, 100,
		"no sample hit the target: it did not run on a CPU in this time, or too briefly");
	check_why_none(NULL, 0, "no task ran in this time; --off-cpu shows");
	check_why_none(&locks, 100, "the target had no such wait in this time (children");
	check_why_none(&locks, 0, "no task had such a wait in this time\n");
}

/* Names are untrusted and may contain control characters. */
TEST(verdict_on_hostile_names)
{
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	struct stack_source hostile = {.what = "1 probe of '\033[2J\n'", .unit = "hits"};
	struct verdict verdict;
	char *text;

	CHECK(profile != NULL);
	figures.source = &hostile;
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	CHECK_STR(verdict.head, "stook: 1 probe of '?[2J?' on 2 CPUs for 10.0 s");
	text = write_sheet(&verdict, MEDIA_TEXT);
	CHECK(strchr(text, '\033') == NULL);
	free(text);
	verdict_clear(&verdict);
	profile_free(profile);
	symbolizer_free(names.symbolizer);
}

/* Checks the advice for samples in a Python of which only the interpreter has names. */
static void check_python(const char *file, uint64_t interpreted, const char *advice)
{
	static const struct stack_options naming = {0};
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	struct module module = {.kind = MODULE_FILE};
	const struct sample_labels labels = {0};
	struct verdict verdict;
	int64_t number, frame;
	uint32_t leaf;
	char *text, *said;

	CHECK(profile != NULL);
	module.name = (uint32_t)profile_add_string(profile, file);
	number = profile_add_module(profile, &module);
	CHECK(number > 0);
	frame = profile_add_frame(profile, FRAME_USER, (uint32_t)number, 0x10);
	CHECK(frame >= 0);
	leaf = (uint32_t)frame;
	CHECK(profile_add_sample(profile, &labels, &leaf, 1, 0, 1000) >= 0);
	figures.quality.interpreted[0] = (struct quality_nameless){(uint32_t)number, interpreted};
	names.options = &naming;
	CHECK_EQ(verdict_make(&verdict, &figures, profile), 0);
	text = write_sheet(&verdict, MEDIA_TEXT);
	said = strstr(text, "only the interpreter is visible: ");
	CHECK_EQ(said != NULL, advice != NULL);
	if (said && advice)
		CHECK(!strncmp(strchr(said, ':') + 2, advice, strlen(advice)));
	free(text);
	verdict_clear(&verdict);
	profile_free(profile);
	symbolizer_free(names.symbolizer);
	names.options = &options;
}

TEST(verdict_advises_pythons_by_their_version)
{
	check_python("/usr/lib/libpython3.12.so.1.0", 900, "start it with -X perf\n");
	check_python("/usr/bin/python3.13t", 51, "start it with -X perf\n");
	check_python("/usr/bin/python3.11", 900,
		     "Python 3.11 has no -X perf, 3.12 or newer is needed\n");
	check_python("/usr/lib/libpython3.6m.so.1.0", 900,
		     "Python 3.6 has no -X perf, 3.12 or newer is needed\n");
	check_python("/opt/app/bin/python", 900, "start it with -X perf (3.12 or newer)\n");
	check_python("/usr/lib/libpython3.12.so.1.0", 50, NULL); /* too few */
}

TEST(verdict_without_memory)
{
	struct run_figures figures = make_figures();
	struct profile *profile = profile_new();
	struct verdict verdict;
	size_t nth, nr;
	int err;

	CHECK(profile != NULL);
	for (nth = 1;; nth++) {
		(void)test_fail_allocation(nth);
		err = verdict_make(&verdict, &figures, profile);
		nr = test_fail_allocation(0);
		verdict_clear(&verdict);
		if (nr < nth)
			break;
		CHECK_EQ(err, -ENOMEM);
	}
	CHECK_EQ(err, 0);
	profile_free(profile);
	symbolizer_free(names.symbolizer);
}

TEST(verdict_on_cpus_that_were_offline)
{
	struct run_figures figures = make_figures();
	char *text;

	figures.session.nr_cpus_short = 1;
	figures.session.short_cpu = 3;
	figures.session.short_ns = 2440 * NS_PER_MS;
	check_says(&figures, MEDIA_TEXT, "CPU 3 was offline at times: 2.44 s without samples\n");
	figures.session.nr_cpus_short = 2;
	figures.session.unwatched = "cannot map the event buffer of CPU 5: Operation not permitted";
	make_and_write(&figures, MEDIA_TEXT, &text);
	CHECK(strstr(text, "2 CPUs were offline at times: 2.44 CPU seconds without samples\n") !=
	      NULL);
	CHECK(strstr(text, "a CPU that came online was not sampled at once, and some names may be "
			   "wrong: cannot map the event buffer of CPU 5") != NULL);
	free(text);
	symbolizer_free(names.symbolizer);
}
