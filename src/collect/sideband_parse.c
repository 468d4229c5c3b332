/*
 * Parsing of sideband records, as perf_event_open(2) lays them out. Each ends with the "sample id"
 * that the events' sample_type (TID | TIME) asks for: pid, tid, time, 16 bytes.
 */
#include "collect/sideband.h"

#include <linux/perf_event.h>
#include <string.h>

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

static uint64_t time_of(const void *record, size_t bytes)
{
	uint64_t time_ns;

	memcpy(&time_ns, (const char *)record + bytes - sizeof(time_ns), sizeof(time_ns));
	return time_ns;
}

/* Forks and exits of threads are of no interest: a process' mappings outlive them. */
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

	if (!(comm->header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	ret->kind = SIDEBAND_PROCESS;
	ret->process = (struct process_event){
		.kind = PROCESS_EXEC,
		.time_ns = time_of(record, bytes),
		.pid = (int32_t)comm->pid,
	};
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

/* The least that a record of this type is long, without the sample id; 0: not one of ours. */
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
	case PERF_RECORD_LOST:
		return sizeof(struct lost_record);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return sizeof(struct throttle_record);
	default:
		return 0;
	}
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
	if (bytes < least + SAMPLE_ID_BYTES)
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
	case PERF_RECORD_LOST:
		ret->kind = SIDEBAND_LOST;
		ret->nr_lost = ((const struct lost_record *)record)->nr_lost;
		break;
	default:
		ret->kind = header->type == PERF_RECORD_THROTTLE ? SIDEBAND_THROTTLE
								 : SIDEBAND_UNTHROTTLE;
		ret->time_ns = ((const struct throttle_record *)record)->time_ns;
		ret->id = ((const struct throttle_record *)record)->id;
	}
	return true;
}
