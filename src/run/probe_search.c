/*
 * From patterns on the command line to a list of probes, the processes they affect, and the notes
 * about both.
 *
 * Names come from files that anybody may have made, so they are printed by text_write_columns(),
 * which removes control characters.
 */
#include "run/probe_search.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "format/text/sheet_write.h"
#include "run/complain.h"
#include "kernel/preflight.h"
#include "probe/attach/probe_features.h"
#include "probe/find/find.h"
#include "probe/find/tracepoints.h"
#include "probe/find/users_task.h"
#include "proc/process_info.h"
#include "proc/tracefs.h"
#include "worker/worker.h"

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

const char *probe_kind_name(enum probe_kind kind)
{
	static const char *const names[] = {
		[PROBE_USER] = "function",
		[PROBE_USDT] = "usdt",
		[PROBE_KERNEL] = "kernel",
		[PROBE_TRACEPOINT] = "tracepoint",
	};

	return names[kind];
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

/* --- processes that probes affect ------------------------------------------------------------ */

#define SEARCH_NS (50 * NS_PER_MS) /* short enough not to delay the start noticeably */

/* The filter of a link takes one process and cannot include its children. */
static bool is_one_process(const struct wanted_tasks *tasks)
{
	return tasks->nr_pids == 1 && !tasks->nr_tids;
}

int probe_reach_find(struct probe_reach *ret, struct worker *worker, const struct probe_list *list,
		     const struct probe_features *features, const struct wanted_tasks *tasks,
		     enum probe_follow follow, struct error *error)
{
	const bool can_filter = features->has[PROBE_FEATURE_UPROBE_PID] && is_one_process(tasks);
	const bool is_filtered = can_filter && follow == FOLLOW_NEVER;
	const bool may_be_shared = (tasks->nr_pids || tasks->nr_tids) && !is_filtered;
	cleanup_free uint64_t *inodes = calloc(list->nr_files + 1, sizeof(*inodes));
	const struct file_users question = {
		.inodes = inodes,
		.nr_inodes = may_be_shared ? list->nr_files : 0,
		.pids = tasks->pids,
		.nr_pids = tasks->nr_pids,
		.limit_ns = SEARCH_NS,
	};
	int64_t shared = -ENOENT;
	size_t i;
	int err;

	*ret = (struct probe_reach){0};
	if (!inodes)
		return error_no_memory(error, "");
	for (i = 0; i < list->nr_files; i++)
		inodes[i] = list->files[i].inode;
	err = list->nr_files ? file_users_ask(worker, &question, &shared, error) : 0;
	if (err < 0)
		return err;
	if (list->nr_files && is_filtered)
		ret->link_pid = (int32_t)tasks->pids[0];
	if (shared == -ENOENT)
		return 0;
	/* Other processes use the file, or the search could not rule it out. */
	ret->shared_file = list->files[shared < 0 ? 0 : shared].path;
	ret->spares_others = can_filter && follow == FOLLOW_UNLESS_SHARED;
	if (ret->spares_others)
		ret->link_pid = (int32_t)tasks->pids[0];
	return 0;
}

/* --- notes ----------------------------------------------------------------------------------- */

#define FEW 10 /* names printed of each kind; -v or --list prints all */

#define TOLD_AWAY_NS (10 * NS_PER_MS) /* shorter times are not reported */

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

static void print_refusal(const char *name, const char *why)
{
	fputs("       ", stderr);
	write_name(stderr, name);
	fprintf(stderr, ": %s\n", why);
}

struct listed {
	const struct probe_list *list;
	char **labels; /* by probe */
};

static void free_listed(void *context)
{
	struct listed *listed = context;
	size_t i;

	for (i = 0; i < listed->list->nr_probes; i++)
		free(listed->labels[i]);
	free(listed->labels);
	free(listed);
}

static struct listed *make_listed(const struct probe_list *list)
{
	struct listed *listed = calloc(1, sizeof(*listed));
	char **labels = calloc(list->nr_probes + 1, sizeof(*labels));
	size_t i = 0;

	if (listed && labels) {
		*listed = (struct listed){list, labels};
		while (i < list->nr_probes && (labels[i] = probe_label(&list->probes[i])))
			i++;
		if (i == list->nr_probes)
			return listed;
		free_listed(listed);
		return NULL;
	}
	free(listed);
	free(labels);
	return NULL;
}

enum { NAME, KIND, FILE_PATH, OFFSET, OFFSET_HEX, ADDRESS, ADDRESS_HEX, REFUSAL, NR_COLUMNS };

/* Programs get numbers. */
static const struct column columns[NR_COLUMNS] = {
	[NAME] = {"name", "NAME", .flags = COLUMN_NAME | COLUMN_OVERFLOWS, .least_width = 36},
	[KIND] = {"kind", "KIND"},
	[FILE_PATH] = {"file", "FILE", .flags = COLUMN_NAME | COLUMN_OPTIONAL},
	[OFFSET] = {"offset", NULL, .media = MEDIA_PROGRAMS},
	[OFFSET_HEX] = {"offset", "OFFSET", .flags = COLUMN_NUMBER | COLUMN_OPTIONAL,
			.media = MEDIA_PEOPLE},
	[ADDRESS] = {"address", NULL, .media = MEDIA_PROGRAMS},
	[ADDRESS_HEX] = {"address", "ADDRESS", .flags = COLUMN_NUMBER | COLUMN_OPTIONAL,
			 .media = MEDIA_PEOPLE},
	[REFUSAL] = {"refusal", "REFUSED", .flags = COLUMN_OPTIONAL},
};

static void read_probe(const struct listed *listed, size_t number, struct row *row)
{
	const struct probe *probe = &listed->list->probes[number];
	const bool is_user = probe_is_user(probe);
	char *hex = row->scratch;

	row->cells[NAME] = cell_text(listed->labels[number]);
	row->cells[KIND] = cell_text(probe_kind_name(probe->kind));
	if (is_user)
		row->cells[FILE_PATH] = cell_text(listed->list->files[probe->file].path);
	if (is_user || (probe->kind == PROBE_KERNEL && probe->offset)) {
		row->cells[OFFSET] = cell_count(probe->offset);
		hex += snprintf(hex, ROW_SCRATCH_BYTES / 2, "0x%" PRIx64, probe->offset) + 1;
		row->cells[OFFSET_HEX] = cell_text(row->scratch);
	}
	if (probe->kind == PROBE_KERNEL && probe->address) {
		row->cells[ADDRESS] = cell_count(probe->address);
		(void)snprintf(hex, ROW_SCRATCH_BYTES / 2, "0x%" PRIx64, probe->address);
		row->cells[ADDRESS_HEX] = cell_text(hex);
	}
}

static void read_row(const void *context, size_t number, struct row *row)
{
	const struct listed *listed = context;
	const struct probe_list *list = listed->list;

	if (number < list->nr_probes) {
		read_probe(listed, number, row);
		return;
	}
	row->cells[NAME] = cell_text(list->refusals[number - list->nr_probes].name);
	row->cells[REFUSAL] = cell_text(list->refusals[number - list->nr_probes].why);
}

void probe_list_fill(struct sheet *sheet, const struct probe_list *list)
{
	struct listed *listed = make_listed(list);
	const struct table table = {
		.name = "probes",
		.columns = columns,
		.nr_columns = NR_COLUMNS,
		.nr_rows = list->nr_probes + list->nr_refusals,
		.read_row = read_row,
		.context = listed,
		.never_cut = true,
	};

	if (!listed) {
		sheet->failed = true;
		return;
	}
	if (sheet_keep(sheet, listed, free_listed) == 0)
		sheet_add_table(sheet, MEDIA_ALL, &table);
}

static int write_list(const struct probe_list *list, enum media format, struct error *error)
{
	const struct sheet_style style = {.is_first = true};
	cleanup(sheet_clear) struct sheet sheet = {0};
	int err;

	probe_list_fill(&sheet, list);
	if (sheet_status(&sheet))
		return error_no_memory(error, "");
	err = sheet_write(&sheet, format, &style, stdout);
	return err ? error_set(error, err, "cannot write to standard output: %s", strerror(-err))
		   : 0;
}

/*
 * --list without a format: prints a line for each probe on stdout, `name TAB where` (a file and the offset
 * in it, an address in the kernel, or a tracepoint); on stderr what cannot be probed. Returns 0 or a negative
 * errno.
 */
static int print_list(const struct probe_list *list, struct error *error)
{
	size_t i;

	for (i = 0; i < list->nr_probes; i++)
		list_probe(list, &list->probes[i]);
	if (fflush(stdout) != 0 || ferror(stdout))
		return error_set_errno(error, "cannot write to standard output");
	if (list->nr_refusals)
		complain("these match but cannot be probed:");
	for (i = 0; i < list->nr_refusals; i++)
		print_refusal(list->refusals[i].name, list->refusals[i].why);
	return 0;
}

/* --- notes before the run -------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Reports skipped matches, the effect on other processes, and the budget. */
static void print_notes_before(const struct probe_list *list, const struct probe_reach *reach,
			       double budget, bool is_default_budget, bool thins)
{
	if (list->nr_refusals)
		complain("skipped '%s': %s%s", list->refusals[0].name, list->refusals[0].why,
			 list->nr_refusals > 1 ? " (--list shows more)" : "");
	if (reach->shared_file && reach->spares_others)
		complain("children are not counted; --follow adds them (slows down every process "
			 "that uses %s)",
			 base_name(reach->shared_file));
	else if (reach->shared_file)
		complain("warning: every process that calls these functions of %s pays for the "
			 "probes",
			 base_name(reach->shared_file));
	if (is_default_budget && budget > 0 && thins)
		complain(
			"above %g %% of a CPU in total, hits are thinned out, hottest probes first "
			"(stook stackcount --budget off keeps all)",
			budget * 100);
	else if (is_default_budget && budget > 0)
		complain("above %g %% of a CPU in total, probes are detached, hottest first "
			 "(--budget off keeps all)",
			 budget * 100);
}

/* --- notes after the run --------------------------------------------------------------------- */

static void print_rest(size_t nr, size_t nr_told)
{
	if (nr > nr_told)
		fprintf(stderr, "       … and %zu more\n", nr - nr_told);
}

static void print_refused(const struct probe_list *list, const struct probing *probing, size_t most)
{
	size_t nr = probing_nr(probing, PROBE_REFUSED), nr_told = 0, i;

	if (!nr)
		return;
	complain("probes that could not be attached: %zu", nr);
	for (i = 0; i < list->nr_probes && nr_told < most; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);

		if (status->state != PROBE_REFUSED)
			continue;
		print_refusal(list->probes[i].name, status->why);
		nr_told++;
	}
	print_rest(nr, nr_told);
}

/* The budget keeps one in 1 << bits of the hits that `every` leaves. With a single probe, the verdict reports it. */
static void print_thinned(const struct probe_list *list, const struct probing *probing,
			  uint32_t every, size_t most)
{
	size_t nr = 0, nr_told = 0, i;

	for (i = 0; i < list->nr_probes; i++)
		nr += probing_status(probing, (uint32_t)i)->most_bits > 0;
	if (!nr || list->nr_probes == 1)
		return;
	complain("the budget of %g %% of a CPU thinned out the hits of %zu probes:",
		 probing_budget(probing)->share * 100, nr);
	for (i = 0; i < list->nr_probes && nr_told < most; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);
		cleanup_free char *label = NULL;

		if (!status->most_bits)
			continue;
		label = probe_label(&list->probes[i]);
		fputs("       ", stderr);
		write_name(stderr, label ? label : list->probes[i].name);
		fprintf(stderr, ": down to 1 in %" PRIu64 " kept\n",
			(uint64_t)every << status->most_bits);
		nr_told++;
	}
	print_rest(nr, nr_told);
}

static void print_cut(const struct probe_list *list, const struct probing *probing, size_t most)
{
	size_t nr = probing_nr(probing, PROBE_CUT), nr_told = 0, i;
	char number[NUMBER_COMMAS_BYTES];

	if (!nr)
		return;
	complain("the budget of %g %% of a CPU was exceeded, counts are incomplete; detached: %zu",
		 probing_budget(probing)->share * 100, nr);
	for (i = 0; i < list->nr_probes && nr_told < most; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);
		cleanup_free char *label = NULL;

		if (status->state != PROBE_CUT)
			continue;
		label = probe_label(&list->probes[i]);
		fputs("       ", stderr);
		write_name(stderr, label ? label : list->probes[i].name);
		fprintf(stderr, " at %s calls/s\n",
			number_commas(number, (uint64_t)status->cut_rate));
		nr_told++;
	}
	print_rest(nr, nr_told);
}

/* Detached probes are reported by print_cut(); this reports the time that other probes missed. */
static void print_away(const struct probe_list *list, const struct probing *probing)
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
		complain("%zu %s detached for up to %.2f s in total during the search for hot "
			 "functions: hits in that time are not counted",
			 nr, nr == 1 ? "function was" : "functions were",
			 (double)longest_ns / NS_PER_SEC);
}

void probe_notes_after(const struct probe_list *list, const struct probing *probing, uint32_t every,
		       uint64_t missed, bool is_verbose)
{
	size_t most = is_verbose ? SIZE_MAX : FEW;
	size_t nr_waiting = probing_nr(probing, PROBE_WAITING);
	char number[NUMBER_COMMAS_BYTES];

	print_refused(list, probing, most);
	print_thinned(list, probing, every ? every : 1, most);
	print_cut(list, probing, most);
	print_away(list, probing);
	if (nr_waiting)
		complain("probes not attached before the run ended: %zu (a budget attaches probes "
			 "in steps)",
			 nr_waiting);
	if (is_verbose && probing_budget(probing)->hit_ns > 0)
		complain("a hit costs %.0f ns on this machine (measured before the run)",
			 probing_budget(probing)->hit_ns);
	if (missed == UINT64_MAX && is_verbose)
		complain("this kernel does not report missed hits");
	if (missed && missed != UINT64_MAX)
		complain("the kernel missed %s hits: counts are too low by that number",
			 number_commas(number, missed));
}

/* --- the search ------------------------------------------------------------------------------ */

#define DEFAULT_BUDGET 0.03 /* a server and its client, each on its own CPU, lose twice as much */

static int find_targets(struct probe_search *search, const struct run_config *tasks,
			struct error *error)
{
	const struct probe_options *options = search->options;
	const size_t nr_pids = tasks->nr_pids + tasks->nr_tids;
	cleanup_free uint32_t *pids = calloc(nr_pids + 1, sizeof(*pids));
	const struct target_options target = {
		.worker = search->worker,
		.patterns = options->patterns,
		.nr_patterns = options->nr_patterns,
		.is_regex = options->is_regex,
		.pids = pids,
		.nr_pids = nr_pids,
		.debug_folders = options->debug_folders,
		.nr_debug_folders = options->nr_debug_folders,
		.force_returns = options->force_returns,
		.max_probes = options->max_probes ? options->max_probes : PROBES_MAX,
	};
	int64_t pid;
	size_t i;
	int err;

	if (!pids)
		return error_no_memory(error, "");
	if (tasks->nr_pids)
		memcpy(pids, tasks->pids, tasks->nr_pids * sizeof(*pids));
	for (i = 0; i < tasks->nr_tids; i++) {
		pid = process_of_thread((int32_t)tasks->tids[i]);
		if (pid < 0)
			return error_set(error, -ESRCH, "no such thread: %u", tasks->tids[i]);
		pids[tasks->nr_pids + i] = (uint32_t)pid;
	}
	err = target_find(&target, &search->list, error);
	if (err == -E2BIG && !error->hint[0])
		error_hint(error, "use a narrower pattern, or raise --max-probes");
	return err;
}

/* For kernels without kprobes and fentry: tracepoints need neither. */
static void hint_tracepoints(const struct probe_list *list, struct error *error)
{
	cleanup_fd int tracefs_fd = tracefs_open(NULL);
	struct tracepoints tracepoints = {0};
	char near[256] = "";

	if (tracefs_fd >= 0 && tracepoints_read(&tracepoints, tracefs_fd, NULL) == 0)
		tracepoints_suggest(&tracepoints, list, near, sizeof(near));
	if (near[0])
		error_hint(error, "tracepoints are available, such as %s; -l 't:*' lists all",
			   near);
	else if (tracepoints.nr)
		error_hint(error, "tracepoints are available: -l 't:*' lists all");
	tracepoints_clear(&tracepoints);
}

/* Fails before the run if this kernel has no way to attach any of the probes. */
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

int probe_search_list(struct probe_search *search, const struct probe_options *options,
		      const struct run_config *tasks, struct error *error)
{
	size_t i;
	int err;

	search->options = options;
	search->is_quiet = tasks->quiet;
	search->follow = FOLLOW_UNLESS_SHARED;
	if (tasks->no_follow)
		search->follow = FOLLOW_NEVER;
	else if (tasks->follow || tasks->command) /* children of the command are part of the run */
		search->follow = FOLLOW_ALWAYS;
	probe_list_init(&search->list);
	search->worker = worker_new(error);
	err = search->worker ? find_targets(search, tasks, error) : error->code;
	if (err)
		return err;
	for (i = 0; i < search->list.nr_notes && !search->is_quiet; i++)
		complain("%s", search->list.notes[i]);
	return 0;
}

int probe_search_find(struct probe_search *search, const struct probe_options *options,
		      const struct run_config *tasks, struct error *error)
{
	int err = options->list ? 0 : privileges_check(error);

	if (!err)
		err = probe_search_list(search, options, tasks, error);
	if (err)
		return err;
	if (options->list) {
		err = options->list_format ? write_list(&search->list, options->list_format, error)
					   : print_list(&search->list, error);
		return err ? err : 1;
	}
	probe_features_find(&search->features, options->without);
	return check_any_hook(search, error);
}

/*
 * No default budget if tasks were named: their hits are wanted. System-wide hits may be too many.
 */
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
	int err;

	if (search->options->budget > 0 && !may_cut)
		return error_set(
			error, -EINVAL,
			"--budget cannot be used where calls are paired with returns: detaching "
			"one of the two probes would make wrong pairs");
	err = probe_reach_find(&reach, search->worker, &search->list, &search->features, tasks,
			       search->follow, error);
	if (err < 0)
		return err;
	*ret_link_pid = reach.link_pid;
	*ret_share = choose_budget(search->options, tasks, may_cut);
	if (!search->is_quiet)
		print_notes_before(&search->list, &reach, *ret_share,
				   search->options->budget == BUDGET_UNSET, search->thins);
	return 0;
}

void probe_search_attached(struct probe_search *search)
{
	worker_free(search->worker);
	search->worker = NULL;
}

void probe_search_clear(struct probe_search *search)
{
	worker_free(search->worker);
	probe_list_clear(&search->list);
}
