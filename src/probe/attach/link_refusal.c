/* The kernel's refusals in words; see link_refusal.h. */
#include "probe/attach/link_refusal.h"

#include <errno.h>
#include <string.h>

#define ENOTSUPP 524 /* the kernel's own, which leaks out of some of its calls */

static bool is_user(enum probe_hook hook)
{
	return hook == HOOK_UPROBE_MULTI || hook == HOOK_UPROBE_EVENT;
}

static bool is_traced(enum probe_hook hook)
{
	return hook == HOOK_FENTRY || hook == HOOK_FEXIT;
}

static bool is_general(enum probe_hook hook, int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOSYS:
	case -EINTR:
	case -EFAULT:
		return true;
	case -ESRCH: /* of user code: the process; of the kernel: the function */
		return is_user(hook);
	default:
		return false;
	}
}

const char *link_refusal(enum probe_hook hook, int err)
{
	if (is_general(hook, err))
		return NULL;
	if (hook == HOOK_KPROBE_EVENT && (err == -EEXIST || err == -EADDRNOTAVAIL))
		return "kprobes can't tell it from another function of its name";
	if (is_traced(hook) && err == -EBUSY)
		return "the kernel has no place for fentry there";
	switch (err) {
	case -EEXIST:
	case -EBUSY:
		return "it is probed already, in a way that allows no other";
	case -E2BIG:
	case -ENOSPC:
		return "too many probe it already";
	case -EIO:
		return "its code can't be read";
	case -ENOENT:
	case -ESRCH:
		return "the kernel does not find it";
	case -EINVAL:
	case -ENOTSUPP:
	case -EOPNOTSUPP:
	case -EILSEQ:
		return is_user(hook) ? "the kernel can't put a probe on this instruction"
				     : "the kernel allows no probe there";
	default:
		return strerror(-err);
	}
}

int link_failure(enum probe_hook hook, int err, size_t nr, struct error *error)
{
	(void)error_set(error, err, "cannot attach %zu probe%s: %s", nr, nr == 1 ? "" : "s",
			err == -ESRCH ? "the process is gone" : strerror(-err));
	if (err == -EPERM || err == -EACCES)
		error_hint(error, "run as root, or with CAP_BPF and CAP_PERFMON; tracefs and the "
				  "code of others need CAP_SYS_ADMIN on some kernels; if you have "
				  "them, a security module or lockdown forbids it");
	else if (err == -EMFILE || err == -ENFILE)
		error_hint(error, hook == HOOK_UPROBE_MULTI || hook == HOOK_KPROBE_MULTI
					  ? "raise the limit of open files: ulimit -n"
					  : "each of these probes needs an open file: raise the "
					    "limit (ulimit -n), or choose fewer");
	else if (err == -ENOMEM)
		error_hint(error, "choose fewer probes");
	return err;
}
