/* Merging two profiles. */
#include "profile/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "profile/profile.h"
#include "unit/make_profile.h"
#include "unit/test.h"

static uint64_t count_of(const struct profile *profile, const char *comm)
{
	uint64_t count = 0;
	uint32_t i;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, i);

		if (!strcmp(profile_string(profile, sample->labels.comm), comm))
			count += sample->count;
	}
	return count;
}

TEST(what_is_the_same_is_added_up)
{
	struct profile *one = make_profile("a;main;libc.so!read;sys_[k] 3\nb;main 1\n");
	struct profile *other = make_profile("c;x 5\na;main;libc.so!read;sys_[k] 4\n");
	size_t nr_modules = profile_nr_modules(one);

	CHECK_EQ(profile_merge(one, other, 0), 0);
	CHECK_EQ(profile_total(one), 13);
	CHECK_EQ(profile_nr_samples(one), 3);
	CHECK_EQ(count_of(one, "a"), 7);
	CHECK_EQ(count_of(one, "c"), 5);
	CHECK_EQ(profile_nr_modules(one), nr_modules);
	profile_free(one);
	profile_free(other);
}

TEST(counts_can_go_to_another_value)
{
	struct profile *one = make_profile("a;main 3\n"),
		       *other = make_profile("a;main 4\nb;x 1\n");
	struct value_type before = {.type = (uint32_t)profile_add_string(one, "before")};
	int value = profile_add_value_type(one, &before);

	CHECK_EQ(profile_merge(one, other, (size_t)value), 0);
	CHECK_EQ(profile_total(one), 3);
	CHECK_EQ(profile_value_total(one, (size_t)value), 5);
	CHECK_EQ(profile_value(one, 0, (size_t)value), 4);
	profile_free(one);
	profile_free(other);
}

TEST(into_an_empty_one_it_is_a_copy)
{
	struct profile *one = profile_new(), *other = make_profile("a;main;inl_[i];~gone!f 4\n");
	struct profile_origin origin = {.time_ns = 5, .duration_ns = 7, .period = 9};

	origin.event = (uint32_t)profile_add_string(other, "cpu-clock");
	origin.unit = (uint32_t)profile_add_string(other, "nanoseconds");
	profile_set_origin(other, &origin);
	CHECK_EQ(profile_add_comment(other, "well"), 0);
	CHECK_EQ(profile_merge(one, other, 0), 0);
	CHECK_EQ(profile_total(one), 4);
	CHECK_EQ(profile_origin(one)->period, 9);
	CHECK_STR(profile_string(one, profile_origin(one)->event), "cpu-clock");
	CHECK_STR(profile_comment(one, 0), "well");
	CHECK_EQ(profile_sample(one, 0)->nr_frames, profile_sample(other, 0)->nr_frames);
	profile_free(one);
	profile_free(other);
}

TEST(origins_that_differ_are_forgotten)
{
	struct profile *one = make_profile("a;main 3\n"), *other = make_profile("a;main 4\n");
	struct profile_origin origin = {.time_ns = 100, .duration_ns = 10, .period = 9};

	origin.event = (uint32_t)profile_add_string(one, "cycles");
	profile_set_origin(one, &origin);
	origin.event = (uint32_t)profile_add_string(other, "faults");
	origin.time_ns = 150;
	profile_set_origin(other, &origin);
	CHECK_EQ(profile_merge(one, other, 0), 0);
	CHECK_EQ(profile_origin(one)->event, 0);
	CHECK_EQ(profile_origin(one)->period, 0);
	CHECK_EQ(profile_origin(one)->time_ns, 100);
	CHECK_EQ(profile_origin(one)->duration_ns, 60);
	profile_free(one);
	profile_free(other);
}

/* Code at one address with two names: JIT-compiled code, or a file that was replaced. */
TEST(an_address_may_mean_two_things)
{
	struct profile *one = make_profile("a;main;jit_[j] 3\n"), *other = profile_new();
	const struct module module = *profile_module(one, 3);
	const struct frame *frame;
	struct sample_labels labels = {.pid = 1};
	int64_t number;
	uint32_t i, jit = 0;

	for (i = 0; i < profile_nr_frames(one); i++)
		if (!strcmp(profile_string(one, profile_frame(one, i)->function), "jit"))
			jit = i;
	frame = profile_frame(one, jit);
	number = profile_add_module(
		other, &(struct module){.kind = module.kind,
					.file = module.file,
					.name = (uint32_t)profile_add_string(
						other, profile_string(one, module.name))});
	number = profile_add_frame(other, FRAME_USER, (uint32_t)number, frame->address);
	CHECK_EQ(profile_set_function(other, (uint32_t)number, "another"), 0);
	i = (uint32_t)number;
	CHECK(profile_add_sample(other, &labels, &i, 1, 0, 2) >= 0);
	CHECK_EQ(profile_merge(one, other, 0), 0);
	i = profile_sample_frames(one, profile_sample(one, 1))[0];
	CHECK(i != jit);
	CHECK_STR(profile_string(one, profile_frame(one, i)->function), "another");
	CHECK_STR(profile_string(one, profile_frame(one, jit)->function), "jit");
	profile_free(one);
	profile_free(other);
}

TEST(labels_and_slices_come_along)
{
	struct profile *one = make_profile("a;main 1\n"), *other = profile_new();
	struct set_label label = {.number = 12}, read[LABEL_SET_MAX];
	struct sample_labels labels = {.pid = 3};
	const struct sample *sample;

	label.key = (uint32_t)profile_add_string(other, "request");
	labels.set = (uint32_t)profile_add_label_set(other, &label, 1);
	labels.slice = (uint32_t)profile_add_slice(other, &(struct time_slice){1, 2});
	labels.comm = (uint32_t)profile_add_string(other, "z");
	labels.cgroup = (uint32_t)profile_add_string(other, "/x");
	labels.probe = (uint32_t)profile_add_string(other, "r:malloc");
	CHECK(profile_add_sample(other, &labels, NULL, 0, 0, 6) >= 0);
	CHECK_EQ(profile_merge(one, other, 0), 0);
	sample = profile_sample(one, 1);
	CHECK_EQ(sample->count, 6);
	CHECK_EQ(profile_label_set(one, sample->labels.set, read), 1);
	CHECK_STR(profile_string(one, read[0].key), "request");
	CHECK_EQ(profile_slice(one, sample->labels.slice).end_ns, 2);
	CHECK_STR(profile_string(one, sample->labels.cgroup), "/x");
	CHECK_STR(profile_string(one, sample->labels.probe), "r:malloc");
	profile_free(one);
	profile_free(other);
}

/* One function of the kernel's at an address, in one interval. */
static uint32_t add_kernel_part(struct profile *into, const char *name)
{
	struct profile *part = profile_new();
	int64_t number =
		profile_add_frame(part, FRAME_KERNEL, MODULE_NR_KERNEL, 0xffffffffc0001000);
	uint32_t frame = (uint32_t)number;

	CHECK(number >= 0 && (!name || profile_set_function(part, frame, name) == 0));
	CHECK(profile_add_sample(part, &(struct sample_labels){0}, &frame, 1, 1, 1) >= 0);
	profile_reset_samples(into);
	CHECK_EQ(profile_merge_part(into, part), 0);
	profile_free(part);
	return profile_sample_frames(into, profile_sample(into, 0))[0];
}

/* The address is another program's in the third interval. */
TEST(parts_keep_the_names_of_kernel_code)
{
	struct profile *into = profile_new();
	const uint32_t first = add_kernel_part(into, "bpf_prog_1");
	uint32_t third;

	CHECK_EQ(add_kernel_part(into, NULL), first); /* known to be the kernel's own */
	CHECK_EQ(add_kernel_part(into, "bpf_prog_1"), first);
	third = add_kernel_part(into, "bpf_prog_3");
	CHECK(third != first);
	CHECK_STR(profile_string(into, profile_frame(into, first)->function), "bpf_prog_1");
	CHECK_STR(profile_string(into, profile_frame(into, third)->function), "bpf_prog_3");
	CHECK_EQ(add_kernel_part(into, "bpf_prog_3"), third);
	profile_free(into);
}

/* Adds a sample in a file at an address. */
static void add_file_sample(struct profile *part, uint64_t address)
{
	const int64_t path = profile_add_string(part, "/bin/file");
	const struct module file = {.kind = MODULE_FILE, .file = 7, .name = (uint32_t)path};
	const int64_t module = profile_add_module(part, &file);
	const int64_t added = profile_add_frame(part, FRAME_USER, (uint32_t)module, address);
	const uint32_t frame = (uint32_t)added;

	CHECK(path > 0 && module >= 0 && added >= 0);
	CHECK(profile_add_sample(part, &(struct sample_labels){0}, &frame, 1, 0, 1) >= 0);
}

/* Names the frames that have no name, as their addresses. Returns how many. */
static size_t name_frames(struct profile *profile)
{
	size_t nr = 0;
	uint32_t i;

	for (i = 0; i < profile_nr_frames(profile); i++) {
		char name[32];

		if (profile_frame(profile, i)->function)
			continue;
		(void)snprintf(name, sizeof(name), "f%" PRIx64, profile_frame(profile, i)->address);
		CHECK_EQ(profile_set_function(profile, i, name), 0);
		nr++;
	}
	return nr;
}

/* A part that waits for its names has those that are known by then. */
TEST(a_part_gets_the_names_that_there_are)
{
	static const struct module_code code = {.build_id = {1, 2}, .build_id_bytes = 2};
	struct profile *part = make_profile("a;main;libc.so!read@1;other.so!;sys_[k] 3\n");
	struct profile *named = make_profile("a;main;libc.so!read@1;other.so!;sys_[k] 5\n");
	const struct code_line line = {profile_frame(named, 0)->function,
				       (uint32_t)profile_add_string(named, "/m.c"), 3};
	const uint32_t libc = profile_frame(named, 1)->module;
	const size_t nr = profile_nr_frames(part);
	uint32_t i;

	CHECK_EQ(profile_set_code(named, libc, &code), 0);
	CHECK_EQ(profile_set_lines(named, 0, &line, 1), 0);
	for (i = 0; i < nr; i++)
		profile_set_name(part, i, 0);
	(void)make_sample(part, "a;libc.so! 1");
	CHECK_EQ(profile_copy_names(part, named), 0);
	CHECK_EQ(profile_total(part), 4);
	for (i = 0; i < nr; i++)
		CHECK_STR(profile_string(part, profile_frame(part, i)->function),
			  profile_string(named, profile_frame(named, i)->function));
	CHECK_EQ(profile_lines(part, profile_frame(part, 0))->line, 3);
	CHECK_EQ(profile_frame(part, (uint32_t)nr)->function, 0);
	CHECK_EQ(profile_code(part, libc)->build_id_bytes, 2);
	CHECK(!profile_code(part, profile_frame(part, 2)->module));
	profile_free(part);
	profile_free(named);
}

#define PARTS	  2000
#define NEW_EACH  50
#define SAME_EACH 20
#define SAME_AT	  (1U << 30)

/* A run of months samples other instructions each time, of a program that has very many. */
TEST(parts_without_end_take_a_bounded_memory)
{
	const struct module_code code = {.build_id = "id", .build_id_bytes = 2};
	struct profile *profile = profile_new();
	size_t most_bytes = 0, nr_named = 0, part_nr;
	uint32_t i;

	for (part_nr = 0; part_nr < PARTS; part_nr++) {
		struct profile *part = profile_new();

		for (i = 0; i < SAME_EACH; i++)
			add_file_sample(part, SAME_AT + i);
		for (i = 0; i < NEW_EACH; i++)
			add_file_sample(part, part_nr * NEW_EACH + i);
		CHECK_EQ(profile_take_part(&profile, part), 0);
		if (!part_nr)
			CHECK_EQ(profile_set_code(profile, MODULE_NR_KERNEL + 1, &code), 0);
		profile_free(part);
		CHECK_EQ(profile_nr_samples(profile), SAME_EACH + NEW_EACH);
		nr_named += name_frames(profile);
		if (profile_bytes(profile) > most_bytes)
			most_bytes = profile_bytes(profile);
	}
	CHECK(most_bytes < 3U << 20);
	CHECK_EQ(profile_nr_modules(profile), MODULE_NR_KERNEL + 2);
	CHECK_STR((const char *)profile_code(profile, MODULE_NR_KERNEL + 1)->build_id, "id");
	/* What each part has is named once. */
	CHECK(nr_named < PARTS * NEW_EACH + 2 * SAME_EACH);
	profile_free(profile);
}

TEST(totals_that_no_file_can_hold_are_refused)
{
	struct profile *into = make_profile("a;main 9223372036854775807\n");
	struct profile *from = make_profile("a;other 1\n");

	CHECK_EQ(profile_merge(into, from, 0), -EOVERFLOW);
	CHECK_EQ(profile_merge(from, into, 0), -EOVERFLOW);
	profile_free(into);
	profile_free(from);
}

TEST(merging_survives_each_failing_allocation)
{
	struct profile *other = make_profile("c;x;y_[i];k_[k] 5\na;main;libc.so!read 4\n");
	size_t nth;
	int result;

	for (nth = 1;; nth++) {
		struct profile *one = make_profile("a;main 3\n");

		(void)test_fail_allocation(nth);
		result = profile_merge(one, other, 0);
		(void)test_fail_allocation(0);
		profile_free(one);
		if (!result)
			break;
		CHECK_EQ(result, -ENOMEM);
	}
	CHECK(nth > 1);
	profile_free(other);
}
