/* cmd/options/naming_options: parsing of the options about names. */
#include "cmd/options/naming_options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "run/names.h"
#include "unit/folder.h"
#include "unit/test.h"

/* Parses `stook --debug-dir VALUE`. */
static int parse_debug_dir(struct naming_options *options, const char *value, struct error *error)
{
	const struct option_group group = naming_options_group(options);
	const struct option_table table = {.groups = &group, .nr_groups = 1, .usage = "usage"};
	const char *const words[] = {"stook", "--debug-dir", value, NULL};

	optind = 0; /* glibc: full reset */
	return option_table_parse(&table, ARRAY_SIZE(words) - 1, (char **)(uintptr_t)words, error);
}

TEST(naming_options_debug_dir_is_a_folder)
{
	struct naming_options options = {0};
	struct error error = {0};

	enter_folder();
	make_file(in_folder("file"), "text");
	CHECK_EQ(parse_debug_dir(&options, in_folder("nowhere"), &error), -ENOENT);
	CHECK(strstr(error.text, "nowhere': No such file") != NULL);
	CHECK_EQ(parse_debug_dir(&options, in_folder("file"), &error), -EINVAL);
	CHECK(strstr(error.text, "not a directory") != NULL);
	CHECK_EQ(options.nr_debug_folders, 0);
	CHECK_EQ(parse_debug_dir(&options, folder, &error), 0);
	CHECK_EQ(options.nr_debug_folders, 1);
	CHECK_STR(options.debug_folders[0], folder);
	naming_options_clear(&options);
	leave_folder();
}

TEST(naming_options_debug_dir_may_be_relative)
{
	struct naming_options options = {0};
	struct error error = {0};
	char here[PATH_MAX];

	enter_folder();
	CHECK(getcwd(here, sizeof(here)) != NULL);
	CHECK_EQ(chdir(folder), 0);
	CHECK_EQ(mkdir("debug", 0700), 0);
	CHECK_EQ(parse_debug_dir(&options, "debug", &error), 0);
	CHECK_EQ(parse_debug_dir(&options, "./debug/..", &error), 0);
	CHECK_EQ(chdir(here), 0);
	CHECK_EQ(options.nr_debug_folders, 2);
	CHECK_STR(options.debug_folders[0], in_folder("debug"));
	CHECK_STR(options.debug_folders[1], folder);
	CHECK_EQ(rmdir(in_folder("debug")), 0);
	naming_options_clear(&options);
	leave_folder();
}

/* Parses `stook --naming-time VALUE`. */
static uint64_t naming_seconds(const char *value)
{
	struct naming_options options = {0};
	const struct option_group group = naming_options_group(&options);
	const struct option_table table = {.groups = &group, .nr_groups = 1, .usage = "usage"};
	const char *const words[] = {"stook", "--naming-time", value, NULL};
	struct error error = {0};

	optind = 0;
	return option_table_parse(&table, 3, (char **)(uintptr_t)words, &error)
		       ? 0
		       : options.naming_seconds;
}

TEST(naming_options_time_has_units)
{
	CHECK_EQ(naming_seconds("90"), 90);
	CHECK_EQ(naming_seconds("90s"), 90);
	CHECK_EQ(naming_seconds("2m"), 120);
	CHECK_EQ(naming_seconds("500ms"), 0);
	CHECK_EQ(naming_seconds("0"), 0);
	CHECK_EQ(naming_seconds("2 m"), 0);
}

TEST(naming_options_take_aliases)
{
	struct naming_options options = {0};
	const struct option_group group = naming_options_group(&options);
	const struct option_table table = {.groups = &group, .nr_groups = 1, .usage = "usage"};
	const char *words[] = {"stook", "--aliases", "raw", NULL};
	struct error error = {0};

	optind = 0;
	CHECK_EQ(option_table_parse(&table, 3, (char **)(uintptr_t)words, &error), 0);
	CHECK(naming_options_symbolizer(&options).raw_aliases);
	words[2] = "perfs";
	optind = 0;
	CHECK_EQ(option_table_parse(&table, 3, (char **)(uintptr_t)words, &error), -EINVAL);
}

TEST(naming_options_debug_dirs_have_a_limit)
{
	struct naming_options options = {0};
	struct error error = {0};
	size_t i;

	for (i = 0; i < DEBUG_FOLDERS_MAX; i++)
		CHECK_EQ(parse_debug_dir(&options, "/tmp", &error), 0);
	CHECK_EQ(parse_debug_dir(&options, "/tmp", &error), -EINVAL);
	CHECK_EQ(naming_options_symbolizer(&options).places.nr_folders, DEBUG_FOLDERS_MAX);
	naming_options_clear(&options);
}
