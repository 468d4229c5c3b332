/*
 * What this kernel has for attaching probes, and by which of these means a probe is attached. Each
 * feature is found by trying, where trying does no harm, once per run.
 */
#ifndef STOOK_PROBE_ATTACH_PROBE_FEATURES_H
#define STOOK_PROBE_ATTACH_PROBE_FEATURES_H

#include <stdbool.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"

/* id, name (for --without and doctor), what it is, and what is done without it. */
#define PROBE_FEATURES(X)                                                                   \
	X(UPROBE_MULTI, "uprobe_multi", "one link for many user functions (Linux 6.6)",     \
	  "one tracefs event with many places")                                             \
	X(UPROBE_PID, "uprobe_pid", "such links can be for one process alone (Linux 6.10)", \
	  "others that run the same file are slowed down too, and filtered out")            \
	X(KPROBE_MULTI, "kprobe_multi", "one link for many kernel functions (Linux 5.18)",  \
	  "one tracefs event with many places, or fentry")                                  \
	X(FENTRY, "fentry", "calls from both ends of kernel functions (Linux 5.5)",         \
	  "kprobes, which can't tell returns apart")                                        \
	X(KPROBE_EVENT, "kprobe_event", "kprobes, through tracefs", "fentry")               \
	X(UPROBE_EVENT, "uprobe_event", "uprobes, through tracefs", "no user functions")

enum probe_feature {
#define X(id, name, what, without) PROBE_FEATURE_##id,
	PROBE_FEATURES(X)
#undef X
		NR_PROBE_FEATURES
};

struct probe_features {
	bool has[NR_PROBE_FEATURES];
	int why[NR_PROBE_FEATURES]; /* what is missing: a negative errno; 0: nobody has tried */
};

/* without: a bit for each feature (1 << enum probe_feature) to be taken as missing. */
void probe_features_find(struct probe_features *ret, unsigned without);

const char *probe_feature_name(enum probe_feature feature);

/* --- the choice of means ---------------------------------------------------------------------- */

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
