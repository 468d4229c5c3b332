/*
 * The rights of processes that parse foreign bytes: a user of their own, and a few dozen system calls; and of the one
 * that uses the network.
 */
#ifndef STOOK_WORKER_CONFINE_H
#define STOOK_WORKER_CONFINE_H

#include <sys/types.h>

#include "base/error.h"

enum confined {
	CONFINED_PARSER,  /* opening a file raises SIGSYS, so that a handler can serve it */
	CONFINED_COMMAND, /* see worker/sandbox.h: may also write to streams */
	CONFINED_SERVER, /* may also accept connections, and fork processes that confine themselves further */
};

/*
 * Chooses a user id that no other process has, from the range that systemd reserves for dynamic users; the
 * overflow id if that is not mapped; else -1: no change. A process that keeps its user has no capabilities either,
 * and cannot open files.
 */
uid_t confine_user(void);

/*
 * From now on, any other system call kills this process, and so do mapping executable memory and, except in a server, a
 * signal to another process. 0 or a negative errno.
 */
int confine_system_calls(enum confined kind, struct error *error);

/*
 * From now on this process, a client of servers by way of libraries that make many system calls, can start no other
 * processes, and makes none of the calls that it does not need and that bugs of the kernel have often been in: they
 * fail. If the kernel has Landlock, it can also create and write files only below `folder` (NULL: nowhere). 0 or a
 * negative errno.
 */
int confine_client(const char *folder, struct error *error);

#endif
