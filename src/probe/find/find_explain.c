/*
 * Nothing fits: what may have been meant, and what would help. Only who failed waits for this, so
 * that it may take time: other files are read.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "elf/image/usdt_notes.h"
#include "probe/find/closest.h"
#include "probe/find/find_state.h"

#define C_LIBRARY "c"

/* --- names that come near -------------------------------------------------------------------- */

static bool hint_closest(const struct closest *closest, struct error *error)
{
	const char *names[CLOSEST_NAMES];
	size_t nr = closest_names(closest, names);

	if (nr == 1)
		error_hint(error, "did you mean '%s'?", names[0]);
	else if (nr == 2)
		error_hint(error, "did you mean '%s' or '%s'?", names[0], names[1]);
	else if (nr > 2)
		error_hint(error, "did you mean '%s', '%s' or '%s'?", names[0], names[1], names[2]);
	return nr > 0;
}

static void offer_functions(struct user_file *file, struct closest *closest)
{
	const char *name, *shown;
	size_t i;

	for (i = 0; i < file->functions.nr; i++) {
		name = user_file_name(file, (uint32_t)i);
		shown = user_file_shown(file, (uint32_t)i);
		closest_offer(closest, shown);
		if (shown != name)
			closest_offer(closest, user_file_simple(file, (uint32_t)i));
	}
}

/* --- functions that are there, but elsewhere ------------------------------------------------- */

/* Since glibc 2.34 these have next to no code: what they had is in libc. */
static bool is_emptied_library(const char *path)
{
	static const char *const names[] = {"libpthread.so", "libdl.so", "librt.so", "libutil.so",
					    "libanl.so"};
	const char *slash = strrchr(path, '/');
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (text_starts_with(slash ? slash + 1 : path, names[i]))
			return true;
	return false;
}

/* Whether the C library has a function of that name. */
static bool is_in_c_library(struct finder *finder, const struct pattern *pattern)
{
	const struct target_options *options = finder->options;
	const struct debug_places places = {options->debug_folders, options->nr_debug_folders};
	struct program program = {0};
	struct user_file *file;
	bool is_there = false;
	size_t i;

	if (!pattern->name || matcher_is_any(pattern->name) ||
	    program_find(C_LIBRARY, options->pids, options->nr_pids, &program, NULL) < 0)
		return false;
	if (found_files_add(&finder->files, &program.files[0], &file, NULL) == 0 &&
	    user_file_read(file, &places, NULL) == 0)
		for (i = 0; i < file->functions.nr && !is_there; i++)
			is_there = matcher_fits(pattern->name, user_file_name(file, (uint32_t)i));
	program_clear(&program);
	return is_there;
}

/* --- by kind --------------------------------------------------------------------------------- */

/* The file that a pattern is about: of several the first. */
static struct user_file *file_of(struct finder *finder, const struct pattern *pattern)
{
	const struct target_options *options = finder->options;
	struct program program = {0};
	struct user_file *file = NULL;

	if (program_find(pattern->program, options->pids, options->nr_pids, &program, NULL) < 0)
		return NULL;
	if (found_files_add(&finder->files, &program.files[0], &file, NULL) < 0)
		file = NULL;
	program_clear(&program);
	return file;
}

/* For a file whose functions have no names. */
static void hint_names(const struct user_file *file, bool is_hinted, struct error *error)
{
	char before[sizeof(error->hint) + 8];

	if (!error)
		return;
	(void)snprintf(before, sizeof(before), "%s%s", is_hinted ? error->hint : "",
		       is_hinted ? " but " : "");
	error_hint(error,
		   "%sthe file is stripped: %zu of its functions have names, those that others may "
		   "call; its debug symbols would help (a package, or --debug-dir)",
		   before, file->functions.nr);
}

static void hint_functions(struct finder *finder, const struct pattern *pattern,
			   struct user_file *file, struct error *error)
{
	struct closest closest;
	bool is_hinted;

	if (is_emptied_library(file->from.path) && is_in_c_library(finder, pattern)) {
		error_hint(error, "since glibc 2.34 it is in libc: %s:%s", C_LIBRARY,
			   pattern->name_text);
		return;
	}
	closest_init(&closest, pattern->name_text);
	offer_functions(file, &closest);
	is_hinted = hint_closest(&closest, error);
	closest_clear(&closest);
	if (!file->has_all_names)
		hint_names(file, is_hinted, error);
	else if (!is_hinted && matcher_only_name(pattern->name))
		error_hint(error,
			   "a function whose calls were all inlined into other functions has no "
			   "code of its own to probe");
}

static void explain_user(struct finder *finder, const struct pattern *pattern, struct error *error)
{
	struct user_file *file = file_of(finder, pattern);

	if (!file)
		return;
	(void)error_set(error, -ENOENT, "no function in '%s' fits '%s'", file->from.path,
			pattern->text);
	if (pattern->name)
		hint_functions(finder, pattern, file, error);
}

static void explain_usdt(struct finder *finder, const struct pattern *pattern, struct error *error)
{
	struct user_file *file = file_of(finder, pattern);
	struct usdt_notes notes = {0};
	struct closest closest;
	size_t i;

	if (!file || usdt_notes_read(&notes, &file->image, NULL) < 0)
		return;
	(void)error_set(error, -ENOENT, "no static probe in '%s' fits '%s'", file->from.path,
			pattern->text);
	closest_init(&closest, pattern->name_text);
	for (i = 0; i < notes.nr; i++)
		closest_offer(&closest, notes.notes[i].name);
	if (!notes.nr)
		error_hint(error, "the file has no static probes at all");
	else if (!hint_closest(&closest, error))
		error_hint(error, "it has %zu others, '%s:%s' for one", notes.nr,
			   notes.notes[0].provider, notes.notes[0].name);
	closest_clear(&closest);
	usdt_notes_clear(&notes);
}

static void explain_kernel(struct finder *finder, const struct pattern *pattern,
			   struct error *error)
{
	struct closest closest;

	if (!pattern->name) {
		(void)error_set(error, -ENOENT, "no function of the kernel is known at '%s'",
				pattern->text);
		error_hint(error,
			   "PROGRAM:ADDRESS is one of a program; the kernel's are told only to "
			   "root, and not with kernel.kptr_restrict at 2");
		return;
	}
	(void)error_set(error, -ENOENT, "no function of the kernel fits '%s'", pattern->text);
	if (is_in_c_library(finder, pattern)) {
		error_hint(error, "there is one in the C library: %s:%s", C_LIBRARY,
			   pattern->name_text);
		return;
	}
	closest_init(&closest, pattern->name_text);
	kernel_functions_offer(&finder->kernel, &closest);
	if (!hint_closest(&closest, error))
		error_hint(error, "functions of a program or library are PROGRAM:NAME");
	closest_clear(&closest);
}

static void explain_tracepoint(struct finder *finder, const struct pattern *pattern,
			       struct error *error)
{
	struct closest closest;

	(void)error_set(error, -ENOENT, "no tracepoint fits '%s'", pattern->text);
	closest_init(&closest, pattern->name_text);
	tracepoints_offer(&finder->tracepoints, &closest);
	(void)hint_closest(&closest, error);
	closest_clear(&closest);
}

static void (*const explainers[])(struct finder *finder, const struct pattern *pattern,
				  struct error *error) = {
	[PATTERN_USER] = explain_user,
	[PATTERN_USDT] = explain_usdt,
	[PATTERN_KERNEL] = explain_kernel,
	[PATTERN_TRACEPOINT] = explain_tracepoint,
};

int find_explain(struct finder *finder, const struct pattern *pattern, struct error *error)
{
	(void)error_set(error, -ENOENT, "nothing fits '%s'", pattern->text);
	explainers[pattern->kind](finder, pattern, error);
	return -ENOENT;
}
