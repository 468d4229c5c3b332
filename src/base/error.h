/*
 * What went wrong, in words, carried up to whoever may print it.
 *
 * A function that can fail in a way its user must understand takes a `struct error *`, fills it
 * and returns a negative errno (or NULL). Libraries fill, only src/cmd prints. The text is one
 * sentence without the program's name and without a full stop; the hint, if any, says what to try.
 */
#ifndef STOOK_BASE_ERROR_H
#define STOOK_BASE_ERROR_H

struct error {
	int code; /* the negative errno that was returned; 0: nothing happened yet */
	char text[400];
	char hint[400];
};

/* Fills *error (which may be NULL) and returns code, so that `return error_set(...)` reads well. */
int error_set(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a system call: ": " and errno's own words follow the text; returns -errno. */
int error_set_errno(struct error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds what the user can do about it. */
void error_hint(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
