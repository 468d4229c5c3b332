/* Counting hits, and nothing else: funccount. */
#include "probe_hit.bpf.h"

static __always_inline int count(void *ctx, enum probe_way way, __u32 number)
{
	probe_hit(number);
	return 0;
}

PROBE_PROGRAMS(count, count)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
