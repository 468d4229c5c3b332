/*
 * Capabilities and BTF are checked before a session begins. An early check gives a clear message;
 * the kernel's own refusal, later, would be a bare EPERM.
 *
 * Kernels on which reading user memory in the sampling interrupt is known to bring the host down
 * are recognised by version. This is the only place where versions are compared: a lock-up cannot
 * be probed for. Distributions keep the release at x.y.0 and give the upstream version elsewhere:
 * Debian in the version ("#1 SMP Debian 6.1.27-1 (2023-05-08)"), Ubuntu in a file of its own
 * ("Ubuntu 6.2.0-26.26-generic 6.2.13"). If the upstream version is unknown, the release is
 * compared, which errs on the safe side.
 */
#include "kernel/preflight.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/isolated.h"
#include "kernel/perf_open.h"
#include "proc/process_info.h"

/* --- privileges --------------------------------------------------------------------------------- */

#define BTF_PATH "/sys/kernel/btf/vmlinux"

/*
 * In order of importance. Those for names are all that an ordinary user needs besides; root's are to give helper
 * processes another user and root directory, to signal JVMs, to write outputs everywhere, and to change priorities.
 */
static const struct privilege privileges[] = {
#define ROW(name, use, what_for, without)                                    \
	{                                                                    \
		CAP_##name, "CAP_" #name, PRIVILEGE_##use, what_for, without \
	}
	ROW(BPF, NEEDED, "load BPF programs", "nothing can be profiled"),
	ROW(PERFMON, NEEDED, "sample all processes", "nothing can be profiled"),
	ROW(SYS_PTRACE, NAMES, "open the files that other users' processes have mapped",
	    "no names in deleted files and in containers; on older kernels, none in other users' "
	    "processes"),
	ROW(DAC_READ_SEARCH, NAMES, "read the files of other users",
	    "no names, and truncated stacks, in files that only their owner can read"),
	ROW(CHECKPOINT_RESTORE, NAMES, "open files through their mappings",
	    "no names in deleted files and in containers"),
	ROW(SYSLOG, NAMES, "read the addresses in /proc/kallsyms",
	    "before Linux 5.13, no names of kernel functions"),
	ROW(SETUID, ROOT, "give helper processes a user of their own",
	    "they keep the user, without capabilities; --java only for processes of the same user, "
	    "and no debuginfod server is asked"),
	ROW(SETGID, ROOT, "give helper processes a group of their own",
	    "they keep the user, without capabilities; --java only for processes of the same user, "
	    "and no debuginfod server is asked"),
	ROW(SYS_CHROOT, ROOT, "ask JVMs in containers for names", "--java does not ask them"),
	ROW(KILL, ROOT, "end helper processes that hang",
	    "they stay as long as they hang, even after the run"),
	ROW(DAC_OVERRIDE, ROOT, "write outputs to directories of other users",
	    "such outputs cannot be written"),
	ROW(CHOWN, ROOT,
	    "keep the owners of outputs that are replaced, and make debuginfod's cache",
	    "such outputs become root's; no debuginfod server is asked, unless the cache is there"),
	ROW(FOWNER, ROOT, "replace outputs of other users in sticky directories",
	    "they cannot be replaced"),
	ROW(SYS_NICE, ROOT, "read the buffers at a high priority",
	    "samples may be lost on an overloaded host"),
#undef ROW
};

const struct privilege *privilege_get(size_t i)
{
	return i < ARRAY_SIZE(privileges) ? &privileges[i] : NULL;
}

/* If capget() fails, the decision is the kernel's. */
static uint64_t effective(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, data) < 0
		       ? UINT64_MAX
		       : (uint64_t)data[1].effective << 32 | data[0].effective;
}

bool privilege_is_held(const struct privilege *privilege)
{
	const uint64_t have = effective();
	const bool is_included = privilege->use == PRIVILEGE_NEEDED && have & 1ULL << CAP_SYS_ADMIN;

	return is_included || have & 1ULL << privilege->number;
}

/* Appends the names of all capabilities with this use, as a list of words. */
static void list_names(enum privilege_use use, char *text, size_t bytes)
{
	size_t i, used;

	for (i = 0; i < ARRAY_SIZE(privileges); i++) {
		used = strlen(text);
		if (privileges[i].use == use)
			(void)snprintf(text + used, bytes - used, "%s%s", used ? " " : "",
				       privileges[i].name);
	}
}

static int refuse(const char *missing, struct error *error)
{
	char needed[100] = "", names[200] = "";

	list_names(PRIVILEGE_NEEDED, needed, sizeof(needed));
	list_names(PRIVILEGE_NAMES, names, sizeof(names));
	(void)error_set(error, -EPERM, "not permitted: %s missing", missing);
	error_hint(error,
		   "run with sudo, or with these capabilities: %s, and %s for names; sysctl "
		   "kernel.unprivileged_bpf_disabled and kernel.perf_event_paranoid do not replace "
		   "them",
		   needed, names);
	return -EPERM;
}

int privileges_check(struct error *error)
{
	char missing[200] = "";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(privileges); i++) {
		const struct privilege *privilege = &privileges[i];
		size_t used = strlen(missing);

		if (privilege->use == PRIVILEGE_NEEDED && !privilege_is_held(privilege))
			(void)snprintf(missing + used, sizeof(missing) - used, "%s%s (to %s)",
				       used ? " and " : "", privilege->name, privilege->what_for);
	}
	if (*missing)
		return refuse(missing, error);
	if (process_own_userns()) {
		(void)error_set(
			error, -EPERM,
			"not permitted: the capabilities are those of a user namespace, and do "
			"not count for BPF and perf events");
		error_hint(error, "run on the host, or in a container without a user namespace of "
				  "its own");
		return -EPERM;
	}
	if (access(BTF_PATH, R_OK) == 0)
		return 0;
	(void)error_set(error, -ENOTSUP, "this kernel has no BTF: cannot read %s", BTF_PATH);
	error_hint(error, "a kernel built with CONFIG_DEBUG_INFO_BTF is needed, and /sys mounted");
	return -ENOTSUP;
}

/*
 * True if events cannot be opened without CAP_SYS_ADMIN: Debian's kernels do not accept CAP_PERFMON if
 * kernel.perf_event_paranoid is 3, their default.
 */
static bool events_need_admin(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	};
	cleanup_fd int fd = -1;
	bool needs_admin;

	if (syscall(SYS_capget, &header, data) < 0 || !(data[0].effective & 1U << CAP_SYS_ADMIN))
		return false;
	data[0].effective &= ~(1U << CAP_SYS_ADMIN);
	if (syscall(SYS_capset, &header, data) < 0)
		return false;
	fd = perf_open(&attr, perf_any_cpu());
	needs_admin = fd < 0 && (errno == EACCES || errno == EPERM);
	data[0].effective |= 1U << CAP_SYS_ADMIN;
	(void)syscall(SYS_capset, &header, data);
	return needs_admin;
}

void privileges_drop(void)
{
	uint64_t keep = events_need_admin() ? 1ULL << CAP_SYS_ADMIN : 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(privileges); i++)
		keep |= 1ULL << privileges[i].number;
	isolated_keep_capabilities(keep, 1ULL << CAP_BPF | 1ULL << CAP_PERFMON);
}

/* --- dangerous kernels -------------------------------------------------------------------------- */

/* Affected versions: first <= version < fixed, each as major << 16 | minor << 8 | patch. */
#define V(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))

struct versions {
	unsigned first, fixed;
};

/*
 * Since 5.19, copying from user memory checks the destination under a lock that the interrupted
 * code may hold ("mm/usercopy: Detect vmalloc overruns"). Fixed in 6.4 by "mm: Fix
 * copy_from_user_nofault()", which went into the stable kernels of that summer.
 */
static const struct versions freezes[] = {
	{V(5, 19, 0), V(6, 1, 37)}, /* 5.19 and 6.0 never got the fix */
	{V(6, 2, 0), V(6, 3, 11)},  /* neither did 6.2 */
};

/*
 * With PREEMPT_RT, the lock of a BPF ring buffer could sleep, until 6.12, "bpf: Use raw_spinlock_t in ringbuf": a
 * thread that waits for it is switched away, for which it needs the lock of the run queue, which it holds already.
 */
static const struct versions sleeps[] = {
	{V(0, 0, 1), V(6, 1, 115)},
	{V(6, 2, 0), V(6, 6, 84)},
	{V(6, 7, 0), V(6, 11, 6)},
};

#define FREEZES "this kernel can lock up when user memory is read in a sampling interrupt"
#define CRASHES "this kernel can crash when user stacks are walked in a sampling interrupt"
#define SLEEPS                                                                             \
	"this real-time kernel can lock up when a BPF program sends data from inside the " \
	"scheduler"

static unsigned parse(const char *text)
{
	unsigned major = 0, minor = 0, patch = 0;

	if (sscanf(text, "%u.%u.%u", &major, &minor, &patch) < 2)
		return 0;
	return V(major, minor, patch > 255 ? 255 : patch);
}

static unsigned true_version(const char *release, const char *version, const char *signature)
{
	const char *debian = strstr(version, " Debian ");
	const char *last = strrchr(signature, ' ');

	if (debian)
		return parse(debian + strlen(" Debian "));
	if (!strncmp(signature, "Ubuntu ", strlen("Ubuntu ")) && last)
		return parse(last + 1);
	return parse(release);
}

static bool is_one_of(const struct versions *versions, size_t nr, unsigned number)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (number >= versions[i].first && number < versions[i].fixed)
			return true;
	return false;
}

const char *kernel_danger_of(const char *release, const char *version, const char *signature)
{
	if (is_one_of(freezes, ARRAY_SIZE(freezes), true_version(release, version, signature)))
		return FREEZES;
	if (!strncmp(signature, "Ubuntu ", strlen("Ubuntu ")) &&
	    !strncmp(release, "6.11.0-19-", strlen("6.11.0-19-")))
		return CRASHES;
	return NULL;
}

const char *kernel_send_danger_of(const char *release, const char *version, const char *signature)
{
	if (strstr(version, " PREEMPT_RT") &&
	    is_one_of(sleeps, ARRAY_SIZE(sleeps), true_version(release, version, signature)))
		return SLEEPS;
	return NULL;
}

static const char *ask(const char *(*danger_of)(const char *release, const char *version,
						const char *signature))
{
	cleanup_file FILE *file = fopen("/proc/version_signature", "re");
	char signature[256] = "";
	struct utsname name;

	if (file && fgets(signature, sizeof(signature), file))
		signature[strcspn(signature, "\n")] = '\0';
	if (uname(&name) < 0)
		return NULL;
	return danger_of(name.release, name.version, signature);
}

const char *kernel_danger(void)
{
	return ask(kernel_danger_of);
}

int kernel_check_sending(struct error *error)
{
	const char *danger = ask(kernel_send_danger_of);

	if (!danger)
		return 0;
	(void)error_set(error, -EPERM, "%s", danger);
	error_hint(error, "install Linux 6.12, 6.11.6, 6.6.84, 6.1.115 or a newer one of these; "
			  "profile and sched go on anyway with --force");
	return -EPERM;
}
