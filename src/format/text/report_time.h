/* When a profile was taken, for reports. */
#ifndef STOOK_FORMAT_TEXT_REPORT_TIME_H
#define STOOK_FORMAT_TEXT_REPORT_TIME_H

#include <stdint.h>

#define REPORT_TIME_BYTES 32

/* "2026-11-21T20:42:00Z", or "" if time_ns, of the day's clock, is 0: not known. */
const char *report_time(uint64_t time_ns, char buffer[REPORT_TIME_BYTES]);

#endif
