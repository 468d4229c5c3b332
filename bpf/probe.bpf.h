/* Shared by all parts of the programs of probes; see probe.bpf.c. */
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

/* How a program was reached: that decides what its context is. */
enum probe_way {
	WAY_REGISTERS,	    /* struct pt_regs: uprobes, kprobes */
	WAY_TRACEPOINT,	    /* the tracepoint's fields */
	WAY_FUNCTION_ENTRY, /* fentry, … */
	WAY_FUNCTION_EXIT,  /* … fexit: what bpf_get_func_arg() takes */
};

/* True if hits of the current task are asked for. */
__hidden bool probe_wants_task(void);

/* The probe's number where one event has many places: of user code, of the kernel. */
__hidden __u32 user_place_number(void);
__hidden __u32 kernel_place_number(__u64 ip);

#endif
