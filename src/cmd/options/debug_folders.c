/* See debug_folders.h. */
#include "cmd/options/debug_folders.h"

#include <errno.h>
#include <sys/stat.h>

#include "cmd/options/option_table.h"

int debug_folders_take(const char **folders, size_t *nr, const char *value, struct error *error)
{
	struct stat st;

	if (value[0] != '/')
		return option_bad(error, "--debug-dir", value, "a folder, from / on");
	if (stat(value, &st) < 0)
		return error_set_errno(error, "cannot look for debug files in '%s'", value);
	if (!S_ISDIR(st.st_mode))
		return option_bad(error, "--debug-dir", value, "it is not a folder");
	if (*nr == DEBUG_FOLDERS_MAX)
		return error_set(error, -EINVAL, "more than %d times --debug-dir",
				 DEBUG_FOLDERS_MAX);
	folders[(*nr)++] = value;
	return 0;
}
