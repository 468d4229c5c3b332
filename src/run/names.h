/* Names for the profile of a session, from every source that only this host has. */
#ifndef STOOK_RUN_NAMES_H
#define STOOK_RUN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "collect/session.h"
#include "profile/quality.h"
#include "run/config.h"
#include "sym/kallsyms.h"
#include "sym/symbolizer.h"

/*
 * Returns the budget of a run's naming. Naming ends early when stop_fd becomes readable (-1:
 * never). The budget must outlive the symbolizer that uses it.
 */
struct read_budget naming_options_budget(const struct naming_options *options, int stop_fd);

/* Returns the symbolizer's options; the caller adds files, runtimes, kernel and budget. */
struct symbolizer_options naming_options_symbolizer(const struct naming_options *options);

/* A source of names of kernel code as they are shown, for session_options. The options must outlive it. */
struct kernel_code_names naming_options_kernel(const struct naming_options *options);

enum jvm_state {
	JVM_NOT_ASKED,
	JVM_NOT_READY, /* not asked: the signal could kill it now; may become ready later */
	JVM_ANSWERED,
	JVM_ENDED,  /* exited after it had answered */
	JVM_SILENT, /* refused, did not answer, or had exited: not asked again */
};

struct session_jvm {
	enum jvm_state state;
	bool is_told_of; /* the user knows why it did not answer */
};

struct session_names {
	/*
	 * What is named: of the session; or, with --interval, the current interval and copies of the session's tables.
	 */
	struct profile *profile;
	struct file_table *files;
	struct runtime_table *runtimes;
	bool are_copies;
	const struct stack_options *options;
	const struct run_config *tasks;
	struct read_budget budget;
	struct symbolizer *symbolizer;
	struct kallsyms *kallsyms;
	struct u64_map jvms; /* number in the runtime table → struct session_jvm, packed */
	size_t nr_rounds;
	uint64_t vain_ns; /* total time spent on JVMs that did not answer */
	bool is_late_told;
	/*
	 * How to get symbols for the files of quality.stripped: see debug_packages_find(); or NULL.
	 */
	char *packages[QUALITY_MAX_BLAMED];
	bool has_packages;
};

/*
 * Naming follows the run's options (stack options, and --interval). It ends early when stop_fd
 * becomes readable (-1: never). Returns 0 or -ENOMEM. The session and the options must outlive
 * names, which must not be moved in memory.
 */
int session_names_init(struct session_names *names, struct session *session,
		       const struct stack_options *options, const struct run_config *tasks,
		       int stop_fd, struct error *error);
void session_names_clear(struct session_names *names);

/* With --interval: replaces the samples by those of the next interval. 0 or a negative errno. */
int session_names_take(struct session_names *names, struct session_part *part);

/*
 * With --interval: called when the interval has been named. Closes its files, and forgets what no interval will need:
 * the next one comes with entries of its own.
 */
void session_names_release(struct session_names *names);

/*
 * Names what the profile has so far. A JVM that cannot be asked for its symbols is reported once.
 * Returns 0 or -ENOMEM.
 */
int session_names_apply(struct session_names *names, struct error *error);

/*
 * Looks up the debug packages, once, for the stripped files that get a row in the verdict and that
 * only the host's root can write. Returns 0 or -ENOMEM.
 */
int session_names_find_packages(struct session_names *names, const struct quality *quality);

/*
 * Returns true if the share of samples without a symbol is large enough for a row in the verdict.
 */
static inline bool names_worth_a_row(uint64_t samples, uint64_t whole)
{
	return samples && samples * 50 >= whole;
}

/*
 * Returns the reason why a process, given by its index in the runtime table, provided no symbols,
 * as the end of a sentence; NULL if it did, or was not to be asked.
 */
const char *session_names_why_silent(const struct session_names *names, uint32_t process);

/*
 * Returns a sentence for each way in which the budget or a signal cut naming short, numbered from
 * 0; NULL past the last one. The caller frees it. It may quote the name of a file.
 */
char *naming_cut(const struct symbolizer *symbolizer, size_t number);

/*
 * Likewise returns a sentence for each kind of failure of the helper processes that read files. Unlike a cut, a
 * failure can be without consequences.
 */
char *reading_trouble(const struct worker_troubles *troubles, size_t number);

/* Prints everything else that kept frames from being named: the last error of each kind. */
void naming_notes_print(const struct symbolizer *symbolizer);

#endif
