/* profile/profile and its parts: number_index, stack_table, function_totals. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "profile/profile.h"
#include "profile/stack_table.h"
#include "unit/make_profile.h"
#include "view/group_totals.h"

TEST(profile_starts_with_two_modules)
{
	struct profile *profile = profile_new();

	CHECK_EQ(profile_nr_modules(profile), 2);
	CHECK_EQ(profile_module(profile, MODULE_NR_UNKNOWN)->kind, MODULE_UNKNOWN);
	CHECK_EQ(profile_module(profile, MODULE_NR_KERNEL)->kind, MODULE_KERNEL);
	CHECK_STR(profile_module_name(profile, MODULE_NR_UNKNOWN), "[unknown]");
	CHECK_STR(profile_module_name(profile, MODULE_NR_KERNEL), "[kernel]");
	profile_free(profile);
	profile_free(NULL);
}

TEST(profile_modules_are_kept_once)
{
	struct profile *profile = profile_new();
	uint32_t name = (uint32_t)profile_add_string(profile, "/usr/lib/libc.so.6");
	struct module module = {.kind = MODULE_FILE, .file = 3, .name = name};
	int64_t number = profile_add_module(profile, &module);

	CHECK_EQ(number, 2);
	CHECK_EQ(profile_add_module(profile, &module), number);
	CHECK_STR(profile_module_name(profile, (uint32_t)number), "libc.so.6");
	module.file = 4;
	CHECK_EQ(profile_add_module(profile, &module), 3);
	module.kind = MODULE_VDSO;
	CHECK_EQ(profile_add_module(profile, &module), 4);
	module.name = 0;
	CHECK_EQ(profile_add_module(profile, &module), 5);
	CHECK_STR(profile_module_name(profile, 5), "[unknown]");
	profile_free(profile);
}

TEST(profile_frames_are_kept_once)
{
	struct profile *profile = profile_new();
	int64_t user = profile_add_frame(profile, FRAME_USER, 0, 0x1234);
	int64_t kernel = profile_add_frame(profile, FRAME_KERNEL, 0, 0x1234);
	int64_t other_module = profile_add_frame(profile, FRAME_USER, 1, 0x1234);
	uint32_t i;

	CHECK(user != kernel && user != other_module && kernel != other_module);
	for (i = 0; i < 10000; i++)
		CHECK_EQ(profile_add_frame(profile, FRAME_USER, 1, 0x10000 + i), 3 + i);
	CHECK_EQ(profile_add_frame(profile, FRAME_USER, 0, 0x1234), user);
	CHECK_EQ(profile_add_frame(profile, FRAME_KERNEL, 0, 0x1234), kernel);
	CHECK_EQ(profile_nr_frames(profile), 10003);
	CHECK_EQ(profile_frame(profile, 3 + 77)->address, 0x10000 + 77);
	CHECK_EQ(profile_frame(profile, 5)->function, 0);
	CHECK_EQ(profile_set_function(profile, 5, "main"), 0);
	CHECK_STR(profile_string(profile, profile_frame(profile, 5)->function), "main");
	profile_free(profile);
}

TEST(profile_lines_of_frames)
{
	struct profile *profile = profile_new();
	const struct code_line lines[] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
	const struct frame *frame;

	(void)profile_add_frame(profile, FRAME_USER, 0, 1);
	(void)profile_add_frame(profile, FRAME_USER, 0, 2);
	CHECK_EQ(profile_frame(profile, 0)->nr_lines, 0);
	CHECK_EQ(profile_set_lines(profile, 1, lines, 3), 0);
	CHECK_EQ(profile_set_lines(profile, 0, lines + 1, 1), 0);
	frame = profile_frame(profile, 1);
	CHECK_EQ(frame->nr_lines, 3);
	CHECK(!memcmp(profile_lines(profile, frame), lines, sizeof(lines)));
	frame = profile_frame(profile, 0);
	CHECK_EQ(frame->nr_lines, 1);
	CHECK_EQ(profile_lines(profile, frame)->line, 6);
	CHECK_EQ(profile_set_lines(profile, 0, NULL, 0), 0); /* removed */
	CHECK_EQ(profile_frame(profile, 0)->nr_lines, 0);
	CHECK_EQ(profile_frame(profile, 1)->nr_lines, 3);
	profile_free(profile);
}

TEST(profile_starts_of_functions)
{
	static const struct {
		const char *name;
		bool is_start;
	} rows[] = {
		{"libz.so.1+0x4a20", true},	{"libz.so.1+0x0", true},
		{"libz.so.1", false},		{"libz.so.1+0x", false},
		{"libz.so.1+0x4a2g", false},	{"libz.so+0x4a20", false},
		{"libz.so.1.2+0x4a20", false},	{"", false},
		{"libz.so.1+0x10+0x20", false}, {"libz.so.1+20", false},
	};
	struct profile *profile = profile_new();
	struct module module = {.kind = MODULE_FILE};
	uint32_t number, frame;
	size_t i;

	module.name = (uint32_t)profile_add_string(profile, "/usr/lib/libz.so.1");
	number = (uint32_t)profile_add_module(profile, &module);
	frame = (uint32_t)profile_add_frame(profile, FRAME_USER, number, 0x4a34);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(profile_set_function(profile, frame, rows[i].name), 0);
		CHECK_EQ(profile_is_start(profile, profile_frame(profile, frame)->function, number),
			 rows[i].is_start);
		CHECK_EQ(profile_is_named(profile, profile_frame(profile, frame)),
			 *rows[i].name && !rows[i].is_start);
	}
	CHECK_EQ(profile_set_start(profile, frame, 0xabc0), 0);
	CHECK_STR(profile_string(profile, profile_frame(profile, frame)->function),
		  "libz.so.1+0xabc0");
	profile_free(profile);
}

TEST(profile_lines_are_cut)
{
	struct profile *profile = profile_new();
	static const struct code_line lines[UINT16_MAX + 2];

	(void)profile_add_frame(profile, FRAME_USER, 0, 1);
	CHECK_EQ(profile_set_lines(profile, 0, NULL, 0), 0);
	CHECK(profile_lines(profile, profile_frame(profile, 0)) == NULL);
	CHECK_EQ(profile_set_lines(profile, 0, lines, UINT16_MAX + 2), 0);
	CHECK_EQ(profile_frame(profile, 0)->nr_lines, UINT16_MAX);
	profile_free(profile);
}

TEST(profile_code_of_modules)
{
	struct profile *profile = profile_new();
	struct module_code code = {.build_id = {1, 2}, .build_id_bytes = 2};
	const struct module_code *found;

	CHECK(profile_code(profile, 0) == NULL);
	CHECK(profile_code(profile, 7) == NULL);
	CHECK_EQ(profile_set_code(profile, 7, &code), 0);
	CHECK(profile_code(profile, 6) == NULL);
	CHECK(profile_code(profile, 8) == NULL);
	found = profile_code(profile, 7);
	CHECK(found && found->build_id_bytes == 2 && found->build_id[1] == 2);
	code = (struct module_code){.is_gone = true};
	CHECK_EQ(profile_set_code(profile, 3, &code), 0);
	CHECK(profile_code(profile, 3)->is_gone);
	code = (struct module_code){.nr_segments = 1};
	CHECK_EQ(profile_set_code(profile, 3, &code), 0);
	CHECK_EQ(profile_code(profile, 3)->nr_segments, 1);
	code = (struct module_code){0}; /* empty */
	CHECK_EQ(profile_set_code(profile, 3, &code), 0);
	CHECK(profile_code(profile, 3) == NULL);
	profile_free(profile);
}

TEST(profile_lines_and_code_without_memory)
{
	struct profile *profile = profile_new();
	const struct module_code code = {.is_gone = true};
	const struct code_line line = {1, 2, 3};

	(void)profile_add_frame(profile, FRAME_USER, 0, 1);
	(void)test_fail_allocation(1);
	CHECK_EQ(profile_set_lines(profile, 0, &line, 1), -ENOMEM);
	(void)test_fail_allocation(1);
	CHECK_EQ(profile_set_code(profile, 0, &code), -ENOMEM);
	(void)test_fail_allocation(0);
	CHECK_EQ(profile_frame(profile, 0)->nr_lines, 0);
	CHECK(profile_code(profile, 0) == NULL);
	profile_free(profile);
}

TEST(profile_origin_is_kept)
{
	struct profile *profile = profile_new();
	const struct profile_origin origin = {
		.event = 1, .unit = 2, .period = 3, .time_ns = 4, .duration_ns = 5};

	CHECK_EQ(profile_origin(profile)->period, 0);
	profile_set_origin(profile, &origin);
	profile_set_main_type(profile, (struct value_type){6, 7});
	profile_reset_samples(profile);
	CHECK(!memcmp(profile_origin(profile), &origin, sizeof(origin)));
	CHECK_EQ(profile_value_type(profile, 0).type, 6);
	CHECK_EQ(profile_value_type(profile, 0).unit, 7);
	CHECK(profile_is_sum(profile));
	profile_free(profile);
}

static const struct sample_labels different_labels[] = {
	{0},
	{.comm = 1},
	{.cgroup = 1},
	{.probe = 1},
	{.pid = 1},
	{.tid = 1},
	{.cpu = 1},
	{.user_end = WALK_MISSED},
	{.kernel_end = WALK_MISSED},
	{.pid = -1},
};

#define NR_LABELS (sizeof(different_labels) / sizeof(different_labels[0]))

TEST(profile_labels_tell_samples_apart)
{
	struct profile *profile = profile_new();
	uint32_t frames[] = {0, 1};
	size_t round, i;

	(void)profile_add_frame(profile, FRAME_KERNEL, 1, 1);
	(void)profile_add_frame(profile, FRAME_USER, 0, 2);
	for (round = 0; round < 3; round++)
		for (i = 0; i < NR_LABELS; i++)
			CHECK_EQ(profile_add_sample(profile, &different_labels[i], frames, 2, 1,
						    i + 1),
				 i);
	CHECK_EQ(profile_nr_samples(profile), NR_LABELS);
	for (i = 0; i < NR_LABELS; i++) {
		const struct sample *sample = profile_sample(profile, (uint32_t)i);

		CHECK_EQ(sample->count, 3 * (i + 1));
		CHECK_EQ(sample->stack, 0); /* shared */
		CHECK_EQ(profile_sample_frames(profile, sample)[1], 1);
	}
	profile_free(profile);
}

TEST(profile_stacks_tell_samples_apart)
{
	struct profile *profile = profile_new();
	const struct sample_labels labels = {.comm = 0};
	uint32_t frames[] = {0, 1, 2};
	int64_t whole, prefix, none;

	whole = profile_add_sample(profile, &labels, frames, 3, 1, 10);
	prefix = profile_add_sample(profile, &labels, frames, 2, 1, 20);
	none = profile_add_sample(profile, &labels, NULL, 0, 0, 30);
	CHECK(whole != prefix && prefix != none && whole != none);
	CHECK_EQ(profile_add_sample(profile, &labels, frames, 3, 1, 1), whole);
	CHECK_EQ(profile_add_sample(profile, &labels, NULL, 0, 0, 1), none);
	profile_add_count(profile, (uint32_t)prefix, 5);
	CHECK_EQ(profile_sample(profile, (uint32_t)prefix)->count, 25);
	CHECK_EQ(profile_sample(profile, (uint32_t)whole)->nr_frames, 3);
	CHECK_EQ(profile_sample(profile, (uint32_t)whole)->nr_kernel_frames, 1);
	CHECK_EQ(profile_total(profile), 67);
	CHECK_EQ(profile_add_sample(profile, &labels, frames, 2, 3, 1), -EINVAL);
	CHECK_EQ(profile_add_sample(profile, &labels, frames, 70000, 3, 1), -EINVAL);
	CHECK_EQ(profile_total(profile), 67);
	profile_free(profile);
}

TEST(profile_reset_keeps_names)
{
	struct profile *profile = profile_new();
	int64_t frame, first;
	uint32_t number;

	(void)make_sample(profile, "a;main;work 5");
	first = make_sample(profile, "b;main;work 5");
	CHECK_EQ(first, 1);
	frame = profile_add_frame(profile, FRAME_USER, 0, 99);
	profile_reset_samples(profile);
	CHECK_EQ(profile_nr_samples(profile), 0);
	CHECK_EQ(profile_total(profile), 0);
	CHECK_EQ(profile_add_frame(profile, FRAME_USER, 0, 99), frame);
	number = profile_frame(profile, 0)->function;
	CHECK(number != 0);
	CHECK_EQ(make_sample(profile, "b;main;work 7"), 0);
	CHECK_EQ(profile_sample(profile, 0)->count, 7);
	profile_free(profile);
}

/* Adds nr different stacks of three frames and returns their count. */
static uint64_t add_many(struct profile *profile, uint32_t nr, int32_t pid)
{
	struct sample_labels labels = {.pid = pid, .user_end = WALK_UNWOUND};
	uint32_t i;

	for (i = 0; i < nr; i++) {
		uint32_t frames[] = {i, i + 1, i + 2};

		(void)profile_add_frame(profile, FRAME_USER, 0, i);
		CHECK(profile_add_sample(profile, &labels, frames, 3, 0, 2) >= 0);
	}
	return 2 * (uint64_t)nr;
}

static const char *leaf_name(const struct profile *profile, const struct sample *sample)
{
	uint32_t frame = profile_sample_frames(profile, sample)[0];

	return profile_string(profile, profile_frame(profile, frame)->function);
}

TEST(profile_limit_keeps_totals)
{
	struct profile *profile = profile_new();
	const struct sample *last;
	uint64_t total;
	size_t nr;

	profile_set_limit(profile, 10000);
	CHECK_EQ(profile_other_count(profile), 0);
	total = add_many(profile, 1000, 1);
	nr = profile_nr_samples(profile);
	CHECK(nr > 50 && nr < 200);
	CHECK_EQ(profile_total(profile), total);
	CHECK_EQ(profile_other_count(profile), total - 2 * (nr - 1));
	last = profile_sample(profile, (uint32_t)nr - 1);
	CHECK_EQ(last->count, profile_other_count(profile));
	CHECK_EQ(last->labels.pid, 1);
	CHECK_EQ(last->nr_frames, 1);
	CHECK_STR(leaf_name(profile, last), "[other stacks]");

	(void)add_many(profile, 10, 1); /* known stacks */
	CHECK_EQ(profile_other_count(profile), total - 2 * (nr - 1));
	(void)add_many(profile, 10, 2);
	CHECK_EQ(profile_nr_samples(profile), nr + 1); /* a separate "other" per label */
	CHECK_EQ(profile_sample(profile, (uint32_t)nr)->labels.pid, 2);
	profile_free(profile);
}

/* The frame for all frames past the limit differs from the frame for stacks past the limit. */
TEST(profile_limits_of_frames_and_stacks_together)
{
	struct profile *profile = profile_new();
	uint32_t nr = 0, i;

	profile_set_max_frames(profile, 20);
	profile_set_limit(profile, 10000);
	(void)add_many(profile, 1000, 1);
	for (i = 0; i < profile_nr_frames(profile); i++) {
		const struct frame *frame = profile_frame(profile, i);

		nr += frame->function != 0;
		CHECK(!frame->function || frame->address);
	}
	CHECK_EQ(nr, 1);
	profile_free(profile);
}

/* Stacks are kept in preference to pids and tids that were not requested. */
TEST(profile_gives_up_spare_labels_first)
{
	struct profile *profile = profile_new();
	uint64_t total = 0, of_first = 0;
	int32_t pid;
	uint32_t i;

	profile_set_limit(profile, 10000);
	profile_set_spare_labels(profile, LABEL_PID | LABEL_TID);
	for (pid = 1; pid < 500; pid++)
		total += add_many(profile, 5, pid);
	CHECK_EQ(profile_total(profile), total);
	CHECK_EQ(profile_other_count(profile), 0);
	CHECK(profile_unlabelled_count(profile) > total / 2);
	CHECK(profile_unlabelled_count(profile) < total);
	total += add_many(profile, 5, 1); /* known stacks */
	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, i);

		of_first += sample->labels.pid == 1 ? sample->count : 0;
	}
	CHECK_EQ(of_first, 2 * total / 500);
	/* With no spare labels left, further stacks go to "other" as usual. */
	total += add_many(profile, 1000, 1);
	CHECK_EQ(profile_total(profile), total);
	CHECK(profile_other_count(profile) > 0);
	profile_reset_samples(profile);
	CHECK_EQ(profile_unlabelled_count(profile), 0);
	profile_free(profile);
}

TEST(profile_limit_holds_for_labels_too)
{
	struct profile *profile = profile_new();
	int32_t pid;

	profile_set_limit(profile, 10000);
	for (pid = 1; pid < 5000; pid++)
		(void)add_many(profile, 1, pid);
	CHECK(profile_nr_samples(profile) < 500);
	CHECK_EQ(profile_total(profile), 2 * 4999);
	profile_reset_samples(profile);
	CHECK_EQ(profile_other_count(profile), 0);
	(void)add_many(profile, 10, 1);
	CHECK_EQ(profile_other_count(profile), 0);
	profile_free(profile);
}

TEST(profile_limit_holds_for_frames_too)
{
	struct profile *profile = profile_new();
	int64_t first, last = 0;
	uint64_t address;

	profile_set_limit(profile, 10000);
	first = profile_add_frame(profile, FRAME_USER, MODULE_NR_UNKNOWN, 1);
	for (address = 2; address < 5000; address++)
		last = profile_add_frame(profile, FRAME_USER, MODULE_NR_UNKNOWN, address);
	CHECK(profile_nr_frames(profile) < 500);
	CHECK_EQ(profile_frame(profile, (uint32_t)last)->address, 0);
	CHECK_EQ(profile_add_frame(profile, FRAME_USER, MODULE_NR_UNKNOWN, 1), first);
	profile_free(profile);
}

TEST(profile_many_stacks)
{
	struct profile *profile = profile_new();
	const struct sample_labels labels = {.comm = 0};
	uint32_t frames[60];
	uint32_t i, k;

	for (i = 0; i < 20000; i++) {
		for (k = 0; k < 60; k++)
			frames[k] = k < 2 ? i >> k * 8 : k;
		CHECK_EQ(profile_add_sample(profile, &labels, frames, 60, 0, 1), i);
	}
	CHECK_EQ(profile_add_sample(profile, &labels, frames, 60, 0, 1), 19999);
	CHECK_EQ(profile_sample_frames(profile, profile_sample(profile, 777))[0], 777);
	CHECK(profile_bytes(profile) < 20000 * (60 * 4 + 100) * 2);
	profile_free(profile);
}

TEST(profile_new_without_memory)
{
	struct profile *profile = NULL;
	size_t nth;

	for (nth = 1; !profile; nth++) {
		(void)test_fail_allocation(nth);
		profile = profile_new();
		(void)test_fail_allocation(0);
	}
	CHECK(nth > 5);
	profile_free(profile);
}

/* Adds one sample with new strings, module, frame and stack; returns 0 or -ENOMEM. */
static int add_all(struct profile *profile, int i)
{
	struct sample_labels labels = {.pid = i};
	struct module module = {.kind = MODULE_FILE, .file = (uint32_t)i};
	char name[32];
	int64_t number;
	uint32_t frame;

	(void)snprintf(name, sizeof(name), "name %d", i);
	number = profile_add_string(profile, name);
	if (number < 0)
		return (int)number;
	module.name = (uint32_t)number;
	number = profile_add_module(profile, &module);
	if (number < 0)
		return (int)number;
	number = profile_add_frame(profile, FRAME_USER, (uint32_t)number, 1);
	if (number < 0)
		return (int)number;
	frame = (uint32_t)number;
	if (profile_set_function(profile, frame, name) < 0)
		return -ENOMEM;
	number = profile_add_sample(profile, &labels, &frame, 1, 0, 1);
	return number < 0 ? (int)number : 0;
}

static void add_without_memory(size_t limit_bytes)
{
	struct profile *profile = profile_new();
	int failures = 0;
	int i;

	profile_set_limit(profile, limit_bytes);
	for (i = 0; i < 500; i++) {
		size_t nth = 1;
		int result;

		do {
			(void)test_fail_allocation(nth++);
			result = add_all(profile, i);
			(void)test_fail_allocation(0);
			CHECK(result == 0 || result == -ENOMEM);
			CHECK_EQ(profile_total(profile), i + (result == 0));
			failures += result < 0;
		} while (result < 0);
	}
	CHECK(failures > 20);
	CHECK_EQ(profile_nr_modules(profile), 502);
	profile_free(profile);
}

TEST(profile_add_without_memory)
{
	add_without_memory(0);
	add_without_memory(5000);
}

TEST(stack_table_basics)
{
	struct stack_table table = {0};
	const uint32_t numbers[] = {5, 6, 7};
	const uint32_t *found;
	size_t nr;

	CHECK_EQ(stack_table_find(&table, numbers, 3), -ENOENT);
	CHECK_EQ(stack_table_add(&table, numbers, 3), 0);
	CHECK_EQ(stack_table_add(&table, numbers, 2), 1);
	CHECK_EQ(stack_table_add(&table, NULL, 0), 2);
	CHECK_EQ(stack_table_find(&table, numbers, 3), 0);
	CHECK_EQ(stack_table_find(&table, NULL, 0), 2);
	found = stack_table_get(&table, 1, &nr);
	CHECK(nr == 2 && found[0] == 5 && found[1] == 6);
	CHECK(stack_table_get(&table, 2, &nr) != NULL && nr == 0);
	stack_table_reset(&table);
	CHECK_EQ(stack_table_find(&table, numbers, 3), -ENOENT);
	CHECK_EQ(stack_table_used_bytes(&table), 0);
	CHECK_EQ(stack_table_add(&table, numbers, 1), 0);
	stack_table_clear(&table);
}

static const struct function_total *find_total(const struct profile *profile,
					       const struct function_totals *totals,
					       const char *name, const char *module)
{
	size_t i;

	for (i = 0; i < totals->nr; i++) {
		const struct function_total *total = &totals->functions[i];

		if (!strcmp(profile_string(profile, total->name), name) &&
		    !strcmp(profile_module_name(profile, total->module), module))
			return total;
	}
	return NULL;
}

TEST(function_totals_count_recursion_once)
{
	struct profile *profile = profile_new();
	struct function_totals totals;
	const struct function_total *fib;

	(void)make_sample(profile, "a;main;fib;fib@1;fib@2 10");
	(void)make_sample(profile, "a;main;fib;liba.so!work;sys_read_[k] 5");
	(void)make_sample(profile, "a;main;libb.so!work 3");
	(void)make_sample(profile, "a;main;libb.so!;libb.so!@1 2");
	(void)make_sample(profile, "a 1");
	CHECK_EQ(function_totals_init(&totals, profile), 0);
	fib = find_total(profile, &totals, "fib", "app");
	CHECK_EQ(fib->self, 10);
	CHECK_EQ(fib->total, 15);
	CHECK(fib == totals.functions);
	CHECK_EQ(find_total(profile, &totals, "main", "app")->self, 0);
	CHECK_EQ(find_total(profile, &totals, "main", "app")->total, 20);
	CHECK_EQ(find_total(profile, &totals, "work", "liba.so")->total, 5);
	CHECK_EQ(find_total(profile, &totals, "work", "libb.so")->total, 3);
	CHECK_EQ(find_total(profile, &totals, "", "libb.so")->total, 2);
	CHECK_EQ(find_total(profile, &totals, "", "libb.so")->self, 2);
	CHECK_EQ(find_total(profile, &totals, "sys_read", "[kernel]")->self, 5);
	CHECK_EQ(totals.no_frames_count, 1);
	function_totals_clear(&totals);
	profile_free(profile);
}

/* A name that another tool uses for unknown functions counts as no symbol. */
TEST(function_totals_of_unreadable_files)
{
	const struct module_code unread = {.is_unread = true};
	struct profile *profile = profile_new();
	struct function_totals totals;
	uint32_t i;

	(void)make_sample(profile, "a;liba.so!work 1");
	(void)make_sample(profile, "a;liba.so! 2");
	(void)make_sample(profile, "a;liba.so![unreadable] 3");
	for (i = MODULE_NR_KERNEL + 1; i < profile_nr_modules(profile); i++)
		CHECK_EQ(profile_set_code(profile, i, &unread), 0);
	CHECK_EQ(function_totals_init(&totals, profile), 0);
	CHECK_EQ(totals.nr, 2);
	CHECK_EQ(find_total(profile, &totals, "", "liba.so")->self, 5);
	function_totals_clear(&totals);
	profile_free(profile);
}

TEST(function_totals_without_memory)
{
	struct profile *profile = profile_new();
	struct function_totals totals;
	size_t nth = 1;
	int result;

	(void)make_sample(profile, "a;main;work 10");
	do {
		(void)test_fail_allocation(nth++);
		result = function_totals_init(&totals, profile);
		(void)test_fail_allocation(0);
	} while (result < 0);
	CHECK(nth > 3);
	function_totals_clear(&totals);
	profile_free(profile);
}
