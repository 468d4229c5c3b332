/* probe/expression/probe_list: copies that live as long as the list, files that are there once. */
#include "probe/expression/probe_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit/test.h"

static int open_null(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
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

/* Texts don't move when there are more than fit into one block, and one may be longer than that. */
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
	CHECK_EQ(probe_list_add_file(&list, fd, "/null"), 0);
	CHECK_EQ(probe_list_add_file(&list, open("/dev/zero", O_RDONLY), "/zero"), 1);
	CHECK_EQ(probe_list_add_file(&list, again, "/other name"), 0);
	CHECK_EQ(list.nr_files, 2);
	CHECK_EQ(list.files[0].fd, fd);
	CHECK_STR(list.files[0].path, "/null");
	CHECK(list.files[0].inode != list.files[1].inode);
	CHECK_EQ(fcntl(again, F_GETFD), -1);
	CHECK_EQ(probe_list_add_file(&list, -1, "/none"), -EBADF);
	probe_list_clear(&list);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
}

/* Adds one of each; whether that worked. */
static bool fill(struct probe_list *list)
{
	const struct probe probe = {.name = "a", .symbol = "s", .detail = "d", .arguments = "r"};

	return probe_list_add_file(list, open_null(), "/null") >= 0 &&
	       probe_list_add(list, &probe) >= 0 && probe_list_refuse(list, "b", "because") == 0;
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
