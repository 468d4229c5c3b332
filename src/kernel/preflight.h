/*
 * Kernels on which reading user memory in the sampling interrupt is known to bring the host down.
 * The one place where versions are compared: a freeze can't be probed for.
 */
#ifndef STOOK_KERNEL_PREFLIGHT_H
#define STOOK_KERNEL_PREFLIGHT_H

/* What is known to happen on the running kernel, as a sentence; NULL: nothing is. */
const char *kernel_danger(void);

/*
 * The same of a kernel with this release and version (as in uname -r and -v), and this signature
 * (/proc/version_signature, Ubuntu's; may be empty).
 */
const char *kernel_danger_of(const char *release, const char *version, const char *signature);

#endif
