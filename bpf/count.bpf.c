/* funccount: counts hits, nothing else. */
#include "probe_hit.bpf.h"

static __always_inline int count(void *ctx, enum probe_way way, __u32 number)
{
	__u64 nr;

	(void)probe_hit(number, &nr);
	return 0;
}

PROBE_PROGRAMS(count, count)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
