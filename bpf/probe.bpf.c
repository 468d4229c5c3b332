/*
 * The out-of-line part of handling a probe's hit (probe_hit.bpf.h), called only where it is needed:
 * checks if the task is selected, and finds which of an event's places was hit.
 */
#include "probe.bpf.h"
#include <bpf/bpf_core_read.h>

#include "follow.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct wire_place);
	__type(value, __u32);
} places SEC(".maps");

__hidden bool probe_wants_task(void)
{
	return is_wanted((struct task_struct *)bpf_get_current_task());
}

static __u32 number_of(const struct wire_place *place)
{
	__u32 *number = bpf_map_lookup_elem(&places, place);

	return number ? *number : WIRE_NO_NUMBER;
}

/*
 * While a uprobe event's handler runs, the kernel keeps a pointer to its struct
 * uprobe_dispatch_data in the task (utask->vaddr).
 */
__hidden __u32 user_place_number(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct uprobe_dispatch_data *dispatch = (void *)BPF_CORE_READ(task, utask, vaddr);
	struct trace_uprobe *tu;
	struct wire_place place = {};

	tu = BPF_CORE_READ(dispatch, tu);
	/* Inode from the path: Linux 6.12 removed trace_uprobe's own inode field. */
	place.file = BPF_CORE_READ(tu, path.dentry, d_inode, i_ino);
	place.offset = BPF_CORE_READ(tu, offset);
	place.is_return = BPF_CORE_READ(tu, consumer.ret_handler) != NULL;
	return number_of(&place);
}

__hidden __u32 kernel_place_number(__u64 ip)
{
	struct wire_place place = {.offset = ip};

	return number_of(&place);
}
