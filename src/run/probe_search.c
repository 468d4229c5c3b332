/*
 * From patterns on the command line to what is probed, whom it concerns, and what is said of it.
 *
 * Names come from files that anybody may have made, so they pass through text_write_columns(), which lets
 * no control characters through.
 */
#include "run/probe_search.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "run/complain.h"
#include "kernel/preflight.h"
#include "probe/attach/probe_features.h"
#include "probe/find/find.h"
#include "probe/find/tracepoints.h"
#include "proc/mappings.h"
#include "proc/tracefs.h"

/* --- names ----------------------------------------------------------------------------------- */

char *probe_label(const struct probe *probe)
{
	const char *kind = probe->is_return ? "r:" : "";
	char *label;
	int written;

	if (probe->detail)
		written = asprintf(&label, "%s%s (%s)", kind, probe->name, probe->detail);
	else
		written = asprintf(&label, "%s%s", kind, probe->name);
	return written < 0 ? NULL : label;
}

uint32_t probe_first_of_name(const struct probe_list *list, uint32_t number)
{
	const struct probe *probe = &list->probes[number];
	uint32_t i;

	for (i = 0; probe->kind == PROBE_USDT && i < number; i++)
		if (list->probes[i].kind == PROBE_USDT && list->probes[i].file == probe->file &&
		    !strcmp(list->probes[i].name, probe->name))
			return i;
	return number;
}

/* --- whom probes concern --------------------------------------------------------------------- */

#define SEARCH_NS (50 * NS_PER_MS) /* a start must not feel it */

/* The number of a file that others run too; or a negative errno, -ENOENT if there is none. */
static int64_t find_shared_file(const struct probe_list *list, const struct wanted_tasks *tasks)
{
	cleanup_free uint64_t *inodes = calloc(list->nr_files + 1, sizeof(*inodes));
	size_t i;

	if (!inodes)
		return -ENOMEM;
	for (i = 0; i < list->nr_files; i++)
		inodes[i] = list->files[i].inode;
	return file_users_find(inodes, list->nr_files, tasks->pids, tasks->nr_pids, SEARCH_NS);
}

/* A link's own filter knows one process, and nothing of its children. */
static bool is_one_process(const struct wanted_tasks *tasks)
{
	return tasks->nr_pids == 1 && !tasks->nr_tids;
}

void probe_reach_find(struct probe_reach *ret, const struct probe_list *list,
		      const struct probe_features *features, const struct wanted_tasks *tasks,
		      enum probe_follow follow)
{
	bool can_filter = features->has[PROBE_FEATURE_UPROBE_PID] && is_one_process(tasks);
	int64_t shared;

	*ret = (struct probe_reach){0};
	if (!list->nr_files || (!tasks->nr_pids && !tasks->nr_tids))
		return;
	if (can_filter && follow == FOLLOW_NEVER) {
		ret->link_pid = (int32_t)tasks->pids[0];
		return;
	}
	shared = find_shared_file(list, tasks);
	if (shared == -ENOENT)
		return;
	/* Others do, or may for all that could be found out. */
	ret->shared_file = list->files[shared < 0 ? 0 : shared].path;
	ret->spares_others = can_filter && follow == FOLLOW_IF_ALONE;
	if (ret->spares_others)
		ret->link_pid = (int32_t)tasks->pids[0];
}

/* --- notes ----------------------------------------------------------------------------------- */

#define FEW 10 /* of a kind are named; -v or --list names all */

#define TOLD_AWAY_NS (10 * NS_PER_MS) /* less is not worth a line */

static void write_name(FILE *out, const char *name)
{
	(void)text_write_columns(out, name, text_columns(name), "");
}

/* --- the list -------------------------------------------------------------------------------- */

static void list_probe(const struct probe_list *list, const struct probe *probe)
{
	cleanup_free char *label = probe_label(probe);

	write_name(stdout, label ? label : probe->name);
	putchar('\t');
	if (probe->kind == PROBE_USER || probe->kind == PROBE_USDT) {
		write_name(stdout, list->files[probe->file].path);
		printf("+0x%" PRIx64 "\n", probe->offset);
	} else if (probe->kind == PROBE_TRACEPOINT) {
		puts(probe->symbol);
	} else if (probe->address) {
		printf("0x%" PRIx64 "\n", probe->address + probe->offset);
	} else {
		puts("kernel");
	}
}

static void tell_refusal(const char *name, const char *why)
{
	fputs("       ", stderr);
	write_name(stderr, name);
	fprintf(stderr, ": %s\n", why);
}

/*
 * --list: on stdout a line for each probe, `name TAB where`: a file and the offset in it, an address
 * in the kernel, or a tracepoint; on stderr what can't be probed. 0 or a negative errno.
 */
static int list_probes(const struct probe_list *list, struct error *error)
{
	size_t i;

	for (i = 0; i < list->nr_probes; i++)
		list_probe(list, &list->probes[i]);
	if (fflush(stdout) != 0 || ferror(stdout))
		return error_set_errno(error, "cannot write to standard output");
	if (list->nr_refusals)
		complain("these match and cannot be probed:");
	for (i = 0; i < list->nr_refusals; i++)
		tell_refusal(list->refusals[i].name, list->refusals[i].why);
	return 0;
}

/* --- before ---------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Before the run: matches that are left out, others that pay too, the budget. */
static void tell_before(const struct probe_list *list, const struct probe_reach *reach,
			double budget, bool is_default_budget, bool thins)
{
	if (list->nr_refusals)
		complain("left out '%s': %s%s", list->refusals[0].name, list->refusals[0].why,
			 list->nr_refusals > 1 ? " (--list tells of more)" : "");
	if (reach->shared_file && reach->spares_others)
		complain("children are not counted, so that others that use %s are left alone "
			 "(--follow)",
			 base_name(reach->shared_file));
	else if (reach->shared_file)
		complain("others that use %s are slowed down too", base_name(reach->shared_file));
	if (is_default_budget && budget > 0 && thins)
		complain("hits that together take more than %g %% of a CPU are thinned out, those "
			 "of the "
			 "hottest probes first (stook stackcount --budget off takes all)",
			 budget * 100);
	else if (is_default_budget && budget > 0)
		complain("probes that together take more than %g %% of a CPU are cut, the hottest "
			 "first (--budget off keeps all)",
			 budget * 100);
}

/* --- after ----------------------------------------------------------------------------------- */

static void tell_rest(size_t nr, size_t nr_told)
{
	if (nr > nr_told)
		fprintf(stderr, "       … and %zu more\n", nr - nr_told);
}

static void tell_refused(const struct probe_list *list, const struct probing *probing, size_t most)
{
	size_t nr = probing_nr(probing, PROBE_REFUSED), nr_told = 0, i;

	if (!nr)
		return;
	complain("%zu could not be probed:", nr);
	for (i = 0; i < list->nr_probes && nr_told < most; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);

		if (status->state != PROBE_REFUSED)
			continue;
		tell_refusal(list->probes[i].name, status->why);
		nr_told++;
	}
	tell_rest(nr, nr_told);
}

/* One probe's thinning is in the verdict. */
static void tell_thinned(const struct probe_list *list, const struct probing *probing, size_t most)
{
	size_t nr = 0, nr_told = 0, i;

	for (i = 0; i < list->nr_probes; i++)
		nr += probing_status(probing, (uint32_t)i)->most_bits > 0;
	if (!nr || list->nr_probes == 1)
		return;
	complain("the budget of %g %% thinned out the hits of %zu:",
		 probing_budget(probing)->share * 100, nr);
	for (i = 0; i < list->nr_probes && nr_told < most; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);
		cleanup_free char *label = NULL;

		if (!status->most_bits)
			continue;
		label = probe_label(&list->probes[i]);
		fputs("       ", stderr);
		write_name(stderr, label ? label : list->probes[i].name);
		fprintf(stderr, " to 1 in up to %u\n", 1U << status->most_bits);
		nr_told++;
	}
	tell_rest(nr, nr_told);
}

static void tell_cut(const struct probe_list *list, const struct probing *probing, size_t most)
{
	size_t nr = probing_nr(probing, PROBE_CUT), nr_told = 0, i;
	char number[NUMBER_COMMAS_BYTES];

	if (!nr)
		return;
	complain("the budget of %g %% cut %zu, whose counts end there:",
		 probing_budget(probing)->share * 100, nr);
	for (i = 0; i < list->nr_probes && nr_told < most; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);
		cleanup_free char *label = NULL;

		if (status->state != PROBE_CUT)
			continue;
		label = probe_label(&list->probes[i]);
		fputs("       ", stderr);
		write_name(stderr, label ? label : list->probes[i].name);
		fprintf(stderr, " at %s calls a second\n",
			number_commas(number, (uint64_t)status->cut_rate));
		nr_told++;
	}
	tell_rest(nr, nr_told);
}

/* Probes that were cut are reported apart; the time that the others missed is only reported here. */
static void tell_away(const struct probe_list *list, const struct probing *probing)
{
	uint64_t longest_ns = 0;
	size_t nr = 0, i;

	for (i = 0; i < list->nr_probes; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);

		if (status->state != PROBE_ATTACHED || !status->away_ns)
			continue;
		nr++;
		if (status->away_ns > longest_ns)
			longest_ns = status->away_ns;
	}
	if (longest_ns > TOLD_AWAY_NS)
		complain("%zu %s let go for up to %.2f s in all while hot ones were searched: "
			 "their counts miss that time",
			 nr, nr == 1 ? "function was" : "functions were",
			 (double)longest_ns / NS_PER_SEC);
}

void probe_notes_after(const struct probe_list *list, const struct probing *probing,
		       uint64_t missed, bool is_verbose)
{
	size_t most = is_verbose ? SIZE_MAX : FEW;
	size_t nr_waiting = probing_nr(probing, PROBE_WAITING);
	char number[NUMBER_COMMAS_BYTES];

	tell_refused(list, probing, most);
	tell_thinned(list, probing, most);
	tell_cut(list, probing, most);
	tell_away(list, probing);
	if (nr_waiting)
		complain("%zu were not attached before the end: the budget takes them step by step",
			 nr_waiting);
	if (is_verbose && probing_budget(probing)->hit_ns > 0)
		complain("a hit costs %.0f ns here, by a measurement before the run",
			 probing_budget(probing)->hit_ns);
	if (missed == UINT64_MAX && is_verbose)
		complain("whether hits were missed this kernel does not tell");
	if (missed && missed != UINT64_MAX)
		complain("the kernel missed %s hits: what was counted is too little by that",
			 number_commas(number, missed));
}

/* --- the search ------------------------------------------------------------------------------ */

#define DEFAULT_BUDGET 0.03 /* a server and its client, each on a CPU of its own, lose twice that */

static int find_targets(struct probe_search *search, const struct run_config *tasks,
			struct error *error)
{
	const struct probe_options *options = search->options;
	const struct target_options target = {
		.patterns = options->patterns,
		.nr_patterns = options->nr_patterns,
		.is_regex = options->is_regex,
		.pids = tasks->pids,
		.nr_pids = tasks->nr_pids,
		.debug_folders = options->debug_folders,
		.nr_debug_folders = options->nr_debug_folders,
		.force_returns = options->force_returns,
		.max_probes = options->max_probes ? options->max_probes : PROBES_MAX,
	};
	int err = target_find(&target, &search->list, error);

	if (err == -E2BIG && !error->hint[0])
		error_hint(error, "a narrower pattern, or --max-probes");
	return err;
}

/* Tracepoints need no such means. */
static void hint_tracepoints(const struct probe_list *list, struct error *error)
{
	cleanup_fd int tracefs_fd = tracefs_open(NULL);
	struct tracepoints tracepoints = {0};
	char near[256] = "";

	if (tracefs_fd >= 0 && tracepoints_read(&tracepoints, tracefs_fd, NULL) == 0)
		tracepoints_suggest(&tracepoints, list, near, sizeof(near));
	if (near[0])
		error_hint(error, "tracepoints are to be had, as %s; -l 't:*' lists all", near);
	else if (tracepoints.nr)
		error_hint(error, "tracepoints are to be had: -l 't:*' lists all");
	tracepoints_clear(&tracepoints);
}

/* A kernel that has no means for any of them says so before the run. */
static int check_any_hook(const struct probe_search *search, struct error *error)
{
	const struct probe_list *list = &search->list;
	const char *why = NULL;
	char others[48] = "";
	size_t i;

	for (i = 0; i < list->nr_probes; i++)
		if (probe_hook_choose(&list->probes[i], &search->features, &why) >= 0)
			return 0;
	if (list->nr_probes > 1)
		(void)snprintf(others, sizeof(others), " and %zu more", list->nr_probes - 1);
	(void)error_set(error, -EOPNOTSUPP, "cannot probe '%s'%s: %s", list->probes[0].name, others,
			why);
	if (list->probes[list->nr_probes - 1].kind == PROBE_KERNEL)
		hint_tracepoints(list, error);
	return -EOPNOTSUPP;
}

int probe_search_find(struct probe_search *search, const struct probe_options *options,
		      const struct run_config *tasks, struct error *error)
{
	size_t i;
	int err = 0;

	search->options = options;
	search->is_quiet = tasks->quiet;
	search->follow = FOLLOW_IF_ALONE;
	if (tasks->no_follow)
		search->follow = FOLLOW_NEVER;
	else if (tasks->follow || tasks->command) /* what the program starts is part of the run */
		search->follow = FOLLOW_ALWAYS;
	probe_list_init(&search->list);
	if (!options->list)
		err = privileges_check(error);
	if (!err)
		err = find_targets(search, tasks, error);
	if (err)
		return err;
	for (i = 0; i < search->list.nr_notes && !search->is_quiet; i++)
		complain("%s", search->list.notes[i]);
	if (options->list) {
		err = list_probes(&search->list, error);
		return err ? err : 1;
	}
	probe_features_find(&search->features, options->without);
	return check_any_hook(search, error);
}

/* No budget where tasks were named, since their hits are wanted; system-wide probes may be too many. */
static double choose_budget(const struct probe_options *options, const struct wanted_tasks *tasks,
			    bool may_cut)
{
	bool names_tasks = tasks->nr_pids || tasks->nr_tids || tasks->cgroup_fd >= 0;

	if (options->budget != BUDGET_UNSET)
		return options->budget;
	return names_tasks || !may_cut ? 0 : DEFAULT_BUDGET;
}

int probe_search_decide(const struct probe_search *search, const struct wanted_tasks *tasks,
			bool may_cut, int32_t *ret_link_pid, double *ret_share, struct error *error)
{
	struct probe_reach reach;

	if (search->options->budget > 0 && !may_cut)
		return error_set(
			error, -EINVAL,
			"--budget with calls that are paired with their returns: without one "
			"half the other would pair wrongly");
	probe_reach_find(&reach, &search->list, &search->features, tasks, search->follow);
	*ret_link_pid = reach.link_pid;
	*ret_share = choose_budget(search->options, tasks, may_cut);
	if (!search->is_quiet)
		tell_before(&search->list, &reach, *ret_share,
			    search->options->budget == BUDGET_UNSET, search->thins);
	return 0;
}

void probe_search_clear(struct probe_search *search)
{
	probe_list_clear(&search->list);
}
