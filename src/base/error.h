/*
 * Error messages, passed up to the code that may print them; and the log that only -v shows.
 *
 * A function that can fail in a way its user must understand takes a `struct error *`, fills it and
 * returns a negative errno (or NULL). Libraries fill it; only src/run and src/cmd print it. The
 * text is one sentence without the program's name and without a full stop; the hint, if any, says
 * what to try.
 */
#ifndef STOOK_BASE_ERROR_H
#define STOOK_BASE_ERROR_H

#include <stdarg.h>
#include <stdio.h>

struct error {
	int code; /* the negative errno that was returned; 0: no error so far */
	char text[400];
	char hint[400];
};

/*
 * Fills *error (which may be NULL) and returns code, so that `return error_set(...)` is possible.
 */
int error_set(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Like error_set(), after a system call: appends ": " and strerror(errno); returns -errno. */
int error_set_errno(struct error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "out of memory WHAT", where what is "for functions", "while naming" or "". Returns -ENOMEM. */
int error_no_memory(struct error *error, const char *what);

/* Adds a hint: what the user can do about the error. */
void error_hint(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- the log ---------------------------------------------------------------------------------- */

/*
 * Messages of libraries and of the kernel that help to find out why something was rejected. Nothing
 * is logged until src/cmd sets the log's stream.
 */
void log_to(FILE *stream); /* NULL: disables the log */

void log_vprint(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

#endif
