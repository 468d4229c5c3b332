/* base/closest: suggestions for misspelt words; distances compared with the textbook table. */
#include "base/closest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/test.h"

static const char *const offered[] = {
	"malloc",
	"calloc",
	"realloc",
	"free",
	"memcpy",
	"memmove",
	"__libc_malloc",
	"mallctl_byname",
	"tcp_sendmsg",
	"tcp_recvmsg",
	"tcp_sendmsg_locked",
	"udp_sendmsg",
	"vfs_read",
	"vfs_readv",
	"vfs_write",
	"__x64_sys_openat",
	"do_sys_open",
	"readQueryFromClient",
	"writeToClient",
	"std::vector<int>::push_back(int&&)",
	"main",
	"a",
	"",
	"main.(*Server).Serve",
	"malloc",
};

/* expected: the names, comma-separated */
static void check_closest(const char *wanted, const char *expected)
{
	const char *names[CLOSEST_NAMES];
	struct closest closest;
	char got[256] = "";
	size_t i, nr;

	closest_init(&closest, wanted);
	for (i = 0; i < ARRAY_SIZE(offered); i++)
		closest_offer(&closest, offered[i]);
	nr = closest_names(&closest, names);
	for (i = 0; i < nr; i++)
		(void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? "," : "",
			       names[i]);
	CHECK_STR(got, expected);
	closest_clear(&closest);
	CHECK_EQ(closest_names(&closest, names), 0);
}

TEST(closest_finds_what_was_meant)
{
	check_closest("mallc", "malloc,mallctl_byname,calloc");
	check_closest("mlaloc", "malloc,calloc,__libc_malloc");
	check_closest("MALLOC", "malloc,calloc,__libc_malloc");
	check_closest("maloc", "malloc,calloc,__libc_malloc");
	check_closest("tcp_sendmesg", "tcp_sendmsg,tcp_sendmsg_locked,udp_sendmsg");
	check_closest("tcpsendmsg", "tcp_sendmsg,tcp_sendmsg_locked,udp_sendmsg");
	check_closest("_vfs_read", "vfs_read,vfs_readv");
	check_closest("vfsread", "vfs_read,vfs_readv");
	check_closest("sys_open", "do_sys_open,__x64_sys_openat");
	check_closest("sys_opanat", "__x64_sys_openat");
	check_closest("readqueryfromcleint", "readQueryFromClient");
	check_closest("push_back", "std::vector<int>::push_back(int&&)");
	check_closest("server", "main.(*Server).Serve");
}

TEST(closest_takes_the_longest_part_of_patterns)
{
	check_closest("*sendmesg*", "tcp_sendmsg,udp_sendmsg,tcp_sendmsg_locked");
	check_closest("(x|readQueryFrmoClient|*)", "readQueryFromClient");
	check_closest("^vfs_raed.*$", "vfs_read,vfs_readv");
	check_closest("mal?oc", "malloc,calloc,__libc_malloc");
	check_closest("main\\.\\(*", "main.(*Server).Serve,main");
}

TEST(closest_offers_nothing_that_is_far)
{
	check_closest("xyzzy123", "");
	check_closest("connect_to_server", "");
	check_closest("a", "");
	check_closest("", "");
	check_closest("*", "");
	check_closest("()|(", "");
}

/* --- distances -------------------------------------------------------------------------------- */

#define TABLE_MAX 16

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The textbook table; swapping two neighbours is one edit, after which both are final. */
static size_t table_distance(const char *a, const char *b)
{
	size_t table[TABLE_MAX][TABLE_MAX], i, j, nr_a = strlen(a), nr_b = strlen(b);

	for (i = 0; i <= nr_a; i++)
		for (j = 0; j <= nr_b; j++) {
			if (!i || !j) {
				table[i][j] = i + j;
				continue;
			}
			table[i][j] = least(table[i - 1][j], table[i][j - 1]) + 1;
			table[i][j] =
				least(table[i][j], table[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				table[i][j] = least(table[i][j], table[i - 2][j - 2] + 1);
		}
	return table[nr_a][nr_b];
}

static void make_word(char *word, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		word[i] = "abc"[rand() % 3];
	word[nr] = '\0';
}

/* A name no longer than the word has no part to consider: its cost is the plain distance. */
TEST(closest_agrees_with_a_table_of_distances)
{
	size_t i, nr_near = 0;

	for (i = 0; i < 20000; i++) {
		size_t nr = 2 + (size_t)rand() % 11, expected;
		char wanted[TABLE_MAX], name[TABLE_MAX];
		struct closest closest;

		make_word(wanted, nr);
		make_word(name, nr - (size_t)rand() % (nr / 2 + 1));
		expected = table_distance(wanted, name);
		closest_init(&closest, wanted);
		closest_offer(&closest, name);
		CHECK_EQ(closest.nr_names, expected <= (nr + 1) / 3);
		if (closest.nr_names)
			CHECK_EQ(closest.costs[0], expected * 4);
		nr_near += closest.nr_names;
		closest_clear(&closest);
	}
	CHECK(nr_near > 1000 && nr_near < 19000);
}

/* --- ranking and limits ----------------------------------------------------------------------- */

TEST(closest_takes_long_names)
{
	char wanted[200], name[5000];
	const char *names[CLOSEST_NAMES];
	struct closest closest;

	memset(wanted, 'w', sizeof(wanted));
	wanted[sizeof(wanted) - 1] = '\0';
	memset(name, 'w', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	closest_init(&closest, wanted);
	closest_offer(&closest, name);
	closest_offer(&closest, wanted);
	CHECK_EQ(closest_names(&closest, names), 2);
	CHECK_STR(names[0], wanted);
	closest_clear(&closest);
}

TEST(closest_without_memory)
{
	const char *names[CLOSEST_NAMES];
	struct closest closest;
	size_t nth, i;

	for (nth = 1; nth < 8; nth++) {
		closest_init(&closest, "malloc");
		(void)test_fail_allocation(nth);
		for (i = 0; i < ARRAY_SIZE(offered); i++)
			closest_offer(&closest, offered[i]);
		(void)test_fail_allocation(0);
		CHECK(closest_names(&closest, names) <= CLOSEST_NAMES);
		closest_clear(&closest);
	}
}
