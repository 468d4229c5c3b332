/* view/homes: functions that count as one, in a profile and between builds of a program. */
#include "unit/test.h"

#include <errno.h>
#include <string.h>

#include "profile/merge.h"
#include "profile/profile.h"
#include "unit/make_profile.h"
#include "view/diff/comparison.h"
#include "view/flame_nodes.h"
#include "view/homes.h"

/* Combines two profiles like stook diff. */
static struct profile *make_difference(const char *before_lines, const char *after_lines)
{
	struct profile *after = make_profile(after_lines), *before = make_profile(before_lines);
	struct value_type type;
	int value;

	CHECK_EQ(profile_make_value_type(after, DIFFERENCE_BEFORE, "count", &type), 0);
	value = profile_add_value_type(after, &type);
	CHECK_EQ(value, 1);
	CHECK_EQ(profile_merge(after, before, (size_t)value), 0);
	profile_free(before);
	return after;
}

/* Compares the tree with lines "path before after", which are readable when a test fails. */
static void check_tree(struct profile *profile, const char *wanted)
{
	const struct named_stacks_style style = {.by_origin = true,
						 .other_value = comparison_value(profile)};
	const struct flame_shape shape = {.other_weight = 1};
	struct named_stacks stacks;
	struct flame_nodes nodes;
	char text[4096] = "";
	size_t nr = 0, i;

	CHECK_EQ(named_stacks_init(&stacks, profile, &style), 0);
	CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
	for (i = 1; i < nodes.nr; i++) {
		const struct flame_node *node = &nodes.nodes[i];
		const struct word_info *info = named_stacks_info(&stacks, node->word);

		nr += (size_t)snprintf(
			text + nr, sizeof(text) - nr, "%*s%s (%s) %llu %llu\n",
			(int)node->depth - 1, "", named_stacks_word(&stacks, node->word),
			profile_module_name(profile, info->module), (unsigned long long)node->other,
			(unsigned long long)node->count);
	}
	CHECK_STR(text, wanted);
	flame_nodes_clear(&nodes);
	named_stacks_clear(&stacks);
	profile_free(profile);
}

TEST(builds_in_other_folders_and_versions_of_a_library_are_one)
{
	check_tree(make_difference("t;/opt/app-1.2/bin/app!main;libfoo.so.1.2.3!hash 5\n"
				   "t;/opt/app-1.2/bin/app!main;/opt/app-1.2/bin/app!init 2\n"
				   "t;/opt/app-1.2/bin/app!main;libfoo.so.1.2.3!init 1\n",
				   "t;/opt/app-1.3/bin/app!main@2;libfoo.so.1.2.4!hash@2 7\n"
				   "t;/opt/app-1.3/bin/app!main@2;/opt/app-1.3/bin/app!init 3\n"
				   "t;/opt/app-1.3/bin/app!main@2;libfoo.so.1.2.4!init 4\n"),
		   "main (app) 8 14\n"
		   " hash (libfoo.so.1.2.4) 5 7\n"
		   " init (app) 2 3\n"
		   " init (libfoo.so.1.2.4) 1 4\n");
}

/* Also for a profile that is not a difference. */
TEST(builds_of_a_sum_are_one)
{
	check_tree(make_profile("t;/a/app!main;libfoo.so.1!hash 5\n"
				"t;/b/app!main;libfoo.so.2!hash 7\n"
				"t;/b/other!main;libfoo.so.2!hash 1\n"
				"t;/b/other!main;libfoo.sock!hash 1\n"),
		   "main (app) 0 12\n"
		   " hash (libfoo.so.1) 0 12\n"
		   "main (other) 0 2\n"
		   " hash (libfoo.so.1) 0 1\n"
		   " hash (libfoo.sock) 0 1\n");
}

TEST(a_function_that_is_no_longer_inlined_is_the_same_one)
{
	check_tree(make_difference("t;/a/app!main;step_[i] 5\n", "t;/b/app!main;/b/app!step 7\n"),
		   "main (app) 5 7\n"
		   " step (app) 5 7\n");
}

TEST(a_renamed_program_is_matched_by_its_functions)
{
	check_tree(make_difference("t;app.old!main;app.old!work 5\n"
				   "t;app.old!main;libc.so.6!main 1\n",
				   "t;app.new!main;app.new!work 7\n"
				   "t;app.new!main;libc.so.6!main 1\n"),
		   "main (app.new) 6 8\n"
		   " main (libc.so.6) 1 1\n"
		   " work (app.new) 5 7\n");
}

/* Both sides have both programs: each is compared with its own namesake. */
TEST(programs_that_both_sides_have_stay_apart)
{
	check_tree(make_difference("t;one!main;one!init 5\nt;two!main;two!x 3\n",
				   "t;one!main;one!y 5\nt;two!main;two!init 3\n"),
		   "main (one) 5 5\n"
		   " init (one) 5 0\n"
		   " y (one) 0 5\n"
		   "main (two) 3 3\n"
		   " init (two) 0 3\n"
		   " x (two) 3 0\n");
}

/* Two candidates of one name on one side: ambiguous, so they stay apart. */
TEST(doubtful_functions_stay_apart)
{
	check_tree(make_difference("t;old1!main 5\nt;old2!main 3\n", "t;new!main 5\n"),
		   "main (new) 0 5\n"
		   "main (old1) 5 0\n"
		   "main (old2) 3 0\n");
}

TEST(a_side_without_modules_is_compared_by_name)
{
	check_tree(make_difference("t;!main;!memcpy 5\n",
				   "t;main;libc.so.6!memcpy 3\nt;main;memcpy_[k] 4\n"),
		   "main (app) 5 7\n"
		   " memcpy (libc.so.6) 5 7\n");
	/* Without modules, the kernel's functions are still known by `_[k]`. */
	check_tree(make_difference("t;!main;!memcpy 5\nt;!main;memcpy_[k] 2\nt;!main;! 1\n",
				   "t;main;libc.so.6!memcpy 3\nt;main;memcpy_[k] 4\n"
				   "t;main;libc.so.6! 6\n"),
		   "main (app) 8 13\n"
		   " [unknown] ([unknown]) 1 6\n"
		   " memcpy (libc.so.6) 5 3\n"
		   " memcpy ([kernel]) 2 4\n");
}

TEST(a_place_is_of_its_build)
{
	const char *lines = "t;main;libz.so.1!libz.so.1+0x4a20 5\nt;main;libz.so.1! 1\n";
	struct profile *after = make_profile(lines), *before = make_profile(lines);
	struct module_code code = {.build_id = {1}, .build_id_bytes = 20};
	uint32_t module = profile_frame(after, 1)->module;
	struct value_type type;

	CHECK_STR(profile_module_name(after, module), "libz.so.1");
	CHECK_EQ(profile_set_code(after, module, &code), 0);
	code.build_id[0] = 2;
	CHECK_EQ(profile_set_code(before, module, &code), 0);
	CHECK_EQ(profile_make_value_type(after, DIFFERENCE_BEFORE, "count", &type), 0);
	CHECK_EQ(profile_add_value_type(after, &type), 1);
	CHECK_EQ(profile_merge(after, before, 1), 0);
	profile_free(before);
	check_tree(after, "main (app) 6 6\n"
			  " [unknown] (libz.so.1) 1 1\n"
			  " libz.so.1+0x4a20 (libz.so.1) 0 5\n"
			  " libz.so.1+0x4a20 (libz.so.1) 5 0\n");
	check_tree(make_difference(lines, lines), "main (app) 6 6\n"
						  " [unknown] (libz.so.1) 1 1\n"
						  " libz.so.1+0x4a20 (libz.so.1) 5 5\n");
}

/* Rows by module keep the code of each module apart. */
TEST(rows_by_module_keep_renamed_programs_apart)
{
	const struct comparison_style style = {.group = DIFFERENCE_BY_MODULE};
	struct profile *profile = make_difference("t;app.old!main;libfoo.so.1!work 500\n",
						  "t;app.new!main;libfoo.so.2!work 700\n");
	struct comparison comparison;

	CHECK_EQ(comparison_init(&comparison, profile, &style), 0);
	CHECK_EQ(comparison.rows.nr, 3);
	comparison_clear(&comparison);
	profile_free(profile);
}

TEST(homes_survive_any_failed_allocation)
{
	struct profile *profile = make_difference("t;old!main;libc.so.6!x;y_[k] 5\n",
						  "t;new!main;libc.so.6!x;y_[k] 5\n");
	struct homes homes;
	size_t nth;
	int err;

	for (nth = 1, err = -ENOMEM; err; nth++) {
		(void)test_fail_allocation(nth);
		err = homes_init(&homes, profile);
		(void)test_fail_allocation(0);
		CHECK(!err || err == -ENOMEM);
		homes_clear(&homes);
	}
	CHECK(nth > 5);
	profile_free(profile);
}
