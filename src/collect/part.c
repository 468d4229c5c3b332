/*
 * A part takes copies of entries with it, so that nothing in the session has to live until the part is named. In a run
 * without intervals the profile itself keeps its files and processes.
 */
#include "collect/part.h"

#include <errno.h>

/* The naming thread's copies are merged into its own table, which keeps fewer of them open. */
#define PART_MAX_OPEN 8192

static int copy_process(const struct part_source *source, const struct session_part *part,
			uint32_t number)
{
	const struct runtime_process *process = runtime_table_get(source->runtimes, number);
	int err = runtime_table_copy(part->runtimes, source->runtimes, number);

	return err < 0 || !process || process->jitdump < 0
		       ? err
		       : file_table_copy(part->files, source->files, (uint32_t)process->jitdump);
}

/* Copies the files and processes that the modules of a profile are of. */
static int copy_modules(const struct part_source *source, const struct session_part *part)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < profile_nr_modules(part->profile) && err == 0; i++) {
		const struct module *module = profile_module(part->profile, i);

		if (module->kind == MODULE_FILE)
			err = file_table_copy(part->files, source->files, module->file);
		if (module->kind == MODULE_RUN_TIME && module->file)
			err = copy_process(source, part, module->file - 1);
	}
	return err;
}

int part_take(const struct part_source *source, struct profile *taken, struct profile *next,
	      struct session_part *ret)
{
	struct session_part part = {
		.profile = taken,
		.files = file_table_new(PART_MAX_OPEN),
		.runtimes = runtime_table_new(),
	};

	if (!part.files || !part.runtimes || copy_modules(source, &part) < 0 ||
	    drain_change_profile(source->drain, next) < 0) {
		part.profile = NULL;
		session_part_clear(&part);
		return -ENOMEM;
	}
	drain_take_names(source->drain, &part.names);
	*ret = part;
	return 0;
}

void session_part_clear(struct session_part *part)
{
	profile_free(part->profile);
	file_table_free(part->files);
	runtime_table_free(part->runtimes);
	process_names_clear(&part->names);
	*part = (struct session_part){0};
}

void part_forget_unused(const struct part_source *source, const struct profile *profile)
{
	uint32_t i;

	for (i = 0; i < profile_nr_modules(profile); i++) {
		const struct module *module = profile_module(profile, i);

		if (module->kind == MODULE_FILE)
			file_table_mark_used(source->files, module->file);
		if (module->kind == MODULE_RUN_TIME && module->file)
			runtime_table_mark_used(source->runtimes, module->file - 1);
	}
	runtime_table_sweep(source->runtimes);
	runtime_table_mark_files(source->runtimes, source->files);
	process_table_mark_files(source->processes);
	drain_mark_files(source->drain);
	file_table_sweep(source->files);
}
