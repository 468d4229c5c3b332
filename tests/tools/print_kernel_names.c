/*
 * Prints Stook's names of kernel addresses. Addresses are read from stdin in hexadecimal, one per
 * line. For each, one line is printed: the address, a tab, and the name without its module; `??` if
 * there is none.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/kernel_ask.h"

static uint64_t *addresses;
static char **names;
static size_t nr_addresses, cap_addresses;

static void fail(const char *what)
{
	fprintf(stderr, "print_kernel_names: %s\n", what);
	exit(1);
}

static void read_addresses(void)
{
	uint64_t address;

	while (scanf("%" SCNx64, &address) == 1) {
		if (array_reserve(&addresses, &cap_addresses, nr_addresses + 1,
				  sizeof(*addresses)) < 0)
			fail("out of memory");
		addresses[nr_addresses++] = address;
	}
	names = calloc(nr_addresses + 1, sizeof(*names));
	if (!names)
		fail("out of memory");
}

static int add(void *context, size_t i, const char *name, const char *module)
{
	(void)context;
	(void)module;
	names[i] = strdup(name);
	return names[i] ? 0 : -1;
}

int main(void)
{
	struct error error = {0};
	size_t i;

	read_addresses();
	if (kernel_ask(NULL, addresses, nr_addresses, add, NULL, &error) < 0)
		fail(error.text);
	for (i = 0; i < nr_addresses; i++)
		printf("%016" PRIx64 "\t%s\n", addresses[i], names[i] ? names[i] : "??");
	return 0;
}
