/* cmd/diff: which files can be compared, and the messages for those that cannot. */
#include "cmd/commands.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "format/format.h"
#include "profile/profile.h"
#include "run/complain.h"
#include "unit/make_profile.h"
#include "unit/test.h"

#define PATH_TEMPLATE "/tmp/stook-diff-XXXXXX"
#define TEXT_BYTES    8192

struct file {
	char path[sizeof(PATH_TEMPLATE)];
};

static struct file write_file(const char *content)
{
	struct file file = {PATH_TEMPLATE};
	int fd = mkstemp(file.path);

	CHECK_EQ(write(fd, content, strlen(content)), (long)strlen(content));
	(void)close(fd);
	return file;
}

/* Writes the profile to a pprof file and frees the profile. */
static struct file write_pprof(struct profile *profile)
{
	struct file file = {PATH_TEMPLATE};
	FILE *out = fdopen(mkstemp(file.path), "w");

	CHECK_EQ(format_by_name("pprof")->write(
			 profile, &(struct format_options){.labels = LABEL_COMM}, out),
		 0);
	(void)fclose(out);
	profile_free(profile);
	return file;
}

/* Runs the command with up to four further words; text is its stdout and stderr. */
static int run_with(const char *before, const char *after, const char *const more[4],
		    char text[TEXT_BYTES])
{
	const char *words[8] = {"diff", before, after};
	struct file file = write_file("");
	int streams[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
	int fd = open(file.path, O_RDWR | O_APPEND | O_CLOEXEC), status, nr_words = 3;
	ssize_t nr;

	(void)fflush(stdout);
	(void)dup2(fd, STDOUT_FILENO);
	(void)dup2(fd, STDERR_FILENO);
	optind = 0;
	for (; nr_words < 7 && more[nr_words - 3]; nr_words++)
		words[nr_words] = more[nr_words - 3];
	status = cmd_diff(nr_words, (char **)(uintptr_t)words);
	(void)fflush(stdout);
	(void)dup2(streams[0], STDOUT_FILENO);
	(void)dup2(streams[1], STDERR_FILENO);
	(void)close(streams[0]);
	(void)close(streams[1]);
	nr = pread(fd, text, TEXT_BYTES - 1, 0);
	text[nr > 0 ? nr : 0] = '\0';
	(void)close(fd);
	(void)unlink(file.path);
	return status;
}

static int run(const char *before, const char *after, char text[TEXT_BYTES])
{
	return run_with(before, after, (const char *const[4]){NULL}, text);
}

#define WITH(...) ((const char *const[4]){__VA_ARGS__})

/* Most samples are in threads that only one side has: the program was renamed. */
TEST(diff_leaves_out_thread_names_that_differ)
{
	struct file before = write_file("app-1;main;work 500\nother;main;x 400\n");
	struct file after = write_file("app-2;main;work 500\nother;main;x 400\n");
	char text[TEXT_BYTES];

	CHECK_EQ(run(before.path, after.path, text), 0);
	CHECK(strstr(text, "Thread names differ ('app-1' before, 'app-2' after) and are omitted"));
	CHECK(!strstr(text, "NEW") && !strstr(text, "GONE"));
	CHECK_EQ(run_with(before.path, after.path, WITH("--format", "json"), text), 0);
	CHECK(strstr(text, "\"note\": \"Thread names differ"));
	CHECK_EQ(run_with(before.path, after.path, WITH("--format", "md"), text), 0);
	CHECK(strstr(text, "Thread names differ"));
	/* Folded stacks cannot carry the note. */
	CHECK_EQ(run_with(before.path, after.path, WITH("-f"), text), 0);
	CHECK(strstr(text, "stook: Thread names differ") && strstr(text, "\nmain;work 500 500\n"));
	CHECK_EQ(run_with(before.path, after.path, WITH("--by", "comm"), text), 0);
	CHECK(strstr(text, "GONE") && strstr(text, "NEW"));
	CHECK(strstr(text, "Only thread names changed ('app-1' before, 'app-2' after)"));
	CHECK_EQ(run_with(before.path, after.path, WITH("--by", "none"), text), 0);
	CHECK(!strstr(text, "hread names") && !strstr(text, "NEW"));
	CHECK_EQ(run_with(before.path, after.path, WITH("--map-comm", "^app-.=app"), text), 0);
	CHECK(!strstr(text, "hread names") && !strstr(text, "NEW"));
	CHECK_EQ(run_with(before.path, after.path, WITH("--map-comm", "^app-.=app", "-f"), text),
		 0);
	CHECK(strstr(text, "app;main;work 500 500\n") && strstr(text, "other;main;x 400 400\n"));
	(void)unlink(before.path);
	(void)unlink(after.path);
}

/* Most names are common: they are kept, and the changed one is mentioned. */
TEST(diff_tells_if_only_thread_names_changed)
{
	struct file before = write_file("main;work 300\nother;main;x 700\n");
	struct file after = write_file("main-2;work 300\nother;main;x 700\n");
	struct file more = write_file("main-2;work 450\nother;main;x 550\n");
	char text[TEXT_BYTES];

	CHECK_EQ(run(before.path, after.path, text), 0);
	CHECK(strstr(text, "Only thread names changed ('main' before, 'main-2' after)"));
	CHECK_EQ(run(before.path, more.path, text), 0);
	CHECK(strstr(text, "NEW") && !strstr(text, "hread names"));
	CHECK_EQ(run(before.path, before.path, text), 0);
	CHECK(!strstr(text, "hread names"));
	(void)unlink(before.path);
	(void)unlink(after.path);
	(void)unlink(more.path);
}

TEST(diff_refuses_labels_that_are_not_there)
{
	struct file file = write_file("app;main;work 300\n");
	char text[TEXT_BYTES];

	CHECK_EQ(run_with(file.path, file.path, WITH("--by", "pid"), text), EXIT_FAILED);
	CHECK(strstr(text, "does not distinguish samples by pid"));
	CHECK_EQ(run_with(file.path, file.path, WITH("--map-comm", "app"), text), EXIT_USAGE);
	CHECK_EQ(run_with(file.path, file.path, WITH("--map-comm", "(=app"), text), EXIT_USAGE);
	(void)unlink(file.path);
}

TEST(diff_names_each_file_without_samples)
{
	struct file some = write_file("a;main 5\n");
	struct file none = write_pprof(profile_new()), other = write_pprof(profile_new());
	char text[TEXT_BYTES], expected[128];

	CHECK_EQ(run(none.path, some.path, text), EXIT_FAILED);
	(void)snprintf(expected, sizeof(expected), "stook: '%s' has no samples\n", none.path);
	CHECK_STR(text, expected);
	CHECK_EQ(run(none.path, other.path, text), EXIT_FAILED);
	CHECK(strstr(text, expected) && strstr(text, other.path));
	(void)unlink(some.path);
	(void)unlink(none.path);
	(void)unlink(other.path);
}

TEST(diff_of_a_side_without_modules_has_none)
{
	struct file folded = write_file("a;main;[unknown] 50\n");
	struct file pprof = write_pprof(make_profile("a;main;lib.so! 50\n"));
	char text[TEXT_BYTES];

	CHECK_EQ(run(folded.path, pprof.path, text), 0);
	CHECK(strstr(text, "within noise") && !strstr(text, "NEW") && !strstr(text, "lib.so"));
	CHECK_EQ(run(pprof.path, folded.path, text), 0);
	CHECK(!strstr(text, "GONE"));
	(void)unlink(folded.path);
	(void)unlink(pprof.path);
}

/* A profile of nanoseconds and samples, and one of samples only. */
TEST(diff_compares_what_both_sides_have)
{
	struct profile *profile = make_profile("a;main;f 30\na;main;g 70\n");
	const struct profile_origin origin = {.period = 1000};
	struct value_type samples = {0};
	struct file sums, folded = write_file("a;main;f 3\na;main;g 7\n");
	char text[TEXT_BYTES];
	uint32_t i;

	profile_set_origin(profile, &origin);
	set_main_value(profile, "cpu", "nanoseconds");
	samples.type = (uint32_t)profile_add_string(profile, "samples");
	samples.unit = (uint32_t)profile_add_string(profile, "count");
	CHECK_EQ(profile_add_value_type(profile, &samples), 1);
	for (i = 0; i < 2; i++)
		CHECK_EQ(profile_add_value(profile, i, 1, i ? 7 : 3), 0);
	sums = write_pprof(profile);
	CHECK_EQ(run(sums.path, folded.path, text), 0);
	CHECK(strstr(text, "  10 samples\n") &&
	      strstr(text, "showing samples, the value that all files have"));
	(void)unlink(sums.path);
	(void)unlink(folded.path);
}
