/*
 * view/diff/comparison: random draws from sources with known shares, with a fixed seed. Unchanged
 * rows are reported as changed no more often than promised; changed rows are found.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "unit/make_profile.h"
#include "view/diff/comparison.h"

#define NR_SOURCES 200

static uint64_t random_state;

static double random_part(void)
{
	random_state = hash_stable_add(random_state, 1);
	return (double)(random_state >> 11) / 9007199254740992.0;
}

/* A profile with two sides and generated stacks. */
struct sides {
	struct profile *profile;
	size_t before;
	uint32_t slice;
};

static struct sides new_sides(void)
{
	struct sides sides = {.profile = profile_new()};
	struct value_type type = {0};

	type.type = (uint32_t)profile_add_string(sides.profile, DIFFERENCE_BEFORE);
	sides.before = (size_t)profile_add_value_type(sides.profile, &type);
	CHECK_EQ(sides.before, 1);
	return sides;
}

static void add_stack(struct sides *sides, const char *stack, uint64_t before, uint64_t after)
{
	char line[512];
	int64_t sample;

	(void)snprintf(line, sizeof(line), "%s 0", stack);
	sample = make_labelled(sides->profile, (struct sample_labels){.slice = sides->slice}, line);
	CHECK_EQ(profile_add_value(sides->profile, (uint32_t)sample, 0, after), 0);
	CHECK_EQ(profile_add_value(sides->profile, (uint32_t)sample, sides->before, before), 0);
}

static void compare(struct comparison *ret, const struct sides *sides,
		    const struct comparison_style *style)
{
	struct comparison_style labelled = *style;

	labelled.labels = LABEL_COMM;
	CHECK_EQ(comparison_init(ret, sides->profile, &labelled), 0);
}

static const struct difference_row *find_row(const struct comparison *comparison, const char *name)
{
	size_t i;

	for (i = 0; i < comparison->rows.nr; i++)
		if (!strcmp(difference_rows_name(&comparison->rows, &comparison->rows.rows[i]),
			    name))
			return &comparison->rows.rows[i];
	CHECK_STR(name, "among the rows");
	return &comparison->rows.rows[0];
}

static size_t nr_changed(const struct comparison *comparison)
{
	size_t nr = 0, i;

	for (i = 0; i < comparison->rows.nr; i++)
		nr += comparison->rows.rows[i].self.is.kind != CHANGE_NONE ||
		      comparison->rows.rows[i].total.is.kind != CHANGE_NONE;
	return nr;
}

/* Draws samples from the sources: a few heavy ones, many light ones. */
static void draw(uint64_t counts[NR_SOURCES], size_t nr)
{
	double sums[NR_SOURCES], sum = 0;
	size_t i, low, high;

	for (i = 0; i < NR_SOURCES; i++)
		sums[i] = sum += 1.0 / (double)(i + 1);
	memset(counts, 0, NR_SOURCES * sizeof(*counts));
	while (nr--) {
		double part = random_part() * sum;

		for (low = 0, high = NR_SOURCES - 1; low < high;) {
			size_t middle = (low + high) / 2;

			if (sums[middle] < part)
				low = middle + 1;
			else
				high = middle;
		}
		counts[low]++;
	}
}

static void add_draws(struct sides *sides, size_t nr_before, size_t nr_after, uint64_t waves)
{
	uint64_t before[NR_SOURCES], after[NR_SOURCES];
	char stack[64];
	size_t i;

	draw(before, nr_before);
	draw(after, nr_after);
	for (i = 0; i < NR_SOURCES; i++) {
		(void)snprintf(stack, sizeof(stack), "x;main;g%zu;f%zu", i % 7, i);
		add_stack(sides, stack, before[i] * waves, after[i] * waves);
	}
}

/*
 * Nothing changed. By default at least 95 % of comparisons must report no change; with a fixed
 * sigma per row, about as many rows as chance predicts.
 */
TEST(rows_of_the_same_source_did_not_change)
{
	const struct comparison_style together = {0}, each = {.sigma = 3};
	struct comparison comparison;
	size_t wrong = 0, wrong_each = 0;
	double expected = 0;
	int i;

	random_state = 1;
	for (i = 0; i < 60; i++) {
		struct sides sides = new_sides();

		add_draws(&sides, 2000 + 200 * (size_t)i, 6000, 1);
		compare(&comparison, &sides, &together);
		wrong += nr_changed(&comparison) || comparison.paths.nr;
		comparison_clear(&comparison);
		compare(&comparison, &sides, &each);
		wrong_each += nr_changed(&comparison);
		expected += comparison.rows.nr_tests * difference_chance_of_sigma(3);
		comparison_clear(&comparison);
		profile_free(sides.profile);
	}
	CHECK(wrong <= 6);
	CHECK((double)wrong_each <= 1.5 * expected);
}

/*
 * A load in bursts: each sample is counted four times in its slice. The variance between slices
 * must show a dispersion of about 4.
 */
TEST(rows_take_their_spread_from_slices)
{
	const struct comparison_style style = {0};
	struct comparison comparison;
	size_t wrong = 0;
	uint64_t at;
	int i;

	random_state = 2;
	for (i = 0; i < 20; i++) {
		struct sides sides = new_sides();

		for (at = 0; at < 12; at++) {
			const struct time_slice slice = {at * 1000 + 1, at * 1000 + 1001};

			sides.slice = (uint32_t)profile_add_slice(sides.profile, &slice);
			add_draws(&sides, at < 6 ? 1500 : 0, at < 6 ? 0 : 1500, 4);
		}
		compare(&comparison, &sides, &style);
		CHECK(comparison.spread.parts_are_slices);
		CHECK_EQ(comparison.spread.nr_before, 6);
		CHECK(comparison.spread.all.self > 3 && comparison.spread.all.self < 5);
		wrong += nr_changed(&comparison) || comparison.paths.nr;
		comparison_clear(&comparison);
		profile_free(sides.profile);
	}
	CHECK(wrong <= 3);
}

TEST(rows_tell_what_changed)
{
	const struct comparison_style style = {0};
	struct sides sides = new_sides();
	struct comparison comparison;
	const struct difference_row *row;

	random_state = 3;
	add_draws(&sides, 20000, 20000, 1);
	add_stack(&sides, "x;main;slower", 2000, 2600);
	add_stack(&sides, "x;main;slower;inner", 100, 100);
	add_stack(&sides, "x;main;vanished", 60, 0);
	add_stack(&sides, "x;main;appeared", 0, 60);
	add_stack(&sides, "x;main;rare", 0, 3);
	compare(&comparison, &sides, &style);
	CHECK_STR(difference_rows_name(&comparison.rows, &comparison.rows.rows[0]), "slower");
	row = find_row(&comparison, "slower");
	CHECK_EQ(row->self.is.kind, CHANGE_MORE);
	CHECK_EQ(row->self.before, 2000);
	CHECK_EQ(row->total.after, 2700);
	CHECK_EQ(find_row(&comparison, "vanished")->self.is.kind, CHANGE_GONE);
	CHECK_EQ(find_row(&comparison, "appeared")->self.is.kind, CHANGE_NEW);
	CHECK_EQ(find_row(&comparison, "rare")->self.is.kind, CHANGE_NONE);
	CHECK_EQ(find_row(&comparison, "main")->total.is.kind, CHANGE_NONE);
	CHECK_EQ(find_row(&comparison, "main")->self.before, 0);
	CHECK_EQ(nr_changed(&comparison), 3);
	comparison_clear(&comparison);
	profile_free(sides.profile);
}

static const char *line_name(const struct comparison *comparison, size_t i)
{
	const struct difference_line *line = &comparison->paths.lines[i];

	return named_stacks_word(&comparison->stacks,
				 comparison->paths.nodes.nodes[line->last].word);
}

/* A change is reported once, at the function that causes it, and not again for each caller. */
TEST(paths_tell_a_change_once)
{
	const struct comparison_style style = {0};
	struct sides sides = new_sides();
	struct comparison comparison;

	add_stack(&sides, "x;main;loop;parse;lex;hash", 1000, 2000);
	add_stack(&sides, "x;main;loop;parse;lex", 1000, 1000);
	add_stack(&sides, "x;main;loop;write;copy", 0, 500);
	add_stack(&sides, "x;main;loop;idle", 8000, 8000);
	add_stack(&sides, "x;main;loop;other", 90000, 88500);
	compare(&comparison, &sides, &style);
	CHECK_EQ(comparison.paths.nr, 4);
	CHECK_STR(line_name(&comparison, 0), "loop");
	CHECK_EQ(comparison.paths.lines[0].level, 0);
	CHECK_STR(line_name(&comparison, 1), "other");
	CHECK_STR(line_name(&comparison, 2), "hash");
	CHECK_EQ(comparison.paths.lines[2].pair.before, 1000);
	CHECK_EQ(comparison.paths.lines[2].level, 1);
	CHECK(comparison.paths.lines[2].has_more);
	CHECK_STR(line_name(&comparison, 3), "copy");
	CHECK_EQ(comparison.paths.lines[3].pair.is.kind, CHANGE_NEW);
	CHECK(!comparison.paths.lines[3].has_more);
	comparison_clear(&comparison);
	profile_free(sides.profile);
}

/*
 * A caller grew itself, and so did its callee. The callee explains only a part of the caller's
 * change, so the caller has a line of its own.
 */
TEST(paths_tell_what_is_besides)
{
	const struct comparison_style style = {0};
	struct sides sides = new_sides();
	struct comparison comparison;

	add_stack(&sides, "x;main;work", 1000, 3000);
	add_stack(&sides, "x;main;work;more", 1000, 4000);
	add_stack(&sides, "x;idle", 98000, 93000);
	compare(&comparison, &sides, &style);
	CHECK_EQ(comparison.paths.nr, 5);
	CHECK_STR(line_name(&comparison, 0), "x");
	CHECK_STR(line_name(&comparison, 1), "work");
	CHECK_STR(line_name(&comparison, 2), "more");
	CHECK_EQ(comparison.paths.lines[2].level, 2);
	CHECK(comparison.paths.lines[3].is_rest);
	CHECK_EQ(comparison.paths.lines[3].pair.after, 3000);
	CHECK_STR(line_name(&comparison, 4), "idle");
	comparison_clear(&comparison);
	profile_free(sides.profile);
}

TEST(rows_by_module_and_thread)
{
	struct comparison_style style = {.group = DIFFERENCE_BY_MODULE};
	struct sides sides = new_sides();
	struct comparison comparison;

	add_stack(&sides, "one;main;libc.so!read", 100, 300);
	add_stack(&sides, "one;main;libm.so!sin", 400, 300);
	add_stack(&sides, "two;main;libc.so!write;read_[k]", 500, 400);
	compare(&comparison, &sides, &style);
	CHECK_EQ(comparison.rows.nr, 4);
	CHECK_EQ(find_row(&comparison, "libc.so")->self.after, 300);
	CHECK_EQ(find_row(&comparison, "libc.so")->total.after, 700);
	CHECK_EQ(find_row(&comparison, "app")->self.before, 0);
	CHECK_EQ(find_row(&comparison, "app")->total.before, 1000);
	comparison_clear(&comparison);
	style.group = DIFFERENCE_BY_COMM;
	compare(&comparison, &sides, &style);
	CHECK_EQ(comparison.rows.nr, 2);
	CHECK_EQ(find_row(&comparison, "one")->self.before, 500);
	CHECK_EQ(find_row(&comparison, "two")->total.after, 400);
	comparison_clear(&comparison);
	profile_free(sides.profile);
}

TEST(a_thread_is_not_a_function_of_its_name)
{
	struct comparison_style style = {0};
	struct sides sides = new_sides();
	struct comparison comparison;

	add_stack(&sides, "sort;main;sort", 100, 300);
	add_stack(&sides, "main;main;merge", 400, 200);
	compare(&comparison, &sides, &style);
	CHECK_EQ(comparison.rows.nr, 3);
	CHECK_EQ(find_row(&comparison, "sort")->self.after, 300);
	CHECK_EQ(find_row(&comparison, "main")->total.before, 500);
	comparison_clear(&comparison);
	style.group = DIFFERENCE_BY_COMM;
	compare(&comparison, &sides, &style);
	CHECK_EQ(comparison.rows.nr, 2);
	CHECK_EQ(find_row(&comparison, "sort")->total.after, 300);
	CHECK_EQ(find_row(&comparison, "main")->total.after, 200);
	comparison_clear(&comparison);
	profile_free(sides.profile);
}

TEST(comparison_needs_two_sides)
{
	const struct comparison_style style = {0};
	struct profile *profile = profile_new();
	struct comparison comparison;

	(void)make_sample(profile, "x;a 1");
	CHECK_EQ(comparison_init(&comparison, profile, &style), -EINVAL);
	profile_free(profile);
}

/* Empty sides: nothing is reported, nothing crashes. */
TEST(comparison_of_nothing)
{
	const struct comparison_style style = {0};
	struct sides sides = new_sides();
	struct comparison comparison;

	compare(&comparison, &sides, &style);
	CHECK_EQ(comparison.rows.nr, 0);
	comparison_clear(&comparison);
	add_stack(&sides, "x;a", 0, 1000);
	compare(&comparison, &sides, &style);
	CHECK_EQ(nr_changed(&comparison), 0);
	comparison_clear(&comparison);
	profile_free(sides.profile);
}

TEST(comparison_survives_any_failed_allocation)
{
	const struct comparison_style style = {.labels = LABEL_COMM};
	struct sides sides = new_sides();
	struct comparison comparison = {0};
	size_t nth;
	uint64_t at;
	int err;

	random_state = 4;
	for (at = 0; at < 6; at++) {
		const struct time_slice slice = {at * 1000 + 1, at * 1000 + 1001};

		sides.slice = (uint32_t)profile_add_slice(sides.profile, &slice);
		add_draws(&sides, at < 3 ? 500 : 0, at < 3 ? 0 : 500, 1);
	}
	add_stack(&sides, "x;main;new", 0, 1000);
	for (nth = 1, err = -ENOMEM; err; nth++) {
		(void)test_fail_allocation(nth);
		err = comparison_init(&comparison, sides.profile, &style);
		(void)test_fail_allocation(0);
		CHECK(!err || err == -ENOMEM);
	}
	CHECK(nth > 10);
	comparison_clear(&comparison);
	profile_free(sides.profile);
}
