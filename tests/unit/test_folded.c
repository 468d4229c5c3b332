/*
 * format/folded, writing and reading, and view/named_stacks, which makes the words of the lines.
 * Reading a file and writing it again gives the same text.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/folded/folded.h"
#include "format/folded/folded_test.h"
#include "profile/profile.h"
#include "unit/folded_text.h"
#include "unit/make_profile.h"
#include "view/diff/difference.h"

/* --- writing ---------------------------------------------------------------------------------- */

static void check_one(const char *line, struct format_options options, const char *wanted)
{
	struct profile *profile = profile_new();

	options.labels |= LABEL_COMM;
	(void)make_sample(profile, line);
	check_folded_text(profile, options, wanted);
	profile_free(profile);
}

TEST(folded_user_then_kernel_root_first)
{
	check_one("redis;main;read;sys_read_[k];vfs_read_[k] 3", (struct format_options){0},
		  "redis;main;read;sys_read;vfs_read 3\n");
	check_one("redis;main;read;sys_read_[k] 3", (struct format_options){.annotate = true},
		  "redis;main;read;sys_read_[k] 3\n");
	check_one("redis 3", (struct format_options){0}, "redis 3\n");
}

TEST(folded_delimiter_only_between_two_stacks)
{
	struct format_options options = {.delimited = true};

	check_one("a;main;sys_read_[k] 1", options, "a;main;-;sys_read 1\n");
	check_one("a;main 1", options, "a;main 1\n");
	check_one("a;sys_read_[k] 1", options, "a;sys_read 1\n");
	check_one("a;[missed];sys_read_[k] 1", options, "a;[Missed User Stack];sys_read 1\n");
}

TEST(folded_missed_stacks)
{
	check_one("a;[missed] 1", (struct format_options){0}, "a;[Missed User Stack] 1\n");
	check_one("a;[missed];sys_read_[k] 1", (struct format_options){0},
		  "a;[Missed User Stack];sys_read 1\n");
	check_one("a;main;[missed] 1", (struct format_options){0},
		  "a;main;[Missed Kernel Stack] 1\n");
	check_one("a;[missed];[missed] 1", (struct format_options){0},
		  "a;[Missed User Stack];[Missed Kernel Stack] 1\n");
	check_one("a;[missed];[missed] 1", (struct format_options){.no_user = true},
		  "a;[Missed Kernel Stack] 1\n");
	check_one("a;[missed];[missed] 1", (struct format_options){.no_kernel = true},
		  "a;[Missed User Stack] 1\n");
}

TEST(folded_names_are_made_safe)
{
	struct profile *profile = profile_new();
	struct sample_labels labels = {0};
	uint32_t frame = (uint32_t)profile_add_frame(profile, FRAME_USER, 0, 1);

	(void)profile_set_function(profile, frame, "f(a;b)\nc\td\x7f\x1b[1m é");
	labels.comm = (uint32_t)profile_add_string(profile, "my comm;1");
	(void)profile_add_sample(profile, &labels, &frame, 1, 0, 1);
	check_folded_text(profile, (struct format_options){.labels = LABEL_COMM},
			  "my comm:1;f(a:b)?c?d??[1m é 1\n");
	profile_free(profile);
}

/* C1 control characters, as a byte and in UTF-8, and a right-to-left override. */
TEST(folded_is_safe_for_terminals)
{
	struct profile *profile = profile_new();
	struct sample_labels labels = {0};
	uint32_t frame = (uint32_t)profile_add_frame(profile, FRAME_USER, 0, 1);

	(void)profile_set_function(profile, frame, "\xc2\x9b[2J\x9b;\xe2\x80\xae(é");
	labels.comm = (uint32_t)profile_add_string(profile, "caf\xe9");
	(void)profile_add_sample(profile, &labels, &frame, 1, 0, 1);
	check_folded_text(profile, (struct format_options){.labels = LABEL_COMM},
			  "caf?;??[2J?:?\?\?(é 1\n");
	profile_free(profile);
}

TEST(folded_unknown)
{
	check_one(";main;libc.so!;!;sys_[k] 1", (struct format_options){0},
		  "[unknown];main;[unknown];[unknown];sys 1\n");
	check_one("a;!_[k] 1", (struct format_options){.annotate = true}, "a;[unknown]_[k] 1\n");
}

TEST(folded_merges_what_reads_the_same)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "a;main;work@1 1");
	(void)make_sample(profile, "a;main;work@2 2");
	(void)make_sample(profile, "a;main@1;lib!work 4");
	(void)make_sample(profile, "a;main;x;y 8");
	(void)make_sample(profile, "a;main;x:y 16");
	(void)make_labelled(profile, (struct sample_labels){.pid = 7, .cpu = 3}, "a;main;work 32");
	CHECK_EQ(profile_nr_samples(profile), 6);
	check_folded_text(profile, (struct format_options){.labels = LABEL_COMM},
			  "a;main;work 39\na;main;x:y 16\na;main;x;y 8\n");
	profile_free(profile);
}

TEST(folded_sorts_by_count_then_text)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "b;main 5");
	(void)make_sample(profile, "a;main;z 5");
	(void)make_sample(profile, "a;main 5");
	(void)make_sample(profile, "a;mainz 5");
	(void)make_sample(profile, "a;main! 5"); /* an unnamed frame of a module "main" */
	(void)make_sample(profile, "c;main 50");
	(void)make_sample(profile, "gone;main 0");
	check_folded_text(profile, (struct format_options){.labels = LABEL_COMM},
			  "c;main 50\na;[unknown] 5\na;main 5\na;main;z 5\na;mainz 5\nb;main 5\n");
	profile_free(profile);
}

TEST(folded_labels)
{
	static const struct {
		unsigned labels;
		const char *line;
	} cases[] = {
		{0, "main 1\n"},
		{LABEL_COMM, "a;main 1\n"},
		{LABEL_COMM | LABEL_PID, "a-12;main 1\n"},
		{LABEL_COMM | LABEL_TID, "a-12/13;main 1\n"},
		{LABEL_COMM | LABEL_PID | LABEL_TID, "a-12/13;main 1\n"},
		{LABEL_COMM | LABEL_CPU, "a;cpu 3;main 1\n"},
		{LABEL_COMM | LABEL_CPU | LABEL_CGROUP, "a;cgroup /x/y;cpu 3;main 1\n"},
		{LABEL_PID | LABEL_TID, "pid 12;tid 13;main 1\n"},
		{LABEL_CGROUP, "cgroup /x/y;main 1\n"},
		{LABEL_PROBE, "probe r:read;main 1\n"},
		{LABEL_COMM | LABEL_CPU | LABEL_CGROUP | LABEL_PROBE,
		 "a;cgroup /x/y;probe r:read;cpu 3;main 1\n"},
	};
	struct profile *profile = profile_new();
	struct sample_labels labels = {.pid = 12, .tid = 13, .cpu = 3};
	size_t i;

	labels.cgroup = (uint32_t)profile_add_string(profile, "/x/y");
	labels.probe = (uint32_t)profile_add_string(profile, "r:read");
	(void)make_labelled(profile, labels, "a;main 1");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_folded_text(profile, (struct format_options){.labels = cases[i].labels},
				  cases[i].line);
	profile_free(profile);
}

TEST(folded_labels_that_are_not_there)
{
	struct profile *profile = profile_new();

	(void)make_labelled(profile, (struct sample_labels){.tid = 13}, "a;main 1");
	check_folded_text(profile, (struct format_options){.labels = LABEL_COMM | LABEL_TID},
			  "a-?/13;main 1\n");
	check_folded_text(profile, (struct format_options){.labels = LABEL_COMM | LABEL_PID},
			  "a-0;main 1\n");
	check_folded_text(profile, (struct format_options){.labels = LABEL_CGROUP},
			  "cgroup [unknown];main 1\n");
	profile_free(profile);
}

TEST(folded_nothing)
{
	struct profile *profile = profile_new();

	check_folded_text(profile, (struct format_options){.labels = LABEL_COMM}, "");
	profile_free(profile);
}

TEST(folded_tells_when_it_cannot_write)
{
	struct profile *profile = profile_new();
	const struct format_options options = {.labels = LABEL_COMM};
	FILE *full = fopen("/dev/full", "w");
	char line[64];
	int i;

	if (!full)
		SKIP("needs /dev/full");
	(void)make_sample(profile, "a;main 1");
	CHECK_EQ(folded_write(profile, &options, full), -ENOSPC);
	(void)fclose(full);
	full = fopen("/dev/full", "w");
	for (i = 0; i < 5000; i++) {
		(void)snprintf(line, sizeof(line), "a;main;work %d 1", i);
		(void)make_sample(profile, line);
	}
	CHECK_EQ(folded_write(profile, &options, full), -ENOSPC);
	(void)fclose(full);
	profile_free(profile);
}

TEST(folded_without_memory)
{
	struct profile *profile = profile_new();
	const struct format_options options = {.labels = LABEL_COMM};
	FILE *out = fopen("/dev/null", "w");
	size_t nth = 1;
	int result;

	(void)make_sample(profile, "a;main;read;sys_[k] 1");
	(void)make_sample(profile, "a;main 1");
	do {
		(void)test_fail_allocation(nth++);
		result = folded_write(profile, &options, out);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
	} while (result < 0);
	CHECK(nth > 8);
	(void)fclose(out);
	profile_free(profile);
}

/* --- reading ---------------------------------------------------------------------------------- */

static const struct format_read_options with_comm = {.no_comm = false};
static const struct format_read_options without_comm = {.no_comm = true};

static int read_text(struct profile *profile, const char *text, size_t nr,
		     struct format_notes *notes, struct error *error)
{
	FILE *in = nr ? fmemopen((void *)text, nr, "r") : fopen("/dev/null", "r");
	int result = folded_read(in, &with_comm, profile, notes, error);

	(void)fclose(in);
	return result;
}

static struct profile *read_good(const char *text, struct format_notes *notes)
{
	struct profile *profile = profile_new();
	struct error error = {0};

	CHECK_EQ(read_text(profile, text, strlen(text), notes, &error), 0);
	CHECK_STR(error.text, "");
	return profile;
}

static void check_written(const struct profile *profile, bool annotate, const char *wanted)
{
	const struct format_options options = {.labels = LABEL_COMM, .annotate = annotate};

	check_folded_text(profile, options, wanted);
}

static void check_round(const char *text, const char *wanted)
{
	struct format_notes notes;
	struct profile *profile = read_good(text, &notes);

	CHECK_EQ(notes.bad_lines, 0);
	check_written(profile, notes.annotated, wanted);
	profile_free(profile);
}

static void check_same(const char *text)
{
	check_round(text, text);
}

TEST(folded_read_gives_back_what_was_written)
{
	check_same("redis;main;read 3\n");
	check_same("redis 3\n");
	check_same("my comm;f(int, char) const;operator new[](unsigned long) 7\na;b;c 3\na;b 2\n");
	check_same("a;b  3\n");
	check_same("a; b ;c  3\n");
	check_same("a;17;0x20 9 b;k 12\n");
	check_same("a;[unknown];[deleted] 3\n");
	check_same("a;b 9223372036854775807\n");
	check_same("a;größe;日本 1\n");
}

TEST(folded_read_numbers_in_names)
{
	check_same("a;cpu 3 7\nb;main 1\n"); /* not two numbers on all lines: no difference */
	check_same("a;b 12. 7\nb;main 1\n");
	check_round("a;b 5.\nc 2\n", "a;b 5\nc 2\n");
	check_round("a;b 05\n", "a;b 5\n");
}

TEST(folded_read_what_can_not_be_kept)
{
	check_round("a;;b 1\n;;b 2\n 4\n",
		    "[unknown] 4\n[unknown];[unknown];b 2\na;[unknown];b 1\n");
	check_round("a;x\x01y\x1b 1\na;none 0\n", "a;x?y? 1\n");
	check_round("a;\xff\xfe\xc3(;\xc2\x9b 1\n", "a;?\?\?(;?? 1\n");
}

TEST(folded_read_marks)
{
	struct format_notes notes;
	struct profile *profile = read_good(
		"a;main;jit_[j];sys_[k];in_[i];vfs_[k] 4\nb;x_[j];y_[i];z_[i] 1\n", &notes);
	const struct sample *sample = profile_sample(profile, 0);
	const struct frame *frame;

	CHECK(notes.annotated);
	CHECK_EQ(notes.labels, LABEL_COMM);
	CHECK_EQ(sample->nr_frames, 4);
	CHECK_EQ(sample->nr_kernel_frames, 2);
	frame = profile_frame(profile, profile_sample_frames(profile, sample)[1]);
	CHECK_EQ(frame->kind, FRAME_KERNEL);
	CHECK_EQ(frame->nr_lines, 2);
	CHECK_STR(profile_string(profile, frame->function), "sys");
	CHECK_STR(profile_string(profile, profile_lines(profile, frame)[0].function), "in");
	frame = profile_frame(profile, profile_sample_frames(profile, sample)[2]);
	CHECK_EQ(profile_module(profile, frame->module)->kind, MODULE_RUN_TIME);
	check_written(profile, false, "a;main;jit;sys;in;vfs 4\nb;x;y;z 1\n");
	profile_free(profile);
}

TEST(folded_read_marks_that_are_names)
{
	check_same("a;sys_[k];main 4\n"); /* kernel code does not call user code */
	check_same("a;sys_[k];in_[i];main 4\n");
	check_same("a;in_[i];main_[i] 4\n"); /* inlined into nothing */
	check_same("a;_[k];main 4\n");
	check_same("a_[k] 4\n");
	check_same("a;[unknown]_[k] 4\n");
	check_same("a;b;_[k]_[k] 4\n");
	check_same("a;b_[w] 4\n");
	check_same("a;main;sys_[k] 4\na;main;sys 3\na;main;sys_[i] 2\na;main;sys_[j] 1\n");
}

TEST(folded_read_missed_stacks)
{
	static const char *const lines[] = {
		"a;[Missed User Stack];sys_[k] 4\n",
		"a;[Missed User Stack];sys_[k];in_[i] 4\n",
		"a;main;[Missed Kernel Stack] 4\n",
		"a;[Missed User Stack];[Missed Kernel Stack] 4\n",
		"a;[Missed User Stack] 4\n",
		"a;[Missed Kernel Stack] 4\n",
		"a;[Missed User Stack];main 4\n",
		"a;main;[Missed User Stack] 4\n",
		"a;sys_[k];[Missed Kernel Stack] 4\n",
		"a;[Missed Kernel Stack];[Missed User Stack] 4\n",
		"a;[Missed User Stack];in_[i] 4\n",
		"a;main;[Missed Kernel Stack];sys_[k] 4\n",
	};
	struct format_notes notes;
	struct profile *profile = read_good(lines[3], &notes);
	size_t i;

	CHECK_EQ(profile_sample(profile, 0)->nr_frames, 0);
	CHECK_EQ(profile_sample(profile, 0)->labels.user_end, WALK_MISSED);
	CHECK_EQ(profile_sample(profile, 0)->labels.kernel_end, WALK_MISSED);
	CHECK(!notes.annotated);
	profile_free(profile);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		check_same(lines[i]);
}

static void check_delimited(const char *text, bool annotate, const char *wanted)
{
	const struct format_options options = {
		.labels = LABEL_COMM, .annotate = annotate, .delimited = true};
	struct format_notes notes;
	struct profile *profile = read_good(text, &notes);

	CHECK(notes.delimited);
	check_folded_text(profile, options, text);
	check_written(profile, true, wanted);
	profile_free(profile);
}

TEST(folded_read_delimiters)
{
	struct format_notes notes;
	struct profile *profile = read_good("a;main;-;sys;vfs 4\n", &notes);
	const struct sample *sample = profile_sample(profile, 0);
	const struct frame *frame =
		profile_frame(profile, profile_sample_frames(profile, sample)[0]);

	CHECK(!notes.annotated);
	CHECK_EQ(sample->nr_frames, 3);
	CHECK_EQ(sample->nr_kernel_frames, 2);
	CHECK_EQ(frame->kind, FRAME_KERNEL);
	CHECK_EQ(frame->module, MODULE_NR_KERNEL);
	profile_free(profile);
	check_delimited("a;main;-;sys;vfs 4\nb;main 1\n", false,
			"a;main;sys_[k];vfs_[k] 4\nb;main 1\n");
	check_delimited("a;main;jit_[j];in_[i];-;sys_[k];in_[i] 4\n", true,
			"a;main;jit_[j];in_[i];sys_[k];in_[i] 4\n");
	check_delimited("a;main_[k];-;sys_[k] 4\n", true, "a;main_[k];sys_[k] 4\n");
}

TEST(folded_read_delimiters_that_are_names)
{
	static const char *const lines[] = {
		"a;-;sys 4\n",			   /* no user part */
		"a;main;- 4\n",			   /* no kernel part */
		"a;[Missed User Stack];-;sys 4\n", /* not written in this position */
		"a;main;-;[Missed Kernel Stack] 4\n",
		"a;main;-;sys;-;vfs 4\n",
		"a;main;-;sys;--;waker 4\n",
		"-;main;sys 4\n",
	};
	struct format_notes notes;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct profile *profile = read_good(lines[i], &notes);

		CHECK(!notes.delimited);
		CHECK_EQ(profile_sample(profile, 0)->nr_kernel_frames, 0);
		check_written(profile, false, lines[i]);
		profile_free(profile);
	}
}

TEST(folded_read_neighbours)
{
	check_same("a;b;c;d 5\na;b;c;dd 4\na;b;cc;d 3\na;b 2\na;b;c;d;e 1\n");
	check_round("a;b 1\na;b 2\r\n\r\n\na;bb 1\na;b 4", "a;b 7\na;bb 1\n");
}

TEST(folded_read_bad_lines)
{
	struct format_notes notes;
	struct profile *profile =
		read_good("a;b 1\nno count\n12\na;b -1\na;b 1e5\na;b 1.2.3\na;b .5\n"
			  "a;b 9223372036854775808\na;b 9223372036854775807\na;b 5 \na;b 0\n",
			  &notes);

	CHECK_EQ(notes.bad_lines, 9);
	CHECK_EQ(notes.first_bad_line, 2);
	check_written(profile, false, "a;b 1\n");
	profile_free(profile);
}

TEST(folded_read_nothing)
{
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};

	CHECK_EQ(read_text(profile, "", 0, &notes, &error), 0);
	CHECK_EQ(read_text(profile, "\n\n", 2, &notes, &error), 0);
	CHECK_EQ(read_text(profile, "what\nis this\n", 13, &notes, &error), -EBADMSG);
	CHECK(strstr(error.text, "COUNT") != NULL);
	CHECK_EQ(notes.bad_lines, 2);
	profile_free(profile);
}

TEST(folded_read_nul_bytes)
{
	static const char text[] = "a\0b;c\0;\0 3\na\0b;c\0;\0 4\n";
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};

	CHECK_EQ(read_text(profile, text, sizeof(text) - 1, &notes, &error), 0);
	check_written(profile, false, "a?b;c?;? 7\n");
	profile_free(profile);
}

TEST(folded_read_differences)
{
	struct format_notes notes;
	struct profile *profile = read_good("a;b 5 3\na;c 0 7\na;d 2 0\na;e 1\n", &notes);
	int before = profile_find_value(profile, DIFFERENCE_BEFORE);

	CHECK_EQ(before, -ENOENT); /* one line has only one number */
	profile_free(profile);
	profile = read_good("a;b 5 3\na;c 0 7\na;d 2 0\na;b 1 1\n", &notes);
	before = profile_find_value(profile, DIFFERENCE_BEFORE);
	CHECK(before > 0);
	CHECK_EQ(profile_total(profile), 11);
	CHECK_EQ(profile_value_total(profile, (size_t)before), 8);
	CHECK_EQ(profile_value(profile, 0, (size_t)before), 6);
	CHECK_EQ(profile_value(profile, 2, (size_t)before), 2);
	CHECK_EQ(notes.bad_lines, 0);
	profile_free(profile);
}

TEST(folded_read_differences_written)
{
	struct format_notes notes;
	struct profile *profile;

	check_same("a;c 0 7\na;b 4 2\na;d 2 0\n");
	check_same("a;b 1.5 2\na;c 0.25 0\n");
	check_same("a;b 9223372036854775807 9223372036854775807\n");
	/* A count that would overflow the total is skipped, on either side. */
	profile = read_good("a;b 9223372036854775807 1\na;c 1 1\na;d 0 1\n", &notes);
	CHECK_EQ(notes.bad_lines, 1);
	CHECK_EQ(notes.first_bad_line, 2);
	CHECK_EQ(profile_total(profile), 2);
	profile_free(profile);
}

TEST(folded_read_fractions)
{
	struct format_notes notes;
	struct profile *profile = read_good("a;b 1.5\na;c 2\na;d 0.250\na;e 7.\n", &notes);

	CHECK_EQ(profile_total(profile), 1075);
	CHECK(profile_is_sum(profile));
	CHECK_STR(profile_value_unit(profile, 0), "1/100");
	check_written(profile, false, "a;e 7\na;c 2\na;b 1.5\na;d 0.25\n");
	profile_free(profile);
	profile = read_good("a;b 0.1234567\n", &notes);
	CHECK_EQ(profile_total(profile), 123457);
	CHECK_EQ(profile_nr_comments(profile), 1);
	profile_free(profile);
	check_same("a;b 5.00 1\nc 1\n"); /* part of the name */
	check_round("a;b 5.00\nc 1.0\n", "a;b 5\nc 1\n");
}

/* A fraction that appears after whole numbers. */
static void check_scale(const char *text, unsigned decimals, uint64_t count, const char *wanted)
{
	struct format_notes notes;
	struct profile *profile = read_good(text, &notes);
	struct value_scale scale = profile_scale(profile);
	char shown[VALUE_SCALE_BYTES];

	CHECK_EQ(scale.decimals, decimals);
	CHECK_STR(value_scale_text(shown, count, scale), wanted);
	profile_free(profile);
}

TEST(folded_scale_of_what_was_read)
{
	check_scale("a;b 10\na;c 2.25\n", 2, 1225, "12.25");
	check_scale("a;b 10\na;c 2.25\n", 2, 1000, "10");
	check_scale("a;b 10\na;c 2.5\n", 1, 5, "0.5");
	check_scale("a;b 0.000001\n", 6, UINT64_MAX, "18446744073709.551615");
	check_scale("a;b 10\n", 0, 1000, "1000");
}

TEST(folded_read_late_fraction)
{
	size_t nr = 0, i;
	char *text = malloc(1 << 20);
	struct format_notes notes;
	struct profile *profile;

	for (i = 0; i < 60000; i++)
		nr += (size_t)sprintf(text + nr, "a;b%zu 1\n", i % 7);
	(void)strcpy(text + nr, "a;c 0.5\na;c 1.4\na;d 3 4\n");
	profile = read_good(text, &notes);
	CHECK_EQ(profile_total(profile), 60000 + 1 + 1 + 4);
	CHECK_EQ(profile_nr_comments(profile), 1);
	CHECK_STR(profile_comment(profile, 0), "2 counts had a fraction and were rounded");
	profile_free(profile);
	free(text);
}

/* Returns a line with a thread name, nr_frames frames and a count. */
static char *deep_line(size_t nr_frames)
{
	char *text = malloc(2 * nr_frames + 8), *at = text;
	size_t i;

	*at++ = 'a';
	for (i = 0; i < nr_frames; i++) {
		*at++ = ';';
		*at++ = 'f';
	}
	(void)strcpy(at, " 1\n");
	return text;
}

TEST(folded_read_too_deep)
{
	char *deepest = deep_line(FORMAT_MAX_FRAMES), *deeper = deep_line(FORMAT_MAX_FRAMES + 1);
	char *both = malloc(strlen(deepest) + strlen(deeper) + 1);
	struct profile *profile;
	struct format_notes notes;
	struct error error = {0};

	(void)strcpy(stpcpy(both, deepest), deeper);
	profile = read_good(both, &notes);
	CHECK_EQ(notes.bad_lines, 0);
	CHECK_EQ(notes.deep_lines, 1);
	CHECK_EQ(notes.first_deep_line, 2);
	CHECK_EQ(profile_total(profile), 1);
	CHECK_EQ(profile_sample(profile, 0)->nr_frames, FORMAT_MAX_FRAMES);
	profile_free(profile);
	profile = profile_new();
	CHECK_EQ(read_text(profile, deeper, strlen(deeper), &notes, &error), -EBADMSG);
	CHECK_STR(error.text, "its stacks have more than 65,535 frames, the limit of a stack");
	profile_free(profile);
	free(deepest);
	free(deeper);
	free(both);
}

/* Checks lines without thread names: the text read and the text written. */
static void check_without_comm(const char *text, const char *wanted)
{
	const struct format_options options = {.annotate = true, .delimited = true};
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};

	CHECK_EQ(folded_read(in, &without_comm, profile, &notes, &error), 0);
	CHECK_EQ(notes.labels, 0);
	CHECK(!notes.may_lack_comms);
	(void)fclose(in);
	check_folded_text(profile, options, wanted);
	profile_free(profile);
}

TEST(folded_read_without_threads)
{
	check_without_comm("main;foo 3\none 4\ntwo 3\n", "one 4\nmain;foo 3\ntwo 3\n");
	check_without_comm("one 4\none 3\nmain 1\nmain 1\n", "one 7\nmain 2\n");
	check_without_comm("main;-;sys_[k] 3\n", "main;-;sys_[k] 3\n");
	check_without_comm("sys_[k];vfs_[k] 3\n", "sys_[k];vfs_[k] 3\n");
	check_without_comm("main;in_[i] 3\njit_[j] 2\n", "main;in_[i] 3\njit_[j] 2\n");
	check_without_comm("[Missed User Stack];sys_[k] 3\n", "[Missed User Stack];sys_[k] 3\n");
	check_without_comm(";a 3\n 2\n", "[unknown];a 3\n[unknown] 2\n");
}

TEST(folded_read_notes_words_that_stand_alone)
{
	struct format_notes notes;

	profile_free(read_good("one 4\ntwo 3\nmain;foo 3\n", &notes));
	CHECK(notes.may_lack_comms);
	profile_free(read_good("swapper 3\nmain;foo 3\n", &notes));
	CHECK(!notes.may_lack_comms);
}

static bool is_it(const char *head)
{
	size_t nr = strlen(head);
	char *guarded = test_guarded(head, nr);

	return folded_is_it(guarded, nr);
}

TEST(folded_read_knows_its_own)
{
	CHECK(is_it("a;b;c 3\n"));
	CHECK(is_it("a;b;c 3\na;b;c;d 4\na;b"));
	CHECK(is_it("a;b;c 3\r\na;b;c;d 4.5\r\n"));
	CHECK(is_it("one;line;that;is;not;there;to;its;e"));
	CHECK(is_it("swapper 3"));
	CHECK(!is_it("{\"shared\": {\"frames\": [1, 2]}}\n"));
	CHECK(!is_it("a\nb\nc 3\n"));
	CHECK(!is_it("just words"));
	CHECK(!is_it("\n"));
	CHECK(!is_it(""));
	CHECK(!folded_is_it("a;b\0 3\n", 7));
}

/* Every truncation of a line, in front of an unreadable page. */
TEST(folded_read_numbers_at_the_end)
{
	static const char text[] = "a;b \t12.50 7.125";
	size_t nr;

	for (nr = 0; nr < sizeof(text); nr++) {
		char *guarded = test_guarded(text, nr);
		struct folded_shape shape = folded_shape(guarded, nr);
		uint64_t number = 99;
		bool is_lossy = false;
		size_t left = nr;

		CHECK_EQ(shape.nr_lines, nr > 0);
		if (!folded_take_number(guarded, &left, value_scale(1), &number, &is_lossy))
			CHECK(left == nr && number == 99);
		else
			CHECK(left == 4 || left == 10);
	}
}

TEST(folded_read_without_memory)
{
	static const char text[] = "a;b;sys_[k];in_[i] 3\na;x_[j];sys_[k];c 4\n"
				   "a;b;-;c;in_[i] 2\n";
	struct format_notes notes;
	struct error error;
	size_t nth = 1;
	int result;

	do {
		struct profile *profile = profile_new();
		FILE *in = fmemopen((void *)text, sizeof(text) - 1, "r");

		error = (struct error){0};
		(void)test_fail_allocation(nth++);
		result = folded_read(in, nth % 2 ? &with_comm : &without_comm, profile, &notes,
				     &error);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
		CHECK(result == 0 || *error.text);
		(void)fclose(in);
		profile_free(profile);
	} while (result < 0);
	CHECK(nth > 10);
}
