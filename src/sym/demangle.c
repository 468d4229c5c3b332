/*
 * Demangling by libiberty, which was not made for names of others: a mangled name of a hundred
 * bytes can stand for gigabytes (each substitution doubles what came before).
 *
 * C++ and Rust go through its callbacks instead of its ready-made strings, so the output has a
 * limit, and reaching it ends the work at once. The callbacks know no way to say "stop", hence
 * longjmp: libiberty works on the stack there. (Only for a Rust identifier in punycode does it hold
 * a small buffer, which is lost if the limit falls on that very piece.) Its recursion limit stays
 * on, as in c++filt: C++ names longer than 1,024 bytes stay mangled.
 *
 * For D it has neither callbacks nor limits, so what it would do is estimated first; see d_cost.h.
 */
#include "sym/demangle.h"

#include <demangle.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#undef ARRAY_SIZE /* libiberty defines one as well, the same */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "sym/clone_suffix.h"
#include "sym/d_cost.h"
#include "sym/simple_name.h"

#define OUTPUT_MAX_BYTES 16384

struct output {
	char *text;
	size_t nr, capacity;
	jmp_buf stop;
};

static int append(struct output *output, const char *piece, size_t nr)
{
	if (nr >= OUTPUT_MAX_BYTES - output->nr ||
	    array_reserve(&output->text, &output->capacity, output->nr + nr + 1, 1) < 0)
		return -1;
	memcpy(output->text + output->nr, piece, nr);
	output->nr += nr;
	output->text[output->nr] = '\0';
	return 0;
}

static void collect(const char *piece, size_t nr, void *opaque)
{
	struct output *output = opaque;

	if (nr && append(output, piece, nr) < 0) /* without bytes the piece may be NULL */
		longjmp(output->stop, 1);
}

static bool run_rust(struct output *output, const char *name)
{
	if (setjmp(output->stop))
		return false;
	return rust_demangle_callback(name, DMGL_RUST, collect, output) && output->nr;
}

static bool run_cxx(struct output *output, const char *name)
{
	if (setjmp(output->stop))
		return false;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, collect, output) &&
	       output->nr;
}

static bool run_d(struct output *output, const char *name)
{
	cleanup_free char *readable = d_cost_is_low(name) ? dlang_demangle(name, DMGL_DLANG) : NULL;

	return readable && *readable && append(output, readable, strlen(readable)) == 0;
}

/*
 * A language: how its names begin, and whether the demangler takes suffixes of clones itself, and
 * prints them as the others are printed here.
 */
static const struct language {
	const char *prefix;
	bool (*run)(struct output *output, const char *name);
	void (*simplify)(char *name);
	bool takes_clones;
} languages[] = {
	{"_R", run_rust, simple_name_rust, false},
	{"_ZN", run_rust, simple_name_rust, false}, /* the older ones: C++ with a hash */
	{"_Z", run_cxx, simple_name_cxx, true},
	{"_GLOBAL_", run_cxx, simple_name_cxx, true},
	{"_D", run_d, simple_name_d, false},
};

/* What is found in a name: its language, and where its suffixes begin. */
static const struct language *read_name(struct output *output, char *name, size_t nr_base)
{
	char first = name[nr_base];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(languages); i++) {
		bool is_read;

		if (!text_starts_with(name, languages[i].prefix))
			continue;
		output->nr = 0;
		if (!languages[i].takes_clones)
			name[nr_base] = '\0';
		is_read = languages[i].run(output, name);
		name[nr_base] = first;
		if (is_read)
			return &languages[i];
	}
	return NULL;
}

/* As libiberty has them in C++. `.llvm` is part of how Rust mangles; nobody shows it. */
static bool append_clones(struct output *output, const char *suffixes)
{
	size_t nr;

	for (; (nr = clone_suffix_bytes(suffixes)); suffixes += nr)
		if (!text_starts_with(suffixes, ".llvm.") &&
		    (append(output, " [clone ", strlen(" [clone ")) < 0 ||
		     append(output, suffixes, nr) < 0 || append(output, "]", 1) < 0))
			return false;
	return true;
}

static size_t find_clones(const char *readable)
{
	const char *clones = strstr(readable, " [clone ");

	return clones ? (size_t)(clones - readable) : strlen(readable);
}

static bool run(struct output *output, char *name, const struct demangle_style *style)
{
	size_t nr_base = clone_suffix_find(name);
	const struct language *language = NULL;

	if (style->mode != DEMANGLE_NO)
		language = read_name(output, name, nr_base);
	if (!language) {
		output->nr = 0;
		return style->fold_clones && name[nr_base] && append(output, name, nr_base) == 0;
	}
	if (!language->takes_clones && !append_clones(output, name + nr_base))
		return false;
	if (style->fold_clones)
		output->text[find_clones(output->text)] = '\0';
	if (style->mode == DEMANGLE_SIMPLE)
		language->simplify(output->text);
	return output->text[0]; /* of a name that is all lists nothing is left */
}

char *demangle(const char *name, const struct demangle_style *style)
{
	struct output output = {0};
	cleanup_free char *copy = NULL;

	if (!strchr(name, '.') && name[0] != '_')
		return NULL; /* most names in C */
	copy = strdup(name);
	if (copy && run(&output, copy, style))
		return output.text;
	free(output.text);
	return NULL;
}
