/*
 * Messages quote names and texts that other users chose. Everything printed here is therefore made
 * safe for terminals (base/text.h). A message is one line: newlines in names are replaced, too.
 */
#include "run/complain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"

static void print_line(const char *head, const char *text)
{
	fputs(head, stderr);
	text_write(stderr, text);
	fputc('\n', stderr);
}

void complain(const char *format, ...)
{
	cleanup_free char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	print_line("stook: ", text ? text : "out of memory");
}

void complain_error(const struct error *error)
{
	complain("%s", error->text);
	if (error->hint[0])
		print_line("  hint: ", error->hint);
}

bool complain_on_error(int err, const struct error *error)
{
	if (!err || err == -EPIPE)
		return true;
	complain_error(error);
	return false;
}
