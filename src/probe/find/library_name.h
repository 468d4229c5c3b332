/* Which files' names a library's short name stands for: `ssl` for libssl.so.3. */
#ifndef STOOK_PROBE_FIND_LIBRARY_NAME_H
#define STOOK_PROBE_FIND_LIBRARY_NAME_H

#include <stdbool.h>

/* How well a mapped file fits a name; lower is better. */
enum library_fit {
	FIT_SAME,    /* redis-server, libc.so.6 */
	FIT_LIBRARY, /* libc.so.6 for "c", or ld-musl-x86_64.so.1 */
	FIT_RELEASE, /* libc-2.31.so, as the C library was called once */
	NR_LIBRARY_FITS,
};

/* NR_LIBRARY_FITS: not at all. A mapped file that is deleted has " (deleted)" behind its path. */
enum library_fit library_fit_of(const char *path, const char *name);

/* Of a file in a folder of libraries: libssl.so.3 and libssl.so for `ssl`; libssl.so.3 for itself. */
bool library_is_wanted(const char *file, const char *name);

#endif
