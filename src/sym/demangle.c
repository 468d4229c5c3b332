/*
 * Demangling by libiberty, which was not made for untrusted names: a mangled name of a hundred
 * bytes can stand for gigabytes (each substitution doubles what came before).
 *
 * C++ and Rust go through its callbacks instead of its ready-made strings, so the output has a
 * limit, and reaching it ends the work at once. The callbacks can't say "stop", hence longjmp:
 * libiberty works on the stack there. (Only for a Rust identifier in punycode does it hold a small
 * buffer, which is lost if the limit falls on that very piece.) Its recursion limit stays on, as in
 * c++filt: C++ names longer than 1,024 bytes stay mangled.
 *
 * For D it has neither callbacks nor limits, so the cost is estimated first.
 */
#include "sym/demangle.h"

#include <ctype.h>
#include <demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#undef ARRAY_SIZE /* libiberty defines the same one */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "profile/simple_name.h"

/* --- suffixes of clones: a table of words, GCC's first, then LLVM's --------------------------- */

static const struct {
	const char *word;
	bool has_number; /* always; the others may have one */
} clone_words[] = {
	{".cold", false},	  {".isra", true},	  {".constprop", true},
	{".part", true},	  {".localalias", false}, {".lto_priv", true},
	{".clone", true},	  {".resolver", false},	  {"._omp_fn", true},
	{"._omp_cpyfn", true},	  {"._loopfn", true},	  {".simdclone", true},
	{".llvm", true},	  {".__uniq", true},	  {".specialized", true},
	{".omp_outlined", false},
};

size_t clone_suffix_bytes(const char *at)
{
	size_t i, nr, digits;

	for (i = 0; i < ARRAY_SIZE(clone_words); i++) {
		nr = strlen(clone_words[i].word);
		if (strncmp(at, clone_words[i].word, nr) != 0 || (at[nr] && at[nr] != '.'))
			continue;
		digits = at[nr] ? strspn(at + nr + 1, "0123456789") : 0;
		if (digits)
			return nr + 1 + digits;
		return clone_words[i].has_number ? 0 : nr;
	}
	return 0;
}

static bool is_mangled(const char *name)
{
	return name[0] == '_' && name[1] && strchr("ZRD", name[1]);
}

/* A C identifier, perhaps with the number that a local one got. */
static bool is_plain(const char *name, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c == '.' ? !i || !isdigit((unsigned char)name[i + 1]) || i + 1 == nr
			     : !isalnum(c) && c != '_' && c != '$')
			return false;
	}
	return nr > 0;
}

size_t clone_suffix_find(const char *name)
{
	const char *dot = name;

	while ((dot = strchr(dot, '.'))) {
		size_t nr = 0, next;

		while ((next = clone_suffix_bytes(dot + nr)))
			nr += next;
		if (nr && !dot[nr])
			break;
		dot += nr ? nr : 1;
	}
	if (!dot || (!is_mangled(name) && !is_plain(name, (size_t)(dot - name))))
		return strlen(name);
	return (size_t)(dot - name);
}

/* --- the cost of a D name --------------------------------------------------------------------- */

/*
 * libiberty's D demangler has no limits, and names can be made that keep it busy for years: a back
 * reference to a type is read again each time, and so is a function type that turns out not to be
 * one; both nest. So an upper bound of its steps, and of the depth of its recursion, is computed from
 * the text beforehand. Within the bound a name took 30 ms at most, measured on names made for that,
 * and some megabytes; memory matters, as libiberty ends the program when it runs out. The bound is a
 * rough one: of the functions in Phobos one in twenty is refused.
 *
 * libiberty reads a mangled D name from left to right, with three exceptions:
 *
 *   - After an identifier, what looks like a function type is tried as such, and if that fails is
 *     read by the caller as something else: what follows is read twice.
 *   - A symbol as a template's argument, `S` and a number, is tried at each digit of the number.
 *   - A back reference `Q…` to a type reads from there, up to anywhere. In there only references
 *     before this one are followed (so it ends).
 *
 * Hence cost(p), the steps for reading on from p, is at most (1 + what a reference at p costs) +
 * times(p) * cost(p + 1), and a reference at p costs cost() of its target with no reference from p
 * on. Where such places are is read off the text without regard to what the text there means: each
 * number may be an identifier's length, each `Q` a reference. That can only make it more. A step
 * appends twenty bytes at most, or an identifier, whose bytes count as steps.
 *
 * The depth of recursion is at most the bytes between a target and the next reference, summed up
 * along a chain of them.
 */

#define D_NAME_MAX_BYTES 2048 /* and the depth of the recursion, all of which takes 1 MB of stack */
#define D_STEPS_MAX	 (1 << 18)

struct place {
	uint32_t times;	    /* what follows is read, at most */
	uint32_t target;    /* of a back reference; 0 for none */
	uint32_t bytes;	    /* of an identifier referred to; 0: a type */
	uint32_t depth;	    /* of the reference */
	uint64_t plain;	    /* cost from here on without any reference to a type */
	uint64_t reference; /* what the reference costs */
};

static uint64_t limited(uint64_t steps)
{
	return steps < D_STEPS_MAX ? steps : D_STEPS_MAX;
}

static uint64_t read_number(const char *at, size_t *ret_digits)
{
	uint64_t number = 0;
	size_t i;

	for (i = 0; isdigit((unsigned char)at[i]); i++)
		number = number < D_NAME_MAX_BYTES ? number * 10 + (uint64_t)(at[i] - '0') : number;
	*ret_digits = i;
	return number;
}

/* Where an identifier may end: a function type may follow, or "this" and then one. */
static void mark_end(const char *name, size_t nr, struct place *places, uint64_t at)
{
	if (at < nr && strchr("FUVWRYM", name[at]))
		places[at].times = 2;
}

/* `Q`, upper case letters, a lower case one: a distance to the base of 26. */
static void mark_reference(const char *name, size_t nr, struct place *places, size_t at)
{
	uint64_t distance = 0;
	size_t end = at + 1, digits;

	while (isupper((unsigned char)name[end]) && distance <= nr)
		distance = distance * 26 + (uint64_t)(name[end++] - 'A');
	if (!islower((unsigned char)name[end]))
		return;
	distance = distance * 26 + (uint64_t)(name[end] - 'a');
	mark_end(name, nr, places, end + 1);
	if (!distance || distance > at)
		return;
	places[at].target = (uint32_t)(at - distance);
	if (isdigit((unsigned char)name[at - distance]))
		places[at].bytes = (uint32_t)read_number(name + at - distance, &digits);
}

/* What may follow the number of a symbol as an argument, so that it is tried from there as well. */
static bool is_tried(const char *at)
{
	return at[0] == '_' || at[0] == 'Q';
}

static void mark(const char *name, size_t nr, struct place *places)
{
	size_t i, digits;

	for (i = 0; i <= nr; i++)
		places[i] = (struct place){.times = 1};
	for (i = 0; i < nr; i++) {
		if (isdigit((unsigned char)name[i])) {
			uint64_t number = read_number(name + i, &digits);

			mark_end(name, nr, places, i + digits + number);
		} else if (name[i] == 'Q') {
			mark_reference(name, nr, places, i);
		} else if (name[i] == 'Z') {
			mark_end(name, nr, places, i + 1);
		} else if (name[i] == 'S' && isdigit((unsigned char)name[i + 1])) {
			(void)read_number(name + i + 1, &digits);
			digits += is_tried(name + i + 1 + digits);
			if (digits > 1)
				places[i].times = (uint32_t)digits;
		}
	}
}

/* The references in order, so that those within the text of one are known. */
static bool add_references(size_t nr, struct place *places)
{
	size_t i, p;

	for (i = 0; i < nr; i++) {
		uint64_t steps = places[i].plain;
		uint32_t depth;

		if (!places[i].target)
			continue;
		if (places[i].bytes) {
			places[i].reference = places[i].bytes;
			continue;
		}
		depth = (uint32_t)(nr - places[i].target);
		for (p = i; p-- > places[i].target;) {
			steps = limited(1 + places[p].reference + places[p].times * steps);
			if (depth < p - places[i].target + places[p].depth)
				depth = (uint32_t)(p - places[i].target + places[p].depth);
		}
		if (steps == D_STEPS_MAX || depth > D_NAME_MAX_BYTES)
			return false;
		places[i].reference = steps;
		places[i].depth = depth;
	}
	return true;
}

static bool d_cost_is_low(const char *name)
{
	struct place places[D_NAME_MAX_BYTES + 1];
	size_t nr = strnlen(name, D_NAME_MAX_BYTES + 1), i;
	uint64_t steps = 0;

	if (nr > D_NAME_MAX_BYTES)
		return false;
	mark(name, nr, places);
	for (i = nr; i-- > 0;)
		steps = places[i].plain = limited(1 + places[i].times * steps);
	if (!add_references(nr, places))
		return false;
	steps = 0;
	for (i = nr; i-- > 0;) {
		steps = limited(1 + places[i].reference + places[i].times * steps);
		if (places[i].depth + i > D_NAME_MAX_BYTES)
			return false;
	}
	return steps < D_STEPS_MAX;
}

/* --- demangling ------------------------------------------------------------------------------- */

#define OUTPUT_MAX_BYTES 16384

struct output {
	char *text;
	size_t nr, capacity;
	jmp_buf stop;
};

static int append(struct output *output, const char *piece, size_t nr)
{
	if (nr >= OUTPUT_MAX_BYTES - output->nr ||
	    ARRAY_RESERVE(output->text, output->capacity, output->nr + nr + 1) < 0)
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
