/*
 * Choosing how a probe is attached: a table of what each means can do, the best first.
 *
 * Many places on one event are told apart by where they are. The return of a kernel function has no
 * such place (the program sees the trampoline's address), so kprobe events are for calls alone.
 *
 * fentry costs less at each hit than a kprobe, but letting go of a function costs the kernel 20 ms
 * with kprobes and 130 ms with fentry (Linux 6.1), and it takes thousands of them.
 */
#include "probe/attach/probe_hook.h"

#include <errno.h>

#include "base/array.h"

#define CALLS	1u
#define RETURNS 2u

static const struct means {
	enum probe_kind kind;
	unsigned when;
	bool inside;	  /* also behind a function's first instruction */
	bool needs_place; /* the address must be known */
	enum probe_feature feature;
	enum probe_hook hook;
} means[] = {
	{PROBE_USER, CALLS | RETURNS, true, false, PROBE_FEATURE_UPROBE_MULTI, HOOK_UPROBE_MULTI},
	{PROBE_USER, CALLS | RETURNS, true, false, PROBE_FEATURE_UPROBE_EVENT, HOOK_UPROBE_EVENT},
	{PROBE_KERNEL, CALLS | RETURNS, false, false, PROBE_FEATURE_KPROBE_MULTI,
	 HOOK_KPROBE_MULTI},
	{PROBE_KERNEL, CALLS, true, true, PROBE_FEATURE_KPROBE_EVENT, HOOK_KPROBE_EVENT},
	{PROBE_KERNEL, CALLS, false, false, PROBE_FEATURE_FENTRY, HOOK_FENTRY},
	{PROBE_KERNEL, RETURNS, false, false, PROBE_FEATURE_FENTRY, HOOK_FEXIT},
};

static bool can_do(const struct means *candidate, const struct probe *probe)
{
	enum probe_kind kind = probe->kind == PROBE_USDT ? PROBE_USER : probe->kind;
	bool is_inside = kind == PROBE_KERNEL && probe->offset;

	return candidate->kind == kind && candidate->when & (probe->is_return ? RETURNS : CALLS) &&
	       (candidate->inside || !is_inside) && (!candidate->needs_place || probe->address);
}

static bool is_forbidden(const struct probe_features *features, enum probe_feature feature)
{
	int why = features->why[feature];

	return why == -EPERM || why == -EACCES;
}

static const char *why_not_user(const struct probe_features *features)
{
	return is_forbidden(features, PROBE_FEATURE_UPROBE_EVENT)
		       ? "this kernel does not let us have uprobes"
		       : "this kernel has no uprobes";
}

/* Of a whole function's calls, on a kernel without kprobes. */
static const char *why_no_call(const struct probe_features *features)
{
	if (is_forbidden(features, PROBE_FEATURE_KPROBE_EVENT))
		return "this kernel lets us have neither kprobes nor fentry";
	if (is_forbidden(features, PROBE_FEATURE_FENTRY))
		return "neither kprobes nor fentry: this kernel has not the first, and does not "
		       "let "
		       "us load programs for the second (EPERM: lockdown or a security policy?)";
	return "this kernel has neither kprobes nor fentry";
}

static const char *why_not(const struct probe *probe, const struct probe_features *features)
{
	if (probe->kind != PROBE_KERNEL)
		return why_not_user(features);
	if (probe->is_return && probe->offset)
		return "only a whole function returns";
	if (probe->is_return && is_forbidden(features, PROBE_FEATURE_FENTRY))
		return "probing the returns of kernel functions needs kprobe_multi (Linux 5.18), "
		       "which this kernel has not, or fexit programs, which it does not let us "
		       "load (EPERM: lockdown or a security policy?)";
	if (probe->is_return)
		return "probing the returns of kernel functions needs kprobe_multi (Linux 5.18) or "
		       "fexit, which this kernel has not";
	if (features->has[PROBE_FEATURE_KPROBE_EVENT])
		return "the kernel hides its addresses (sysctl kernel.kptr_restrict)";
	return probe->offset
		       ? "inside of functions only kprobes can be put, which this kernel has not"
		       : why_no_call(features);
}

int probe_hook_choose(const struct probe *probe, const struct probe_features *features,
		      const char **ret_why)
{
	size_t i;

	if (probe->kind == PROBE_TRACEPOINT)
		return HOOK_TRACEPOINT;
	for (i = 0; i < ARRAY_SIZE(means); i++)
		if (features->has[means[i].feature] && can_do(&means[i], probe))
			return means[i].hook;
	*ret_why = why_not(probe, features);
	return -EOPNOTSUPP;
}
