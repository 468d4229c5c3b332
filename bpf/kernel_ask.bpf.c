/*
 * Asks the running kernel for the names of kernel addresses. Printing one with %ps is a lookup in
 * the kernel's own compressed table, a microsecond each; reading all of /proc/kallsyms to name a
 * few hundred addresses costs some 80 ms of CPU. It also works where kptr_restrict hides the
 * addresses in /proc/kallsyms.
 *
 * Never attached: user space runs it with BPF_PROG_TEST_RUN. bpf_snprintf() came with Linux 5.13.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#define BATCH	   64
#define NAME_BYTES 256

__u64 addresses[BATCH];
char names[BATCH][NAME_BYTES];

SEC("raw_tracepoint")
int kernel_ask(void *ctx)
{
	static const char format[] = "%ps";
	__u32 i;

	for (i = 0; i < BATCH; i++)
		bpf_snprintf(names[i], NAME_BYTES, format, &addresses[i], sizeof(addresses[i]));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
