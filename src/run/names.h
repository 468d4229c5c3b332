/* Names for the profile of a session, with everything that only this host can tell. */
#ifndef STOOK_RUN_NAMES_H
#define STOOK_RUN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/session.h"
#include "profile/quality.h"
#include "run/config.h"
#include "sym/kallsyms.h"
#include "sym/symbolizer.h"

/*
 * The budget of a run's naming; naming ends early when stop_fd can be read (-1: never). It must
 * outlive the symbolizer that is given it.
 */
struct read_budget naming_options_budget(const struct naming_options *options, int stop_fd);

/* The symbolizer's options; the caller adds files, runtimes, kernel and budget. */
struct symbolizer_options naming_options_symbolizer(const struct naming_options *options);

enum jvm_state {
	JVM_NOT_ASKED,
	JVM_NOT_READY, /* not asked either: to wake it could kill it. Later it may be ready */
	JVM_ANSWERED,
	JVM_ENDED,  /* after it had answered */
	JVM_SILENT, /* it refused, or did not answer, or had ended: it is not asked again */
};

struct session_names {
	struct session *session;
	const struct stack_options *options;
	const struct run_config *tasks;
	struct read_budget budget;
	struct symbolizer *symbolizer;
	struct kallsyms *kallsyms;
	struct session_jvm {
		enum jvm_state state;
		bool is_sampled; /* its code is in the profile that is being named */
		bool is_told_of;
	} * jvms; /* by the number in the runtime table; processes that are no JVMs too */
	size_t nr_jvms, cap_jvms;
	size_t nr_rounds;
	uint64_t vain_ns; /* all the time that was spent on those who did not answer */
	bool is_late_told;
	/* How to get names for the files of quality.stripped: see debug_packages_find(); or NULL. */
	char *packages[QUALITY_MAX_BLAMED];
	bool has_packages;
};

/*
 * The options of the run: about names, and how often the profile is named. Naming ends early when
 * stop_fd can be read (-1: never). 0 or -ENOMEM. The session and the options must outlive it; it must
 * not be moved.
 */
int session_names_init(struct session_names *names, struct session *session,
		       const struct stack_options *options, const struct run_config *tasks,
		       int stop_fd, struct error *error);
void session_names_clear(struct session_names *names);

/*
 * Names what the profile has by now; JVMs that can't be asked for theirs are told of, each once.
 * 0 or -ENOMEM.
 */
int session_names_apply(struct session_names *names, struct error *error);

/*
 * Looks up, once, the packages for those of the files that are worth a row of the verdict and that
 * root of the host alone can write. 0 or -ENOMEM.
 */
int session_names_find_packages(struct session_names *names, const struct quality *quality);

/* True if so many samples without a name are worth a row. */
static inline bool names_worth_a_row(uint64_t samples, uint64_t whole)
{
	return samples && samples * 50 >= whole;
}

/*
 * Why a process, by its number in the runtime table, gave no names when it was to be asked: a
 * sentence's end. NULL: it did, or nobody wanted to ask it.
 */
const char *session_names_why_silent(const struct session_names *names, uint32_t process);

/*
 * Names that the budget or a signal has cut short: a sentence each, from number 0 on, to be freed; NULL
 * behind the last one. It may quote the name of a file.
 */
char *naming_cut(const struct symbolizer *symbolizer, size_t number);

/* Everything else that kept frames from being named, on stderr: the last trouble of each kind. */
void naming_notes_tell(const struct symbolizer *symbolizer);

#endif
