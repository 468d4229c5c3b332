/*
 * Detects the kernel's mechanisms for attaching probes, and chooses one for each probe. Features
 * are detected by trying them, once per run, where a try does no harm.
 */
#ifndef STOOK_PROBE_ATTACH_PROBE_FEATURES_H
#define STOOK_PROBE_ATTACH_PROBE_FEATURES_H

#include <stdbool.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"

/* id, name (for --without and doctor), description, and the fallback. */
#define PROBE_FEATURES(X)                                                                     \
	X(UPROBE_MULTI, "uprobe_multi", "one link for many user functions (Linux 6.6)",       \
	  "one tracefs event with many places")                                               \
	X(UPROBE_PID, "uprobe_pid", "uprobe_multi links for a single process (Linux 6.10)",   \
	  "other processes that run the file pay for the probe too; their hits are filtered") \
	X(KPROBE_MULTI, "kprobe_multi", "one link for many kernel functions (Linux 5.18)",    \
	  "one tracefs event with many places, or fentry")                                    \
	X(FENTRY, "fentry", "trampolines at entry and exit of kernel functions (Linux 5.5)",  \
	  "kprobes, which cannot distinguish returns")                                        \
	X(KPROBE_EVENT, "kprobe_event", "kprobes, through tracefs", "fentry")                 \
	X(UPROBE_EVENT, "uprobe_event", "uprobes, through tracefs", "no user functions")

enum probe_feature {
#define X(id, name, what, without) PROBE_FEATURE_##id,
	PROBE_FEATURES(X)
#undef X
		NR_PROBE_FEATURES
};

struct probe_features {
	bool has[NR_PROBE_FEATURES];
	int why[NR_PROBE_FEATURES]; /* a negative errno; 0: available or not tried */
};

/*
 * Detects the features. without: a bit (1 << enum probe_feature) for each to be treated as missing.
 */
void probe_features_find(struct probe_features *ret, unsigned without);

const char *probe_feature_name(enum probe_feature feature);

/* --- choosing a mechanism --------------------------------------------------------------------- */

/* Each has its own program (bpf/probe.bpf.h, PROBE_PROGRAMS). */
enum probe_hook {
	HOOK_UPROBE_MULTI, /* NAME_cookie, expected attach type 48 */
	HOOK_KPROBE_MULTI, /* NAME_kernel_cookie, expected attach type 42 */
	HOOK_UPROBE_EVENT, /* NAME_user_place */
	HOOK_KPROBE_EVENT, /* NAME_kernel_place */
	HOOK_TRACEPOINT,   /* NAME_tracepoint, one copy per probe with its number as a constant */
	HOOK_FENTRY,	   /* NAME_entry, one copy per probe */
	HOOK_FEXIT,	   /* NAME_exit, one copy per probe */
	NR_PROBE_HOOKS
};

/*
 * Returns the enum probe_hook by which a probe is attached on a kernel with these features; or
 * -EOPNOTSUPP and the reason.
 */
int probe_hook_choose(const struct probe *probe, const struct probe_features *features,
		      const char **ret_why);

#endif
