/* The store: what is appended comes out, minutes and hours, removal, damage and crashes. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "store/store_state.h"
#include "store/unnamed.h"
#include "store/where.h"
#include "unit/folded_text.h"
#include "unit/folder.h"
#include "unit/make_profile.h"
#include "unit/test.h"

#define SECOND 1000000000ULL
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define BEGIN  (1700000000ULL / 3600 * HOUR) /* a full hour */

static struct store *open_writer(void)
{
	struct store *store = NULL;
	struct error error = {0};

	if (store_open_writer(in_folder("store"), &store, &error) < 0)
		CHECK_STR(error.text, "");
	return store;
}

static int try_append(struct store *store, uint64_t start_ns, uint64_t length_ns, const char *lines)
{
	struct profile *profile = make_profile(lines);
	struct store_epoch epoch = {start_ns, start_ns + length_ns, .period_ns = 10, .lost = 1,
				    .measured_ns = length_ns};
	struct error error = {0};
	int result = store_append(store, &epoch, profile, &error);

	profile_free(profile);
	return result;
}

static void append(struct store *store, uint64_t start_ns, uint64_t length_ns, const char *lines)
{
	CHECK_EQ(try_append(store, start_ns, length_ns, lines), 0);
}

/* Checks the answer to a query as folded stacks with names of threads. */
static struct store_answer check_answer(struct store *store, uint64_t from_ns, uint64_t to_ns,
					const char *where, const char *wanted)
{
	static const char *const labels[] = {"comm"};
	struct store_where *condition = where ? store_where_parse(where, NULL) : NULL;
	struct store_query query = {.from_ns = from_ns,
				    .to_ns = to_ns,
				    .where = condition,
				    .labels = labels,
				    .nr_labels = 1};
	struct store_answer answer = {0};
	struct profile *profile = NULL;
	struct error error = {0};

	CHECK(!where || condition);
	if (store_query(store, &query, &profile, &answer, &error) < 0)
		CHECK_STR(error.text, "");
	check_folded_text(profile, (struct format_options){.labels = LABEL_COMM}, wanted);
	profile_free(profile);
	store_where_free(condition);
	return answer;
}

/* All that is to be done. */
static void expire(struct store *store, const struct store_limits *limits, uint64_t now_ns)
{
	struct error error = {0};
	int has_more;

	do
		has_more = store_expire(store, limits, now_ns, &error);
	while (has_more > 0);
	if (has_more < 0)
		CHECK_STR(error.text, "");
}

static void remove_before(struct store *store, uint64_t epochs_ns, uint64_t minutes_ns,
			  uint64_t hours_ns, uint64_t now_ns)
{
	expire(store, &(struct store_limits){epochs_ns, minutes_ns, hours_ns, 0}, now_ns);
}

static struct store_extent extent_of(struct store *store)
{
	struct store_extent extent = {0};

	CHECK_EQ(store_extent(store, &extent, NULL), 0);
	return extent;
}

/* --- what goes in comes out ------------------------------------------------------------------- */

TEST(an_epoch_comes_out_as_it_went_in)
{
	static const char lines[] = "a;main;libc.so!read;sys_read_[k] 3\n"
				    "a;main;work_[j];~gone!f 5\n"
				    "b;app! 7\n";
	struct store *store;
	char *whole;
	struct profile *profile = make_profile(lines);

	enter_folder();
	whole = folded_text(profile, (struct format_options){.labels = LABEL_COMM});
	store = open_writer();
	append(store, BEGIN, 10 * SECOND, lines);
	(void)check_answer(store, BEGIN, BEGIN + HOUR, NULL, whole);
	store_close(store);
	store = open_writer();
	(void)check_answer(store, BEGIN, BEGIN + HOUR, NULL, whole);
	store_close(store);
	free(whole);
	profile_free(profile);
	leave_folder();
}

TEST(lines_of_inlined_functions_stay)
{
	struct profile *profile = make_profile("a;main{/m.c:3};inl{/i.c:7}_[i] 4\n"), *ret = NULL;
	struct store_query query = {.to_ns = UINT64_MAX / 4};
	struct store_epoch epoch = {BEGIN, BEGIN + SECOND, 0, 0};
	struct format_options options = {.lines = true};
	struct store_answer answer;
	struct store *store;
	char *wanted = folded_text(profile, options);

	enter_folder();
	store = open_writer();
	CHECK_EQ(store_append(store, &epoch, profile, NULL), 0);
	CHECK_EQ(store_query(store, &query, &ret, &answer, NULL), 0);
	check_folded_text(ret, options, wanted);
	profile_free(ret);
	profile_free(profile);
	free(wanted);
	store_close(store);
	leave_folder();
}

TEST(addresses_in_one_function_are_one_stack)
{
	static const char *const labels[] = {"comm"};
	struct store_query query = {.to_ns = UINT64_MAX / 4, .labels = labels, .nr_labels = 1};
	struct store_answer answer;
	struct profile *profile = NULL;
	struct store *store;

	enter_folder();
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main@1;f@1 1\na;main@2;f@3 2\na;main;f@4 4\n");
	CHECK_EQ(store_query(store, &query, &profile, &answer, NULL), 0);
	CHECK_EQ(profile_nr_samples(profile), 1);
	CHECK_EQ(profile_total(profile), 7);
	profile_free(profile);
	store_close(store);
	leave_folder();
}

/* Adds a program that has code, but no symbols. Returns the number of its module. */
static uint32_t add_stripped(struct profile *profile)
{
	struct module module = {.kind = MODULE_FILE, .file = 1};
	struct module_code code = {.build_id = {1, 2, 3}, .build_id_bytes = 3, .nr_segments = 1};
	uint32_t number;

	code.segments[0] = (struct module_segment){0x1000, 0x401000, 0x800};
	module.name = (uint32_t)profile_add_string(profile, "/usr/bin/stripped");
	number = (uint32_t)profile_add_module(profile, &module);
	CHECK_EQ(profile_set_code(profile, number, &code), 0);
	return number;
}

TEST(code_without_a_name_keeps_its_address_and_build_id)
{
	struct profile *profile = profile_new(), *ret = NULL;
	const uint32_t stripped = add_stripped(profile);
	struct store_query query = {.to_ns = UINT64_MAX / 4};
	struct store_epoch epoch = {BEGIN, BEGIN + SECOND, 0, 0};
	const struct sample_labels none = {0};
	struct store_answer answer;
	struct store *store;
	uint32_t frame, module;

	frame = (uint32_t)profile_add_frame(profile, FRAME_USER, stripped, 0x1234);
	CHECK(profile_add_sample(profile, &none, &frame, 1, 0, 9) >= 0);

	enter_folder();
	store = open_writer();
	CHECK_EQ(store_append(store, &epoch, profile, NULL), 0);
	CHECK_EQ(store_query(store, &query, &ret, &answer, NULL), 0);
	CHECK_EQ(profile_nr_samples(ret), 1);
	frame = profile_sample_frames(ret, profile_sample(ret, 0))[0];
	CHECK_EQ(profile_frame(ret, frame)->address, 0x1234);
	module = profile_frame(ret, frame)->module;
	CHECK_STR(profile_string(ret, profile_module(ret, module)->name), "/usr/bin/stripped");
	CHECK_EQ(profile_code(ret, module)->build_id_bytes, 3);
	CHECK_EQ(profile_code(ret, module)->segments[0].vaddr, 0x401000);
	profile_free(ret);
	profile_free(profile);
	store_close(store);
	leave_folder();
}

/* All samples of such a function are one stack in the store, so that its start is the only address that there is. */
TEST(a_function_without_a_symbol_has_the_address_of_its_start)
{
	struct profile *profile = profile_new(), *ret = NULL;
	const uint32_t stripped = add_stripped(profile);
	struct store_query query = {.to_ns = UINT64_MAX / 4};
	struct store_epoch epoch = {BEGIN, BEGIN + SECOND, 0, 0};
	const struct sample_labels none = {0};
	const struct frame *frame;
	struct store_answer answer;
	struct store *store;
	uint32_t number, i;

	for (i = 0; i < 3; i++) {
		number = (uint32_t)profile_add_frame(profile, FRAME_USER, stripped, 0x1234 + i);
		CHECK_EQ(profile_set_start(profile, number, i < 2 ? 0x401230 : 0x500000), 0);
		CHECK(profile_add_sample(profile, &none, &number, 1, 0, 9) >= 0);
	}
	enter_folder();
	store = open_writer();
	CHECK_EQ(store_append(store, &epoch, profile, NULL), 0);
	CHECK_EQ(store_query(store, &query, &ret, &answer, NULL), 0);
	CHECK_EQ(profile_nr_samples(ret), 2);
	for (i = 0; i < 2; i++) {
		number = profile_sample_frames(ret, profile_sample(ret, i))[0];
		frame = profile_frame(ret, number);
		CHECK(!profile_is_named(ret, frame));
		if (profile_sample(ret, i)->count == 9) { /* in no segment */
			CHECK_STR(profile_string(ret, frame->function), "stripped+0x500000");
			CHECK(frame->address >= PROFILE_NOWHERE);
			continue;
		}
		CHECK_STR(profile_string(ret, frame->function), "stripped+0x401230");
		CHECK_EQ(frame->address, 0x1230);
	}
	profile_free(ret);
	profile_free(profile);
	store_close(store);
	leave_folder();
}

/* Samples of a clock become time, so that epochs of different rates can be added. */
TEST(periods_may_differ)
{
	static const uint64_t periods[] = {10000000, 50000000};
	struct store_query query = {.to_ns = UINT64_MAX / 4};
	struct store_answer answer;
	struct profile *ret = NULL;
	struct store *store;
	size_t i;

	enter_folder();
	store = open_writer();
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		struct profile *profile = make_profile("a;main 100\n");
		struct profile_origin origin = {.period = periods[i]};
		struct store_epoch epoch = {BEGIN + i * SECOND, BEGIN + i * SECOND + SECOND,
					    periods[i], 0};

		origin.event = (uint32_t)profile_add_string(profile, "cpu-clock");
		origin.unit = (uint32_t)profile_add_string(profile, "nanoseconds");
		profile_set_origin(profile, &origin);
		CHECK_EQ(store_append(store, &epoch, profile, NULL), 0);
		profile_free(profile);
	}
	CHECK_EQ(store_query(store, &query, &ret, &answer, NULL), 0);
	CHECK_STR(profile_value_name(ret, 0), "cpu");
	CHECK_STR(profile_value_unit(ret, 0), "nanoseconds");
	CHECK_EQ(profile_total(ret), 6000000000);
	CHECK_EQ(profile_value_total(ret, (size_t)profile_find_value(ret, "samples")), 200);
	profile_free(ret);
	query.value = "alloc";
	CHECK_EQ(store_query(store, &query, &ret, &answer, NULL), -EINVAL);
	store_close(store);
	leave_folder();
}

TEST(labels_select_and_group)
{
	static const char *const labels[] = {"container", "pid"};
	struct profile *profile = profile_new(), *ret = NULL;
	struct store_query query = {.to_ns = UINT64_MAX / 4, .labels = labels, .nr_labels = 2};
	struct store_epoch epoch = {BEGIN, BEGIN + SECOND, 0, 0};
	struct set_label container = {.key = (uint32_t)profile_add_string(profile, "container")};
	struct sample_labels some = {.pid = 17};
	struct store_answer answer;
	struct store_where *where;
	struct store *store;

	(void)make_labelled(profile, some, "redis;main;get 1");
	container.text = (uint32_t)profile_add_string(profile, "web-1");
	some.set = (uint32_t)profile_add_label_set(profile, &container, 1);
	(void)make_labelled(profile, some, "redis;main;get 2");
	some.pid = 18;
	(void)make_labelled(profile, some, "nginx;main;get 4");

	enter_folder();
	store = open_writer();
	CHECK_EQ(store_append(store, &epoch, profile, NULL), 0);
	(void)check_answer(store, 0, UINT64_MAX / 4, "comm=redis", "redis;main;get 3\n");
	(void)check_answer(store, 0, UINT64_MAX / 4, "container~^web && comm!=nginx",
			   "redis;main;get 2\n");
	(void)check_answer(store, 0, UINT64_MAX / 4, "!container || pid=18",
			   "nginx;main;get 4\nredis;main;get 1\n");
	(void)check_answer(store, 0, UINT64_MAX / 4, "cgroup", "");
	where = store_where_parse("pid!=18", NULL);
	query.where = where;
	CHECK_EQ(store_query(store, &query, &ret, &answer, NULL), 0);
	CHECK_EQ(profile_nr_samples(ret), 2);
	CHECK_EQ(profile_sample(ret, 0)->labels.pid, 17);
	CHECK_EQ(profile_sample(ret, 0)->labels.comm, 0);
	profile_free(ret);
	store_where_free(where);
	profile_free(profile);
	store_close(store);
	leave_folder();
}

TEST(slices_of_time)
{
	struct store_query query = {
		.from_ns = BEGIN, .to_ns = BEGIN + MINUTE, .step_ns = 20 * SECOND};
	struct store_answer answer;
	struct profile *ret = NULL;
	struct store *store;
	size_t i;

	enter_folder();
	store = open_writer();
	for (i = 0; i < 6; i++)
		append(store, BEGIN + i * 10 * SECOND, 10 * SECOND, "a;main 1\n");
	CHECK_EQ(store_query(store, &query, &ret, &answer, NULL), 0);
	CHECK_EQ(profile_nr_slices(ret), 3);
	CHECK_EQ(profile_nr_samples(ret), 3);
	CHECK_EQ(profile_sample(ret, 1)->count, 2);
	CHECK_EQ(profile_slice(ret, 2).start_ns, BEGIN + 20 * SECOND);
	profile_free(ret);
	store_close(store);
	leave_folder();
}

/* --- epochs without names --------------------------------------------------------------------- */

static int64_t count_rows(const char *table);
static void check_reader(bool denies_index, const char *wanted);

/* An epoch of ten seconds. */
static void append_unnamed(struct store *store, uint64_t number, uint64_t start_ns,
			   const char *lines)
{
	struct profile *profile = make_profile(lines);
	const struct store_epoch epoch = {
		start_ns,
		start_ns + 10 * SECOND,
		.period_ns = 10,
		.lost = 1,
		.first = number,
		.last = number,
		.measured_ns = 10 * SECOND,
	};

	CHECK_EQ(store_append_unnamed(store, &epoch, profile, NULL), 0);
	profile_free(profile);
}

static void append_named(struct store *store, uint64_t first, uint64_t last, const char *lines)
{
	struct profile *profile = make_profile(lines);
	const struct store_epoch epoch = {BEGIN + (first - 1) * 10 * SECOND,
					  BEGIN + last * 10 * SECOND,
					  .period_ns = 10,
					  .first = first,
					  .last = last,
					  .measured_ns = (last + 1 - first) * 10 * SECOND};

	CHECK_EQ(store_append(store, &epoch, profile, NULL), 0);
	profile_free(profile);
}

/* Whoever reads meanwhile sees each time once. */
TEST(names_replace_epochs_without)
{
	struct store_answer answer;
	struct store *store, *reader = NULL;

	enter_folder();
	store = open_writer();
	CHECK_EQ(store_open_reader(in_folder("store"), NULL, NULL, &reader, NULL), 0);
	append_unnamed(store, 1, BEGIN, "a;lib.so!@1 1\n");
	append_unnamed(store, 2, BEGIN + 10 * SECOND, "a;lib.so!@2 2\nb;lib.so!@1 4\n");
	answer = check_answer(reader, BEGIN, BEGIN + HOUR, NULL, "b;[unknown] 4\na;[unknown] 3\n");
	CHECK_EQ(answer.nr_epochs, 2);
	CHECK_EQ(answer.measured_ns, 20 * SECOND);
	CHECK_EQ(answer.lost, 2);
	CHECK_EQ(answer.least_period_ns, 10);
	CHECK_EQ(extent_of(reader).nr_epochs, 2);
	CHECK_EQ(extent_of(reader).to_ns, BEGIN + 20 * SECOND);
	CHECK_EQ(extent_of(reader).last_from_ns, BEGIN + 10 * SECOND);
	(void)check_answer(reader, BEGIN, BEGIN + 10 * SECOND, NULL, "a;[unknown] 1\n");
	append_named(store, 1, 2, "a;lib.so!f 3\nb;lib.so!f 4\n");
	append_unnamed(store, 3, BEGIN + 20 * SECOND, "a;lib.so!@2 8\n");
	answer = check_answer(reader, BEGIN, BEGIN + HOUR, NULL, "a;[unknown] 8\nb;f 4\na;f 3\n");
	CHECK_EQ(answer.nr_epochs, 3);
	CHECK_EQ(extent_of(reader).nr_epochs, 2);
	CHECK_EQ(answer.measured_ns, 30 * SECOND);
	append_named(store, 3, 3, "a;lib.so!f 8\n");
	(void)check_answer(reader, BEGIN, BEGIN + HOUR, NULL, "a;f 11\nb;f 4\n");
	store_close(reader);
	store_close(store);
	/* They have left nothing behind. */
	CHECK_EQ(count_rows("unnamed"), 0);
	CHECK_EQ(count_rows("frame"), 1);
	CHECK_EQ(count_rows("stack"), 1);
	leave_folder();
}

/* The writer is killed before it has names; the next one goes on with the numbers from 1. */
TEST(a_killed_writer_leaves_epochs_without_names)
{
	static const char wanted[] = "a;[unknown] 7\nb;g 1\n";
	struct store *store;
	uint64_t nr = 0, i;
	int status;

	enter_folder();
	if (!fork()) {
		store = open_writer();
		append_named(store, 1, 1, "b;g 1\n");
		append_unnamed(store, 2, BEGIN + 50 * SECOND, "a;lib.so!@1 1\n");
		append_unnamed(store, 3, BEGIN + 70 * SECOND, "a;lib.so!@2 2\n");
		append_unnamed(store, 4, BEGIN + 80 * SECOND, "a;lib.so!@2 4\n");
		_exit(0);
	}
	CHECK(wait(&status) > 0 && !status);
	check_reader(false, wanted);
	store = open_writer();
	(void)check_answer(store, BEGIN, BEGIN + HOUR, NULL, wanted);
	CHECK_EQ(store_settle(store, &nr, NULL), 0);
	CHECK_EQ(nr, 3);
	CHECK_EQ(count_rows("unnamed"), 0);
	(void)check_answer(store, BEGIN, BEGIN + HOUR, NULL, wanted);
	CHECK_EQ(extent_of(store).nr_epochs, 4);
	CHECK_EQ(extent_of(store).nr_minutes, 1); /* the first is over */
	CHECK_EQ(store_settle(store, &nr, NULL), 0);
	CHECK_EQ(nr, 0);
	for (i = 1; i < 3; i++)
		append_unnamed(store, i, BEGIN + (80 + 10 * i) * SECOND, "c;lib.so!@3 1\n");
	(void)check_answer(store, BEGIN, BEGIN + HOUR, NULL,
			   "a;[unknown] 7\nc;[unknown] 2\nb;g 1\n");
	store_close(store);
	leave_folder();
}

/* Names that could not be stored, as on a full disk, are not waited for when the next ones can. */
TEST(an_epoch_stays_without_names)
{
	struct store *store;

	enter_folder();
	store = open_writer();
	append_unnamed(store, 1, BEGIN, "a;lib.so!@1 1\n");
	append_unnamed(store, 2, BEGIN + 10 * SECOND, "a;lib.so!@2 2\n");
	append_unnamed(store, 3, BEGIN + 20 * SECOND, "b;lib.so!@2 4\n");
	append_named(store, 2, 2, "a;f 2\n");
	CHECK_EQ(count_rows("unnamed"), 1);
	CHECK_EQ(count_rows("block"), 2);
	(void)check_answer(store, BEGIN, BEGIN + HOUR, NULL,
			   "b;[unknown] 4\na;f 2\na;[unknown] 1\n");
	store_close(store);
	leave_folder();
}

/* All that an epoch can have: the answer is that of an epoch with names. */
static void fill(struct profile *profile)
{
	struct module module = {.kind = MODULE_FILE, .file = 1};
	struct module_code code = {.build_id = {1, 2, 3}, .build_id_bytes = 3, .nr_segments = 1};
	struct set_label pod = {.key = (uint32_t)profile_add_string(profile, "pod")};
	struct sample_labels some = {.pid = 17, .tid = 18, .cpu = 3};
	struct value_type type;
	uint32_t frames[3];
	int sleeping;

	set_main_value(profile, "cpu", "nanoseconds");
	CHECK_EQ(profile_make_value_type(profile, "sleeping", "nanoseconds", &type), 0);
	sleeping = profile_add_value_type(profile, &type);
	code.segments[0] = (struct module_segment){0x1000, 0x401000, 0x800};
	module.name = (uint32_t)profile_add_string(profile, "/usr/bin/stripped");
	module.file = (uint32_t)profile_add_module(profile, &module);
	CHECK_EQ(profile_set_code(profile, module.file, &code), 0);
	frames[0] = (uint32_t)profile_add_frame(profile, FRAME_KERNEL, MODULE_NR_KERNEL,
						0xffffffff81001234);
	frames[1] = (uint32_t)profile_add_frame(profile, FRAME_USER, module.file, 0x1234);
	frames[2] = (uint32_t)profile_add_frame(profile, FRAME_USER, module.file, 0x1300);
	CHECK_EQ(profile_set_start(profile, frames[2], 0x401230), 0);
	pod.text = (uint32_t)profile_add_string(profile, "web-1");
	some.comm = (uint32_t)profile_add_string(profile, "redis");
	some.cgroup = (uint32_t)profile_add_string(profile, "/kubepods/pod7");
	some.set = (uint32_t)profile_add_label_set(profile, &pod, 1);
	CHECK(profile_add_sample(profile, &some, frames, 3, 1, 9) >= 0);
	(void)make_labelled(profile, some, "redis;main{/m.c:3};inl{/i.c:7}_[i];libc.so!read 5");
	some.set = 0;
	(void)make_labelled(profile, some, "nginx;main;run_[j];sys_read_[k] 4");
	CHECK_EQ(profile_add_value(profile, 2, (size_t)sleeping, 70), 0);
	(void)profile_add_sample(profile, &some, frames, 2, 1, 0); /* without any value */
}

/* Asks for all labels, or for none and stacks neither. */
static char *answer_of(struct store *store, const char *where, const char *value, bool all,
		       uint64_t step_ns)
{
	static const struct format_options options = {
		.labels = LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU | LABEL_CGROUP |
			  LABEL_SET | LABEL_SLICE,
		.lines = true,
	};
	struct store_where *condition = where ? store_where_parse(where, NULL) : NULL;
	struct store_query query = {
		.from_ns = BEGIN,
		.to_ns = BEGIN + MINUTE,
		.where = condition,
		.value = value,
		.all_labels = all,
		.no_stacks = !all,
		.step_ns = step_ns,
	};
	struct profile *profile = NULL;
	struct store_answer answer;
	char *text = NULL;
	const int result = store_query(store, &query, &profile, &answer, NULL);

	if (!result)
		text = folded_text(profile, options);
	profile_free(profile);
	store_where_free(condition);
	return text ? text : strdup(strerror(-result));
}

TEST(epochs_without_names_are_like_others)
{
	static const struct {
		const char *where, *value;
		bool all;
		uint64_t step_ns;
	} queries[] = {
		{NULL, NULL, true, 0},
		{NULL, "sleeping", true, 0},
		{NULL, "blocked", true, 0},
		{"pod=web-1", NULL, true, 0},
		{"pod=web-1", "sleeping", true, 0},
		{"comm=nginx && pid=17", NULL, true, 0},
		{"comm=nobody", NULL, true, 0},
		{NULL, NULL, false, 0},
		{NULL, NULL, true, 10 * SECOND},
		{NULL, NULL, false, 20 * SECOND},
	};
	struct profile *profile = profile_new(), *ret = NULL;
	struct store_epoch epoch = {BEGIN, BEGIN + SECOND, 0, 0, 1, 1};
	struct store_query all = {.to_ns = UINT64_MAX / 4};
	char *texts[3][ARRAY_SIZE(queries)];
	struct store_answer answer;
	struct store *store;
	uint64_t nr;
	size_t i, k;

	fill(profile);
	enter_folder();
	store = open_writer();
	/* First one with names; then one without; then both, and another one without. */
	for (i = 0; i < 3; i++) {
		epoch.first = epoch.last = i + 1;
		if (i == 1) {
			CHECK_EQ(store_append_unnamed(store, &epoch, profile, NULL), 0);
			CHECK_EQ(store_query(store, &all, &ret, &answer, NULL), 0);
			CHECK_EQ(profile_nr_samples(ret), 3);
			profile_free(ret);
		} else {
			CHECK_EQ(store_append(store, &epoch, profile, NULL), 0);
		}
		if (i == 2) {
			CHECK_EQ(count_rows("unnamed"), 0);
			CHECK_EQ(store_append_unnamed(store, &epoch, profile, NULL), 0);
		}
		for (k = 0; k < ARRAY_SIZE(queries); k++)
			texts[i][k] = answer_of(store, queries[k].where, queries[k].value,
						queries[k].all, queries[k].step_ns);
		if (i == 0) {
			store_close(store);
			CHECK(run_in_folder("rm store*"));
			store = open_writer();
		}
	}
	for (k = 0; k < ARRAY_SIZE(queries); k++) {
		CHECK_STR(texts[1][k], texts[0][k]);
		free(texts[0][k]);
		free(texts[1][k]);
	}
	CHECK_EQ(store_settle(store, &nr, NULL), 0);
	CHECK_EQ(nr, 1);
	for (k = 0; k < ARRAY_SIZE(queries); k++) {
		char *text = answer_of(store, queries[k].where, queries[k].value, queries[k].all,
				       queries[k].step_ns);

		CHECK_STR(text, texts[2][k]);
		free(text);
		free(texts[2][k]);
	}
	store_close(store);
	profile_free(profile);
	leave_folder();
}

/* Each byte in turn: an error or another answer, and no crash. */
TEST(a_damaged_epoch_without_names_is_told)
{
	struct profile *profile = profile_new(), *ret;
	cleanup(content_clear) struct content content = {0};
	const struct unnamed_choice all = {0};
	uint8_t *whole = NULL;
	size_t nr = 0, i, nr_told = 0;
	unsigned k;

	fill(profile);
	CHECK_EQ(unnamed_write(profile, &content), 0);
	CHECK_EQ(content_expand(bytes_of(content.bytes, content.nr), &whole, &nr), 0);
	for (i = 0; i < nr; i++)
		for (k = 0; k < 8; k++) {
			struct content bytes = {.bytes = whole, .nr = nr};
			cleanup(content_clear) struct content damaged = {0};
			int result;

			whole[i] ^= (uint8_t)(1U << k);
			CHECK_EQ(content_compress(&bytes, 1, &damaged), 0);
			result = unnamed_read(bytes_of(damaged.bytes, damaged.nr), &all, &ret);
			if (!result)
				profile_free(ret);
			nr_told += result < 0;
			whole[i] ^= (uint8_t)(1U << k);
		}
	CHECK(nr_told > nr);
	for (i = 0; i < nr; i++) {
		struct content bytes = {.bytes = whole, .nr = i};
		cleanup(content_clear) struct content cut = {0};

		CHECK_EQ(content_compress(&bytes, 1, &cut), 0);
		CHECK_EQ(unnamed_read(bytes_of(cut.bytes, cut.nr), &all, &ret), -EBADMSG);
	}
	free(whole);
	profile_free(profile);
}

/* --- minutes and hours ------------------------------------------------------------------------ */

/* Three hours of epochs of 10 s; the stack of each epoch tells its minute. */
static struct store *store_of_hours(void)
{
	struct store *store = open_writer();
	char line[64];
	uint64_t at;

	for (at = 0; at < 3 * HOUR; at += 10 * SECOND) {
		(void)snprintf(line, sizeof(line), "a;main;m%d 1\n", (int)(at / MINUTE % 3));
		append(store, BEGIN + at, 10 * SECOND, line);
	}
	return store;
}

TEST(minutes_and_hours_have_the_sums_of_epochs)
{
	struct store_answer answer;
	struct store *store;

	enter_folder();
	store = store_of_hours();
	CHECK_EQ(extent_of(store).nr_epochs, 1080);
	CHECK_EQ(extent_of(store).nr_minutes, 179);
	CHECK_EQ(extent_of(store).nr_hours, 2);
	answer = check_answer(store, BEGIN, BEGIN + 3 * HOUR, NULL,
			      "a;main;m0 360\na;main;m1 360\na;main;m2 360\n");
	CHECK_EQ(answer.nr_epochs, 1080);
	CHECK_EQ(answer.measured_ns, 3 * HOUR);
	CHECK_EQ(answer.lost, 1080);
	answer = check_answer(store, BEGIN + 50 * SECOND, BEGIN + HOUR + 90 * SECOND, NULL,
			      "a;main;m1 123\na;main;m0 121\na;main;m2 120\n");
	CHECK_EQ(answer.from_ns, BEGIN + 50 * SECOND);
	CHECK_EQ(answer.to_ns, BEGIN + HOUR + 90 * SECOND);
	store_close(store);
	leave_folder();
}

TEST(each_range_is_answered_to_the_epoch)
{
	struct store_answer answer;
	struct store *store;
	char wanted[32];
	uint64_t from, length;

	enter_folder();
	store = open_writer();
	for (from = 0; from < 150 * MINUTE; from += 30 * SECOND)
		append(store, BEGIN + from, 30 * SECOND, "a;main 1\n");
	for (from = 0; from < 130 * MINUTE; from += 17 * MINUTE + 30 * SECOND)
		for (length = 30 * SECOND; from + length <= 150 * MINUTE;
		     length += 11 * MINUTE + 30 * SECOND) {
			(void)snprintf(wanted, sizeof(wanted), "a;main %d\n",
				       (int)(length / (30 * SECOND)));
			answer = check_answer(store, BEGIN + from, BEGIN + from + length, NULL,
					      wanted);
			CHECK_EQ(answer.measured_ns, length);
		}
	store_close(store);
	leave_folder();
}

/* Where the epochs are gone, the minute that a range begins in is taken whole, and this is said. */
TEST(removed_epochs_are_in_their_minutes_and_hours)
{
	struct store_answer answer;
	struct store *store;

	enter_folder();
	store = store_of_hours();
	remove_before(store, HOUR, 2 * HOUR, 0, BEGIN + 3 * HOUR);
	CHECK_EQ(extent_of(store).nr_epochs, 361);
	CHECK_EQ(extent_of(store).nr_minutes, 120);
	CHECK_EQ(extent_of(store).nr_hours, 2);
	(void)check_answer(store, BEGIN, BEGIN + 3 * HOUR, NULL,
			   "a;main;m0 360\na;main;m1 360\na;main;m2 360\n");
	answer = check_answer(store, BEGIN + HOUR + 10 * SECOND, BEGIN + HOUR + 2 * MINUTE, NULL,
			      "a;main;m0 6\na;main;m1 6\n");
	CHECK_EQ(answer.from_ns, BEGIN + HOUR);
	answer = check_answer(store, BEGIN + 10 * MINUTE, BEGIN + 11 * MINUTE, NULL,
			      "a;main;m0 120\na;main;m1 120\na;main;m2 120\n");
	CHECK_EQ(answer.from_ns, BEGIN);
	CHECK_EQ(answer.to_ns, BEGIN + HOUR);
	store_close(store);
	leave_folder();
}

TEST(the_clock_is_set_back)
{
	struct store *store;

	enter_folder();
	store = open_writer();
	append(store, BEGIN + 2 * HOUR, MINUTE, "a;main 1\n");
	append(store, BEGIN + 2 * HOUR + MINUTE, MINUTE, "a;main 2\n");
	append(store, BEGIN + HOUR, MINUTE, "a;main 4\n");
	append(store, BEGIN + 2 * HOUR + 30 * SECOND, MINUTE, "a;main 8\n");
	append(store, BEGIN + 4 * HOUR, MINUTE, "a;main 16\n");
	(void)check_answer(store, BEGIN, BEGIN + 5 * HOUR, NULL, "a;main 31\n");
	store_close(store);
	leave_folder();
}

/* A pause in the range is no reason to take the whole hour, with what is outside of the range. */
TEST(a_range_beside_a_pause)
{
	struct store_answer answer;
	struct store *store;
	unsigned i;

	enter_folder();
	store = open_writer();
	for (i = 0; i < 5; i++)
		append(store, BEGIN + i * MINUTE, MINUTE, "a;main 1\n");
	for (i = 50; i < 65; i++)
		append(store, BEGIN + i * MINUTE, MINUTE, "a;main 10\n");
	answer = check_answer(store, BEGIN + 2 * MINUTE, BEGIN + 40 * MINUTE, NULL, "a;main 3\n");
	CHECK_EQ(answer.from_ns, BEGIN + 2 * MINUTE);
	(void)check_answer(store, BEGIN + 20 * MINUTE, BEGIN + 52 * MINUTE, NULL, "a;main 20\n");
	store_close(store);
	leave_folder();
}

/* Two hours of the same time: what is in the one is not in the other. */
TEST(a_range_after_the_clock_was_set_back)
{
	struct store *store;
	unsigned i;

	enter_folder();
	store = open_writer();
	for (i = 0; i < 62; i++)
		append(store, BEGIN + i * MINUTE, MINUTE, "a;main 1\n");
	for (i = 58; i < 120; i++)
		append(store, BEGIN + i * MINUTE, MINUTE, "a;main 100\n");
	(void)check_answer(store, BEGIN + 30 * MINUTE, BEGIN + HOUR, NULL, "a;main 230\n");
	(void)check_answer(store, BEGIN + 30 * MINUTE, BEGIN + HOUR + MINUTE, NULL, "a;main 331\n");
	(void)check_answer(store, BEGIN, BEGIN + 2 * HOUR, NULL, "a;main 6262\n");
	store_close(store);
	leave_folder();
}

/* --- removal ---------------------------------------------------------------------------------- */

static int64_t count_rows(const char *table)
{
	char text[96];
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	int64_t nr;

	(void)snprintf(text, sizeof(text), "SELECT count(*) FROM %s", table);
	CHECK_EQ(sqlite3_open(in_folder("store"), &db), SQLITE_OK);
	CHECK_EQ(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
	CHECK_EQ(sqlite3_step(statement), SQLITE_ROW);
	nr = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return nr;
}

TEST(what_nothing_refers_to_is_removed)
{
	struct store *store;

	enter_folder();
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main;old;libold.so!f 1\n");
	append(store, BEGIN + 5 * HOUR, SECOND, "b;main;new 1\n");
	append(store, BEGIN + 50 * HOUR, SECOND, "b;main;new 1\n");
	CHECK_EQ(count_rows("stack"), 2);
	remove_before(store, 10 * HOUR, 10 * HOUR, 47 * HOUR, BEGIN + 50 * HOUR);
	CHECK_EQ(count_rows("stack"), 1);
	CHECK_EQ(count_rows("labels"), 1);
	CHECK_EQ(count_rows("frame"), 2);
	CHECK_EQ(count_rows("module"), 1);
	(void)check_answer(store, BEGIN, BEGIN + 60 * HOUR, NULL, "b;main;new 2\n");
	append(store, BEGIN + 51 * HOUR, SECOND, "a;main;old;libold.so!f 1\n");
	(void)check_answer(store, BEGIN, BEGIN + 60 * HOUR, NULL, "b;main;new 2\na;main;old;f 1\n");
	store_close(store);
	leave_folder();
}

/* The numbers that a writer remembers have a limit, and are found again in the file. */
TEST(a_writer_with_little_memory_stores_things_once)
{
	static char lines[3 * 40 * 3000];
	struct store *store;
	int i, nr = 0;

	for (i = 0; i < 3000; i++)
		nr += snprintf(lines + nr, sizeof(lines) - (size_t)nr, "a;main;function_%d 1\n", i);
	enter_folder();
	store = open_writer();
	store_limit_memory(store, 1);
	append(store, BEGIN, SECOND, lines);
	append(store, BEGIN + SECOND, SECOND, lines);
	CHECK_EQ(count_rows("stack"), 3000);
	CHECK_EQ(count_rows("frame"), 3001);
	store_close(store);
	leave_folder();
}

/* Runs a statement of SQL in the store, which nobody has open. */
static void change(const char *text)
{
	sqlite3 *db = NULL;

	CHECK_EQ(sqlite3_open(in_folder("store"), &db), SQLITE_OK);
	CHECK_EQ(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Numbers are never used again, so after months of short processes most have no row. */
TEST(removal_takes_time_for_rows_and_not_for_numbers)
{
	struct store *store;
	uint64_t began_ns;

	enter_folder();
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main;old 1\n");
	store_close(store);
	change("INSERT INTO labels VALUES (1000000000, 1, x'00')");
	store = open_writer();
	append(store, BEGIN + 50 * HOUR, SECOND, "b;main;new 1\n");
	CHECK_EQ(count_rows("labels"), 3);
	began_ns = clock_now_ns();
	remove_before(store, 10 * HOUR, 10 * HOUR, 10 * HOUR, BEGIN + 50 * HOUR);
	CHECK(clock_now_ns() - began_ns < 20 * SECOND);
	CHECK_EQ(count_rows("labels"), 1);
	store_close(store);
	leave_folder();
}

/* A bit of a number in the file may be another one: it is told, whatever it is. */
TEST(numbers_that_cannot_be_are_told)
{
	static const char *const changes[] = {
		"UPDATE stack SET id = -5 WHERE id = 1",
		"UPDATE labels SET id = -9223372036854775807 WHERE id = 1",
		"UPDATE string SET id = 9223372036854775807 WHERE id = 1",
		"UPDATE frame SET id = 4611686018427387904 WHERE id = 1",
	};
	struct store_limits limits = {.hours_ns = HOUR};
	struct store *store;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		enter_folder();
		store = open_writer();
		append(store, BEGIN, SECOND, "a;main;f 1\nb;main;g 1\n");
		store_close(store);
		change(changes[i]);
		store = open_writer();
		CHECK_EQ(store_expire(store, &limits, BEGIN + HOUR, NULL), -EBADMSG);
		store_close(store);
		leave_folder();
	}
}

/* Stacks of a function that no other number has. */
static const char *many_stacks(unsigned number, unsigned nr_stacks)
{
	static char lines[1 << 16];
	size_t nr = 0;
	unsigned k;

	for (k = 0; k < nr_stacks; k++)
		nr += (size_t)sprintf(lines + nr, "a;main;f%u;g%u 1\n", number, k);
	return lines;
}

static uint64_t size_of_files(void)
{
	struct stat status;
	uint64_t sum = 0;
	char name[32];
	size_t i;

	for (i = 0; i < STORE_NR_FILES; i++) {
		(void)snprintf(name, sizeof(name), "store%s", store_files[i]);
		if (stat(in_folder(name), &status) == 0)
			sum += (uint64_t)status.st_size;
	}
	return sum;
}

/* The minutes of an hour that is not over are never removed. */
TEST(the_size_of_a_store_is_that_of_its_files)
{
	struct store_limits limits = {.bytes = 600000};
	uint64_t most =
		0; /* of the last epochs: each time that the log is written back, it is half as much */
	struct store *store;
	unsigned i;

	enter_folder();
	store = open_writer();
	CHECK_EQ(sqlite3_exec(store->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
	for (i = 0; i < 400; i++) {
		append(store, BEGIN + i * MINUTE, MINUTE, many_stacks(i, 30));
		CHECK_EQ(store_bytes(store), size_of_files());
		expire(store, &limits, BEGIN + i * MINUTE);
		CHECK(size_of_files() <= limits.bytes);
		if (i >= 350 && store_bytes(store) > most)
			most = store_bytes(store);
	}
	CHECK(most > limits.bytes / 2);
	store_close(store);
	leave_folder();
}

/* However large they are: their pages become free without being written. */
TEST(removing_blocks_writes_little)
{
	const struct store_limits limits = {.epochs_ns = MINUTE};
	struct store *store;
	int nr_before, nr_after, most;
	unsigned i;

	enter_folder();
	store = open_writer();
	CHECK_EQ(sqlite3_exec(store->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
	for (i = 0; i < 400; i++)
		append(store, BEGIN + i * SECOND, SECOND, "a;f 1\n");
	CHECK_EQ(sqlite3_exec(store->db,
			      "REPLACE INTO meta VALUES ('last_sweep_ns', 1700000000000000000);"
			      "UPDATE block SET content = zeroblob(100000) WHERE level = 0",
			      NULL, NULL, NULL),
		 SQLITE_OK);
	CHECK_EQ(sqlite3_db_status(store->db, SQLITE_DBSTATUS_CACHE_WRITE, &nr_before, &most, 0),
		 SQLITE_OK);
	CHECK_EQ(store_expire(store, &limits, BEGIN + HOUR, NULL), 1);
	CHECK_EQ(sqlite3_db_status(store->db, SQLITE_DBSTATUS_CACHE_WRITE, &nr_after, &most, 0),
		 SQLITE_OK);
	CHECK(extent_of(store).nr_epochs < 200);
	CHECK(nr_after - nr_before < 2000); /* pages; 1,024 are moved to free ones */
	store_close(store);
	leave_folder();
}

/* Pages of the database that were looked at, in memory or not. */
static uint64_t nr_pages_read(struct store *store)
{
	int hits, misses, most;

	CHECK_EQ(sqlite3_db_status(store->db, SQLITE_DBSTATUS_CACHE_HIT, &hits, &most, 0),
		 SQLITE_OK);
	CHECK_EQ(sqlite3_db_status(store->db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 0),
		 SQLITE_OK);
	return (uint64_t)hits + (uint64_t)misses;
}

/* At the limit, an epoch is no reason to read the whole store. */
TEST(removal_reads_in_proportion_to_what_is_written)
{
	struct store_limits limits = {.bytes = 500000, .minutes_ns = 100 * HOUR};
	uint64_t nr_read = 0, nr_written = 0, before;
	struct store *store;
	unsigned i;

	enter_folder();
	store = open_writer();
	CHECK_EQ(sqlite3_exec(store->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
	for (i = 0; i < 1000; i++) {
		before = nr_pages_read(store);
		append(store, BEGIN + i * MINUTE, MINUTE, many_stacks(i, 10));
		if (i >= 500)
			nr_written += nr_pages_read(store) - before;
		before = nr_pages_read(store);
		CHECK(store_expire(store, &limits, BEGIN + i * MINUTE, NULL) >= 0);
		if (i >= 500)
			nr_read += nr_pages_read(store) - before;
	}
	CHECK(nr_read < 2 * nr_written); /* mostly deletions of what was written */
	store_close(store);
	leave_folder();
}

/* Objects are in use again after nothing referred to them, blocks are removed before a sweep comes to them. */
TEST(a_sweep_in_slices_keeps_what_is_in_use)
{
	struct store_limits limits = {
		.epochs_ns = HOUR, .minutes_ns = 3 * HOUR, .hours_ns = 9 * HOUR};
	struct store_query query = {.to_ns = UINT64_MAX / 4};
	struct store_answer answer;
	struct profile *profile = NULL;
	unsigned i, seed = 3, nr_sweeps = 0;
	struct store *store;
	char lines[128];

	enter_folder();
	store = open_writer();
	for (i = 0; i < 1500; i++) {
		seed = seed * 1103515245 + 12345;
		(void)snprintf(lines, sizeof(lines), "a;main;f%u;g%u 1\nb;main;%u.so!h%u 2\n",
			       (seed >> 8) % 9, (seed >> 12) % 7, (seed >> 16) % 5,
			       (seed >> 20) % 60);
		append(store, BEGIN + i * 10 * MINUTE, MINUTE, lines);
		store->upkeep.slice_bytes = 300 + (seed >> 24) * 20;
		store->upkeep.is_round_over |= !store->upkeep.sweep;
		CHECK(store_expire(store, &limits, BEGIN + i * 10 * MINUTE, NULL) >= 0);
		nr_sweeps += !store->upkeep.sweep;
		CHECK_EQ(store_query(store, &query, &profile, &answer, NULL), 0);
		CHECK_EQ(profile_total(profile), answer.nr_epochs * 3);
		profile_free(profile);
	}
	CHECK(nr_sweeps > 10 && nr_sweeps < 1000);
	expire(store, &limits, BEGIN + i * 10 * MINUTE);
	store->upkeep.is_round_over = true;
	expire(store, &limits, BEGIN + i * 10 * MINUTE);
	CHECK_EQ(store_query(store, &query, &profile, &answer, NULL), 0);
	CHECK_EQ(count_rows("stack"), profile_nr_samples(profile));
	profile_free(profile);
	store_close(store);
	leave_folder();
}

TEST(a_store_has_a_largest_size)
{
	struct store_limits limits = {.bytes = 600000};
	struct store *store;
	uint64_t bytes = 0;
	unsigned i;

	enter_folder();
	store = open_writer();
	for (i = 0; i < 300; i++) {
		append(store, BEGIN + i * MINUTE, MINUTE, many_stacks(i, 30));
		if (i % 20 == 19) {
			expire(store, &limits, BEGIN + i * MINUTE);
			bytes = store_bytes(store);
			CHECK(bytes <= limits.bytes + 4096);
		}
	}
	CHECK(bytes > limits.bytes / 4);
	/* The newest are still there. */
	CHECK(extent_of(store).to_ns == BEGIN + 300 * MINUTE);
	store_close(store);
	leave_folder();
}

/* A limit that is lowered costs what is too much, and the objects of the rest are not taken for it. */
TEST(a_largest_size_can_be_lowered)
{
	struct store_limits limits = {.bytes = 100000000};
	struct store *store;
	uint64_t bytes;
	unsigned i;

	enter_folder();
	store = open_writer();
	for (i = 0; i < 900; i++)
		append(store, BEGIN + i * MINUTE, MINUTE, many_stacks(i, 30));
	expire(store, &limits, BEGIN + 900 * MINUTE);
	bytes = store_bytes(store);
	limits.bytes = bytes / 2;
	for (i = 900; i < 960; i++) {
		append(store, BEGIN + i * MINUTE, MINUTE, many_stacks(i, 30));
		expire(store, &limits, BEGIN + i * MINUTE);
	}
	CHECK(store_bytes(store) <= limits.bytes + 4096);
	CHECK(store_bytes(store) > limits.bytes / 2);
	store_close(store);
	leave_folder();
}

/* --- one writer, any readers -------------------------------------------------------------------- */

/* As in /tmp: who puts a file there first could read, or write, what the store has. */
TEST(files_of_others_are_refused)
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-lock"};
	struct store *store = NULL;
	char name[32];
	size_t i;

	enter_folder();
	for (i = 0; i < ARRAY_SIZE(endings); i++) {
		(void)snprintf(name, sizeof(name), "store%s", endings[i]);
		make_file(in_folder(name), "");
		if (chown(in_folder(name), 12345, 12345) < 0) {
			leave_folder();
			SKIP("needs CAP_CHOWN");
		}
		CHECK_EQ(chmod(folder, 01777), 0);
		CHECK_EQ(store_open_writer(in_folder("store"), &store, NULL), -EACCES);
		CHECK_EQ(chmod(folder, 0755), 0); /* only the owner adds files */
		CHECK_EQ(store_open_writer(in_folder("store"), &store, NULL), 0);
		store_close(store);
		leave_folder();
		enter_folder();
	}
	leave_folder();
}

TEST(a_second_writer_is_refused)
{
	struct store *store, *other = NULL;
	struct error error = {0};

	enter_folder();
	store = open_writer();
	CHECK_EQ(store_open_writer(in_folder("store"), &other, &error), -EBUSY);
	CHECK(strstr(error.text, "another process writes"));
	store_close(store);
	store = open_writer();
	store_close(store);
	leave_folder();
}

/* The log and its index have the names of the new one's; SQLite does not remove those. */
TEST(a_removed_store_leaves_a_new_one_alone)
{
	struct store *removed, *store;

	enter_folder();
	removed = open_writer();
	append(removed, BEGIN, SECOND, "a;main 1\n");
	CHECK(store_is_there(removed));
	CHECK(run_in_folder("rm store*"));
	CHECK(!store_is_there(removed));
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main 1\n");
	CHECK(!store_is_there(removed));
	store_close(removed);
	CHECK_EQ(access(in_folder("store-wal"), F_OK), 0);
	CHECK_EQ(access(in_folder("store-shm"), F_OK), 0);
	CHECK(store_is_there(store));
	store_close(store);
	leave_folder();
}

TEST(readers_read_while_it_is_written)
{
	struct store *store, *reader = NULL;
	struct stat st;

	enter_folder();
	CHECK_EQ(store_open_reader(in_folder("store"), NULL, NULL, &reader, NULL) < 0, true);
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main 1\n");
	CHECK_EQ(store_open_reader(in_folder("store"), NULL, NULL, &reader, NULL), 0);
	(void)check_answer(reader, BEGIN, BEGIN + HOUR, NULL, "a;main 1\n");
	append(store, BEGIN + SECOND, SECOND, "a;main 1\n");
	(void)check_answer(reader, BEGIN, BEGIN + HOUR, NULL, "a;main 2\n");
	CHECK_EQ(try_append(reader, BEGIN, SECOND, "a;main 1\n") < 0, true);
	CHECK_EQ(stat(in_folder("store"), &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	store_close(reader);
	store_close(store);
	leave_folder();
}

/* --- readers ---------------------------------------------------------------------------------- */

struct opener {
	unsigned nr;
	bool denies_index;
};

static int open_counted(void *context, const char *path)
{
	struct opener *opener = context;
	int fd;

	opener->nr++;
	if (opener->denies_index && strstr(path, "-shm"))
		return -EACCES;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void check_reader(bool denies_index, const char *wanted)
{
	struct opener opener = {.denies_index = denies_index};
	struct store *reader = NULL;
	struct error error = {0};

	if (store_open_reader(in_folder("store"), open_counted, &opener, &reader, &error) < 0)
		CHECK_STR(error.text, "");
	(void)check_answer(reader, BEGIN, BEGIN + HOUR, NULL, wanted);
	CHECK(opener.nr >= 2);
	store_close(reader);
}

/* Neither the log nor the index is there: SQLite would have to create them. */
TEST(a_closed_store_is_read_without_writing)
{
	struct store *store;

	enter_folder();
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main 1\n");
	store_close(store);
	CHECK(access(in_folder("store-wal"), F_OK) < 0);
	check_reader(false, "a;main 1\n");
	CHECK(access(in_folder("store-wal"), F_OK) < 0);
	CHECK(access(in_folder("store-shm"), F_OK) < 0);
	leave_folder();
}

/* The writer is gone, and what it wrote last is in the log only; a part of a transaction is not read. */
TEST(a_store_of_a_crashed_writer_is_read)
{
	struct store *store;
	int status;

	enter_folder();
	if (!fork()) {
		store = open_writer();
		append(store, BEGIN, SECOND, "a;main 1\n");
		append(store, BEGIN + SECOND, SECOND, "b;main 2\n");
		_exit(0);
	}
	CHECK(wait(&status) > 0 && !status);
	CHECK_EQ(access(in_folder("store-wal"), F_OK), 0);
	check_reader(false, "b;main 2\na;main 1\n");
	check_reader(true, "b;main 2\na;main 1\n");
	leave_folder();
}

/* Another process goes on writing, and checkpoints, while this one reads. */
TEST(readers_see_whole_epochs_of_another_process)
{
	struct store *store, *reader = NULL;
	struct store_query query = {.to_ns = UINT64_MAX / 4};
	uint64_t at = 0, last = 0, total, rounds;
	struct store_answer answer;
	struct profile *profile;
	int status;
	pid_t writer;

	enter_folder();
	store_close(open_writer());
	writer = fork();
	if (!writer) {
		store = open_writer();
		for (at = 0; at < 400; at++)
			append(store, BEGIN + at * SECOND, SECOND, "a;main 1\nb;main 1\n");
		store_close(store);
		_exit(0);
	}
	CHECK_EQ(store_open_reader(in_folder("store"), NULL, NULL, &reader, NULL), 0);
	for (rounds = 0; waitpid(writer, &status, WNOHANG) == 0; rounds++) {
		struct error error = {0};

		if (store_query(reader, &query, &profile, &answer, &error) < 0)
			CHECK_STR(error.text, "");
		total = profile_total(profile);
		CHECK_EQ(total, 2 * answer.nr_epochs);
		CHECK(total >= last);
		last = total;
		profile_free(profile);
	}
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK_EQ(store_query(reader, &query, &profile, &answer, NULL), 0);
	CHECK_EQ(profile_total(profile), 800);
	profile_free(profile);
	store_close(reader);
	leave_folder();
}

TEST(sums_by_label_need_no_stacks)
{
	struct store_query query = {.to_ns = UINT64_MAX / 4, .all_labels = true, .no_stacks = true};
	struct store_answer answer;
	struct profile *profile = NULL;
	struct store *store;

	enter_folder();
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main;f 1\na;main;g 2\nb;main 4\n");
	CHECK_EQ(store_query(store, &query, &profile, &answer, NULL), 0);
	CHECK_EQ(profile_nr_samples(profile), 2);
	CHECK_EQ(profile_sample(profile, 0)->nr_frames, 0);
	CHECK_EQ(profile_total(profile), 7);
	CHECK_EQ(answer.least_period_ns, 10);
	CHECK_EQ(answer.most_period_ns, 10);
	CHECK_EQ(answer.nr_blocks[0], 1);
	profile_free(profile);
	store_close(store);
	leave_folder();
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void write_file(const char *path, const void *bytes, size_t nr)
{
	FILE *out = fopen(path, "w");

	CHECK(out && fwrite(bytes, 1, nr, out) == nr);
	CHECK_EQ(fclose(out), 0);
}

TEST(another_file_is_not_taken)
{
	static const char text[] = "this is my diary, and no store; it is not to be overwritten\n";
	struct store *store = NULL;
	struct error error = {0};
	sqlite3 *db = NULL;

	enter_folder();
	write_file(in_folder("store"), text, sizeof(text));
	CHECK_EQ(store_open_writer(in_folder("store"), &store, &error), -EBADMSG);
	CHECK_EQ(unlink(in_folder("store")), 0);
	CHECK_EQ(sqlite3_open(in_folder("store"), &db), SQLITE_OK);
	CHECK_EQ(sqlite3_exec(db, "CREATE TABLE diary (day, text)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	CHECK_EQ(store_open_writer(in_folder("store"), &store, &error), -EBADMSG);
	CHECK(strstr(error.text, "is not a store"));
	CHECK_EQ(unlink(in_folder("store")), 0);
	CHECK_EQ(symlink("elsewhere", in_folder("store")), 0);
	CHECK(store_open_writer(in_folder("store"), &store, &error) < 0);
	leave_folder();
}

TEST(a_later_version_is_not_touched)
{
	struct store *store;
	struct error error = {0};

	enter_folder();
	store = open_writer();
	store_close(store);
	change("PRAGMA user_version = 99");
	CHECK_EQ(store_open_writer(in_folder("store"), &store, &error), -EPROTO);
	CHECK(strstr(error.text, "was written by a later version"));
	CHECK_EQ(store_open_reader(in_folder("store"), NULL, NULL, &store, &error), -EPROTO);
	CHECK(strstr(error.text, "was written by a later version"));
	leave_folder();
}

TEST(an_earlier_version_is_not_read)
{
	struct store *store;
	struct error error = {0};

	enter_folder();
	store_close(open_writer());
	change("PRAGMA user_version = 0");
	CHECK_EQ(store_open_reader(in_folder("store"), NULL, NULL, &store, &error), -EPROTO);
	CHECK(strstr(error.text, "was written by an earlier version"));
	leave_folder();
}

/* A store of this version, for which later ones have more steps. */
TEST(an_earlier_version_is_brought_up_to_date)
{
	static const char *const steps[] = {
		"this was done long ago",
		"and so was this",
		"and this",
		"ALTER TABLE block ADD COLUMN host INTEGER NOT NULL DEFAULT 7; CREATE TABLE host "
		"(id)",
		"INSERT INTO host SELECT max(host) FROM block",
	};
	static const char *const broken[] = {steps[0], steps[1], steps[2],
					     "DROP TABLE stack; CREATE TABLE host (id)",
					     "this is no SQL"};
	struct store *store;
	struct error error = {0};

	enter_folder();
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main;f 1\n");
	CHECK_EQ(count_rows("pragma_user_version WHERE user_version = 3"), 1);
	CHECK(store_migrate(store, broken, ARRAY_SIZE(broken), &error) < 0);
	CHECK(strstr(error.text, "cannot update store"));
	CHECK_EQ(count_rows("pragma_user_version WHERE user_version = 3"), 1);
	CHECK_EQ(count_rows("stack"), 1);
	CHECK_EQ(store_migrate(store, steps, ARRAY_SIZE(steps), &error), 0);
	CHECK_EQ(count_rows("pragma_user_version WHERE user_version = 5"), 1);
	CHECK_EQ(count_rows("host WHERE id = 7"), 1);
	CHECK_EQ(store_migrate(store, steps, ARRAY_SIZE(steps), &error), 0);
	CHECK_EQ(count_rows("host"), 1);
	append(store, BEGIN + MINUTE, SECOND, "a;main;f 2\n");
	(void)check_answer(store, BEGIN, BEGIN + HOUR, NULL, "a;main;f 3\n");
	store_close(store);
	leave_folder();
}

/* A store of the version before epochs were stored without names. */
TEST(a_store_of_the_first_version_is_brought_up_to_date)
{
	struct store *store;

	enter_folder();
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main;f 1\n");
	store_close(store);
	change("DROP TABLE unnamed; PRAGMA user_version = 1");
	store = open_writer();
	append_unnamed(store, 1, BEGIN + SECOND, "a;main;f 2\n");
	(void)check_answer(store, BEGIN, BEGIN + HOUR, NULL, "a;main;f 3\n");
	store_close(store);
	leave_folder();
}

/* A store of the version before epochs without names had a length of their own. */
TEST(a_store_of_the_second_version_is_brought_up_to_date)
{
	struct store_answer answer;
	struct store *store;

	enter_folder();
	store = open_writer();
	append_unnamed(store, 1, BEGIN, "a;main;f 1\n");
	store_close(store);
	change("ALTER TABLE unnamed DROP COLUMN measured_ns; PRAGMA user_version = 2");
	store = open_writer();
	append_unnamed(store, 2, BEGIN + 10 * SECOND, "a;main;f 2\n");
	answer = check_answer(store, BEGIN, BEGIN + HOUR, NULL, "a;main;f 3\n");
	CHECK_EQ(answer.measured_ns, 20 * SECOND);
	store_close(store);
	leave_folder();
}

/* In an epoch of ten seconds the host slept for an hour, in another its clock was set back: 20 s were measured. */
TEST(an_epoch_has_the_length_that_was_measured)
{
	struct store_epoch epoch = {BEGIN,	BEGIN + HOUR, .period_ns = 10,
				    .first = 1, .last = 1,    .measured_ns = 10 * SECOND};
	struct profile *profile = make_profile("a;main;f 1\n");
	struct store_answer answer;
	struct store *store;
	uint64_t nr;

	enter_folder();
	store = open_writer();
	CHECK_EQ(store_append(store, &epoch, profile, NULL), 0);
	epoch.first = epoch.last = 2;
	epoch.start_ns = BEGIN + HOUR;
	epoch.end_ns = BEGIN + HOUR - MINUTE;
	CHECK_EQ(store_append_unnamed(store, &epoch, profile, NULL), 0);
	answer = check_answer(store, BEGIN, BEGIN + 2 * HOUR, NULL, "a;main;f 2\n");
	CHECK_EQ(answer.measured_ns, 20 * SECOND);
	CHECK_EQ(store_settle(store, &nr, NULL), 0);
	CHECK_EQ(nr, 1);
	answer = check_answer(store, BEGIN, BEGIN + 2 * HOUR, NULL, "a;main;f 2\n");
	CHECK_EQ(answer.measured_ns, 20 * SECOND);
	store_close(store);
	profile_free(profile);
	leave_folder();
}

/* The writer is killed at any moment: what was reported as appended is there, and nothing half. */
TEST(a_killed_writer_loses_nothing_that_it_reported)
{
	unsigned round, seed = 1;
	uint64_t reported = 0;

	enter_folder();
	store_close(open_writer());
	for (round = 0; round < 15; round++) {
		int pipes[2], status;
		uint64_t last = reported;
		struct store *store;
		pid_t pid;

		CHECK_EQ(pipe(pipes), 0);
		pid = fork();
		if (!pid) {
			uint64_t i;

			store = open_writer();
			for (i = reported; i < 100000; i++) {
				append(store, BEGIN + i * 7 * SECOND, 7 * SECOND,
				       "a;main;f 1\nb;x 1\n");
				CHECK_EQ(write(pipes[1], &i, sizeof(i)), sizeof(i));
			}
			_exit(0);
		}
		(void)close(pipes[1]);
		seed = seed * 1103515245 + 12345;
		CHECK_EQ(read(pipes[0], &last, sizeof(last)), sizeof(last));
		(void)usleep(seed / 65536 % 30000);
		(void)kill(pid, SIGKILL);
		while (read(pipes[0], &last, sizeof(last)) == sizeof(last))
			;
		(void)close(pipes[0]);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		store = open_writer();
		CHECK(extent_of(store).nr_epochs >= last + 1 &&
		      extent_of(store).nr_epochs <= last + 2);
		reported = extent_of(store).nr_epochs;
		store_close(store);
	}
	leave_folder();
}

TEST(a_full_disk_is_told_and_recovers)
{
	struct rlimit limit, whole;
	struct store *store;
	uint64_t nr = 0, kept;
	char line[64];
	int result = 0;

	enter_folder();
	store = open_writer();
	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &whole), 0);
	limit = whole;
	limit.rlim_cur = 300000;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	while (!result && nr < 100000) {
		(void)snprintf(line, sizeof(line), "a;main;f%d 1\n", (int)nr);
		result = try_append(store, BEGIN + nr * SECOND, SECOND, line);
		nr += !result;
	}
	CHECK(result == -ENOSPC || result == -EIO);
	kept = extent_of(store).nr_epochs;
	CHECK_EQ(kept, nr);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &whole), 0);
	append(store, BEGIN + nr * SECOND, SECOND, "a;main 1\n");
	CHECK_EQ(extent_of(store).nr_epochs, nr + 1);
	store_close(store);
	leave_folder();
}

/* Any damage is an error or goes unnoticed; it is no crash. */
TEST(a_damaged_store_is_told)
{
	static uint8_t whole[1 << 20], bytes[1 << 20];
	unsigned round, seed = 7, nr_told = 0;
	struct store *store;
	char aside[256];
	FILE *in;
	size_t nr;

	enter_folder();
	store = open_writer();
	for (round = 0; round < 70; round++)
		append(store, BEGIN + round * 40 * SECOND, 40 * SECOND,
		       "a;main;libc.so!read;sys_[k] 1\nb;main;f{/x.c:3};g_[i] 2\n");
	store_close(store);
	in = fopen(in_folder("store"), "r");
	nr = fread(whole, 1, sizeof(whole), in);
	(void)fclose(in);
	CHECK(nr > 8192 && nr < sizeof(whole));
	for (round = 0; round < 60; round++) {
		struct store_query query = {.from_ns = BEGIN, .to_ns = BEGIN + HOUR};
		struct store_limits limits = {.epochs_ns = MINUTE, .bytes = 1};
		struct store_answer answer;
		struct profile *profile;
		int result, k;

		memcpy(bytes, whole, nr);
		for (k = 0; k < 40; k++) {
			seed = seed * 1103515245 + 12345;
			bytes[100 + (seed >> 8) % (nr - 100)] ^= (uint8_t)(1U << seed % 8);
		}
		write_file(in_folder("store"), bytes, round % 4 ? nr : nr / 2);
		(void)unlink(in_folder("store-wal"));
		result = store_open_writer(in_folder("store"), &store, NULL);
		if (!result) {
			if (!store_query(store, &query, &profile, &answer, NULL))
				profile_free(profile);
			else
				nr_told++;
			(void)try_append(store, BEGIN + 2 * HOUR, SECOND, "a;main 1\n");
			(void)store_expire(store, &limits, BEGIN + 3 * HOUR, NULL);
			store_close(store);
		} else {
			nr_told++;
		}
	}
	CHECK(nr_told > 10);
	write_file(in_folder("store.damaged"), "older", 5);
	write_file(in_folder("store.damaged-wal"), "older", 5);
	CHECK_EQ(store_put_aside(in_folder("store"), aside, sizeof(aside)), 0);
	CHECK_STR(aside, in_folder("store.damaged"));
	CHECK(access(in_folder("store.damaged-wal"), F_OK) < 0);
	store = open_writer();
	append(store, BEGIN, SECOND, "a;main 1\n");
	store_close(store);
	write_file(in_folder("letter"), "Dear Sir or Madam", 17);
	CHECK_EQ(store_put_aside(in_folder("letter"), aside, sizeof(aside)), -EINVAL);
	CHECK_EQ(access(in_folder("letter"), F_OK), 0);
	leave_folder();
}

TEST(no_memory)
{
	struct profile *profile = make_profile("a;main;f 1\n"), *ret = NULL;
	struct store_epoch epoch = {BEGIN, BEGIN + SECOND, 0, 0, 1, 1};
	struct store_query query = {.to_ns = UINT64_MAX / 4};
	struct store_answer answer;
	struct store *store = NULL;
	uint64_t nr;
	size_t nth;
	int result = -ENOMEM;

	enter_folder();
	store_close(open_writer());
	for (nth = 1; result < 0 && nth < 5000; nth += 3) {
		(void)test_fail_allocation(nth);
		result = store_open_writer(in_folder("store"), &store, NULL);
		if (!result)
			result = store_append(store, &epoch, profile, NULL);
		if (!result)
			result = store_append_unnamed(store, &epoch, profile, NULL);
		if (!result)
			result = store_query(store, &query, &ret, &answer, NULL);
		if (!result)
			result = store_settle(store, &nr, NULL);
		if (result < 0) {
			profile_free(ret);
			ret = NULL;
		}
		(void)test_fail_allocation(0);
		store_close(store);
		store = NULL;
	}
	CHECK_EQ(result, 0);
	profile_free(ret);
	profile_free(profile);
	leave_folder();
}

/* --- conditions ------------------------------------------------------------------------------- */

static const char *label_of(void *context, const char *key)
{
	(void)context;
	return !strcmp(key, "comm")    ? "redis-server"
	       : !strcmp(key, "empty") ? ""
	       : !strcmp(key, "pid")   ? "12"
				       : NULL;
}

TEST(conditions)
{
	static const struct {
		const char *text;
		bool holds;
	} cases[] = {
		{"comm=redis-server", true},
		{"comm = redis-server", true},
		{"comm=redis", false},
		{"comm!=redis", true},
		{"comm~^redis", true},
		{"comm~x||comm~y", false},
		{"comm~x||comm~redis", true},
		{"comm~x|redis", true},
		{"comm~\"^(redis|valkey)-server$\"", true},
		{"comm!~redis", false},
		{"comm", true},
		{"!comm", false},
		{"empty || absent", false},
		{"absent=\"\"", true},
		{"absent!=x && pid=12", true},
		{"pid=13 || pid=12 && comm", true},
		{"(pid=13 || pid=12) && !comm", false},
		{"!(pid=13 && comm)", true},
		{"!!comm", true},
		{"comm!=\"a \\\" b\"", true},
	};
	static const char *const wrong[] = {
		"",	 "=",	    "comm=",   "comm~", "comm~(",   "(comm",
		"comm)", "comm &&", "|| comm", "a b",	"comm=\"x", "&",
	};
	struct error error;
	char deep[400];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_where *where = store_where_parse(cases[i].text, NULL);

		CHECK(where != NULL);
		if (store_where_matches(where, label_of, NULL) != cases[i].holds)
			CHECK_STR(cases[i].text, "");
		store_where_free(where);
	}
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		error = (struct error){0};
		CHECK(!store_where_parse(wrong[i], &error));
		CHECK_EQ(error.code, -EINVAL);
	}
	memset(deep, '(', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	CHECK(!store_where_parse(deep, &error));
	memset(deep, '!', sizeof(deep) - 1);
	CHECK(!store_where_parse(deep, &error));
}

TEST(a_query_can_ask_for_short_blocks)
{
	struct store_query query = {.from_ns = BEGIN, .to_ns = BEGIN + HOUR, .no_stacks = true};
	struct store_answer long_ones, short_ones;
	struct profile *profile = NULL, *again = NULL;
	struct store *store;
	uint64_t at;

	enter_folder();
	store = open_writer();
	for (at = 0; at < HOUR + 2 * MINUTE; at += 30 * SECOND)
		append(store, BEGIN + at, 30 * SECOND, "a;f 1\n");
	CHECK_EQ(store_query(store, &query, &profile, &long_ones, NULL), 0);
	query.most_ns = MINUTE;
	CHECK_EQ(store_query(store, &query, &again, &short_ones, NULL), 0);
	CHECK_EQ(long_ones.nr_blocks[2], 1);
	CHECK_EQ(short_ones.nr_blocks[2], 0);
	CHECK_EQ(short_ones.nr_blocks[1], 60);
	CHECK_EQ(profile_total(profile), profile_total(again));
	CHECK_EQ(extent_of(store).last_to_ns, BEGIN + HOUR + 2 * MINUTE);
	profile_free(profile);
	profile_free(again);
	/* Where the minutes are gone, the hour is the answer. */
	remove_before(store, SECOND, SECOND, 0, BEGIN + 2 * HOUR);
	CHECK_EQ(store_query(store, &query, &profile, &short_ones, NULL), 0);
	CHECK_EQ(short_ones.nr_blocks[2], 1);
	profile_free(profile);
	store_close(store);
	leave_folder();
}
