/*
 * The sideband rings: one software event a CPU that counts nothing and reports everything. Each is
 * small; when one overflows the kernel says so, and the process table reads maps anew.
 */
#include "collect/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kernel/perf_open.h"

#define DATA_BYTES (128UL << 10) /* or a page, if that is more; a power of two */

struct cpu_ring {
	uint32_t cpu;
	int fd;
	struct perf_event_mmap_page *control; /* the data follow it */
};

struct sideband {
	struct cpu_ring *rings;
	size_t nr_rings;
	size_t page_bytes, data_bytes;
	char *wrapped; /* room for one record that lies around the end of its ring */
};

static int open_ring(struct sideband *sideband, struct cpu_ring *ring, uint32_t cpu,
		     struct error *error)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1, /* a new file may be deleted within milliseconds */
	};

	ring->cpu = cpu;
	ring->fd = perf_open(&attr, cpu);
	if (ring->fd < 0)
		return error_set_errno(error, "cannot follow processes on CPU %u", cpu);
	ring->control = mmap(NULL, sideband->page_bytes + sideband->data_bytes,
			     PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (ring->control == MAP_FAILED) {
		ring->control = NULL;
		return error_set_errno(error, "cannot map the event buffer of CPU %u", cpu);
	}
	return 0;
}

struct sideband *sideband_open(const uint32_t *cpus, size_t nr_cpus, struct error *error)
{
	struct sideband *sideband = calloc(1, sizeof(*sideband));
	size_t i;

	if (!sideband)
		goto no_memory;
	sideband->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	sideband->data_bytes =
		sideband->page_bytes > DATA_BYTES ? sideband->page_bytes : DATA_BYTES;
	sideband->rings = calloc(nr_cpus, sizeof(*sideband->rings));
	sideband->wrapped = malloc(UINT16_MAX + 1);
	if (!sideband->rings || !sideband->wrapped)
		goto no_memory;
	for (i = 0; i < nr_cpus; i++) {
		sideband->nr_rings++;
		if (open_ring(sideband, &sideband->rings[i], cpus[i], error) < 0) {
			sideband_close(sideband);
			return NULL;
		}
	}
	return sideband;

no_memory:
	sideband_close(sideband);
	(void)error_set(error, -ENOMEM, "out of memory");
	return NULL;
}

void sideband_close(struct sideband *sideband)
{
	size_t i;

	if (!sideband)
		return;
	for (i = 0; i < sideband->nr_rings; i++) {
		struct cpu_ring *ring = &sideband->rings[i];

		if (ring->control)
			(void)munmap(ring->control, sideband->page_bytes + sideband->data_bytes);
		if (ring->fd >= 0)
			(void)close(ring->fd);
	}
	free(sideband->rings);
	free(sideband->wrapped);
	free(sideband);
}

size_t sideband_nr(const struct sideband *sideband)
{
	return sideband->nr_rings;
}

int sideband_fd(const struct sideband *sideband, size_t i)
{
	return sideband->rings[i].fd;
}

int sideband_fd_of_cpu(const struct sideband *sideband, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < sideband->nr_rings; i++)
		if (sideband->rings[i].cpu == cpu)
			return sideband->rings[i].fd;
	return -1;
}

/* The record at a position, in one piece; NULL if what lies there can't be one. */
static const void *record_at(const struct sideband *sideband, const struct cpu_ring *ring,
			     uint64_t at, uint64_t head, size_t *ret_bytes)
{
	size_t data_bytes = sideband->data_bytes;
	const char *data = (const char *)ring->control + sideband->page_bytes;
	const struct perf_event_header *header =
		(const struct perf_event_header *)(data + at % data_bytes);
	size_t before_end = data_bytes - at % data_bytes;

	if (header->size < sizeof(*header) || header->size > head - at)
		return NULL;
	*ret_bytes = header->size;
	if (header->size <= before_end)
		return header;
	memcpy(sideband->wrapped, header, before_end);
	memcpy(sideband->wrapped + before_end, data, *ret_bytes - before_end);
	return sideband->wrapped;
}

static int read_ring(struct sideband *sideband, struct cpu_ring *ring,
		     int (*handle)(void *context, struct sideband_event *event), void *context)
{
	uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = ring->control->data_tail;
	int err = 0;

	while (at < head && err >= 0) {
		struct sideband_event event;
		size_t bytes;
		const void *record = record_at(sideband, ring, at, head, &bytes);

		if (!record) {
			at = head; /* never seen; better to lose it than to loop */
			event = (struct sideband_event){.kind = SIDEBAND_LOST, .nr_lost = 1};
			err = handle(context, &event);
			break;
		}
		if (sideband_parse(record, bytes, &event) && event.kind != SIDEBAND_OTHER)
			err = handle(context, &event);
		at += bytes;
	}
	__atomic_store_n(&ring->control->data_tail, at, __ATOMIC_RELEASE);
	return err;
}

int sideband_read(struct sideband *sideband,
		  int (*handle)(void *context, struct sideband_event *event), void *context)
{
	int err = 0;
	size_t i;

	for (i = 0; i < sideband->nr_rings && err >= 0; i++)
		err = read_ring(sideband, &sideband->rings[i], handle, context);
	return err < 0 ? err : 0;
}
