/*
 * For tests of format/pprof/pprof: profiles that use every feature, the files written from them,
 * and an encoder for files of other programs.
 */
#ifndef STOOK_TESTS_UNIT_PPROF_FIXTURE_H
#define STOOK_TESTS_UNIT_PPROF_FIXTURE_H

#include "base/protobuf.h"
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/gzip.h"
#include "format/pprof/pprof.h"
#include "format/pprof/pprof_fields.h"
#include "profile/profile.h"
#include "unit/folded_text.h"
#include "unit/make_profile.h"

#define ALL_LABELS                                                                                 \
	(LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU | LABEL_CGROUP | LABEL_PROBE | LABEL_SET | \
	 LABEL_SLICE)

struct file {
	uint8_t *bytes; /* uncompressed */
	size_t nr;
};

static inline struct file inflate_file(const char *packed, size_t nr)
{
	FILE *in = fmemopen((void *)packed, nr, "r");
	struct file file;

	CHECK_EQ(gzip_read(in, 1 << 24, &file.bytes, &file.nr), 0);
	(void)fclose(in);
	return file;
}

/* Returns the profile as an uncompressed pprof file; the caller frees its bytes. */
static inline struct file written(const struct profile *profile, struct format_options options)
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

static inline struct profile *parsed(const void *bytes, size_t nr, struct format_notes *notes)
{
	struct profile *profile = profile_new();
	struct error error = {0};
	int result = pprof_parse(test_guarded(bytes, nr), nr, profile, notes, &error);

	if (result < 0)
		fprintf(stderr, "  %s\n", error.text);
	CHECK_EQ(result, 0);
	return profile;
}

/* Without labels that only other programs have. */
static inline char *folded(const struct profile *profile)
{
	const struct format_options options = {.labels = ALL_LABELS & ~(unsigned)LABEL_SET,
					       .delimited = true,
					       .annotate = true,
					       .lines = true};

	return folded_text(profile, options);
}

/* Checks that writing, reading and writing again gives the same bytes. Frees the profile. */
static inline void check_round_trip(struct profile *profile)
{
	const struct format_options options = {.labels = ALL_LABELS};
	struct file file = written(profile, options), again;
	struct format_notes notes;
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

static inline struct profile *some_profile(void)
{
	static const char *const probes[] = {"", "malloc", "syscalls:sys_enter_read"};
	struct profile *profile = profile_new();
	struct profile_origin origin = {
		.period = 10101010, .time_ns = 1700000000000000000, .duration_ns = 1000000000};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct sample_labels labels = {.pid = (int32_t)i % 3, .cpu = (int32_t)i % 2};

		labels.tid = labels.pid + (int32_t)i % 2;
		labels.cgroup = (uint32_t)profile_add_string(profile, i % 2 ? "/x.slice" : "");
		labels.probe = (uint32_t)profile_add_string(profile, probes[i % 3]);
		(void)make_labelled(profile, labels, lines[i]);
	}
	origin.event = (uint32_t)profile_add_string(profile, "cycles");
	origin.unit = (uint32_t)profile_add_string(profile, "count");
	profile_set_origin(profile, &origin);
	return profile;
}

/* Labels with a label set and a time slice, both derived from the number. */
static inline struct sample_labels numbered(struct profile *profile, size_t number)
{
	struct set_label set[2] = {{.number = (int64_t)number % 3 - 1}};
	struct time_slice slice = {number % 4 * 100 + 5, number % 4 * 100 + 105};
	struct sample_labels labels = {0};

	set[0].key = (uint32_t)profile_add_string(profile, number % 2 ? "request" : "bytes");
	set[0].unit = (uint32_t)profile_add_string(profile, "units");
	set[1].key = (uint32_t)profile_add_string(profile, "trace");
	set[1].text = (uint32_t)profile_add_string(profile, number % 5 ? "a" : "b");
	labels.set = (uint32_t)profile_add_label_set(profile, set, 1 + number % 2);
	labels.slice = number % 6 ? (uint32_t)profile_add_slice(profile, &slice) : 0;
	return labels;
}

/* Adds another value to a sample. */
static inline void add_value(struct profile *profile, int64_t sample, const char *type,
			     const char *unit, uint64_t amount)
{
	struct value_type what = {.type = (uint32_t)profile_add_string(profile, type),
				  .unit = (uint32_t)profile_add_string(profile, unit)};
	int number = profile_add_value_type(profile, &what);

	CHECK(number > 0);
	CHECK_EQ(profile_add_value(profile, (uint32_t)sample, (size_t)number, amount), 0);
}

static inline void add_line(struct profile *profile, size_t number)
{
	int64_t sample = make_labelled(profile, numbered(profile, number), lines[number]);

	if (number % 2)
		add_value(profile, sample, "alloc", "bytes", 100 * number);
	else
		add_value(profile, sample, "faults", "count", number);
}

/* A profile with rarely written features: values, label sets, time slices, comments. */
static inline struct profile *rich_profile(void)
{
	struct profile *profile = profile_new();
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		add_line(profile, i);
	CHECK_EQ(profile_add_comment(profile, "taken on a rainy day"), 0);
	CHECK_EQ(profile_add_comment(profile, ""), 0);
	CHECK_EQ(profile_add_comment(profile, "samples"), 0);
	return profile;
}

static inline struct profile *reread(struct profile *profile, struct format_notes *notes)
{
	struct file file = written(profile, (struct format_options){.labels = ALL_LABELS});
	struct profile *read = parsed(file.bytes, file.nr, notes);

	free(file.bytes);
	profile_free(profile);
	return read;
}

static inline uint64_t total_of(const struct profile *profile, const char *type)
{
	int number = profile_find_value((struct profile *)profile, type);

	CHECK(number >= 0);
	return profile_value_total(profile, (size_t)number);
}

struct maker {
	struct protobuf_writer file, message, part;
};

static inline void put_message(struct maker *maker, uint32_t field)
{
	protobuf_message(&maker->file, field, &maker->message);
	protobuf_reset(&maker->message);
}

/* Writes fields of a message: number, value, …, terminated by 0. */
#define PUT(maker, field, ...) put(maker, field, (const uint64_t[]){__VA_ARGS__, 0})

static inline void put(struct maker *maker, uint32_t field, const uint64_t *fields)
{
	for (; *fields; fields += 2)
		protobuf_number(&maker->message, (uint32_t)fields[0], fields[1]);
	put_message(maker, field);
}

static inline void put_strings(struct maker *maker, const char *const *strings)
{
	for (; *strings; strings++)
		protobuf_text(&maker->file, PROFILE_STRING_TABLE, *strings);
}

static inline void put_location(struct maker *maker, uint64_t id, uint64_t mapping,
				uint64_t address, uint64_t function, uint64_t line)
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

static inline void maker_clear(struct maker *maker)
{
	protobuf_clear(&maker->file);
	protobuf_clear(&maker->message);
	protobuf_clear(&maker->part);
}

static inline void put_text_label(struct maker *maker, uint64_t key, uint64_t text)
{
	protobuf_number(&maker->part, LABEL_KEY, key);
	protobuf_number(&maker->part, LABEL_STR, text);
	protobuf_message(&maker->message, SAMPLE_LABEL, &maker->part);
	protobuf_reset(&maker->part);
}

static inline void put_number_label(struct maker *maker, uint64_t key, uint64_t number,
				    uint64_t unit)
{
	protobuf_number(&maker->part, LABEL_KEY, key);
	protobuf_number(&maker->part, LABEL_NUM, number);
	protobuf_number(&maker->part, LABEL_NUM_UNIT, unit);
	protobuf_message(&maker->message, SAMPLE_LABEL, &maker->part);
	protobuf_reset(&maker->part);
}

#endif
