/*
 * Names for code of a profile that was recorded, or stored, without them, from files on this machine with the same
 * build ids: at the recorded path, or among the debug files. Names that the profile has are kept.
 *
 * In a process without rights (worker/sandbox.h), the profile's modules and frames go to its host, which names them and
 * sends them back.
 */
#ifndef STOOK_RUN_CODE_NAMES_H
#define STOOK_RUN_CODE_NAMES_H

#include <stddef.h>

#include "base/error.h"
#include "base/file/read_budget.h"
#include "profile/profile.h"
#include "run/config.h"
#include "sym/symbolizer.h"
#include "worker/sandbox.h"

struct code_names {
	const struct naming_options *options;
	struct profile *asked; /* in the host: the code to name */
	struct read_budget budget;
	struct symbolizer *symbolizer; /* NULL: nothing was named here */
	int signal_fd;		       /* readable if a signal should end naming */
};

/* The options must outlive it. */
void code_names_init(struct code_names *names, const struct naming_options *options);
void code_names_clear(struct code_names *names);

/*
 * Names the frames without a name, here, or if there is a sandbox, by its host; once. A first Ctrl-C ends naming early.
 * 0 or a negative errno with a text.
 */
int code_names_add(struct code_names *names, struct profile *profile, struct sandbox *sandbox,
		   struct error *error);

/* In the host: answers a sandbox's question, see struct sandbox_host. */
int code_names_answer(struct code_names *names, const void *question, size_t nr, void **ret,
		      size_t *ret_nr, struct error *error);

/*
 * Reports on stderr what has no names, and why, in the process that named it; profile: the one that was named there, if
 * it was not asked for by a child. 0 or -ENOMEM.
 */
int code_names_report(const struct code_names *names, const struct profile *profile,
		      struct error *error);

#endif
