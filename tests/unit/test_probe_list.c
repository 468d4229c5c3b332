/* probe/expression/probe_list: texts that live as long as the list; each file once; pairs. */
#include "probe/expression/probe_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/test.h"

/* --- the list ------------------------------------------------------------------------------ */

static int open_null(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static int64_t add_file(struct probe_list *list, int fd, const char *path)
{
	struct stat st;

	CHECK_EQ(fstat(fd, &st), 0);
	return probe_list_add_file(
		list, &(struct probe_file){
			      .handle = fd, .path = path, .device = st.st_dev, .inode = st.st_ino});
}

TEST(probe_list_copies_texts)
{
	char name[] = "call", detail[] = "server.c", arguments[] = "-4@%eax";
	struct probe probe = {.kind = PROBE_USDT,
			      .offset = 0x10,
			      .name = name,
			      .detail = detail,
			      .arguments = arguments};
	struct probe_list list;

	probe_list_init(&list);
	CHECK_EQ(probe_list_add(&list, &probe), 0);
	memset(name, 'x', 4);
	memset(detail, 'x', 4);
	memset(arguments, 'x', 4);
	probe = (struct probe){.name = "b"};
	CHECK_EQ(probe_list_add(&list, &probe), 1);
	CHECK_EQ(list.nr_probes, 2);
	CHECK_STR(list.probes[0].name, "call");
	CHECK_STR(list.probes[0].detail, "server.c");
	CHECK_STR(list.probes[0].arguments, "-4@%eax");
	CHECK_EQ(list.probes[0].offset, 0x10);
	CHECK(!list.probes[0].symbol);
	CHECK(!list.probes[1].detail);
	probe_list_clear(&list);
	CHECK_EQ(list.nr_probes, 0);
	probe_list_clear(&list);
}

/* Texts keep their addresses when they need several blocks, and one may be larger than a block. */
TEST(probe_list_texts_stay)
{
	static char longer[200000];
	struct probe_list list;
	const char *first, *second;
	char text[64];
	int i;

	probe_list_init(&list);
	first = probe_list_text(&list, "first");
	memset(longer, 'l', sizeof(longer) - 1);
	second = probe_list_text(&list, longer);
	for (i = 0; i < 10000; i++) {
		(void)snprintf(text, sizeof(text), "text number %d", i);
		CHECK_STR(probe_list_text(&list, text), text);
	}
	CHECK_STR(first, "first");
	CHECK_STR(second, longer);
	probe_list_clear(&list);
}

TEST(probe_list_files_once)
{
	struct probe_list list;
	int fd, again;

	probe_list_init(&list);
	fd = open_null();
	again = open_null();
	CHECK_EQ(add_file(&list, fd, "/null"), 0);
	CHECK_EQ(add_file(&list, open("/dev/zero", O_RDONLY), "/zero"), 1);
	CHECK_EQ(add_file(&list, again, "/other name"), 0);
	CHECK_EQ(list.nr_files, 2);
	CHECK_EQ(list.files[0].handle, fd);
	CHECK_STR(list.files[0].path, "/null");
	CHECK(list.files[0].inode != list.files[1].inode);
	CHECK_EQ(fcntl(again, F_GETFD), -1);
	probe_list_clear(&list);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
}

/* Adds one item of each kind; returns true on success. */
static bool fill(struct probe_list *list)
{
	const struct probe probe = {.name = "a", .symbol = "s", .detail = "d", .arguments = "r"};

	return add_file(list, open_null(), "/null") >= 0 && probe_list_add(list, &probe) >= 0 &&
	       probe_list_refuse(list, "b", "because") == 0;
}

TEST(probe_list_without_memory)
{
	struct probe_list list;
	bool filled = false;
	size_t nth;

	for (nth = 1; !filled && nth < 100; nth++) {
		probe_list_init(&list);
		(void)test_fail_allocation(nth);
		filled = fill(&list);
		(void)test_fail_allocation(0);
		if (filled) {
			CHECK_STR(list.refusals[0].name, "b");
			CHECK_STR(list.refusals[0].why, "because");
		}
		probe_list_clear(&list);
	}
	CHECK(filled && nth > 3);
}

/* --- pairs --------------------------------------------------------------------------------- */

static void add(struct probe_list *list, uint64_t offset, bool is_return)
{
	const struct probe probe = {
		.kind = PROBE_USER, .offset = offset, .is_return = is_return, .name = "f"};

	CHECK(probe_list_add(list, &probe) >= 0);
}

static struct probe_pairs make(struct probe_list *list, bool calls, bool returns, bool paired)
{
	const struct probe_pairs_options options = {calls, returns, paired, false};
	struct probe_pairs pairs = {0};

	CHECK_EQ(probe_pairs_make(list, &options, &pairs, NULL), 0);
	return pairs;
}

TEST(probe_pairs_are_not_made_of_calls)
{
	struct probe_list list;
	struct probe_pairs pairs;

	probe_list_init(&list);
	add(&list, 1, false);
	add(&list, 2, false);
	pairs = make(&list, true, false, false);
	CHECK(!pairs.are_paired);
	CHECK_EQ(list.nr_probes, 2);
	CHECK(pairs.functions[0] == 0 && pairs.functions[1] == 1);
	probe_pairs_clear(&pairs);
	probe_list_clear(&list);
}

TEST(probe_pairs_turn_calls_to_returns)
{
	struct probe_list list;
	struct probe_pairs pairs;

	probe_list_init(&list);
	add(&list, 1, false);
	add(&list, 2, false);
	pairs = make(&list, false, true, false);
	CHECK(!pairs.are_paired);
	CHECK_EQ(list.nr_probes, 2);
	CHECK(list.probes[0].is_return && list.probes[1].is_return);
	probe_pairs_clear(&pairs);
	probe_list_clear(&list);
}

/* Every function gets a call and a return probe; the call probe represents the function. */
static void check_paired(bool calls, bool returns, bool paired)
{
	struct probe_list list;
	struct probe_pairs pairs;
	size_t i;

	probe_list_init(&list);
	add(&list, 1, false);
	add(&list, 2, true);
	add(&list, 3, false);
	add(&list, 3, true);
	pairs = make(&list, calls, returns, paired);
	CHECK(pairs.are_paired);
	CHECK_EQ(list.nr_probes, 6);
	CHECK(list.probes[4].offset == 1 && list.probes[4].is_return);
	CHECK(list.probes[5].offset == 2 && !list.probes[5].is_return);
	for (i = 0; i < list.nr_probes; i++) {
		const struct probe *function = &list.probes[pairs.functions[i]];

		CHECK_EQ(function->offset, list.probes[i].offset);
		CHECK(!function->is_return);
	}
	probe_pairs_clear(&pairs);
	probe_list_clear(&list);
}

TEST(probe_pairs_of_a_mixed_list)
{
	check_paired(true, true, true);
	check_paired(true, true, false);
	check_paired(false, true, false); /* needs returns; the list also has calls */
	check_paired(true, false, false); /* the reverse */
}

static void check_refused(struct probe probe, bool force_returns, int want)
{
	const struct probe_pairs_options options = {true, true, true, force_returns};
	struct probe_pairs pairs = {0};
	struct probe_list list;
	struct error error = {0};

	probe.name = "f";
	probe_list_init(&list);
	CHECK(probe_list_add(&list, &probe) >= 0);
	CHECK_EQ(probe_pairs_make(&list, &options, &pairs, &error), want);
	CHECK_EQ(*error.hint != '\0', want != 0);
	probe_pairs_clear(&pairs);
	probe_list_clear(&list);
}

TEST(probe_pairs_refuse_what_does_not_return)
{
	check_refused((struct probe){.kind = PROBE_TRACEPOINT, .symbol = "a/b"}, false, -EINVAL);
	check_refused((struct probe){.kind = PROBE_USDT}, false, -EINVAL);
	check_refused((struct probe){.kind = PROBE_USER, .is_go = true}, false, -EINVAL);
	check_refused((struct probe){.kind = PROBE_USER, .is_go = true}, true, 0);
	check_refused((struct probe){.kind = PROBE_USER, .unwinds = true}, false, -EINVAL);
	check_refused((struct probe){.kind = PROBE_USER, .unwinds = true}, true, 0);
	check_refused((struct probe){.kind = PROBE_KERNEL, .symbol = "vfs_read"}, false, 0);
}

TEST(probe_pairs_without_memory)
{
	size_t nth;

	for (nth = 1;; nth++) {
		const struct probe_pairs_options options = {true, true, true, false};
		struct probe_pairs pairs = {0};
		struct error error = {0};
		struct probe_list list;
		int err;
		size_t i;

		probe_list_init(&list);
		for (i = 0; i < 40; i++)
			add(&list, i, false);
		(void)test_fail_allocation(nth);
		err = probe_pairs_make(&list, &options, &pairs, &error);
		(void)test_fail_allocation(0);
		probe_pairs_clear(&pairs);
		probe_list_clear(&list);
		if (!err)
			break;
		CHECK_EQ(err, -ENOMEM);
	}
	CHECK(nth > 1);
}
