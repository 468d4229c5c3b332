/* The exit statuses of commands that may start one of their own, as env and timeout have them. */
#ifndef STOOK_CMD_RUN_EXIT_STATUS_H
#define STOOK_CMD_RUN_EXIT_STATUS_H

#include <stdbool.h>

#include "cmd/run/child.h"

/* Of a command line that makes no sense. */
int exit_status_of_usage(char **argv);

/*
 * Of a failure. With `-- CMD` it must not look like a status of CMD's; was_run tells that err is what
 * became of executing CMD.
 */
int exit_status_of_failure(bool has_command, bool was_run, int err);

/* Waits for the child, if it goes on after our end, which is said. Its own status. */
int exit_status_of_child(struct child *child, const char *name, bool has_ended, bool is_quiet);

#endif
