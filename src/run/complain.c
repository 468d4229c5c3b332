/*
 * Messages quote names and texts that other users chose. Everything printed here is therefore made
 * safe for terminals (base/text.h). A message is one line: newlines in names are replaced, too.
 */
#include "run/complain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Priorities of syslog. */
enum { PRIORITY_ERROR = 3, PRIORITY_WARNING = 4, PRIORITY_INFO = 6 };

/* systemd names the stream that it has connected to the journal by its device and inode. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

static void print_line(int priority, const char *head, const char *text)
{
	flockfile(stderr);
	if (is_journal())
		fprintf(stderr, "<%d>", priority);
	fputs(head, stderr);
	text_write(stderr, text);
	fputc('\n', stderr);
	funlockfile(stderr);
}

static void print(int priority, const char *format, va_list args)
{
	cleanup_free char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	print_line(priority, "stook: ", text ? text : "out of memory");
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(PRIORITY_WARNING, format, args);
	va_end(args);
}

void inform(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(PRIORITY_INFO, format, args);
	va_end(args);
}

void complain_error(const struct error *error)
{
	print_line(PRIORITY_ERROR, "stook: ", error->text);
	if (error->hint[0])
		print_line(PRIORITY_ERROR, "  hint: ", error->hint);
}

bool complain_on_error(int err, const struct error *error)
{
	if (!err || err == -EPIPE)
		return true;
	complain_error(error);
	return false;
}
