/* See exit_status.h. */
#include "cmd/run/exit_status.h"

#include <errno.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/complain.h"

int exit_status_of_usage(char **argv)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, "--"))
			return EXIT_OWN_FAILURE;
	return EXIT_USAGE;
}

int exit_status_of_failure(bool has_command, bool was_run, int err)
{
	if (!has_command)
		return EXIT_FAILED;
	if (was_run && err == -ENOENT)
		return 127;
	return was_run && err == -EACCES ? 126 : EXIT_OWN_FAILURE;
}

int exit_status_of_child(struct child *child, const char *name, bool has_ended, bool is_quiet)
{
	if (!has_ended && !is_quiet)
		complain("the run has ended, '%s' goes on: waiting for it", name);
	return child_wait(child);
}
