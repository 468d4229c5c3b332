/*
 * Addresses of a record become frames of the profile, its identity becomes labels; see resolver.h.
 */
#include "collect/resolver.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "proc/cgroup.h"

/*
 * Past so many strings, of which targets can make any number, threads are not told apart by name.
 */
#define MAX_STRINGS (1U << 20)

#define NO_MODULE UINT32_MAX

struct resolver {
	struct drain_options options;
	uint32_t *module_of_file; /* file number → module number in the profile */
	size_t nr_modules, cap_modules;
	uint32_t vdso_module;
	uint32_t run_time_name;	     /* string: of modules of code made at run time */
	struct u64_map cgroup_names; /* id → string number in the profile */
};

static int add_vdso(struct resolver *resolver)
{
	struct profile *profile = resolver->options.profile;
	int64_t name = profile_add_string(profile, "[vdso]");
	struct module module = {.kind = MODULE_VDSO, .name = (uint32_t)name};
	int64_t number = name < 0 ? name : profile_add_module(profile, &module);

	if (number < 0)
		return -ENOMEM;
	resolver->vdso_module = (uint32_t)number;
	return 0;
}

struct resolver *resolver_new(const struct drain_options *options)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	int64_t name = profile_add_string(options->profile, "//anon");

	if (!resolver)
		return NULL;
	resolver->options = *options;
	resolver->run_time_name = (uint32_t)name;
	if (name < 0 || add_vdso(resolver) < 0) {
		resolver_free(resolver);
		return NULL;
	}
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	u64_map_clear(&resolver->cgroup_names);
	free(resolver->module_of_file);
	free(resolver);
}

/* --- from addresses to frames ---------------------------------------------------------------- */

/* The profile's module for a file; made at the file's first frame. */
static int64_t module_of_file(struct resolver *resolver, uint32_t file)
{
	struct module module = {.kind = MODULE_FILE, .file = file};
	int64_t name, number;

	if (file < resolver->nr_modules && resolver->module_of_file[file] != NO_MODULE)
		return resolver->module_of_file[file];
	if (array_reserve(&resolver->module_of_file, &resolver->cap_modules, (size_t)file + 1,
			  sizeof(*resolver->module_of_file)) < 0)
		return -ENOMEM;
	while (resolver->nr_modules <= file)
		resolver->module_of_file[resolver->nr_modules++] = NO_MODULE;
	name = profile_add_string(resolver->options.profile,
				  file_table_get(resolver->options.files, file)->path);
	if (name < 0)
		return -ENOMEM;
	module.name = (uint32_t)name;
	number = profile_add_module(resolver->options.profile, &module);
	if (number < 0)
		return -ENOMEM;
	file_table_mark_sampled(resolver->options.files, file);
	resolver->module_of_file[file] = (uint32_t)number;
	return number;
}

/*
 * The module of the code that a process makes at run time. Processes have one each: the same
 * address is different code in them.
 */
static int64_t run_time_module(struct resolver *resolver, const struct wire_record *record,
			       const struct mappings *mappings)
{
	const struct drain_options *options = &resolver->options;
	struct module module = {.kind = MODULE_RUN_TIME, .name = resolver->run_time_name};
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

static int64_t user_frame(struct resolver *resolver, const struct wire_record *record,
			  const struct mappings *mappings, uint64_t address)
{
	const struct mapping *mapping = mappings_find(mappings, address);
	int64_t module = MODULE_NR_UNKNOWN;

	if (mapping && mapping->kind == MAPPING_FILE) {
		module = module_of_file(resolver, mapping->file);
		address = address - mapping->start + mapping->offset;
	} else if (mapping && mapping->kind == MAPPING_VDSO) {
		module = resolver->vdso_module;
		address = address - mapping->start + mapping->offset; /* its front may be cut */
	} else if (mapping) {
		module = run_time_module(resolver, record, mappings);
	} else {
		address = 0; /* it says nothing, and there may be very many */
	}
	if (module < 0)
		return module;
	return profile_add_frame(resolver->options.profile, FRAME_USER, (uint32_t)module, address);
}

/*
 * The frame numbers of a record: kernel part first, as the profile wants it. All but the leaf of
 * each part are return addresses, so the byte before is looked up.
 */
static int resolve(struct resolver *resolver, const struct wire_record *record,
		   const struct user_part *user, uint32_t *frames)
{
	const uint64_t *kernel = (const uint64_t *)(record + 1) + record->nr_user;
	int64_t frame;
	size_t i;

	for (i = 0; i < record->nr_kernel; i++) {
		frame = profile_add_frame(resolver->options.profile, FRAME_KERNEL, MODULE_NR_KERNEL,
					  kernel[i] - (i > 0));
		if (frame < 0)
			return -ENOMEM;
		*frames++ = (uint32_t)frame;
	}
	for (i = 0; i < user->nr; i++) {
		frame = user_frame(resolver, record, user->mappings, user->frames[i] - (i > 0));
		if (frame < 0)
			return -ENOMEM;
		*frames++ = (uint32_t)frame;
	}
	return 0;
}

/* --- from records to samples ----------------------------------------------------------------- */

/* The string number of a cgroup's path, read once per cgroup, as early as may be. */
static int64_t cgroup_name(struct resolver *resolver, uint64_t id)
{
	const uint64_t *known = u64_map_find(&resolver->cgroup_names, id);
	cleanup_free char *path = NULL;
	int64_t string;

	if (known)
		return (int64_t)*known;
	path = cgroup_path(resolver->options.cgroup_root_fd, id);
	string = profile_add_string(resolver->options.profile, path ? path : "[cgroup gone]");
	if (string < 0 || u64_map_set(&resolver->cgroup_names, id, (uint64_t)string) < 0)
		return -ENOMEM;
	return string;
}

/* The number of the slice that the record is in; 0 past the last one that a profile can have. */
static int64_t slice_of(struct resolver *resolver, const struct wire_record *record)
{
	const struct slicing *slicing = resolver->options.slicing;
	struct time_slice slice;
	int64_t number;

	if (!slicing || !slicing->slice_ns)
		return 0;
	slice = slicing_slice(slicing, record);
	number = profile_add_slice(resolver->options.profile, &slice);
	return number == -E2BIG ? 0 : number;
}

static int label(struct resolver *resolver, const struct wire_record *record, const char *comm,
		 uint8_t user_end, struct sample_labels *labels)
{
	unsigned wanted = resolver->options.labels;
	int64_t string = 0, cgroup = 0, slice = slice_of(resolver, record);

	if (profile_nr_strings(resolver->options.profile) > MAX_STRINGS)
		comm = "[other threads]";
	if (wanted & LABEL_COMM)
		string = profile_add_string(resolver->options.profile, comm);
	if (wanted & LABEL_CGROUP)
		cgroup = cgroup_name(resolver, record->cgroup);
	if (string < 0 || cgroup < 0 || slice < 0)
		return -ENOMEM;
	*labels = (struct sample_labels){
		.comm = (uint32_t)string,
		.cgroup = (uint32_t)cgroup,
		.pid = wanted & LABEL_PID ? (int32_t)record->pid : 0,
		.tid = wanted & LABEL_TID ? (int32_t)record->tid : 0,
		.cpu = wanted & LABEL_CPU ? (int32_t)record->cpu : 0,
		.slice = (uint32_t)slice,
		.user_end = user_end,
		.kernel_end = record->kernel_end,
	};
	return 0;
}

int64_t resolver_add(struct resolver *resolver, const struct wire_record *record, const char *comm,
		     const struct user_part *user)
{
	uint32_t frames[WIRE_MAX_FRAMES];
	struct sample_labels labels;
	int err = label(resolver, record, comm, user->end, &labels);

	if (!err)
		err = resolve(resolver, record, user, frames);
	if (err)
		return err;
	return profile_add_sample(resolver->options.profile, &labels, frames,
				  user->nr + record->nr_kernel, record->nr_kernel,
				  resolver->options.by_weight ? record->weight : 1);
}
