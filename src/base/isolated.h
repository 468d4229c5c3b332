/*
 * Runs a function in a child process of its own, for work on other people's bytes with a library
 * that may crash, hang or eat memory over them. What it writes comes back through a pipe.
 *
 * The child is a copy of us without our descriptors, capabilities and signal handlers, in a session
 * of its own: what is typed at the terminal does not end it, but our end does. It can't add to
 * files, can't be traced by the user that it has become, and can't start processes unless it stays
 * root. Where memory runs out, the kernel ends it before others. It still sees a copy of our
 * memory, and the network: it keeps accidents away, and changes to the host, not somebody who has
 * taken it over and wants to know what we know.
 *
 * Other threads may run meanwhile: glibc makes malloc() usable after a fork. Other locks that they
 * hold at that moment (of a stdio stream, of ours) stay locked in the child: work() must not need
 * them.
 */
#ifndef STOOK_BASE_ISOLATED_H
#define STOOK_BASE_ISOLATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define ISOLATION_MAX_FDS 8

struct isolation {
	uint64_t timeout_ns;   /* until the child is killed; 0: at once */
	int stop_fd;	       /* the child is killed when this can be read; 0 or -1: nothing is */
	uint64_t memory_bytes; /* of address space; 0: no limit */
	int root_fd;	       /* a folder to be the child's root; -1: ours. Needs CAP_SYS_CHROOT */
	uid_t uid;	       /* who the child is, where we may choose; (uid_t)-1: as we are */
	gid_t gid;
	const int *fds; /* what stays open for work(), under the same numbers; all else is closed */
	size_t nr_fds;	/* at most ISOLATION_MAX_FDS */
	/* The work is of our own choosing and may do what we may: only its time is limited. */
	bool is_trusted;
};

/*
 * work() gets the writing end of the pipe and returns 0 or a negative errno. take() is handed what
 * comes, in pieces; a negative result of it ends the child. Returns take()'s or work()'s result;
 * -ETIME past the time, -ECANCELED because of stop_fd, -EFAULT if the child died of a signal;
 * -EPERM, with the capability by name, if it could not give up what it should not have. The child
 * is gone then. No signal of ours ends the waiting by itself.
 */
int isolated_run(int (*work)(void *context, int fd),
		 int (*take)(void *context, const void *bytes, size_t nr), void *context,
		 const struct isolation *limits, struct error *error);

#endif
