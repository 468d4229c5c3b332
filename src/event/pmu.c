/*
 * Reads a tree of PMUs: devices/NAME/{type,cpumask,cpus,format/TERM,events/EVENT}.
 *
 * Everything is a file of one line, at most a page. What can't be read is left out, like a file that the kernel does
 * not have: PMUs differ in what they describe, and drivers come and go.
 */
#include "event/pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/text.h"

/* Beyond these, PMUs, formats and aliases are left out. The kernel's largest PMUs have some hundred events. */
#define PMUS_MAX    4096
#define ENTRIES_MAX 4096
#define FILE_BYTES  4096 /* the kernel writes at most a page */

static void clean_directory(DIR **directory)
{
	if (*directory)
		(void)closedir(*directory);
}

#define cleanup_directory cleanup(clean_directory)

/* --- one PMU ----------------------------------------------------------------------------------- */

int pmu_format_parse(const char *text, struct pmu_format *ret)
{
	static const char *const fields[PMU_FIELDS] = {
		"config:", "config1:", "config2:", "config3:"};
	struct pmu_format format = *ret;
	const char *at = NULL;

	for (format.field = 0; format.field < PMU_FIELDS; format.field++) {
		at = fields[format.field];
		if (text_starts_with(text, at))
			break;
	}
	if (format.field == PMU_FIELDS)
		return -EINVAL;
	at = text + strlen(at);
	format.bits = 0;
	do {
		char *end;
		unsigned long first, last;

		if (!isdigit((unsigned char)*at))
			return -EINVAL;
		first = last = strtoul(at, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (last < first || last > 63)
			return -EINVAL;
		format.bits |= (UINT64_MAX >> (63 - (last - first))) << first;
		at = end;
	} while (*at == ',' && *++at);
	if (*at || at[-1] == ',')
		return -EINVAL;
	*ret = format;
	return 0;
}

uint64_t pmu_format_max(const struct pmu_format *format)
{
	const int nr_bits = __builtin_popcountll(format->bits);

	return nr_bits ? UINT64_MAX >> (64 - nr_bits) : 0;
}

int pmu_format_set(const struct pmu_format *format, uint64_t value, uint64_t *field)
{
	uint64_t bits = format->bits;

	if (value > pmu_format_max(format))
		return -ERANGE;
	*field &= ~bits;
	for (; bits; bits &= bits - 1, value >>= 1)
		if (value & 1)
			*field |= bits & -bits;
	return 0;
}

/* Returns the file without white space at its end, or NULL. */
static const char *read_line(int fd, const char *name, char buffer[FILE_BYTES])
{
	cleanup_fd int file = openat(fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t nr = file < 0 ? -1 : fd_read_up_to(file, 0, buffer, FILE_BYTES - 1);

	if (nr < 0)
		return NULL;
	while (nr && isspace((unsigned char)buffer[nr - 1]))
		nr--;
	buffer[nr] = '\0';
	return buffer;
}

static int add_format(struct pmu *pmu, int fd, const char *name)
{
	struct pmu_format format = {0};
	char buffer[FILE_BYTES];
	const char *text = read_line(fd, name, buffer);

	if (!text)
		return 0;
	if (pmu_format_parse(text, &format) < 0)
		format.field = PMU_FIELDS;
	format.name = strdup(name);
	if (format.name && ARRAY_ADD(pmu->formats, pmu->nr_formats, pmu->cap_formats, format) == 0)
		return 0;
	free(format.name);
	return -ENOMEM;
}

static void clear_alias(struct pmu_alias *alias)
{
	free(alias->name);
	free(alias->terms);
	free(alias->unit);
}

static int add_alias(struct pmu *pmu, int fd, const char *name)
{
	static const char *const properties[] = {".unit", ".scale", ".per-pkg", ".snapshot"};
	struct pmu_alias alias = {.scale = 1};
	char buffer[FILE_BYTES], path[NAME_MAX + sizeof(".scale")], *end;
	const char *text;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(properties); i++)
		if (text_ends_with(name, strlen(name), properties[i]))
			return 0;
	text = read_line(fd, name, buffer);
	if (!text)
		return 0;
	alias.name = strdup(name);
	alias.terms = strdup(text);
	(void)snprintf(path, sizeof(path), "%s.unit", name);
	text = read_line(fd, path, buffer);
	alias.unit = strdup(text ? text : "");
	(void)snprintf(path, sizeof(path), "%s.scale", name);
	text = read_line(fd, path, buffer);
	if (text)
		alias.scale = strtod(text, &end);
	if (text && (end == text || *end))
		alias.scale = 1;
	if (alias.name && alias.terms && alias.unit &&
	    ARRAY_ADD(pmu->aliases, pmu->nr_aliases, pmu->cap_aliases, alias) == 0)
		return 0;
	clear_alias(&alias);
	return -ENOMEM;
}

/* Calls add() for each file of a directory. 0 or -ENOMEM. */
static int add_files(struct pmu *pmu, int pmu_fd, const char *name,
		     int (*add)(struct pmu *pmu, int fd, const char *name))
{
	int fd = openat(pmu_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_directory DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t nr = 0;
	int err = 0;

	if (!directory) {
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	while (!err && nr++ < ENTRIES_MAX && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			err = add(pmu, fd, entry->d_name);
	return err;
}

static int compare_formats(const void *a, const void *b)
{
	return strcmp(((const struct pmu_format *)a)->name, ((const struct pmu_format *)b)->name);
}

static int compare_aliases(const void *a, const void *b)
{
	return strcmp(((const struct pmu_alias *)a)->name, ((const struct pmu_alias *)b)->name);
}

/* Everything but name and type. */
static void clear_contents(struct pmu *pmu)
{
	size_t i;

	for (i = 0; i < pmu->nr_formats; i++)
		free(pmu->formats[i].name);
	for (i = 0; i < pmu->nr_aliases; i++)
		clear_alias(&pmu->aliases[i]);
	free(pmu->formats);
	free(pmu->aliases);
	free(pmu->cpus);
	*pmu = (struct pmu){.name = pmu->name, .type = pmu->type};
}

int pmu_read(const struct pmus *pmus, struct pmu *pmu, struct error *error)
{
	cleanup_free char *path = NULL;
	cleanup_fd int fd = -1;
	char buffer[FILE_BYTES];
	const char *cpus;
	int err = 0;

	if (pmu->is_read)
		return 0;
	path = text_printf("%s/%s", pmus->root, pmu->name);
	if (!path)
		return error_no_memory(error, "");
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		cpus = read_line(fd, "cpus", buffer);
		/* On hosts with different kinds of cores each kind has a PMU and a list of its CPUs. */
		pmu->is_core = cpus || !strcmp(pmu->name, "cpu");
		cpus = cpus ? cpus : read_line(fd, "cpumask", buffer);
		pmu->cpus = strdup(cpus ? cpus : "");
		err = pmu->cpus ? add_files(pmu, fd, "format", add_format) : -ENOMEM;
		if (!err)
			err = add_files(pmu, fd, "events", add_alias);
	} else {
		pmu->cpus = strdup("");
	}
	if (err || !pmu->cpus) {
		clear_contents(pmu);
		return error_no_memory(error, "");
	}
	if (pmu->nr_formats)
		qsort(pmu->formats, pmu->nr_formats, sizeof(*pmu->formats), compare_formats);
	if (pmu->nr_aliases)
		qsort(pmu->aliases, pmu->nr_aliases, sizeof(*pmu->aliases), compare_aliases);
	pmu->is_read = true;
	return 0;
}

const struct pmu_format *pmu_find_format(const struct pmu *pmu, const char *name)
{
	size_t i;

	for (i = 0; i < pmu->nr_formats; i++)
		if (!strcmp(pmu->formats[i].name, name))
			return &pmu->formats[i];
	return NULL;
}

const struct pmu_alias *pmu_find_alias(const struct pmu *pmu, const char *name)
{
	size_t i;

	for (i = 0; i < pmu->nr_aliases; i++)
		if (!strcasecmp(pmu->aliases[i].name, name))
			return &pmu->aliases[i];
	return NULL;
}

#define UNCORE "uncore_"

bool pmu_is_meant(const struct pmu *pmu, const char *text)
{
	const char *name = pmu->name, *rest;

	if (!strcmp(name, text))
		return true;
	if (text_starts_with(name, UNCORE) && !text_starts_with(text, UNCORE))
		name += strlen(UNCORE);
	if (strpbrk(text, "*?["))
		return !fnmatch(text, name, 0) || !fnmatch(text, pmu->name, 0);
	if (!text_starts_with(name, text))
		return false;
	rest = name + strlen(text);
	/* imc_1 does not mean imc_10. */
	if (*rest == '_')
		rest++;
	else if (*text && isdigit((unsigned char)rest[-1]))
		return !*rest;
	return !rest[strspn(rest, "0123456789")];
}

/* --- the tree ---------------------------------------------------------------------------------- */

static int compare_pmus(const void *a, const void *b)
{
	return strverscmp(((const struct pmu *)a)->name, ((const struct pmu *)b)->name);
}

static int add_pmu(struct pmus *pmus, int fd, const char *name)
{
	char path[NAME_MAX + sizeof("/type")], buffer[FILE_BYTES];
	struct pmu pmu = {0};
	const char *text;
	uint64_t type;

	(void)snprintf(path, sizeof(path), "%s/type", name);
	text = read_line(fd, path, buffer);
	if (!text || number_parse(text, UINT32_MAX, &type) < 0)
		return 0;
	pmu.type = (uint32_t)type;
	pmu.name = strdup(name);
	if (pmu.name && ARRAY_ADD(pmus->items, pmus->nr, pmus->cap, pmu) == 0)
		return 0;
	free(pmu.name);
	return -ENOMEM;
}

int pmus_open(struct pmus *ret, const char *root, struct error *error)
{
	cleanup_directory DIR *directory = opendir(root);
	const struct dirent *entry;
	int err = 0;

	*ret = (struct pmus){.root = strdup(root)};
	if (!ret->root)
		err = -ENOMEM;
	while (directory && !err && ret->nr < PMUS_MAX && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			err = add_pmu(ret, dirfd(directory), entry->d_name);
	if (err) {
		pmus_clear(ret);
		return error_no_memory(error, "");
	}
	if (ret->nr)
		qsort(ret->items, ret->nr, sizeof(*ret->items), compare_pmus);
	return 0;
}

void pmus_clear(struct pmus *pmus)
{
	size_t i;

	for (i = 0; i < pmus->nr; i++) {
		clear_contents(&pmus->items[i]);
		free(pmus->items[i].name);
	}
	free(pmus->items);
	free(pmus->root);
	*pmus = (struct pmus){0};
}
