/*
 * format/pprof: what is written is read again, byte for byte and line for line; other people's
 * profiles; what is broken is refused wherever it breaks.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/protobuf.h"
#include "format/folded.h"
#include "format/pprof.h"
#include "format/pprof_fields.h"
#include "unit/make_profile.h"

#define ALL_LABELS (LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU | LABEL_CGROUP)

struct file {
	uint8_t *bytes; /* inflated */
	size_t nr;
};

/* --- helpers -----------------------------------------------------------------------------------
 */

static struct file inflate_file(const char *packed, size_t nr)
{
	FILE *in = fmemopen((void *)packed, nr, "r");
	struct file file;

	CHECK_EQ(gzip_read(in, 1 << 24, &file.bytes, &file.nr), 0);
	(void)fclose(in);
	return file;
}

/* What is written, to be freed. */
static struct file written(const struct profile *profile, struct pprof_options options)
{
	char *packed = NULL;
	size_t nr;
	FILE *out = open_memstream(&packed, &nr);
	struct file file;

	CHECK_EQ(pprof_write(profile, &options, out), 0);
	(void)fclose(out);
	file = inflate_file(packed, nr);
	free(packed);
	return file;
}

static struct profile *parsed(const void *bytes, size_t nr, struct pprof_notes *notes)
{
	struct profile *profile = profile_new();
	struct error error = {0};
	int result = pprof_parse(test_guarded(bytes, nr), nr, profile, notes, &error);

	if (result < 0)
		fprintf(stderr, "  %s\n", error.text);
	CHECK_EQ(result, 0);
	return profile;
}

static char *folded(const struct profile *profile)
{
	const struct folded_options options = {
		.labels = ALL_LABELS, .delimited = true, .annotate = true};
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(folded_write(profile, &options, out), 0);
	(void)fclose(out);
	return text;
}

/* Written, read, and written again: the same. Takes the profile. */
static void check_round_trip(struct profile *profile)
{
	const struct pprof_options options = {.labels = ALL_LABELS};
	struct file file = written(profile, options), again;
	struct pprof_notes notes;
	struct profile *read = parsed(file.bytes, file.nr, &notes);
	char *lines = folded(profile), *lines_read = folded(read);

	CHECK_EQ(notes.dropped_labels, 0);
	CHECK_EQ(notes.dropped_samples, 0);
	CHECK_STR(lines_read, lines);
	again = written(read, options);
	CHECK_EQ(again.nr, file.nr);
	CHECK(!memcmp(again.bytes, file.bytes, file.nr));
	free(lines);
	free(lines_read);
	free(file.bytes);
	free(again.bytes);
	profile_free(read);
	profile_free(profile);
}

static const char *const lines[] = {
	"redis;_start;libc.so.6!__libc_start_main;main;read;sys_read_[k];vfs_read_[k] 377",
	"redis;_start;libc.so.6!__libc_start_main;main;call;dictFind{/src/dict.c:12} 412",
	"redis;_start;main;call{/src/a.c:1};get_[i];find{/src/b.h:3}_[i] 5",
	"redis;_start;main;call;get_[i] 6",
	"java;Interpreter_[j];loop_[j];hot_[i] 54",
	"java;~old.so!;main 7",
	"java;~old.so!named;main 8",
	"java;! 17",
	"java;libx.so!;libx.so!@1;libx.so!@2 3",
	"my app;[missed] 12",
	"my app;[missed];sys_[k];inner_[k];inlined_[i] 13",
	"my app;main;[missed] 14",
	"my app;[missed];[missed] 15",
	"my app 16",
	";main{/src/Größe.c:3} 1",
};

static struct profile *some_profile(void)
{
	struct profile *profile = profile_new();
	struct profile_origin origin = {
		.period = 10101010, .time_ns = 1700000000000000000, .duration_ns = 1000000000};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct sample_labels labels = {.pid = (int32_t)i % 3, .cpu = (int32_t)i % 2};

		labels.tid = labels.pid + (int32_t)i % 2;
		labels.cgroup = (uint32_t)profile_add_string(profile, i % 2 ? "/x.slice" : "");
		(void)make_labelled(profile, labels, lines[i]);
	}
	origin.event = (uint32_t)profile_add_string(profile, "cycles");
	origin.unit = (uint32_t)profile_add_string(profile, "count");
	profile_set_origin(profile, &origin);
	return profile;
}

/* --- round trips -------------------------------------------------------------------------------
 */

TEST(pprof_round_trip)
{
	check_round_trip(some_profile());
	check_round_trip(profile_new());
}

TEST(pprof_origin_survives)
{
	struct profile *profile = some_profile(), *read;
	struct file file = written(profile, (struct pprof_options){.labels = LABEL_COMM});
	const struct profile_origin *origin;
	struct pprof_notes notes;

	read = parsed(file.bytes, file.nr, &notes);
	origin = profile_origin(read);
	CHECK_STR(profile_string(read, origin->event), "cycles");
	CHECK_STR(profile_string(read, origin->unit), "count");
	CHECK_EQ(origin->period, 10101010);
	CHECK_EQ(origin->time_ns, 1700000000000000000);
	CHECK_EQ(origin->duration_ns, 1000000000);
	CHECK_EQ(notes.labels, LABEL_COMM);
	CHECK_EQ(profile_total(read), profile_total(profile));
	free(file.bytes);
	profile_free(read);
	profile_free(profile);
}

/* Sums are no samples, and are written as what they are. */
TEST(pprof_sums_survive)
{
	struct profile *profile = some_profile(), *read;
	struct profile_origin origin = *profile_origin(profile);
	struct pprof_notes notes;
	struct file file;

	origin.event = (uint32_t)profile_add_string(profile, "arg1");
	origin.period = 1;
	origin.is_sum = true;
	profile_set_origin(profile, &origin);
	file = written(profile, (struct pprof_options){.labels = LABEL_COMM});
	read = parsed(file.bytes, file.nr, &notes);
	CHECK(profile_origin(read)->is_sum);
	CHECK_STR(profile_string(read, profile_origin(read)->event), "arg1");
	CHECK_EQ(profile_total(read), profile_total(profile));
	free(file.bytes);
	profile_free(read);
	check_round_trip(profile);
}

/* Numbers that the profile gave depend on what came first; what is written does not. */
TEST(pprof_same_profile_same_bytes)
{
	const struct pprof_options options = {.labels = LABEL_COMM};
	struct profile *one = profile_new(), *other = profile_new();
	size_t nr = sizeof(lines) / sizeof(lines[0]), i;
	struct file file, again;

	for (i = 0; i < nr; i++) {
		(void)make_sample(one, lines[i]);
		(void)make_sample(other, lines[nr - 1 - i]);
	}
	file = written(one, options);
	again = written(other, options);
	CHECK_EQ(file.nr, again.nr);
	CHECK(!memcmp(file.bytes, again.bytes, file.nr));
	free(file.bytes);
	free(again.bytes);
	profile_free(one);
	profile_free(other);
}

static uint32_t file_module(struct profile *profile, const char *path, uint32_t file,
			    const struct module_code *code)
{
	struct module module = {.kind = MODULE_FILE, .file = file};
	int64_t number;

	module.name = (uint32_t)profile_add_string(profile, path);
	number = profile_add_module(profile, &module);
	CHECK_EQ(profile_set_code(profile, (uint32_t)number, code), 0);
	return (uint32_t)number;
}

static uint32_t add_frame(struct profile *profile, uint32_t module, uint64_t address,
			  const char *name)
{
	int64_t frame = profile_add_frame(profile, FRAME_USER, module, address);

	CHECK(frame >= 0);
	if (name)
		CHECK_EQ(profile_set_function(profile, (uint32_t)frame, name), 0);
	return (uint32_t)frame;
}

static void add_sample(struct profile *profile, const uint32_t *frames, size_t nr, uint8_t end)
{
	const struct sample_labels labels = {.user_end = end};

	CHECK(profile_add_sample(profile, &labels, frames, nr, 0, 3) >= 0);
}

static const struct module_code two_segments = {
	.build_id = {0xab, 0xcd, 0x01},
	.build_id_bytes = 3,
	.nr_segments = 2,
	.segments = {{0x1000, 0x401000, 0x2000}, {0x8000, 0x608000, 0x100}},
};

TEST(pprof_segments_and_build_id)
{
	struct profile *profile = profile_new(), *read;
	uint32_t module = file_module(profile, "/bin/x", 0, &two_segments);
	uint32_t frames[4] = {
		add_frame(profile, module, 0x1234, "f"), add_frame(profile, module, 0x8010, "g"),
		add_frame(profile, module, 0x9000, "outside"), add_frame(profile, module, 0, NULL)};
	const struct module_code *code;
	struct pprof_notes notes;
	struct file file;

	add_sample(profile, frames, 4, WALK_COMPLETE);
	file = written(profile, (struct pprof_options){0});
	read = parsed(file.bytes, file.nr, &notes);
	code = profile_code(read, profile_frame(read, 0)->module);
	CHECK(code != NULL);
	CHECK(!memcmp(code, &two_segments, sizeof(*code)));
	CHECK_EQ(profile_frame(read, 0)->address, 0x1234);
	CHECK_EQ(profile_frame(read, 1)->address, 0x8010);
	CHECK_EQ(profile_frame(read, 2)->address, 0x9000);
	free(file.bytes);
	profile_free(read);
	check_round_trip(profile);
}

/* What pprof cannot tell apart by its mapping: a file replaced by another of the same name. */
TEST(pprof_two_functions_at_one_address)
{
	struct profile *profile = profile_new();
	const struct module_code none = {0};
	struct module jit = {.kind = MODULE_RUN_TIME};
	uint32_t frames[40], i;

	for (i = 0; i < 20; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "f%u", i);
		frames[i] =
			add_frame(profile, file_module(profile, "/bin/x", i, &none), 0x10, name);
		jit.file = i + 1;
		frames[20 + i] = add_frame(profile, (uint32_t)profile_add_module(profile, &jit),
					   0x7000, name);
	}
	for (i = 0; i < 40; i++)
		if (i % 20 < 15)
			add_sample(profile, frames + i, 1, WALK_COMPLETE);
	check_round_trip(profile);
}

TEST(pprof_ends_survive)
{
	struct profile *profile = profile_new();
	uint32_t frame = add_frame(profile, MODULE_NR_UNKNOWN, 0x10, NULL);
	uint8_t end;

	for (end = 0; end < NR_WALK_ENDS; end++) {
		add_sample(profile, &frame, 1, end);
		add_sample(profile, &frame, 0, end);
	}
	CHECK_EQ(profile_nr_samples(profile), 2 * NR_WALK_ENDS);
	check_round_trip(profile);
}

TEST(pprof_names_that_look_like_missed_stacks)
{
	static const uint8_t ends[] = {WALK_COMPLETE, WALK_UNWOUND, WALK_MISSED};
	struct profile *profile = profile_new();
	uint32_t user = add_frame(profile, MODULE_NR_UNKNOWN, 0, PPROF_MISSED_USER);
	uint32_t kernel =
		add_frame(profile, MODULE_NR_UNKNOWN, UINT64_MAX - 5, PPROF_MISSED_KERNEL);
	uint32_t stacks[][3] = {{user, user, kernel}, {kernel, user, user}, {kernel, kernel, user}};
	size_t i, k, nr;

	for (i = 0; i < sizeof(ends); i++)
		for (k = 0; k < 3; k++)
			for (nr = 1; nr <= 3; nr++)
				add_sample(profile, stacks[k], nr, ends[i]);
	check_round_trip(profile);
}

TEST(pprof_labels_not_asked_for_are_added_up)
{
	struct profile *profile = profile_new(), *read;
	struct pprof_notes notes;
	struct file file;

	(void)make_labelled(profile, (struct sample_labels){.pid = 1}, "a;main 1");
	(void)make_labelled(profile, (struct sample_labels){.pid = 2}, "b;main 2");
	file = written(profile, (struct pprof_options){.labels = LABEL_CPU});
	read = parsed(file.bytes, file.nr, &notes);
	CHECK_EQ(profile_nr_samples(read), 1);
	CHECK_EQ(profile_total(read), 3);
	CHECK_EQ(notes.labels, LABEL_CPU); /* CPU 0 is one */
	free(file.bytes);
	profile_free(read);
	profile_free(profile);
}

/* --- others' profiles --------------------------------------------------------------------------
 */

struct maker {
	struct protobuf_writer file, message, part;
};

static void put_message(struct maker *maker, uint32_t field)
{
	protobuf_message(&maker->file, field, &maker->message);
	protobuf_reset(&maker->message);
}

/* Fields of a message: number, value, …, 0. */
#define PUT(maker, field, ...) put(maker, field, (const uint64_t[]){__VA_ARGS__, 0})

static void put(struct maker *maker, uint32_t field, const uint64_t *fields)
{
	for (; *fields; fields += 2)
		protobuf_number(&maker->message, (uint32_t)fields[0], fields[1]);
	put_message(maker, field);
}

static void put_strings(struct maker *maker, const char *const *strings)
{
	for (; *strings; strings++)
		protobuf_text(&maker->file, PROFILE_STRING_TABLE, *strings);
}

static void put_location(struct maker *maker, uint64_t id, uint64_t mapping, uint64_t address,
			 uint64_t function, uint64_t line)
{
	protobuf_number(&maker->message, LOCATION_ID, id);
	protobuf_number(&maker->message, LOCATION_MAPPING_ID, mapping);
	protobuf_number(&maker->message, LOCATION_ADDRESS, address);
	if (function) {
		protobuf_number(&maker->part, LINE_FUNCTION_ID, function);
		protobuf_number(&maker->part, LINE_LINE, line);
		protobuf_message(&maker->message, LOCATION_LINE, &maker->part);
		protobuf_reset(&maker->part);
	}
	put_message(maker, PROFILE_LOCATION);
}

static void maker_clear(struct maker *maker)
{
	protobuf_clear(&maker->file);
	protobuf_clear(&maker->message);
	protobuf_clear(&maker->part);
}

static void check_folded(struct maker *maker, const char *wanted, struct pprof_notes *notes)
{
	struct profile *profile = parsed(maker->file.bytes, maker->file.nr, notes);
	char *text = folded(profile);

	CHECK_STR(strchr(text, ';') ? text : "", wanted);
	free(text);
	check_round_trip(profile);
	maker_clear(maker);
}

/* As Go writes one: no default type, ids that are sparse, numbers not packed, strings last. */
TEST(pprof_of_go)
{
	static const char *const strings[] = {"",     "samples", "count", "cpu",      "nanoseconds",
					      "main", "/app.go", "work",  "/bin/app", NULL};
	struct maker maker = {0};
	struct pprof_notes notes;

	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1, 2, 2);
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 3, 2, 4);
	PUT(&maker, PROFILE_SAMPLE, 1, 900, 1, 7, 2, 5, 2, 50000000);
	PUT(&maker, PROFILE_MAPPING, 1, 12, 2, 0x400000, 3, 0x500000, 5, 8, 7, 1);
	PUT(&maker, PROFILE_MAPPING, 1, 13, 2, 0x600000, 3, 0x700000, 4, 0x200000, 5, 8);
	put_location(&maker, 7, 12, 0x401000, 1ULL << 40, 10);
	put_location(&maker, 900, 13, 0x601000, 3, 0);
	PUT(&maker, PROFILE_FUNCTION, 1, 1ULL << 40, 2, 5, 4, 6);
	PUT(&maker, PROFILE_FUNCTION, 1, 3, 2, 7);
	PUT(&maker, PROFILE_PERIOD_TYPE, 1, 3, 2, 4);
	protobuf_number(&maker.file, PROFILE_PERIOD, 10000000);
	put_strings(&maker, strings);
	check_folded(&maker, "[unknown]-0/0;cgroup [unknown];cpu 0;main app.go:10;work 5\n",
		     &notes);
	CHECK_EQ(notes.labels, 0);
}

/* Names alone, as script languages have them, one value, labels of their own. */
TEST(pprof_of_names)
{
	static const char *const strings[] = {"",     "wall", "nanoseconds", "main", "work",
					      "span", "x",    "thread name", "T 1",  NULL};
	struct maker maker = {0};
	struct pprof_notes notes;
	int i;

	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1, 2, 2);
	for (i = 0; i < 3; i++) {
		protobuf_number(&maker.message, SAMPLE_LOCATION_ID, 2);
		protobuf_number(&maker.message, SAMPLE_LOCATION_ID, 1);
		protobuf_number(&maker.message, SAMPLE_VALUE, i ? 100 : (uint64_t)-5);
		protobuf_number(&maker.part, LABEL_KEY, i == 1 ? 5 : 7);
		protobuf_number(&maker.part, LABEL_STR, i == 1 ? 6 : 8);
		protobuf_message(&maker.message, SAMPLE_LABEL, &maker.part);
		protobuf_reset(&maker.part);
		put_message(&maker, PROFILE_SAMPLE);
	}
	put_location(&maker, 1, 0, 0, 1, 0);
	put_location(&maker, 2, 0, 0, 2, 0);
	PUT(&maker, PROFILE_FUNCTION, 1, 1, 2, 3);
	PUT(&maker, PROFILE_FUNCTION, 1, 2, 2, 4);
	put_strings(&maker, strings);
	check_folded(&maker,
		     "T 1-0/0;cgroup [unknown];cpu 0;main;work 100\n"
		     "[unknown]-0/0;cgroup [unknown];cpu 0;main;work 100\n",
		     &notes);
	CHECK_EQ(notes.labels, LABEL_COMM);
	CHECK_EQ(notes.dropped_labels, 1);
	CHECK_EQ(notes.dropped_samples, 1);
}

/* The kernel as perf_to_profile names it, a module of it, and a value that is the default one. */
TEST(pprof_of_perf)
{
	static const char *const strings[] = {"",
					      "cycles_sample",
					      "count",
					      "cycles_event",
					      "comm",
					      "bash",
					      "[kernel.kallsyms]_stext",
					      "/lib/modules/6.1/x.ko",
					      "[vdso]",
					      NULL};
	struct maker maker = {0};
	struct pprof_notes notes;

	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1, 2, 2);
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 3, 2, 2);
	protobuf_number(&maker.file, PROFILE_DEFAULT_SAMPLE_TYPE, 1);
	protobuf_number(&maker.part, LABEL_KEY, 4);
	protobuf_number(&maker.part, LABEL_STR, 5);
	protobuf_message(&maker.message, SAMPLE_LABEL, &maker.part);
	PUT(&maker, PROFILE_SAMPLE, 1, 1, 1, 2, 1, 3, 2, 4, 2, 4000);
	PUT(&maker, PROFILE_MAPPING, 1, 1, 2, 0xffffffff81000000, 3, 0xffffffff82000000, 5, 6);
	PUT(&maker, PROFILE_MAPPING, 1, 2, 2, 0xffffffffc0000000, 3, 0xffffffffc1000000, 5, 7);
	PUT(&maker, PROFILE_MAPPING, 1, 3, 2, 0x7fff00000000, 3, 0x7fff00001000, 5, 8);
	put_location(&maker, 1, 2, 0xffffffffc0000010, 0, 0);
	put_location(&maker, 2, 1, 0xffffffff81000010, 0, 0);
	put_location(&maker, 3, 3, 0x7fff00000123, 0, 0);
	put_strings(&maker, strings);
	check_folded(&maker,
		     "bash-0/0;cgroup [unknown];cpu 0;[unknown];-;[unknown]_[k];[unknown]_[k] 4\n",
		     &notes);
}

/* --- what is broken ----------------------------------------------------------------------------
 */

static int try_parse(const void *bytes, size_t nr)
{
	struct profile *profile = profile_new();
	struct pprof_notes notes;
	struct error error = {0};
	int result = pprof_parse(bytes, nr, profile, &notes, &error);

	CHECK_EQ(error.code, result);
	profile_free(profile);
	return result;
}

/* A file without its last strings is a file with fewer strings: one that is used must be gone. */
TEST(pprof_cut_off_anywhere)
{
	struct profile *profile = some_profile();
	struct file file = written(profile, (struct pprof_options){.labels = ALL_LABELS});
	size_t i;

	for (i = 0; i < file.nr; i++)
		CHECK_EQ(try_parse(test_guarded(file.bytes, i), i), -EBADMSG);
	CHECK_EQ(try_parse(file.bytes, file.nr), 0);
	free(file.bytes);
	profile_free(profile);
}

/* Any byte may be anything: an answer, and no crash. */
TEST(pprof_every_byte_wrong)
{
	static const uint8_t wrong[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct profile *profile = some_profile();
	struct file file = written(profile, (struct pprof_options){.labels = ALL_LABELS});
	size_t i, k;

	for (i = 0; i < file.nr; i++)
		for (k = 0; k < sizeof(wrong); k++) {
			uint8_t was = file.bytes[i];
			int result;

			file.bytes[i] = wrong[k];
			result = try_parse(file.bytes, file.nr);
			CHECK(result == 0 || result == -EBADMSG);
			file.bytes[i] = was;
		}
	free(file.bytes);
	profile_free(profile);
}

static void check_refused(struct maker *maker)
{
	CHECK_EQ(try_parse(maker->file.bytes, maker->file.nr), -EBADMSG);
	maker_clear(maker);
}

TEST(pprof_refuses_what_refers_to_nothing)
{
	static const char *const strings[] = {"", "samples", NULL};
	static const char *const no_empty[] = {"samples", "x", NULL};
	struct maker maker = {0};

	put_strings(&maker, no_empty);
	check_refused(&maker);
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 9);
	put_strings(&maker, strings);
	check_refused(&maker);
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	PUT(&maker, PROFILE_SAMPLE, 1, 5, 2, 1);
	put_strings(&maker, strings);
	check_refused(&maker); /* a location */
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	PUT(&maker, PROFILE_SAMPLE, 1, 5, 2, 1);
	put_location(&maker, 5, 6, 1, 0, 0);
	put_strings(&maker, strings);
	check_refused(&maker); /* a mapping */
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	PUT(&maker, PROFILE_SAMPLE, 1, 5, 2, 1);
	put_location(&maker, 5, 0, 1, 77, 0);
	put_strings(&maker, strings);
	check_refused(&maker); /* a function */
	PUT(&maker, PROFILE_FUNCTION, 1, 1, 2, 2);
	put_strings(&maker, strings);
	check_refused(&maker); /* a name */
}

TEST(pprof_refuses_what_makes_no_sense)
{
	static const char *const strings[] = {"", "samples", NULL};
	struct maker maker = {0};
	int i;

	PUT(&maker, PROFILE_FUNCTION, 2, 1);
	put_strings(&maker, strings);
	check_refused(&maker); /* no id */
	PUT(&maker, PROFILE_FUNCTION, 1, 1);
	PUT(&maker, PROFILE_FUNCTION, 1, 1);
	put_strings(&maker, strings);
	check_refused(&maker); /* twice */
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	PUT(&maker, PROFILE_SAMPLE, 2, 1, 2, 1);
	put_strings(&maker, strings);
	check_refused(&maker); /* too many values */
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	PUT(&maker, PROFILE_SAMPLE, 2, INT64_MAX);
	PUT(&maker, PROFILE_SAMPLE, 2, 1);
	put_strings(&maker, strings);
	check_refused(&maker); /* too large together */
	for (i = 0; i < 65; i++)
		PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	put_strings(&maker, strings);
	check_refused(&maker);
}

TEST(pprof_stacks_that_are_too_long_lose_their_root)
{
	static const char *const strings[] = {"", "samples", NULL};
	struct maker maker = {0};
	struct pprof_notes notes;
	struct profile *profile;
	int i;

	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	for (i = 0; i < 70000; i++)
		protobuf_number(&maker.message, SAMPLE_LOCATION_ID, 1);
	PUT(&maker, PROFILE_SAMPLE, 2, 1);
	put_location(&maker, 1, 0, 5, 0, 0);
	put_strings(&maker, strings);
	profile = parsed(maker.file.bytes, maker.file.nr, &notes);
	CHECK_EQ(profile_sample(profile, 0)->nr_frames, UINT16_MAX);
	CHECK_EQ(profile_sample(profile, 0)->labels.user_end, WALK_TRUNCATED);
	maker_clear(&maker);
	profile_free(profile);
}

/* --- failures ----------------------------------------------------------------------------------
 */

TEST(pprof_write_without_memory)
{
	const struct pprof_options options = {.labels = ALL_LABELS};
	struct profile *profile = some_profile();
	FILE *out = fopen("/dev/null", "w");
	size_t nth = 1;
	int result;

	do {
		(void)test_fail_allocation(nth++);
		result = pprof_write(profile, &options, out);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
	} while (result < 0);
	CHECK(nth > 20);
	(void)fclose(out);
	profile_free(profile);
}

TEST(pprof_read_without_memory)
{
	struct profile *profile = some_profile();
	struct file file = written(profile, (struct pprof_options){.labels = ALL_LABELS});
	size_t nth = 1;
	int result;

	do {
		struct profile *read = profile_new();
		struct pprof_notes notes;
		FILE *in = fmemopen(file.bytes, file.nr, "r");

		(void)test_fail_allocation(nth++);
		result = pprof_read(in, read, &notes, NULL);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
		(void)fclose(in);
		profile_free(read);
	} while (result < 0);
	CHECK(nth > 20);
	free(file.bytes);
	profile_free(profile);
}

TEST(pprof_tells_when_it_cannot_write)
{
	struct profile *profile = some_profile();
	const struct pprof_options options = {.labels = LABEL_COMM};
	FILE *full = fopen("/dev/full", "w");

	if (!full)
		SKIP("needs /dev/full");
	CHECK_EQ(pprof_write(profile, &options, full), -ENOSPC);
	(void)fclose(full);
	profile_free(profile);
}

TEST(pprof_says_what_is_wrong_with_a_file)
{
	struct profile *profile = profile_new();
	struct pprof_notes notes;
	struct error error = {0};
	FILE *in = fmemopen((void *)"\x1f\x8b\x08 no", 6, "r");

	CHECK_EQ(pprof_read(in, profile, &notes, &error), -EBADMSG);
	CHECK_STR(error.text, "the compressed profile is damaged or cut off");
	(void)fclose(in);
	in = fmemopen((void *)"main;work 5\n", 12, "r");
	CHECK_EQ(pprof_read(in, profile, &notes, &error), -EBADMSG);
	CHECK(strstr(error.text, "not a sound pprof profile"));
	(void)fclose(in);
	profile_free(profile);
}
