/* view/counts: the metrics of `stook stat`, and the exact text of its table in each format. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/text/sheet_write.h"
#include "view/counts.h"

#define EVENTS_MAX 16
#define SEC	   1000000000ULL

static struct event items[EVENTS_MAX];
static struct counted counted[EVENTS_MAX];
static enum count_state states[EVENTS_MAX];
static struct counts_row row = {.counts = counted, .label = ""};
static struct counts counts = {
	.events = items,
	.states = states,
	.rows = &row,
	.nr_rows = 1,
	.time = 1763746015.5,
	.seconds = 2,
	.user_seconds = -1,
	.nr_runs = 1,
};

static size_t add(const char *name, double value)
{
	const size_t number = counts.nr_events++;
	struct event *event = &items[number];

	CHECK(number < EVENTS_MAX);
	if (event_parse(name, event, NULL) < 0) {
		const char *slash = strchr(name, '/');

		/* An event of a PMU that this machine need not have. */
		*event = (struct event){.scale = 1, .attr.type = 4};
		(void)snprintf(event->name, sizeof(event->name), "%s", name);
		(void)snprintf(event->pmu, sizeof(event->pmu), "%.*s",
			       slash ? (int)(slash - name) : 3, slash ? name : "cpu");
	}
	event->leader = number;
	counted[number] = (struct counted){value, 2 * SEC, 2 * SEC, 0};
	return number;
}

static void check_metric(size_t event, double want, const char *unit)
{
	const struct metric metric = counts_metric(&counts, &row, event);
	char got[64], wanted[64];

	(void)snprintf(got, sizeof(got), "%.6g %s", metric.value, metric.unit ? metric.unit : "");
	(void)snprintf(wanted, sizeof(wanted), "%.6g %s", want, unit);
	CHECK_STR(got, wanted);
}

static void check_written(enum media medium, const char *want)
{
	const struct sheet_style style = {.is_first = true, .width = 200};
	struct sheet sheet = {0};
	char *text = NULL;
	size_t nr = 0;
	FILE *out = open_memstream(&text, &nr);

	CHECK(out != NULL);
	counts_fill(&sheet, &counts);
	CHECK_EQ(sheet_write(&sheet, medium, &style, out), 0);
	(void)fclose(out);
	CHECK_STR(text, want);
	sheet_clear(&sheet);
	free(text);
}

TEST(counts_have_metrics)
{
	const size_t clock = add("task-clock", 1.5e9), cycles = add("cycles", 3e9),
		     instructions = add("instructions", 6e9),
		     front = add("stalled-cycles-frontend", 3e8), branches = add("branches", 1e9),
		     branch_misses = add("branch-misses", 2e7),
		     cache_misses = add("cache-misses", 5), loads = add("L1-dcache-loads", 1e9),
		     misses = add("L1-dcache-load-misses", 1e8), tlb = add("dTLB-store-misses", 9);

	check_metric(clock, 0.75, "CPUs utilized");
	check_metric(cycles, 2, "GHz");
	check_metric(instructions, 2, "insn per cycle");
	check_metric(front, 10, "% frontend cycles idle");
	check_metric(branches, 1e9 / 1.5, "/sec");
	check_metric(branch_misses, 2, "% of all branches");
	check_metric(cache_misses, 5 / 1.5, "/sec"); /* cache-references are not counted */
	check_metric(loads, 1e9 / 1.5, "/sec");
	check_metric(misses, 10, "% of all L1-dcache accesses");
	check_metric(tlb, 6, "/sec");
	/* Events that were not counted, or that cannot be, are no divisor and have no metric. */
	counted[cycles].running_ns = 0;
	states[branches] = COUNT_UNSUPPORTED;
	counted[branches].running_ns = 0;
	check_metric(cycles, 0, "");
	check_metric(branches, 0, "");
	check_metric(instructions, 4e9, "/sec");
	check_metric(branch_misses, 2e7 / 1.5, "/sec");
	counted[clock].running_ns = 0;
	check_metric(instructions, 0, "");
}

TEST(counts_divide_by_what_counts_the_same)
{
	size_t user, kernel;

	(void)add("cycles", 100);
	(void)add("cycles:u", 10);
	user = add("instructions:u", 30);
	kernel = add("instructions:k", 40);
	check_metric(user, 3, "insn per cycle");
	check_metric(kernel, 0, "");
	/* The cycles of the same group, which were counted at the same time. */
	items[add("cycles:u", 20)].leader = user;
	check_metric(user, 1.5, "insn per cycle");
}

TEST(counts_of_the_msr_pmu)
{
	const size_t tsc = add("msr/tsc/", 2 * 2.6e9), mperf = add("msr/mperf/", 2.6e9),
		     aperf = add("msr/aperf/", 3.9e9);

	check_metric(tsc, 2.6, "GHz, the TSC");
	check_metric(mperf, 50, "% of the time not idle");
	check_metric(aperf, 3.9, "GHz when not idle");
	/* Counts are averages of runs, times are sums. */
	counts.nr_runs = 3;
	counted[tsc].running_ns = counted[aperf].running_ns = (uint64_t)6 * SEC;
	check_metric(tsc, 2.6, "GHz, the TSC");
	check_metric(aperf, 3.9, "GHz when not idle");
	counts.nr_runs = 1;
	counted[mperf].running_ns = 0;
	check_metric(aperf, 0, "");
}

TEST(counts_of_top_down)
{
	const size_t slots = add("slots", 1000), retiring = add("cpu/topdown-retiring/", 400),
		     backend = add("topdown-be-bound:u", 300);

	items[backend].attr.exclude_kernel = 0;
	check_metric(slots, 0, "");
	check_metric(retiring, 40, "% retiring");
	check_metric(backend, 30, "% backend bound");
}

TEST(counts_of_top_down_by_slots)
{
	const size_t total = add("topdown-total-slots", 1000),
		     issued = add("topdown-slots-issued", 500),
		     retired = add("topdown-slots-retired", 400),
		     bubbles = add("topdown-fetch-bubbles", 200),
		     recovery = add("topdown-recovery-bubbles", 50);

	check_metric(total, 0, "");
	check_metric(retired, 40, "% retiring");
	check_metric(bubbles, 20, "% frontend bound");
	check_metric(recovery, 15, "% bad speculation");
	check_metric(issued, 25, "% backend bound");
}

TEST(counts_of_stalls)
{
	(void)add("cycles", 1000);
	check_metric(add("cycle_activity.stalls_l2_miss", 250), 25, "% of cycles");
	check_metric(add("exe_activity.bound_on_stores", 300), 30, "% of cycles");
	check_metric(add("DECODE:LCP", 10), 1, "% of cycles");
	check_metric(add("stall_slot", 250), 0, "");
}

TEST(counts_of_stalls_on_a_hybrid_cpu)
{
	const size_t core = add("cycles", 1000), atom = add("cycles", 500),
		     stalls = add("cpu_atom/stalls/", 250);

	(void)strcpy(items[core].pmu, "cpu_core");
	(void)strcpy(items[atom].pmu, "cpu_atom");
	check_metric(stalls, 50, "% of cycles");
}

static void add_some(void)
{
	(void)add("task-clock", 1234567890);
	(void)add("context-switches", 0);
	(void)add("cycles", 3012345678);
	(void)add("instructions", 4000000000);
	(void)add("branches", 0);
	(void)add("branch-misses", 0);
	(void)add("power/energy-pkg/", 1000);
	(void)add("stalled-cycles-backend", 0);
	counted[2].running_ns = SEC * 3 / 2;
	states[4] = COUNT_UNSUPPORTED;
	counted[4] = counted[5] = (struct counted){0};
	items[6].scale = 0.01;
	(void)strcpy(items[6].unit, "Joules");
	states[7] = COUNT_HIDDEN;
}

TEST(counts_as_text)
{
	add_some();
	counts.title = "'sleep 1'";
	counts.user_seconds = 1.25;
	counts.system_seconds = 0.5;
	check_written(
		MEDIA_TEXT,
		"\n"
		" Performance counter stats for 'sleep 1':\n"
		"\n"
		"          1,234.57 msec   task-clock               #    0.617 CPUs utilized\n"
		"                 0        context-switches         #    0.000 /sec\n"
		"     3,012,345,678        cycles                   #    2.440 GHz             "
		" (75.00%)\n"
		"     4,000,000,000        instructions             #    1.33  insn per cycle\n"
		"   <not supported>        branches\n"
		"     <not counted>        branch-misses\n"
		"             10.00 Joules power/energy-pkg/\n"
		"\n"
		"       2.000000000 seconds time elapsed\n"
		"\n"
		"       1.250000000 seconds user\n"
		"       0.500000000 seconds sys\n"
		"\n");
}

TEST(counts_of_runs_and_cpus_as_text)
{
	struct counted other[] = {{3.5e9, SEC, SEC, 0.35e9}, {999, SEC, SEC, 1}};
	struct counts_row two[] = {row, {"1", 0, other}};

	two[0].label = "0";
	counts.rows = two;
	counts.nr_rows = 2;
	counts.by = "cpu";
	counts.title = "'./x' (3 runs)";
	counts.nr_runs = 3;
	counts.seconds_spread = 0.02;
	(void)add("task-clock", 1e9);
	(void)add("faults", 2500000);
	check_written(
		MEDIA_TEXT,
		"\n"
		" Performance counter stats for './x' (3 runs):\n"
		"\n"
		"CPU0            1,000.00 msec task-clock               #    0.500 CPUs "
		"utilized    ( +-  0.00% )\n"
		"CPU0           2,500,000      faults                   #    2.500 M/sec      "
		"      ( +-  0.00% )\n"
		"CPU1            3,500.00 msec task-clock               #    1.750 CPUs "
		"utilized    ( +- 10.00% )\n"
		"CPU1                 999      faults                   #  285.429 /sec       "
		"      ( +-  0.10% )\n"
		"\n"
		"       2.000000000 ± 0.020000000 seconds time elapsed  ( +-  1.00% )\n"
		"\n");
}

TEST(counts_of_an_interval_as_text)
{
	counts.since_start = 1.5;
	counts.by = "cpu";
	row.label = "0";
	(void)add("task-clock", 1e9);
	counts.has_heading = true;
	check_written(MEDIA_TEXT,
		      "#           time  cpu               counts unit events\n"
		      "     1.500000000  CPU0            1,000.00 msec task-clock          "
		      "     #    0.500 CPUs utilized\n");
	counts.has_heading = false;
	check_written(MEDIA_TEXT,
		      "     1.500000000  CPU0            1,000.00 msec task-clock               "
		      "#    0.500 CPUs utilized\n");
}

TEST(counts_as_markdown)
{
	add_some();
	counts.title = "'sleep 1'";
	counts.nr_events = 3;
	check_written(MEDIA_MARKDOWN,
		      " Performance counter stats for 'sleep 1':\n"
		      "\n"
		      "| count | unit | event | metric | running |\n"
		      "|---:|---|---|---|---|\n"
		      "| 1,234.57 | msec | `task-clock` | 0.617 CPUs utilized |  |\n"
		      "| 0 |  | `context-switches` | 0.000 /sec |  |\n"
		      "| 3,012,345,678 |  | `cycles` | 2.440 GHz | (75.00%) |\n"
		      "\n"
		      "       2.000000000 seconds time elapsed\n");
}

TEST(counts_for_programs)
{
	add_some();
	row.label = "S0";
	row.nr_cpus = 8;
	counts.by = "socket";
	counts.nr_events = 5;
	check_written(
		MEDIA_CSV,
		"time,seconds,socket,cpus,event,value,unit,state,enabled_ns,running_ns,metric,"
		"metric_unit\r\n"
		"1763746015.500,2.000000000,\"S0\",8,\"task-clock\",1234567890,\"ns\","
		"\"counted\",2000000000,2000000000,0.617284,\"CPUs utilized\"\r\n"
		"1763746015.500,2.000000000,\"S0\",8,\"context-switches\",0,,\"counted\","
		"2000000000,2000000000,0.000000,\"/sec\"\r\n"
		"1763746015.500,2.000000000,\"S0\",8,\"cycles\",3012345678,,\"counted\","
		"2000000000,1500000000,2.440000,\"GHz\"\r\n"
		"1763746015.500,2.000000000,\"S0\",8,\"instructions\",4000000000,,\"counted\","
		"2000000000,2000000000,1.327869,\"insn per cycle\"\r\n"
		"1763746015.500,2.000000000,\"S0\",8,\"branches\",,,\"not supported\",0,0,,"
		"\r\n");
	counts.nr_events = 1;
	check_written(MEDIA_JSON,
		      "{\"time\": 1763746015.500, \"seconds\": 2.000000000, \"counts\": "
		      "[{\"socket\": \"S0\", \"cpus\": 8, \"event\": \"task-clock\", \"value\": "
		      "1234567890, \"unit\": \"ns\", \"state\": \"counted\", \"enabled_ns\": "
		      "2000000000, \"running_ns\": 2000000000, \"metric\": 0.617284, "
		      "\"metric_unit\": \"CPUs utilized\"}]}\n");
}

TEST(counts_fail_without_memory)
{
	size_t nth, nr = 0;

	add_some();
	counts.title = "'sleep 1'";
	for (nth = 1; nth < 40; nth++) {
		struct sheet sheet = {0};

		(void)test_fail_allocation(nth);
		counts_fill(&sheet, &counts);
		(void)test_fail_allocation(0);
		nr += sheet_status(&sheet) < 0;
		sheet_clear(&sheet);
	}
	CHECK(nr > 5 && nr < 39);
}
