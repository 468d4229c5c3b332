/*
 * Commands that read foreign profiles. If they have rights, as root has, everything from the first byte of input to the
 * last byte of output happens in a child process without rights (worker/sandbox.h); else in this process.
 */
#ifndef STOOK_CMD_CONFINED_H
#define STOOK_CMD_CONFINED_H

#include <stddef.h>

#include "base/error.h"
#include "cmd/inputs.h"
#include "run/outputs.h"

struct confined {
	const char *const *paths[2]; /* the files that the command may read */
	size_t nr[2];
	struct input_options *input; /* gets the sandbox */
	struct outputs *outputs;     /* open */
	/* The work. 0 or a negative errno with a text. */
	int (*run)(void *context, struct error *error);
	/* See worker/sandbox.h; may be NULL. */
	int (*answer)(void *context, const void *question, size_t nr, void **ret, size_t *ret_nr,
		      struct error *error);
	void *context;
};

/* Fills in all but run and context, for a command with such a request. */
struct confined confined_request(struct input_request *request, struct outputs *outputs);

/* Returns the result of confined->run(), or a negative errno with a text if the child failed. */
int confined_run(struct confined *confined, struct error *error);

#endif
