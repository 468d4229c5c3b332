/* event/event, event/pmu and event/models over trees of PMUs that this machine does not have. */
#include "unit/event_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "event/event.h"
#include "event/models.h"
#include "event/pmu.h"

struct fixture {
	char folder[sizeof(TREE_FOLDER)];
	struct event_host *host;
	struct events events;
	struct error error;
};

static void begin(struct fixture *fixture, const char *tree, const char *model)
{
	struct event_host_options options = {.tracefs_fd = -1, .model = model};

	*fixture = (struct fixture){.folder = TREE_FOLDER};
	tree_make(tree, fixture->folder);
	options.devices = fixture->folder;
	fixture->host = event_host_open(&options, NULL);
	CHECK(fixture->host);
}

static void end(struct fixture *fixture)
{
	events_clear(&fixture->events);
	event_host_close(fixture->host);
	tree_remove(fixture->folder);
}

/* Parses into fixture->events, after what is there. */
static void parse(struct fixture *fixture, const char *text)
{
	int err = events_parse(fixture->host, text, &fixture->events, &fixture->error);

	if (err)
		fprintf(stderr, "  '%s': %s\n", text, fixture->error.text);
	CHECK_EQ(err, 0);
}

static struct event parse_one(struct fixture *fixture, const char *text)
{
	events_clear(&fixture->events);
	parse(fixture, text);
	CHECK_EQ(fixture->events.nr, 1);
	return fixture->events.items[0];
}

static void check(struct fixture *fixture, const char *text, uint32_t type, uint64_t config,
		  uint64_t config1)
{
	struct event event = parse_one(fixture, text);

	CHECK_EQ(event.attr.type, type);
	CHECK_EQ(event.attr.config, config);
	CHECK_EQ(event.attr.config1, config1);
	CHECK_EQ(event.attr.size, sizeof(event.attr));
}

/* Both the error and its hint must have these words. */
static void refuse(struct fixture *fixture, const char *text, const char *error, const char *hint)
{
	const size_t nr = fixture->events.nr;

	fixture->error = (struct error){0};
	CHECK(events_parse(fixture->host, text, &fixture->events, &fixture->error) < 0);
	CHECK_EQ(fixture->events.nr, nr);
	if (!strstr(fixture->error.text, error) || !strstr(fixture->error.hint, hint))
		fprintf(stderr, "  '%s': %s (%s)\n", text, fixture->error.text,
			fixture->error.hint);
	CHECK(strstr(fixture->error.text, error));
	CHECK(strstr(fixture->error.hint, hint));
}

/* --- formats ----------------------------------------------------------------------------------- */

TEST(pmu_formats)
{
	static const struct {
		const char *text;
		unsigned field;
		uint64_t bits;
	} right[] = {
		{"config:0-7", 0, 0xff},	{"config:0-7,32-35", 0, 0xf000000ff},
		{"config:0-63", 0, UINT64_MAX}, {"config1:63", 1, 1ULL << 63},
		{"config2:0,2,4-5", 2, 0x35},	{"config3:1", 3, 2},
	};
	static const char *const wrong[] = {
		"",	      "config",	     "config:",
		"config:a",   "config:1,",   "config:,1",
		"config:2-1", "config:0-64", "config:1 ",
		"config4:1",  "umask:1",     "config:1-",
		"config:-1",  "config:1--2", "config:99999999999999999999",
		"CONFIG:1",   "config:1;2",  "config:1-2-3",
		"config 1"};
	struct pmu_format format;
	uint64_t field = UINT64_MAX;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(right); i++) {
		CHECK_EQ(pmu_format_parse(right[i].text, &format), 0);
		CHECK_EQ(format.field, right[i].field);
		CHECK_EQ(format.bits, right[i].bits);
	}
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_EQ(pmu_format_parse(wrong[i], &format), -EINVAL);
	/* Values fill the bits from the lowest one, and replace what was there. */
	CHECK_EQ(pmu_format_parse("config:0-7,32-35", &format), 0);
	CHECK_EQ(pmu_format_max(&format), 0xfff);
	CHECK_EQ(pmu_format_set(&format, 0x3a5, &field), 0);
	CHECK_EQ(field, 0xfffffff3ffffffa5);
	CHECK_EQ(pmu_format_set(&format, 0x1000, &field), -ERANGE);
	CHECK_EQ(field, 0xfffffff3ffffffa5);
}

TEST(pmu_meant_by_a_name)
{
	static const struct {
		const char *name, *text;
		bool is_meant;
	} cases[] = {
		{"cpu", "cpu", true},
		{"uncore_imc_0", "uncore_imc_0", true},
		{"uncore_imc_0", "uncore_imc", true},
		{"uncore_imc_10", "uncore_imc", true},
		{"uncore_imc_10", "imc", true},
		{"uncore_imc_10", "imc_1", false},
		{"uncore_imc_1", "imc_1", true},
		{"uncore_imc_0", "uncore_im", false},
		{"uncore_imc_0", "uncore_i*", true},
		{"uncore_imc_0", "im?_[01]", true},
		{"uncore_imc_free_running", "uncore_imc", false},
		{"uncore_imc_free_running_0", "uncore_imc", false},
		{"cpu_core", "cpu", false},
		{"arm_spe_0", "arm_spe", true},
		{"i915", "i", true},
		{"cpu", "cpu_core", false},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pmu pmu = {.name = (char *)cases[i].name};

		if (pmu_is_meant(&pmu, cases[i].text) != cases[i].is_meant)
			fprintf(stderr, "  %s %s\n", cases[i].name, cases[i].text);
		CHECK_EQ(pmu_is_meant(&pmu, cases[i].text), cases[i].is_meant);
	}
}

/* --- three vendors ----------------------------------------------------------------------------- */

TEST(pmu_skylake)
{
	struct fixture fixture;
	struct event event;

	begin(&fixture, "skylake", "");
	check(&fixture, "cpu/event=0x3c,umask=0x0/", 4, 0x3c, 0);
	check(&fixture, "cpu/event=0xb1,umask=0x2,cmask=1,inv,edge=1/", 4, 0x18402b1, 0);
	check(&fixture, "cpu/config=0x1c2,config1=7/", 4, 0x1c2, 7);
	check(&fixture, "cpu/r1c2/", 4, 0x1c2, 0);
	check(&fixture, "cpu//", 4, 0, 0);
	check(&fixture, "cpu/offcore_rsp=0xffffffffffffffff/", 4, 0, UINT64_MAX);
	check(&fixture, "cpu/mem-loads/", 4, 0x1cd, 3);
	check(&fixture, "mem-loads", 4, 0x1cd, 3);
	check(&fixture, "MEM-LOADS", 4, 0x1cd, 3);
	/* A term replaces what the event sets. */
	check(&fixture, "cpu/mem-loads,ldlat=30/", 4, 0x1cd, 30);
	check(&fixture, "mem-loads/ldlat=30/", 4, 0x1cd, 30);
	check(&fixture, "cpu/cycles-ct/", 4, 0x30000003c, 0);
	check(&fixture, "msr/tsc/", 9, 0, 0);
	check(&fixture, "tsc", 9, 0, 0);
	/* Generic names come first. */
	check(&fixture, "cpu-cycles", PERF_TYPE_HARDWARE, 0, 0);
	check(&fixture, "software/config=2/", 1, 2, 0);

	event = parse_one(&fixture, "cpu/event=0x3c,name=my-cycles,period=1000/");
	CHECK_STR(event.name, "my-cycles");
	CHECK_EQ(event.attr.sample_period, 1000);
	CHECK(!event.attr.freq);
	CHECK_STR(event.pmu, "cpu");
	CHECK_STR(event.cpus, "");
	event = parse_one(&fixture, "cpu/freq=99,name='a:b,c'/u");
	CHECK_STR(event.name, "a:b,c");
	CHECK(event.attr.freq && event.attr.sample_freq == 99 && event.attr.exclude_kernel);
	event = parse_one(&fixture, "cycles/period=7,name=c/k");
	CHECK(event.attr.sample_period == 7 && event.attr.exclude_user);
	event = parse_one(&fixture, "power/energy-pkg/");
	CHECK_STR(event.unit, "Joules");
	CHECK(event.scale > 2.328e-10 && event.scale < 2.329e-10);
	CHECK_STR(event.cpus, "0,18");
	event = parse_one(&fixture, "topdown-total-slots");
	CHECK(event.scale > 1.9 && event.scale < 2.1);
	event = parse_one(&fixture, "cpu/event=1/");
	CHECK(event.scale > 0.9 && event.scale < 1.1);
	CHECK_STR(event.name, "cpu/event=1/");
	end(&fixture);
}

/* A description is on each PMU that it means, numbers in order. */
TEST(pmu_uncore)
{
	struct fixture fixture;

	begin(&fixture, "skylake", "");
	parse(&fixture, "uncore_imc/event=4,umask=3/");
	CHECK_EQ(fixture.events.nr, 3);
	CHECK_STR(fixture.events.items[0].pmu, "uncore_imc_0");
	CHECK_STR(fixture.events.items[1].pmu, "uncore_imc_1");
	CHECK_STR(fixture.events.items[2].pmu, "uncore_imc_10");
	CHECK_EQ(fixture.events.items[2].attr.type, 22);
	CHECK_EQ(fixture.events.items[2].attr.config, 0x304);
	CHECK_EQ(fixture.events.items[2].leader, 2);
	CHECK_STR(fixture.events.items[2].cpus, "0,18");
	parse(&fixture, "cas_count_read");
	CHECK_EQ(fixture.events.nr, 5);
	CHECK_STR(fixture.events.items[4].unit, "MiB");
	parse(&fixture, "uncore_imc_1/cas_count_read/");
	CHECK_EQ(fixture.events.nr, 6);
	CHECK_EQ(fixture.events.items[5].attr.type, 21);
	parse(&fixture, "uncore_*/event=1/");
	CHECK_EQ(fixture.events.nr, 11);
	/* uncore_imc_10 has no such event. */
	refuse(&fixture, "uncore_imc/cas_count_read/", "'uncore_imc_10' has no term or event",
	       "its terms are: event, umask");
	check(&fixture, "cha/umask=0xffffffff/", 40, 0xffffff0000ff00, 0);
	end(&fixture);
}

TEST(pmu_zen)
{
	struct fixture fixture;

	begin(&fixture, "zen", "");
	check(&fixture, "cpu/event=0x187,umask=0x2/", 4, 0x100000287, 0);
	check(&fixture, "ibs_op//", 11, 0, 0);
	check(&fixture, "ibs_op/cnt_ctl=1/", 11, 0x80000, 0);
	check(&fixture, "ibs_op/cnt_ctl,l3missonly=1/pp", 11, 0x90000, 0);
	check(&fixture, "ibs_fetch/rand_en=1/", 10, 1ULL << 57, 0);
	check(&fixture, "amd_df/event=0x3f07,umask=0x38/", 14, 0x1800000f00003807, 0);
	check(&fixture, "amd_l3/event=0x4,umask=0xff,threadmask=3,enallslices=1,sliceid=7/", 13,
	      0x030740000000ff04, 0);
	refuse(&fixture, "ibs_op/cnt_ctl=2/", "bad value '2' of 'cnt_ctl'", "largest is 1");
	refuse(&fixture, "ibs_op/cnt_clt=1/", "'ibs_op' has no term or event 'cnt_clt'",
	       "'cnt_ctl'");
	refuse(&fixture, "ibs_ops/cnt_ctl=1/", "no PMU or event 'ibs_ops'", "'ibs_op'");
	end(&fixture);
}

TEST(pmu_arm)
{
	struct fixture fixture;
	struct event event;

	begin(&fixture, "arm", "");
	check(&fixture, "armv8_pmuv3_0/event=0x11/", 8, 0x11, 0);
	check(&fixture, "armv8_pmuv3/cpu_cycles,long/u", 8, 0x11, 1);
	check(&fixture, "l1d_cache_refill", 8, 3, 0);
	check(&fixture, "arm_spe/ts_enable=1,load_filter=1,jitter=1,min_latency=30,event_filter=2/",
	      9, 0x200010001, 2);
	event = parse_one(&fixture, "arm_spe_0//u");
	CHECK(event.attr.exclude_kernel && event.attr.exclude_hv && !event.attr.exclude_user);
	CHECK_STR(event.cpus, "0-3");
	refuse(&fixture, "arm_spe_0/discard=1/", "bits of 'discard' are not understood", "");
	end(&fixture);
}

/* Generic events are one for each kind of core; a raw event has the PMU's type. */
TEST(pmu_hybrid)
{
	struct fixture fixture;
	struct event event;

	begin(&fixture, "alderlake", "");
	parse(&fixture, "cycles:u,mem-loads,r1c2,page-faults,cpu_atom/event=0x3c/");
	CHECK_EQ(fixture.events.nr, 8);
	CHECK_EQ(fixture.events.items[0].attr.config, 4ULL << 32);
	CHECK_EQ(fixture.events.items[1].attr.config, 10ULL << 32);
	CHECK(fixture.events.items[1].attr.exclude_kernel);
	CHECK_STR(fixture.events.items[1].cpus, "8-15");
	CHECK_EQ(fixture.events.items[2].attr.config, 0x5d0);
	CHECK_EQ(fixture.events.items[3].attr.config, 0x1cd);
	CHECK_EQ(fixture.events.items[4].attr.type, 4);
	CHECK_EQ(fixture.events.items[5].attr.type, 10);
	CHECK_EQ(fixture.events.items[6].attr.type, PERF_TYPE_SOFTWARE);
	event = parse_one(&fixture, "slots");
	CHECK_EQ(event.attr.config, 0x400);
	end(&fixture);
}

/* A group on a hybrid CPU: cycles and instructions of the one kind, those of the other, and the clock alone. */
TEST(pmu_hybrid_groups)
{
	static const size_t leaders[] = {0, 1, 2, 1, 2, 5, 5};
	struct fixture fixture;
	size_t i;

	begin(&fixture, "alderlake", "");
	parse(&fixture, "{task-clock,cycles,instructions}:D,{cpu_core/event=1/,faults}");
	CHECK_EQ(fixture.events.nr, ARRAY_SIZE(leaders));
	for (i = 0; i < ARRAY_SIZE(leaders); i++) {
		const struct event *event = &fixture.events.items[i];

		CHECK_EQ(event->leader, leaders[i]);
		CHECK_EQ(event->attr.pinned, i < 3);
	}
	CHECK_STR(fixture.events.items[1].pmu, "cpu_core");
	CHECK_STR(fixture.events.items[4].pmu, "cpu_atom");
	end(&fixture);
}

/* What has the same name on several PMUs gets theirs; each name means what it is the name of. */
TEST(pmu_in_names)
{
	static const char *const cores[] = {
		"cpu_core/cycles/",
		"cpu_atom/cycles/",
		"cpu_core/cycles/u",
		"cpu_atom/cycles/u",
		"cpu_atom/mem-loads,ldlat=30/P",
		"cpu_core/mem-loads,ldlat=30/P",
		"cpu_core/event=0x3c/",
		"page-faults",
		"slots",
	};
	static const char *const uncore[] = {
		"uncore_imc_0/event=4/",
		"uncore_imc_1/event=4/",
		"uncore_imc_10/event=4/",
		"uncore_cha_0/event=1/",
	};
	struct fixture fixture;
	size_t i;

	begin(&fixture, "alderlake", "");
	parse(&fixture,
	      "cycles,cycles:u,mem-loads/ldlat=30/P,cpu_core/event=0x3c/,page-faults,slots");
	events_tell_apart(&fixture.events);
	CHECK_EQ(fixture.events.nr, ARRAY_SIZE(cores));
	for (i = 0; i < ARRAY_SIZE(cores); i++)
		CHECK_STR(fixture.events.items[i].name, cores[i]);
	end(&fixture);
	begin(&fixture, "skylake", "");
	parse(&fixture, "uncore_imc/event=4/,uncore_cha_0/event=1/");
	events_tell_apart(&fixture.events);
	CHECK_EQ(fixture.events.nr, ARRAY_SIZE(uncore));
	for (i = 0; i < ARRAY_SIZE(uncore); i++)
		CHECK_STR(fixture.events.items[i].name, uncore[i]);
	end(&fixture);
}

/* --- modifiers and groups ---------------------------------------------------------------------- */

TEST(pmu_modifiers)
{
	struct fixture fixture;
	struct event event;

	begin(&fixture, "skylake", "");
	event = parse_one(&fixture, "cycles:h");
	CHECK(event.attr.exclude_user && event.attr.exclude_kernel && !event.attr.exclude_hv);
	event = parse_one(&fixture, "cycles:G");
	CHECK(event.attr.exclude_host && !event.attr.exclude_guest);
	event = parse_one(&fixture, "cycles:H");
	CHECK(!event.attr.exclude_host && event.attr.exclude_guest);
	event = parse_one(&fixture, "cycles:GH");
	CHECK(!event.attr.exclude_host && !event.attr.exclude_guest);
	event = parse_one(&fixture, "cycles:ppu");
	CHECK(event.attr.precise_ip == 2 && event.attr.exclude_guest && event.attr.exclude_kernel);
	event = parse_one(&fixture, "cycles:Gp");
	CHECK(event.attr.precise_ip == 1 && !event.attr.exclude_guest && event.attr.exclude_host);
	event = parse_one(&fixture, "cpu/event=0x3c/P");
	CHECK(event.is_most_precise && !event.attr.precise_ip);
	event = parse_one(&fixture, "mem-loads:ppp");
	CHECK(event.attr.precise_ip == 3);
	event = parse_one(&fixture, "cpu/event=0x3c/:ID");
	CHECK(event.attr.exclude_idle && event.attr.pinned);
	event = parse_one(&fixture, "cycles:eSW");
	CHECK(event.attr.exclusive && event.reads_group && event.is_weak);
	refuse(&fixture, "cycles:pppp", "unknown event modifier 'pppp' in 'cycles:pppp'", "ppp");
	refuse(&fixture, "cycles:b", "unknown event modifier 'b'", "BPF");
	refuse(&fixture, "cpu/event=1/x", "unknown event modifier 'x'", "");
	refuse(&fixture, "cpu/event=1/:", "unknown event modifier ''", "");
	refuse(&fixture, "cycles:uu", "unknown event modifier 'uu'", "");
	end(&fixture);
}

TEST(pmu_groups)
{
	struct fixture fixture;
	struct event *events;

	begin(&fixture, "skylake", "");
	parse(&fixture,
	      "faults,{cycles:k,cpu/event=0xc0,umask=0/D,mem:0x1000/8:w}:uDW,instructions:u");
	events = fixture.events.items;
	CHECK_EQ(fixture.events.nr, 5);
	CHECK_EQ(events[0].leader, 0);
	CHECK_EQ(events[1].leader, 1);
	CHECK_EQ(events[2].leader, 1);
	CHECK_EQ(events[3].leader, 1);
	CHECK_EQ(events[4].leader, 4);
	/* The group's modifiers add to the event's: user and kernel. The leader is pinned for all. */
	CHECK(!events[1].attr.exclude_user && !events[1].attr.exclude_kernel);
	CHECK(!events[2].attr.exclude_user && events[2].attr.exclude_kernel);
	CHECK(events[1].attr.pinned && !events[2].attr.pinned && !events[3].attr.pinned);
	CHECK(events[1].is_weak && !events[2].is_weak && !events[0].is_weak);
	CHECK_EQ(events[3].attr.bp_len, 8);
	CHECK_STR(events[2].name, "cpu/event=0xc0,umask=0/D");
	parse(&fixture, "{cycles,instructions}");
	CHECK_EQ(fixture.events.items[6].leader, 5);
	refuse(&fixture, "{cycles,instructions", "a group is", "");
	refuse(&fixture, "{}", "a group is", "");
	refuse(&fixture, "{cycles}u", "a group is", "");
	refuse(&fixture, "{cycles}:x", "unknown event modifier 'x'", "");
	refuse(&fixture, "{cycles,nosuchevent}", "'nosuchevent'", "");
	refuse(&fixture, "cycles,,faults", "unknown event ''", "");
	refuse(&fixture, "cycles,", "unknown event ''", "");
	end(&fixture);
}

TEST(pmu_split)
{
	char text[] = "a,cpu/b=1,c=2/u,{d,e/f,g/}:k,mem:0x10/8:w,x/name='a,/b',c/,y";
	static const char *const wanted[] = {
		"a", "cpu/b=1,c=2/u", "{d,e/f,g/}:k", "mem:0x10/8:w", "x/name='a,/b',c/", "y"};
	char *rest = text, *item;
	size_t i = 0;

	while ((item = event_split(&rest))) {
		CHECK(i < ARRAY_SIZE(wanted));
		CHECK_STR(item, wanted[i++]);
	}
	CHECK_EQ(i, ARRAY_SIZE(wanted));
}

/* --- refusals ---------------------------------------------------------------------------------- */

TEST(pmu_refuses_and_says_where_it_looked)
{
	struct fixture fixture;

	begin(&fixture, "skylake", "");
	refuse(&fixture, "mem-lods",
	       "unknown event 'mem-lods': not generic, not of the PMUs breakpoint, cpu, msr, "
	       "power, software and 5 others",
	       "'mem-loads'");
	refuse(&fixture, "cpu/event=0x100/", "bad value '0x100' of 'event'",
	       "largest is 255 (0xff)");
	refuse(&fixture, "cpu/event=/", "bad value '' of 'event'", "");
	refuse(&fixture, "cpu/event=0x3c,/u", "a term is empty", "");
	refuse(&fixture, "cpu/,event=0x3c/", "a term is empty", "");
	refuse(&fixture, "cpu/umsk=1/", "'cpu' has no term or event 'umsk'", "'umask'");
	refuse(&fixture, "cpu/event=1", "terms stand between two slashes", "");
	refuse(&fixture, "/event=1/", "terms stand between two slashes", "");
	refuse(&fixture, "cpuu/event=1/", "no PMU or event 'cpuu'", "'cpu'");
	refuse(&fixture, "zzzz/event=1/", "no PMU or event 'zzzz'",
	       "its PMUs are: breakpoint, cpu");
	refuse(&fixture, "cpu/call-graph=fp/", "'call-graph' is an option of perf", "");
	refuse(&fixture, "cpu/period=0/", "bad value '0' of 'period'", "");
	refuse(&fixture, "cpu/name=/", "bad value '' of 'name'", "");
	refuse(&fixture, "cycles/umask=1/", "a generic event has no term 'umask'", "");
	refuse(&fixture, "../cpu/event=1/", "", "");
	refuse(&fixture, "sched:sched_switch", "unknown event", "");
	end(&fixture);
}

TEST(pmu_odd_trees)
{
	struct fixture fixture;
	struct event event;

	begin(&fixture, "odd", "");
	refuse(&fixture, "hv_24x7/cycles_of/", "needs a value", "");
	CHECK(strstr(fixture.error.text, "hv_24x7/…,core=N/"));
	check(&fixture, "hv_24x7/cycles_of,core=5/", 17, 0x50002, 0);
	check(&fixture, "cycles_of/core=5/", 17, 0x50002, 0);
	check(&fixture, "hv_24x7/core=5,cycles_of/", 17, 0x50002, 0);
	refuse(&fixture, "hv_24x7/two_of,core=5/", "list=N/", "");
	check(&fixture, "hv_24x7/list=0xf,two_of,core=0/", 17, 0x35, 0);
	check(&fixture, "hv_24x7/list=0xf/", 17, 0x35, 0);
	refuse(&fixture, "hv_24x7/itself/", "has no term or event 'itself'", "");
	refuse(&fixture, "hv_24x7/reversed=1/", "bits of 'reversed' are not understood", "");
	refuse(&fixture, "hv_24x7/wide=1/", "bits of 'wide' are not understood", "");
	refuse(&fixture, "letters/config=1/", "no PMU or event 'letters'", "");
	refuse(&fixture, "none/config=1/", "no PMU or event 'none'", "");
	refuse(&fixture, "large/config=1/", "no PMU or event 'large'", "");
	event = parse_one(&fixture, "hv_24x7/scaled/");
	CHECK(event.scale > 0.9 && event.scale < 1.1);
	end(&fixture);
}

/* Every part of long texts, so that every way to end early is taken. */
TEST(pmu_truncated_texts)
{
	static const char *const texts[] = {
		"cpu/event=0x3c,umask=0x1,name='a,b',period=1000/uppp,{mem-loads/ldlat=3/"
		"P,r1c2}:SD",
		"uncore_imc/cas_count_read/,mem:0x4040a0/"
		"8:rw:u,L1-dcache-load-misses:kh,sched:sched_switch",
	};
	struct fixture fixture;
	size_t i, nr, from;

	begin(&fixture, "skylake", "");
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		for (from = 0; from < strlen(texts[i]); from += 7)
			for (nr = 0; from + nr <= strlen(texts[i]); nr++) {
				char *text = strndup(texts[i] + from, nr);

				CHECK(text);
				events_clear(&fixture.events);
				fixture.error = (struct error){0};
				if (events_parse(fixture.host, text, &fixture.events,
						 &fixture.error) < 0)
					CHECK(fixture.error.text[0] && !fixture.events.nr);
				else
					CHECK(fixture.events.nr);
				free(text);
			}
	end(&fixture);
}

/* --- tracepoints ------------------------------------------------------------------------------- */

TEST(pmu_tracepoints)
{
	struct event_host_options options = {.devices = "/nonexistent"};
	struct fixture fixture = {.folder = TREE_FOLDER};
	struct event event;

	CHECK(mkdtemp(fixture.folder));
	tree_write(fixture.folder, "events/sched/sched_switch/id", "316");
	tree_write(fixture.folder, "events/sched/sched_stat/id", "317");
	tree_write(fixture.folder, "events/sched/enable", "0");
	tree_write(fixture.folder, "events/ftrace/function/format", "name: function");
	options.tracefs_fd = open(fixture.folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fixture.host = event_host_open(&options, NULL);
	CHECK(fixture.host);
	check(&fixture, "sched:sched_switch", PERF_TYPE_TRACEPOINT, 316, 0);
	event = parse_one(&fixture, "sched:sched_switch:k");
	CHECK(event.attr.exclude_user && !event.attr.exclude_kernel);
	parse(&fixture, "sched:sched_s*");
	CHECK_EQ(fixture.events.nr, 3);
	CHECK(strstr(fixture.events.items[1].name, "sched:sched_s"));
	refuse(&fixture, "sched:sched_swich", "unknown event 'sched:sched_swich'",
	       "'sched:sched_switch'");
	refuse(&fixture, "ftrace:function", "unknown event", "");
	refuse(&fixture, "sched:enable", "unknown event", "");
	refuse(&fixture, "sched:../sched/sched_switch", "", "");
	refuse(&fixture, "sched:..", "", "");
	end(&fixture);
	(void)close(options.tracefs_fd);
}

/* --- names of CPU models ----------------------------------------------------------------------- */

/* libpfm4 encodes events of other models than this CPU's only if it is asked to by this variable. */
static void begin_model(struct fixture *fixture, const char *tree, const char *model)
{
	struct model_code code;

	CHECK_EQ(setenv("LIBPFM_ENCODE_INACTIVE", "1", 1), 0);
	if (models_find(model, "nosuchevent", &code) == -ENOSYS)
		SKIP("libpfm4 with events of this model");
	begin(fixture, tree, model);
}

/* Codes from Intel's manual (SDM, volume 3, chapter 20). */
TEST(pmu_model_skylake)
{
	struct fixture fixture;

	begin_model(&fixture, "skylake", "skl");
	check(&fixture, "uops_executed.core", 4, 0x2b1, 0);
	check(&fixture, "UOPS_EXECUTED:CORE", 4, 0x2b1, 0);
	check(&fixture, "inst_retired.any", 4, 0xc0, 0);
	check(&fixture, "cpu_clk_unhalted.ref_tsc", 4, 0x300, 0);
	check(&fixture, "cycle_activity.stalls_l2_miss", 4, 0x50005a3, 0);
	check(&fixture, "cpu/uops_executed.core,cmask=4/u", 4, 0x40002b1, 0);
	check(&fixture, "uops_executed.core/cmask=4/", 4, 0x40002b1, 0);
	CHECK(parse_one(&fixture, "uops_executed.core:ppu").attr.precise_ip == 2);
	CHECK(parse_one(&fixture, "UOPS_EXECUTED:CORE:k").attr.exclude_user);
	refuse(&fixture, "uops_executd.core", "not of Intel Skylake", "'uops_executed.core'");
	refuse(&fixture, "skl::uops_executed.core", "unknown event", "");
	refuse(&fixture, "power/uops_executed.core/", "'power' has no term or event", "");
	end(&fixture);
}

TEST(pmu_model_zen)
{
	struct fixture fixture;

	begin_model(&fixture, "zen", "amd64_fam19h_zen3");
	check(&fixture, "retired_instructions", 4, 0xc0, 0);
	end(&fixture);
}

/* --- names and memory -------------------------------------------------------------------------- */

static void count_name(void *context, const struct event_name *name)
{
	size_t *counts = context;

	CHECK(name->name[0] && name->kind < EVENT_NR_KINDS);
	counts[name->kind]++;
}

TEST(pmu_names)
{
	size_t counts[EVENT_NR_KINDS] = {0};
	struct fixture fixture;

	begin(&fixture, "skylake", "");
	CHECK_EQ(event_names(fixture.host, count_name, counts), 0);
	CHECK_EQ(counts[EVENT_SOFTWARE], 15);
	CHECK_EQ(counts[EVENT_HARDWARE], 14);
	CHECK_EQ(counts[EVENT_CACHE], 32);
	CHECK_EQ(counts[EVENT_PMU], 19);
	CHECK_EQ(counts[EVENT_MODEL], 0);
	CHECK_EQ(counts[EVENT_TRACEPOINT], 0);
	end(&fixture);
}

/* Every allocation fails once: nothing is appended, and nothing leaks. */
TEST(pmu_without_memory)
{
	struct event_host_options options = {.tracefs_fd = -1, .model = ""};
	struct fixture fixture = {.folder = TREE_FOLDER};
	size_t nth = 0;
	bool is_done = false;

	tree_make("skylake", fixture.folder);
	options.devices = fixture.folder;
	while (!is_done) {
		int err = -ENOMEM;

		(void)test_fail_allocation(++nth);
		fixture.host = event_host_open(&options, &fixture.error);
		if (fixture.host)
			err = events_parse(fixture.host, "{cycles,uncore_imc/event=1/}:k,mem-loads",
					   &fixture.events, &fixture.error);
		is_done = test_fail_allocation(0) < nth;
		CHECK_EQ(err, is_done ? 0 : -ENOMEM);
		CHECK_EQ(fixture.events.nr, is_done ? 5 : 0);
		/* What failed can be tried again. */
		if (fixture.host && err)
			parse(&fixture, "mem-loads");
		events_clear(&fixture.events);
		event_host_close(fixture.host);
	}
	CHECK(nth > 10);
	tree_remove(fixture.folder);
}
