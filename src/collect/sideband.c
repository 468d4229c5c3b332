/*
 * The sideband: one software event per CPU that counts nothing and reports process events, with its
 * own ring. Rings are small; when one overflows, the kernel reports that, and the process table
 * reads maps again. Records are laid out as in perf_event_open(2). Each ends with the "sample id"
 * that the events' sample_type (TID | TIME) selects: pid, tid, time, 16 bytes. Only the records that
 * sampling events cause (throttling, lost ones) have none.
 *
 * A new file may be deleted within milliseconds, so user space has to learn of a mapping
 * immediately. But a wake-up costs the task that maps: for each event its CPU interrupts itself,
 * which takes longer than everything else that the kernel does to report it. So each CPU has a
 * second event, the alarm, which wakes user space at its first byte and whose contents are never
 * read. After it has fired it is paused, and user space polls the rings at intervals until no more
 * events come.
 *
 * The events of a CPU that goes offline never report again. When it is back, new ones are opened, which write to the
 * old rings: unread records stay, and no more memory is locked, for which the capability may be gone.
 */
#include "collect/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/perf_open.h"

/* --- records ------------------------------------------------------------------------------------ */

#define SAMPLE_ID_BYTES 16

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, parent;
	uint32_t tid, parent_tid;
	uint64_t time_ns;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[]; /* padded to 8 bytes */
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, bytes, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[]; /* padded to 8 bytes */
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, nr_lost;
};

struct throttle_record {
	struct perf_event_header header;
	uint64_t time_ns, id, stream_id;
};

struct ksymbol_record {
	struct perf_event_header header;
	uint64_t address;
	uint32_t bytes;
	uint16_t type, flags;
	char name[]; /* padded to 8 bytes */
};

static uint64_t time_of(const void *record, size_t bytes)
{
	uint64_t time_ns;

	memcpy(&time_ns, (const char *)record + bytes - sizeof(time_ns), sizeof(time_ns));
	return time_ns;
}

/* Ignores forks and exits of threads: the mappings belong to the process, which outlives them. */
static void parse_fork_exit(const void *record, struct sideband_event *ret)
{
	const struct fork_record *fork = record;
	bool is_exit = fork->header.type == PERF_RECORD_EXIT;

	if (is_exit ? fork->pid != fork->tid : fork->pid == fork->parent)
		return;
	ret->kind = SIDEBAND_PROCESS;
	ret->process = (struct process_event){
		.kind = is_exit ? PROCESS_EXIT : PROCESS_FORK,
		.time_ns = fork->time_ns,
		.pid = (int32_t)fork->pid,
		.parent = (int32_t)fork->parent,
	};
}

static void parse_comm(const void *record, size_t bytes, struct sideband_event *ret)
{
	const struct comm_record *comm = record;
	const bool is_exec = comm->header.misc & PERF_RECORD_MISC_COMM_EXEC;

	if (!is_exec && comm->tid != comm->pid)
		return;
	ret->kind = SIDEBAND_PROCESS;
	ret->process = (struct process_event){
		.kind = is_exec ? PROCESS_EXEC : PROCESS_RENAME,
		.time_ns = time_of(record, bytes),
		.pid = (int32_t)comm->pid,
	};
	(void)snprintf(ret->process.name, sizeof(ret->process.name), "%.*s",
		       (int)(bytes - sizeof(*comm)), comm->comm);
}

static bool parse_mmap2(const void *record, size_t bytes, struct sideband_event *ret)
{
	const struct mmap2_record *mmap2 = record;
	size_t room = bytes - SAMPLE_ID_BYTES - sizeof(*mmap2);

	if (!memchr(mmap2->path, '\0', room) || mmap2->start + mmap2->bytes < mmap2->start)
		return false;
	ret->kind = SIDEBAND_PROCESS;
	ret->path = mmap2->path;
	ret->process = (struct process_event){
		.kind = PROCESS_MAP,
		.time_ns = time_of(record, bytes),
		.pid = (int32_t)mmap2->pid,
		.mapping = {.start = mmap2->start,
			    .end = mmap2->start + mmap2->bytes,
			    .offset = mmap2->offset},
		.file_id = {mmap2->major, mmap2->minor, mmap2->inode, mmap2->generation},
	};
	return true;
}

/*
 * BPF programs and trampolines. Only that they are unloaded matters: names are asked for while they are there.
 *
 * The sample id follows the name, and not always ends the record: the kernel (6.18 too) makes the record longer by a
 * sample id for each event that it was written to before, those of other profilers.
 */
static bool parse_ksymbol(const void *record, size_t bytes, struct sideband_event *ret)
{
	const struct ksymbol_record *symbol = record;
	const size_t room = bytes - SAMPLE_ID_BYTES - sizeof(*symbol);
	const char *end = memchr(symbol->name, '\0', room);
	size_t name_bytes;

	if (!end || symbol->address + symbol->bytes < symbol->address)
		return false;
	name_bytes = (size_t)(end - symbol->name) / 8 * 8 + 8;
	if (name_bytes > room)
		return false;
	if (!(symbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
		return true;
	ret->kind = SIDEBAND_GONE_CODE;
	ret->path = symbol->name;
	ret->time_ns = time_of(record, sizeof(*symbol) + name_bytes + SAMPLE_ID_BYTES);
	ret->gone.start = symbol->address;
	ret->gone.end = symbol->address + symbol->bytes;
	return true;
}

/* Returns the minimum length of a record of this type, without the sample id; 0: ignored type. */
static size_t least_bytes(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return sizeof(struct fork_record);
	case PERF_RECORD_COMM:
		return sizeof(struct comm_record) + 8;
	case PERF_RECORD_MMAP2:
		return sizeof(struct mmap2_record) + 8;
	case PERF_RECORD_KSYMBOL:
		return sizeof(struct ksymbol_record) + 8;
	case PERF_RECORD_LOST:
		return sizeof(struct lost_record);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return sizeof(struct throttle_record);
	default:
		return 0;
	}
}

static bool has_sample_id(uint32_t type)
{
	return type != PERF_RECORD_LOST && type != PERF_RECORD_THROTTLE &&
	       type != PERF_RECORD_UNTHROTTLE;
}

bool sideband_parse(const void *record, size_t bytes, struct sideband_event *ret)
{
	const struct perf_event_header *header = record;
	size_t least;

	*ret = (struct sideband_event){.kind = SIDEBAND_OTHER};
	if (bytes < sizeof(*header) || header->size != bytes)
		return false;
	least = least_bytes(header->type);
	if (!least)
		return true;
	if (bytes < least + (has_sample_id(header->type) ? SAMPLE_ID_BYTES : 0))
		return false;
	switch (header->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		parse_fork_exit(record, ret);
		break;
	case PERF_RECORD_COMM:
		parse_comm(record, bytes, ret);
		break;
	case PERF_RECORD_MMAP2:
		return parse_mmap2(record, bytes, ret);
	case PERF_RECORD_KSYMBOL:
		return parse_ksymbol(record, bytes, ret);
	case PERF_RECORD_LOST:
		ret->kind = SIDEBAND_LOST;
		ret->nr_lost = ((const struct lost_record *)record)->nr_lost;
		/* The event that writes it is the next one that has a record, which may be one without a sample id. */
		ret->time_ns = bytes < sizeof(struct lost_record) + SAMPLE_ID_BYTES
				       ? 0
				       : time_of(record, bytes);
		break;
	default:
		ret->kind = header->type == PERF_RECORD_THROTTLE ? SIDEBAND_THROTTLE
								 : SIDEBAND_UNTHROTTLE;
		ret->time_ns = ((const struct throttle_record *)record)->time_ns;
		ret->id = ((const struct throttle_record *)record)->id;
	}
	return true;
}

/* --- rings -------------------------------------------------------------------------------------- */

/* Sizes of a ring, or a page, if larger; powers of two. The least, under a limit, has room for some of the longest paths. */
#define DATA_BYTES	 (128UL << 10)
#define LEAST_DATA_BYTES (16UL << 10)
#define ALARM_PAGES	 2 /* room for a mapping with the longest path */

struct ring {
	int fd;	     /* of the event that it was made for; -1: not open */
	int next_fd; /* of the event that writes to it since its CPU came back; -1: fd's */
	struct perf_event_mmap_page *control; /* followed by the data */
	size_t data_bytes;
};

struct cpu_rings {
	uint32_t cpu;
	struct ring events, alarm;
	bool is_paused; /* the alarm is paused */
};

struct sideband {
	struct cpu_rings *cpus;
	size_t nr_cpus, cap_cpus;
	size_t page_bytes, data_bytes;
	char *wrapped; /* buffer for a record that wraps around the end of its ring */
};

static int open_ring(const struct sideband *sideband, struct ring *ring,
		     struct perf_event_attr *attr, uint32_t cpu, struct error *error)
{
	cleanup_fd int fd = perf_open(attr, cpu);
	void *control;

	if (ring->next_fd >= 0)
		(void)close(ring->next_fd);
	ring->next_fd = -1;
	if (fd < 0 || (ring->fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0))
		return error_set_errno(
			error, "cannot open the process event (fork, exec, mmap) on CPU %u", cpu);
	if (ring->fd >= 0) {
		ring->next_fd = take_fd(&fd);
		return 0;
	}
	ring->fd = take_fd(&fd);
	control = mmap(NULL, sideband->page_bytes + ring->data_bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED, ring->fd, 0);
	if (control == MAP_FAILED) {
		const int code =
			error_set_errno(error, "cannot map the event buffer of CPU %u", cpu);

		if (code == -EPERM)
			error_hint(error,
				   "this user's buffers take more locked memory than sysctl "
				   "kernel.perf_event_mlock_kb and ulimit -l allow; CAP_IPC_LOCK "
				   "lifts the limit");
		return code;
	}
	ring->control = control;
	return 0;
}

static void close_ring(const struct sideband *sideband, struct ring *ring)
{
	if (ring->control)
		(void)munmap(ring->control, sideband->page_bytes + ring->data_bytes);
	if (ring->next_fd >= 0)
		(void)close(ring->next_fd);
	if (ring->fd >= 0)
		(void)close(ring->fd);
}

static int open_cpu(const struct sideband *sideband, struct cpu_rings *cpu, struct error *error)
{
	struct perf_event_attr events = {
		.size = sizeof(events),
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
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct perf_event_attr alarm = {
		.size = sizeof(alarm),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.mmap = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int err;

	cpu->events.data_bytes = sideband->data_bytes;
	cpu->alarm.data_bytes = ALARM_PAGES * sideband->page_bytes;
	err = open_ring(sideband, &cpu->events, &events, cpu->cpu, error);
	return err ? err : open_ring(sideband, &cpu->alarm, &alarm, cpu->cpu, error);
}

static void close_cpu(const struct sideband *sideband, struct cpu_rings *cpu)
{
	close_ring(sideband, &cpu->events);
	close_ring(sideband, &cpu->alarm);
}

static struct cpu_rings *find_cpu(const struct sideband *sideband, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < sideband->nr_cpus; i++)
		if (sideband->cpus[i].cpu == cpu)
			return &sideband->cpus[i];
	return NULL;
}

int sideband_watch(struct sideband *sideband, uint32_t cpu, struct error *error)
{
	struct cpu_rings *known = find_cpu(sideband, cpu);
	struct cpu_rings rings = {.cpu = cpu, .events = {-1, -1}, .alarm = {-1, -1}};
	int err;

	if (known)
		return open_cpu(sideband, known, error);
	if (ARRAY_RESERVE(sideband->cpus, sideband->cap_cpus, sideband->nr_cpus + 1) < 0)
		return error_no_memory(error, "");
	err = open_cpu(sideband, &rings, error);
	if (err)
		close_cpu(sideband, &rings);
	else
		sideband->cpus[sideband->nr_cpus++] = rings;
	return err;
}

size_t sideband_ring_bytes(size_t nr_cpus, size_t page_bytes, size_t max_bytes)
{
	/* Both control pages, and the alarm's data. */
	const size_t others = (2 + ALARM_PAGES) * page_bytes;
	size_t bytes = DATA_BYTES;

	while (max_bytes && bytes > LEAST_DATA_BYTES && nr_cpus * (bytes + others) > max_bytes)
		bytes /= 2;
	return bytes > page_bytes ? bytes : page_bytes;
}

struct sideband *sideband_open(const struct cpus *online, size_t max_bytes, struct error *error)
{
	struct sideband *sideband = calloc(1, sizeof(*sideband));
	size_t i;
	int err = 0;

	if (sideband)
		sideband->wrapped = malloc(UINT16_MAX + 1);
	if (!sideband || !sideband->wrapped)
		err = error_no_memory(error, "");
	else
		sideband->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	if (!err)
		sideband->data_bytes =
			sideband_ring_bytes(online->nr, sideband->page_bytes, max_bytes);
	for (i = 0; i < online->nr && !err; i++)
		err = sideband_watch(sideband, online->numbers[i], error);
	if (!err)
		return sideband;
	sideband_close(sideband);
	return NULL;
}

void sideband_close(struct sideband *sideband)
{
	size_t i;

	if (!sideband)
		return;
	for (i = 0; i < sideband->nr_cpus; i++)
		close_cpu(sideband, &sideband->cpus[i]);
	free(sideband->cpus);
	free(sideband->wrapped);
	free(sideband);
}

size_t sideband_nr(const struct sideband *sideband)
{
	return sideband->nr_cpus;
}

int sideband_alarm_fd(const struct sideband *sideband, size_t i)
{
	return sideband->cpus[i].alarm.fd;
}

int sideband_fd_of_cpu(const struct sideband *sideband, uint32_t cpu)
{
	const struct cpu_rings *rings = find_cpu(sideband, cpu);

	return rings ? rings->events.fd : -1;
}

static uint64_t head_of(const struct ring *ring)
{
	return __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
}

/*
 * Pausing sets a flag in the ring; disabling the event would interrupt its CPU. If pausing fails,
 * the alarm's ring fills up, which stops the wake-ups too.
 */
bool sideband_pause_alarms(struct sideband *sideband)
{
	bool is_any = false;
	size_t i;

	for (i = 0; i < sideband->nr_cpus; i++) {
		struct cpu_rings *cpu = &sideband->cpus[i];

		if (head_of(&cpu->events) == cpu->events.control->data_tail)
			continue;
		is_any = true;
		if (!cpu->is_paused)
			(void)ioctl(cpu->alarm.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
		cpu->is_paused = true;
	}
	return is_any;
}

void sideband_resume_alarms(struct sideband *sideband)
{
	size_t i;

	for (i = 0; i < sideband->nr_cpus; i++) {
		struct cpu_rings *cpu = &sideband->cpus[i];
		struct pollfd rung = {.fd = cpu->alarm.fd, .events = POLLIN};

		if (!cpu->is_paused)
			continue;
		__atomic_store_n(&cpu->alarm.control->data_tail, head_of(&cpu->alarm),
				 __ATOMIC_RELEASE);
		(void)poll(&rung, 1, 0); /* clears readiness from events before the pause */
		(void)ioctl(cpu->alarm.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
		cpu->is_paused = false;
	}
}

/* Returns the record at a position as contiguous memory; NULL if its header is invalid. */
static const void *record_at(const struct sideband *sideband, const struct ring *ring, uint64_t at,
			     uint64_t head, size_t *ret_bytes)
{
	size_t data_bytes = ring->data_bytes;
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

static int read_ring(struct sideband *sideband, struct ring *ring,
		     int (*handle)(void *context, struct sideband_event *event), void *context)
{
	uint64_t head = head_of(ring);
	uint64_t at = ring->control->data_tail;
	int err = 0;

	while (at < head && err >= 0) {
		struct sideband_event event;
		size_t bytes;
		const void *record = record_at(sideband, ring, at, head, &bytes);

		if (!record) {
			at = head; /* never seen in practice; skip everything rather than loop */
			event = (struct sideband_event){
				.kind = SIDEBAND_LOST, .nr_lost = 1, .time_ns = clock_now_ns()};
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

	for (i = 0; i < sideband->nr_cpus && err >= 0; i++)
		err = read_ring(sideband, &sideband->cpus[i].events, handle, context);
	return err < 0 ? err : 0;
}
