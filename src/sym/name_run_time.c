/* Names of code made at run time, from what its process wrote about it. */
#include <errno.h>

#include "sym/naming.h"

static int name_from_map(const struct naming *naming, const struct code_map *map, bool is_java)
{
	char readable[NAME_MAX_BYTES + 1];
	size_t i;
	int err = 0;

	for (i = 0; i < naming->nr && err == 0; i++) {
		const char *name = code_map_find(map, naming->frames[i].address, NULL);

		if (!name)
			continue;
		runtime_name(name, is_java, &naming->symbolizer->options.run_time, readable,
			     sizeof(readable));
		err = name_frame(naming, naming->frames[i].frame, readable);
	}
	return err;
}

int name_in_run_time(const struct naming *naming)
{
	const struct symbolizer_options *options = &naming->symbolizer->options;
	const struct module *module = profile_module(naming->profile, naming->module);
	const struct runtime_process *process;
	const struct code_map *map = NULL;
	int err;

	if (!options->runtimes || !module->file)
		return 0;
	process = runtime_table_get(options->runtimes, module->file - 1);
	err = run_time_maps_get(naming->symbolizer->run_time, module->file - 1, process,
				options->files, &map);
	if (err == -ENOMEM)
		return err;
	naming->symbolizer->result.nr_files_failed += err < 0;
	naming->symbolizer->result.nr_tables_failed += err < 0;
	if (!map)
		return 0;
	return name_from_map(naming, map, process->runtime && process->runtime->is_java);
}
