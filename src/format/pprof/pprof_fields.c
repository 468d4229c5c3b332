/* Kinds of code by the names of mappings: ours, and those that perf_to_profile and others give. */
#include "format/pprof/pprof_fields.h"

#include <string.h>

#include "base/array.h"
#include "base/text.h"

static const struct {
	const char *start; /* of the name … */
	const char *end;   /* … and its end; NULL: any */
	enum module_kind kind;
} rows[] = {
	{PPROF_RUN_TIME_FILE, NULL, MODULE_RUN_TIME},
	{"//anon", NULL, MODULE_RUN_TIME},
	{"[anon", NULL, MODULE_RUN_TIME},
	{"[vdso", NULL, MODULE_VDSO},
	{"[kernel", NULL, MODULE_KERNEL},
	{"[guest.kernel", NULL, MODULE_KERNEL},
	{"/", ".ko", MODULE_KERNEL},
	{"/", ".ko.gz", MODULE_KERNEL},
	{"/", ".ko.xz", MODULE_KERNEL},
	{"/", ".ko.zst", MODULE_KERNEL},
};

enum module_kind pprof_kind_of(const char *filename)
{
	size_t i, nr = strlen(filename);

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (text_starts_with(filename, rows[i].start) &&
		    (!rows[i].end || text_ends_with(filename, nr, rows[i].end)))
			return rows[i].kind;
	return *filename ? MODULE_FILE : MODULE_UNKNOWN;
}

/* perf_to_profile has "[kernel.kallsyms]_stext" and the like. */
bool pprof_is_kernel_itself(const char *filename)
{
	return text_starts_with(filename, "[kernel");
}

size_t pprof_path_length(const char *path)
{
	size_t nr = strlen(path);

	return text_ends_with(path, nr, PPROF_DELETED) ? nr - strlen(PPROF_DELETED) : nr;
}
