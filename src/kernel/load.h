/*
 * Loading BPF objects: the kernel's types that they are relocated against, the functions' types that
 * copies of a program need, compare and exchange on kernels without it, and why a load was refused.
 */
#ifndef STOOK_KERNEL_LOAD_H
#define STOOK_KERNEL_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "base/error.h"

/*
 * The types of a program's functions, as libbpf loads them, to load its instructions once more with.
 * The verifier needs them for global functions, which it checks once each and not at every call.
 */
struct program_types {
	int btf_fd;
	void *functions; /* struct bpf_func_info[nr] */
	uint32_t nr;	 /* 0: there are none, and nothing is held */
	uint32_t function_bytes;
};

/* Lets options point to them. */
void program_types_set(const struct program_types *types, struct bpf_prog_load_opts *options);

/* Also of {0}. */
void program_types_clear(struct program_types *types);

/*
 * Sections of programs. libbpf calls a handler of ours just before it loads a program of one of them:
 * only there it shows what it loads. The types of copied programs (probe/attach/link.h) are kept; on
 * kernels without compare and exchange, the handler takes the instruction out.
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

/* State of our handlers while an object is opened and loaded. */
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

/* True if programs of fexit can read their function's result (Linux 5.17). */
bool load_has_func_ret(void);

/* Possible CPUs: that many values has a per-CPU map. A negative errno on failure. */
int load_nr_cpus(struct error *error);

/* Says why the kernel did not take an object; returns err. */
int load_explain(int err, struct error *error);

/* Replaces the instructions that exchange by no-ops. Pure; for the handler and its test. */
void load_take_out_exchange(struct bpf_insn *instructions, size_t nr);

#endif
