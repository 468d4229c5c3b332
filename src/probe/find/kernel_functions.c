/*
 * A line of kallsyms is `ADDRESS TYPE NAME`, and for modules a tab and `[MODULE]`. Names stay where
 * they were read. What no call reaches is no function here: the padding before functions
 * (`__pfx_…`), BPF programs, and ftrace's trampolines.
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

#define KEY_BYTES 512 /* of a function's and its module's name */

static int out_of_memory(struct error *error)
{
	return error_set(error, -ENOMEM, "out of memory for kernel functions");
}

/* --- reading --------------------------------------------------------------------------------- */

/* Cuts the next line off; NULL at the end. */
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

/* Bounds of code, which stand where functions do. */
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

static bool is_no_module(const char *module)
{
	return !strcmp(module, "bpf") || text_starts_with(module, "__builtin__");
}

/* Where the code lies that is thrown away when the kernel has started. */
static void note_mark(struct kernel_functions *kernel, const struct kernel_function *function)
{
	if (!strcmp(function->name, "_sinittext"))
		kernel->init_start = function->address;
	else if (!strcmp(function->name, "_einittext"))
		kernel->init_end = function->address;
}

/* False if the line is of no function. */
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
	return nr && at[0] != '$' && !text_starts_with(at, "__pfx_") && !is_no_module(module);
}

static int compare_functions(const void *left, const void *right)
{
	const struct kernel_function *a = left, *b = right;
	int order;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->module, b->module);
}

/* The kernel's own come in order but for equal addresses, so that few are moved. */
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
		note_mark(kernel, &function);
		if (is_bound(function.name))
			continue;
		if (array_reserve(&kernel->functions, &kernel->capacity, kernel->nr + 1,
				  sizeof(*kernel->functions)) < 0)
			return out_of_memory(error);
		kernel->functions[kernel->nr++] = function;
	}
	if (!kernel->nr)
		return error_set(error, -ENODATA, "/proc/kallsyms lists no functions");
	sort_functions(kernel);
	if (available && parse_available(kernel, available) < 0)
		return out_of_memory(error);
	return 0;
}

int kernel_functions_read(struct kernel_functions *kernel, int tracefs_fd, struct error *error)
{
	cleanup_file FILE *file = fopen("/proc/kallsyms", "re");
	cleanup_free char *available = NULL;
	char *kallsyms = NULL;
	size_t capacity = 0;

	/* All of it: there is no NUL in it. */
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

/* --- asking ---------------------------------------------------------------------------------- */

bool kernel_function_is_listed(const struct kernel_functions *kernel, uint32_t number)
{
	const struct kernel_function *function = &kernel->functions[number];
	char key[KEY_BYTES];

	if (!kernel->nr_traceable)
		return true; /* for all that is known */
	(void)snprintf(key, sizeof(key), function->module[0] ? "%s [%s]" : "%s", function->name,
		       function->module);
	/* What is new in the strings was not among the traceable ones. */
	return strings_add(kernel->traceable, key) < (int64_t)kernel->nr_traceable;
}

/* The list has one name for each place, and it is not said which. */
bool kernel_function_is_traceable(const struct kernel_functions *kernel, uint32_t number)
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

int64_t kernel_function_at(const struct kernel_functions *kernel, uint64_t address)
{
	size_t low = 0, high = kernel->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kernel->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !kernel->functions[low - 1].address)
		return -ENOENT;
	for (low--; low && kernel->functions[low - 1].address == kernel->functions[low].address;)
		low--;
	return (int64_t)low;
}

uint64_t kernel_function_bytes(const struct kernel_functions *kernel, uint32_t number)
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
