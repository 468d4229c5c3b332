/*
 * probe/find/tracepoint_filter: instructions are run by an interpreter over a record; tests/live/filters.sh compares
 * the hits that they choose with the ones that the kernel's filter counts.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/find/tracepoint_filter.h"
#include "unit/filter_fixture.h"

/* --- what filters choose ------------------------------------------------------------------------ */

static const struct {
	const char *text;
	bool is_chosen;
} filters[] = {
	{"dev == 0x80000001", true},
	{"dev > 0x80000000", true},
	{"dev < 0", false},
	{"dev == 6442450945", true}, /* truncated to 32 bits, as in the kernel */
	{"level < 0", true},
	{"level == -3", true},
	{"level == 253", true},
	{"level >= -2", false},
	{"level <= -3", true},
	{"flags & 2", true},
	{"flags & 4", false},
	{"flags&0x10", true},
	{"sector == 18446744073709551615", true},
	{"sector > 5", true},
	{"error != -2", false},
	{"  error==-2  ", true},
	{"common_pid == 78", true},
	{"common_pid != 78", false},
	{"CPU == 3", true},
	{"cpu > 3", false},
	{"comm == \"worker\"", true},
	{"COMM == 'work'", false},
	{"comm ~ \"work*\"", true},
	{"name == \"fullname\"", true},
	{"name == 'fullnam'", false},
	{"name != 'fullnam'", true},
	{"name ~ 'fullname*'", true},
	{"name ~ '*'", true},
	{"name != 'fullname'", false},
	{"cmd == 'git status'", true},
	{"cmd == 'git'", false},
	{"cmd ~ 'git *'", true},
	{"cmd == ''", false},
	{"path == '/tmp'", true},
	{"path ~ '/var*'", false},
	{"dev == 1 || level == -3", true},
	{"dev == 1 || level == 3", false},
	{"level == -3 && error == -2", true},
	{"level == -3 && error == 2", false},
	{"level == 3 && error == 2 || flags & 2", true},
	{"level == 3 && (error == 2 || flags & 2)", false},
	{"flags & 2 || level == 3 && error == 2", true},
	{"!level == 3", true},
	{"!(level == -3 && error == -2)", false},
	{"!!level == -3", true},
	{"!(!(level == 3 || !(error == -2)) && name == 'x')", true},
	{"(((level == -3)))", true},
};

TEST(filters_choose_hits)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		struct bpf_insn *instructions = NULL;
		struct error error = {0};
		size_t nr = 0;
		int err = tracepoint_filter_compile("a:b", format, filters[i].text, &instructions,
						    &nr, &error);

		if (err || run(instructions, nr) != filters[i].is_chosen)
			(void)fprintf(stderr, "%s: %s\n", filters[i].text, error.text);
		CHECK_EQ(err, 0);
		CHECK_EQ(run(instructions, nr), filters[i].is_chosen);
		free(instructions);
	}
}

/* --- what is refused ---------------------------------------------------------------------------- */

static const struct {
	const char *text;
	int code;
	const char *error, *hint; /* parts */
} refusals[] = {
	{"", -EINVAL, "bad filter '' of 'a:b': a field expected (column 1)",
	 "its fields are dev, level, flags, sector,"},
	{"devv == 1", -EINVAL, "no field 'devv' (column 1)", "its fields are dev"},
	{"dev", -EINVAL, "==, !=, <, <=, >, >=, & or ~ expected (column 4)", ""},
	{"dev && level == 1", -EINVAL, "expected (column 5)", ""},
	{"dev == ", -EINVAL, "a number expected (column 8)", ""},
	{"dev == x", -EINVAL, "a number expected (column 8)", ""},
	{"dev == 1x", -EINVAL, "bad number (column 8)", ""},
	{"dev == 99999999999999999999", -EINVAL, "bad number", ""},
	{"dev ~ 'x'", -EINVAL, "~ is for texts", ""},
	{"dev == 1 level", -EINVAL, "&& or || expected (column 10)", ""},
	{"dev == 1 &&", -EINVAL, "a field expected (column 12)", ""},
	{"(dev == 1", -EINVAL, "')' expected (column 10)", ""},
	{"dev == 1)", -EINVAL, "&& or || expected (column 9)", ""},
	{"name == full", -EINVAL, "a text in quotes expected (column 9)", ""},
	{"name == 'full", -EINVAL, "the quote is not closed (column 9)", ""},
	{"name > 'full'", -EINVAL, "texts are compared by ==, != or ~", ""},
	{"args == 1", -EINVAL, "'args' is no number and no text", ""},
	{"odd == 1", -EOPNOTSUPP, "odd cannot be evaluated for stacks", "stook stat -e a:b"},
	{"early == 1", -EOPNOTSUPP, "early cannot be evaluated", "stook stat"},
	{"distant == 1", -EOPNOTSUPP, "distant cannot be evaluated", "stook stat"},
	{"common_type == 1", -EOPNOTSUPP, "common_type cannot be evaluated", "stook stat"},
	{"name ~ '*name'", -EOPNOTSUPP, "a glob other than 'text*'", "stook stat"},
	{"cmd == '0123456789012345678901234567890123456789012345678901234567890123'", -EOPNOTSUPP,
	 "a text of more than 63 bytes", "stook stat"},
	{"((((((((((((((((((((((((((((((((((dev == 1))))))))))))))))))))))))))))))))))", -EINVAL,
	 "too many levels (column 33)", ""},
};

TEST(wrong_filters_are_explained)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct bpf_insn *instructions = NULL;
		struct error error = {0};
		size_t nr = 0;

		CHECK_EQ(tracepoint_filter_compile("a:b", format, refusals[i].text, &instructions,
						   &nr, &error),
			 refusals[i].code);
		if (!strstr(error.text, refusals[i].error) || !strstr(error.hint, refusals[i].hint))
			(void)fprintf(stderr, "%s: %s (%s)\n", refusals[i].text, error.text,
				      error.hint);
		CHECK(strstr(error.text, refusals[i].error) != NULL);
		CHECK(strstr(error.hint, refusals[i].hint) != NULL);
		CHECK(!instructions);
	}
}

TEST(a_filter_that_only_the_kernel_rejects_is_told)
{
	struct error error = {0};

	CHECK_EQ(tracepoint_filter_explain("a:b", format, "name ~ '*x*'", &error), -EINVAL);
	CHECK(strstr(error.text, "the kernel rejects the filter 'name ~ '*x*'' of 'a:b'") != NULL);
	CHECK_EQ(tracepoint_filter_explain("a:b", format, "naem == 1", &error), -EINVAL);
	CHECK(strstr(error.text, "no field 'naem' (column 1)") != NULL);
}

/* Every beginning of a filter, and memory that runs out at every allocation. */
TEST(filters_that_end_early)
{
	static const char whole[] = "!(dev == 1 || name ~ 'fu*') && cmd != \"git\" && flags & 0x2";
	size_t nth, nr_bytes;

	for (nr_bytes = 0; nr_bytes < sizeof(whole); nr_bytes++) {
		char *text = strndup(whole, nr_bytes);
		struct bpf_insn *instructions = NULL;
		size_t nr;

		(void)tracepoint_filter_compile("a:b", format, text, &instructions, &nr, NULL);
		free(instructions);
		free(text);
	}
	for (nth = 1; nth < 100; nth++) {
		struct bpf_insn *instructions = NULL;
		size_t nr;
		int err;

		(void)test_fail_allocation(nth);
		err = tracepoint_filter_compile("a:b", format, whole, &instructions, &nr, NULL);
		(void)test_fail_allocation(0);
		free(instructions);
		if (!err)
			return;
	}
	CHECK(false);
}
