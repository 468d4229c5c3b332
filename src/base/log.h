/*
 * What only -v shows: words of the libraries and the kernel that help to find out why something was
 * refused. Silent until src/cmd gives it a stream.
 */
#ifndef STOOK_BASE_LOG_H
#define STOOK_BASE_LOG_H

#include <stdarg.h>
#include <stdio.h>

void log_to(FILE *stream); /* NULL: silence */

void log_vprint(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

#endif
