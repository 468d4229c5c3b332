/*
 * One link for many functions: uprobe_multi (Linux 6.6) and kprobe_multi (5.18). Each place carries
 * a cookie, the probe's number.
 */
#ifndef STOOK_PROBE_ATTACH_LINK_MULTI_H
#define STOOK_PROBE_ATTACH_LINK_MULTI_H

#include <stdint.h>

#include "probe/attach/link_state.h"

/* Of enum bpf_attach_type: Debian 12's headers know the first alone. */
#define LINK_KPROBE_MULTI 42
#define LINK_UPROBE_MULTI 48

/* What BPF_LINK_CREATE is told, as the kernel lays it out. */
struct link_multi_request {
	uint32_t program_fd, target_fd, attach_type, flags;
	union {
		struct {
			uint32_t flags, nr;
			uint64_t symbols, addresses, cookies;
		} kprobe;
		struct {
			uint64_t path, offsets, semaphores, cookies;
			uint32_t nr, flags, pid;
		} uprobe;
	};
};

/* The link's descriptor, or a negative errno. */
int link_multi_create(const struct link_multi_request *request);

/* All of one file (user code) and either calls or returns; the kernel's all with an address or all
 * without. */
link_attach link_multi_attach;

#endif
