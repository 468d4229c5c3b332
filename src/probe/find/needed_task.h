/*
 * Reads which loader and libraries a program or library names, in a parser without rights (worker/worker.h).
 *
 * The answer is a list of texts, each with its NUL: the path of the loader, or "", then the names of libraries.
 */
#ifndef STOOK_PROBE_FIND_NEEDED_TASK_H
#define STOOK_PROBE_FIND_NEEDED_TASK_H

#include <stddef.h>

#include "base/bytes.h"
#include "worker/worker.h"

#define NEEDED_MAX_BYTES (64u << 10) /* of the answer; more than in any known program */

/*
 * Takes the next text of an answer from worker_fetch(), which may come from a compromised parser. NULL: no further one,
 * or the rest is invalid.
 */
const char *needed_answer_next(struct bytes *answer);

/* The task that runs in parsers. The question is empty. */
int needed_task(struct worker_job *job, void **state);

#endif
