/* cmd/options/naming_options: what the options about names are taken for. */
#include "cmd/options/naming_options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

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

	optind = 0; /* glibc: from the beginning */
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
	CHECK(strstr(error.text, "not a folder") != NULL);
	CHECK_EQ(parse_debug_dir(&options, ".", &error), -EINVAL);
	CHECK_EQ(options.nr_debug_folders, 0);
	CHECK_EQ(parse_debug_dir(&options, folder, &error), 0);
	CHECK_EQ(options.nr_debug_folders, 1);
	CHECK_STR(options.debug_folders[0], folder);
	leave_folder();
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
}
