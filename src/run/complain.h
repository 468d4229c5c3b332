/*
 * Messages for the user on stderr, in one form: `stook: what happened` and `  hint: what to try`;
 * and exit statuses. Control characters in quoted names never reach the terminal. If stderr is the journal of systemd,
 * each line begins with its priority.
 */
#ifndef STOOK_RUN_COMPLAIN_H
#define STOOK_RUN_COMPLAIN_H

#include <stdbool.h>

#include "base/error.h"

enum {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_OWN_FAILURE = 125, /* with `-- CMD`: not mistaken for a status of CMD */
};

/* inform() is for what went as it should. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void inform(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain_error(const struct error *error);

/*
 * Returns true if err is 0 or -EPIPE (the reader closed our pipe: no error); else prints the error.
 */
bool complain_on_error(int err, const struct error *error);

#endif
