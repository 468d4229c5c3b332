/* By what means a probe is attached: chosen by its kind and by what the kernel has. Pure. */
#ifndef STOOK_PROBE_ATTACH_PROBE_HOOK_H
#define STOOK_PROBE_ATTACH_PROBE_HOOK_H

#include "probe/attach/probe_features.h"
#include "probe/expression/probe_list.h"

/* Each has a program of its own (bpf/probe.bpf.h, PROBE_PROGRAMS). */
enum probe_hook {
	HOOK_UPROBE_MULTI, /* NAME_cookie, expected attach type 48 */
	HOOK_KPROBE_MULTI, /* NAME_kernel_cookie, expected attach type 42 */
	HOOK_UPROBE_EVENT, /* NAME_user_place */
	HOOK_KPROBE_EVENT, /* NAME_kernel_place */
	HOOK_TRACEPOINT,   /* NAME_tracepoint, copied for each probe with its number inside */
	HOOK_FENTRY,	   /* NAME_entry, likewise */
	HOOK_FEXIT,	   /* NAME_exit, likewise */
	NR_PROBE_HOOKS
};

/* How this probe is attached on a kernel with these features; or -EOPNOTSUPP and why not. */
int probe_hook_choose(const struct probe *probe, const struct probe_features *features,
		      const char **ret_why);

#endif
