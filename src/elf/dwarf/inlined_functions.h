/*
 * Functions that a program has only as copies inlined into others: they are in its debug
 * information, but have no code of their own that a probe could be put on.
 *
 * libdw maps the file, and trusts it more than we do: this is to be called in a child process
 * (base/isolated) when the file is somebody else's.
 */
#ifndef STOOK_ELF_DWARF_INLINED_FUNCTIONS_H
#define STOOK_ELF_DWARF_INLINED_FUNCTIONS_H

#include <stdint.h>

#include "base/error.h"

/*
 * Whether the program, whose debug information is in the file behind fd, has a function of this
 * name, exactly as in the source or as linked (mangled), and all of it is inlined: 1 or 0. -ENOENT
 * for a file without DWARF, -ENOMEM; -ETIME when deadline_ns (CLOCK_MONOTONIC) is past. Some 10 ms
 * for each megabyte of .debug_info.
 */
int inlined_functions_has(int fd, const char *name, uint64_t deadline_ns, struct error *error);

#endif
