/*
 * Runs the part of a command that reads foreign bytes in a child process without rights.
 *
 * The child is a fork with the rights of a parser (worker/worker.h): a user id of its own, no capability, a few dozen
 * system calls. It keeps the standard streams and the descriptors that are passed on, may use as much memory as it
 * needs, and ends with its parent. The parent, its *host*, keeps its rights and parses nothing: it waits, and does
 * what the child cannot do any more:
 *
 *  - opens files, only the ones that the host has listed, for reading unless it opens them in its own way;
 *  - finishes outputs that the child has written, by number;
 *  - answers a question, a byte string.
 *
 * A compromised child can write wrong results to the outputs, and nothing else.
 *
 * Not exec'd anew, since the host has read nothing before that the child must not see; a command forks before it opens
 * its inputs.
 */
#ifndef STOOK_WORKER_SANDBOX_H
#define STOOK_WORKER_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* --- in the host ------------------------------------------------------------------------------ */

struct sandbox;

#define SANDBOX_MAX_FDS 24

struct sandbox_host {
	const char *const *paths; /* files that the child may have opened */
	size_t nr_paths;
	/* Opens one of them: a descriptor or a negative errno. NULL: for reading; a pipe waits for its writer. */
	int (*open)(void *context, const char *path);
	const int *fds; /* that the child keeps, besides the standard streams */
	size_t nr_fds;	/* at most SANDBOX_MAX_FDS */
	/* Finishes an output; the number is not checked. NULL: no outputs. 0 or a negative errno. */
	int (*finish)(void *context, uint32_t number, struct error *error);
	/* The caller frees *ret. NULL: no questions. 0 or a negative errno. */
	int (*answer)(void *context, const void *question, size_t nr, void **ret, size_t *ret_nr,
		      struct error *error);
	bool is_server; /* the child may accept connections and fork */
	/* In the child, which flushes its streams itself. 0 or a negative errno; the host gets the text. */
	int (*work)(void *context, struct sandbox *sandbox, struct error *error);
	void *context;
};

/* True if this process has rights to lose: root's user id or any capability. */
bool sandbox_is_needed(void);

/*
 * Returns the result of host->work(); or a negative errno with a text if the child could not be confined, or died. A
 * signal by which users or pipes end a program ends the host likewise.
 */
int sandbox_run(const struct sandbox_host *host, struct error *error);

/* --- in the child ----------------------------------------------------------------------------- */

/* Returns a descriptor, which the caller closes, or a negative errno, as from open(). */
int sandbox_open(struct sandbox *sandbox, const char *path);

/* The output's bytes must have been written. 0 or a negative errno with a text. */
int sandbox_finish(struct sandbox *sandbox, uint32_t number, struct error *error);

/* Asks the host, whose answer the caller frees. 0 or a negative errno with a text. */
int sandbox_ask(struct sandbox *sandbox, const void *question, size_t nr, void **ret,
		size_t *ret_nr, struct error *error);

/* A descriptor that becomes readable, between calls of these functions, when the host has ended. */
int sandbox_fd(const struct sandbox *sandbox);

/* As read_budget_spare_memory(). */
uint64_t sandbox_spare_memory(struct sandbox *sandbox);

#endif
