/*
 * Demangling through libiberty's callbacks instead of its ready-made strings: a mangled name of a
 * hundred bytes can stand for gigabytes (each substitution doubles what came before), so the
 * output has a limit, and reaching it ends the work at once. The callbacks know no way to say
 * "stop", hence longjmp: libiberty works on the stack there. (Only for a Rust identifier in
 * punycode does it hold a small buffer, which is lost if the limit falls on that very piece.)
 *
 * Its recursion limit stays on, as in c++filt: C++ names longer than 1,024 bytes stay mangled.
 */
#include "sym/demangle.h"

#include <demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#undef ARRAY_SIZE /* libiberty defines one as well, the same */
#include "base/array.h"

#define OUTPUT_MAX_BYTES 16384

struct output {
	char *text;
	size_t nr, capacity;
	jmp_buf stop;
};

static void collect(const char *piece, size_t nr, void *opaque)
{
	struct output *output = opaque;

	if (!nr)
		return; /* the piece may be NULL */
	if (nr >= OUTPUT_MAX_BYTES - output->nr ||
	    array_reserve(&output->text, &output->capacity, output->nr + nr + 1, 1) < 0)
		longjmp(output->stop, 1);
	memcpy(output->text + output->nr, piece, nr);
	output->nr += nr;
	output->text[output->nr] = '\0';
}

static bool starts_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static bool looks_mangled(const char *name)
{
	return starts_with(name, "_Z") || starts_with(name, "_R") || starts_with(name, "_GLOBAL_");
}

/* Rust first: its older names are C++ names as well, with a hash at the end. */
static bool run(struct output *output, const char *name)
{
	if (setjmp(output->stop))
		return false;
	if (rust_demangle_callback(name, DMGL_RUST, collect, output))
		return output->nr > 0;
	output->nr = 0;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, collect, output) &&
	       output->nr > 0;
}

char *demangle(const char *name)
{
	struct output output = {0};

	if (!looks_mangled(name))
		return NULL;
	if (run(&output, name))
		return output.text;
	free(output.text);
	return NULL;
}
