/* cmd/diff: which files it takes together, and what it says of those that it can't. */
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

/* The profile is freed. */
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

/* All that the command prints, on either stream. */
static int run(const char *before, const char *after, char text[TEXT_BYTES])
{
	const char *const words[] = {"diff", before, after, NULL};
	struct file file = write_file("");
	int streams[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
	int fd = open(file.path, O_RDWR | O_APPEND | O_CLOEXEC), status;
	ssize_t nr;

	(void)fflush(stdout);
	(void)dup2(fd, STDOUT_FILENO);
	(void)dup2(fd, STDERR_FILENO);
	optind = 0;
	status = cmd_diff(ARRAY_SIZE(words) - 1, (char **)(uintptr_t)words);
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
	CHECK(strstr(text, "maybe by chance") && !strstr(text, "NEW") && !strstr(text, "lib.so"));
	CHECK_EQ(run(pprof.path, folded.path, text), 0);
	CHECK(!strstr(text, "GONE"));
	(void)unlink(folded.path);
	(void)unlink(pprof.path);
}

/* A profile of nanoseconds that has its samples, too, and one of samples alone. */
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
	      strstr(text, "showing samples, which all files have"));
	(void)unlink(sums.path);
	(void)unlink(folded.path);
}
