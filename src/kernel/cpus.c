/* Reads the kernel's lists of CPUs from sysfs. */
#include "kernel/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

#define MAX_CPUS 65536

int cpus_parse(struct cpus *cpus, const char *text)
{
	struct cpus read = {0};
	int err = number_parse_list(text, true, MAX_CPUS - 1, MAX_CPUS, &read.numbers, &read.nr);

	if (err < 0)
		return err;
	read.end = read.numbers[read.nr - 1] + 1;
	*cpus = read;
	return 0;
}

int cpus_read(struct cpus *cpus, const char *which, struct error *error)
{
	cleanup_file FILE *file = NULL;
	char path[64], text[4096] = "";

	(void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", which);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		return error_set_errno(error, "cannot read which CPUs are %s", which);
	text[strcspn(text, "\n")] = '\0';
	if (cpus_parse(cpus, text) < 0)
		return error_set(error, -EIO, "cannot parse which CPUs are %s: '%s'", which, text);
	return 0;
}

int cpus_check(const struct cpus *online, const uint32_t *numbers, size_t nr, struct error *error)
{
	size_t i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < online->nr && online->numbers[k] != numbers[i]; k++)
			;
		if (k == online->nr)
			return error_set(error, -ENODEV, "no such CPU, or not online: %u",
					 numbers[i]);
	}
	return 0;
}

static uint64_t read_number(uint32_t cpu, const char *what)
{
	cleanup_file FILE *file = NULL;
	char path[80], text[24] = "";
	uint64_t number;

	(void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, what);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return number_parse(text, INT32_MAX, &number) < 0 ? 0 : number;
}

void cpu_place_read(uint32_t cpu, struct cpu_place *ret)
{
	ret->socket = read_number(cpu, "physical_package_id");
	ret->die = read_number(cpu, "die_id");
	ret->core = read_number(cpu, "core_id");
}

void cpus_clear(struct cpus *cpus)
{
	free(cpus->numbers);
	*cpus = (struct cpus){0};
}
