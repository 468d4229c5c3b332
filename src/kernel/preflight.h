/* Checks before anything is loaded: may we profile this host, and is it dangerous? */
#ifndef STOOK_KERNEL_PREFLIGHT_H
#define STOOK_KERNEL_PREFLIGHT_H

#include "base/error.h"

/* 0; or -EPERM or -ENOTSUP, with what is missing by name and what to do about it. */
int privileges_check(struct error *error);

/*
 * The damage that the running kernel is known to suffer when user memory is read in the sampling
 * interrupt, as a sentence; NULL: none.
 */
const char *kernel_danger(void);

/*
 * The same of a kernel with this release and version (as in uname -r and -v), and this signature
 * (/proc/version_signature, Ubuntu's; may be empty).
 */
const char *kernel_danger_of(const char *release, const char *version, const char *signature);

#endif
