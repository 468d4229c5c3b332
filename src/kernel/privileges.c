/*
 * What must be there before a session can begin: capabilities and BTF. Asking first gives a clear
 * sentence; the kernel's own refusal, later, would be a bare EPERM.
 */
#include "kernel/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"

static const struct {
	unsigned number;
	const char *name, *what_for;
} needed[] = {
	{CAP_BPF, "CAP_BPF", "load BPF programs"},
	{CAP_PERFMON, "CAP_PERFMON", "sample all processes"},
};

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return UINT64_MAX; /* let the kernel decide */
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static int check_capabilities(struct error *error)
{
	uint64_t have = effective_capabilities();
	char missing[200] = "";
	size_t i;

	if (have & 1ULL << CAP_SYS_ADMIN)
		return 0; /* stands for both */
	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		size_t used = strlen(missing);

		if (!(have & 1ULL << needed[i].number))
			(void)snprintf(missing + used, sizeof(missing) - used, "%s%s (to %s)",
				       used ? " and " : "", needed[i].name, needed[i].what_for);
	}
	if (!*missing)
		return 0;
	(void)error_set(error, -EPERM, "not permitted: %s missing", missing);
	error_hint(error,
		   "run with sudo. Capabilities that suffice: CAP_BPF CAP_PERFMON, with "
		   "CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_CHECKPOINT_RESTORE CAP_SYSLOG for "
		   "names; sysctl kernel.unprivileged_bpf_disabled and "
		   "kernel.perf_event_paranoid do not stand in for them");
	return -EPERM;
}

int privileges_check(struct error *error)
{
	int err = check_capabilities(error);

	if (err < 0)
		return err;
	if (access(BTF_PATH, R_OK) == 0)
		return 0;
	(void)error_set(error, -ENOTSUP, "this kernel does not describe its types: no %s",
			BTF_PATH);
	error_hint(error, "a kernel built with CONFIG_DEBUG_INFO_BTF is needed, and /sys mounted");
	return -ENOTSUP;
}
