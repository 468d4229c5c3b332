/* cmd/inputs: messages for files that are not profiles; the common value of several files. */
#include "cmd/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "profile/merge.h"
#include "unit/make_profile.h"
#include "unit/test.h"

static void check_refuses(const char *content, const char *why, const char *hint)
{
	char path[] = "/tmp/stook-test-XXXXXX", expected[128];
	const char *const paths[] = {path};
	const struct input_options options = {.value = NULL};
	struct inputs inputs;
	struct error error = {0};
	int fd = mkstemp(path);

	CHECK_EQ(write(fd, content, strlen(content)), (long)strlen(content));
	CHECK(inputs_read(&inputs, &options, paths, 1, &error) < 0);
	(void)snprintf(expected, sizeof(expected), "cannot read '%s': %s", path, why);
	CHECK_STR(error.text, expected);
	CHECK(!*hint == !*error.hint && strstr(error.hint, hint));
	inputs_clear(&inputs);
	(void)close(fd);
	(void)unlink(path);
}

static void check_reads(const char *content)
{
	char path[] = "/tmp/stook-test-XXXXXX";
	const char *const paths[] = {path};
	const struct input_options options = {.value = NULL};
	struct inputs inputs;
	struct error error = {0};
	int fd = mkstemp(path);

	CHECK_EQ(write(fd, content, strlen(content)), (long)strlen(content));
	CHECK_EQ(inputs_read(&inputs, &options, paths, 1, &error), 0);
	CHECK_STR(error.text, "");
	inputs_clear(&inputs);
	(void)close(fd);
	(void)unlink(path);
}

TEST(inputs_that_are_no_profiles)
{
	check_refuses("", "it is empty", "");
	check_refuses("\177ELF\2\1\1", "unknown format, none of pprof, perf, folded",
		      "choose the format by --input-format");
	check_refuses("PERFILE2hhhh", "it is a perf.data file",
		      "pipe the output of 'perf script -i /");
}

TEST(inputs_that_are_compressed)
{
	check_refuses("\xfd\x37zXZ;", "it is compressed by xz", "pipe the output of 'xz -dc /");
	check_refuses("\x28\xb5\x2f\xfd;", "it is compressed by zstd",
		      "pipe the output of 'zstd -dc /");
	check_refuses("BZh91AY&SY;", "it is compressed by bzip2",
		      "pipe the output of 'bzip2 -dc /");
	check_refuses("\x04\x22\x4d\x18;", "it is compressed by lz4",
		      "pipe the output of 'lz4 -dc /");
}

TEST(inputs_of_other_tools)
{
	static const char *const maps[] = {
		"Attaching 1 probe...\n\n\n@[\n    foo+1\n    main+2\n, sqlite3]: 12\n",
		"@stacks[sqlite3, \n    foo+1\n]: 12\n",
	};
	static const char stacks[] = "\n    b'schedule'\n    main\n"
				     "    -                sqlite3 (123)\n        5\n\n";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(maps); i++)
		check_refuses(maps[i], "it is a map printed by bpftrace",
			      "pipe the output of 'stackcollapse-bpftrace.pl /");
	check_refuses(stacks, "it is the report of a bcc tool", "'profile -f'");
	check_refuses("Sampling at 49 Hertz of all threads by user + kernel stack...\n",
		      "it is the report of a bcc tool", "'profile -f'");
}

/* Folded stacks with words that look like other tools' output. */
TEST(inputs_that_only_look_foreign)
{
	check_reads("@[a;b 1\n");
	check_reads("@[;b 1\nBZh;-;Sampling 2\n");
	check_reads("-                a (1);b 1\n");
}

TEST(inputs_that_are_folders)
{
	static const char *const paths[] = {"/"};
	const struct input_options options = {.value = NULL};
	struct inputs inputs;
	struct error error = {0};

	CHECK(inputs_read(&inputs, &options, paths, 1, &error) < 0);
	CHECK_STR(error.text, "cannot read '/': it is a directory");
	inputs_clear(&inputs);
}

TEST(inputs_take_standard_input_once)
{
	static const char *const paths[] = {"-", "x", "-"};
	struct error error = {0};

	CHECK_EQ(inputs_check(paths, 2, &error), 0);
	CHECK_EQ(inputs_check(paths, 3, &error), -EINVAL);
	CHECK_STR(error.text, "standard input ('-') can be read only once");
}

TEST(inputs_keep_the_words_of_a_command_line)
{
	struct input_paths paths = {.nr = 0};
	struct error error = {0};

	CHECK_EQ(input_paths_take(&paths, "a", &error), 0);
	CHECK_EQ(input_paths_take(&paths, "-", &error), 0);
	CHECK_EQ(paths.nr, 2);
	CHECK_STR(paths.paths[1], "-");
	input_paths_clear(&paths);
	CHECK_EQ(paths.nr, 0);
}

/* Compares the messages on stderr for such a file. */
static void check_complains(const char *text, const struct input_options *options,
			    const char *wanted)
{
	char path[] = "/tmp/stook-test-XXXXXX", said[256] = "";
	const char *const paths[] = {path};
	struct inputs inputs;
	struct error error = {0};
	int fd = mkstemp(path), standard_error = dup(STDERR_FILENO);
	FILE *file = tmpfile();

	CHECK_EQ(write(fd, text, strlen(text)), (long)strlen(text));
	CHECK_EQ(inputs_read(&inputs, options, paths, 1, &error), 0);
	(void)fflush(stderr);
	(void)dup2(fileno(file), STDERR_FILENO);
	inputs_complain(&inputs);
	(void)fflush(stderr);
	(void)dup2(standard_error, STDERR_FILENO);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	CHECK_STR(said, wanted);
	(void)fclose(file);
	(void)close(standard_error);
	inputs_clear(&inputs);
	(void)close(fd);
	(void)unlink(path);
}

TEST(inputs_tell_which_event_is_shown)
{
	static const char text[] = "a 1/1 [000] 1.0: 10 cycles: \n\t 1 main (/bin/a)\n\n"
				   "a 1/1 [000] 1.5: 7 page-faults: \n\t 1 main (/bin/a)\n\n";

	check_complains(text, &(struct input_options){.value = NULL},
			"stook: showing cycles; the input also has page-faults: "
			"--value NAME shows another\n");
	check_complains(text, &(struct input_options){.value = "page-faults"}, "");
	check_complains(text, &(struct input_options){.value = "cycles"}, "");
}

TEST(inputs_tell_of_words_that_stand_alone)
{
	static const char text[] = "one 4\ntwo 3\nmain;foo 3\n";

	check_complains(
		text, &(struct input_options){.value = NULL},
		"stook: most samples are lines of one word, read as a thread without a "
		"stack\n"
		"  hint: use --no-comm if these are functions and lines have no thread names\n");
	check_complains(text, &(struct input_options){.read = {.no_comm = true}}, "");
	check_complains("one 4\nmain;foo 5\n", &(struct input_options){.value = NULL}, "");
}

TEST(inputs_tell_of_lines_that_are_passed_over)
{
	const struct input_options options = {.value = NULL};
	const size_t nr_frames = FORMAT_MAX_FRAMES + 1;
	char *text = malloc(2 * nr_frames + 64), *at = stpcpy(text, "a;b 1\na;b 2\nwhat\na;b 3\na");
	size_t i;

	for (i = 0; i < nr_frames; i++)
		at = stpcpy(at, ";f");
	(void)strcpy(at, " 1\n");
	check_complains(
		text, &options,
		"stook: skipped 1 line that could not be read, first: line 3\n"
		"stook: skipped 1 line with more than 65,535 frames, the limit of a stack, first: "
		"line 5\n");
	free(text);
}

/* --- files that count different things ------------------------------------------------------- */

/* A profile with 1 of the first value type, which is the count, and 10 of the other. */
static struct profile *of_values(const char *count, const char *unit, const char *other)
{
	struct profile *profile = profile_new();
	struct value_type type = {0};
	uint32_t sample;

	if (strcmp(count, "samples") != 0)
		set_main_value(profile, count, unit);
	sample = (uint32_t)make_sample(profile, "a;f 1");
	if (!other)
		return profile;
	type.type = (uint32_t)profile_add_string(profile, other);
	type.unit = (uint32_t)profile_add_string(profile, strcmp(other, "samples") ? "nanoseconds"
										   : "count");
	CHECK_EQ(profile_add_value(profile, sample, (size_t)profile_add_value_type(profile, &type),
				   10),
		 0);
	return profile;
}

/* Checks the value type common to both profiles, and its total; type NULL: there is none. */
static void check_common(struct profile *first, struct profile *second, const char *type,
			 uint64_t total, const char *note_or_hint)
{
	struct common_values common = {.nr = 0};
	char note[COMMON_VALUES_NOTE_BYTES];
	struct error error = {0};
	int err;

	CHECK_EQ(common_values_add(&common, first, "one", &error), 0);
	err = common_values_add(&common, second, "two", &error);
	CHECK_EQ(err, type ? 0 : -EINVAL);
	if (!type) {
		CHECK_STR(error.text, "'one' and 'two' have no value in common");
		CHECK_STR(error.hint, note_or_hint);
	} else {
		CHECK_EQ(profile_merge(first, second, 0), 0);
		CHECK_EQ(common_values_choose(&common, first), 0);
		CHECK_STR(profile_string(first, profile_value_type(first, 0).type), type);
		CHECK_EQ(profile_total(first), total);
		common_values_note(&common, note);
		CHECK_STR(note, note_or_hint);
	}
	common_values_clear(&common);
	profile_free(first);
	profile_free(second);
}

TEST(common_values_are_the_first_files_counts)
{
	check_common(of_values("samples", "", "cpu"), of_values("samples", "", NULL), "samples", 2,
		     "");
	check_common(of_values("cpu", "nanoseconds", NULL), of_values("samples", "", "cpu"), "cpu",
		     11,
		     "showing cpu, the value that all files have: 'one' counts cpu, 'two' samples");
}

TEST(common_values_are_samples_else)
{
	check_common(of_values("cpu-clock", "nanoseconds", "samples"),
		     of_values("samples", "", "cpu"), "samples", 11,
		     "showing samples, the value that all files have: 'one' counts cpu-clock, "
		     "'two' samples");
	check_common(of_values("a", "count", "cpu"), of_values("b", "count", "cpu"), "cpu", 20,
		     "showing cpu, the value that all files have: 'one' counts a, 'two' b");
}

TEST(common_values_that_there_are_none_of)
{
	check_common(of_values("cpu", "nanoseconds", "samples"), of_values("hits", "", NULL), NULL,
		     0, "'one': cpu, samples; 'two': hits");
	check_common(of_values("cpu", "nanoseconds", NULL), of_values("cpu", "count", NULL), NULL,
		     0, "'one': cpu; 'two': cpu");
}
