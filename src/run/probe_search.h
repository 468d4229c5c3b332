/*
 * The probes of a command with patterns: the list, the kernel's features, the processes affected,
 * the budget, and the notes printed about them.
 */
#ifndef STOOK_RUN_PROBE_SEARCH_H
#define STOOK_RUN_PROBE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/follow.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probing.h"
#include "probe/expression/probe_list.h"
#include "run/config.h"
#include "view/table.h"

/*
 * How children of the named processes are followed. If only the named process is to pay for the
 * probes, its children cannot be followed: the kernel's filter takes one process and not its
 * children.
 */
enum probe_follow {
	FOLLOW_UNLESS_SHARED, /* unless other processes run the same files and would pay */
	FOLLOW_ALWAYS,
	FOLLOW_NEVER,
};

/*
 * Processes that probes affect besides the named ones. A probe in a file is hit by every process
 * that runs the file, a probe in the kernel by all processes: their hits are filtered out, but cost
 * time.
 */
struct probe_reach {
	int32_t link_pid;	 /* user code is probed in this process only; 0: in all */
	const char *shared_file; /* a file run by others, too, if processes were named; or NULL */
	bool spares_others;	 /* other processes, and so children, are not probed */
};

/*
 * 0 or a negative errno: -ETIME if a process does not let the kernel look at its memory, and so no probe can be
 * attached to a file.
 */
int probe_reach_find(struct probe_reach *ret, struct worker *worker, const struct probe_list *list,
		     const struct probe_features *features, const struct wanted_tasks *tasks,
		     enum probe_follow follow, struct error *error);

struct probe_search {
	const struct probe_options *options;
	struct probe_list list;
	struct worker *worker; /* its parsers have the code mapped until all probes are attached */
	struct probe_features features;
	enum probe_follow follow;
	bool is_quiet;
	bool thins; /* set by the command: a budget thins out hits before it detaches probes */
};

/* Finds the probes, for which no privileges are needed. Returns 0 or a negative errno. The caller clears search. */
int probe_search_list(struct probe_search *search, const struct probe_options *options,
		      const struct run_config *tasks, struct error *error);

/*
 * Checks privileges and finds the probes. Returns 0, 1 if --list was given and the list was
 * printed, or a negative errno. The caller clears search in each case.
 */
int probe_search_find(struct probe_search *search, const struct probe_options *options,
		      const struct run_config *tasks, struct error *error);

/*
 * Returns the only process whose user code is probed (0: all), and the share of a CPU that the
 * probes may take (0: unlimited). Prints notes on both, unless quiet. -EINVAL if a budget was given
 * where no probe may be detached.
 */
int probe_search_decide(const struct probe_search *search, const struct wanted_tasks *tasks,
			bool may_cut, int32_t *ret_link_pid, double *ret_share,
			struct error *error);

/* All probes are attached: frees what is needed only for that. */
void probe_search_attached(struct probe_search *search);

/* search may be {0}. */
void probe_search_clear(struct probe_search *search);

/*
 * Prints after the run what the kernel refused, what the budget thinned out or detached, and missed hits. every: one hit
 * in so many was to be kept, 0: each.
 */
void probe_notes_after(const struct probe_list *list, const struct probing *probing, uint32_t every,
		       uint64_t missed, bool is_verbose);

/*
 * Returns "name", "r:name" for a return, "name (hash.c)" if the name is ambiguous; the caller
 * frees.
 */
char *probe_label(const struct probe *probe);

/* Returns "function", "usdt", "kernel" or "tracepoint". */
const char *probe_kind_name(enum probe_kind kind);

/* Adds a table of the probes, and of the matches that cannot be probed. The list must outlive the sheet. */
void probe_list_fill(struct sheet *sheet, const struct probe_list *list);

/*
 * Returns the index of the first probe in the list with the same name, file and kind: a static
 * probe (USDT) can be at several places and is one probe to the user. Returns number if there is
 * none before.
 */
uint32_t probe_first_of_name(const struct probe_list *list, uint32_t number);

#endif
