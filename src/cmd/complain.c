/* See complain.h. */
#include "cmd/complain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void complain(const char *format, ...)
{
	va_list args;

	fputs("stook: ", stderr);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void complain_error(const struct error *error)
{
	complain("%s", error->text);
	if (error->hint[0])
		fprintf(stderr, "  hint: %s\n", error->hint);
}

bool complain_unless_well(int err, const struct error *error)
{
	if (!err || err == -EPIPE)
		return true;
	complain_error(error);
	return false;
}
