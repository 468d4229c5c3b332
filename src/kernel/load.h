/* What loading any of our BPF objects has in common. */
#ifndef STOOK_KERNEL_LOAD_H
#define STOOK_KERNEL_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include <bpf/libbpf.h>

#include "base/error.h"
#include "kernel/program_types.h"

/*
 * Sections of programs, each with a handler of ours that libbpf calls just before it loads one: only
 * there it shows what it loads. Of copied ones (see link_copy.h) the types are kept; and where the
 * kernel's BPF has no compare and exchange, that is taken out of all (see no_exchange.h).
 */
#define LOAD_SECTIONS(X)                                                    \
	X(TRACEPOINT, "copied_tracepoint", BPF_PROG_TYPE_TRACEPOINT, 0)     \
	X(FENTRY, "copied_fentry", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY) \
	X(FEXIT, "copied_fexit", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT)    \
	X(KPROBE, "kprobe", BPF_PROG_TYPE_KPROBE, 0)                        \
	X(PERF_EVENT, "perf_event", BPF_PROG_TYPE_PERF_EVENT, 0)

enum load_section {
#define X(id, section, type, attach_type) LOAD_##id,
	LOAD_SECTIONS(X)
#undef X
		NR_LOAD_SECTIONS
};

#define NR_LOAD_COPIED LOAD_KPROBE /* the first ones */

/* What belongs to the types and programs of an object while it is opened and loaded. */
struct load_types {
	/* The few of the kernel's that its programs need, see core_btf.h; -1: all are read. */
	int fd;
	char path[40];
	bool has_exchange; /* of the kernel: compare and exchange */
	struct load_handler {
		struct load_types *types;
		enum load_section section;
		int id; /* of libbpf's */
	} handlers[NR_LOAD_SECTIONS];
	struct program_types copied[NR_LOAD_COPIED]; /* taken away by who needs them */
};

/*
 * Before the object is opened: has options point to the types, which are good until the close, after
 * the load. What libbpf has to say goes to the log.
 */
void load_types_open(struct load_types *types, struct bpf_object_open_opts *options);
void load_types_close(struct load_types *types);

/* Whether programs of fexit can ask what their function returned (Linux 5.17). */
bool load_has_func_ret(void);

/* Says why the kernel did not take an object; returns err. */
int load_explain(int err, struct error *error);

#endif
