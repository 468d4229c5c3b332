/*
 * Names as a hostile file might have them, demangled in every style. The first byte chooses how the
 * name begins, the others are the rest of it.
 *
 *	make fuzz && tests/fuzz/seeds_demangle.sh FOLDER && build/fuzz/fuzz_demangle FOLDER
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "fuzz/fuzz.h"
#include "profile/simple_name.h"
#include "sym/demangle.h"

/* The limits of demangle.c and of its callers. */
#define READABLE_MAX_BYTES 16384
#define NAME_MAX_BYTES	   8191
#define CPU_MAX_MS	   50

static const char *const starts[] = {"",   "_Z",    "_ZN",	"_R",
				     "_D", "_D1fF", "_ZZ1fvEN", "_RINvC1a1f"};

static double cpu_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void check_mangled(const char *name)
{
	size_t i;

	for (i = 0; i < 6; i++) {
		struct demangle_style style = {(enum demangle_mode)(i / 2), i % 2};
		double start = cpu_ms();
		char *readable = demangle(name, &style);

		expect(cpu_ms() - start < CPU_MAX_MS);
		expect(!readable || (*readable && strlen(readable) < READABLE_MAX_BYTES));
		expect(!readable || style.mode != DEMANGLE_NO || style.fold_clones);
		free(readable);
	}
}

/* Simplifies text that no demangler would print; the result must not be longer than the name. */
static void check_readable(const char *name)
{
	static void (*const simplify[])(char *name) = {simple_name_cxx, simple_name_rust,
						       simple_name_d};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(simplify); i++) {
		char *simple = strdup(name);

		if (!simple)
			return;
		simplify[i](simple);
		expect(strlen(simple) <= strlen(name));
		free(simple);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	const char *start;
	size_t nr_start;
	char *name;

	if (!nr || nr > NAME_MAX_BYTES)
		return 0;
	start = starts[bytes[0] % ARRAY_SIZE(starts)];
	nr_start = strlen(start);
	name = malloc(nr_start + nr);
	if (!name)
		return 0;
	memcpy(name, start, nr_start);
	memcpy(name + nr_start, bytes + 1, nr - 1);
	name[nr_start + nr - 1] = '\0';
	expect(clone_suffix_find(name) <= strlen(name));
	check_mangled(name);
	check_readable(name);
	free(name);
	return 0;
}
