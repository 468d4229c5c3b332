/* Privileges, and checks before anything is loaded: BTF, and kernels that sampling can crash. */
#ifndef STOOK_KERNEL_PREFLIGHT_H
#define STOOK_KERNEL_PREFLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum privilege_use {
	PRIVILEGE_NEEDED, /* CAP_SYS_ADMIN includes it */
	PRIVILEGE_NAMES,
	PRIVILEGE_ROOT,
};

/* A capability that Stook uses, and so keeps: see privileges_drop(). */
struct privilege {
	unsigned number;
	const char *name;
	enum privilege_use use;
	const char *what_for; /* "load BPF programs" */
	const char *without;  /* what is lost without it */
};

const struct privilege *privilege_get(size_t i); /* NULL past the last one */
bool privilege_is_held(const struct privilege *privilege);

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

/* Likewise, the known damage that programs do which send data from inside the scheduler, or a lock of the kernel. */
const char *kernel_send_danger_of(const char *release, const char *version, const char *signature);

/* Refuses to do that on a kernel with such damage: 0 or a negative errno. */
int kernel_check_sending(struct error *error);

#endif
