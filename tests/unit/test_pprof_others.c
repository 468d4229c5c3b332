/*
 * format/pprof/pprof: profiles of other programs; malformed ones are refused at any point.
 */
#include "unit/test.h"

#include <errno.h>

#include "unit/pprof_fixture.h"

/* --- profiles of other programs --------------------------------------------------------------- */

static void check_folded(struct maker *maker, const char *wanted, struct format_notes *notes)
{
	struct profile *profile = parsed(maker->file.bytes, maker->file.nr, notes);
	char *text = folded(profile);

	CHECK_STR(strchr(text, ';') ? text : "", wanted);
	free(text);
	check_round_trip(profile);
	maker_clear(maker);
}

/* As Go writes them: no default type, sparse ids, unpacked numbers, strings last. */
TEST(pprof_of_go)
{
	static const char *const strings[] = {"",     "samples", "count", "cpu",      "nanoseconds",
					      "main", "/app.go", "work",  "/bin/app", NULL};
	struct maker maker = {0};
	struct format_notes notes;

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
	check_folded(&maker,
		     "[unknown]-0/0;cgroup [unknown];probe [unknown];cpu 0;main app.go:10;work 5\n",
		     &notes);
	CHECK_EQ(notes.labels, 0);
}

/* Names only, as script languages have them; one value, custom labels. */
TEST(pprof_of_names)
{
	static const char *const strings[] = {"",     "wall", "nanoseconds", "main", "work",
					      "span", "x",    "thread name", "T 1",  NULL};
	struct maker maker = {0};
	struct format_notes notes;
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
		     "T 1-0/0;cgroup [unknown];probe [unknown];cpu 0;main;work 100\n"
		     "[unknown]-0/0;cgroup [unknown];probe [unknown];cpu 0;main;work 100\n",
		     &notes);
	CHECK_EQ(notes.labels, LABEL_COMM | LABEL_SET);
	CHECK_EQ(notes.dropped_labels, 0);
	CHECK_EQ(notes.dropped_samples, 1);
}

/* Labels without a counterpart in a profile stay in the label set; empty ones are dropped. */
TEST(pprof_labels_that_do_not_fit)
{
	static const char *const strings[] = {"",     "samples",     "pid",	  "thread",
					      "comm", "slice_start", "slice_end", "nanoseconds",
					      "T",    "P",	     NULL};
	struct set_label labels[LABEL_SET_MAX];
	struct maker maker = {0};
	struct format_notes notes;
	struct profile *profile;

	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	put_text_label(&maker, 4, 9);		    /* process name */
	put_text_label(&maker, 3, 8);		    /* thread name */
	put_text_label(&maker, 3, 9);		    /* another thread name */
	put_number_label(&maker, 2, 1ULL << 40, 0); /* not a pid */
	put_number_label(&maker, 5, 9, 7);	    /* slice start */
	put_number_label(&maker, 6, 8, 7);	    /* slice ends before its start */
	put_number_label(&maker, 9, 0, 0);
	PUT(&maker, PROFILE_SAMPLE, 2, 1);
	put_strings(&maker, strings);
	profile = parsed(maker.file.bytes, maker.file.nr, &notes);
	CHECK_EQ(notes.labels, LABEL_COMM | LABEL_SET);
	CHECK_EQ(notes.dropped_labels, 1);
	CHECK_STR(profile_string(profile, profile_sample(profile, 0)->labels.comm), "T");
	CHECK_EQ(profile_label_set(profile, profile_sample(profile, 0)->labels.set, labels), 5);
	CHECK_STR(profile_string(profile, labels[0].key), "comm");
	CHECK_STR(profile_string(profile, labels[1].text), "P");
	CHECK_EQ(labels[2].number, 1LL << 40);
	CHECK_STR(profile_string(profile, labels[3].unit), "nanoseconds");
	CHECK_STR(profile_string(profile, labels[4].key), "slice_end");
	check_round_trip(profile);
	maker_clear(&maker);
}

/* More labels than fit into a set. */
TEST(pprof_too_many_labels)
{
	static const char *const strings[] = {"", "samples", "x", "comm", NULL};
	struct maker maker = {0};
	struct format_notes notes;
	struct profile *profile;
	int i;

	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	for (i = 1; i < 70; i++)
		put_number_label(&maker, 2, (uint64_t)i, 0);
	put_text_label(&maker, 3, 2);
	PUT(&maker, PROFILE_SAMPLE, 2, 1);
	put_strings(&maker, strings);
	profile = parsed(maker.file.bytes, maker.file.nr, &notes);
	CHECK_EQ(notes.dropped_labels, 70 - LABEL_SET_MAX);
	check_round_trip(profile);
	maker_clear(&maker);
}

/* A heap profile of Go: four values, no default type, samples where the last one is 0. */
TEST(pprof_of_go_heap)
{
	static const char *const strings[] = {
		"",	 "alloc_objects", "count",	 "alloc_space",
		"bytes", "inuse_objects", "inuse_space", "space",
		NULL};
	struct maker maker = {0};
	struct format_notes notes;
	struct profile *profile;

	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1, 2, 2);
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 3, 2, 4);
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 5, 2, 2);
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 6, 2, 4);
	protobuf_packed(&maker.message, SAMPLE_VALUE, (const uint64_t[]){5, 500, 0, 0}, 4);
	put_number_label(&maker, 4, 100, 4);
	PUT(&maker, PROFILE_SAMPLE, 1, 1);
	protobuf_packed(&maker.message, SAMPLE_VALUE, (const uint64_t[]){3, 300, 2, 200}, 4);
	PUT(&maker, PROFILE_SAMPLE, 1, 1);
	put_location(&maker, 1, 0, 0x1000, 0, 0);
	PUT(&maker, PROFILE_PERIOD_TYPE, 1, 7, 2, 4);
	protobuf_number(&maker.file, PROFILE_PERIOD, 524288);
	put_strings(&maker, strings);
	profile = parsed(maker.file.bytes, maker.file.nr, &notes);
	CHECK_EQ(profile_nr_values(profile), 4);
	CHECK_EQ(profile_nr_samples(profile), 2);
	CHECK_EQ(profile_total(profile), 200);
	CHECK_EQ(total_of(profile, "inuse_space"), 200);
	CHECK_EQ(total_of(profile, "alloc_space"), 800);
	CHECK_EQ(total_of(profile, "alloc_objects"), 8);
	CHECK_STR(profile_string(profile, profile_origin(profile)->event), "space");
	CHECK_EQ(profile_origin(profile)->period, 524288);
	CHECK_EQ(notes.labels, LABEL_SET);
	check_round_trip(profile);
	maker_clear(&maker);
}

/* The kernel and a kernel module as perf_to_profile names them, and a default value type. */
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
	struct format_notes notes;

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
		     "bash-0/0;cgroup [unknown];probe [unknown];cpu "
		     "0;[unknown];-;[unknown]_[k];[unknown]_[k] 4\n",
		     &notes);
}

/* --- malformed profiles ----------------------------------------------------------------------- */

static int try_parse(const void *bytes, size_t nr)
{
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};
	int result = pprof_parse(bytes, nr, profile, &notes, &error);

	CHECK_EQ(error.code, result);
	profile_free(profile);
	return result;
}

/* Without its last strings a file is still well-formed: a string that is used must be missing. */
TEST(pprof_cut_off_anywhere)
{
	struct profile *profile = some_profile();
	struct file file = written(profile, (struct format_options){.labels = ALL_LABELS});
	size_t i;

	for (i = 0; i < file.nr; i++)
		CHECK_EQ(try_parse(test_guarded(file.bytes, i), i), -EBADMSG);
	CHECK_EQ(try_parse(file.bytes, file.nr), 0);
	free(file.bytes);
	profile_free(profile);
}

/* Any byte may have any value: the reader returns a result and does not crash. */
TEST(pprof_every_byte_wrong)
{
	static const uint8_t wrong[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct profile *profile = rich_profile();
	struct file file = written(profile, (struct format_options){.labels = ALL_LABELS});
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
	check_refused(&maker); /* no such location */
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	PUT(&maker, PROFILE_SAMPLE, 1, 5, 2, 1);
	put_location(&maker, 5, 6, 1, 0, 0);
	put_strings(&maker, strings);
	check_refused(&maker); /* no such mapping */
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	PUT(&maker, PROFILE_SAMPLE, 1, 5, 2, 1);
	put_location(&maker, 5, 0, 1, 77, 0);
	put_strings(&maker, strings);
	check_refused(&maker); /* no such function */
	PUT(&maker, PROFILE_FUNCTION, 1, 1, 2, 2);
	put_strings(&maker, strings);
	check_refused(&maker); /* no such name */
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
	check_refused(&maker); /* id used twice */
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	PUT(&maker, PROFILE_SAMPLE, 2, 1, 2, 1);
	put_strings(&maker, strings);
	check_refused(&maker); /* too many values */
	PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	PUT(&maker, PROFILE_SAMPLE, 2, INT64_MAX);
	PUT(&maker, PROFILE_SAMPLE, 2, 1);
	put_strings(&maker, strings);
	check_refused(&maker); /* too large in total */
	for (i = 0; i < 65; i++)
		PUT(&maker, PROFILE_SAMPLE_TYPE, 1, 1);
	put_strings(&maker, strings);
	check_refused(&maker);
}

TEST(pprof_stacks_that_are_too_long_lose_their_root)
{
	static const char *const strings[] = {"", "samples", NULL};
	struct maker maker = {0};
	struct format_notes notes;
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
