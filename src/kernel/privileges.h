/* Whether this host and this user can be profiled by at all, asked before anything is loaded. */
#ifndef STOOK_KERNEL_PRIVILEGES_H
#define STOOK_KERNEL_PRIVILEGES_H

#include "base/error.h"

/* 0; or -EPERM or -ENOTSUP, with what is missing by name and what to do about it. */
int privileges_check(struct error *error);

#endif
