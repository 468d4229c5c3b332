/*
 * probe/find/pattern: the grammar as a table, including bcc's documented examples, and everything
 * that is refused.
 */
#include "probe/find/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/test.h"

/* Describes the pattern in one line: its kind and `name`. */
static void describe(const struct pattern *pattern, char *to, size_t room)
{
	static const char *const kinds[] = {"user", "kernel", "tracepoint", "usdt"};
	FILE *out = fmemopen(to, room, "w");

	CHECK(out);
	fprintf(out, "%s%s%s%s", pattern->is_exclusion ? "not " : "",
		pattern->is_any_kind ? "any " : "", pattern->is_return ? "return " : "",
		kinds[pattern->kind]);
	if (pattern->program)
		fprintf(out, " [%s]", pattern->program);
	if (pattern->pid)
		fprintf(out, " pid %u", pattern->pid);
	fprintf(out, "%s%s", pattern->category ? " category" : "",
		pattern->provider ? " provider" : "");
	if (pattern->name)
		fprintf(out, " %s", pattern->name_text);
	else
		fprintf(out, " at 0x%llx", (unsigned long long)pattern->address);
	if (pattern->has_offset)
		fprintf(out, " +%llu", (unsigned long long)pattern->offset);
	CHECK(fclose(out) == 0);
}

struct row {
	const char *text, *is;
};

static void check_rows(const struct row *rows, size_t nr, bool is_regex)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		struct pattern pattern;
		struct error error;
		char is[256];
		int err = pattern_parse(rows[i].text, is_regex, &pattern, &error);

		if (err < 0)
			fprintf(stderr, "  %s\n", error.text);
		CHECK_EQ(err, 0);
		describe(&pattern, is, sizeof(is));
		CHECK_STR(is, rows[i].is);
		CHECK_STR(pattern.text, rows[i].text);
		pattern_clear(&pattern);
	}
}

static void check_refused(const char *text, bool is_regex, const char *what)
{
	struct pattern pattern, untouched;
	struct error error;
	char expected[400];

	memset(&pattern, 0x5a, sizeof(pattern));
	memset(&untouched, 0x5a, sizeof(untouched));
	(void)snprintf(expected, sizeof(expected), "bad pattern '%s': %s", text, what);
	CHECK_EQ(pattern_parse(text, is_regex, &pattern, &error), -EINVAL);
	CHECK_STR(error.text, expected);
	CHECK(!memcmp(&pattern, &untouched, sizeof(pattern)));
}

/* From the manual pages and examples of bcc's funccount and stackcount. */
TEST(pattern_parses_what_bcc_documents)
{
	static const struct row globs[] = {
		{"vfs_*", "kernel vfs_*"},
		{"*tcp*send*", "kernel *tcp*send*"},
		{"submit_bio", "kernel submit_bio"},
		{"p::vfs_read", "kernel vfs_read"},
		{"c:malloc", "user [c] malloc"},
		{"p:c:malloc", "user [c] malloc"},
		{"go:os.*", "user [go] os.*"},
		{"contentions:*", "user [contentions] *"},
		{"./test:read*", "user [./test] read*"},
		{"/home/ubuntu/contentions:*", "user [/home/ubuntu/contentions] *"},
		{"t:sched:sched_fork", "tracepoint category sched_fork"},
		{"t:block:*", "tracepoint category *"},
		{"u:node:gc*", "usdt [node] gc*"},
		{"u:node:*", "usdt [node] *"},
		{"u:pthread:pthread_create", "usdt [pthread] pthread_create"},
		{"u:pthread:*mutex*", "usdt [pthread] *mutex*"},
	};
	static const struct row regexes[] = {
		{"^vfs_.*", "kernel ^vfs_.*"},
		{"^tcp_send.*", "kernel ^tcp_send.*"},
		{"c:(write|read)$", "user [c] (write|read)$"},
	};

	check_rows(globs, ARRAY_SIZE(globs), false);
	check_rows(regexes, ARRAY_SIZE(regexes), true);
}

/* As re.match(): anchored at the start only. */
TEST(pattern_matches_names_as_bcc_does)
{
	static const struct {
		const char *text, *name;
		bool is_regex, fits;
	} rows[] = {
		{"^tcp_", "tcp_sendmsg", true, true},
		{"tcp_", "tcp_sendmsg", true, true},
		{"tcp_", "do_tcp_sendpages", true, false},
		{"^tcp_|^udp_", "udp_sendmsg", true, true},
		{"tcp_send|tcp_recv", "tcp_recvmsg", true, true},
		{"tcp_close$", "tcp_close_state", true, false},
		{"^tcp_close$", "tcp_close", true, true},
		{"c:malloc", "malloc_usable_size", true, true},
		{"u:c:mem", "memory_heap_new", true, true},
		{"t:sched:sched_s", "sched_switch", true, true},
		{"c:malloc+0x10", "malloc_usable_size", true, false},
		{"tcp_", "tcp_sendmsg", false, false},
		{"^tcp_*", "tcp_sendmsg", false, false},
	};
	struct pattern pattern;
	struct error error;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(pattern_parse(rows[i].text, rows[i].is_regex, &pattern, &error), 0);
		CHECK_EQ(matcher_matches(pattern.name, rows[i].name), rows[i].fits);
		pattern_clear(&pattern);
	}
	CHECK_EQ(pattern_parse("t:sched:.*", true, &pattern, &error), 0);
	CHECK(!matcher_matches(pattern.category, "sched_ext"));
	pattern_clear(&pattern);
}

TEST(pattern_parses_places)
{
	static const struct row rows[] = {
		{"redis-server:(call*|*Read*|*Write*)",
		 "user [redis-server] (call*|*Read*|*Write*)"},
		{"k:vfs_*", "kernel vfs_*"},
		{"p:vfs_read", "kernel vfs_read"},
		{"r:vfs_read", "return kernel vfs_read"},
		{"r::vfs_read", "return kernel vfs_read"},
		{"r:k:vfs_read", "return kernel vfs_read"},
		{"r:c:malloc", "return user [c] malloc"},
		{"r:p:c:malloc", "return user [c] malloc"},
		{"1234:malloc", "user [1234] pid 1234 malloc"},
		{"4194304:*", "user [4194304] pid 4194304 *"},
		{"12ab:f", "user [12ab] f"},
		{"t:sched_*", "tracepoint sched_*"},
		{"t:(sched|irq):*", "tracepoint category *"},
		{"u:c:libc:set*", "usdt [c] provider set*"},
		{"u:/usr/bin/node:*", "usdt [/usr/bin/node] *"},
		{"u:77:gc", "usdt [77] pid 77 gc"},
		/* Programs with a one-letter name. */
		{"p:t:main", "user [t] main"},
		{"p:k:main", "user [k] main"},
		{"r:p:u:main", "return user [u] main"},
		{"./t:main", "user [./t] main"},
		{"x:main", "user [x] main"},
		/* Colons and slashes in names. */
		{"prog:std::*", "user [prog] std::*"},
		{"prog:::global", "user [prog] ::global"},
		{"r:prog:std::sort", "return user [prog] std::sort"},
		{"prog:std::vector<int>::push_back(int const&)",
		 "user [prog] std::vector<int>::push_back(int const&)"},
		{"prog:-[Shape area:of]:", "user [prog] -[Shape area:of]:"},
		{"/usr/bin/prog:net/http.(*conn).serve",
		 "user [/usr/bin/prog] net/http.(*conn).serve"},
		{"prog:<a::B as c::D>::e", "user [prog] <a::B as c::D>::e"},
		/* Programs with colons, brackets and the like. */
		{"/a\\:b:main", "user [/a:b] main"},
		{"/x\\*/a:main", "user [/x*/a] main"},
		{"/opt/Foo (x86:64)/foo:main", "user [/opt/Foo (x86:64)/foo] main"},
		{"/opt/[a:b]:main", "user [/opt/[a:b]] main"},
		{"/usr/bin/[:main", "user [/usr/bin/[] main"},
		{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6:*alloc*",
		 "user [/usr/lib/x86_64-linux-gnu/libstdc++.so.6] *alloc*"},
		/* Exclusions. */
		{"!mem*", "not any kernel mem*"},
		{"!std::*", "not any kernel std::*"},
		{"!net/http.*", "not any kernel net/http.*"},
		{"!c:mem*", "not user [c] mem*"},
		{"!k:mem*", "not kernel mem*"},
		{"!p::mem*", "not kernel mem*"},
		{"!r:vfs_read", "not return kernel vfs_read"},
		{"!t:sched:*", "not tracepoint category *"},
		{"!u:c:*", "not usdt [c] *"},
		{"!0x1234", "not kernel at 0x1234"},
		{"!c:0x1234", "not user [c] at 0x1234"},
	};

	check_rows(rows, ARRAY_SIZE(rows), false);
}

TEST(pattern_parses_prefixes_of_bpftrace)
{
	static const struct row rows[] = {
		{"kprobe:vfs_*", "kernel vfs_*"},
		{"kprobe:vfs_read+0x4", "kernel vfs_read +4"},
		{"kretprobe:vfs_read", "return kernel vfs_read"},
		{"fentry:vfs_read", "kernel vfs_read"},
		{"kretfunc:vfs_read", "return kernel vfs_read"},
		{"uprobe:/bin/bash:readline", "user [/bin/bash] readline"},
		{"uprobe:libc:malloc", "user [libc] malloc"},
		{"uprobe:prog:std::sort", "user [prog] std::sort"},
		{"uprobe:t:main", "user [t] main"},
		{"uretprobe:c:malloc", "return user [c] malloc"},
		{"tracepoint:sched:sched_switch", "tracepoint category sched_switch"},
		{"rawtracepoint:sched_switch", "tracepoint sched_switch"},
		{"usdt:/usr/bin/node:gc*", "usdt [/usr/bin/node] gc*"},
		{"usdt:c:libc:set*", "usdt [c] provider set*"},
		{"!uprobe:c:mem*", "not user [c] mem*"},
		{"p:kprobe:main", "user [kprobe] main"},
		{"./usdt:main", "user [./usdt] main"},
	};

	check_rows(rows, ARRAY_SIZE(rows), false);
	check_refused("uprobe:malloc", false,
		      "missing ':'; a uprobe is uprobe:PROGRAM:NAME (column 14)");
	check_refused("uprobe:", false, "missing ':'; a uprobe is uprobe:PROGRAM:NAME (column 8)");
	check_refused("kprobe:c:malloc", false, "a kernel function's name has no ':' (column 9)");
	check_refused("r:tracepoint:sched:sched_switch", false,
		      "a tracepoint has no return (column 1)");
}

TEST(pattern_parses_offsets_and_addresses)
{
	static const struct row globs[] = {
		{"c:malloc+0x1a", "user [c] malloc +26"},
		{"c:malloc+26", "user [c] malloc +26"},
		{"vfs_read+0", "kernel vfs_read +0"},
		{"c:operator+", "user [c] operator+"},
		{"c:operator+*", "user [c] operator+*"},
		{"c:operator++0x10", "user [c] operator+ +16"},
		{"c:operator\\+0x10", "user [c] operator\\+0x10"},
		{"c:a+b", "user [c] a+b"},
		{"t:x:y+1", "tracepoint category y+1"},
		{"prog:0x401136", "user [prog] at 0x401136"},
		{"r:prog:0x401136", "return user [prog] at 0x401136"},
		{"0xffffffff81000000", "kernel at 0xffffffff81000000"},
		{"libz.so.1+0x4a20", "user [libz.so.1] at 0x4a20"},
		{"p:libz.so.1.2.13+0x4a20", "user [libz.so.1.2.13] at 0x4a20"},
		{"/usr/bin/nginx+0x4A20", "user [/usr/bin/nginx] at 0x4a20"},
		{"812+0x10", "user [812] pid 812 at 0x10"},
		{"r:postgres+0x4a20", "return user [postgres] at 0x4a20"},
		{"!postgres+0x4a20", "not user [postgres] at 0x4a20"},
		{"postgres+0x4a20", "kernel postgres +18976"},
		{"u:c:0x10", "usdt [c] 0x10"},
		{"c:main::0x10", "user [c] main::0x10"},
	};
	static const struct row regexes[] = {
		{"c:malloc+0x1a", "user [c] malloc +26"},
		{"c:^malloc$+0x1a", "user [c] ^malloc$ +26"},
		{"vfs_[a-z]+1", "kernel vfs_[a-z]+1"},
		{"vfs_[[:alpha:]]+", "kernel vfs_[[:alpha:]]+"},
		{"c:vfs_[[:alpha:]\\]+", "user [c] vfs_[[:alpha:]\\]+"},
		{"t:[[:alpha:]]*:[^]:]x", "tracepoint category [^]:]x"},
	};

	check_rows(globs, ARRAY_SIZE(globs), false);
	check_rows(regexes, ARRAY_SIZE(regexes), true);
}

/* A pattern parsed as a kernel function and an offset may turn out to be a file and an address. */
TEST(pattern_of_a_file_after_all)
{
	struct pattern pattern = {0};

	CHECK_EQ(pattern_parse("p:postgres+0x4a20", false, &pattern, NULL), 0);
	CHECK(pattern.may_be_file && pattern.kind == PATTERN_KERNEL);
	CHECK_EQ(pattern_become_file(&pattern), 0);
	CHECK(pattern.kind == PATTERN_USER && !pattern.name && !pattern.has_offset);
	CHECK_STR(pattern.program, "postgres");
	CHECK_EQ(pattern.address, 0x4a20);
	pattern_clear(&pattern);
	CHECK_EQ(pattern_parse("vfs_read+10", false, &pattern, NULL), 0);
	CHECK(!pattern.may_be_file);
	pattern_clear(&pattern);
	CHECK_EQ(pattern_parse("k:vfs_read+0x10", false, &pattern, NULL), 0);
	CHECK(!pattern.may_be_file);
	pattern_clear(&pattern);
}

/* --- refused patterns ------------------------------------------------------------------------- */

TEST(pattern_refuses_empty_parts)
{
	static const char no_name[] = "no name (column 3)";

	check_refused("", false, "it is empty");
	check_refused("!", false, "no name (column 2)");
	check_refused("!!a", false, "more than one '!' (column 2)");
	check_refused("c:", false, no_name);
	check_refused("k:", false, no_name);
	check_refused("p:", false, no_name);
	check_refused("r:", false, no_name);
	check_refused("t:", false, no_name);
	check_refused("p::", false, "no name (column 4)");
	check_refused("t:a:", false, "no name (column 5)");
	check_refused("u:a:", false, "no name (column 5)");
	check_refused("u:a:b:", false, "no name (column 7)");
	check_refused("c:+0x10", false, no_name);
	check_refused(":malloc", false, "nothing before this ':' (column 1)");
	check_refused("t::a", false, "nothing before this ':' (column 3)");
	check_refused("u::a", false, "nothing before this ':' (column 3)");
	check_refused("u:a::b", false, "nothing before this ':' (column 5)");
}

TEST(pattern_refuses_what_makes_no_sense)
{
	check_refused("r:t:sched:sched_switch", false, "a tracepoint has no return (column 1)");
	check_refused("!r:u:a:b", false, "a static probe has no return (column 2)");
	check_refused("u:gc", false, "missing ':'; a static probe is u:PROGRAM:NAME (column 5)");
	check_refused("u:a:b:c:d", false,
		      "too many ':'; a static probe is u:PROGRAM:PROVIDER:NAME (column 8)");
	check_refused("t:a:b:c", false, "too many ':'; a tracepoint is t:CATEGORY:NAME (column 6)");
	check_refused("r:c:malloc+1", false, "a return probe cannot have an offset (column 11)");
	check_refused("!malloc+1", false, "an exclusion cannot have an offset (column 8)");
	check_refused("c:mal*+1", false,
		      "an offset needs a single function name, not a pattern (column 7)");
	check_refused("c:m+99999999999999999999", false, "not an offset (column 4)");
	check_refused("c:0x1g", false, "not an address (column 3)");
	check_refused("c:0x", false, "not an address (column 3)");
	check_refused("0x10000000000000000", false, "not an address (column 1)");
	check_refused("0:main", false, "not a valid pid (column 1)");
	check_refused("4194305:main", false, "not a valid pid (column 1)");
	check_refused("u:99999999999999999999:main", false, "not a valid pid (column 3)");
	check_refused("lib*:main", false, "no wildcards before ':' (column 4)");
	check_refused("c:::::a", false, "too many ':' (column 3)");
}

TEST(pattern_asks_for_a_program)
{
	struct pattern pattern;
	struct error error;

	check_refused("std::sort", false, "a kernel function's name has no ':' (column 4)");
	check_refused("p::std::sort", false, "a kernel function's name has no ':' (column 7)");
	check_refused("k:c:malloc", false, "a kernel function's name has no ':' (column 4)");
	CHECK_EQ(pattern_parse("std::sort", false, &pattern, &error), -EINVAL);
	CHECK_STR(error.hint, "for functions of a program use PROGRAM:NAME, as in c:malloc");
	check_refused("./a.out", false, "a kernel function's name has no '/' (column 2)");
}

TEST(pattern_tells_where_a_name_is_wrong)
{
	check_refused("c:(a|b", false, "no ')' for this '(' (column 3)");
	check_refused("vfs[a", false, "no ']' for this '[' (column 4)");
	check_refused("t:a):b", false, "no '(' for this ')' (column 4)");
	check_refused("t:a:b)", false, "no '(' for this ')' (column 6)");
	check_refused("u:c:a):b", false, "no '(' for this ')' (column 6)");
	check_refused("c:a)", true, "no '(' for this ')' (column 4)");
	check_refused("c:[z-a]", true, "invalid range: end before start (column 3)");
}

TEST(pattern_refuses_control_characters_and_long_texts)
{
	struct pattern pattern;
	struct error error;
	char text[10000];

	CHECK_EQ(pattern_parse("c:\x1b[31m", false, &pattern, &error), -EINVAL);
	CHECK_STR(error.text, "bad pattern: a control character (column 3)");
	CHECK_EQ(pattern_parse("c\n:a", false, &pattern, &error), -EINVAL);
	CHECK_STR(error.text, "bad pattern: a control character (column 2)");
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	CHECK_EQ(pattern_parse(text, false, &pattern, &error), -EINVAL);
	CHECK(strstr(error.text, "aaa…': too long (column 8193)"));
	text[5000] = '\0';
	CHECK_EQ(pattern_parse(text, false, &pattern, &error), -EINVAL);
	CHECK(strstr(error.text, "aaa…': too long (column 4097)"));
	text[1000] = ':';
	CHECK_EQ(pattern_parse(text, false, &pattern, &error), 0);
	CHECK_EQ(strlen(pattern.name_text), 3999);
	pattern_clear(&pattern);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void check_without_memory(const char *text, bool is_regex)
{
	struct pattern pattern;
	struct error error;
	size_t nth = 0;
	int err;

	do {
		(void)test_fail_allocation(++nth);
		err = pattern_parse(text, is_regex, &pattern, &error);
		(void)test_fail_allocation(0);
		CHECK(!err || err == -ENOMEM);
	} while (err);
	CHECK(nth > 1);
	pattern_clear(&pattern);
	pattern_clear(&pattern);
}

TEST(pattern_without_memory)
{
	check_without_memory("vfs_read", false);
	check_without_memory("r:c:m[ae]*", false);
	check_without_memory("t:sch*:sched_*", false);
	check_without_memory("u:c:lib*:set*", false);
	check_without_memory("c:^m.*", true);
}
