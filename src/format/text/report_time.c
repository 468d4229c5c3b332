/* See report_time.h: UTC, so that a file says the same wherever it was written. */
#include "format/text/report_time.h"

#include <time.h>

const char *report_time(uint64_t time_ns, char buffer[REPORT_TIME_BYTES])
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm parts;

	buffer[0] = '\0';
	if (time_ns && gmtime_r(&seconds, &parts))
		(void)strftime(buffer, REPORT_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
	return buffer;
}
