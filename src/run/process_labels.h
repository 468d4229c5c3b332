/*
 * Labels from processes themselves: the attributes of their OpenTelemetry process context (proc/process_context), by
 * the names that these have there; and, if they are asked for, their command line, `cmdline`, and variables of their
 * environment, `env.NAME` (proc/process_words).
 *
 * A context is published some time after a program has begun, and may be published again; so each process with samples
 * is asked several times, less and less often. The opener reads contexts, since the memory of a process may not answer,
 * and a parser without rights makes texts of them. So a look waits, and is for a thread that may.
 */
#ifndef STOOK_RUN_PROCESS_LABELS_H
#define STOOK_RUN_PROCESS_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/matcher.h"
#include "proc/process_names.h"
#include "profile/profile.h"
#include "worker/worker.h"

/* Limits: of processes, of their texts together, and of processes that are asked in one look. */
#define PROCESS_LABELS_MAX	 32768
#define PROCESS_LABELS_MAX_BYTES (4u << 20)
#define PROCESS_LABELS_LOOKS_MAX 128

/* Limit of the names of variables, each with its NUL. */
#define PROCESS_LABELS_NAMES_BYTES 1024

/* Labels that are asked for besides the attributes. On the heap. */
struct process_label_wants {
	bool command_line;
	char variables[PROCESS_LABELS_NAMES_BYTES]; /* names */
	size_t nr_variables;			    /* bytes of them */
	struct name_filter secrets; /* words that these exclude are not shown either */
};

void process_label_wants_free(struct process_label_wants *wants);

struct process_labels;

/* Returns NULL when out of memory. */
struct process_labels *process_labels_new(void);
void process_labels_free(struct process_labels *labels);

/* Asks for other labels from the next look on. For any thread. Takes wants. */
void process_labels_want(struct process_labels *labels, struct process_label_wants *wants);

/*
 * Asks those of the profile's processes that are due, for some seconds at most, and forgets processes that have exited.
 * names: the programs that they run. now_ns: of CLOCK_MONOTONIC. 0 or -ENOMEM.
 */
int process_labels_look(struct process_labels *labels, struct worker *worker,
			const struct profile *profile, const struct process_names *names,
			uint64_t now_ns);

/*
 * The labels of a process: keys and texts in turn, each with its NUL. Valid until the next look. known: the program
 * that it runs; NULL: the last one that a look was told of. False: it has not been asked yet for what is wanted, and may
 * have others.
 */
bool process_labels_find(const struct process_labels *labels, int32_t pid,
			 const struct process_name *known, struct bytes *ret);

/*
 * Number of contexts and texts that were left out because of a limit, or because the process did not answer. May be
 * called by other threads.
 */
uint64_t process_labels_nr_left_out(const struct process_labels *labels);

/* The tasks: of openers, which read memory; and of parsers, which read the attributes of one. */
int contexts_task(struct worker_job *job, void **state);
int attributes_task(struct worker_job *job, void **state);

#endif
