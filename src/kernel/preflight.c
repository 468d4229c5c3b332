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

/* --- privileges --------------------------------------------------------------------------------- */

#define BTF_PATH "/sys/kernel/btf/vmlinux"

static const struct {
	unsigned number;
	const char *name, *what_for;
} needed[] = {
	{CAP_BPF, "CAP_BPF", "load BPF programs"},
	{CAP_PERFMON, "CAP_PERFMON", "sample all processes"},
};

int privileges_check(struct error *error)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	uint64_t have = UINT64_MAX; /* if capget() fails, leave the decision to the kernel */
	char missing[200] = "";
	size_t i;

	if (syscall(SYS_capget, &header, data) == 0)
		have = (uint64_t)data[1].effective << 32 | data[0].effective;
	if (have & 1ULL << CAP_SYS_ADMIN)
		have = UINT64_MAX; /* CAP_SYS_ADMIN includes both */
	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		size_t used = strlen(missing);

		if (!(have & 1ULL << needed[i].number))
			(void)snprintf(missing + used, sizeof(missing) - used, "%s%s (to %s)",
				       used ? " and " : "", needed[i].name, needed[i].what_for);
	}
	if (*missing) {
		(void)error_set(error, -EPERM, "not permitted: %s missing", missing);
		error_hint(
			error,
			"run with sudo, or with these capabilities: CAP_BPF CAP_PERFMON, and "
			"CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_CHECKPOINT_RESTORE CAP_SYSLOG for "
			"names; sysctl kernel.unprivileged_bpf_disabled and "
			"kernel.perf_event_paranoid do not replace them");
		return -EPERM;
	}
	if (access(BTF_PATH, R_OK) == 0)
		return 0;
	(void)error_set(error, -ENOTSUP, "this kernel has no BTF: cannot read %s", BTF_PATH);
	error_hint(error, "a kernel built with CONFIG_DEBUG_INFO_BTF is needed, and /sys mounted");
	return -ENOTSUP;
}

/*
 * The first six are all that an ordinary user needs. The others are root's: to give helper processes another user and
 * root directory, to signal JVMs, to write outputs everywhere, and to change priorities.
 */
static const unsigned kept[] = {
	CAP_BPF,    CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE,
	CAP_SYSLOG, CAP_SETUID,	 CAP_SETGID,	 CAP_SYS_CHROOT,      CAP_KILL,
	CAP_CHOWN,  CAP_FOWNER,	 CAP_FSETID,	 CAP_DAC_OVERRIDE,    CAP_SYS_NICE,
};

void privileges_drop(void)
{
	uint64_t keep = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kept); i++)
		keep |= 1ULL << kept[i];
	isolated_keep_capabilities(keep, 1ULL << CAP_BPF | 1ULL << CAP_PERFMON);
}

/* --- dangerous kernels -------------------------------------------------------------------------- */

/* Affected versions: first <= version < fixed, each as major << 16 | minor << 8 | patch. */
#define V(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))

/*
 * Since 5.19, copying from user memory checks the destination under a lock that the interrupted
 * code may hold ("mm/usercopy: Detect vmalloc overruns"). Fixed in 6.4 by "mm: Fix
 * copy_from_user_nofault()", which went into the stable kernels of that summer.
 */
static const struct {
	unsigned first, fixed;
} freezes[] = {
	{V(5, 19, 0), V(6, 1, 37)}, /* 5.19 and 6.0 never got the fix */
	{V(6, 2, 0), V(6, 3, 11)},  /* neither did 6.2 */
};

#define FREEZES "this kernel can lock up when user memory is read in a sampling interrupt"
#define CRASHES "this kernel can crash when user stacks are walked in a sampling interrupt"

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

const char *kernel_danger_of(const char *release, const char *version, const char *signature)
{
	unsigned number = true_version(release, version, signature);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(freezes); i++)
		if (number >= freezes[i].first && number < freezes[i].fixed)
			return FREEZES;
	if (!strncmp(signature, "Ubuntu ", strlen("Ubuntu ")) &&
	    !strncmp(release, "6.11.0-19-", strlen("6.11.0-19-")))
		return CRASHES;
	return NULL;
}

const char *kernel_danger(void)
{
	cleanup_file FILE *file = fopen("/proc/version_signature", "re");
	char signature[256] = "";
	struct utsname name;

	if (file && fgets(signature, sizeof(signature), file))
		signature[strcspn(signature, "\n")] = '\0';
	if (uname(&name) < 0)
		return NULL;
	return kernel_danger_of(name.release, name.version, signature);
}
