/*
 * Measures the cost of sampling without a profiler: empty_sampler HZ
 *
 * Attaches a BPF program that only returns 0 to a CPU clock of HZ ticks a second on every CPU, like
 * `stook profile -e cpu-clock` does, and waits for SIGINT or SIGTERM. The cost is that of the
 * interrupt and of the kernel's way into a BPF program and out again.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/perf_open.h"

static int complain(const char *what)
{
	fprintf(stderr, "empty_sampler: %s: %s\n", what, strerror(errno));
	return -1;
}

/* r0 = 0; exit */
static int load_program(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "empty", "GPL", insns, ARRAY_SIZE(insns),
			     NULL);
}

/* The event stays open until the process ends. Returns 1 if the CPU is offline. */
static int attach(int program, uint64_t frequency, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = frequency,
		.freq = 1,
		.exclude_idle = 1,
	};
	int event = perf_open(&attr, cpu);

	if (event < 0)
		return errno == ENODEV ? 1 : complain("cannot open a CPU clock");
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program) < 0)
		return complain("cannot attach the program");
	return 0;
}

static int attach_everywhere(uint64_t frequency)
{
	cleanup_fd int program = load_program();
	long cpu, nr_cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (program < 0)
		return complain("cannot load the program");
	for (cpu = 0; cpu < nr_cpus; cpu++)
		if (attach(program, frequency, (uint32_t)cpu) < 0)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t frequency = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	sigset_t ends;
	int signal;

	if (!frequency) {
		fputs("usage: empty_sampler HZ\n", stderr);
		return 2;
	}
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &ends, NULL) < 0 || attach_everywhere(frequency) < 0)
		return 1;
	(void)sigwait(&ends, &signal);
	return 0;
}
