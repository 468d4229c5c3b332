/*
 * Demangling by libiberty, which was not made for untrusted names: a mangled name of a hundred
 * bytes can expand to gigabytes (each substitution doubles the text before it).
 *
 * For C++ and Rust, libiberty's callback interface is used: the output has a limit, and demangling
 * stops as soon as it is reached. Callbacks cannot return "stop", hence longjmp(), which leaks
 * nothing since libiberty works on the stack. (Exception: for a Rust identifier in punycode it
 * holds a small buffer, which leaks if the limit is reached in that identifier.) Its recursion
 * limit stays on, as in c++filt: C++ names longer than 1,024 bytes stay mangled.
 *
 * For D, libiberty has neither callbacks nor limits, so the cost is estimated first.
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

#undef ARRAY_SIZE /* libiberty defines the same macro */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "profile/simple_name.h"

/* --- clone suffixes: a table of words, GCC's first, then LLVM's ------------------------------- */

static const struct {
	const char *word;
	bool has_number; /* a number is required; with the others it is optional */
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

/* True for a C identifier, or one with a local symbol's number (`f.123`). */
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
 * libiberty's D demangler has no limits, and crafted names can keep it busy for years: a back
 * reference to a type is parsed again each time, and so is text first parsed as a function type
 * that turns out to be something else; both nest. So an upper bound of its steps, and of its
 * recursion depth, is computed from the text beforehand. Within the bound, crafted names took 30 ms
 * at most, and some megabytes; memory matters because libiberty exits the program when it runs out.
 * The bound is rough: it refuses one in twenty of the functions in Phobos.
 *
 * libiberty reads a mangled D name from left to right, with three exceptions:
 *
 *   - After an identifier, text that looks like a function type is tried as one; if that fails, the
 *     caller parses it as something else: the rest is read twice.
 *   - A symbol as a template's argument, `S` and a number, is tried at each digit of the number.
 * - A back reference `Q…` to a type continues reading at its target, to any end. From there on,
 * libiberty follows only references that are before this reference (so it terminates).
 *
 * Hence cost(p), the steps for reading on from p, is at most (1 + the cost of a reference at p) +
 * times(p) * cost(p + 1), and a reference at p costs cost() of its target without references from p
 * on. Such places are found without parsing the text: each number may be an identifier's length,
 * each `Q` a reference. This can only overestimate the cost. A step appends twenty bytes at most,
 * or an identifier, whose bytes count as steps.
 *
 * The recursion depth is at most the bytes between a target and the next reference, summed along a
 * chain of references.
 */

#define D_NAME_MAX_BYTES 2048 /* also limits recursion depth, to 1 MB of stack in all */
#define D_STEPS_MAX	 (1 << 18)

struct place {
	uint32_t times;	    /* upper bound: how often the rest is read */
	uint32_t target;    /* of a back reference here; 0: none */
	uint32_t bytes;	    /* of the identifier that is the target; 0: the target is a type */
	uint32_t depth;	    /* recursion depth of the reference */
	uint64_t plain;	    /* cost from here on without references to types */
	uint64_t reference; /* cost of the reference */
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

/*
 * Marks a place where an identifier may end: a function type may follow, with or without `M`,
 * "this".
 */
static void mark_end(const char *name, size_t nr, struct place *places, uint64_t at)
{
	if (at < nr && strchr("FUVWRYM", name[at]))
		places[at].times = 2;
}

/* Marks a back reference: `Q`, upper-case letters, a lower-case one: the distance in base 26. */
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

/*
 * True if a mangled symbol can begin here. libiberty then tries it as a template's symbol argument,
 * at each digit of the number before it.
 */
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

/*
 * Computes the references' costs from left to right: the ones in a reference's text come before it.
 * False if the cost or depth is too high.
 */
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

	if (nr && append(output, piece, nr) < 0) /* piece may be NULL if nr is 0 */
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
 * Languages by prefix of the mangled name. takes_clones: libiberty handles clone suffixes itself,
 * in the format that append_clones() uses for the others.
 */
static const struct language {
	const char *prefix;
	bool (*run)(struct output *output, const char *name);
	void (*simplify)(char *name);
	bool takes_clones;
} languages[] = {
	{"_R", run_rust, simple_name_rust, false},
	{"_ZN", run_rust, simple_name_rust, false}, /* legacy mangling: C++ with a hash */
	{"_Z", run_cxx, simple_name_cxx, true},
	{"_GLOBAL_", run_cxx, simple_name_cxx, true},
	{"_D", run_d, simple_name_d, false},
};

/*
 * Demangles the name, with suffixes from nr_base on, to output. Returns its language, NULL if none
 * fits.
 */
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

/*
 * In libiberty's C++ format. `.llvm.N` is an artefact of Rust's mangling that no demangler shows.
 */
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
	return output->text[0]; /* empty if the name is nothing but lists */
}

char *demangle(const char *name, const struct demangle_style *style)
{
	struct output output = {0};
	cleanup_free char *copy = NULL;

	if (!strchr(name, '.') && name[0] != '_')
		return NULL; /* fast path for most C names */
	copy = strdup(name);
	if (copy && run(&output, copy, style))
		return output.text;
	free(output.text);
	return NULL;
}

/* --- one name --------------------------------------------------------------------------------- */

/* Suffix of PLT stubs: the stub of `f` is named `f@plt`. */
#define STUB "@plt"

char *demangle_function(const char *name, const struct demangle_style *style)
{
	const size_t stub_bytes = sizeof(STUB) - 1;
	char cut[NAME_MAX_BYTES + 1];
	cleanup_free char *readable = NULL;
	size_t nr = strnlen(name, NAME_MAX_BYTES);
	bool is_stub = nr > stub_bytes && text_ends_with(name, nr, STUB);

	memcpy(cut, name, nr);
	cut[is_stub ? nr - stub_bytes : nr] = '\0';
	readable = demangle(cut, style);
	if (is_stub)
		return text_printf("%s" STUB, readable ? readable : cut);
	return readable ? take_pointer(&readable) : strdup(cut);
}
