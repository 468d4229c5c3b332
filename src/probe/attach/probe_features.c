/*
 * Detects the kernel's mechanisms for attaching probes, and chooses among them.
 *
 * Multi links are tried with an invalid pointer: a kernel that supports them reads the pointer and
 * returns EFAULT, any other fails earlier with another error. fentry is tried by attaching for a
 * moment, because arm64 kernels before 6.x load such programs and then fail to attach them.
 */
#include "probe/attach/probe_features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probe/attach/link.h"
#include "proc/tracefs.h"

/* --- trying ----------------------------------------------------------------------------------- */

/* Exists in every kernel, is not inlined, and can be probed. */
#define SOME_FUNCTION "vfs_read"

#define SOME_FILE "/sys/kernel/btf/vmlinux" /* regular; in every supported kernel */

#define UNREADABLE 1 /* an invalid address */

static int load_nothing(enum bpf_prog_type type, enum bpf_attach_type attach_type, uint32_t target)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type,
		    .attach_btf_id = target);

	return bpf_prog_load(type, "stook_try", "GPL", nothing, ARRAY_SIZE(nothing), &options);
}

static int try_link(struct link_multi_request request, int expected)
{
	cleanup_fd int program_fd =
		load_nothing(BPF_PROG_TYPE_KPROBE, (enum bpf_attach_type)request.attach_type, 0);
	int fd;

	if (program_fd < 0)
		return program_fd;
	request.program_fd = (uint32_t)program_fd;
	fd = link_multi_create(&request);
	if (fd >= 0)
		(void)close(fd);
	if (fd == expected)
		return 0;
	return fd < 0 ? fd : -EOPNOTSUPP;
}

static int try_uprobe_multi(void)
{
	return try_link(
		(struct link_multi_request){
			.attach_type = LINK_UPROBE_MULTI,
			.uprobe = {.path = UNREADABLE, .offsets = UNREADABLE, .nr = 1}},
		-EFAULT);
}

/* The release that changed the pid filter from thread to process also rejects a negative pid. */
static int try_uprobe_pid(void)
{
	static const uint64_t offset;
	int err = try_uprobe_multi();

	return err ? err
		   : try_link((struct link_multi_request){.attach_type = LINK_UPROBE_MULTI,
							  .uprobe = {.path = (uintptr_t)SOME_FILE,
								     .offsets = (uintptr_t)&offset,
								     .nr = 1,
								     .pid = UINT32_MAX}},
			      -EINVAL);
}

static int try_kprobe_multi(void)
{
	return try_link((struct link_multi_request){.attach_type = LINK_KPROBE_MULTI,
						    .kprobe = {.addresses = UNREADABLE, .nr = 1}},
			-EFAULT);
}

static int try_fentry(void)
{
	int type = libbpf_find_vmlinux_btf_id(SOME_FUNCTION, BPF_TRACE_FENTRY);
	cleanup_fd int program_fd = -1, link_fd = -1;

	if (type <= 0)
		return type ? type : -ENOENT;
	program_fd = load_nothing(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, (uint32_t)type);
	if (program_fd < 0)
		return program_fd;
	link_fd = bpf_raw_tracepoint_open(NULL, program_fd);
	return link_fd < 0 ? link_fd : 0;
}

static int try_events(bool is_kernel)
{
	cleanup_fd int tracefs_fd = tracefs_open(NULL);

	if (tracefs_fd < 0)
		return tracefs_fd;
	return faccessat(tracefs_fd, event_text_file(is_kernel), W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static int try_kprobe_event(void)
{
	return try_events(true);
}

static int try_uprobe_event(void)
{
	return try_events(false);
}

static const struct {
	const char *name;
	int (*try)(void); /* 0: available; else a negative errno */
} features_known[NR_PROBE_FEATURES] = {
	[PROBE_FEATURE_UPROBE_MULTI] = {"uprobe_multi", try_uprobe_multi},
	[PROBE_FEATURE_UPROBE_PID] = {"uprobe_pid", try_uprobe_pid},
	[PROBE_FEATURE_KPROBE_MULTI] = {"kprobe_multi", try_kprobe_multi},
	[PROBE_FEATURE_FENTRY] = {"fentry", try_fentry},
	[PROBE_FEATURE_KPROBE_EVENT] = {"kprobe_event", try_kprobe_event},
	[PROBE_FEATURE_UPROBE_EVENT] = {"uprobe_event", try_uprobe_event},
};

void probe_features_find(struct probe_features *ret, unsigned without)
{
	int feature;

	*ret = (struct probe_features){0};
	for (feature = 0; feature < NR_PROBE_FEATURES; feature++) {
		if (without & 1u << feature)
			continue;
		ret->why[feature] = features_known[feature].try();
		ret->has[feature] = !ret->why[feature];
	}
}

const char *probe_feature_name(enum probe_feature feature)
{
	return features_known[feature].name;
}

/* --- choosing --------------------------------------------------------------------------------- */

/*
 * Mechanisms in order of preference.
 *
 * Places on one tracefs event are distinguished by address. The return of a kernel function has no
 * such address (the program sees the trampoline's), so kprobe events are for calls alone.
 *
 * fentry costs less per hit than a kprobe, but detaching a function takes the kernel 20 ms with
 * kprobes and 130 ms with fentry (Linux 6.1), for each of possibly thousands of functions.
 */
#define CALLS	1u
#define RETURNS 2u

static const struct means {
	enum probe_kind kind;
	unsigned when;
	bool inside;	  /* also for instructions inside a function */
	bool needs_place; /* needs the function's address */
	bool by_name;	  /* the kernel finds the function by its name */
	enum probe_feature feature;
	enum probe_hook hook;
} means[] = {
	{PROBE_USER, CALLS | RETURNS, true, false, false, PROBE_FEATURE_UPROBE_MULTI,
	 HOOK_UPROBE_MULTI},
	{PROBE_USER, CALLS | RETURNS, true, false, false, PROBE_FEATURE_UPROBE_EVENT,
	 HOOK_UPROBE_EVENT},
	{PROBE_KERNEL, CALLS | RETURNS, false, false, false, PROBE_FEATURE_KPROBE_MULTI,
	 HOOK_KPROBE_MULTI},
	{PROBE_KERNEL, CALLS, true, true, true, PROBE_FEATURE_KPROBE_EVENT, HOOK_KPROBE_EVENT},
	{PROBE_KERNEL, CALLS, false, false, true, PROBE_FEATURE_FENTRY, HOOK_FENTRY},
	{PROBE_KERNEL, RETURNS, false, false, true, PROBE_FEATURE_FENTRY, HOOK_FEXIT},
};

static bool can_do(const struct means *candidate, const struct probe *probe)
{
	enum probe_kind kind = probe->kind == PROBE_USDT ? PROBE_USER : probe->kind;
	bool is_inside = kind == PROBE_KERNEL && probe->offset;

	return candidate->kind == kind && candidate->when & (probe->is_return ? RETURNS : CALLS) &&
	       (candidate->inside || !is_inside) && (!candidate->needs_place || probe->address) &&
	       !(candidate->by_name && probe->is_shadowed);
}

static bool is_forbidden(const struct probe_features *features, enum probe_feature feature)
{
	int why = features->why[feature];

	return why == -EPERM || why == -EACCES;
}

/* Returns the hook, or -EOPNOTSUPP. */
static int find_hook(const struct probe *probe, const struct probe_features *features)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(means); i++)
		if (features->has[means[i].feature] && can_do(&means[i], probe))
			return means[i].hook;
	return -EOPNOTSUPP;
}

static const char *why_not(const struct probe *probe, const struct probe_features *features)
{
	struct probe unique = *probe;

	unique.is_shadowed = false;
	if (probe->is_shadowed && find_hook(&unique, features) >= 0)
		return "another function has the same name, by which this kernel finds only the "
		       "other one";
	if (probe->kind != PROBE_KERNEL)
		return is_forbidden(features, PROBE_FEATURE_UPROBE_EVENT)
			       ? "not permitted to use uprobes"
			       : "this kernel has no uprobes";
	if (probe->is_return && probe->offset)
		return "a return probe needs a function, not an offset in one";
	if (probe->is_return && is_forbidden(features, PROBE_FEATURE_FENTRY))
		return "return probes of kernel functions need kprobe_multi (Linux 5.18), which "
		       "this kernel lacks, or fexit, which it refused (EPERM: lockdown or a "
		       "security policy?)";
	if (probe->is_return)
		return "return probes of kernel functions need kprobe_multi (Linux 5.18) or fexit; "
		       "this kernel has neither";
	if (features->has[PROBE_FEATURE_KPROBE_EVENT])
		return "kernel addresses are hidden (sysctl kernel.kptr_restrict)";
	if (probe->offset)
		return "a probe inside a function needs kprobes (CONFIG_KPROBES), not available "
		       "here";
	if (is_forbidden(features, PROBE_FEATURE_KPROBE_EVENT))
		return "neither kprobes nor fentry: not permitted";
	if (is_forbidden(features, PROBE_FEATURE_FENTRY))
		return "neither kprobes nor fentry: no CONFIG_KPROBES; fentry refused (EPERM: "
		       "lockdown or a security policy?)";
	return "neither kprobes nor fentry in this kernel";
}

int probe_hook_choose(const struct probe *probe, const struct probe_features *features,
		      const char **ret_why)
{
	int hook = probe->kind == PROBE_TRACEPOINT ? HOOK_TRACEPOINT : find_hook(probe, features);

	if (hook < 0)
		*ret_why = why_not(probe, features);
	return hook;
}
