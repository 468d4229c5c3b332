/* format/folded/folded and view/named_stacks, which decides what its lines say. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/folded/folded.h"
#include "unit/folded_text.h"
#include "unit/make_profile.h"

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
	(void)make_sample(profile, "a;main! 5"); /* of a module "main", without a name */
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
	};
	struct profile *profile = profile_new();
	struct sample_labels labels = {.pid = 12, .tid = 13, .cpu = 3};
	size_t i;

	labels.cgroup = (uint32_t)profile_add_string(profile, "/x/y");
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
