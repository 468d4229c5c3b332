/* The signals that end a run early: they can be read from a descriptor while it goes on. */
#ifndef STOOK_CMD_RUN_SIGNALS_H
#define STOOK_CMD_RUN_SIGNALS_H

#include "base/error.h"
#include "cmd/run/child.h"

/* A descriptor that is readable when one has come, or a negative errno. */
int signals_listen(struct error *error);

/*
 * They have their usual effect again: a second one ends the program at once. The one that has come
 * is handed on to the child, but for the terminal's Ctrl-C, which the child has got itself.
 */
void signals_stop_listening(int signal_fd, const struct child *child);

#endif
