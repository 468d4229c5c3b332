/* event/event: from perf's event names to perf_event_attr. */
#include "unit/test.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/array.h"
#include "event/event.h"

static struct event parse(const char *text)
{
	struct event event;
	struct error error = {0};

	CHECK_EQ(event_parse(text, &event, &error), 0);
	CHECK_STR(event.name, text);
	return event;
}

static void check_event(const char *text, uint32_t type, uint64_t config)
{
	struct event event = parse(text);

	CHECK_EQ(event.attr.type, type);
	CHECK_EQ(event.attr.config, config);
	CHECK(!event.attr.exclude_user && !event.attr.exclude_kernel);
}

TEST(event_plain_names)
{
	check_event("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	check_event("task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	check_event("page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	check_event("cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	check_event("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	check_event("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	check_event("branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	check_event("branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES);
	check_event("dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	check_event("cgroup-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES);
}

/* The config format is that of perf_event_open(2): cache | operation << 8 | result << 16. */
TEST(event_cache_names)
{
	check_event("L1-dcache-loads", PERF_TYPE_HW_CACHE, 0x00000);
	check_event("L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000);
	check_event("L1-icache-load-misses", PERF_TYPE_HW_CACHE, 0x10001);
	check_event("LLC-stores", PERF_TYPE_HW_CACHE, 0x00102);
	check_event("LLC-prefetch-misses", PERF_TYPE_HW_CACHE, 0x10202);
	check_event("dTLB-store-misses", PERF_TYPE_HW_CACHE, 0x10103);
	check_event("iTLB-loads", PERF_TYPE_HW_CACHE, 0x00004);
	check_event("branch-loads", PERF_TYPE_HW_CACHE, 0x00005);
	check_event("node-load-misses", PERF_TYPE_HW_CACHE, 0x10006);
	/* perf's other spellings: a cache alone counts reads, words have any order. */
	check_event("L1-dcache", PERF_TYPE_HW_CACHE, 0x00000);
	check_event("l1-d-miss-store", PERF_TYPE_HW_CACHE, 0x10100);
	check_event("Data-TLB-speculative-load-refs", PERF_TYPE_HW_CACHE, 0x00203);
	check_event("LLC-misses", PERF_TYPE_HW_CACHE, 0x10002);
	check_event("L2-write-access", PERF_TYPE_HW_CACHE, 0x00102);
	check_event("bpu-miss", PERF_TYPE_HW_CACHE, 0x10005);
}

TEST(event_raw_numbers)
{
	check_event("r1c2", PERF_TYPE_RAW, 0x1c2);
	check_event("r0", PERF_TYPE_RAW, 0);
	check_event("rABCDEF", PERF_TYPE_RAW, 0xabcdef);
	check_event("rffffffffffffffff", PERF_TYPE_RAW, UINT64_MAX);
}

static void check_modifiers(const char *text, bool exclude_user, bool exclude_kernel)
{
	struct event event = parse(text);

	CHECK_EQ(event.attr.exclude_user, exclude_user);
	CHECK_EQ(event.attr.exclude_kernel, exclude_kernel);
}

TEST(event_modifiers)
{
	check_modifiers("cycles:u", false, true);
	check_modifiers("cycles:k", true, false);
	check_modifiers("cycles:uk", false, false);
	check_modifiers("cycles:ku", false, false);
	check_modifiers("r1c2:u", false, true);
	check_modifiers("L1-dcache-load-misses:k", true, false);
}

TEST(event_leave_kernel_out_names_it)
{
	static const char *const names[][2] = {
		{"cycles", "cycles:u"},
		{"cycles:H", "cycles:Hu"},
		{"r1c2", "r1c2:u"},
		{"cpu/event=0x3c/", "cpu/event=0x3c/u"},
		{"cpu/event=0x3c/pp", "cpu/event=0x3c/ppu"},
		{"cpu/event=0x3c/:H", "cpu/event=0x3c/:Hu"},
		{"mem:0x10:w", "mem:0x10:w:u"},
		{"mem:0x10/8:rw", "mem:0x10/8:rw:u"},
		{"sched:sched_switch", "sched:sched_switch:u"},
		{"UOPS_EXECUTED:CORE", "UOPS_EXECUTED:CORE:u"},
	};
	struct event event = {0};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		(void)strcpy(event.name, names[i][0]);
		event.attr.exclude_kernel = 0;
		event_leave_kernel_out(&event);
		CHECK_STR(event.name, names[i][1]);
		CHECK(event.attr.exclude_kernel && event.attr.exclude_hv);
	}
	memset(event.name, 'x', sizeof(event.name) - 1);
	event_leave_kernel_out(&event);
	CHECK_EQ(strlen(event.name), sizeof(event.name) - 1);
}

TEST(event_refuses_and_says_what)
{
	static const char *const wrong[] = {
		"",
		"cycle",
		"cyclesx",
		"CYCLES",
		"r",
		"rxyz",
		"r0x1",
		"r 1",
		"r10000000000000000",
		"cycles:",
		"cycles:x",
		"cycles:ux",
		"cycles:u:",
		"cycles:u:k",
		":u",
		"L1-dcache-",
		"L1-dcache-loads-stores",
		"L1-dcache-misses-miss",
		"L1-icache-stores",
		"iTLB-store-misses",
		"l1-D",
		"-loads",
		"LLC-",
		"L1-dcache-loads ",
		" cycles",
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct event event = {.attr.type = 77};
		struct error error = {0};

		CHECK_EQ(event_parse(wrong[i], &event, &error), -EINVAL);
		CHECK_EQ(error.code, -EINVAL);
		CHECK(strstr(error.text, wrong[i]) != NULL);
		CHECK_EQ(event.attr.type, 77);
	}
}

/* The name has room for 63 characters. */
TEST(event_of_any_length)
{
	char text[300];
	size_t length;

	for (length = 0; length < sizeof(text); length++) {
		struct event event;
		struct error error = {0};

		memset(text, 'r', length);
		text[length] = '\0';
		CHECK_EQ(event_parse(text, &event, &error), -EINVAL);
		memset(text, 'f', length);
		if (length)
			text[0] = 'r';
		CHECK_EQ(event_parse(text, &event, &error),
			 length >= 2 && length <= 17 ? 0 : -EINVAL);
	}
}

TEST(event_clocks)
{
	struct event cpu = parse("cpu-clock"), task = parse("task-clock:u");
	struct event faults = parse("faults"), cycles = parse("cycles");

	CHECK(event_is_clock(&cpu));
	CHECK(event_is_clock(&task));
	CHECK(!event_is_clock(&faults));
	CHECK(!event_is_clock(&cycles)); /* its config equals cpu-clock's, its type does not */
}

static void check_breakpoint(const char *text, uint64_t address, uint64_t bytes, uint32_t access)
{
	struct event event = parse(text);

	CHECK_EQ(event.attr.type, PERF_TYPE_BREAKPOINT);
	CHECK_EQ(event.attr.config, 0);
	CHECK_EQ(event.attr.bp_addr, address);
	CHECK_EQ(event.attr.bp_len, bytes);
	CHECK_EQ(event.attr.bp_type, access);
}

/* The defaults are perf's. */
TEST(event_breakpoints)
{
	check_breakpoint("mem:0x4040a0", 0x4040a0, 4, HW_BREAKPOINT_RW);
	check_breakpoint("mem:0x4040a0:w", 0x4040a0, 4, HW_BREAKPOINT_W);
	check_breakpoint("mem:0x4040a0/8:rw", 0x4040a0, 8, HW_BREAKPOINT_RW);
	check_breakpoint("mem:0x4040a1/1", 0x4040a1, 1, HW_BREAKPOINT_RW);
	check_breakpoint("mem:4210848:r", 4210848, 4, HW_BREAKPOINT_R);
	check_breakpoint("mem:0x401146:x", 0x401146, sizeof(long), HW_BREAKPOINT_X);
	check_breakpoint("mem:0xffffffff81000000:x:k", 0xffffffff81000000, sizeof(long),
			 HW_BREAKPOINT_X);
	check_modifiers("mem:0x4040a0:w:u", false, true);
	check_modifiers("mem:0x4040a0:k", true, false);
}

TEST(event_refuses_breakpoints)
{
	static const char *const wrong[] = {
		"mem:",		"mem:main",	 "mem:0x",
		"mem:0x10/",	"mem:0x10/0",	 "mem:0x10/3",
		"mem:0x10/16",	"mem:0x11/8",	 "mem:0x10:",
		"mem:0x10:ww",	"mem:0x10:rx",	 "mem:0x10:w:",
		"mem:0x10:w:x", "mem:0x10:w/8",	 "mem:0x10/8/8",
		"mem: 16",	"mem:0x10:w:u:", "mem:0x10x:w",
		"mem:-16",	"mem:0x10 ",	 "mem:99999999999999999999",
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct event event = {.attr.type = 77};
		struct error error = {0};

		if (event_parse(wrong[i], &event, &error) != -EINVAL)
			fprintf(stderr, "  '%s'\n", wrong[i]);
		CHECK_EQ(event_parse(wrong[i], &event, &error), -EINVAL);
		CHECK(strstr(error.text, wrong[i]) || strstr(error.text, "modifier"));
		CHECK_EQ(event.attr.type, 77);
	}
}

TEST(event_tracepoints)
{
	static const char *const are[] = {"sched:sched_switch", "syscalls:sys_enter_*", "t:x",
					  "tracepoint:sched:sched_switch", "a:b:c"};
	static const char *const are_not[] = {"",
					      "cycles",
					      "cycles:u",
					      "cycles:x",
					      "r1c2:k",
					      "cs:u",
					      ":u",
					      "sched:",
					      "mem:0x10",
					      "mem:main",
					      "sched",
					      "L1-dcache-loads:u",
					      "mem-loads:P",
					      "cycle:u",
					      "cpu/config=1/:u",
					      "{a:b,c:d}"};
	char text[300];
	size_t i;

	for (i = 0; i < sizeof(are) / sizeof(are[0]); i++)
		CHECK(event_is_tracepoint(are[i]));
	for (i = 0; i < sizeof(are_not) / sizeof(are_not[0]); i++)
		CHECK(!event_is_tracepoint(are_not[i]));
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	text[250] = ':';
	CHECK(!event_is_tracepoint(text));
}
