/*
 * A line of kallsyms is `ADDRESS TYPE NAME`; for modules a tab and `[MODULE]` follow. Names stay
 * where they were read. Symbols that are never called are skipped: padding before functions
 * (`__pfx_...`), BPF programs, and ftrace's trampolines.
 *
 * Some hooks give the kernel a function by name, and of several with one name it takes the first of kallsyms.
 *
 * As with user code, patterns record their choices, and choices of one place become one probe. If
 * addresses are hidden, a place is identified by name.
 */
#include "probe/find/kernel_functions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "proc/tracefs.h"

#define KEY_BYTES 512 /* for a function's and its module's name */

/* --- reading --------------------------------------------------------------------------------- */

/* Returns the next line, NUL-terminated; NULL at the end. */
static char *next_line(char **at)
{
	char *line = *at;

	if (!*line)
		return NULL;
	*at += strcspn(line, "\n");
	if (**at)
		*(*at)++ = '\0';
	return line;
}

/* True for symbols that mark bounds of code; their addresses coincide with functions. */
static bool is_bound(const char *name)
{
	static const char *const bounds[] = {"_text", "_stext", "_etext", "_sinittext",
					     "_einittext"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bounds); i++)
		if (!strcmp(name, bounds[i]))
			return true;
	return false;
}

/* Parses a line; false if it is not a function. */
static bool parse_line(char *line, struct kernel_function *ret)
{
	const char *module = "";
	char *at, *end;
	uint64_t address = strtoull(line, &at, 16);
	size_t nr;

	if (at == line || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
		return false;
	at += 3;
	nr = strcspn(at, " \t");
	if (at[nr]) {
		end = at + nr + strspn(at + nr, " \t");
		at[nr] = '\0';
		module = end + (*end == '[');
		end[strcspn(end, "]")] = '\0';
	}
	*ret = (struct kernel_function){address, at, module};
	return nr && at[0] != '$' && !text_starts_with(at, "__pfx_") &&
	       strcmp(module, "bpf") != 0 && !text_starts_with(module, "__builtin__");
}

static int compare_functions(const void *left, const void *right)
{
	const struct kernel_function *a = left, *b = right;

	return COMPARE(a->address, b->address)
		       ?: strcmp(a->name, b->name) ?: strcmp(a->module, b->module);
}

/*
 * Sorts the functions and removes duplicates. Only equal addresses and modules are out of order, so
 * few elements are moved.
 */
static void sort_functions(struct kernel_functions *kernel)
{
	size_t i, nr = 0;

	qsort(kernel->functions, kernel->nr, sizeof(*kernel->functions), compare_functions);
	for (i = 0; i < kernel->nr; i++)
		if (!nr || compare_functions(&kernel->functions[i], &kernel->functions[nr - 1]))
			kernel->functions[nr++] = kernel->functions[i];
	kernel->nr = nr;
}

static int parse_available(struct kernel_functions *kernel, char *available)
{
	char *line;

	kernel->traceable = strings_new();
	if (!kernel->traceable)
		return -ENOMEM;
	while ((line = next_line(&available)))
		if (strings_add(kernel->traceable, line) < 0)
			return -ENOMEM;
	kernel->nr_traceable = strings_nr(kernel->traceable);
	return 0;
}

int kernel_functions_parse(struct kernel_functions *kernel, char *kallsyms, char *available,
			   struct error *error)
{
	struct kernel_function function;
	char *at = kallsyms, *line;

	*kernel = (struct kernel_functions){.text = kallsyms};
	while ((line = next_line(&at))) {
		if (!parse_line(line, &function))
			continue;
		/* Code between these symbols is freed when the kernel has started. */
		if (!strcmp(function.name, "_sinittext"))
			kernel->init_start = function.address;
		else if (!strcmp(function.name, "_einittext"))
			kernel->init_end = function.address;
		if (is_bound(function.name))
			continue;
		if (ARRAY_ADD(kernel->functions, kernel->nr, kernel->capacity, function) < 0)
			return error_no_memory(error, "for kernel functions");
	}
	if (!kernel->nr)
		return error_set(error, -ENODATA, "/proc/kallsyms lists no functions");
	sort_functions(kernel);
	if (available && parse_available(kernel, available) < 0)
		return error_no_memory(error, "for kernel functions");
	return 0;
}

int kernel_functions_read(struct kernel_functions *kernel, int tracefs_fd, struct error *error)
{
	cleanup_file FILE *file = fopen("/proc/kallsyms", "re");
	cleanup_free char *available = NULL;
	char *kallsyms = NULL;
	size_t capacity = 0;

	/* Reads everything: the file contains no NUL. */
	if (!file || getdelim(&kallsyms, &capacity, '\0', file) < 0) {
		free(kallsyms);
		return error_set_errno(error, "cannot read /proc/kallsyms");
	}
	if (tracefs_fd >= 0)
		available = tracefs_read(tracefs_fd, "available_filter_functions", NULL);
	return kernel_functions_parse(kernel, kallsyms, available, error);
}

void kernel_functions_clear(struct kernel_functions *kernel)
{
	free(kernel->text);
	free(kernel->functions);
	strings_free(kernel->traceable);
	free(kernel->choices);
	exclusions_clear(&kernel->exclusions);
	*kernel = (struct kernel_functions){0};
}

/* --- lookups ---------------------------------------------------------------------------------- */

/* True if tracefs lists the function by this name, or the list is unknown. */
static bool kernel_function_is_listed(const struct kernel_functions *kernel, uint32_t number)
{
	const struct kernel_function *function = &kernel->functions[number];
	char key[KEY_BYTES];

	if (!kernel->nr_traceable)
		return true; /* assume so */
	(void)snprintf(key, sizeof(key), function->module[0] ? "%s [%s]" : "%s", function->name,
		       function->module);
	/* A key that is new to the string table was not in the list of traceable functions. */
	return strings_add(kernel->traceable, key) < (int64_t)kernel->nr_traceable;
}

/* True if the function is listed by any name of its address; the list has one name per address. */
static bool kernel_function_is_traceable(const struct kernel_functions *kernel, uint32_t number)
{
	const struct kernel_function *functions = kernel->functions;
	uint64_t address = functions[number].address;
	size_t first = number, i;

	if (!address)
		return kernel_function_is_listed(kernel, number);
	while (first && functions[first - 1].address == address)
		first--;
	for (i = first; i < kernel->nr && functions[i].address == address; i++)
		if (kernel_function_is_listed(kernel, (uint32_t)i))
			return true;
	return false;
}

/*
 * Returns the index of the function that contains an address (the first of its names); or -ENOENT.
 */
static int64_t kernel_function_at(const struct kernel_functions *kernel, uint64_t address)
{
	size_t nr = ARRAY_NR_UP_TO(kernel->functions, kernel->nr, address, address);
	uint64_t start = nr ? kernel->functions[nr - 1].address : 0;

	return start ? (int64_t)ARRAY_NR_BELOW(kernel->functions, nr, address, start) : -ENOENT;
}

/* Returns the distance to the next function; UINT64_MAX if unknown. */
static uint64_t kernel_function_bytes(const struct kernel_functions *kernel, uint32_t number)
{
	uint64_t start = kernel->functions[number].address;
	size_t next = number;

	while (next < kernel->nr && kernel->functions[next].address == start)
		next++;
	return start && next < kernel->nr ? kernel->functions[next].address - start : UINT64_MAX;
}

void kernel_functions_offer(const struct kernel_functions *kernel, struct closest *closest)
{
	size_t i;

	for (i = 0; i < kernel->nr; i++)
		closest_offer(closest, kernel->functions[i].name);
}

#define CHOICES_MAX (8u << 20)
#define KERNEL_FILE "vmlinux" /* the file of functions outside modules */

/* --- choosing -------------------------------------------------------------------------------- */

static const char *why_not(const struct kernel_functions *kernel, uint32_t number,
			   const struct pattern *pattern)
{
	const struct kernel_function *function = &kernel->functions[number];

	if (kernel->init_end && function->address >= kernel->init_start &&
	    function->address < kernel->init_end)
		return "boot-time code (__init), freed after the boot";
	if (is_cold_part(function->name) && pattern->name && !matcher_only_name(pattern->name))
		return "part of a function that is jumped to, not called";
	/* ftrace matters only for the start of a function. */
	if (!pattern->offset && !kernel_function_is_traceable(kernel, number))
		return "the kernel forbids tracing it (notrace)";
	return NULL;
}

static bool is_left_out(const struct kernel_functions *kernel, const struct kernel_choice *choice)
{
	const struct kernel_function *function = &kernel->functions[choice->function];
	size_t i;

	for (i = 0; i < kernel->exclusions.nr; i++) {
		const struct pattern *pattern = kernel->exclusions.patterns[i];

		if (!exclusion_is_about(pattern, PATTERN_KERNEL, choice->is_return))
			continue;
		if (pattern->name ? matcher_matches(pattern->name, function->name)
				  : pattern->address == function->address + choice->offset)
			return true;
	}
	return false;
}

static int choose(struct kernel_functions *kernel, const struct pattern *pattern, uint32_t number,
		  uint64_t offset, struct refusals *refusals, struct error *error)
{
	const struct kernel_choice choice = {offset, number, pattern->is_return};
	const char *why = why_not(kernel, number, pattern);

	if (is_left_out(kernel, &choice))
		return 0;
	if (!why && offset >= kernel_function_bytes(kernel, number))
		why = "beyond the end of the function";
	if (why)
		return refusals_add(refusals, kernel->functions[number].name, why) < 0
			       ? error_no_memory(error, "for kernel functions")
			       : 0;
	if (kernel->nr_choices == CHOICES_MAX)
		return error_set(error, -E2BIG, "the patterns match more than %u kernel functions",
				 CHOICES_MAX);
	if (ARRAY_ADD(kernel->choices, kernel->nr_choices, kernel->cap_choices, choice) < 0)
		return error_no_memory(error, "for kernel functions");
	return 0;
}

static int choose_address(struct kernel_functions *kernel, const struct pattern *pattern,
			  struct refusals *refusals, size_t *ret_nr, struct error *error)
{
	int64_t number = kernel_function_at(kernel, pattern->address);

	if (number < 0) {
		*ret_nr = 0;
		return 0;
	}
	*ret_nr = 1;
	return choose(kernel, pattern, (uint32_t)number,
		      pattern->address - kernel->functions[number].address, refusals, error);
}

int kernel_probes_choose(struct kernel_functions *kernel, const struct pattern *pattern,
			 struct refusals *refusals, size_t *ret_nr, struct error *error)
{
	size_t i, nr = 0;
	int err = 0;

	if (!pattern->name)
		return choose_address(kernel, pattern, refusals, ret_nr, error);
	for (i = 0; i < kernel->nr && !err; i++) {
		if (!matcher_matches(pattern->name, kernel->functions[i].name))
			continue;
		err = choose(kernel, pattern, (uint32_t)i, pattern->offset, refusals, error);
		nr++;
	}
	*ret_nr = nr;
	return err;
}

/* --- sorting ---------------------------------------------------------------------------------- */

/*
 * Returns 0 if two choices are the same place. If addresses are hidden, only the name can be
 * compared.
 */
static int compare_places(const struct kernel_functions *kernel, const struct kernel_choice *a,
			  const struct kernel_choice *b)
{
	const struct kernel_function *f = &kernel->functions[a->function];
	const struct kernel_function *g = &kernel->functions[b->function];

	return COMPARE(f->address, g->address)
		       ?: (f->address ? 0 : COMPARE(a->function, b->function))
		       ?: COMPARE(a->offset, b->offset) ?: COMPARE(a->is_return, b->is_return);
}

static int compare_choices(const void *left, const void *right, void *context)
{
	const struct kernel_choice *a = left, *b = right;

	return compare_places(context, a, b) ?: COMPARE(a->function, b->function);
}

size_t kernel_probes_settle(struct kernel_functions *kernel)
{
	struct kernel_choice *choices = kernel->choices;
	size_t i, nr = 0, nr_places = 0;

	if (kernel->nr_choices)
		qsort_r(choices, kernel->nr_choices, sizeof(*choices), compare_choices, kernel);
	for (i = 0; i < kernel->nr_choices; i++) {
		if (nr && !compare_choices(&choices[i], &choices[nr - 1], kernel))
			continue;
		nr_places += !nr || compare_places(kernel, &choices[i], &choices[nr - 1]);
		choices[nr++] = choices[i];
	}
	kernel->nr_choices = nr;
	return nr_places;
}

/* --- probes ---------------------------------------------------------------------------------- */

/* The function that the kernel finds by a name: the first in kallsyms. */
struct first {
	const char *name;
	const struct kernel_function *function;
	bool has_twin; /* there is another one */
};

struct maker {
	const struct kernel_functions *kernel;
	struct first *firsts; /* of the names of choices, sorted */
	size_t nr_firsts;
	struct probe_list *list;
	struct joined_names joined;
	struct twins twins;
};

/* Returns the one of several names of a place that tracefs lists. */
static const struct kernel_function *choose_symbol(const struct kernel_functions *kernel,
						   const struct kernel_choice *choices, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (kernel_function_is_listed(kernel, choices[i].function))
			return &kernel->functions[choices[i].function];
	return &kernel->functions[choices[0].function];
}

static int compare_firsts(const void *left, const void *right)
{
	const struct first *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static struct first *find_first(const struct maker *maker, const char *name)
{
	struct first key = {.name = name};

	return bsearch(&key, maker->firsts, maker->nr_firsts, sizeof(key), compare_firsts);
}

static bool are_same(const struct kernel_function *a, const struct kernel_function *b)
{
	return a == b || (a->address && a->address == b->address);
}

static int find_firsts(struct maker *maker)
{
	const struct kernel_functions *kernel = maker->kernel;
	struct first *firsts = calloc(kernel->nr_choices + 1, sizeof(*firsts)), *first;
	size_t i, nr = 0;

	if (!firsts)
		return -ENOMEM;
	for (i = 0; i < kernel->nr_choices; i++)
		firsts[i].name = kernel->functions[kernel->choices[i].function].name;
	qsort(firsts, kernel->nr_choices, sizeof(*firsts), compare_firsts);
	for (i = 0; i < kernel->nr_choices; i++)
		if (!nr || compare_firsts(&firsts[i], &firsts[nr - 1]))
			firsts[nr++] = firsts[i];
	maker->firsts = firsts;
	maker->nr_firsts = nr;
	/* Functions are sorted by address; their names are where kallsyms has them. */
	for (i = 0; i < kernel->nr; i++) {
		const struct kernel_function *function = &kernel->functions[i];

		first = find_first(maker, function->name);
		if (!first)
			continue;
		if (!first->function)
			first->function = function;
		first->has_twin |= !are_same(first->function, function);
		if (function->name < first->function->name)
			first->function = function;
	}
	return 0;
}

static int add_probe(struct maker *maker, const struct kernel_choice *choices, size_t nr)
{
	const struct kernel_function *function = choose_symbol(maker->kernel, choices, nr);
	const struct first *first = find_first(maker, function->name);
	struct probe probe = {.kind = PROBE_KERNEL,
			      .is_return = choices[0].is_return,
			      .offset = choices[0].offset,
			      .address = function->address,
			      .symbol = function->name,
			      .has_twin = first && first->has_twin,
			      .is_shadowed = first && !are_same(first->function, function)};
	int64_t number;
	size_t i;

	for (i = 0; i < nr; i++)
		if (joined_names_add(&maker->joined,
				     maker->kernel->functions[choices[i].function].name,
				     probe.offset) < 0)
			return -ENOMEM;
	probe.name = joined_names_take(&maker->joined);
	number = probe_list_add(maker->list, &probe);
	if (number < 0)
		return (int)number;
	return twins_add(&maker->twins, (uint32_t)number, probe.address + probe.offset,
			 function->module[0] ? function->module : KERNEL_FILE);
}

int kernel_probes_add(const struct kernel_functions *kernel, struct probe_list *list,
		      struct error *error)
{
	struct maker maker = {.kernel = kernel, .list = list};
	const struct kernel_choice *choices = kernel->choices;
	size_t i, end;
	int err = find_firsts(&maker);

	for (i = 0; i < kernel->nr_choices && !err; i = end) {
		for (end = i + 1; end < kernel->nr_choices &&
				  !compare_places(kernel, &choices[i], &choices[end]);)
			end++;
		err = add_probe(&maker, &choices[i], end - i);
	}
	if (!err)
		err = twins_distinguish(&maker.twins, list, "");
	joined_names_clear(&maker.joined);
	twins_clear(&maker.twins);
	free(maker.firsts);
	return err < 0 ? error_no_memory(error, "for kernel functions") : 0;
}
