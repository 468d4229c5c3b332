/* Reads numbers of a hit: arguments, fields, results. See fetch.bpf.c. */
#ifndef STOOK_BPF_FETCH_H
#define STOOK_BPF_FETCH_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "probe.bpf.h"
#include "tally_wire.h"

/* Reads a field of the context, of at most 8 bytes. False if it can't be read. */
__hidden bool fetch_field(void *ctx, __u32 at, __u32 bytes, __u64 *ret);

/* Reads the number that fetch describes. False if the probe has none or it can't be read. */
__hidden bool fetch_number(void *ctx, const struct tally_fetch *fetch, enum probe_way way,
			   __s64 *ret);

#endif
