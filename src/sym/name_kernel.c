/* Names of the kernel's own code: one question for all addresses; see sym/kernel_names.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sym/naming.h"

/*
 * How the kernel names the padding before a function. Among the frames of an interrupted kernel are
 * addresses that are no return addresses, and can't be told from those: the byte before is looked
 * up for all.
 */
#define BEFORE_FUNCTION "__pfx_"

/* A frame's module says "[kernel]" already; which kernel module is not part of a function name. */
static int add_kernel_name(void *context, size_t i, const char *name, const char *module)
{
	const struct naming *naming = context;

	if (i >= naming->nr)
		return -EINVAL;
	/* Nothing runs in the bytes before a function: it was interrupted at its very beginning. */
	if (!strncmp(name, BEFORE_FUNCTION, sizeof(BEFORE_FUNCTION) - 1))
		name += sizeof(BEFORE_FUNCTION) - 1;
	return name_frame(naming, naming->frames[i].frame, name);
}

/* True if the source named what it could; otherwise the result says why not. */
static bool ask(const struct kernel_names *source, const struct naming *naming,
		const uint64_t *addresses)
{
	struct error *error = &naming->symbolizer->result.kernel_error;
	struct error reason = {0};
	int err;

	if (!source->name)
		return false;
	err = source->name(source->self, addresses, naming->nr, add_kernel_name, (void *)naming,
			   &reason);
	if (err < 0) {
		reason.code = err;
		*error = reason;
	}
	return err >= 0;
}

int name_in_kernel(const struct naming *naming)
{
	const struct symbolizer_options *options = &naming->symbolizer->options;
	cleanup_free uint64_t *addresses = calloc(naming->nr, sizeof(*addresses));
	struct error *error = &naming->symbolizer->result.kernel_error;
	struct error before = *error;
	bool named;
	size_t i;

	if (!addresses)
		return -ENOMEM;
	for (i = 0; i < naming->nr; i++)
		addresses[i] = naming->frames[i].address;
	named = ask(&options->kernel, naming, addresses) ||
		ask(&options->kernel_fallback, naming, addresses);
	if (!named && error->code != -ENOMEM)
		return 0;
	*error = before;
	return named ? 0 : -ENOMEM;
}
