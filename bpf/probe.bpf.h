/* Shared by all programs of probes; see probe.bpf.c. */
#ifndef STOOK_BPF_PROBE_H
#define STOOK_BPF_PROBE_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "claim.bpf.h"
#include "probe_wire.h"

#if defined(__TARGET_ARCH_x86)
#define PROBE_IP(ctx) ((ctx)->ip)
#else
#define PROBE_IP(ctx) ((ctx)->pc)
#endif

/* How a program is attached, which determines the type of its context. */
enum probe_way {
	WAY_REGISTERS,	    /* struct pt_regs: uprobes, kprobes */
	WAY_TRACEPOINT,	    /* the tracepoint's fields */
	WAY_FUNCTION_ENTRY, /* fentry: the array read by bpf_get_func_arg() */
	WAY_FUNCTION_EXIT,  /* fexit: the array read by bpf_get_func_arg() */
};

/* True if the current task is selected. */
__hidden bool probe_wants_task(void);

/*
 * The number of the probe at the current place, for an event with many places: user code, kernel
 * code.
 */
__hidden __u32 user_place_number(void);
__hidden __u32 kernel_place_number(__u64 ip);

#endif
