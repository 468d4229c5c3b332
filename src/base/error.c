/*
 * Texts that are too long are truncated. The log's stream is the one mutable global outside of
 * src/cmd.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

int error_set(struct error *error, int code, const char *format, ...)
{
	va_list args;

	if (!error)
		return code;
	error->code = code;
	error->hint[0] = '\0';
	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return code;
}

int error_set_errno(struct error *error, const char *format, ...)
{
	int saved = errno;
	va_list args;
	size_t used;

	if (!error)
		return -saved;
	error->code = -saved;
	error->hint[0] = '\0';
	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	used = strlen(error->text);
	(void)snprintf(error->text + used, sizeof(error->text) - used, ": %s", strerror(saved));
	return -saved;
}

int error_no_memory(struct error *error, const char *what)
{
	return error_set(error, -ENOMEM, "out of memory%s%s", *what ? " " : "", what);
}

void error_hint(struct error *error, const char *format, ...)
{
	va_list args;

	if (!error)
		return;
	va_start(args, format);
	(void)vsnprintf(error->hint, sizeof(error->hint), format, args);
	va_end(args);
}

/* --- the log ---------------------------------------------------------------------------------- */

static FILE *log_stream;

void log_to(FILE *stream)
{
	log_stream = stream;
}

void log_vprint(const char *format, va_list args)
{
	cleanup_free char *text = NULL;
	char *line, *next;

	if (!log_stream)
		return;
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return;
	}
	/* The verifier's log has many lines. */
	for (line = text; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		text_write(log_stream, line);
		(void)putc('\n', log_stream);
	}
}
