/*
 * Looks at all processes before probes are attached to files, in the opener (worker/worker.h): see file_users_find()
 * (proc/mappings).
 *
 * Attaching waits for the mmap_lock of each process that has the file mapped, and nobody on the host can fork
 * meanwhile. So if a process does not give its lock, no probe is attached.
 */
#ifndef STOOK_PROBE_FIND_USERS_TASK_H
#define STOOK_PROBE_FIND_USERS_TASK_H

#include <stdint.h>

#include "base/error.h"
#include "proc/mappings.h"
#include "worker/worker.h"

/*
 * Asks for the users of files. 0 with the result of file_users_find() in *ret; or a negative errno: -ETIME, and the
 * error names the process that did not answer. question->begins is ignored.
 */
int file_users_ask(struct worker *worker, const struct file_users *question, int64_t *ret,
		   struct error *error);

/* The task, which runs in openers. */
int users_task(struct worker_job *job, void **state);

#endif
