/*
 * Three steps: all patterns choose among names, and note it in what they chose from (a file, the
 * kernel, the tracepoints); then it is counted how many places that makes, without what is left out;
 * and only if these are not too many, they become probes, with their names joined and demangled.
 */
#include "probe/find/find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probe/find/find_order.h"
#include "probe/find/find_state.h"
#include "probe/find/kernel_probes.h"
#include "probe/find/program.h"
#include "probe/find/static_probes.h"
#include "probe/find/user_functions.h"
#include "probe/find/user_probes.h"
#include "proc/tracefs.h"

static int out_of_memory(struct error *error)
{
	return error_set(error, -ENOMEM, "out of memory for probes");
}

/* --- patterns -------------------------------------------------------------------------------- */

static int parse_patterns(struct finder *finder)
{
	const struct target_options *options = finder->options;
	size_t i;
	int err;

	finder->patterns = calloc(options->nr_patterns + 1, sizeof(*finder->patterns));
	finder->has_matched = calloc(options->nr_patterns + 1, sizeof(*finder->has_matched));
	if (!finder->patterns || !finder->has_matched)
		return out_of_memory(finder->error);
	for (i = 0; i < options->nr_patterns; i++) {
		err = pattern_parse(options->patterns[i], options->is_regex, &finder->patterns[i],
				    finder->error);
		if (err < 0)
			return err;
		finder->nr_patterns++;
	}
	return 0;
}

/* Looks up what a pattern that leaves out is about, if that is files. */
static int prepare_exclusion(struct finder *finder, const struct pattern *pattern)
{
	struct program program = {0};
	size_t i;
	int err;

	if (!pattern->program)
		return found_files_leave_out(&finder->files, NULL, pattern) < 0
			       ? out_of_memory(finder->error)
			       : 0;
	err = program_find(pattern->program, finder->options->pids, finder->options->nr_pids,
			   &program, finder->error);
	for (i = 0; i < program.nr && !err; i++)
		if (found_files_leave_out(&finder->files, &program.files[i], pattern) < 0)
			err = out_of_memory(finder->error);
	program_clear(&program);
	return err;
}

static int prepare_exclusions(struct finder *finder)
{
	size_t i;
	int err = 0;

	for (i = 0; i < finder->nr_patterns && !err; i++)
		if (finder->patterns[i].is_exclusion)
			err = prepare_exclusion(finder, &finder->patterns[i]);
	return err;
}

/* Of the kernel's functions, and its tracepoints. */
static int take_exclusions(struct finder *finder, struct exclusions *exclusions)
{
	size_t i;

	for (i = 0; i < finder->nr_patterns; i++)
		if (finder->patterns[i].is_exclusion && !finder->patterns[i].program &&
		    exclusions_add(exclusions, &finder->patterns[i]) < 0)
			return out_of_memory(finder->error);
	return 0;
}

/* --- choosing -------------------------------------------------------------------------------- */

static int choose_in_file(struct finder *finder, struct user_file *file,
			  const struct pattern *pattern, size_t *ret_nr)
{
	const struct target_options *options = finder->options;
	const struct debug_places places = {options->debug_folders, options->nr_debug_folders};
	int err;

	if (pattern->kind == PATTERN_USDT)
		return static_probes_add(file, pattern, finder->list, ret_nr, finder->error);
	err = user_file_read(file, &places, finder->error);
	if (err < 0)
		return err;
	return user_functions_choose(file, pattern, options->force_returns, &finder->refusals,
				     ret_nr, finder->error);
}

/* Functions and static probes of files. */
static int choose_in_files(struct finder *finder, const struct pattern *pattern, size_t *ret_nr)
{
	struct program program = {0};
	struct user_file *file;
	size_t i, nr;
	int err;

	err = program_find(pattern->program, finder->options->pids, finder->options->nr_pids,
			   &program, finder->error);
	for (i = 0; i < program.nr && !err; i++) {
		err = found_files_add(&finder->files, &program.files[i], &file, finder->error);
		if (err == 0)
			err = choose_in_file(finder, file, pattern, &nr);
		if (err == 0)
			*ret_nr += nr;
	}
	program_clear(&program);
	return err;
}

static int choose_in_kernel(struct finder *finder, const struct pattern *pattern, size_t *ret_nr)
{
	int err;

	if (!finder->has_kernel) {
		if (finder->tracefs_fd < 0)
			finder->tracefs_fd = tracefs_open(NULL); /* does without */
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
	int err;

	if (finder->tracefs_fd < 0)
		finder->tracefs_fd = tracefs_open(finder->error);
	if (finder->tracefs_fd < 0)
		return finder->tracefs_fd;
	if (!finder->has_tracepoints) {
		err = tracepoints_read(&finder->tracepoints, finder->tracefs_fd, finder->error);
		if (!err)
			err = take_exclusions(finder, &finder->tracepoints.exclusions);
		if (err < 0)
			return err;
		finder->has_tracepoints = true;
	}
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

static int choose_all(struct finder *finder)
{
	size_t i, nr, nr_inclusions = 0;
	int err;

	for (i = 0; i < finder->nr_patterns; i++) {
		const struct pattern *pattern = &finder->patterns[i];

		if (pattern->is_exclusion)
			continue;
		nr_inclusions++;
		nr = 0;
		err = choosers[pattern->kind](finder, pattern, &nr);
		if (err < 0)
			return err;
		finder->has_matched[i] = nr > 0;
	}
	if (!nr_inclusions)
		return error_set(finder->error, -EINVAL,
				 "no pattern says what to probe, only what not to");
	return 0;
}

/* --- counting -------------------------------------------------------------------------------- */

static size_t settle_all(struct finder *finder)
{
	size_t i, nr = finder->list->nr_probes;

	for (i = 0; i < finder->files.nr; i++)
		nr += user_probes_settle(finder->files.files[i]);
	return nr + kernel_probes_settle(&finder->kernel) +
	       tracepoints_settle(&finder->tracepoints);
}

/* The first pattern that nothing fits, or NULL. */
static const struct pattern *first_unmatched(const struct finder *finder)
{
	size_t i;

	for (i = 0; i < finder->nr_patterns; i++)
		if (!finder->patterns[i].is_exclusion && !finder->has_matched[i])
			return &finder->patterns[i];
	return NULL;
}

static int nothing_to_probe(struct finder *finder)
{
	const struct pattern *unmatched = first_unmatched(finder);
	const struct probe_refusal *refusal = finder->list->refusals;

	if (unmatched)
		return find_explain(finder, unmatched, finder->error);
	if (!finder->list->nr_refusals)
		return error_set(finder->error, -ENOENT,
				 "nothing is left to probe: all that fits is left out");
	(void)error_set(finder->error, -EOPNOTSUPP, "nothing that fits can be probed");
	error_hint(finder->error, "%s: %s", refusal->name, refusal->why);
	return -EOPNOTSUPP;
}

static int check_number(struct finder *finder, size_t nr)
{
	size_t max = finder->options->max_probes;

	if (!nr)
		return nothing_to_probe(finder);
	if (!max || nr <= max)
		return 0;
	(void)error_set(finder->error, -E2BIG, "%zu places fit, which is more than %zu", nr, max);
	error_hint(finder->error, "narrow the pattern, or allow them: --max-probes %zu", nr);
	return -E2BIG;
}

/* Where others fit, a pattern that nothing fits is no reason to stop, but it is told. */
static int tell_refusals(struct finder *finder)
{
	struct error why;
	size_t i;

	for (i = 0; i < finder->nr_patterns; i++) {
		if (finder->patterns[i].is_exclusion || finder->has_matched[i])
			continue;
		(void)find_explain(finder, &finder->patterns[i], &why);
		if (probe_list_refuse(finder->list, finder->patterns[i].text, why.text) < 0)
			return out_of_memory(finder->error);
	}
	return 0;
}

/* --- probes ---------------------------------------------------------------------------------- */

static int add_all(struct finder *finder)
{
	size_t i;
	int err = 0;

	for (i = 0; i < finder->files.nr && !err; i++)
		if (finder->files.files[i]->nr_choices)
			err = user_probes_add(finder->files.files[i], finder->list, finder->error);
	if (!err)
		err = kernel_probes_add(&finder->kernel, finder->list, finder->error);
	if (!err)
		err = tracepoints_add(&finder->tracepoints, finder->tracefs_fd, finder->list,
				      finder->error);
	if (!err && find_order(finder->list) < 0)
		err = out_of_memory(finder->error);
	return err;
}

static int find_all(struct finder *finder)
{
	int err = parse_patterns(finder);

	if (!err)
		err = prepare_exclusions(finder);
	if (!err)
		err = choose_all(finder);
	if (!err && refusals_tell(&finder->refusals, finder->list) < 0)
		err = out_of_memory(finder->error);
	if (!err)
		err = check_number(finder, settle_all(finder));
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
	found_files_clear(&finder->files);
	kernel_functions_clear(&finder->kernel);
	tracepoints_clear(&finder->tracepoints);
	if (finder->tracefs_fd >= 0)
		(void)close(finder->tracefs_fd);
}

int target_find(const struct target_options *options, struct probe_list *list, struct error *error)
{
	struct finder finder = {.options = options, .list = list, .error = error, .tracefs_fd = -1};
	int err = find_all(&finder);

	clear(&finder);
	return err;
}
