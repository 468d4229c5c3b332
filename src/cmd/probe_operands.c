/* See probe_operands.h; src/probe/find/arguments.h knows the rest. */
#include "cmd/probe_operands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/tallier.h"
#include "probe/attach/probe_features.h"
#include "probe/find/arguments.h"
#include "proc/tracefs.h"

static int read_format(int tracefs_fd, const struct probe *probe, char **ret, struct error *error)
{
	cleanup_free char *path = NULL;
	size_t bytes;

	if (asprintf(&path, "events/%s/format", probe->symbol) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	*ret = tracefs_read(tracefs_fd, path, &bytes);
	return *ret ? 0
		    : error_set_errno(error, "cannot read the fields of tracepoint '%s'",
				      probe->name);
}

int probe_operands_init(struct probe_operands *operands, const struct probe_list *list,
			struct error *error)
{
	cleanup_fd int tracefs_fd = -1;
	size_t i;

	*operands = (struct probe_operands){0};
	operands->formats = calloc(list->nr_probes + 1, sizeof(*operands->formats));
	if (!operands->formats)
		return error_set(error, -ENOMEM, "out of memory");
	operands->nr_formats = list->nr_probes;
	for (i = 0; i < list->nr_probes; i++) {
		int err;

		if (list->probes[i].kind != PROBE_TRACEPOINT)
			continue;
		if (tracefs_fd < 0)
			tracefs_fd = tracefs_open(error);
		if (tracefs_fd < 0)
			return tracefs_fd;
		err = read_format(tracefs_fd, &list->probes[i], &operands->formats[i], error);
		if (err)
			return err;
	}
	return 0;
}

void probe_operands_clear(struct probe_operands *operands)
{
	size_t i;

	for (i = 0; i < operands->nr_formats; i++)
		free(operands->formats[i]);
	free(operands->formats);
	*operands = (struct probe_operands){0};
}

bool probe_operands_is_text(const struct probe_operands *operands, const char *field)
{
	size_t i;

	for (i = 0; i < operands->nr_formats; i++)
		if (operands->formats[i] && arguments_field_is_text(operands->formats[i], field))
			return true;
	return false;
}

int probe_operands_find(const struct probe_operands *operands, const struct probe_list *list,
			uint32_t number, const struct probe_features *features,
			const struct operand *operand, struct tally_fetch *ret, struct error *error)
{
	const struct probe *probe = &list->probes[number];
	const char *why;
	int hook = probe_hook_choose(probe, features, &why);

	return arguments_find(arguments_machine(), probe,
			      number < operands->nr_formats ? operands->formats[number] : NULL,
			      hook == HOOK_FENTRY || hook == HOOK_FEXIT, operand, ret, error);
}

int probe_operands_check(const struct tally_fetch *fetches, size_t nr, struct error *error)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (fetches[i].kind == TALLY_FETCH_RESULT)
			break;
	if (i == nr || tallier_has_results())
		return 0;
	return error_set(error, -EOPNOTSUPP,
			 "this kernel does not tell what its functions return (Linux 5.17 does, or "
			 "one with kprobes)");
}
