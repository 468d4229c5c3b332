/*
 * Three steps: all patterns select names, and the selection is stored with its source (a file, the
 * kernel, the tracepoints); then places are counted, without excluded ones; and only if there are
 * not too many, they become probes, with their names joined and demangled.
 */
#include "probe/find/find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/closest.h"
#include "base/text.h"
#include "probe/find/kernel_functions.h"
#include "probe/find/pattern.h"
#include "probe/find/probe_names.h"
#include "probe/find/program.h"
#include "probe/find/searched_file.h"
#include "probe/find/tracepoints.h"
#include "proc/tracefs.h"

struct finder {
	const struct target_options *options;
	struct probe_list *list;
	struct error *error;
	struct pattern *patterns;
	bool *has_matched; /* by pattern */
	size_t nr_patterns;
	struct refusals refusals;
	struct searched_files files;
	bool has_kernel, has_tracepoints; /* kernel, tracepoints are filled */
	struct kernel_functions kernel;
	struct tracepoints tracepoints;
	int tracefs_fd; /* below 0: not opened, or not available */
};

/* --- explaining why nothing matches a pattern ------------------------------------------------- */

#define C_LIBRARY "c"

static void offer(const struct probes_answer *answer, struct closest *closest)
{
	size_t i;

	for (i = 0; i < answer->head.nr_closest; i++)
		closest_offer(closest, probes_answer_text(answer, answer->head.closest[i]));
}

/* True for libraries whose code moved to libc in glibc 2.34. */
static bool is_emptied_library(const char *path)
{
	static const char *const names[] = {"libpthread.so", "libdl.so", "librt.so", "libutil.so",
					    "libanl.so"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (text_starts_with(text_file_name(path), names[i]))
			return true;
	return false;
}

/* True if the C library has a function that matches. */
static bool is_in_c_library(struct finder *finder, const struct pattern *pattern)
{
	const struct target_options *options = finder->options;
	struct probes_answer answer;
	struct program program = {0};
	struct searched_file *file;
	bool is_there = false;

	if (!pattern->name || matcher_is_any(pattern->name) ||
	    program_find(options->worker, C_LIBRARY, options->pids, options->nr_pids, &program,
			 NULL) < 0)
		return false;
	if (searched_files_add(&finder->files, &program.files[0], &file, NULL) == 0 &&
	    searched_file_explain(&finder->files, file, pattern, false, &answer) == 0) {
		is_there = answer.head.nr_matches > 0;
		probes_answer_clear(&answer);
	}
	program_clear(&program);
	return is_there;
}

/*
 * Returns the first file that a pattern refers to, or NULL. *ret_second: a library with the same
 * name as that program, or NULL.
 */
static struct searched_file *file_of(struct finder *finder, const struct pattern *pattern,
				     struct searched_file **ret_second)
{
	const struct target_options *options = finder->options;
	struct program program = {0};
	struct searched_file *file = NULL;
	size_t i;

	*ret_second = NULL;
	if (program_find(options->worker, pattern->program, options->pids, options->nr_pids,
			 &program, NULL) < 0)
		return NULL;
	if (searched_files_add(&finder->files, &program.files[0], &file, NULL) < 0)
		file = NULL;
	for (i = 1; i < program.nr && file && !*ret_second; i++)
		if (program.files[i].is_second &&
		    searched_files_add(&finder->files, &program.files[i], ret_second, NULL) < 0)
			*ret_second = NULL;
	program_clear(&program);
	return file;
}

/* Adds to the hint that a file is stripped. */
static void hint_names(uint64_t nr_functions, bool is_hinted, struct error *error)
{
	char before[sizeof(error->hint) + 8];

	if (!error)
		return;
	(void)snprintf(before, sizeof(before), "%s%s", is_hinted ? error->hint : "",
		       is_hinted ? " note: " : "");
	error_hint(error,
		   "%sthe file is stripped: only %" PRIu64 " exported functions have names; "
		   "install its debug symbols (a package), or use --debug-dir",
		   before, nr_functions);
}

/* second: NULL if there is only one file. */
static void hint_functions(struct finder *finder, const struct pattern *pattern,
			   struct searched_file *file, struct searched_file *second,
			   struct error *error)
{
	struct probes_answer answer, more;
	struct closest closest;
	bool is_hinted;

	if (is_emptied_library(file->from.path) && is_in_c_library(finder, pattern)) {
		error_hint(error, "since glibc 2.34 this function is in libc: %s:%s", C_LIBRARY,
			   pattern->name_text);
		return;
	}
	if (searched_file_explain(&finder->files, file, pattern, false, &answer) < 0)
		return;
	closest_init(&closest, pattern->name_text);
	offer(&answer, &closest);
	if (second && searched_file_explain(&finder->files, second, pattern, false, &more) == 0) {
		offer(&more, &closest);
		probes_answer_clear(&more);
	}
	is_hinted = closest_hint(&closest, error);
	closest_clear(&closest);
	if (!answer.head.has_all_names)
		hint_names(answer.head.nr_known, is_hinted, error);
	else if (!is_hinted && matcher_only_name(pattern->name))
		error_hint(error,
			   "a function that was inlined everywhere has no code of its own to "
			   "probe");
	probes_answer_clear(&answer);
}

static void explain_user(struct finder *finder, const struct pattern *pattern, struct error *error)
{
	struct searched_file *second, *file = file_of(finder, pattern, &second);

	if (!file)
		return;
	if (second && pattern->name && matcher_is_any(pattern->name))
		(void)error_set(error, -ENOENT,
				"no function in '%s' matches '%s' (for the library %s use 'lib%s')",
				file->from.path, pattern->text, second->from.path,
				pattern->program);
	else
		(void)error_set(error, -ENOENT, "no function in '%s'%s%s%s matches '%s'",
				file->from.path, second ? " or '" : "",
				second ? second->from.path : "", second ? "'" : "", pattern->text);
	if (pattern->name)
		hint_functions(finder, pattern, file, second, error);
}

static void explain_usdt(struct finder *finder, const struct pattern *pattern, struct error *error)
{
	struct searched_file *second, *file = file_of(finder, pattern, &second);
	struct probes_answer answer;
	struct closest closest;

	if (!file || searched_file_explain(&finder->files, file, pattern, true, &answer) < 0)
		return;
	(void)error_set(error, -ENOENT, "no static probe (USDT) in '%s' matches '%s'",
			file->from.path, pattern->text);
	closest_init(&closest, pattern->name_text);
	offer(&answer, &closest);
	if (!answer.head.nr_known)
		error_hint(error, "the file has no static probes (USDT)");
	else if (!closest_hint(&closest, error))
		error_hint(error, "it has %" PRIu64 " static probes, such as '%s'",
			   answer.head.nr_known, probes_answer_text(&answer, answer.head.example));
	closest_clear(&closest);
	probes_answer_clear(&answer);
}

static void explain_kernel(struct finder *finder, const struct pattern *pattern,
			   struct error *error)
{
	struct closest closest;

	if (!pattern->name) {
		(void)error_set(error, -ENOENT, "no kernel function is known at '%s'",
				pattern->text);
		error_hint(error,
			   "for an address in a program use PROGRAM:ADDRESS; kernel addresses are "
			   "visible only to root, and not if kernel.kptr_restrict is 2");
		return;
	}
	(void)error_set(error, -ENOENT, "no kernel function matches '%s'", pattern->text);
	if (is_in_c_library(finder, pattern)) {
		error_hint(error, "found in the C library: %s:%s", C_LIBRARY, pattern->name_text);
		return;
	}
	closest_init(&closest, pattern->name_text);
	kernel_functions_offer(&finder->kernel, &closest);
	if (!closest_hint(&closest, error))
		error_hint(error, "for a function of a program or library use PROGRAM:NAME");
	closest_clear(&closest);
}

static void explain_tracepoint(struct finder *finder, const struct pattern *pattern,
			       struct error *error)
{
	struct closest closest;

	(void)error_set(error, -ENOENT, "no tracepoint matches '%s'", pattern->text);
	if (pattern->category &&
	    !tracepoints_have_category(&finder->tracepoints, pattern->category)) {
		error_hint(error, "no such tracepoint category; for functions use PROGRAM:NAME "
				  "with 'stook stackcount', 'funccount' or 'tally'");
		return;
	}
	closest_init(&closest, pattern->name_text);
	tracepoints_offer(&finder->tracepoints, &closest);
	(void)closest_hint(&closest, error);
	closest_clear(&closest);
}

static void (*const explainers[])(struct finder *finder, const struct pattern *pattern,
				  struct error *error) = {
	[PATTERN_USER] = explain_user,
	[PATTERN_USDT] = explain_usdt,
	[PATTERN_KERNEL] = explain_kernel,
	[PATTERN_TRACEPOINT] = explain_tracepoint,
};

/* Fills *error, with similar names or what would help as hint. Returns -ENOENT. */
static int find_explain(struct finder *finder, const struct pattern *pattern, struct error *error)
{
	(void)error_set(error, -ENOENT, "nothing matches '%s'", pattern->text);
	explainers[pattern->kind](finder, pattern, error);
	return -ENOENT;
}

/* --- patterns ------------------------------------------------------------------------------- */

static int parse_patterns(struct finder *finder)
{
	const struct target_options *options = finder->options;
	size_t i;
	int err;

	finder->patterns = calloc(options->nr_patterns + 1, sizeof(*finder->patterns));
	finder->has_matched = calloc(options->nr_patterns + 1, sizeof(*finder->has_matched));
	if (!finder->patterns || !finder->has_matched)
		return error_no_memory(finder->error, "for probes");
	for (i = 0; i < options->nr_patterns; i++) {
		err = pattern_parse(options->patterns[i], options->is_regex, &finder->patterns[i],
				    finder->error);
		if (err < 0)
			return err;
		finder->nr_patterns++;
	}
	return 0;
}

static int read_tracepoints(struct finder *finder, struct error *error)
{
	int err = 0;

	if (finder->tracefs_fd < 0)
		finder->tracefs_fd = tracefs_open(error);
	if (finder->tracefs_fd < 0)
		return finder->tracefs_fd;
	if (!finder->has_tracepoints)
		err = tracepoints_read(&finder->tracepoints, finder->tracefs_fd, error);
	finder->has_tracepoints |= !err;
	return err;
}

/* Parses CATEGORY:EVENT as t:CATEGORY:EVENT. False if the pattern cannot be a tracepoint. */
static bool parse_as_tracepoint(struct finder *finder, const struct pattern *pattern,
				struct pattern *ret)
{
	const char *text = pattern->text + pattern->is_exclusion;
	cleanup_free char *other = NULL;

	if (pattern->kind != PATTERN_USER || pattern->is_return || pattern->has_offset ||
	    pattern->pid || !pattern->name || strchr(pattern->program, '/') ||
	    !text_starts_with(text, pattern->program)) /* has a prefix: p:PROGRAM, uprobe:PROGRAM */
		return false;
	other = text_printf("%st:%s", pattern->is_exclusion ? "!" : "", text);
	return other && pattern_parse(other, finder->options->is_regex, ret, NULL) == 0;
}

/*
 * Turns PROGRAM:NAME into a pattern for tracepoints if such a category exists; with must_fit, only
 * if such a tracepoint exists. False if the pattern is unchanged.
 */
static bool become_tracepoint(struct finder *finder, struct pattern *pattern, bool must_fit)
{
	struct pattern other;
	char *text;

	if (!parse_as_tracepoint(finder, pattern, &other))
		return false;
	if (read_tracepoints(finder, NULL) < 0 ||
	    !(must_fit ? tracepoints_have(&finder->tracepoints, &other)
		       : tracepoints_have_category(&finder->tracepoints, other.category))) {
		pattern_clear(&other);
		return false;
	}
	/* Messages keep the text that the user wrote. */
	text = other.text;
	other.text = pattern->text;
	pattern->text = text;
	pattern_clear(pattern);
	*pattern = other;
	return true;
}

/* Finds the files that exclusions refer to. */
static int prepare_exclusions(struct finder *finder)
{
	const struct target_options *options = finder->options;
	size_t i, k;
	int err = 0;

	for (i = 0; i < finder->nr_patterns && !err; i++) {
		struct pattern *pattern = &finder->patterns[i];
		struct program program = {0};

		if (!pattern->is_exclusion)
			continue;
		if (pattern->program) {
			err = program_find(options->worker, pattern->program, options->pids,
					   options->nr_pids, &program, finder->error);
			if (err == -ENOENT && become_tracepoint(finder, pattern, false))
				err = 0;
		}
		if (!err && !pattern->program &&
		    searched_files_leave_out(&finder->files, NULL, pattern) < 0)
			err = error_no_memory(finder->error, "for probes");
		for (k = 0; k < program.nr && !err; k++)
			if (searched_files_leave_out(&finder->files, &program.files[k], pattern) <
			    0)
				err = error_no_memory(finder->error, "for probes");
		program_clear(&program);
	}
	return err;
}

/* Adds the exclusions without a program, for kernel functions or tracepoints. */
static int take_exclusions(struct finder *finder, struct exclusions *exclusions)
{
	size_t i;

	for (i = 0; i < finder->nr_patterns; i++)
		if (finder->patterns[i].is_exclusion && !finder->patterns[i].program &&
		    exclusions_add(exclusions, &finder->patterns[i]) < 0)
			return error_no_memory(finder->error, "for probes");
	return 0;
}

/* --- choosing --------------------------------------------------------------------------------- */

static int note(struct finder *finder, char *text)
{
	int err = text ? probe_list_note(finder->list, text) : -ENOMEM;

	free(text);
	return err < 0 ? error_no_memory(finder->error, "for probes") : 0;
}

static int choose_in_file_of(struct finder *finder, struct program_file *from,
			     const struct pattern *pattern, struct searched_file **ret_file,
			     size_t *nr)
{
	size_t nr_here = 0;
	int err = searched_files_add(&finder->files, from, ret_file, finder->error);

	if (!err)
		err = searched_file_choose(&finder->files, *ret_file, pattern, &finder->refusals,
					   finder->list, &nr_here, finder->error);
	*nr += nr_here;
	return err;
}

/*
 * Searches a library with the same name as a program if the pattern matches nothing in the program.
 * For `*` only the program is searched: it has no match if it is stripped.
 */
static int choose_in_second(struct finder *finder, const struct searched_file *first,
			    struct program_file *from, const struct pattern *pattern, size_t *nr)
{
	struct searched_file *file;
	int err;

	if (*nr || (pattern->name && matcher_is_any(pattern->name)))
		return note(
			finder,
			text_printf("'%s' is interpreted as the program %s; use 'lib%s' for the "
				    "library %s",
				    pattern->program, first->from.path, pattern->program,
				    from->path));
	err = choose_in_file_of(finder, from, pattern, &file, nr);
	if (err || !*nr)
		return err;
	return note(finder,
		    text_printf("'%s' is interpreted as the library %s: nothing in %s matches '%s'",
				pattern->program, file->from.path, first->from.path,
				pattern->text));
}

/* Chooses functions or static probes of files. */
static int choose_in_files(struct finder *finder, const struct pattern *pattern, size_t *ret_nr)
{
	struct program program = {0};
	struct searched_file *file = NULL;
	size_t i;
	int err;

	err = program_find(finder->options->worker, pattern->program, finder->options->pids,
			   finder->options->nr_pids, &program, finder->error);
	for (i = 0; i < program.nr && !err && !program.files[i].is_second; i++)
		err = choose_in_file_of(finder, &program.files[i], pattern, &file, ret_nr);
	for (; i < program.nr && !err; i++)
		err = choose_in_second(finder, file, &program.files[i], pattern, ret_nr);
	program_clear(&program);
	return err;
}

static int choose_in_kernel(struct finder *finder, const struct pattern *pattern, size_t *ret_nr)
{
	int err;

	if (!finder->has_kernel) {
		if (finder->tracefs_fd < 0)
			finder->tracefs_fd = tracefs_open(NULL); /* not required */
		err = kernel_functions_read(&finder->kernel, finder->tracefs_fd, finder->error);
		if (!err)
			err = take_exclusions(finder, &finder->kernel.exclusions);
		if (err < 0)
			return err;
		finder->has_kernel = true;
	}
	return kernel_probes_choose(&finder->kernel, pattern, &finder->refusals, ret_nr,
				    finder->error);
}

static int choose_tracepoints(struct finder *finder, const struct pattern *pattern, size_t *ret_nr)
{
	int err = read_tracepoints(finder, finder->error);

	if (!err)
		err = take_exclusions(finder, &finder->tracepoints.exclusions);
	if (err < 0)
		return err;
	*ret_nr = tracepoints_choose(&finder->tracepoints, pattern);
	return 0;
}

static int (*const choosers[])(struct finder *finder, const struct pattern *pattern,
			       size_t *ret_nr) = {
	[PATTERN_USER] = choose_in_files,
	[PATTERN_USDT] = choose_in_files,
	[PATTERN_KERNEL] = choose_in_kernel,
	[PATTERN_TRACEPOINT] = choose_tracepoints,
};

/*
 * Tries a name with an offset that is no kernel function as a file with an address. Returns 0, or a
 * negative errno: err if there is no such file.
 */
static int choose_as_file(struct finder *finder, struct pattern *pattern, int err, size_t *ret_nr)
{
	const struct target_options *options = finder->options;
	struct program program = {0};

	if (program_find(options->worker, pattern->name_text, options->pids, options->nr_pids,
			 &program, NULL) < 0)
		return err;
	program_clear(&program);
	if (pattern_become_file(pattern) < 0)
		return error_no_memory(finder->error, "for probes");
	return choose_in_files(finder, pattern, ret_nr);
}

static int choose_as_tracepoints(struct finder *finder, const struct pattern *pattern,
				 const char *program, size_t *ret_nr)
{
	const char *text = pattern->text;
	int err = choose_tracepoints(finder, pattern, ret_nr);

	if (err < 0 || !*ret_nr)
		return err;
	return note(finder,
		    program ? text_printf("'%s' is interpreted as t:%s: nothing in program or "
					  "library '%s' matches",
					  text, text, program)
			    : text_printf("'%s' is interpreted as t:%s, %s", text, text,
					  *ret_nr == 1 ? "a tracepoint" : "tracepoints"));
}

/*
 * Tries PROGRAM:NAME that is no function as a tracepoint's CATEGORY:EVENT, as in perf. err: set if
 * there is no such program, which *finder->error then reports.
 */
static int choose_otherwise(struct finder *finder, struct pattern *pattern, int err, size_t *ret_nr)
{
	cleanup_free char *program = pattern->program ? strdup(pattern->program) : NULL;

	if (!program || !become_tracepoint(finder, pattern, !err))
		return err;
	*finder->error = (struct error){0};
	return choose_as_tracepoints(finder, pattern, err ? NULL : program, ret_nr);
}

static int choose_all(struct finder *finder)
{
	size_t i, nr, nr_inclusions = 0;
	int err;

	for (i = 0; i < finder->nr_patterns; i++) {
		struct pattern *pattern = &finder->patterns[i];

		if (pattern->is_exclusion)
			continue;
		nr_inclusions++;
		nr = 0;
		err = choosers[pattern->kind](finder, pattern, &nr);
		if (pattern->may_be_file && (err < 0 || !nr))
			err = choose_as_file(finder, pattern, err, &nr);
		if (err == -ENOENT || (!err && !nr))
			err = choose_otherwise(finder, pattern, err, &nr);
		if (err < 0)
			return err;
		finder->has_matched[i] = nr > 0;
	}
	if (!nr_inclusions)
		return error_set(
			finder->error, -EINVAL,
			"only exclusions are given: at least one pattern must select probes");
	return 0;
}

/* --- counting ------------------------------------------------------------------------------- */

static int nothing_to_probe(struct finder *finder)
{
	const struct probe_refusal *refusal = finder->list->refusals;
	size_t i;

	for (i = 0; i < finder->nr_patterns; i++)
		if (!finder->patterns[i].is_exclusion && !finder->has_matched[i])
			return find_explain(finder, &finder->patterns[i], finder->error);
	if (!finder->list->nr_refusals)
		return error_set(finder->error, -ENOENT,
				 "nothing left to probe: all matches are excluded");
	(void)error_set(finder->error, -EOPNOTSUPP, "nothing that matches can be probed");
	error_hint(finder->error, "%s: %s", refusal->name, refusal->why);
	return -EOPNOTSUPP;
}

/* Counts the places, without excluded ones, and compares with the limit. */
static int check_number(struct finder *finder)
{
	size_t max = finder->options->max_probes, nr = finder->list->nr_probes, i;

	for (i = 0; i < finder->files.nr; i++)
		nr += searched_file_settle(finder->files.files[i]);
	nr += kernel_probes_settle(&finder->kernel) + tracepoints_settle(&finder->tracepoints);
	if (!nr)
		return nothing_to_probe(finder);
	if (!max || nr <= max)
		return 0;
	(void)error_set(finder->error, -E2BIG, "%zu places match, more than the limit of %zu", nr,
			max);
	error_hint(finder->error, "use a narrower pattern, or raise the limit: --max-probes %zu",
		   nr);
	return -E2BIG;
}

/*
 * Adds patterns without a match to the refusals: if other patterns match, that is no reason to
 * stop.
 */
static int tell_refusals(struct finder *finder)
{
	struct error why;
	size_t i;

	for (i = 0; i < finder->nr_patterns; i++) {
		if (finder->patterns[i].is_exclusion || finder->has_matched[i])
			continue;
		(void)find_explain(finder, &finder->patterns[i], &why);
		if (probe_list_refuse(finder->list, finder->patterns[i].text, why.text) < 0)
			return error_no_memory(finder->error, "for probes");
	}
	return 0;
}

/* --- probes --------------------------------------------------------------------------------- */

static int add_all(struct finder *finder)
{
	size_t i;
	int err = 0;

	for (i = 0; i < finder->files.nr && !err; i++)
		if (finder->files.files[i]->nr_places)
			err = searched_file_add_probes(finder->files.files[i], finder->list,
						       finder->error);
	if (!err)
		err = kernel_probes_add(&finder->kernel, finder->list, finder->error);
	if (!err)
		err = tracepoints_add(&finder->tracepoints, finder->tracefs_fd, finder->list,
				      finder->error);
	if (!err && probe_names_order(finder->list) < 0)
		err = error_no_memory(finder->error, "for probes");
	return err;
}

static int find_all(struct finder *finder)
{
	int err = parse_patterns(finder);

	if (!err)
		err = prepare_exclusions(finder);
	if (!err)
		err = choose_all(finder);
	if (!err && refusals_list(&finder->refusals, finder->list) < 0)
		err = error_no_memory(finder->error, "for probes");
	if (!err)
		err = check_number(finder);
	if (!err)
		err = tell_refusals(finder);
	return err < 0 ? err : add_all(finder);
}

static void clear(struct finder *finder)
{
	size_t i;

	for (i = 0; i < finder->nr_patterns; i++)
		pattern_clear(&finder->patterns[i]);
	free(finder->patterns);
	free(finder->has_matched);
	refusals_clear(&finder->refusals);
	searched_files_clear(&finder->files);
	kernel_functions_clear(&finder->kernel);
	tracepoints_clear(&finder->tracepoints);
	if (finder->tracefs_fd >= 0)
		(void)close(finder->tracefs_fd);
}

int target_find(const struct target_options *options, struct probe_list *list, struct error *error)
{
	struct finder finder = {
		.options = options,
		.list = list,
		.error = error,
		.files = {.options = options, .search = clock_now_ns()},
		.tracefs_fd = -1,
	};
	int err = find_all(&finder);

	clear(&finder);
	return err;
}
