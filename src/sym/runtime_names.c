/*
 * Each form of a name has a function that first makes sure that it is one, and only then writes;
 * what none of them knows is copied. They look at the text alone, so two maps of one process (a
 * perf map and a jitdump) give the same names.
 */
#include "sym/runtime_names.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

struct output {
	char *to;
	size_t nr, room; /* room: with the NUL */
};

static void put(struct output *output, const char *text, size_t nr)
{
	size_t room = output->room - output->nr - 1;

	if (nr > room)
		nr = room;
	memcpy(output->to + output->nr, text, nr);
	output->nr += nr;
	output->to[output->nr] = '\0';
}

static void put_text(struct output *output, const char *text)
{
	put(output, text, strlen(text));
}

/* --- Java ---------------------------------------------------------------------------------- */

/* `Lpackage/Class;` and the method behind it, as the JVM names them in its tool interface. */
struct descriptor {
	const char *class, *method;
	size_t nr_class, nr_method;
	const char *next; /* "->…", or the end */
};

static bool parse_descriptor(const char *text, struct descriptor *ret)
{
	const char *semicolon = text + strcspn(text, ";: ()");
	const char *method, *next;

	if (text[0] != 'L' || semicolon == text + 1 || *semicolon != ';')
		return false;
	method = semicolon + 1;
	if (text_starts_with(method, "::"))
		method += 2;
	next = strstr(method, "->");
	*ret = (struct descriptor){
		.class = text + 1,
		.nr_class = (size_t)(semicolon - text) - 1,
		.method = method,
		.nr_method = strcspn(method, "("),
		.next = next ? next : method + strlen(method),
	};
	if (ret->nr_method > (size_t)(ret->next - method))
		ret->nr_method = (size_t)(ret->next - method);
	return ret->nr_method > 0;
}

/* A method, or one and those that were inlined into it: `Lroot;::f->Linlined;::g`. */
static bool put_descriptors(struct output *output, const char *name)
{
	struct descriptor descriptor;

	if (!parse_descriptor(name, &descriptor))
		return false;
	for (;;) {
		put(output, descriptor.class, descriptor.nr_class);
		put_text(output, ".");
		put(output, descriptor.method, descriptor.nr_method);
		if (!*descriptor.next)
			return true;
		put_text(output, "->");
		name = descriptor.next + strlen("->");
		if (!parse_descriptor(name, &descriptor)) {
			put_text(output, name);
			return true;
		}
	}
}

/* The same with slashes for dots. */
static void put_slashed(struct output *output, const char *class, size_t nr)
{
	size_t at = output->nr;

	put(output, class, nr);
	for (; at < output->nr; at++)
		if (output->to[at] == '.')
			output->to[at] = '/';
}

/* `TYPE package.Class.method(TYPES)`. A method's name may have blanks in it, but no dot. */
static bool put_declaration(struct output *output, const char *name)
{
	const char *type_end = name + strcspn(name, " (");
	const char *parameters = strrchr(name, '(');
	const char *class = type_end + 1, *dot;

	if (*type_end != ' ' || type_end == name || !parameters || parameters < class ||
	    !text_ends_with(name, strlen(name), ")"))
		return false;
	dot = memrchr(class, '.', (size_t)(parameters - class));
	if (!dot || dot == class || dot + 1 == parameters)
		return false;
	put_slashed(output, class, (size_t)(dot - class));
	put(output, dot, (size_t)(parameters - dot));
	return true;
}

/* --- JavaScript ---------------------------------------------------------------------------- */

/* V8's words for the kinds of code that come out of a source file. */
static const struct kind {
	const char *word;
	bool is_function;
	const char *mark; /* where it has none of its own */
} kinds[] = {
	{"JS:", true, ""},	 {"LazyCompile:", true, ""},
	{"Function:", true, ""}, {"InterpretedFunction:", true, "~"},
	{"Script:", false, ""},	 {"Eval:", false, ""},
};

static const struct kind *kind_of(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_starts_with(name, kinds[i].word))
			return &kinds[i];
	return NULL;
}

/* How long a tier's mark is. `'` says that the code is for one closure only. */
static size_t mark_length(const char *text)
{
	size_t nr = *text && strchr("~^+*", *text) ? 1 : 0;

	return nr && text[1] == '\'' ? 2 : nr;
}

/* Steps back over digits, and a character before them; 0 if they are not there. */
static size_t before_number(const char *text, size_t nr, char before)
{
	size_t at = nr;

	while (at && isdigit((unsigned char)text[at - 1]))
		at--;
	return at && at < nr && text[at - 1] == before ? at - 1 : 0;
}

/* Whether it ends in `:LINE` or `:LINE:COLUMN`. */
static bool has_position(const char *text)
{
	return before_number(text, strlen(text), ':') > 0;
}

/* The length of a WebAssembly function's name without its tier: `NAME-INDEX[-liftoff]`. */
static size_t length_without_tier(const char *text)
{
	static const char *const tiers[] = {"-liftoff", "-turbofan"};
	size_t i, nr = strlen(text);

	for (i = 0; i < ARRAY_SIZE(tiers); i++)
		if (text_ends_with(text, nr, tiers[i]) &&
		    before_number(text, nr - strlen(tiers[i]), '-'))
			return nr - strlen(tiers[i]);
	return nr;
}

static bool put_javascript(struct output *output, const char *name, bool cut_tiers)
{
	const struct kind *kind = kind_of(name);
	const char *mark, *rest;
	size_t nr_mark;

	if (!kind)
		return false;
	mark = name + strlen(kind->word);
	nr_mark = mark_length(mark);
	rest = mark + nr_mark;
	if (kind->is_function && !nr_mark && !*kind->mark && !has_position(rest)) {
		put(output, name, cut_tiers ? length_without_tier(name) : strlen(name));
		return true;
	}
	if (!kind->is_function)
		put_text(output, kind->word);
	if (!cut_tiers)
		put(output, nr_mark ? mark : kind->mark, nr_mark ? nr_mark : strlen(kind->mark));
	if (kind->is_function && (!*rest || *rest == ' '))
		put_text(output, "(anonymous)");
	put_text(output, rest);
	return true;
}

/* --- .NET ---------------------------------------------------------------------------------- */

/* `TYPE [assembly] Class::Method(TYPES)[Tier]` without the tier; for this only if it is cut. */
static bool put_dotnet(struct output *output, const char *name)
{
	const char *tier = strrchr(name, '[');

	if (!strstr(name, "::") || !tier || tier == name || tier[-1] != ')' ||
	    strcspn(tier, "]") < 2 || strcspn(tier, "]") + 1 != strlen(tier))
		return false;
	put(output, name, (size_t)(tier - name));
	return true;
}

void runtime_name(const char *name, bool is_java, const struct runtime_names_style *style, char *to,
		  size_t nr)
{
	struct output output = {.to = to, .room = nr};

	if (!nr)
		return;
	to[0] = '\0';
	if (is_java && (put_descriptors(&output, name) || put_declaration(&output, name)))
		return;
	if (!is_java && (put_javascript(&output, name, style->cut_tiers) ||
			 (style->cut_tiers && put_dotnet(&output, name))))
		return;
	put_text(&output, name);
}
