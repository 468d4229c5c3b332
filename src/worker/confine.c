/*
 * A seccomp filter leaves a few dozen system calls that operate on memory and on open descriptors. It is made for the
 * C library that the program runs with: a call that is missing here kills the process, and must be added.
 */
#include "worker/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/isolated.h"

/*
 * True if we may become this user and group: the ids are mapped in our user namespace, and we have the
 * capabilities. setfsuid() is used because it has no other effect.
 */
static bool may_become(uid_t id)
{
	bool may;

	(void)setfsgid(id);
	(void)setfsuid(id);
	may = (uid_t)setfsuid((uid_t)-1) == id && (gid_t)setfsgid((gid_t)-1) == id;
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	return may;
}

uid_t confine_user(void)
{
	const uid_t first = 61184, last = 65519, nobody = 65534;
	uid_t own = first + (uid_t)getpid() % (last - first + 1);

	if (geteuid() != 0)
		return (uid_t)-1;
	if (may_become(own))
		return own;
	return may_become(nobody) ? nobody : (uid_t)-1;
}

/* System calls that are allowed with any arguments. */
static const int allowed[] = {
	SCMP_SYS(brk),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(close),
	SCMP_SYS(dup),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(fstat),
	SCMP_SYS(ftruncate),
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday), /* like time(): of a CPU whose clock user space cannot read */
	SCMP_SYS(lseek),
	SCMP_SYS(madvise),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(read),
	SCMP_SYS(recvmsg),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sysinfo),
	SCMP_SYS(time),
	SCMP_SYS(write),
	SCMP_SYS(writev),
#if ISOLATED_HAS_SHADOW
	/* AddressSanitizer needs these for its reports. */
	SCMP_SYS(getrlimit),
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(prctl),
	SCMP_SYS(prlimit64),
	SCMP_SYS(readlink),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sigaltstack),
#endif
};

/*
 * System calls of a server: no new sockets but accepted ones, no files but in memory. Processes that it forks raise
 * signals, too.
 */
static const int allowed_for_servers[] = {
	SCMP_SYS(accept4),	 SCMP_SYS(alarm),	    SCMP_SYS(close_range),
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),	    SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_wait),	 SCMP_SYS(getegid),	    SCMP_SYS(geteuid),
	SCMP_SYS(getgid),	 SCMP_SYS(getpeername),	    SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),	 SCMP_SYS(getuid),	    SCMP_SYS(memfd_create),
	SCMP_SYS(pipe2),	 SCMP_SYS(prlimit64),	    SCMP_SYS(readv),
	SCMP_SYS(seccomp),	 SCMP_SYS(set_robust_list), SCMP_SYS(setitimer),
	SCMP_SYS(setrlimit),	 SCMP_SYS(setsockopt),	    SCMP_SYS(shutdown),
	SCMP_SYS(tgkill),	 SCMP_SYS(uname),	    SCMP_SYS(wait4),
};

/* System calls by which libraries open files: see serve_call() in worker/serve.c. */
static const int trapped[] = {
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
};

#define CLONE_NAMESPACES                                                              \
	(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | \
	 CLONE_NEWUSER | CLONE_NEWUTS)

/* TCGETS2, by which C libraries since 2025 ask if a stream is a terminal. */
#define GET_TERMINAL 0x802c542a

/* System calls that are allowed if an argument has a value, in the bits of the mask. */
static const struct {
	int call;
	unsigned argument;
	uint64_t mask, value;
	enum confined least;
} restricted[] = {
	/* No executable memory. */
	{SCMP_SYS(mmap), 2, PROT_EXEC, 0, CONFINED_PARSER},
	{SCMP_SYS(mprotect), 2, PROT_EXEC, 0, CONFINED_PARSER},
	/* fstat() of newer C libraries, and libelf's check of a descriptor. */
	{SCMP_SYS(newfstatat), 3, UINT64_MAX, AT_EMPTY_PATH, CONFINED_PARSER},
	{SCMP_SYS(fcntl), 1, UINT64_MAX, F_GETFD, CONFINED_PARSER},
	/* Of this process only: limit_data() in worker/serve.c. */
	{SCMP_SYS(prlimit64), 0, UINT64_MAX, 0, CONFINED_PARSER},
	/* A stream that is opened for a descriptor, or is about to be written to. */
	{SCMP_SYS(fcntl), 1, UINT64_MAX, F_GETFL, CONFINED_COMMAND},
	/* Locks of a store, for which a descriptor to read is enough only if they are shared. */
	{SCMP_SYS(fcntl), 1, UINT64_MAX, F_OFD_SETLK, CONFINED_COMMAND},
	{SCMP_SYS(fcntl), 1, UINT64_MAX, F_OFD_GETLK, CONFINED_COMMAND},
	{SCMP_SYS(ioctl), 1, UINT64_MAX, TCGETS, CONFINED_COMMAND},
	{SCMP_SYS(ioctl), 1, UINT64_MAX, GET_TERMINAL, CONFINED_COMMAND},
	/* How much can be read, and that reading does not block. */
	{SCMP_SYS(ioctl), 1, UINT64_MAX, FIONREAD, CONFINED_SERVER},
	{SCMP_SYS(fcntl), 1, UINT64_MAX, F_SETFL, CONFINED_SERVER},
	/* fork(), without new namespaces; and what confines the child. */
	{SCMP_SYS(clone), 0, CLONE_NAMESPACES, 0, CONFINED_SERVER},
	{SCMP_SYS(prctl), 0, UINT64_MAX, PR_SET_PDEATHSIG, CONFINED_SERVER},
	{SCMP_SYS(prctl), 0, UINT64_MAX, PR_SET_NO_NEW_PRIVS, CONFINED_SERVER},
};

static int no_filters(struct error *error)
{
	return error_set(error, -ENOSYS, "this kernel has no filters of system calls (seccomp)");
}

/* Installs the filter, unless err says that it could not be made, and frees it. */
static int load(scmp_filter_ctx filter, int err, struct error *error)
{
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err < 0 ? error_set(error, err, "cannot install a filter of system calls: %s",
				   strerror(-err))
		       : 0;
}

int confine_system_calls(enum confined kind, struct error *error)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	const bool is_parser = kind == CONFINED_PARSER;
	size_t i;
	int err = 0;

	if (!filter)
		return no_filters(error);
	for (i = 0; i < ARRAY_SIZE(allowed) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (i = 0; i < ARRAY_SIZE(allowed_for_servers) && err == 0 && kind == CONFINED_SERVER; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed_for_servers[i], 0);
	for (i = 0; i < ARRAY_SIZE(trapped) && err == 0 && is_parser && !ISOLATED_HAS_SHADOW; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_TRAP, trapped[i], 0);
	for (i = 0; i < ARRAY_SIZE(restricted) && err == 0; i++)
		if (restricted[i].least <= kind)
			err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, restricted[i].call, 1,
					       SCMP_CMP(restricted[i].argument, SCMP_CMP_MASKED_EQ,
							restricted[i].mask, restricted[i].value));
	/* raise() and abort(). */
	if (err == 0 && kind != CONFINED_SERVER)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				       SCMP_CMP(0, SCMP_CMP_EQ, (uint64_t)getpid()));
	return load(filter, err, error);
}

/* --- a client of servers ---------------------------------------------------------------------- */

/* Other processes, namespaces, and large parts of the kernel that ordinary users can reach. */
static const int denied_to_clients[] = {
	SCMP_SYS(add_key),
	SCMP_SYS(bpf),
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(keyctl),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(ptrace),
	SCMP_SYS(request_key),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(vfork),
};

/* clone3() has its flags in memory, where no filter sees them; without it, C libraries use clone(). */
static int deny_system_calls(struct error *error)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	size_t i;
	int err = 0;

	if (!filter)
		return no_filters(error);
	for (i = 0; i < ARRAY_SIZE(denied_to_clients) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), denied_to_clients[i], 0);
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				       SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
	return load(filter, err, error);
}

/*
 * Landlock came with Linux 5.13. Not required: without it, the user id keeps the process from all but what everybody
 * can write. What it may read is not limited, since libraries for names of hosts and for TLS read files that depend
 * on the system.
 */
static void limit_writing(const char *folder)
{
	const uint64_t kept = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
			      LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
			      LANDLOCK_ACCESS_FS_MAKE_REG;
	const struct landlock_ruleset_attr limited = {
		.handled_access_fs = kept | LANDLOCK_ACCESS_FS_MAKE_CHAR |
				     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK |
				     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM,
	};
	cleanup_fd int below = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	cleanup_fd int rules =
		(int)syscall(SYS_landlock_create_ruleset, &limited, sizeof(limited), 0);
	const struct landlock_path_beneath_attr rule = {.allowed_access = kept, .parent_fd = below};

	if (below >= 0)
		(void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	(void)syscall(SYS_landlock_restrict_self, rules, 0);
}

int confine_client(const char *folder, struct error *error)
{
	limit_writing(folder);
	return deny_system_calls(error);
}
