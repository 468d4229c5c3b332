/*
 * Helps to load BPF objects: provides the kernel types for relocation, keeps function types for
 * programs that are loaded again, removes compare-and-exchange for kernels without it, and explains
 * why a load failed.
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
 * The function types (func_info) that libbpf loads a program with, kept to load its instructions
 * again. The verifier needs them for global functions, which it checks once each and not at every
 * call.
 */
struct program_types {
	int btf_fd;
	void *functions; /* struct bpf_func_info[nr] */
	uint32_t nr;	 /* 0: none, and nothing is owned */
	uint32_t function_bytes;
};

/* Makes options refer to the types, which must outlive them. */
void program_types_set(const struct program_types *types, struct bpf_prog_load_opts *options);

/* Frees the types. Accepts {0}. */
void program_types_clear(struct program_types *types);

/*
 * Sections of programs with a handler of ours. libbpf calls it just before it loads a program, the
 * only point at which it shows what it loads. The handler keeps the types of programs that are
 * copied (probe/attach/link.h), and on kernels without compare-and-exchange removes that
 * instruction.
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

#define NR_LOAD_COPIED LOAD_KPROBE /* the sections before it */

/* State of the handlers while an object is opened and loaded. */
struct load_types {
	/* Extracted kernel types (core_btf.h); -1: libbpf reads all. */
	int fd;
	char path[40];
	bool has_exchange; /* the kernel's BPF has compare-and-exchange */
	struct load_handler {
		struct load_types *types;
		enum load_section section;
		int id; /* libbpf's handler id */
	} handlers[NR_LOAD_SECTIONS];
	struct program_types copied[NR_LOAD_COPIED]; /* whoever needs them moves them out */
};

/*
 * Call load_types_open() before the object is opened, and load_types_close() after the load.
 * options refers to the types until then. libbpf's messages go to the log.
 */
void load_types_open(struct load_types *types, struct bpf_object_open_opts *options);
void load_types_close(struct load_types *types);

/* True if fexit programs can read the function's return value (Linux 5.17). */
bool load_has_func_ret(void);

/*
 * Try to extract the kernel types, and to load a program that does nothing. 0 or a negative errno. libbpf's messages go
 * to the log.
 */
int load_try_types(struct error *error);
int load_try(struct error *error);

/* Fills error with why the kernel rejected an object. Returns err. */
int load_explain(int err, struct error *error);

/* Replaces compare-and-exchange instructions by no-ops. Pure; for the handler and its test. */
void load_remove_exchange(struct bpf_insn *instructions, size_t nr);

/* Waits until programs that were running have finished, as after detaching them from where the kernel does not wait. */
void load_wait_for_programs(void);

#endif
