/* The one logger; see log.h. Its stream is the one mutable global outside of src/cmd. */
#include "base/log.h"

static FILE *log_stream;

void log_to(FILE *stream)
{
	log_stream = stream;
}

void log_vprint(const char *format, va_list args)
{
	if (log_stream)
		(void)vfprintf(log_stream, format, args);
}
