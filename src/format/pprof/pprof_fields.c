/* Names and texts in pprof files: ours, and those of perf_to_profile and other programs. */
#include "format/pprof/pprof_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

const char *const pprof_end_names[NR_WALK_ENDS] = {
#define X(id, name, words) name,
	WALK_ENDS(X)
#undef X
};

/* --- names of mappings ------------------------------------------------------------------------ */

static const struct {
	const char *start; /* start of the name … */
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

/* True also for the variants of perf_to_profile, such as "[kernel.kallsyms]_stext". */
bool pprof_is_kernel_itself(const char *filename)
{
	return text_starts_with(filename, "[kernel");
}

size_t pprof_path_length(const char *path)
{
	size_t nr = strlen(path);

	return text_ends_with(path, nr, PPROF_DELETED) ? nr - strlen(PPROF_DELETED) : nr;
}

/* --- texts ------------------------------------------------------------------------------------ */

#define REPLACEMENT	  "\xef\xbf\xbd"
#define REPLACEMENT_BYTES 3

static bool is_ascii(const char *bytes, size_t nr)
{
	unsigned char all = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		all |= (unsigned char)bytes[i];
	return all < 0x80;
}

int pprof_text_repair(const char **text, size_t *nr, char **ret_copy)
{
	char *original, *repaired, *to;
	const char *from;
	uint32_t code;
	size_t right;

	if (is_ascii(*text, *nr))
		return 0;
	original = strndup(*text, *nr);
	repaired = original ? malloc((*nr + 1) * REPLACEMENT_BYTES) : NULL;
	if (!repaired) {
		free(original);
		return -ENOMEM;
	}
	for (from = original, to = repaired; *from; from += right ? right : 1) {
		right = text_utf8(from, &code);
		memcpy(to, right ? from : REPLACEMENT, right ? right : REPLACEMENT_BYTES);
		to += right ? right : REPLACEMENT_BYTES;
	}
	*to = '\0';
	free(original);
	*text = *ret_copy = repaired;
	*nr = (size_t)(to - repaired);
	return 0;
}
