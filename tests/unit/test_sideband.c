/*
 * collect/sideband: handmade records in the layout of perf_event_open(2), in words of 8 bytes:
 * header, body, and the sample id (pid, tid, time) at the end.
 */
#include "unit/test.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "collect/sideband.h"

#define SAMPLE_ID_BYTES 16
#define TIME_NS		0x1122334455667788

struct builder {
	_Alignas(8) char bytes[512];
	size_t nr;
};

static void put_u64(struct builder *builder, uint64_t value)
{
	memcpy(builder->bytes + builder->nr, &value, sizeof(value));
	builder->nr += sizeof(value);
}

static void put_u32s(struct builder *builder, uint32_t first, uint32_t second)
{
	put_u64(builder, (uint64_t)second << 32 | first);
}

/* Includes the NUL, padded to 8 bytes. */
static void put_text(struct builder *builder, const char *text)
{
	size_t room = strlen(text) / 8 * 8 + 8;

	memset(builder->bytes + builder->nr, 0, room);
	memcpy(builder->bytes + builder->nr, text, strlen(text));
	builder->nr += room;
}

static void begin(struct builder *builder, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	memcpy(builder->bytes, &header, sizeof(header));
	builder->nr = sizeof(header);
}

static void set_size(struct builder *builder)
{
	uint16_t size = (uint16_t)builder->nr;

	memcpy(builder->bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static void end(struct builder *builder)
{
	put_u32s(builder, 10, 11); /* pid, tid of the cause */
	put_u64(builder, TIME_NS);
	set_size(builder);
}

static void build_fork(struct builder *builder, uint32_t type, uint32_t pid, uint32_t parent,
		       uint32_t tid)
{
	begin(builder, type, 0);
	put_u32s(builder, pid, parent);
	put_u32s(builder, tid, parent);
	put_u64(builder, TIME_NS - 1);
	end(builder);
}

static void build_ksymbol(struct builder *builder, uint16_t flags, const char *name)
{
	begin(builder, PERF_RECORD_KSYMBOL, 0);
	put_u64(builder, 0xffffffffc0001000);
	put_u32s(builder, 0x100, (uint32_t)flags << 16 | PERF_RECORD_KSYMBOL_TYPE_BPF);
	put_text(builder, name);
	end(builder);
}

static void build_comm(struct builder *builder, uint16_t misc, uint32_t tid, const char *name)
{
	begin(builder, PERF_RECORD_COMM, misc);
	put_u32s(builder, 20, tid);
	put_text(builder, name);
	end(builder);
}

static void build_mmap2(struct builder *builder, uint64_t start, uint64_t bytes, const char *path)
{
	begin(builder, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	put_u32s(builder, 20, 21);
	put_u64(builder, start);
	put_u64(builder, bytes);
	put_u64(builder, 0x3000);      /* offset */
	put_u32s(builder, 8, 17);      /* major, minor */
	put_u64(builder, 12345678901); /* inode */
	put_u64(builder, 99);	       /* generation */
	put_u32s(builder, 5, 2);       /* protection, flags */
	put_text(builder, path);
	end(builder);
}

static void build_lost(struct builder *builder)
{
	begin(builder, PERF_RECORD_LOST, 0);
	put_u64(builder, 5);
	put_u64(builder, 1234);
	end(builder);
}

static void build_throttle(struct builder *builder, uint32_t type)
{
	begin(builder, type, 0);
	put_u64(builder, TIME_NS - 2);
	put_u64(builder, 77);
	put_u64(builder, 78);
	end(builder);
}

static struct sideband_event parse(const struct builder *builder)
{
	struct sideband_event event;

	CHECK(sideband_parse(test_guarded(builder->bytes, builder->nr), builder->nr, &event));
	return event;
}

TEST(sideband_fork_of_a_process)
{
	struct builder builder;
	struct sideband_event event;

	build_fork(&builder, PERF_RECORD_FORK, 30, 20, 30);
	event = parse(&builder);
	CHECK_EQ(event.kind, SIDEBAND_PROCESS);
	CHECK_EQ(event.process.kind, PROCESS_FORK);
	CHECK_EQ(event.process.pid, 30);
	CHECK_EQ(event.process.parent, 20);
	CHECK_EQ(event.process.time_ns, TIME_NS - 1); /* the record's, not the sample id's */
	build_fork(&builder, PERF_RECORD_FORK, 20, 20, 31);
	CHECK_EQ(parse(&builder).kind, SIDEBAND_OTHER); /* a thread */
}

TEST(sideband_exit_of_a_process)
{
	struct builder builder;
	struct sideband_event event;

	build_fork(&builder, PERF_RECORD_EXIT, 30, 20, 30);
	event = parse(&builder);
	CHECK_EQ(event.kind, SIDEBAND_PROCESS);
	CHECK_EQ(event.process.kind, PROCESS_EXIT);
	CHECK_EQ(event.process.pid, 30);
	CHECK_EQ(event.process.time_ns, TIME_NS - 1);
	build_fork(&builder, PERF_RECORD_EXIT, 30, 20, 31);
	CHECK_EQ(parse(&builder).kind, SIDEBAND_OTHER); /* not the leading thread */
}

TEST(sideband_comm_is_an_exec_if_it_says_so)
{
	struct builder builder;
	struct sideband_event event;

	build_comm(&builder, PERF_RECORD_MISC_COMM_EXEC, 20, "sleep");
	event = parse(&builder);
	CHECK_EQ(event.kind, SIDEBAND_PROCESS);
	CHECK_EQ(event.process.kind, PROCESS_EXEC);
	CHECK_STR(event.process.name, "sleep");
	CHECK_EQ(event.process.pid, 20);
	CHECK_EQ(event.process.time_ns, TIME_NS);
	build_comm(&builder, 0, 20, "renamed");
	event = parse(&builder);
	CHECK_EQ(event.process.kind, PROCESS_RENAME);
	CHECK_STR(event.process.name, "renamed");
	build_comm(&builder, 0, 21, "renamed"); /* another thread than the leader */
	CHECK_EQ(parse(&builder).kind, SIDEBAND_OTHER);
	build_comm(&builder, PERF_RECORD_MISC_COMM_EXEC, 20, "fifteen-letters");
	CHECK_EQ(parse(&builder).process.time_ns, TIME_NS);
}

TEST(sideband_mapping)
{
	struct builder builder;
	struct sideband_event event;

	build_mmap2(&builder, 0x7f0000001000, 0x2000, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	event = parse(&builder);
	CHECK_EQ(event.kind, SIDEBAND_PROCESS);
	CHECK_EQ(event.process.kind, PROCESS_MAP);
	CHECK_EQ(event.process.pid, 20);
	CHECK_EQ(event.process.time_ns, TIME_NS);
	CHECK_EQ(event.process.mapping.start, 0x7f0000001000);
	CHECK_EQ(event.process.mapping.end, 0x7f0000003000);
	CHECK_EQ(event.process.mapping.offset, 0x3000);
	CHECK_EQ(event.process.file_id.major, 8);
	CHECK_EQ(event.process.file_id.minor, 17);
	CHECK_EQ(event.process.file_id.inode, 12345678901);
	CHECK_EQ(event.process.file_id.generation, 99);
	CHECK_STR(event.path, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	build_mmap2(&builder, 0x1000, 0x1000, "//anon");
	CHECK_STR(parse(&builder).path, "//anon");
	build_mmap2(&builder, 0xffffffffff600000, 0x1000, "[vsyscall]");
	CHECK_EQ(parse(&builder).process.mapping.end, 0xffffffffff601000);
}

TEST(sideband_mapping_that_wraps_is_refused)
{
	struct builder builder;
	struct sideband_event event;

	build_mmap2(&builder, 0xfffffffffffff000, 0x1001, "/x");
	CHECK(!sideband_parse(builder.bytes, builder.nr, &event));
	build_mmap2(&builder, 1, UINT64_MAX, "/x");
	CHECK(!sideband_parse(builder.bytes, builder.nr, &event));
}

/* The path must end before the sample id, even if only the sample id contains a NUL. */
TEST(sideband_path_without_end_is_refused)
{
	struct builder builder;
	struct sideband_event event;

	build_mmap2(&builder, 0x1000, 0x1000, "/seven7");
	CHECK(sideband_parse(builder.bytes, builder.nr, &event));
	memset(builder.bytes + builder.nr - SAMPLE_ID_BYTES - 1, 'x', 1);
	CHECK(!sideband_parse(builder.bytes, builder.nr, &event));
}

TEST(sideband_losses_and_throttling)
{
	struct builder builder;
	struct sideband_event event;

	build_lost(&builder);
	event = parse(&builder);
	CHECK_EQ(event.kind, SIDEBAND_LOST);
	CHECK_EQ(event.nr_lost, 1234);
	CHECK_EQ(event.time_ns, TIME_NS);
	builder.nr -= SAMPLE_ID_BYTES; /* as the sampling events write it */
	set_size(&builder);
	event = parse(&builder);
	CHECK_EQ(event.nr_lost, 1234);
	CHECK_EQ(event.time_ns, 0);
	build_throttle(&builder, PERF_RECORD_THROTTLE);
	event = parse(&builder);
	CHECK_EQ(event.kind, SIDEBAND_THROTTLE);
	CHECK_EQ(event.id, 77);
	CHECK_EQ(event.time_ns, TIME_NS - 2);
	build_throttle(&builder, PERF_RECORD_UNTHROTTLE);
	CHECK_EQ(parse(&builder).kind, SIDEBAND_UNTHROTTLE);
	/* As the sampling events write them. */
	builder.nr -= SAMPLE_ID_BYTES;
	set_size(&builder);
	event = parse(&builder);
	CHECK_EQ(event.kind, SIDEBAND_UNTHROTTLE);
	CHECK_EQ(event.id, 77);
}

TEST(sideband_kernel_code)
{
	struct builder builder;
	struct sideband_event event;

	build_ksymbol(&builder, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
		      "bpf_prog_0123456789abcdef_x");
	event = parse(&builder);
	CHECK_EQ(event.kind, SIDEBAND_GONE_CODE);
	CHECK_EQ(event.gone.start, 0xffffffffc0001000);
	CHECK_EQ(event.gone.end, 0xffffffffc0001100);
	CHECK_EQ(event.time_ns, TIME_NS);
	CHECK_STR(event.path, "bpf_prog_0123456789abcdef_x");
	build_ksymbol(&builder, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, "bpf_prog_x");
	put_u64(&builder, 0); /* was written to another profiler's event before */
	put_u64(&builder, 1);
	set_size(&builder);
	CHECK_EQ(parse(&builder).time_ns, TIME_NS);
	build_ksymbol(&builder, 0, "bpf_trampoline_1");
	CHECK_EQ(parse(&builder).kind, SIDEBAND_OTHER); /* is loaded */
}

TEST(sideband_other_records_are_passed_over)
{
	struct builder builder;
	uint32_t type;

	for (type = PERF_RECORD_MMAP; type < 64; type++) {
		if (type == PERF_RECORD_LOST || type == PERF_RECORD_COMM ||
		    type == PERF_RECORD_EXIT || type == PERF_RECORD_THROTTLE ||
		    type == PERF_RECORD_UNTHROTTLE || type == PERF_RECORD_FORK ||
		    type == PERF_RECORD_MMAP2 || type == PERF_RECORD_KSYMBOL)
			continue;
		begin(&builder, type, 0);
		set_size(&builder);
		CHECK_EQ(parse(&builder).kind, SIDEBAND_OTHER);
	}
}

/* --- damage ---------------------------------------------------------------------------------- */

static void build_kind(struct builder *builder, int kind)
{
	switch (kind) {
	case 0:
		return build_fork(builder, PERF_RECORD_FORK, 30, 20, 30);
	case 1:
		return build_fork(builder, PERF_RECORD_EXIT, 30, 20, 30);
	case 2:
		return build_comm(builder, PERF_RECORD_MISC_COMM_EXEC, 20, "sleep");
	case 3:
		return build_mmap2(builder, 0x1000, 0x2000, "/usr/bin/a-longer-name");
	case 4:
		return build_lost(builder);
	case 5:
		return build_ksymbol(builder, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, "bpf_prog_x");
	default:
		return build_throttle(builder, PERF_RECORD_THROTTLE);
	}
}

#define NR_KINDS 7

/* Checks that an accepted record is plausible. */
static void check_believable(const char *record, size_t nr, const struct sideband_event *event)
{
	if (event->kind == SIDEBAND_GONE_CODE)
		CHECK(event->gone.start <= event->gone.end && event->path > record &&
		      event->path + strlen(event->path) < record + nr);
	if (event->kind != SIDEBAND_PROCESS || event->process.kind != PROCESS_MAP)
		return;
	CHECK(event->process.mapping.start <= event->process.mapping.end);
	CHECK(event->path > record && event->path + strlen(event->path) < record + nr);
}

/* Parses a copy that ends at a guard page; unaligned lengths end at the end of a heap block. */
static bool parse_copy(const char *bytes, size_t nr)
{
	struct sideband_event event;
	char *copy = nr % 8 ? malloc(nr) : test_guarded(bytes, nr);
	bool sound;

	CHECK(copy != NULL);
	if (nr % 8)
		memcpy(copy, bytes, nr);
	sound = sideband_parse(copy, nr, &event);
	if (sound)
		check_believable(copy, nr, &event);
	if (nr % 8)
		free(copy);
	return sound;
}

TEST(sideband_truncated_records)
{
	struct builder builder;
	size_t nr, whole;
	int kind;

	for (kind = 0; kind < NR_KINDS; kind++) {
		build_kind(&builder, kind);
		whole = builder.nr;
		CHECK(parse_copy(builder.bytes, whole));
		for (nr = 0; nr < whole; nr++) {
			builder.nr = whole;
			set_size(&builder);
			CHECK(!parse_copy(builder.bytes, nr)); /* longer than the buffer */
			builder.nr = nr;
			set_size(&builder);
			(void)parse_copy(builder.bytes, nr); /* consistent, but short */
		}
	}
}

TEST(sideband_flipped_bits)
{
	struct builder builder;
	int kind;

	for (kind = 0; kind < NR_KINDS; kind++) {
		char *guarded;
		size_t bit, other;

		build_kind(&builder, kind);
		guarded = test_guarded(builder.bytes, builder.nr);
		for (bit = 0; bit < builder.nr * 8; bit++) {
			guarded[bit / 8] ^= (char)(1 << bit % 8);
			for (other = bit + 1; other < builder.nr * 8; other += 5) {
				struct sideband_event event;

				guarded[other / 8] ^= (char)(1 << other % 8);
				if (sideband_parse(guarded, builder.nr, &event))
					check_believable(guarded, builder.nr, &event);
				guarded[other / 8] ^= (char)(1 << other % 8);
			}
			guarded[bit / 8] ^= (char)(1 << bit % 8);
		}
	}
}

TEST(sideband_rings_fit_into_a_limit)
{
	CHECK_EQ(sideband_ring_bytes(256, 4096, 0), 128 << 10);
	CHECK_EQ(sideband_ring_bytes(2, 4096, 1 << 20), 128 << 10);
	CHECK_EQ(sideband_ring_bytes(256, 4096, 32 << 20), 64 << 10);
	CHECK_EQ(sideband_ring_bytes(256, 4096, 4 << 20), 16 << 10);  /* the least */
	CHECK_EQ(sideband_ring_bytes(256, 65536, 4 << 20), 64 << 10); /* a page */
}
