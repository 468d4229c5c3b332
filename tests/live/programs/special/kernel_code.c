/*
 * Loads BPF programs that take CPU time, one after the other, and unloads each: kernel_code SECONDS NAME…
 *
 * Each takes SECONDS of CPU time. They have the same size, so that the kernel mostly puts a program where the one
 * before was.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NR_INSNS 4000

static int load(const char *name)
{
	static struct bpf_insn insns[NR_INSNS];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)insns,
		.insn_cnt = NR_INSNS,
		.license = (uintptr_t) "GPL",
	};
	size_t i;

	for (i = 0; i < NR_INSNS; i++) /* r0 = r0 * 3 */
		insns[i] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MUL | BPF_K, .imm = 3};
	insns[0] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1};
	insns[NR_INSNS - 1] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	(void)snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* CPU time, since a busy host may leave little of the time to us. */
static double now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int run(const char *name, double seconds)
{
	static char packet[64];
	const double end = now() + seconds;
	const int fd = load(name);
	union bpf_attr attr = {.test = {.prog_fd = (uint32_t)fd,
					.data_in = (uintptr_t)packet,
					.data_size_in = sizeof(packet),
					.repeat = 1000}};

	if (fd < 0)
		return -1;
	while (now() < end)
		if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) < 0)
			return -1;
	if (close(fd) < 0)
		return -1;
	return usleep(300000); /* the kernel frees its memory after a while */
}

int main(int argc, char **argv)
{
	int i;

	for (i = 2; i < argc; i++)
		if (run(argv[i], strtod(argv[1], NULL)) < 0) {
			perror("kernel_code");
			return 1;
		}
	return 0;
}
