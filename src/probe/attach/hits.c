/* The counters of probes, in memory shared with the kernel; see hits.h. */
#include "probe/attach/hits.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define CACHE_LINE 64
#define PER_LINE   (CACHE_LINE / sizeof(struct wire_hits))

/* Whole cache lines, so that no two CPUs write to one. */
size_t hits_stride(size_t nr_probes)
{
	return (nr_probes + PER_LINE - 1) / PER_LINE * PER_LINE;
}

int hits_open(struct hits *hits, int map_fd, size_t nr_probes, uint32_t nr_cpus,
	      struct error *error)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t stride = hits_stride(nr_probes);
	size_t bytes = stride * nr_cpus * sizeof(struct wire_hits);
	void *memory;

	bytes = (bytes + page - 1) / page * page;
	memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, map_fd, 0);
	if (memory == MAP_FAILED)
		return error_set_errno(error, "cannot map the counters");
	*hits = (struct hits){.per_cpu = memory,
			      .bytes = bytes,
			      .stride = stride,
			      .nr_probes = nr_probes,
			      .nr_cpus = nr_cpus};
	return 0;
}

void hits_close(struct hits *hits)
{
	if (hits->per_cpu)
		(void)munmap((void *)hits->per_cpu, hits->bytes);
	*hits = (struct hits){0};
}

struct wire_hits hits_of_probe(const struct hits *hits, uint32_t number)
{
	struct wire_hits sum = {0};
	uint32_t cpu;

	for (cpu = 0; cpu < hits->nr_cpus; cpu++) {
		const volatile struct wire_hits *one = &hits->per_cpu[cpu * hits->stride + number];

		sum.counted += one->counted;
		sum.filtered += one->filtered;
	}
	return sum;
}

uint64_t hits_on_cpu(const struct hits *hits, uint32_t number, uint32_t cpu)
{
	const volatile struct wire_hits *one = &hits->per_cpu[cpu * hits->stride + number];

	return one->counted + one->filtered;
}
