/* run/probe_search: the processes that probes affect, by probed file and selected tasks. */
#include "run/probe_search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "format/text/sheet_write.h"
#include "unit/find_fixture.h"
#include "unit/test.h"

/* A file that no process runs. */
static struct probe_file own = {.handle = -1, .path = "/nobody/has/this", .inode = UINT64_MAX};
static struct probe user = {.kind = PROBE_USER, .name = "main"};

static const struct probe_list of_user = {
	.probes = &user, .nr_probes = 1, .files = &own, .nr_files = 1};

static const uint32_t pids[] = {4711, 4712};

static struct probe_reach find(const struct probe_list *list, bool has_pid_filter,
			       const struct wanted_tasks *tasks, enum probe_follow follow)
{
	struct probe_features features = {.has[PROBE_FEATURE_UPROBE_PID] = has_pid_filter};
	struct error error = {0};
	struct probe_reach reach;

	CHECK_EQ(probe_reach_find(&reach, found_worker(), list, &features, tasks, follow, &error),
		 0);
	return reach;
}

TEST(probe_reach_of_all_processes)
{
	const struct wanted_tasks all = {.follow = true, .cgroup_fd = -1};
	struct probe_reach reach = find(&of_user, true, &all, FOLLOW_UNLESS_SHARED);

	CHECK_EQ(reach.link_pid, 0);
	CHECK(!reach.shared_file); /* all processes were selected */
}

TEST(probe_reach_of_one_process)
{
	struct wanted_tasks one = {.pids = pids, .nr_pids = 1, .follow = false, .cgroup_fd = -1};

	CHECK_EQ(find(&of_user, true, &one, FOLLOW_NEVER).link_pid, 4711);
	CHECK_EQ(find(&of_user, false, &one, FOLLOW_NEVER).link_pid, 0);
	one.nr_pids = 2;
	CHECK_EQ(find(&of_user, true, &one, FOLLOW_NEVER).link_pid, 0);
	one.nr_pids = 1;
	one.tids = pids;
	one.nr_tids = 1;
	CHECK_EQ(find(&of_user, true, &one, FOLLOW_NEVER).link_pid, 0);
}

/* A link for one pid does not cover its children. */
TEST(probe_reach_of_a_family)
{
	const struct wanted_tasks family = {
		.pids = pids, .nr_pids = 1, .follow = true, .cgroup_fd = -1};
	struct probe_reach reach = find(&of_user, true, &family, FOLLOW_UNLESS_SHARED);

	if (reach.shared_file)
		SKIP("a machine of which all mappings can be read in 50 ms");
	CHECK_EQ(reach.link_pid, 0);
}

/* The parent of the test runs this program, too. */
TEST(probe_reach_of_a_file_that_others_run)
{
	const struct wanted_tasks family = {
		.pids = pids, .nr_pids = 1, .follow = true, .cgroup_fd = -1};
	struct probe_file shared = {.handle = -1, .path = "/proc/self/exe"};
	struct probe_list list = of_user;
	struct probe_reach reach;
	struct stat st;

	CHECK_EQ(stat(shared.path, &st), 0);
	shared.inode = st.st_ino;
	list.files = &shared;
	reach = find(&list, true, &family, FOLLOW_UNLESS_SHARED);
	CHECK(reach.shared_file);
	CHECK_EQ(reach.link_pid, 4711);
	CHECK(reach.spares_others);
	reach = find(&list, true, &family, FOLLOW_ALWAYS);
	CHECK_STR(reach.shared_file, shared.path);
	CHECK_EQ(reach.link_pid, 0);
	CHECK(!reach.spares_others);
	CHECK(!find(&list, false, &family, FOLLOW_UNLESS_SHARED).spares_others);
}

static char *write_list(const struct probe_list *list, enum media medium)
{
	const struct sheet_style style = {.is_first = true};
	struct sheet sheet = {0};
	char *text = NULL;
	size_t nr;
	FILE *stream = open_memstream(&text, &nr);

	CHECK(stream != NULL);
	probe_list_fill(&sheet, list);
	CHECK_EQ(sheet_status(&sheet), 0);
	CHECK_EQ(sheet_write(&sheet, medium, &style, stream), 0);
	CHECK_EQ(fclose(stream), 0);
	sheet_clear(&sheet);
	return text;
}

TEST(probe_list_as_a_table)
{
	struct probe probes[] = {
		{.kind = PROBE_USER, .name = "main", .offset = 0x1130, .is_return = true},
		{.kind = PROBE_KERNEL, .name = "vfs_read", .address = 0xffffffff81000010},
		{.kind = PROBE_TRACEPOINT, .name = "sched:sched_switch"},
	};
	struct probe_refusal refusal = {"memcpy", "an IFUNC resolver"};
	const struct probe_list list = {.probes = probes,
					.nr_probes = ARRAY_SIZE(probes),
					.files = &own,
					.nr_files = 1,
					.refusals = &refusal,
					.nr_refusals = 1};
	char *text = write_list(&list, MEDIA_CSV);

	CHECK_STR(text, "name,kind,file,offset,address,refusal\r\n"
			"\"r:main\",\"function\",\"/nobody/has/this\",4400,,\r\n"
			"\"vfs_read\",\"kernel\",,,18446744071578845200,\r\n"
			"\"sched:sched_switch\",\"tracepoint\",,,,\r\n"
			"\"memcpy\",,,,,\"an IFUNC resolver\"\r\n");
	free(text);
	text = write_list(&list, MEDIA_TEXT);
	CHECK(strstr(text, "r:main") && strstr(text, " 0x1130") &&
	      strstr(text, " 0xffffffff81000010") && strstr(text, " an IFUNC resolver\n"));
	free(text);
	text = write_list(&list, MEDIA_JSON);
	CHECK(strstr(text, "{\"name\": \"r:main\", \"kind\": \"function\", \"file\": "
			   "\"/nobody/has/this\", \"offset\": 4400, \"address\": null, "
			   "\"refusal\": null}"));
	free(text);
}

TEST(probe_list_as_a_table_without_memory)
{
	const struct probe_list list = of_user;
	size_t nth;
	int err = -ENOMEM;

	for (nth = 1; err; nth++) {
		struct sheet sheet = {0};

		(void)test_fail_allocation(nth);
		probe_list_fill(&sheet, &list);
		(void)test_fail_allocation(0);
		err = sheet_status(&sheet);
		CHECK(!err || err == -ENOMEM);
		sheet_clear(&sheet);
	}
	CHECK(nth > 3);
}
