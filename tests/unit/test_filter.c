/* view/filter: which samples are kept. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "unit/make_profile.h"
#include "view/filter.h"

static struct profile *some_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t probe = (uint32_t)profile_add_string(profile, "sched:sched_switch");

	(void)make_labelled(profile, (struct sample_labels){.pid = 1, .tid = 10},
			    "web;main;read;sys_read_[k] 1");
	(void)make_labelled(profile, (struct sample_labels){.pid = 1, .tid = 11},
			    "web;main;libc.so.6!malloc 2");
	(void)make_labelled(profile, (struct sample_labels){.pid = 2, .tid = 20, .probe = probe},
			    "db;main;parse;find_[i] 4");
	(void)make_labelled(profile, (struct sample_labels){.pid = 2, .tid = 21},
			    "db;main;libx.so! 8");
	(void)make_labelled(profile, (struct sample_labels){.pid = 3, .tid = 30}, "idle 16");
	return profile;
}

static void add(struct filter *filter, enum filter_subject subject, enum filter_sense sense,
		const char *pattern)
{
	CHECK_EQ(filter_add_pattern(filter, subject, sense, pattern, NULL), 0);
}

/* Returns the remaining count; clears the filter. */
static uint64_t left(struct filter *filter)
{
	struct profile *profile = some_profile();
	uint64_t dropped = 0, total;

	CHECK_EQ(filter_apply(filter, profile, &dropped), 0);
	total = profile_total(profile);
	CHECK_EQ(total + dropped, 31);
	filter_clear(filter);
	profile_free(profile);
	return total;
}

static uint64_t left_by(enum filter_subject subject, enum filter_sense sense, const char *pattern)
{
	struct filter filter = {0};

	add(&filter, subject, sense, pattern);
	return left(&filter);
}

static uint64_t left_by_number(enum filter_subject subject, enum filter_sense sense,
			       uint32_t number)
{
	const uint32_t numbers[] = {number, 77};
	struct filter filter = {0};

	CHECK_EQ(filter_add_numbers(&filter, subject, sense, numbers, 2), 0);
	return left(&filter);
}

TEST(filter_of_nothing_lets_all_pass)
{
	struct filter filter = {0};

	CHECK_EQ(left(&filter), 31);
	CHECK_EQ(filter_add_numbers(&filter, FILTER_PID, FILTER_WANTED, NULL, 0), 0);
	CHECK_EQ(left(&filter), 31);
}

TEST(filter_by_labels)
{
	CHECK_EQ(left_by(FILTER_COMM, FILTER_WANTED, "^web$"), 3);
	CHECK_EQ(left_by(FILTER_COMM, FILTER_UNWANTED, "web|idle"), 12);
	CHECK_EQ(left_by_number(FILTER_PID, FILTER_WANTED, 2), 12);
	CHECK_EQ(left_by_number(FILTER_PID, FILTER_UNWANTED, 2), 19);
	CHECK_EQ(left_by_number(FILTER_TID, FILTER_WANTED, 11), 2);
	CHECK_EQ(left_by_number(FILTER_TID, FILTER_UNWANTED, 11), 29);
	CHECK_EQ(left_by(FILTER_PROBE, FILTER_WANTED, "^sched:"), 4);
	CHECK_EQ(left_by(FILTER_PROBE, FILTER_UNWANTED, "^sched:"), 27);
}

TEST(filter_by_the_function_that_ran)
{
	CHECK_EQ(left_by(FILTER_SYMBOL, FILTER_WANTED, "read"), 1);
	CHECK_EQ(left_by(FILTER_SYMBOL, FILTER_WANTED, "^read$"), 0);
	CHECK_EQ(left_by(FILTER_SYMBOL, FILTER_WANTED, "find|malloc"), 6);
	CHECK_EQ(left_by(FILTER_SYMBOL, FILTER_WANTED, "parse"), 0); /* find is inlined there */
	CHECK_EQ(left_by(FILTER_SYMBOL, FILTER_UNWANTED, "find"), 27);
	CHECK_EQ(left_by(FILTER_SYMBOL, FILTER_WANTED, "unknown"), 8);
	CHECK_EQ(left_by(FILTER_MODULE, FILTER_WANTED, "^lib"), 10);
	CHECK_EQ(left_by(FILTER_MODULE, FILTER_WANTED, "kernel"), 1);
	CHECK_EQ(left_by(FILTER_MODULE, FILTER_WANTED, "/usr"), 0);
	CHECK_EQ(left_by(FILTER_MODULE, FILTER_UNWANTED, "app"), 27);
}

TEST(filter_by_the_stack)
{
	CHECK_EQ(left_by(FILTER_STACK, FILTER_WANTED, "main"), 15);
	CHECK_EQ(left_by(FILTER_STACK, FILTER_WANTED, "parse"), 4);
	CHECK_EQ(left_by(FILTER_STACK, FILTER_WANTED, "find"), 4);
	CHECK_EQ(left_by(FILTER_STACK, FILTER_UNWANTED, "main"), 16);
	CHECK_EQ(left_by(FILTER_STACK, FILTER_UNWANTED, "unknown"), 23);
}

TEST(filter_by_several_things)
{
	struct filter filter = {0};

	add(&filter, FILTER_COMM, FILTER_WANTED, "web");
	add(&filter, FILTER_COMM, FILTER_WANTED, "idle"); /* either name */
	CHECK_EQ(left(&filter), 19);
	add(&filter, FILTER_COMM, FILTER_WANTED, "web"); /* and */
	add(&filter, FILTER_STACK, FILTER_UNWANTED, "malloc");
	CHECK_EQ(left(&filter), 1);
}

TEST(filter_counts_what_each_leaves)
{
	struct profile *profile = some_profile();
	struct filter filter = {0};
	uint64_t dropped;

	add(&filter, FILTER_COMM, FILTER_WANTED, "web");
	add(&filter, FILTER_SYMBOL, FILTER_WANTED, "find");
	CHECK_EQ(filter_apply(&filter, profile, &dropped), 0);
	CHECK_EQ(dropped, 31);
	CHECK_EQ(filter.criteria[FILTER_COMM][FILTER_WANTED].passed, 3);
	CHECK_EQ(filter.criteria[FILTER_SYMBOL][FILTER_WANTED].passed, 4);
	filter_clear(&filter);
	profile_free(profile);
}

TEST(filter_with_a_bad_pattern)
{
	struct filter filter = {0};
	struct error error = {0};

	CHECK_EQ(filter_add_pattern(&filter, FILTER_COMM, FILTER_WANTED, "a(", &error), -EINVAL);
	CHECK(*error.text);
	CHECK(!filter_criterion_is_used(&filter.criteria[FILTER_COMM][FILTER_WANTED]));
	filter_clear(&filter);
}

TEST(filter_without_memory)
{
	struct profile *profile = some_profile();
	const uint32_t number = 1;
	struct filter filter = {0};
	uint64_t dropped;
	size_t nth = 1;
	int result;

	do {
		filter_clear(&filter);
		(void)test_fail_allocation(nth++);
		result = filter_add_numbers(&filter, FILTER_PID, FILTER_WANTED, &number, 1);
		if (!result)
			result = filter_apply(&filter, profile, &dropped);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
	} while (result < 0);
	CHECK(nth > 5);
	filter_clear(&filter);
	profile_free(profile);
}
