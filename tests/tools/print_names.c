/*
 * Reads names from stdin, one per line, and prints them demangled or unchanged:
 *
 *	$ echo _Z1fIiEvT_.isra.0 | print_names simple
 *	f [clone .isra.0]
 *
 * The mode is full, simple or no; with `fold` after it, clones are folded. `bare` prints
 * libiberty's C++ names without parameters, the reference for simple names.
 */
#include <demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ARRAY_SIZE /* libiberty defines the same macro */
#include "base/array.h"
#include "base/cleanup.h"
#include "sym/demangle.h"

static const char *const modes[] = {
	[DEMANGLE_FULL] = "full", [DEMANGLE_SIMPLE] = "simple", [DEMANGLE_NO] = "no"};

/* style NULL: bare */
static void print_all(const struct demangle_style *style)
{
	cleanup_free char *line = NULL;
	size_t capacity = 0;

	while (getline(&line, &capacity, stdin) >= 0) {
		cleanup_free char *readable = NULL;

		line[strcspn(line, "\n")] = '\0';
		readable = style ? demangle(line, style) : cplus_demangle_v3(line, DMGL_NO_OPTS);
		puts(readable ? readable : line);
	}
}

int main(int argc, char **argv)
{
	size_t mode;

	for (mode = 0; argc > 1 && mode < ARRAY_SIZE(modes); mode++) {
		struct demangle_style style = {(enum demangle_mode)mode, false};

		style.fold_clones = argc > 2 && !strcmp(argv[2], "fold");
		if (!strcmp(argv[1], modes[mode])) {
			print_all(&style);
			return 0;
		}
	}
	if (argc > 1 && !strcmp(argv[1], "bare")) {
		print_all(NULL);
		return 0;
	}
	fprintf(stderr, "usage: print_names full|simple|no [fold] | bare\n");
	return 2;
}
