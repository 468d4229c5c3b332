/*
 * probe/find/find, kernel probes: kernel_functions and tracepoints on texts in the kernel's
 * formats, so that the results do not depend on the running kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "probe/find/kernel_functions.h"
#include "probe/find/tracepoints.h"
#include "proc/tracefs.h"
#include "unit/find_fixture.h"
#include "unit/test.h"

static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81000000 T startup\n"
			       "ffffffff81001000 t __pfx_vfs_read\n"
			       "ffffffff81001010 T vfs_read\n"
			       "ffffffff81001010 T vfs_old_read\n"
			       "ffffffff81001100 T vfs_write\n"
			       "ffffffff81001200 t twin\n"
			       "ffffffff81001300 t twin\n"
			       "ffffffff81001400 t vfs_write.cold\n"
			       "ffffffff81001500 W vfs_weak\n"
			       "ffffffff81001600 t notrace_me\n"
			       "ffffffff82000000 T _sinittext\n"
			       "ffffffff82000100 t vfs_setup\n"
			       "ffffffff82000200 T _einittext\n"
			       "ffffffff83000000 D vfs_data\n"
			       "ffffffffc0001000 t nf_hook\t[nf_conntrack]\n"
			       "ffffffffc0001100 t shared\t[nf_conntrack]\n"
			       "ffffffffc0002100 t shared\t[ext4]\n"
			       "ffffffffc0003000 t bpf_prog_1234_vfs\t[bpf]\n"
			       "not a line\n\n";

static const char available[] = "vfs_read\nvfs_write\nvfs_weak\ntwin\nnf_hook [nf_conntrack]\n"
				"shared [nf_conntrack]\nshared [ext4]\nstartup\n";

struct fixture {
	struct kernel_functions kernel;
	struct refusals refusals;
	struct found found; /* only the list and its refusals are used */
	struct pattern patterns[4];
	size_t nr_patterns, nr_fitting;
};

static void fixture_make(struct fixture *fixture, const char *text, bool has_list)
{
	char *list = has_list ? strdup(available) : NULL;
	struct error error = {0};

	*fixture = (struct fixture){0};
	CHECK_EQ(kernel_functions_parse(&fixture->kernel, strdup(text), list, &error), 0);
	free(list);
}

static const struct pattern *add_pattern(struct fixture *fixture, const char *text)
{
	struct pattern *pattern = &fixture->patterns[fixture->nr_patterns++];

	CHECK_EQ(pattern_parse(text, false, pattern, &fixture->found.error), 0);
	return pattern;
}

static void fixture_choose(struct fixture *fixture, const char *text)
{
	const struct pattern *pattern = add_pattern(fixture, text);

	CHECK_EQ(kernel_probes_choose(&fixture->kernel, pattern, &fixture->refusals,
				      &fixture->nr_fitting, &fixture->found.error),
		 0);
}

static void fixture_leave_out(struct fixture *fixture, const char *text)
{
	CHECK_EQ(exclusions_add(&fixture->kernel.exclusions, add_pattern(fixture, text)), 0);
}

/* Returns the names of the probes. */
static const char *fixture_end(struct fixture *fixture)
{
	struct probe_list *list = &fixture->found.list;
	size_t nr = kernel_probes_settle(&fixture->kernel);

	CHECK_EQ(kernel_probes_add(&fixture->kernel, list, &fixture->found.error), 0);
	CHECK_EQ(list->nr_probes, nr);
	CHECK_EQ(refusals_list(&fixture->refusals, list), 0);
	return found_names(&fixture->found);
}

static void fixture_clear(struct fixture *fixture)
{
	while (fixture->nr_patterns)
		pattern_clear(&fixture->patterns[--fixture->nr_patterns]);
	refusals_clear(&fixture->refusals);
	kernel_functions_clear(&fixture->kernel);
	probe_list_clear(&fixture->found.list);
}

TEST(find_kernel_functions)
{
	struct fixture made;
	const struct probe *probe;

	fixture_make(&made, kallsyms, true);
	fixture_choose(&made, "vfs_*");
	CHECK_STR(fixture_end(&made), "vfs_old_read|vfs_read vfs_write vfs_weak");
	CHECK_EQ(made.nr_fitting, 6);
	probe = &made.found.list.probes[0];
	CHECK_EQ(probe->kind, PROBE_KERNEL);
	CHECK_EQ(probe->address, 0xffffffff81001010);
	CHECK_STR(probe->symbol, "vfs_read");
	CHECK(strstr(found_refusal(&made.found, "vfs_write.cold"), "jumped to") != NULL);
	CHECK(strstr(found_refusal(&made.found, "vfs_setup"), "boot") != NULL);
	fixture_clear(&made);
}

/* Without the list of traceable functions, none is refused as untraceable. */
TEST(find_kernel_aliases)
{
	struct fixture made;

	fixture_make(&made, kallsyms, false);
	fixture_choose(&made, "vfs_*read");
	fixture_choose(&made, "r:k:vfs_read");
	CHECK_STR(fixture_end(&made), "vfs_old_read|vfs_read r:vfs_read");
	fixture_clear(&made);
}

/* The list has one name per address, which may differ from the requested name. */
TEST(find_kernel_alias_that_is_not_listed)
{
	struct fixture made;

	fixture_make(&made, kallsyms, true);
	fixture_choose(&made, "vfs_old_read");
	fixture_choose(&made, "notrace_me");
	CHECK_STR(fixture_end(&made), "vfs_old_read");
	CHECK(strstr(found_refusal(&made.found, "notrace_me"), "notrace") != NULL);
	fixture_clear(&made);
}

TEST(find_kernel_twins)
{
	struct fixture made;

	fixture_make(&made, kallsyms, true);
	fixture_choose(&made, "(twin|shared|nf_*)");
	CHECK_STR(fixture_end(&made), "twin[0xffffffff81001200] twin[0xffffffff81001300] nf_hook "
				      "shared[nf_conntrack] shared[ext4]");
	CHECK(made.found.list.probes[0].has_twin && !made.found.list.probes[0].is_shadowed);
	CHECK(made.found.list.probes[1].has_twin && made.found.list.probes[1].is_shadowed);
	CHECK(!made.found.list.probes[2].has_twin && !made.found.list.probes[2].is_shadowed);
	CHECK(!made.found.list.probes[3].is_shadowed);
	CHECK(made.found.list.probes[4].is_shadowed);
	fixture_clear(&made);
	/* A module's function may have a lower address; the kernel still looks at its own first. */
	fixture_make(&made,
		     "ffffffff81000000 T startup\nffffffff81001000 t twin\n"
		     "ffffffff80001000 t twin\t[ext4]\n",
		     false);
	fixture_choose(&made, "k:0xffffffff80001000");
	CHECK_STR(fixture_end(&made), "twin");
	CHECK(made.found.list.probes[0].is_shadowed);
	fixture_clear(&made);
}

TEST(find_kernel_left_out)
{
	struct fixture made;

	fixture_make(&made, kallsyms, true);
	fixture_leave_out(&made, "!*write");
	fixture_leave_out(&made, "!k:twin");
	fixture_leave_out(&made, "!r:vfs_read");
	fixture_choose(&made, "(vfs_*|twin)");
	CHECK_STR(fixture_end(&made), "vfs_old_read|vfs_read vfs_weak");
	CHECK(found_refusal(&made.found, "vfs_setup")[0] != '\0');
	fixture_clear(&made);
	fixture_make(&made, kallsyms, true);
	fixture_leave_out(&made, "!*setup");
	fixture_choose(&made, "vfs_*");
	CHECK_STR(fixture_end(&made), "vfs_old_read|vfs_read vfs_write vfs_weak");
	CHECK_STR(found_refusal(&made.found, "vfs_setup"), "");
	fixture_clear(&made);
}

TEST(find_kernel_offsets)
{
	struct fixture made;
	const struct probe *probe;

	fixture_make(&made, kallsyms, true);
	fixture_choose(&made, "vfs_write+0x10");
	fixture_choose(&made, "0xffffffff81001120");
	fixture_choose(&made, "vfs_weak+0x100");
	CHECK_STR(fixture_end(&made), "vfs_write+0x10 vfs_write+0x20");
	probe = &made.found.list.probes[1];
	CHECK_EQ(probe->offset, 0x20);
	CHECK_EQ(probe->address, 0xffffffff81001100);
	CHECK_STR(probe->symbol, "vfs_write");
	CHECK(strstr(found_refusal(&made.found, "vfs_weak"), "end") != NULL);
	fixture_clear(&made);
}

TEST(find_kernel_hidden)
{
	struct fixture made;

	fixture_make(&made,
		     "0000000000000000 T vfs_read\n0000000000000000 t twin\n"
		     "0000000000000000 t twin\n0000000000000000 t twin\t[ext4]\n",
		     false);
	fixture_choose(&made, "*");
	CHECK_STR(fixture_end(&made), "twin[vmlinux] twin[ext4] vfs_read");
	CHECK_EQ(made.found.list.probes[0].address, 0);
	fixture_clear(&made);
}

TEST(find_kernel_sums_refusals_up)
{
	struct fixture made;
	struct probe_list *list = &made.found.list;
	char text[1024] = "", name[64];
	int i;

	for (i = 0; i < 9; i++) {
		(void)snprintf(name, sizeof(name), "ffffffff8100%d000 t f%d.cold\n", i, i);
		strcat(text, name);
	}
	fixture_make(&made, text, false);
	fixture_choose(&made, "f*");
	(void)fixture_end(&made);
	CHECK_EQ(list->nr_refusals, 1);
	CHECK_STR(list->refusals[0].name, "f0.cold, f1.cold, f2.cold, f3.cold and 5 more");
	fixture_clear(&made);
}

TEST(find_kernel_without_functions)
{
	struct kernel_functions kernel;
	struct error error = {0};

	CHECK_EQ(kernel_functions_parse(&kernel, strdup("0 D data\n"), NULL, &error), -ENODATA);
	CHECK_EQ(error.code, -ENODATA);
	kernel_functions_clear(&kernel);
}

TEST(find_kernel_without_memory)
{
	struct error error = {0};
	size_t nth;

	for (nth = 1; nth < 100; nth++) {
		char *text = strdup(kallsyms), *list = strdup(available);
		struct kernel_functions kernel;
		int err;

		(void)test_fail_allocation(nth);
		err = kernel_functions_parse(&kernel, text, list, &error);
		(void)test_fail_allocation(0);
		kernel_functions_clear(&kernel);
		free(list);
		if (!err)
			break;
		CHECK_EQ(err, -ENOMEM);
	}
	CHECK(nth > 2 && nth < 100);
}

TEST(find_tracepoints)
{
	struct tracepoints tracepoints;
	struct pattern pattern, exclusion;
	struct error error;

	CHECK_EQ(tracepoints_parse(&tracepoints, strdup("sched:sched_switch\nsched:sched_wakeup\n"
							"irq:irq_entry\nrubbish\n:x\ny:\n")),
		 0);
	CHECK_EQ(tracepoints.nr, 3);
	CHECK_EQ(pattern_parse("t:sched:*", false, &pattern, &error), 0);
	CHECK_EQ(tracepoints_choose(&tracepoints, &pattern), 2);
	CHECK_EQ(tracepoints_choose(&tracepoints, &pattern), 2);
	CHECK_EQ(tracepoints_settle(&tracepoints), 2);
	CHECK_EQ(pattern_parse("!*wakeup", false, &exclusion, &error), 0);
	CHECK_EQ(exclusions_add(&tracepoints.exclusions, &exclusion), 0);
	CHECK_EQ(tracepoints_settle(&tracepoints), 1);
	tracepoints_clear(&tracepoints);
	pattern_clear(&pattern);
	pattern_clear(&exclusion);
}

/* The running kernel, as far as the test has permission. */
TEST(find_kernel_for_real)
{
	struct found found = {0};

	found_find(&found, "vfs_read", NULL, NULL);
	if (found.err == -EACCES || found.err == -EPERM)
		SKIP("/proc/kallsyms is not to be read");
	CHECK_EQ(found.err, 0);
	CHECK_STR(found_names(&found), "vfs_read");
	found_find(&found, "vfs_raed", NULL, NULL);
	CHECK_EQ(found.err, -ENOENT);
	CHECK(strstr(found.error.hint, "vfs_read") != NULL);
	found_find(&found, "t:sched:sched_switch", NULL, NULL);
	if (found.err < 0)
		SKIP("tracefs is not to be had");
	CHECK_STR(found_names(&found), "sched:sched_switch");
	CHECK_STR(found.list.probes[0].symbol, "sched/sched_switch");
	CHECK(found.list.probes[0].tracepoint > 0);
	probe_list_clear(&found.list);
}

/* CATEGORY:EVENT as perf writes it; bpftrace adds a prefix. */
TEST(find_tracepoints_without_a_prefix)
{
	struct found found = {0};
	int tracefs_fd = tracefs_open(NULL);

	if (tracefs_fd < 0)
		SKIP("needs tracefs");
	CHECK_EQ(close(tracefs_fd), 0);
	found_find(&found, "sched:sched_switch", NULL, NULL);
	CHECK_STR(found_names(&found), "sched:sched_switch");
	CHECK_EQ(found.list.probes[0].kind, PROBE_TRACEPOINT);
	CHECK_STR(found.list.notes[0],
		  "'sched:sched_switch' is interpreted as t:sched:sched_switch, a tracepoint");
	found_find(&found, "sched:sched_s*", "!sched:sched_st*", "!t:sched:*numa");
	CHECK_STR(found_names(&found), "sched:sched_switch");
	found_find(&found, "sched:sched_swich", NULL, NULL);
	CHECK_EQ(found.err, -ENOENT);
	CHECK_STR(found.error.text, "no tracepoint matches 'sched:sched_swich'");
	CHECK_STR(found.error.hint, "did you mean 'sched_switch'?");
	/* It is a program if the user says so, or if no such category exists. */
	found_find(&found, "p:sched:sched_switch", NULL, NULL);
	CHECK_EQ(found.err, -ENOENT);
	CHECK_STR(found.error.text, "no such program or library: 'sched'");
	found_find(&found, "r:sched:sched_switch", NULL, NULL);
	CHECK_STR(found.error.text, "no such program or library: 'sched'");
	found_find(&found, "sched_nothing:sched_switch", NULL, NULL);
	CHECK_STR(found.error.text, "no such program or library: 'sched_nothing'");
	probe_list_clear(&found.list);
}

static const char *suggestion(const struct tracepoints *tracepoints, bool is_return,
			      const char *const *functions, size_t nr)
{
	static char text[256];
	struct probe probes[8] = {{0}};
	struct probe_list list = {.probes = probes, .nr_probes = nr};
	size_t i;

	for (i = 0; i < nr; i++)
		probes[i] = (struct probe){
			.kind = PROBE_KERNEL, .is_return = is_return, .symbol = functions[i]};
	tracepoints_suggest(tracepoints, &list, text, sizeof(text));
	return text;
}

/* A kernel without any means of probing functions. */
TEST(find_tracepoints_instead_of_functions)
{
	static const char *const vfs[] = {"vfs_fadvise",   "vfs_fallocate", "vfs_getattr",
					  "vfs_iter_read", "vfs_read",	    "ksys_read",
					  "vfs_rename",	   "vfs_write"};
	static const char *const tcp[] = {"tcp_sendmsg", "tcp_recvmsg"};
	static const char *const other[] = {"schedule", "do_exit", "vfs_"};
	struct tracepoints tracepoints;

	CHECK_EQ(tracepoints_parse(&tracepoints, strdup("syscalls:sys_enter_fallocate\n"
							"syscalls:sys_enter_read\n"
							"syscalls:sys_enter_rename\n"
							"syscalls:sys_enter_write\n"
							"syscalls:sys_exit_read\n"
							"tcp:tcp_probe\n")),
		 0);
	CHECK_STR(suggestion(&tracepoints, false, vfs, ARRAY_SIZE(vfs)),
		  "t:syscalls:sys_enter_read, t:syscalls:sys_enter_write, "
		  "t:syscalls:sys_enter_rename");
	CHECK_STR(suggestion(&tracepoints, true, vfs, ARRAY_SIZE(vfs)), "t:syscalls:sys_exit_read");
	CHECK_STR(suggestion(&tracepoints, false, tcp, ARRAY_SIZE(tcp)), "t:tcp:*");
	CHECK_STR(suggestion(&tracepoints, false, other, ARRAY_SIZE(other)), "");
	tracepoints_clear(&tracepoints);
}
