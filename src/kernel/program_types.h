/*
 * The types of a program's functions, as libbpf loads them, to load its instructions once more with.
 * The verifier needs them for global functions, which it checks once each and not at every call.
 */
#ifndef STOOK_KERNEL_PROGRAM_TYPES_H
#define STOOK_KERNEL_PROGRAM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>

struct program_types {
	int btf_fd;
	void *functions; /* struct bpf_func_info[nr] */
	uint32_t nr;	 /* 0: there are none, and nothing is held */
	uint32_t function_bytes;
};

/* Keeps what a program is about to be loaded with. 0 or a negative errno. */
int program_types_keep(struct program_types *types, const struct bpf_prog_load_opts *options);

/* Has options point to them. */
void program_types_set(const struct program_types *types, struct bpf_prog_load_opts *options);

/* Also of {0}. */
void program_types_clear(struct program_types *types);

#endif
