/* Filling `struct error`; see error.h for the rules. Long texts are cut, never overrun. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void error_hint(struct error *error, const char *format, ...)
{
	va_list args;

	if (!error)
		return;
	va_start(args, format);
	(void)vsnprintf(error->hint, sizeof(error->hint), format, args);
	va_end(args);
}
