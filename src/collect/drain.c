/*
 * Records and events are held in two arrays until they are replayed, merged by time. A record
 * becomes a sample of the profile: its user addresses become (file, offset), once and immediately,
 * because an address has a meaning only while its process runs; its identity becomes labels. Its id
 * is kept for the counts of its epoch.
 */
#include "collect/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "proc/cgroup.h"

#define HIDDEN UINT64_MAX /* in ids: filtered out by thread name */

/*
 * Limit on strings in the profile: targets can set any number of thread names. Beyond it, all other
 * threads share one name.
 */
#define MAX_STRINGS (1U << 20)

#define NO_MODULE UINT32_MAX

struct pending_record {
	uint64_t time_ns;
	size_t at; /* offset in drain->bytes */
};

struct waiting_count {
	uint32_t epoch;
	uint64_t id;
	struct wire_count count;
};

struct drain {
	struct drain_options options;
	struct drain_totals totals;

	char *bytes; /* pending records, back to back */
	size_t nr_bytes, cap_bytes;
	struct pending_record *records;
	size_t nr_records, cap_records;
	size_t nr_met; /* records whose process was looked up already */
	struct process_event *events;
	size_t nr_events, cap_events;
	struct waiting_count *counts;
	size_t nr_counts, cap_counts;

	struct u64_map ids[WIRE_EPOCH_SLOTS]; /* by epoch slot: record id → sample number */

	uint32_t *module_of_file; /* file number → module number in the profile */
	size_t nr_modules, cap_modules;
	uint32_t vdso_module;
	uint32_t run_time_name;	     /* string number: module name of JIT-compiled code */
	struct u64_map cgroup_names; /* id → string number in the profile */

	struct deferred_list deferred;
};

/* --- begin and end ------------------------------------------------------------------------- */

/* Adds the strings and the module that every profile has. */
static int add_names(struct drain *drain)
{
	struct profile *profile = drain->options.profile;
	int64_t run_time_name = profile_add_string(profile, "//anon");
	int64_t vdso_name = profile_add_string(profile, "[vdso]");
	struct module vdso = {.kind = MODULE_VDSO, .name = (uint32_t)vdso_name};
	int64_t vdso_module = vdso_name < 0 ? vdso_name : profile_add_module(profile, &vdso);

	if (run_time_name < 0 || vdso_module < 0)
		return -ENOMEM;
	drain->run_time_name = (uint32_t)run_time_name;
	drain->vdso_module = (uint32_t)vdso_module;
	return 0;
}

struct drain *drain_new(const struct drain_options *options)
{
	struct drain *drain = calloc(1, sizeof(*drain));

	if (!drain)
		return NULL;
	drain->options = *options;
	if (add_names(drain) < 0) {
		drain_free(drain);
		return NULL;
	}
	return drain;
}

void drain_free(struct drain *drain)
{
	size_t slot;

	if (!drain)
		return;
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		u64_map_clear(&drain->ids[slot]);
	deferred_list_clear(&drain->deferred);
	u64_map_clear(&drain->cgroup_names);
	free(drain->module_of_file);
	free(drain->bytes);
	free(drain->records);
	free(drain->events);
	free(drain->counts);
	free(drain);
}

int drain_change_profile(struct drain *drain, struct profile *profile)
{
	struct profile *before = drain->options.profile;
	const uint32_t run_time_name = drain->run_time_name, vdso_module = drain->vdso_module;
	size_t slot;

	drain->options.profile = profile;
	if (add_names(drain) < 0) {
		drain->options.profile = before;
		drain->run_time_name = run_time_name;
		drain->vdso_module = vdso_module;
		return -ENOMEM;
	}
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		u64_map_clear(&drain->ids[slot]);
	u64_map_clear(&drain->cgroup_names);
	drain->nr_modules = 0;
	return 0;
}

const struct drain_totals *drain_totals(const struct drain *drain)
{
	return &drain->totals;
}

uint64_t drain_waiting(const struct drain *drain)
{
	return drain->nr_counts;
}

/* --- taking in ------------------------------------------------------------------------------- */

static const struct wire_record *record_at(const struct drain *drain, size_t i)
{
	return (const struct wire_record *)(drain->bytes + drain->records[i].at);
}

static bool is_sound(const struct wire_record *record, size_t bytes)
{
	return bytes >= sizeof(*record) &&
	       record->nr_user <=
		       (record->user_end == WALK_RAW ? WIRE_MAX_RAW_WORDS : WIRE_MAX_USER_FRAMES) &&
	       record->nr_kernel <= WIRE_MAX_KERNEL_FRAMES && bytes == wire_record_bytes(record);
}

int drain_add_record(struct drain *drain, const struct wire_record *record, size_t bytes)
{
	if (!is_sound(record, bytes)) {
		drain->totals.bad_records++;
		return 0;
	}
	if (ARRAY_RESERVE(drain->bytes, drain->cap_bytes, drain->nr_bytes + bytes) < 0 ||
	    ARRAY_RESERVE(drain->records, drain->cap_records, drain->nr_records + 1) < 0)
		return -ENOMEM;
	memcpy(drain->bytes + drain->nr_bytes, record, bytes);
	drain->records[drain->nr_records++] =
		(struct pending_record){.time_ns = record->time_ns, .at = drain->nr_bytes};
	drain->nr_bytes += bytes;
	return 0;
}

int drain_add_event(struct drain *drain, struct process_event *event, const char *path)
{
	if (ARRAY_RESERVE(drain->events, drain->cap_events, drain->nr_events + 1) < 0 ||
	    process_table_arrive(drain->options.processes, event, path) < 0)
		return -ENOMEM;
	drain->events[drain->nr_events++] = *event;
	/* After a fork, exec or exit the published mappings are out of date. */
	if (event->kind != PROCESS_MAP && drain->options.unwinder)
		unwinder_forget(drain->options.unwinder, (uint32_t)event->pid);
	return 0;
}

int drain_add_count(struct drain *drain, uint32_t epoch, uint64_t id,
		    const struct wire_count *count)
{
	if (!count->count)
		return 0; /* seen once: the record itself was the only sample */
	return ARRAY_ADD(drain->counts, drain->nr_counts, drain->cap_counts,
			 (struct waiting_count){epoch, id, *count});
}

int drain_ensure_processes(struct drain *drain)
{
	for (; drain->nr_met < drain->nr_records; drain->nr_met++) {
		const struct wire_record *record = record_at(drain, drain->nr_met);

		if (record->nr_user &&
		    process_table_ensure(drain->options.processes, (int32_t)record->pid) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* --- from addresses to frames ---------------------------------------------------------------- */

/* Returns the profile's module for a file; creates it at the file's first frame. */
static int64_t module_of_file(struct drain *drain, uint32_t file)
{
	struct module module = {.kind = MODULE_FILE, .file = file};
	int64_t name, number;

	if (file < drain->nr_modules && drain->module_of_file[file] != NO_MODULE)
		return drain->module_of_file[file];
	if (ARRAY_RESERVE(drain->module_of_file, drain->cap_modules, (size_t)file + 1) < 0)
		return -ENOMEM;
	while (drain->nr_modules <= file)
		drain->module_of_file[drain->nr_modules++] = NO_MODULE;
	name = profile_add_string(drain->options.profile,
				  file_table_get(drain->options.files, file)->path);
	if (name < 0)
		return -ENOMEM;
	module.name = (uint32_t)name;
	number = profile_add_module(drain->options.profile, &module);
	if (number < 0)
		return -ENOMEM;
	file_table_mark_sampled(drain->options.files, file);
	drain->module_of_file[file] = (uint32_t)number;
	return number;
}

/*
 * Returns the module of a process' JIT-compiled code. Each process has its own: the same address is
 * different code in each.
 */
static int64_t run_time_module(struct drain *drain, const struct wire_record *record,
			       const struct mappings *mappings)
{
	const struct drain_options *options = &drain->options;
	struct module module = {.kind = MODULE_RUN_TIME, .name = drain->run_time_name};
	int64_t process = -ENOENT;

	if (options->runtimes && record->pid)
		process = runtime_table_add(options->runtimes, (int32_t)record->pid,
					    record->start_time_ns, record->exec_id, mappings,
					    options->files);
	if (process == -ENOMEM)
		return process;
	if (process >= 0)
		module.file = (uint32_t)process + 1;
	return profile_add_module(options->profile, &module);
}

static int64_t user_frame(struct drain *drain, const struct wire_record *record,
			  const struct mappings *mappings, uint64_t address)
{
	const struct mapping *mapping = mappings_find(mappings, address);
	int64_t module = MODULE_NR_UNKNOWN;

	if (mapping && mapping->kind == MAPPING_FILE) {
		module = module_of_file(drain, mapping->file);
		address = address - mapping->start + mapping->offset;
	} else if (mapping && mapping->kind == MAPPING_VDSO) {
		module = drain->vdso_module;
		address =
			address - mapping->start + mapping->offset; /* may start inside the vdso */
	} else if (mapping) {
		module = run_time_module(drain, record, mappings);
	} else {
		address = 0; /* meaningless without mapping, and there may be very many */
	}
	if (module < 0)
		return module;
	return profile_add_frame(drain->options.profile, FRAME_USER, (uint32_t)module, address);
}

/* A record's user stack, walked by the kernel or by us. */
struct user_part {
	const uint64_t *frames; /* leaf first */
	size_t nr;
	uint8_t end;			 /* enum walk_end */
	const struct mappings *mappings; /* of the process at that time; NULL: not known */
};

/* Returns the probe that took a record. */
static struct drain_probe probe_of(const struct drain *drain, const struct wire_record *record)
{
	const struct drain_options *options = &drain->options;

	return record->probe < options->nr_probes ? options->probes[record->probe]
						  : (struct drain_probe){.frame = NO_PROBE_FRAME};
}

/*
 * Resolves a record's addresses to frame numbers: kernel frames first, as the profile expects. All
 * addresses but the leaf of each part are return addresses, so address - 1 is looked up.
 */
static int resolve(struct drain *drain, const struct wire_record *record,
		   const struct user_part *user, uint32_t *frames)
{
	const uint64_t *kernel = (const uint64_t *)(record + 1) + record->nr_user;
	int64_t frame;
	size_t i;

	for (i = 0; i < record->nr_kernel; i++) {
		frame = profile_add_frame(drain->options.profile, FRAME_KERNEL, MODULE_NR_KERNEL,
					  kernel[i] - (i > 0));
		if (frame < 0)
			return -ENOMEM;
		*frames++ = (uint32_t)frame;
	}
	for (i = 0; i < user->nr; i++) {
		frame = user_frame(drain, record, user->mappings, user->frames[i] - (i > 0));
		if (frame < 0)
			return -ENOMEM;
		*frames++ = (uint32_t)frame;
	}
	return 0;
}

/* --- from identities to labels ------------------------------------------------------------------ */

/*
 * Returns the string number of a cgroup's path. The path is read once per cgroup, as early as
 * possible.
 */
static int64_t cgroup_name(struct drain *drain, uint64_t id)
{
	const uint64_t *known = u64_map_find(&drain->cgroup_names, id);
	cleanup_free char *path = NULL;
	int64_t string;

	if (known)
		return (int64_t)*known;
	path = cgroup_path(drain->options.cgroup_root_fd, id);
	string = profile_add_string(drain->options.profile, path ? path : "[cgroup gone]");
	if (string < 0 || u64_map_set(&drain->cgroup_names, id, (uint64_t)string) < 0)
		return -ENOMEM;
	return string;
}

/* Adds one sample. Returns its number in the profile, or -ENOMEM. */
static int64_t add_to_profile(struct drain *drain, const struct wire_record *record,
			      const char *comm, const struct user_part *user)
{
	const struct slicing *slicing = drain->options.slicing;
	const struct drain_probe probe = probe_of(drain, record);
	struct profile *profile = drain->options.profile;
	unsigned wanted = drain->options.labels;
	int64_t string = 0, cgroup = 0, slice = 0;
	uint32_t frames[1 + WIRE_MAX_FRAMES], nr = 0;
	bool has_kernel_leaf = false;
	struct sample_labels labels;

	if (slicing && slicing->slice_ns) {
		const struct time_slice time = slicing_slice(slicing, record);

		slice = profile_add_slice(profile, &time);
		if (slice == -E2BIG)
			slice = 0; /* the profile has its maximum of slices */
	}
	if (profile_nr_strings(profile) > MAX_STRINGS)
		comm = "[other threads]";
	if (wanted & LABEL_COMM)
		string = profile_add_string(profile, comm);
	if (wanted & LABEL_CGROUP)
		cgroup = cgroup_name(drain, record->cgroup);
	if (probe.frame != NO_PROBE_FRAME) {
		frames[nr] = probe.frame;
		has_kernel_leaf = profile_frame(profile, frames[nr++])->kind == FRAME_KERNEL;
	}
	if (string < 0 || cgroup < 0 || slice < 0 || resolve(drain, record, user, &frames[nr]) < 0)
		return -ENOMEM;
	labels = (struct sample_labels){
		.comm = (uint32_t)string,
		.cgroup = (uint32_t)cgroup,
		.probe = wanted & LABEL_PROBE ? probe.name : 0,
		.pid = wanted & LABEL_PID ? (int32_t)record->pid : 0,
		.tid = wanted & LABEL_TID ? (int32_t)record->tid : 0,
		.cpu = wanted & LABEL_CPU ? (int32_t)record->cpu : 0,
		.slice = (uint32_t)slice,
		.user_end = user->end,
		.kernel_end = record->kernel_end,
	};
	return profile_add_sample(profile, &labels, frames, nr + user->nr + record->nr_kernel,
				  has_kernel_leaf + record->nr_kernel,
				  drain->options.by_weight ? record->weight : 1);
}

/* --- from records to samples ----------------------------------------------------------------- */

static void count_record(struct drain *drain, const struct wire_record *record)
{
	drain->totals.records++;
	if (!drain->totals.first_ns || record->time_ns < drain->totals.first_ns)
		drain->totals.first_ns = record->time_ns;
}

/*
 * Adds the record's sample. *ret_sample: its number, or HIDDEN. On failure nothing was added, and
 * the record can be replayed again.
 */
static int add_sample(struct drain *drain, const struct wire_record *record,
		      const struct user_part *user, uint64_t *ret_sample)
{
	char comm[WIRE_COMM_BYTES + 1] = "";
	int64_t sample;

	*ret_sample = HIDDEN;
	memcpy(comm, record->comm, WIRE_COMM_BYTES);
	if (drain->options.comm && !matcher_matches(drain->options.comm, comm)) {
		drain->totals.hidden++;
		count_record(drain, record);
		return 0;
	}
	sample = add_to_profile(drain, record, comm, user);
	if (sample < 0)
		return (int)sample;
	*ret_sample = (uint64_t)sample;
	count_record(drain, record);
	return 0;
}

/*
 * Walks a raw record with the mappings of its process. -EAGAIN: an unwind table is still missing.
 */
static int walk_raw(struct drain *drain, const struct wire_record *record,
		    const struct mappings *mappings, bool last)
{
	struct user_stack stack = {.end = WALK_NO_TABLE};
	struct user_part user = {.mappings = mappings, .frames = stack.frames};
	uint64_t sample;

	if (drain->options.unwinder &&
	    unwinder_walk(drain->options.unwinder, record, mappings, &stack) == -EAGAIN) {
		if (!last)
			return -EAGAIN;
		stack.end = WALK_NO_TABLE;
	}
	/*
	 * In the middle of an exec: the memory is the new program's, the registers still the old
	 * one's.
	 */
	if (stack.end == WALK_NO_MAPPING && record->nr_kernel &&
	    !mappings_find(mappings, stack.frames[0])) {
		stack.nr = 0;
		stack.end = WALK_NONE;
	}
	user.nr = stack.nr;
	user.end = (uint8_t)stack.end;
	return add_sample(drain, record, &user, &sample);
}

/* The first raw record of a process shows that the kernel lacks its mappings. */
static int replay_raw(struct drain *drain, const struct wire_record *record,
		      const struct mappings *mappings)
{
	struct unwinder *unwinder = drain->options.unwinder;
	size_t bytes = wire_record_bytes(record);
	int err = 0;

	if (unwinder && mappings && !unwinder_is_published(unwinder, record)) {
		err = unwinder_publish(unwinder, record->pid, record->start_time_ns,
				       record->exec_id, mappings);
		unwinder_request_likely(unwinder, record, mappings);
	}
	if (!err)
		err = walk_raw(drain, record, mappings, false);
	if (err != -EAGAIN)
		return err;
	err = deferred_list_add(&drain->deferred, record, bytes, mappings);
	return err ? walk_raw(drain, record, mappings, true) : 0;
}

/* True if the mappings that a record needs are not there yet. */
static bool awaits(const struct drain *drain, const struct wire_record *record)
{
	return record->nr_user &&
	       process_table_awaits(drain->options.processes, (int32_t)record->pid);
}

static int replay_record(struct drain *drain, const struct wire_record *record)
{
	struct u64_map *ids = &drain->ids[record->epoch % WIRE_EPOCH_SLOTS];
	struct user_part user = {.frames = (const uint64_t *)(record + 1),
				 .nr = record->nr_user,
				 .end = record->user_end};
	uint64_t sample;
	int err;

	if (record->nr_user)
		user.mappings = process_table_mappings(drain->options.processes,
						       (int32_t)record->pid, record->time_ns);
	if (record->user_end == WALK_RAW)
		return replay_raw(drain, record, user.mappings);
	if (u64_map_set(ids, record->id, HIDDEN) < 0)
		return -ENOMEM;
	err = add_sample(drain, record, &user, &sample);
	return err ? err : u64_map_set(ids, record->id, sample); /* cannot fail: the key exists */
}

struct retry {
	struct drain *drain;
	bool last;
};

static int retry_one(void *context, const struct wire_record *record,
		     const struct mappings *mappings)
{
	const struct retry *retry = context;

	return walk_raw(retry->drain, record, mappings, retry->last);
}

int drain_retry(struct drain *drain, bool last)
{
	struct retry retry = {drain, last};

	return deferred_list_retry(&drain->deferred, retry_one, &retry);
}

size_t drain_nr_deferred(const struct drain *drain)
{
	return drain->deferred.nr;
}

/* --- replay ---------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
	const struct pending_record *x = a, *y = b;

	return COMPARE(x->at, y->at);
}

static int compare_records(const void *a, const void *b)
{
	const struct pending_record *x = a, *y = b;

	return COMPARE(x->time_ns, y->time_ns) ?: compare_places(a, b);
}

static int compare_events(const void *a, const void *b)
{
	const struct process_event *x = a, *y = b;

	/* At equal times, a fork sorts before an exec. */
	return COMPARE(x->time_ns, y->time_ns) ?: COMPARE(x->kind, y->kind);
}

/* A replay covers all events and records up to a time, or all records of epochs that have ended. */
struct horizon {
	uint64_t until_ns;
	bool epoch_over;
	uint32_t epoch;
};

static bool is_due(const struct wire_record *record, const struct horizon *horizon)
{
	if (horizon->epoch_over)
		return (int32_t)(record->epoch - horizon->epoch) <= 0;
	return record->time_ns <= horizon->until_ns;
}

/* -EAGAIN: an event has to wait, which may_hold allows. */
static int replay_events(struct drain *drain, size_t *next, uint64_t until_ns, bool may_hold)
{
	struct process_table *processes = drain->options.processes;
	struct unwinder *unwinder = drain->options.unwinder;

	for (; *next < drain->nr_events && drain->events[*next].time_ns <= until_ns; ++*next) {
		const struct process_event *event = &drain->events[*next];
		int err = may_hold && process_table_awaits_for(processes, event)
				  ? -EAGAIN
				  : process_table_replay(processes, event);

		if (err < 0)
			return err;
		if (unwinder && event->kind == PROCESS_MAP)
			unwinder_mark_stale(unwinder, (uint32_t)event->pid);
		/*
		 * Forgotten already when the exit arrived, but older records may have published it
		 * again.
		 */
		if (unwinder && event->kind == PROCESS_EXIT)
			unwinder_forget(unwinder, (uint32_t)event->pid);
		drain->totals.events++;
	}
	return 0;
}

/* qsort() must not get a null pointer, even for 0 items. */
static void sort(void *items, size_t nr, size_t item_bytes,
		 int (*compare)(const void *a, const void *b))
{
	if (nr)
		qsort(items, nr, item_bytes, compare);
}

/* Keeps the first nr of drain->records, moving their bytes to the front. */
static void keep_records(struct drain *drain, size_t nr)
{
	size_t to = 0, i;

	sort(drain->records, nr, sizeof(*drain->records), compare_places);
	for (i = 0; i < nr; i++) {
		const struct wire_record *record = record_at(drain, i);
		size_t bytes = wire_record_bytes(record);

		memmove(drain->bytes + to, record, bytes);
		drain->records[i].at = to;
		to += bytes;
	}
	drain->nr_records = nr;
	drain->nr_bytes = to;
	drain->nr_met = nr;
}

/* Publishes the changed mappings of processes that the kernel already walks. */
static int publish_changes(struct drain *drain, uint64_t now_ns)
{
	struct unwinder *unwinder = drain->options.unwinder;
	uint64_t start_time_ns, exec_id;
	uint32_t pid;
	int err = 0;

	while (!err && unwinder &&
	       (pid = unwinder_next_stale(unwinder, &start_time_ns, &exec_id))) {
		const struct mappings *mappings =
			process_table_mappings(drain->options.processes, (int32_t)pid, now_ns);

		if (mappings)
			err = unwinder_publish(unwinder, pid, start_time_ns, exec_id, mappings);
		else /* no longer known: its next sample comes raw */
			unwinder_forget(unwinder, pid);
	}
	return err;
}

/*
 * Replays what is due. Nothing is replayed past an event or record that waits for the mappings of its process,
 * unless the epoch is over: then it does without. On failure, items that were not replayed are kept for another
 * try.
 */
static int replay(struct drain *drain, const struct horizon *horizon)
{
	const bool may_hold = !horizon->epoch_over;
	size_t next_event = 0, kept = 0, i;
	int err = drain_ensure_processes(drain);

	if (err)
		return err;
	sort(drain->records, drain->nr_records, sizeof(*drain->records), compare_records);
	sort(drain->events, drain->nr_events, sizeof(*drain->events), compare_events);
	for (i = 0; i < drain->nr_records; i++) {
		const struct wire_record *record = record_at(drain, i);
		bool due = !err && is_due(record, horizon);

		if (due)
			err = replay_events(drain, &next_event, record->time_ns, may_hold);
		if (due && !err && may_hold && awaits(drain, record))
			err = -EAGAIN;
		if (due && !err)
			err = replay_record(drain, record);
		if (!due || err)
			drain->records[kept++] = drain->records[i];
	}
	if (!err)
		err = replay_events(drain, &next_event, horizon->until_ns, may_hold);
	if (err == -EAGAIN)
		err = 0;
	if (!err)
		err = publish_changes(drain, horizon->until_ns);
	keep_records(drain, kept);
	drain->nr_events -= next_event;
	if (drain->nr_events)
		memmove(drain->events, drain->events + next_event,
			drain->nr_events * sizeof(*drain->events));
	return err;
}

int drain_replay(struct drain *drain, uint64_t until_ns)
{
	return replay(drain, &(struct horizon){.until_ns = until_ns});
}

/* Adds the counts whose samples are known and keeps the others. */
static void add_counts(struct drain *drain)
{
	size_t kept = 0, i;

	for (i = 0; i < drain->nr_counts; i++) {
		const struct waiting_count *waiting = &drain->counts[i];
		const uint64_t *sample =
			u64_map_find(&drain->ids[waiting->epoch % WIRE_EPOCH_SLOTS], waiting->id);

		if (!sample) {
			drain->counts[kept++] = *waiting;
			continue;
		}
		drain->totals.counted += waiting->count.count;
		if (*sample == HIDDEN)
			drain->totals.hidden += waiting->count.count;
		else
			profile_add_count(drain->options.profile, (uint32_t)*sample,
					  drain->options.by_weight ? waiting->count.weight
								   : waiting->count.count);
	}
	drain->nr_counts = kept;
}

int drain_close_epoch(struct drain *drain, uint32_t epoch, uint64_t until_ns)
{
	struct horizon horizon = {.until_ns = until_ns, .epoch_over = true, .epoch = epoch};
	int err = replay(drain, &horizon);

	if (err < 0)
		return err;
	add_counts(drain);
	/* A waiting count will find its record in this epoch's slot at the next close. */
	if (!drain->nr_counts)
		u64_map_clear(&drain->ids[epoch % WIRE_EPOCH_SLOTS]);
	u64_map_clear(&drain->ids[(epoch + 1) % WIRE_EPOCH_SLOTS]);
	return 0;
}
