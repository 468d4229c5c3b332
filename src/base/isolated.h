/*
 * Runs a function in a child process, to parse untrusted bytes with a library that may crash, hang
 * or use up memory on them. The child's output comes back through a pipe.
 *
 * The child is a fork without our descriptors, capabilities and signal handlers, in a session of
 * its own: signals from the terminal don't reach it, but it is killed when the parent exits. It
 * can't extend files, can't be traced by the user it runs as, and can't start processes unless it
 * stays root. If memory runs out, the OOM killer ends it first. It can still read its copy of our
 * memory, and use the network: the isolation prevents accidents and changes to the host, but does
 * not keep an attacker who controls the child from reading our data.
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

#define ISOLATION_MAX_FDS 32

struct isolation {
	uint64_t timeout_ns; /* after that the child is killed; 0: immediately; UINT64_MAX: never */
	int stop_fd;	     /* when readable, the child is killed; 0 or -1: none */
	uint64_t memory_bytes; /* limit of address space; 0: no limit */
	int root_fd;	       /* the child's root directory; -1: ours. Needs CAP_SYS_CHROOT */
	uid_t uid;	       /* the child's user if we may change it; (uid_t)-1: unchanged */
	gid_t gid;
	const int *fds; /* descriptors kept for work(), same numbers; others are closed */
	size_t nr_fds;	/* at most ISOLATION_MAX_FDS */
	/* The work is our own and keeps our privileges: only its time is limited. */
	bool is_trusted;
	uint64_t written_bytes; /* how long it may make a file; 0: it can't add to files */
	bool keeps_signals;	/* dispositions and the mask of signals stay */
	bool may_fork;
};

/*
 * Drops the rights of this process as isolated_run() does for work(), and makes it exit with its parent. The
 * session stays; stop_fd is ignored. 0 or a negative errno.
 */
int isolated_confine(const struct isolation *limits, struct error *error);

/*
 * Gives up all capabilities but `keep`, a set of bits, for this process and those that it executes. CAP_SYS_ADMIN stays
 * if one of `instead_of_admin` is not there, which it then stands for. Not possible: all stay.
 */
void isolated_keep_capabilities(uint64_t keep, uint64_t instead_of_admin);

/* Closes all descriptors from `first` on; or all but these, at most ISOLATION_MAX_FDS. */
void isolated_close_from(int first);
void isolated_close_others(const int *fds, size_t nr);

/* AddressSanitizer's shadow memory counts as address space. */
#if defined(__SANITIZE_ADDRESS__)
#define ISOLATED_HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ISOLATED_HAS_SHADOW 1
#endif
#endif
#ifndef ISOLATED_HAS_SHADOW
#define ISOLATED_HAS_SHADOW 0
#endif

/*
 * work() gets the write end of the pipe and returns 0 or a negative errno. take() is called with
 * each piece of its output; a negative result kills the child. Returns take()'s or work()'s result;
 * -ETIME on timeout, -ECANCELED because of stop_fd, -EFAULT if the child was killed by a signal;
 * -EPERM, with the name of the capability, if privileges could not be dropped. The child has exited
 * on return, unless it cannot be killed: it is abandoned then, and left to the kernel. Signals we receive
 * do not interrupt the waiting.
 */
int isolated_run(int (*work)(void *context, int fd),
		 int (*take)(void *context, const void *bytes, size_t nr), void *context,
		 const struct isolation *limits, struct error *error);

#endif
