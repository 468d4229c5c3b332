/* cmd/inputs: what is said of files that are no profiles. */
#include "cmd/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "unit/test.h"

static void check_refuses(const char *content, const char *why, const char *hint)
{
	char path[] = "/tmp/stook-test-XXXXXX", expected[128];
	const char *const paths[] = {path};
	const struct input_options options = {.format = NULL};
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

TEST(inputs_that_are_no_profiles)
{
	check_refuses("", "it is empty", "");
	check_refuses("\177ELF\2\1\1", "it is none of pprof, perf, folded",
		      "--input-format says which, if it is one");
	check_refuses("PERFILE2hhhh", "only perf itself can", "pipe what 'perf script -i /");
}

TEST(inputs_that_are_folders)
{
	static const char *const paths[] = {"/"};
	const struct input_options options = {.format = NULL};
	struct inputs inputs;
	struct error error = {0};

	CHECK(inputs_read(&inputs, &options, paths, 1, &error) < 0);
	CHECK_STR(error.text, "cannot read '/': it is a folder");
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

/* What is said on stderr of perf's text with two events. */
static void check_complains(const char *value, const char *wanted)
{
	static const char text[] = "a 1/1 [000] 1.0: 10 cycles: \n\t 1 main (/bin/a)\n\n"
				   "a 1/1 [000] 1.5: 7 page-faults: \n\t 1 main (/bin/a)\n\n";
	char path[] = "/tmp/stook-test-XXXXXX", said[256] = "";
	const char *const paths[] = {path};
	const struct input_options options = {.value = value};
	struct inputs inputs;
	struct error error = {0};
	int fd = mkstemp(path), standard_error = dup(STDERR_FILENO);
	FILE *file = tmpfile();

	CHECK_EQ(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	CHECK_EQ(inputs_read(&inputs, &options, paths, 1, &error), 0);
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
	check_complains(NULL, "stook: shows cycles; the input also has page-faults: "
			      "--value NAME shows another\n");
	check_complains("page-faults", "");
	check_complains("cycles", "");
}
