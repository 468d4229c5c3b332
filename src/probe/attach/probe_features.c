/*
 * What the kernel has for attaching probes, found by trying; see probe_features.h.
 *
 * A link for many functions is asked for with a pointer into nowhere: a kernel that has such links
 * reads it and says EFAULT, one that has not says something else before. fentry is attached for a
 * moment, because kernels for arm64 before 6.x load such programs and then can't attach them.
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
#include "probe/attach/event_text.h"
#include "probe/attach/link_multi.h"
#include "proc/tracefs.h"

/* In every kernel, not inlined, and open to probes. */
#define SOME_FUNCTION "vfs_read"

#define SOME_FILE "/sys/kernel/btf/vmlinux" /* regular, and there in each kernel that serves us */

#define UNREADABLE 1 /* an address */

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

/* The same release that made the pid a process' and not a thread's refuses a negative one. */
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
	int (*try)(void); /* 0: it is there; else a negative errno */
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
