/*
 * A drain with everything it needs, handmade events and records, and the resulting profile as text.
 * The pids are above any pid that a kernel assigns, so /proc has no entry for them.
 */
#ifndef STOOK_TESTS_UNIT_DRAIN_FIXTURE_H
#define STOOK_TESTS_UNIT_DRAIN_FIXTURE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/drain.h"
#include "unit/look_here.h"
#include "unit/test.h"

#define PID_A 5000001 /* above the greatest pid_max */
#define PID_B 5000002
#define PID_C 5000003

struct fixture {
	struct file_table *files;
	struct process_table *processes;
	struct profile *profile;
	struct drain *drain;
};

/* Returns false if out of memory; the fixture must be closed in either case. */
static inline bool fixture_try_open(struct fixture *fixture, unsigned labels,
				    const struct name_filter *names)
{
	struct drain_options options = {.labels = labels, .names = names, .cgroup_root_fd = -1};

	*fixture = (struct fixture){.files = file_table_new(16), .profile = profile_new()};
	if (fixture->files)
		fixture->processes = process_table_new(fixture->files);
	if (!fixture->processes || !fixture->profile)
		return false;
	options.files = fixture->files;
	options.processes = fixture->processes;
	options.profile = fixture->profile;
	fixture->drain = drain_new(&options);
	return fixture->drain != NULL;
}

static inline void fixture_open(struct fixture *fixture, unsigned labels,
				const struct name_filter *names)
{
	CHECK(fixture_try_open(fixture, labels, names));
}

static inline void fixture_close(struct fixture *fixture)
{
	drain_free(fixture->drain);
	profile_free(fixture->profile);
	process_table_free(fixture->processes);
	file_table_free(fixture->files);
}

/* --- what the session does around the drain --------------------------------------------------- */

/* Snapshots the processes of the records, and looks at the files. */
static inline int ensure_here(struct fixture *fixture)
{
	int err = drain_ensure_processes(fixture->drain);

	return err < 0 ? err : look_here(fixture->files, fixture->processes);
}

static inline int replay_here(struct fixture *fixture, uint64_t until_ns)
{
	int err = ensure_here(fixture);

	return err < 0 ? err : drain_replay(fixture->drain, until_ns);
}

static inline int close_epoch_here(struct fixture *fixture, uint32_t epoch, uint64_t until_ns)
{
	int err = ensure_here(fixture);

	return err < 0 ? err : drain_close_epoch(fixture->drain, epoch, until_ns);
}

/* --- events ---------------------------------------------------------------------------------- */

struct made_event {
	struct process_event event;
	const char *path;
};

static inline struct made_event made_fork(uint64_t time_ns, int32_t parent, int32_t pid)
{
	return (struct made_event){
		.event = {.kind = PROCESS_FORK, .time_ns = time_ns, .pid = pid, .parent = parent}};
}

static inline struct made_event made_exec(uint64_t time_ns, int32_t pid)
{
	return (struct made_event){.event = {.kind = PROCESS_EXEC, .time_ns = time_ns, .pid = pid}};
}

static inline struct made_event made_exit(uint64_t time_ns, int32_t pid)
{
	return (struct made_event){.event = {.kind = PROCESS_EXIT, .time_ns = time_ns, .pid = pid}};
}

/* Equal paths are one file. "//anon" and "[vdso]" are not files, as in the kernel's records. */
static inline struct made_event made_map(uint64_t time_ns, int32_t pid, uint64_t start,
					 uint64_t end, uint64_t offset, const char *path)
{
	struct made_event made = {.event = {.kind = PROCESS_MAP, .time_ns = time_ns, .pid = pid},
				  .path = path};
	const char *at;

	made.event.mapping = (struct mapping){.start = start, .end = end, .offset = offset};
	if (path[0] != '/' || !strcmp(path, "//anon"))
		return made;
	made.event.file_id = (struct file_id){250, 1, 1, 1};
	for (at = path; *at; at++)
		made.event.file_id.inode = made.event.file_id.inode * 31 + (uint64_t)*at;
	return made;
}

static inline int give_event(struct fixture *fixture, struct made_event made)
{
	return drain_add_event(fixture->drain, &made.event, made.path ? made.path : "");
}

/* --- records --------------------------------------------------------------------------------- */

struct made_record {
	struct wire_record record;
	uint64_t frames[WIRE_MAX_FRAMES];
};

/* A record of thread "app" in epoch 0 with up to three user addresses; a 0 ends the list. */
static inline struct made_record made_record(uint64_t time_ns, int32_t pid, uint64_t id,
					     uint64_t leaf, uint64_t caller, uint64_t root)
{
	uint64_t addresses[] = {leaf, caller, root};
	struct made_record made;

	memset(&made, 0, sizeof(made));
	made.record.id = id;
	made.record.time_ns = time_ns;
	made.record.pid = made.record.tid = (uint32_t)pid;
	made.record.user_end = WALK_UNWOUND;
	memcpy(made.record.comm, "app", 3);
	while (made.record.nr_user < 3 && addresses[made.record.nr_user]) {
		made.frames[made.record.nr_user] = addresses[made.record.nr_user];
		made.record.nr_user++;
	}
	return made;
}

/* Passes the drain an exact-size heap copy, so that AddressSanitizer sees a read past its end. */
static inline int give_record(struct fixture *fixture, const struct made_record *made)
{
	size_t nr = (size_t)made->record.nr_user + made->record.nr_kernel;
	size_t bytes = sizeof(made->record) + nr * sizeof(uint64_t);
	struct wire_record *copy = malloc(bytes);
	int err;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, made, bytes);
	err = drain_add_record(fixture->drain, copy, bytes);
	free(copy);
	return err;
}

static inline int give_sample(struct fixture *fixture, uint64_t time_ns, int32_t pid, uint64_t id,
			      uint64_t leaf)
{
	struct made_record made = made_record(time_ns, pid, id, leaf, 0, 0);

	return give_record(fixture, &made);
}

/* --- profile as text ------------------------------------------------------------------------- */

#define SAMPLE_TEXT_BYTES 4096

/* Writes `comm:pid:tid:cpu` (if on), `module+hex` leaf first, and the count if with_count. */
static inline void sample_text(const struct profile *profile, const struct sample *sample,
			       bool with_count, char text[SAMPLE_TEXT_BYTES])
{
	const struct sample_labels *labels = &sample->labels;
	const uint32_t *frames = profile_sample_frames(profile, sample);
	size_t used = 0, i;

#define APPEND(...) (used += (size_t)snprintf(text + used, SAMPLE_TEXT_BYTES - used, __VA_ARGS__))

	text[0] = '\0';
	if (labels->comm)
		APPEND("%s:", profile_string(profile, labels->comm));
	if (labels->pid || labels->tid || labels->cpu)
		APPEND("%d:%d:%d:", labels->pid, labels->tid, labels->cpu);
	if (labels->cgroup)
		APPEND("%s:", profile_string(profile, labels->cgroup));
	for (i = 0; i < sample->nr_frames; i++) {
		const struct frame *frame = profile_frame(profile, frames[i]);

		CHECK_EQ(frame->kind == FRAME_KERNEL, i < sample->nr_kernel_frames);
		APPEND("%s%s+%" PRIx64, i ? " " : "", profile_module_name(profile, frame->module),
		       frame->address);
	}
	if (with_count)
		APPEND(" %" PRIu64, sample->count);
#undef APPEND
	CHECK(used < SAMPLE_TEXT_BYTES);
}

static inline int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Compares all samples as sorted text, each followed by `;`, with the expected text. */
static inline void check_profile(const struct profile *profile, const char *expected)
{
	size_t nr = profile_nr_samples(profile), used = 0, i;
	char **lines = calloc(nr + 1, sizeof(*lines));
	char text[4 * SAMPLE_TEXT_BYTES] = "";

	CHECK(lines != NULL);
	for (i = 0; i < nr; i++) {
		lines[i] = malloc(SAMPLE_TEXT_BYTES);
		CHECK(lines[i] != NULL);
		sample_text(profile, profile_sample(profile, (uint32_t)i), true, lines[i]);
	}
	qsort(lines, nr, sizeof(*lines), compare_texts);
	for (i = 0; i < nr; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s;", lines[i]);
		CHECK(used < sizeof(text));
		free(lines[i]);
	}
	free(lines);
	CHECK_STR(text, expected);
}

#endif
