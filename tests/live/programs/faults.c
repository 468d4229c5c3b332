/*
 * faults SECONDS PHASE_US: a function that spins and one that has page faults take turns, each for PHASE_US of CPU
 * time.
 *
 * At the end, one line for each is printed: its name, its CPU time in nanoseconds, and its page faults. With a PHASE_US
 * of 0 it spins only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "burn.h"

#define PAGE_BYTES 4096
#define NR_PAGES   64

static char *memory;

static uint64_t nr_faults(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_minflt;
}

NAMED void spin_for(uint64_t ns)
{
	const uint64_t end_ns = thread_cpu_ns() + ns;

	while (thread_cpu_ns() < end_ns)
		BURN_TURNS(2000);
}

NAMED void fault_for(uint64_t ns)
{
	const uint64_t end_ns = thread_cpu_ns() + ns;
	int page;

	while (thread_cpu_ns() < end_ns) {
		for (page = 0; page < NR_PAGES; page++)
			memory[page * PAGE_BYTES] = 1;
		(void)madvise(memory, (size_t)NR_PAGES * PAGE_BYTES, MADV_DONTNEED);
	}
}

int main(int argc, char **argv)
{
	static void (*const functions[2])(uint64_t ns) = {spin_for, fault_for};
	static const char *const names[2] = {"spin_for", "fault_for"};
	uint64_t end_ns, phase_ns, ns[2] = {0}, faults[2] = {0};
	int turn;

	if (argc != 3)
		return 2;
	end_ns = monotonic_ns() + (uint64_t)(atof(argv[1]) * 1e9);
	phase_ns = strtoull(argv[2], NULL, 10) * 1000;
	memory = mmap(NULL, (size_t)NR_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	(void)madvise(memory, (size_t)NR_PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
	for (turn = 0; monotonic_ns() < end_ns; turn ^= phase_ns != 0) {
		const uint64_t began_ns = thread_cpu_ns(), before = nr_faults();

		functions[turn](phase_ns ? phase_ns : 1000000);
		ns[turn] += thread_cpu_ns() - began_ns;
		faults[turn] += nr_faults() - before;
	}
	for (turn = 0; turn < 2; turn++)
		printf("%s %llu %llu\n", names[turn], (unsigned long long)ns[turn],
		       (unsigned long long)faults[turn]);
	return 0;
}
