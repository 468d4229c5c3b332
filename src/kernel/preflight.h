/* Privileges, and checks before anything is loaded: BTF, and kernels that sampling can crash. */
#ifndef STOOK_KERNEL_PREFLIGHT_H
#define STOOK_KERNEL_PREFLIGHT_H

#include "base/error.h"

/*
 * Returns 0, or -EPERM or -ENOTSUP with an error that names what is missing and what to do about
 * it.
 */
int privileges_check(struct error *error);

/*
 * Gives up all capabilities but those that a run still needs once its events and probes are there, also for helper
 * processes that are started later. Without an effect for ordinary users, who have no others. Not possible: they stay.
 */
void privileges_drop(void);

/*
 * Returns a sentence on the known damage that reading user memory in the sampling interrupt does to
 * the running kernel; NULL: none known.
 */
const char *kernel_danger(void);

/*
 * Like kernel_danger(), for a kernel with this release and version (uname -r and -v) and signature
 * (/proc/version_signature, on Ubuntu; may be empty).
 */
const char *kernel_danger_of(const char *release, const char *version, const char *signature);

#endif
