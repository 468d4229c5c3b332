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
#include "base/clock.h"
#include "base/hash.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"

/*
 * Values of ids: the sample's number, and in the highest bits that of the value to which it adds; or HIDDEN.
 */
#define HIDDEN	    UINT64_MAX /* filtered out by thread name */
#define VALUE_SHIFT 48

#define NUMERATOR 1 /* with has_ratio: the value that it is */

/* In ids, beside the number of the sample: the place of its waits. */
#define PLACE_SHIFT 32
#define PLACE_MASK  (0xffffULL << PLACE_SHIFT)

/*
 * Limit on strings in the profile: targets can set any number of thread names. Beyond it, all other
 * threads share one name, and so do all other cgroups.
 */
#define MAX_STRINGS (1U << 20)

/* Memory for records that is kept where none wait. */
#define KEPT_BYTES (256UL << 10)

struct pending_record {
	uint64_t time_ns;
	size_t at; /* offset in drain->bytes */
};

struct waiting_count {
	uint32_t epoch;
	struct wire_count_key key;
	struct wire_count count;
};

/* The numbers in a profile that a drain remembers. */
struct numbers {
	uint32_t vdso_module;
	uint32_t run_time_name; /* string number: module name of JIT-compiled code */
	/* Off-CPU: */
	uint32_t state_frames[WIRE_NR_STATES]; /* the outermost frame of each stack */
	uint32_t before_frame;		       /* follows it: waits from before the run */
	uint32_t unwalked_frame;	       /* likewise: waits that were not walked */
	/* With wakers: between both stacks; instead of an interrupted thread, a waker that is not known, or is none. */
	uint32_t separator_frame, interrupt_frame, unknown_frame, not_woken_frame;
};

struct drain {
	struct drain_options options;
	struct drain_totals totals;

	char *bytes; /* of pending records, and between them of some that were replayed */
	size_t nr_bytes, cap_bytes;
	size_t held_bytes; /* of pending records */
	struct pending_record *records;
	size_t nr_records, cap_records;
	size_t nr_sorted;   /* the first ones, by time */
	size_t nr_met;	    /* records whose process was looked up already */
	uint64_t closed_ns; /* until when the latest epoch that was closed lasted */
	struct process_event *events;
	size_t nr_events, cap_events, nr_sorted_events;
	struct waiting_count *counts;
	size_t nr_counts, cap_counts;

	struct u64_map
		ids[WIRE_EPOCH_SLOTS]; /* by epoch slot: record id → sample number and place */

	struct u64_map module_of_file; /* file number → module number in the profile */
	struct numbers numbers;
	struct u64_map cgroup_names; /* id → string number in the profile */

	/* Off-CPU. */
	struct waits waits;
	struct split split;
	struct u64_map places; /* group in no slice → number of the sample that was walked there */
	bool expects_end;
	struct u64_map kept; /* like ids: stacks of older epochs on which a thread may still wait */

	struct process_names names;
	struct deferred_list deferred;
	struct kernel_code kernel_code;
};

/* --- begin and end ------------------------------------------------------------------------- */

static int add_named_frame(struct profile *profile, const char *name, uint32_t *ret)
{
	int64_t string = profile_add_string(profile, name);
	const struct code_line line = {.function = (uint32_t)string};
	int64_t frame = string < 0 ? string
				   : profile_add_named_frame(profile, FRAME_USER, MODULE_NR_UNKNOWN,
							     &line, 1);

	if (frame < 0)
		return -ENOMEM;
	*ret = (uint32_t)frame;
	return 0;
}

static int add_state_frames(struct drain *drain)
{
	static const char *const names[] = {
#define X(id, name) [WIRE_##id] = "[" name "]",
		WIRE_STATES(X) WIRE_LOCKS(X)
#undef X
	};
	struct profile *profile = drain->options.profile;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (add_named_frame(profile, names[i], &drain->numbers.state_frames[i]) < 0)
			return -ENOMEM;
	if (add_named_frame(profile, "[not walked]", &drain->numbers.unwalked_frame) < 0)
		return -ENOMEM;
	return add_named_frame(profile, "[since before the run]", &drain->numbers.before_frame);
}

/* The separator is that of bcc's offwaketime. */
static int add_waker_frames(struct drain *drain)
{
	struct profile *profile = drain->options.profile;
	struct numbers *numbers = &drain->numbers;

	if (add_named_frame(profile, "--", &numbers->separator_frame) < 0 ||
	    add_named_frame(profile, "[irq]", &numbers->interrupt_frame) < 0 ||
	    add_named_frame(profile, "[unknown waker]", &numbers->unknown_frame) < 0)
		return -ENOMEM;
	return add_named_frame(profile, "[not woken yet]", &numbers->not_woken_frame);
}

/* Adds the strings and the module that every profile has. */
static int add_names(struct drain *drain)
{
	struct profile *profile = drain->options.profile;
	int64_t run_time_name = profile_add_string(profile, "//anon");
	int64_t vdso_name = profile_add_string(profile, "[vdso]");
	struct module vdso = {.kind = MODULE_VDSO, .name = (uint32_t)vdso_name};
	int64_t vdso_module = vdso_name < 0 ? vdso_name : profile_add_module(profile, &vdso);

	if (run_time_name < 0 || vdso_module < 0 ||
	    (drain->options.waits && add_state_frames(drain) < 0) ||
	    (drain->options.waits && drain->options.waits->has_wakers &&
	     add_waker_frames(drain) < 0))
		return -ENOMEM;
	drain->numbers.run_time_name = (uint32_t)run_time_name;
	drain->numbers.vdso_module = (uint32_t)vdso_module;
	return 0;
}

struct drain *drain_new(const struct drain_options *options)
{
	struct drain *drain = calloc(1, sizeof(*drain));

	if (!drain)
		return NULL;
	drain->options = *options;
	drain->kernel_code.names = options->kernel_names;
	if (options->waits) {
		drain->waits.min_ns = options->waits->min_ns;
		drain->waits.max_ns = options->waits->max_ns;
		drain->waits.is_whole = options->waits->is_whole;
	}
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
	process_names_clear(&drain->names);
	u64_map_clear(&drain->cgroup_names);
	u64_map_clear(&drain->kept);
	waits_clear(&drain->waits);
	split_clear(&drain->split);
	u64_map_clear(&drain->places);
	kernel_code_clear(&drain->kernel_code);
	u64_map_clear(&drain->module_of_file);
	free(drain->bytes);
	free(drain->records);
	free(drain->events);
	free(drain->counts);
	free(drain);
}

const struct waits *drain_waits(const struct drain *drain)
{
	return &drain->waits;
}

const struct split *drain_split(const struct drain *drain)
{
	return &drain->split;
}

void drain_set_walk_ns(struct drain *drain, double walk_ns)
{
	drain->split.walk_ns = walk_ns;
}

const struct drain_totals *drain_totals(const struct drain *drain)
{
	return &drain->totals;
}

uint64_t drain_waiting(const struct drain *drain)
{
	return drain->nr_counts;
}

/* One whose exit was lost is still published. */
static void forget_published(void *context, int32_t pid)
{
	const struct drain *drain = context;

	if (drain->options.unwinder)
		unwinder_forget(drain->options.unwinder, (uint32_t)pid);
}

void drain_forget_exited(struct drain *drain, uint64_t now_ns)
{
	if (drain->nr_sorted && drain->records[0].time_ns < now_ns)
		now_ns = drain->records[0].time_ns;
	if (drain->nr_sorted_events && drain->events[0].time_ns < now_ns)
		now_ns = drain->events[0].time_ns;
	process_table_purge(drain->options.processes, now_ns, forget_published, drain);
}

size_t drain_bytes(const struct drain *drain)
{
	return drain->cap_bytes + drain->cap_records * sizeof(*drain->records) +
	       drain->cap_events * sizeof(*drain->events);
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
	drain->held_bytes += bytes;
	return 0;
}

static struct program_id program_of(const struct wire_record *record)
{
	return (struct program_id){record->start_time_ns, record->exec_id};
}

/* Has the maps of a process read if they are not known. Then the published ones may be wrong, too. 0 or -ENOMEM. */
static int meet(struct drain *drain, int32_t pid, const struct program_id *program,
		uint64_t time_ns)
{
	int wanted = process_table_ensure(drain->options.processes, pid, program, time_ns);

	if (wanted > 0 && drain->options.unwinder)
		unwinder_forget(drain->options.unwinder, (uint32_t)pid);
	return wanted < 0 ? wanted : 0;
}

int drain_add_event(struct drain *drain, struct process_event *event, const char *path)
{
	/* A parent that existed before us still runs: its maps are read now. */
	if (event->kind == PROCESS_FORK && event->pid > 0 &&
	    meet(drain, event->parent, NULL, event->time_ns) < 0)
		return -ENOMEM;
	if (ARRAY_RESERVE(drain->events, drain->cap_events, drain->nr_events + 1) < 0 ||
	    process_table_arrive(drain->options.processes, event, path) < 0)
		return -ENOMEM;
	drain->events[drain->nr_events++] = *event;
	/* After a fork, exec or exit the published mappings are out of date. */
	if (event->kind != PROCESS_MAP && event->kind != PROCESS_RENAME && drain->options.unwinder)
		unwinder_forget(drain->options.unwinder, (uint32_t)event->pid);
	return 0;
}

int drain_add_count(struct drain *drain, uint32_t epoch, const struct wire_count_key *key,
		    const struct wire_count *count)
{
	if (!count->count && !count->weight && !count->queued_ns)
		return 0; /* seen once: the record itself was the only sample */
	return ARRAY_ADD(drain->counts, drain->nr_counts, drain->cap_counts,
			 (struct waiting_count){epoch, *key, *count});
}

void drain_expect_end(struct drain *drain)
{
	drain->expects_end = true;
}

int drain_add_wait(struct drain *drain, const struct wire_wait *wait)
{
	return waits_add_end(&drain->waits, wait);
}

int drain_add_waiting(struct drain *drain, uint64_t task, const struct wire_waiting *waiting)
{
	return waits_add_open(&drain->waits, task, waiting);
}

int drain_correct_kernel_names(struct drain *drain)
{
	return kernel_code_correct(&drain->kernel_code, drain->options.profile);
}

int drain_add_gone_code(struct drain *drain, const struct gone_code *gone)
{
	return kernel_code_add_gone(&drain->kernel_code, gone);
}

/* Off-CPU: the process' unwind tables are needed soon, though the record has no user stack. */
static bool is_first_of_process(const struct drain *drain, const struct wire_record *record)
{
	return drain->options.waits && drain->options.unwinder && record->weight &&
	       record->probe & WIRE_SINCE_BEFORE && record->pid;
}

static bool needs_mappings(const struct drain *drain, const struct wire_record *record)
{
	return record->nr_user || is_first_of_process(drain, record);
}

int drain_ensure_processes(struct drain *drain)
{
	for (; drain->nr_met < drain->nr_records; drain->nr_met++) {
		const struct wire_record *record = record_at(drain, drain->nr_met);
		const struct program_id program = program_of(record);

		if (needs_mappings(drain, record) &&
		    meet(drain, (int32_t)record->pid, &program, record->time_ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* --- from addresses to frames ---------------------------------------------------------------- */

/* Returns the profile's module for a file; creates it at the file's first frame. */
static int64_t module_of_file(struct drain *drain, uint32_t file)
{
	const uint64_t *known = u64_map_find(&drain->module_of_file, file);
	struct module module = {.kind = MODULE_FILE, .file = file};
	int64_t name, number;

	if (known)
		return (int64_t)*known;
	name = profile_add_string(drain->options.profile,
				  file_table_get(drain->options.files, file)->path);
	if (name < 0)
		return -ENOMEM;
	module.name = (uint32_t)name;
	number = profile_add_module(drain->options.profile, &module);
	if (number >= 0 && u64_map_set(&drain->module_of_file, file, (uint64_t)number) < 0)
		return -ENOMEM;
	if (number >= 0)
		file_table_mark_sampled(drain->options.files, file);
	return number < 0 ? -ENOMEM : number;
}

/*
 * Returns the module of a process' JIT-compiled code. Each process has its own: the same address is
 * different code in each.
 */
static int64_t run_time_module(struct drain *drain, const struct wire_record *record,
			       const struct mappings *mappings)
{
	const struct drain_options *options = &drain->options;
	struct module module = {.kind = MODULE_RUN_TIME, .name = drain->numbers.run_time_name};
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
		module = drain->numbers.vdso_module;
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

	return !options->waits && record->probe < options->nr_probes
		       ? options->probes[record->probe]
		       : (struct drain_probe){.frame = NO_PROBE_FRAME};
}

bool drain_has_frame(const struct drain_frame_set *set, uint64_t address)
{
	size_t i;

	for (i = 0; i < set->nr; i++)
		if (set->addresses[i] == address)
			return true;
	return false;
}

size_t drain_nr_own_frames(const struct drain_frame_set *own, const uint64_t *kernel, size_t nr)
{
	size_t nr_own = 0;

	while (nr_own < nr && drain_has_frame(own, kernel[nr_own]))
		nr_own++;
	return nr_own;
}

static size_t nr_own_frames(const struct drain *drain, const struct wire_record *record)
{
	const struct drain_waits *waits = drain->options.waits;
	const uint64_t *kernel = (const uint64_t *)(record + 1) + record->nr_user;

	if (!waits || !waits->own)
		return 0;
	return drain_nr_own_frames(&waits->own[drain_program(record)], kernel, record->nr_kernel);
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

	for (i = nr_own_frames(drain, record); i < record->nr_kernel; i++) {
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
	if (profile_nr_strings(drain->options.profile) > MAX_STRINGS)
		return profile_add_string(drain->options.profile, "[other cgroups]");
	path = cgroup_path(drain->options.cgroup_root_fd, id);
	string = profile_add_string(drain->options.profile, path ? path : "[cgroup gone]");
	if (string < 0 || u64_map_set(&drain->cgroup_names, id, (uint64_t)string) < 0)
		return -ENOMEM;
	return string;
}

/*
 * Its program may exec another one, which then counts. A process that could not be looked at has the names that /proc
 * has now: later, when labels are made, the pid may be another process's.
 */
static int note_name(struct drain *drain, const struct wire_record *record)
{
	const int32_t pid = (int32_t)record->pid;
	const struct process_name *known = process_names_find(&drain->names, pid);
	struct process_name name;
	char program[PATH_MAX];
	const char *path = process_table_name(drain->options.processes, pid, &name);

	name.program = program_of(record);
	if (!name.program.start_time_ns && known)
		name.program = known->program;
	if (!*name.name && known)
		return 0;
	if (!*name.name) {
		process_name_read(pid, name.name);
		path = process_program_path(pid, program) < 0 ? NULL : program;
	}
	if (known && !strcmp(known->name, name.name) && !strcmp(known->path ?: "", path ?: "") &&
	    known->program.start_time_ns == name.program.start_time_ns &&
	    known->program.exec_id == name.program.exec_id)
		return 0;
	return process_names_add(&drain->names, &name, path);
}

void drain_take_names(struct drain *drain, struct process_names *ret)
{
	*ret = drain->names;
	drain->names = (struct process_names){0};
}

/* Adds one sample. Returns the value for ids, or -ENOMEM. */
static int64_t add_to_profile(struct drain *drain, const struct wire_record *record,
			      const char *comm, const struct user_part *user)
{
	const struct slicing *slicing = drain->options.slicing;
	const struct drain_probe probe = probe_of(drain, record);
	struct profile *profile = drain->options.profile;
	unsigned wanted = drain->options.labels;
	int64_t string = 0, cgroup = 0, slice = 0;
	const size_t nr_kernel = record->nr_kernel - nr_own_frames(drain, record);
	uint32_t frames[2 + WIRE_MAX_FRAMES], nr = 0;
	bool has_kernel_leaf = false;
	const size_t value = record->probe < drain->options.nr_events ? record->probe : 0;
	uint64_t count = 1;
	struct sample_labels labels;
	int64_t sample;
	int err = 0;

	if (slicing && slicing->slice_ns) {
		const struct time_slice time = slicing_slice(slicing, record);

		slice = profile_add_slice(profile, &time);
		if (slice == -E2BIG) {
			slice = 0; /* the profile has its maximum of slices */
			drain->totals.unsliced++;
		}
	}
	if (profile_nr_strings(profile) > MAX_STRINGS)
		comm = "[other threads]";
	if (wanted & LABEL_COMM)
		string = profile_add_string(profile, comm);
	if (wanted & LABEL_CGROUP)
		cgroup = cgroup_name(drain, record->cgroup);
	if (drain->options.names_processes && note_name(drain, record) < 0)
		return -ENOMEM;
	if (probe.frame != NO_PROBE_FRAME) {
		frames[nr] = probe.frame;
		has_kernel_leaf = profile_frame(profile, frames[nr++])->kind == FRAME_KERNEL;
	}
	if (string < 0 || cgroup < 0 || slice < 0 || resolve(drain, record, user, &frames[nr]) < 0)
		return -ENOMEM;
	nr += (uint32_t)(nr_kernel + user->nr);
	if (drain->options.waits) {
		const uint32_t state =
			record->probe & ~(uint32_t)(WIRE_SINCE_BEFORE | WIRE_UNWALKED);

		if (record->probe & WIRE_SINCE_BEFORE)
			frames[nr++] = drain->numbers.before_frame;
		if (record->probe & WIRE_UNWALKED)
			frames[nr++] = drain->numbers.unwalked_frame;
		frames[nr++] = drain->numbers.state_frames[state < WIRE_NR_STATES ? state : 0];
		count = 0; /* the time comes later, with the counts or in add_sample() */
	} else if (drain->options.by_weight) {
		count = record->weight;
	}
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
	sample = profile_add_sample(profile, &labels, frames, nr, has_kernel_leaf + nr_kernel, 0);
	if (sample < 0)
		return sample;
	if (drain->options.has_ratio)
		err = profile_add_value(profile, (uint32_t)sample, NUMERATOR, record->numerator);
	if (!err)
		err = profile_add_value(profile, (uint32_t)sample, value, count);
	return err ? err : sample | (int64_t)value << VALUE_SHIFT;
}

/*
 * Adds a waker's stack as a sample without a count. Its frames stand as in the stacks of the threads that it wakes:
 * from the call that wakes them out to the beginning of the stack, and to its name. Returns its number, or -ENOMEM.
 */
static int64_t add_waker(struct drain *drain, const struct wire_record *record, const char *comm,
			 const struct user_part *user)
{
	struct profile *profile = drain->options.profile;
	const size_t nr = record->nr_kernel - nr_own_frames(drain, record) + user->nr;
	uint32_t frames[1 + WIRE_MAX_FRAMES], name = drain->numbers.interrupt_frame;
	const struct sample_labels labels = {.user_end = user->end,
					     .kernel_end = record->kernel_end};
	size_t i;

	if (profile_nr_strings(profile) > MAX_STRINGS)
		comm = "[other threads]";
	if ((!(record->probe & WIRE_INTERRUPT) && add_named_frame(profile, comm, &name) < 0) ||
	    resolve(drain, record, user, frames) < 0)
		return -ENOMEM;
	frames[nr] = name;
	for (i = 0; i < (nr + 1) / 2; i++) {
		const uint32_t frame = frames[i];

		frames[i] = frames[nr - i];
		frames[nr - i] = frame;
	}
	return profile_add_sample(profile, &labels, frames, nr + 1, nr + 1, 0);
}

/* --- from records to samples ----------------------------------------------------------------- */

static void count_record(struct drain *drain, const struct wire_record *record)
{
	drain->totals.records++;
	if (!drain->totals.first_ns || record->time_ns < drain->totals.first_ns)
		drain->totals.first_ns = record->time_ns;
}

/* Adds time to a sample, or HIDDEN, that has its state already. */
static void add_own_time(struct drain *drain, uint64_t sample, uint64_t ns)
{
	const struct drain_waits *waits = drain->options.waits;

	drain->totals.recorded_ns += ns;
	if (sample == HIDDEN || !(waits->states & 1U << WIRE_RUNNING)) {
		drain->totals.hidden_ns += ns;
	} else {
		profile_add_count(drain->options.profile, (uint32_t)sample, ns);
		drain->totals.shown_ns += ns;
	}
}

/*
 * Adds the record's sample. *ret_sample: the value for ids. On failure nothing was added, and the
 * record can be replayed again.
 */
static int add_sample(struct drain *drain, const struct wire_record *record,
		      const struct user_part *user, uint64_t *ret_sample)
{
	char comm[WIRE_COMM_BYTES + 1] = "";
	int64_t sample;

	*ret_sample = HIDDEN;
	memcpy(comm, record->comm, WIRE_COMM_BYTES);
	if (drain->options.waits && record->probe & WIRE_WAKER) {
		sample = add_waker(drain, record, comm, user);
		if (sample < 0)
			return (int)sample;
		*ret_sample = (uint64_t)sample;
	} else if (drain->options.names && !name_filter_wants(drain->options.names, comm)) {
		drain->totals.hidden++;
		if (drain->options.refuse)
			drain->options.refuse(drain->options.refuse_context, comm);
	} else {
		sample = add_to_profile(drain, record, comm, user);
		if (sample < 0)
			return (int)sample;
		*ret_sample = (uint64_t)sample;
	}
	count_record(drain, record);
	if (drain->options.waits && record->probe == WIRE_RUNNING)
		add_own_time(drain, *ret_sample,
			     drain->options.by_weight ? record->weight
						      : drain->options.waits->sample_ns);
	return 0;
}

/*
 * Walks a raw record with the mappings of its process. -EAGAIN: an unwind table is still missing, *ret_lacked; with
 * ret_lacked NULL, the record goes without it.
 */
static int walk_raw(struct drain *drain, const struct wire_record *record,
		    const struct mappings *mappings, struct lacked_table *ret_lacked)
{
	struct user_stack stack = {.end = WALK_NO_TABLE};
	struct user_part user = {.mappings = mappings, .frames = stack.frames};
	uint64_t sample;

	if (drain->options.unwinder &&
	    unwinder_walk(drain->options.unwinder, record, mappings, &stack) == -EAGAIN) {
		if (ret_lacked) {
			*ret_lacked = unwinder_lacked(drain->options.unwinder, &stack);
			return -EAGAIN;
		}
		stack.end = WALK_NO_TABLE;
	}
	/*
	 * In the middle of an exec: the memory is the new program's, the registers still the old
	 * one's.
	 */
	if (stack.end == WALK_NO_MAPPING && record->nr_kernel && mappings &&
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
	struct lacked_table lacked;
	int err = 0;

	if (unwinder && mappings && !unwinder_is_published(unwinder, record)) {
		err = unwinder_publish(unwinder, record->pid, record->start_time_ns,
				       record->exec_id, mappings);
		unwinder_request_likely(unwinder, mappings,
					(const uint64_t *)(record + 1) + WIRE_RAW_PC,
					record->nr_user - WIRE_RAW_PC);
	}
	if (!err)
		err = walk_raw(drain, record, mappings, &lacked);
	if (err != -EAGAIN)
		return err;
	err = deferred_list_add(&drain->deferred, record, bytes, mappings, &lacked);
	return err ? walk_raw(drain, record, mappings, NULL) : 0;
}

/*
 * Off-CPU, a record that was walked by frame pointers, because its tables were missing, has the address where they are
 * missing as its weight. It comes once for each stack and epoch, and shows no frames of files without frame pointers: so
 * the tables of all files are requested, that one first. A thread that sleeps since before the run will need them when
 * it wakes up and goes to sleep again.
 */
static int provide_tables(struct drain *drain, const struct wire_record *record,
			  const struct mappings *mappings)
{
	struct unwinder *unwinder = drain->options.unwinder;
	const bool lacks_table = record->user_end == WALK_NO_TABLE;
	const uint64_t stopped_at = record->weight;
	int err = 0;

	if (!unwinder || !mappings || (!lacks_table && !is_first_of_process(drain, record)))
		return 0;
	if (!unwinder_is_published(unwinder, record))
		err = unwinder_publish(unwinder, record->pid, record->start_time_ns,
				       record->exec_id, mappings);
	if (lacks_table)
		unwinder_request_likely(unwinder, mappings, &stopped_at, 1);
	unwinder_preload(unwinder, mappings);
	return err;
}

/* True if the mappings that a record needs are not there yet. */
static bool awaits(const struct drain *drain, const struct wire_record *record)
{
	const struct program_id program = program_of(record);

	return needs_mappings(drain, record) &&
	       process_table_awaits(drain->options.processes, (int32_t)record->pid, &program,
				    record->time_ns);
}

static int replay_one(struct drain *drain, const struct wire_record *record)
{
	struct u64_map *ids = &drain->ids[record->epoch % WIRE_EPOCH_SLOTS];
	struct user_part user = {.frames = (const uint64_t *)(record + 1),
				 .nr = record->nr_user,
				 .end = record->user_end};
	const struct program_id program = program_of(record);
	uint64_t sample;
	int err;

	if (needs_mappings(drain, record))
		user.mappings = process_table_mappings(
			drain->options.processes, (int32_t)record->pid, &program, record->time_ns);
	if (record->user_end == WALK_RAW)
		return replay_raw(drain, record, user.mappings);
	if (u64_map_set(ids, record->id, HIDDEN) < 0 ||
	    (drain->options.waits && provide_tables(drain, record, user.mappings) < 0))
		return -ENOMEM;
	err = add_sample(drain, record, &user, &sample);
	if (!err && sample != HIDDEN)
		sample |= (uint64_t)record->place << PLACE_SHIFT;
	return err ? err : u64_map_set(ids, record->id, sample); /* cannot fail: the key exists */
}

static int replay_record(struct drain *drain, const struct wire_record *record)
{
	const bool is_timed = drain->options.is_timed;
	const uint64_t began_ns = is_timed ? clock_read_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	int err = replay_one(drain, record);

	if (is_timed)
		drain->totals.record_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	return err;
}

struct retry {
	struct drain *drain;
	bool last;
};

/* Each table that arrives leads to a retry of all records, of which most wait for other ones. */
static int retry_one(void *context, struct deferred *item)
{
	const struct retry *retry = context;
	struct drain *drain = retry->drain;

	if (!retry->last && drain->options.unwinder &&
	    unwinder_still_lacks(drain->options.unwinder, &item->lacked))
		return -EAGAIN;
	return walk_raw(drain, item->record, item->mappings, retry->last ? NULL : &item->lacked);
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

void drain_mark_files(const struct drain *drain)
{
	struct file_table *files = drain->options.files;
	size_t i;

	for (i = 0; i < drain->nr_events; i++)
		if (drain->events[i].kind == PROCESS_MAP &&
		    drain->events[i].mapping.kind == MAPPING_FILE)
			file_table_mark_used(files, drain->events[i].mapping.file);
	for (i = 0; i < drain->deferred.nr; i++)
		mappings_mark_files(drain->deferred.items[i].mappings, files);
}

/* --- replay ---------------------------------------------------------------------------------- */

static int compare_records(const void *a, const void *b)
{
	const struct pending_record *x = a, *y = b;

	return COMPARE(x->time_ns, y->time_ns) ?: COMPARE(x->at, y->at);
}

static int compare_events(const void *a, const void *b)
{
	const struct process_event *x = a, *y = b;

	/* At equal times, a fork sorts before an exec. */
	return COMPARE(x->time_ns, y->time_ns) ?: COMPARE(x->kind, y->kind);
}

/*
 * A replay covers all events and records up to a time, or all records of epochs that have ended. What happened before
 * hold_ns does not wait for mappings.
 */
struct horizon {
	uint64_t until_ns, hold_ns;
	bool epoch_over;
	uint32_t epoch;
};

#define HOLD_NOTHING UINT64_MAX

/* Records are in order of time; in the order of epochs only nearly. */
static bool is_of_later_epoch(const struct wire_record *record, const struct horizon *horizon)
{
	return horizon->epoch_over && (int32_t)(record->epoch - horizon->epoch) > 0;
}

/* -EAGAIN: an event after hold_ns has to wait. */
static int replay_events(struct drain *drain, size_t *next, uint64_t until_ns, uint64_t hold_ns)
{
	struct process_table *processes = drain->options.processes;
	struct unwinder *unwinder = drain->options.unwinder;

	for (; *next < drain->nr_events && drain->events[*next].time_ns <= until_ns; ++*next) {
		const struct process_event *event = &drain->events[*next];
		int err = kernel_code_replay(&drain->kernel_code, drain->options.profile,
					     event->time_ns);

		if (!err)
			err = event->time_ns >= hold_ns &&
					      process_table_awaits_for(processes, event)
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
	return kernel_code_replay(&drain->kernel_code, drain->options.profile, until_ns);
}

/*
 * Sorts items of which the first nr_sorted are sorted. They may have waited for long, and most new ones are later: these
 * alone are sorted then.
 */
static void sort_new(void *items, size_t nr_sorted, size_t nr, size_t item_bytes,
		     int (*compare)(const void *a, const void *b))
{
	const size_t sorted_bytes = nr_sorted * item_bytes;
	char *first = items, *new = first + sorted_bytes;
	size_t i;

	if (nr_sorted == nr)
		return; /* qsort() must not get a null pointer, even for 0 items */
	qsort(new, nr - nr_sorted, item_bytes, compare);
	i = array_first(nr_sorted, k, compare(first + k * item_bytes, new) > 0);
	if (i < nr_sorted)
		qsort(first + i * item_bytes, nr - i, item_bytes, compare);
}

/*
 * Takes the bytes of replayed records out, when they are at least half: so each byte is moved about once, however long
 * it waits. What a burst needed is given back.
 */
static void compact(struct drain *drain)
{
	const size_t held = drain->held_bytes;
	size_t to = 0, i;
	char *bytes;

	if (!held)
		drain->nr_bytes = 0;
	if (drain->nr_bytes < 2 * held || (!held && drain->cap_bytes <= KEPT_BYTES))
		return;
	bytes = held ? malloc(held) : NULL;
	if (held && !bytes)
		return; /* next time */
	for (i = 0; bytes && i < drain->nr_records; i++) {
		const struct wire_record *record = record_at(drain, i);
		const size_t nr = wire_record_bytes(record);

		memcpy(bytes + to, record, nr);
		drain->records[i].at = to;
		to += nr;
	}
	free(drain->bytes);
	drain->bytes = bytes;
	drain->nr_bytes = drain->cap_bytes = held;
}

/* Removes the items in [kept, next); returns how many are left. */
static size_t remove_items(void *items, size_t kept, size_t next, size_t nr, size_t item_bytes)
{
	char *first = items;

	if (kept < next && next < nr)
		memmove(first + kept * item_bytes, first + next * item_bytes,
			(nr - next) * item_bytes);
	return kept + nr - next;
}

/* Records: those in [kept, next_record) were replayed; and events before next_event. The others wait. */
static void keep_rest(struct drain *drain, size_t kept, size_t next_record, size_t next_event)
{
	drain->nr_records = remove_items(drain->records, kept, next_record, drain->nr_records,
					 sizeof(*drain->records));
	drain->nr_events = remove_items(drain->events, 0, next_event, drain->nr_events,
					sizeof(*drain->events));
	drain->nr_sorted = drain->nr_met = drain->nr_records;
	drain->nr_sorted_events = drain->nr_events;
	compact(drain);
	if (drain->cap_records / 4 > drain->nr_records &&
	    drain->cap_records > KEPT_BYTES / sizeof(*drain->records))
		array_shrink(&drain->records, &drain->cap_records, drain->nr_records + 1,
			     sizeof(*drain->records));
	if (drain->cap_events / 4 > drain->nr_events &&
	    drain->cap_events > KEPT_BYTES / sizeof(*drain->events))
		array_shrink(&drain->events, &drain->cap_events, drain->nr_events + 1,
			     sizeof(*drain->events));
}

/* Publishes the changed mappings of processes that the kernel already walks. */
static int publish_changes(struct drain *drain)
{
	struct unwinder *unwinder = drain->options.unwinder;
	struct program_id program;
	uint32_t pid;
	int err = 0;

	while (!err && unwinder &&
	       (pid = unwinder_next_stale(unwinder, &program.start_time_ns, &program.exec_id))) {
		const struct mappings *mappings = process_table_tied_mappings(
			drain->options.processes, (int32_t)pid, &program);

		if (mappings)
			err = unwinder_publish(unwinder, pid, program.start_time_ns,
					       program.exec_id, mappings);
		else /* no longer known, or of the next program: its next sample comes raw */
			unwinder_forget(unwinder, pid);
	}
	return err;
}

/* True if nothing may wait for mappings any longer: there is no room for more. */
static bool is_full(const struct drain *drain)
{
	const size_t most = drain->options.max_held_bytes ?: DRAIN_HELD_MAX_BYTES;

	return drain->held_bytes + drain->nr_events * sizeof(*drain->events) > most;
}

/*
 * Replays what is due. Nothing is replayed past an event or record that waits for the mappings of its process, unless
 * it happened before the time from which on it may wait, or too much waits: then it does without. On failure, items
 * that were not replayed are kept for another try.
 */
static int replay(struct drain *drain, const struct horizon *horizon)
{
	const uint64_t hold_ns = is_full(drain) ? HOLD_NOTHING : horizon->hold_ns;
	size_t next_event = 0, kept = 0, i;
	int err = drain_ensure_processes(drain);

	if (err)
		return err;
	sort_new(drain->records, drain->nr_sorted, drain->nr_records, sizeof(*drain->records),
		 compare_records);
	sort_new(drain->events, drain->nr_sorted_events, drain->nr_events, sizeof(*drain->events),
		 compare_events);
	for (i = 0; i < drain->nr_records; i++) {
		const struct pending_record pending = drain->records[i];
		const struct wire_record *record = record_at(drain, i);
		const size_t bytes = wire_record_bytes(record);

		if (!horizon->epoch_over && pending.time_ns > horizon->until_ns)
			break;
		if (is_of_later_epoch(record, horizon)) {
			drain->records[kept++] = pending;
			continue;
		}
		err = replay_events(drain, &next_event, record->time_ns, hold_ns);
		if (!err && awaits(drain, record)) {
			const bool may_hold = record->time_ns >= hold_ns;

			err = may_hold ? -EAGAIN : 0;
			drain->totals.unawaited += !may_hold;
		}
		if (!err)
			err = replay_record(drain, record);
		if (err)
			break;
		drain->held_bytes -= bytes;
	}
	if (!err)
		err = replay_events(drain, &next_event, horizon->until_ns, hold_ns);
	if (err == -EAGAIN)
		err = 0;
	if (!err)
		err = publish_changes(drain);
	keep_rest(drain, kept, i, next_event);
	return err;
}

int drain_replay(struct drain *drain, uint64_t until_ns)
{
	return replay(drain, &(struct horizon){.until_ns = until_ns});
}

/* --- off-CPU ---------------------------------------------------------------------------------- */

/* Frames of a waker, leaf first: of its sample, or the only one. */
struct waker_part {
	const uint32_t *frames;
	size_t nr;
};

/* Returns the sample with a waker's stack, with another outermost frame, and in another slice, or -ENOMEM. */
static int64_t sample_like(struct drain *drain, uint32_t number, struct waker_part waker,
			   uint32_t root, uint32_t slice)
{
	struct profile *profile = drain->options.profile;
	const struct sample *sample = profile_sample(profile, number);
	const uint32_t *old = profile_sample_frames(profile, sample);
	struct sample_labels labels = sample->labels;
	uint32_t frames[2 * (2 + WIRE_MAX_FRAMES)];
	const size_t nr = sample->nr_frames;
	size_t at = 0;

	/* "[other stacks]", past the limit of memory. */
	if (!nr || nr + waker.nr + 1 > ARRAY_SIZE(frames))
		return number;
	if (!waker.nr && old[nr - 1] == root && labels.slice == slice)
		return number;
	if (waker.nr) {
		memcpy(frames, waker.frames, waker.nr * sizeof(*frames));
		frames[waker.nr] = drain->numbers.separator_frame;
		at = waker.nr + 1;
	}
	memcpy(frames + at, old, nr * sizeof(*frames));
	frames[at + nr - 1] = root;
	labels.slice = slice;
	return profile_add_sample(profile, &labels, frames, at + nr, at + sample->nr_kernel_frames,
				  0);
}

/* Returns the state of a sample, by its outermost frame. */
static enum wire_state state_of(const struct drain *drain, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(drain->options.profile, sample);
	unsigned state;

	for (state = 0; state < WIRE_NR_STATES && sample->nr_frames; state++)
		if (frames[sample->nr_frames - 1] == drain->numbers.state_frames[state])
			return (enum wire_state)state;
	return WIRE_RUNNABLE;
}

/* Time in a state, and how many times a thread came into it. */
struct stays {
	enum wire_state state;
	uint64_t ns, nr;
};

/* Adds time to a sample's stack, below a waker's. 0 or -ENOMEM. */
static int add_stays(struct drain *drain, uint32_t number, struct waker_part waker, uint32_t slice,
		     struct stays stays)
{
	struct profile *profile = drain->options.profile;
	const struct drain_waits *waits = drain->options.waits;
	int64_t sample;

	if (!stays.ns)
		return 0;
	if (!(waits->states & 1U << stays.state)) {
		drain->totals.hidden_ns += stays.ns;
		return 0;
	}
	sample = sample_like(drain, number, waker, drain->numbers.state_frames[stays.state], slice);
	if (sample < 0 || (waits->nr_value && profile_add_value(profile, (uint32_t)sample,
								waits->nr_value, stays.nr) < 0))
		return -ENOMEM;
	profile_add_count(profile, (uint32_t)sample, stays.ns);
	drain->totals.shown_ns += stays.ns;
	return 0;
}

static uint32_t slice_of(const struct drain *drain, uint64_t sample)
{
	return sample == HIDDEN
		       ? 0
		       : profile_sample(drain->options.profile, (uint32_t)sample)->labels.slice;
}

/* Finds the sample of an id of any epoch that is remembered. */
static const uint64_t *find_sample(const struct drain *drain, uint64_t id)
{
	const uint64_t *sample = u64_map_find(&drain->kept, id);
	size_t slot;

	for (slot = 0; slot < WIRE_EPOCH_SLOTS && !sample; slot++)
		sample = u64_map_find(&drain->ids[slot], id);
	return sample;
}

static bool has_wakers(const struct drain *drain)
{
	return drain->options.waits && drain->options.waits->has_wakers;
}

/* Returns the frames of who ended a wait, valid until the profile changes. waker: see struct wait_credit. */
static struct waker_part find_waker(const struct drain *drain, uint64_t waker)
{
	const struct profile *profile = drain->options.profile;
	const uint64_t *found = find_sample(drain, waker);
	const struct sample *sample;

	if (waker == WAITS_NOT_WOKEN)
		return (struct waker_part){&drain->numbers.not_woken_frame, 1};
	if (!waker || !found || *found == HIDDEN)
		return (struct waker_part){&drain->numbers.unknown_frame, 1};
	sample = profile_sample(profile, (uint32_t)*found);
	return (struct waker_part){profile_sample_frames(profile, sample), sample->nr_frames};
}

/*
 * Adds a wait's time to a sample, below the stack of who ended it, and to the one like it that is runnable: nobody
 * ends the time in a queue. waker: see struct wait_credit.
 */
static int add_stack_time(struct drain *drain, uint32_t number, uint64_t waker, uint32_t slice,
			  const struct wait_amount *amount)
{
	const enum wire_state state =
		state_of(drain, profile_sample(drain->options.profile, number));
	struct waker_part part = {0};
	int err;

	if (has_wakers(drain) && state != WIRE_RUNNABLE && state != WIRE_RUNNING)
		part = find_waker(drain, waker);
	err = add_stays(drain, number, part, slice,
			(struct stays){state, amount->waited_ns, amount->nr_waited});
	return err ? err
		   : add_stays(drain, number, (struct waker_part){0}, slice,
			       (struct stays){WIRE_RUNNABLE, amount->queued_ns, amount->nr_queued});
}

/* Returns the sample with the time of the waits of the same thread and state that were not walked, or -ENOMEM. */
static int64_t unwalked_like(struct drain *drain, uint32_t number, uint32_t slice)
{
	struct profile *profile = drain->options.profile;
	const struct sample *sample = profile_sample(profile, number);
	const uint32_t frames[] = {drain->numbers.unwalked_frame,
				   drain->numbers.state_frames[state_of(drain, sample)]};
	struct sample_labels labels = sample->labels;

	labels.slice = slice;
	labels.user_end = labels.kernel_end = WALK_NONE;
	return profile_add_sample(profile, &labels, frames, ARRAY_SIZE(frames), 0, 0);
}

static bool is_unwalked(const struct drain *drain, uint32_t number)
{
	const struct sample *sample = profile_sample(drain->options.profile, number);

	return sample->nr_frames && profile_sample_frames(drain->options.profile, sample)[0] ==
					    drain->numbers.unwalked_frame;
}

/* The group of a sample's waits, see collect/split.h: the sample of those that were not walked, and the place. */
static int64_t group_of(struct drain *drain, uint64_t sample, uint32_t slice)
{
	const int64_t unwalked = unwalked_like(drain, (uint32_t)sample, slice);

	return unwalked < 0 ? -ENOMEM : (int64_t)((uint64_t)unwalked | (sample & PLACE_MASK));
}

/*
 * sample: its number and place, or HIDDEN. waker: see struct wait_credit. What was not walked is divided at the end
 * of the epoch.
 */
static int add_wait(struct drain *drain, uint64_t sample, uint64_t waker, uint32_t slice,
		    const struct wait_amount *amount)
{
	const uint32_t number = (uint32_t)sample;
	int64_t group;

	if (sample == HIDDEN) {
		drain->totals.hidden_ns += amount->waited_ns + amount->queued_ns;
		return 0;
	}
	if (is_unwalked(drain, number)) {
		group = group_of(drain, sample, slice);
		return group < 0 ? -ENOMEM : split_add_time(&drain->split, (uint64_t)group, amount);
	}
	if (sample & PLACE_MASK) {
		group = group_of(drain, sample, 0);
		if (group < 0 || u64_map_set(&drain->places, (uint64_t)group, number) < 0)
			return -ENOMEM;
	}
	return add_stack_time(drain, number, waker, slice, amount);
}

/* Adds what the waits with a stack stand for: others. */
static int add_share(struct drain *drain, uint64_t sample, uint32_t slice,
		     const struct wait_amount *others, uint64_t variance)
{
	int64_t group;

	if (sample == HIDDEN || !(others->waited_ns + others->queued_ns))
		return 0;
	group = group_of(drain, sample, slice);
	return group < 0 ? -ENOMEM
			 : split_add_share(&drain->split,
					   &(struct split_share){(uint64_t)group, (uint32_t)sample,
								 *others, variance});
}

struct wait_place {
	struct drain *drain;
	uint32_t slice;
};

static int add_part_of_wait(void *context, const struct wait_credit *wait,
			    const struct wait_amount *more)
{
	const struct wait_place *place = context;
	const uint64_t *sample = find_sample(place->drain, wait->id);
	const uint64_t others = wait->one_of > 1 ? wait->one_of - 1 : 0;
	int err;

	if (!sample || (wait->waker && wait->waker != WAITS_NOT_WOKEN &&
			!find_sample(place->drain, wait->waker)))
		return -EAGAIN;
	err = add_wait(place->drain, *sample, wait->waker, place->slice, more);
	return err || !others
		       ? err
		       : add_share(place->drain, *sample, place->slice,
				   &(struct wait_amount){
					   others * more->waited_ns, others * more->queued_ns,
					   others * more->nr_waited, others * more->nr_queued},
				   wire_variance(more->waited_ns + more->queued_ns, wait->one_of));
}

/* If no wait of a known place was walked in this epoch, it has the stack of one before. */
static int add_divided(void *context, uint64_t group, uint32_t sample,
		       const struct wait_amount *amount)
{
	struct drain *drain = context;
	const uint32_t unwalked = (uint32_t)group;
	const uint32_t slice = slice_of(drain, unwalked);

	if (sample == SPLIT_NO_SAMPLE) {
		const int64_t place = group_of(drain, group, 0);
		const uint64_t *known =
			place < 0 ? NULL : u64_map_find(&drain->places, (uint64_t)place);

		if (place < 0)
			return -ENOMEM;
		sample = known ? (uint32_t)*known : unwalked;
		if (!known)
			drain->totals.undivided_ns += amount->waited_ns + amount->queued_ns;
	}
	return add_stack_time(drain, sample, 0, slice, amount);
}

/* Adds the waits that cross the end of the epoch, and keeps the stacks on which a thread waits. */
static int close_waits(struct drain *drain, uint32_t epoch, uint64_t until_ns)
{
	const struct slicing *slicing = drain->options.slicing;
	struct wait_place place = {.drain = drain};
	struct u64_map kept = {0};
	uint64_t id;
	int64_t slice = 0;
	size_t i;
	int err;

	if (slicing && slicing->slice_ns) {
		const struct time_slice time =
			slicing_slice(slicing, &(struct wire_record){.epoch = epoch});

		slice = profile_add_slice(drain->options.profile, &time);
		if (slice == -E2BIG)
			slice = 0;
	}
	if (slice < 0)
		return -ENOMEM;
	place.slice = (uint32_t)slice;
	err = waits_close_epoch(&drain->waits, epoch, until_ns, drain->expects_end,
				add_part_of_wait, &place);
	for (i = 0; !err && waits_needed(&drain->waits, i, &id); i++) {
		const uint64_t *sample = find_sample(drain, id);

		if (sample)
			err = u64_map_set(&kept, id, *sample);
	}
	if (err) {
		u64_map_clear(&kept);
		return err;
	}
	u64_map_clear(&drain->kept);
	drain->kept = kept;
	return 0;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* True if a waker's record has not been read yet. Those of an epoch have all been by the end of the next one. */
static bool awaits_waker(const struct drain *drain, const struct waiting_count *waiting,
			 const uint32_t *epoch)
{
	return epoch && waiting->epoch == *epoch && waiting->key.waker &&
	       !find_sample(drain, waiting->key.waker);
}

static int add_counted_waits(struct drain *drain, const struct waiting_count *waiting,
			     uint64_t sample)
{
	const struct wire_count *count = &waiting->count;
	const uint32_t slice = slice_of(drain, sample);
	const struct wait_amount amount = {count->weight, count->queued_ns, count->nr_waited,
					   count->nr_queued};
	const struct wait_amount others = {count->stands_for_ns, count->stands_for_queued_ns,
					   count->stands_for_waited, count->stands_for_queued};
	int err = add_wait(drain, sample, waiting->key.waker, slice, &amount);

	drain->totals.counted_ns += count->weight + count->queued_ns;
	return err ? err : add_share(drain, sample, slice, &others, count->variance);
}

/*
 * Adds the counts whose records are known and keeps the others. epoch: the one that ends; NULL: whoever is not known as
 * a waker by now stays unknown.
 */
static int add_counts(struct drain *drain, const uint32_t *epoch)
{
	size_t kept = 0, i;
	int err = 0;

	for (i = 0; i < drain->nr_counts; i++) {
		const struct waiting_count *waiting = &drain->counts[i];
		const uint64_t *sample = u64_map_find(
			&drain->ids[waiting->epoch % WIRE_EPOCH_SLOTS], waiting->key.id);

		if (!sample || awaits_waker(drain, waiting, epoch)) {
			drain->counts[kept++] = *waiting;
			continue;
		}
		drain->totals.counted += waiting->count.count;
		if (drain->options.waits)
			err |= add_counted_waits(drain, waiting, *sample);
		if (*sample != HIDDEN && drain->options.has_ratio)
			err |= profile_add_value(drain->options.profile, (uint32_t)*sample,
						 NUMERATOR, waiting->count.numerator);
		if (*sample == HIDDEN)
			drain->totals.hidden += waiting->count.count;
		else if (!drain->options.waits)
			err |= profile_add_value(drain->options.profile, (uint32_t)*sample,
						 *sample >> VALUE_SHIFT,
						 drain->options.by_weight ? waiting->count.weight
									  : waiting->count.count);
	}
	drain->nr_counts = kept;
	return err ? -ENOMEM : 0;
}

/* --- another profile -------------------------------------------------------------------------- */

/* Copies a frame that has only a name: of kernel code that is gone, a state, a waker. */
static int64_t copy_named(struct drain *drain, const struct profile *from,
			  const struct frame *frame)
{
	int64_t name =
		profile_add_string(drain->options.profile, profile_string(from, frame->function));
	const struct code_line line = {.function = (uint32_t)name};

	return name < 0 ? name
			: profile_add_named_frame(drain->options.profile, frame->kind,
						  frame->module, &line, 1);
}

/* Returns a frame's number in the drain's profile, or -ENOMEM. */
static int64_t copy_frame(struct drain *drain, const struct profile *from, uint32_t number)
{
	const struct frame *frame = profile_frame(from, number);
	struct module module = *profile_module(from, frame->module);
	int64_t to = frame->module; /* the kernel, or unknown */

	if (frame->address >= PROFILE_NOWHERE)
		return copy_named(drain, from, frame);
	if (module.kind == MODULE_FILE) {
		to = module_of_file(drain, module.file);
	} else if (module.kind == MODULE_VDSO) {
		to = drain->numbers.vdso_module;
	} else if (module.kind == MODULE_RUN_TIME) {
		module.name = drain->numbers.run_time_name;
		to = profile_add_module(drain->options.profile, &module);
	}
	return to < 0 ? to
		      : profile_add_frame(drain->options.profile, frame->kind, (uint32_t)to,
					  frame->address);
}

/* Copies a sample of another profile, without its time. Returns its number, or -ENOMEM. */
static int64_t copy_sample(struct drain *drain, const struct profile *from, uint32_t number)
{
	struct profile *profile = drain->options.profile;
	const struct sample *sample = profile_sample(from, number);
	const uint32_t *old = profile_sample_frames(from, sample);
	uint32_t frames[2 + WIRE_MAX_FRAMES];
	struct sample_labels labels = sample->labels;
	int64_t comm =
		labels.comm ? profile_add_string(profile, profile_string(from, labels.comm)) : 0;
	int64_t cgroup = labels.cgroup
				 ? profile_add_string(profile, profile_string(from, labels.cgroup))
				 : 0;
	size_t i;

	if (comm < 0 || cgroup < 0 || sample->nr_frames > ARRAY_SIZE(frames))
		return -ENOMEM;
	labels.comm = (uint32_t)comm;
	labels.cgroup = (uint32_t)cgroup;
	labels.slice = 0; /* set when time is added */
	for (i = 0; i < sample->nr_frames; i++) {
		int64_t to = copy_frame(drain, from, old[i]);

		if (to < 0)
			return -ENOMEM;
		frames[i] = (uint32_t)to;
	}
	return profile_add_sample(profile, &labels, frames, sample->nr_frames,
				  sample->nr_kernel_frames, 0);
}

/* Makes the stacks that are kept anew in the drain's profile. */
static int copy_kept(struct drain *drain, const struct profile *from, struct u64_map *ret)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	while ((slot = u64_map_next(&drain->kept, &position))) {
		uint64_t sample = slot->value;

		if (sample != HIDDEN) {
			const int64_t copy = copy_sample(drain, from, (uint32_t)sample);

			if (copy < 0)
				return -ENOMEM;
			sample = (uint64_t)copy | (sample & PLACE_MASK);
		}
		if (u64_map_set(ret, slot->key, sample) < 0)
			return -ENOMEM;
	}
	return 0;
}

int drain_change_profile(struct drain *drain, struct profile *profile)
{
	struct profile *from = drain->options.profile;
	const struct numbers numbers = drain->numbers;
	struct u64_map kept = {0};
	size_t slot;

	/* Stacks of ended epochs are not taken along, so nothing waits for its waker any more. */
	if (add_counts(drain, NULL) < 0)
		return -ENOMEM;
	drain->options.profile = profile;
	u64_map_clear(&drain->module_of_file); /* looked up anew */
	if (add_names(drain) < 0 || copy_kept(drain, from, &kept) < 0) {
		drain->options.profile = from;
		drain->numbers = numbers;
		u64_map_clear(&drain->module_of_file);
		u64_map_clear(&kept);
		return -ENOMEM;
	}
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		u64_map_clear(&drain->ids[slot]);
	u64_map_clear(&drain->cgroup_names);
	u64_map_clear(&drain->places);
	u64_map_clear(&drain->kept);
	drain->kept = kept;
	kernel_code_change_profile(&drain->kernel_code);
	return 0;
}

/* --- the end of an epoch ---------------------------------------------------------------------- */

int drain_close_epoch(struct drain *drain, uint32_t epoch, uint64_t until_ns)
{
	/* Off-CPU, the stack of a wait that has ended is needed now. */
	const bool may_hold = !drain->expects_end && !drain->options.waits;
	struct horizon horizon = {.until_ns = until_ns,
				  .hold_ns = may_hold ? drain->closed_ns : HOLD_NOTHING,
				  .epoch_over = true,
				  .epoch = epoch};
	int err = replay(drain, &horizon);

	if (!err)
		err = add_counts(drain, drain->expects_end ? NULL : &epoch);
	if (!err && drain->options.waits)
		err = close_waits(drain, epoch, until_ns);
	if (!err && drain->options.waits)
		err = split_close(&drain->split, add_divided, drain);
	if (!err)
		err = kernel_code_name(&drain->kernel_code, drain->options.profile);
	if (err)
		return err;
	drain->closed_ns = until_ns;
	/*
	 * A waiting count will find its record in this epoch's slot at the next close; and a wait of the next epoch its
	 * waker, who may have been noted at the end of this one, before the thread left its CPU.
	 */
	if (!drain->nr_counts && !has_wakers(drain))
		u64_map_clear(&drain->ids[epoch % WIRE_EPOCH_SLOTS]);
	u64_map_clear(&drain->ids[(epoch + 1) % WIRE_EPOCH_SLOTS]);
	return 0;
}
