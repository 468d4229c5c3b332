/*
 * One pass from left to right copies a name onto itself, without its lists. This needs no grammar
 * of types, only the meaning of each bracket:
 *
 * `<` and `>` may be operators. After the word `operator` they are part of a name. libiberty puts
 * operands other than names in parentheses, so `)<` is a comparison; and it puts a space between
 * two closing angle brackets. Parentheses and braces always match, and brackets inside are skipped.
 *
 * In C++ the return type comes first: the text before the last space outside all brackets, unless
 * the space belongs to the name (`operator new`), or the name is inside parentheses:
 * `void (*f(int))(char)`.
 */
#include "profile/simple_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

struct cutter {
	char *text;
	size_t read, written;
	bool keeps_lists; /* the ones in angle brackets */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static void copy(struct cutter *cutter, size_t nr)
{
	memmove(cutter->text + cutter->written, cutter->text + cutter->read, nr);
	cutter->written += nr;
	cutter->read += nr;
}

static void finish(struct cutter *cutter)
{
	copy(cutter, strlen(cutter->text + cutter->read) + 1);
}

/* --- tokens: each function returns the bytes of the token, 0 if it is not there --------------- */

/* A character or string in quotes; not Rust's lifetimes (`'a`), nor `'lambda'`. */
static size_t quoted_bytes(const char *at)
{
	const char *end;

	if (at[0] == '\'' && at[1] && at[1] != '\\')
		return at[2] == '\'' ? 3 : 0;
	if (at[0] != '"' && at[0] != '\'')
		return 0;
	end = strchr(at + 1, at[0]);
	return end ? (size_t)(end - at) + 1 : 0;
}

static size_t group_bytes(const char *at, char open, char close)
{
	size_t depth = 0, i = 0, nr;

	for (; at[i]; i += nr) {
		nr = quoted_bytes(at + i);
		if (nr)
			continue;
		nr = 1;
		if (at[i] == open)
			depth++;
		else if (at[i] == close && --depth == 0)
			return i + 1;
	}
	return 0;
}

/* The word `operator` with its sign; just the word if a word or a type follows. */
static size_t operator_bytes(const char *text, size_t at)
{
	static const char *const signs[] = {"<=>", "->*", "<<=", ">>=", "()", "[]", "->",
					    "<<",  ">>",  "<=",	 ">=",	"<",  ">"};
	size_t i, nr = strlen("operator");

	if (text[at] != 'o' || !text_starts_with(text + at, "operator") ||
	    (at && is_word(text[at - 1])) || is_word(text[at + nr]))
		return 0;
	for (i = 0; i < ARRAY_SIZE(signs); i++)
		if (text_starts_with(text + at + nr, signs[i]))
			return nr + strlen(signs[i]);
	if (text_starts_with(text + at + nr, "\"\" "))
		return nr + strlen("\"\" ");
	return nr + strspn(text + at + nr, "+-*/%^&|~!=,");
}

static bool is_comparison(const char *text, size_t at)
{
	char before = at ? text[at - 1] : '\0';

	if (text[at] == '<')
		return is_one_of(before, ")}");
	if (before == '-' || before == '=')
		return true; /* an arrow */
	return is_one_of(before, ")}") && is_one_of(text[at + 1], ">=") &&
	       is_one_of(text[at + 2], "({");
}

/* A list in angle brackets. */
static size_t list_bytes(const char *text, size_t start)
{
	size_t depth = 0, i = start, nr;

	for (; text[i]; i += nr) {
		nr = quoted_bytes(text + i);
		if (nr)
			continue;
		nr = operator_bytes(text, i);
		if (nr) {
			if (text[i + nr] == '<') { /* after `operator<` there is a space */
				nr++;
				depth++;
			}
			continue;
		}
		nr = 1;
		if (text[i] == '(' || text[i] == '{')
			nr = group_bytes(text + i, text[i], text[i] == '(' ? ')' : '}');
		else if (text[i] == '<' && (i == start || !is_comparison(text, i)))
			depth++;
		else if (text[i] == '>' && is_comparison(text, i))
			nr = text[i + 1] == '>' || text[i + 1] == '=' ? 2 : 1;
		else if (text[i] == '>' && --depth == 0)
			return i + 1 - start;
		if (!nr)
			return 0;
	}
	return 0;
}

/* --- C++ ----------------------------------------------------------------------------------- */

static const char anonymous[] = "(anonymous namespace)";

static bool is_anonymous(const char *at)
{
	return *at == '(' && text_starts_with(at, anonymous);
}

/* Prefixes of names of types, and of other names such as functions. */
static const char *const of_types[] = {
	"vtable for ",	      "VTT for ",	  "construction vtable for ",	   "typeinfo for ",
	"typeinfo name for ", "typeinfo fn for ", "template parameter object for "};
static const char *const of_others[] = {
	"guard variable for ",		 "non-virtual thunk to ",	"virtual thunk to ",
	"covariant return thunk to ",	 "TLS init function for ",	"TLS wrapper function for ",
	"transaction clone for ",	 "non-transaction clone for ",	"hidden alias for ",
	"global constructors keyed to ", "global destructors keyed to "};

static size_t prefix_bytes(const char *name, const char *const *prefixes, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (text_starts_with(name, prefixes[i]))
			return strlen(prefixes[i]);
	if (text_starts_with(name, "reference temporary #") && strstr(name, " for "))
		return (size_t)(strstr(name, " for ") - name) + strlen(" for ");
	return 0;
}

/* Skips the qualifiers of a function, which follow its parameters. */
static void drop_qualifiers(struct cutter *cutter)
{
	static const char *const words[] = {
		" const", " volatile",	" restrict", " __restrict", " noexcept",	" &&",
		" &",	  " immutable", " shared",   " inout",	    " transaction_safe"};
	size_t i = 0;

	while (i < ARRAY_SIZE(words)) {
		const char *rest = cutter->text + cutter->read;
		size_t nr = strlen(words[i]);

		if (text_starts_with(rest, words[i]) && !is_word(rest[nr])) {
			cutter->read += nr;
			i = 0;
		} else {
			i++;
		}
	}
}

/* Skips a list in angle brackets, or copies it with keeps_lists. False if it does not end. */
static bool drop_list(struct cutter *cutter)
{
	size_t nr = list_bytes(cutter->text, cutter->read);

	if (cutter->keeps_lists)
		copy(cutter, nr);
	else
		cutter->read += nr;
	return nr > 0;
}

/*
 * Copies `operator` and the rest up to its parameters. libiberty puts a space before a list after
 * `operator<`; it is skipped with the list. A type that the operator converts to loses its lists.
 * False if brackets do not match.
 */
static bool copy_operator(struct cutter *cutter)
{
	const char *text = cutter->text;
	size_t nr = operator_bytes(text, cutter->read);
	bool is_sign = nr > strlen("operator");

	copy(cutter, nr);
	if (text[cutter->read] == ' ' && text[cutter->read + 1] == '<') {
		copy(cutter, cutter->keeps_lists);
		cutter->read += !cutter->keeps_lists;
	}
	if (is_sign)
		return true;
	while (text[cutter->read]) {
		char next = text[cutter->read];

		if (next == '(' && cutter->text[cutter->written - 1] != ' ' &&
		    !is_anonymous(text + cutter->read))
			break;
		nr = 1;
		if (next == '<') {
			if (!drop_list(cutter))
				return false;
			continue;
		}
		if (next == '(' || next == '{')
			nr = group_bytes(text + cutter->read, next, next == '(' ? ')' : '}');
		if (!nr)
			return false;
		copy(cutter, nr);
		if (next == '(' && text[cutter->read] == '(')
			copy(cutter, group_bytes(text + cutter->read, '(', ')'));
	}
	return true;
}

/* Copies `{lambda(a<b>)#1}`, which is a name, without the lists in it. */
static bool copy_braces(struct cutter *cutter)
{
	size_t end = cutter->read + group_bytes(cutter->text + cutter->read, '{', '}');

	bool is_cut = end > cutter->read;

	while (cutter->read < end && is_cut) {
		if (cutter->text[cutter->read] == '<' && !is_comparison(cutter->text, cutter->read))
			is_cut = drop_list(cutter);
		else
			copy(cutter, 1);
	}
	return is_cut;
}

static bool is_decltype(const struct cutter *cutter)
{
	static const char word[] = "decltype ";
	size_t nr = sizeof(word) - 1;

	return cutter->written >= nr && !memcmp(cutter->text + cutter->written - nr, word, nr);
}

/* In `void (*f(int))(char)`, at the parenthesis before `*f`: skips to f. False elsewhere. */
static bool enter_declarator(struct cutter *cutter)
{
	const char *inner = cutter->text + cutter->read + 1;
	size_t nr = strcspn(inner, "*&()<{");

	if (!is_one_of(inner[nr], "*&") || (nr && inner[nr - 1] != ':') || is_decltype(cutter))
		return false;
	nr += strspn(inner + nr, "*&");
	if (!is_word(inner[nr]) && inner[nr] != '(' && inner[nr] != '{')
		return false;
	cutter->read += 1 + nr;
	return true;
}

/* At a `(` outside of all brackets: skips the parameters and the qualifiers after them. */
static bool drop_parameters(struct cutter *cutter)
{
	size_t nr = group_bytes(cutter->text + cutter->read, '(', ')');

	cutter->read += nr;
	drop_qualifiers(cutter);
	return nr > 0;
}

/* Copies the name without lists. Returns where in the written text the name begins. */
static size_t cut_function(struct cutter *cutter)
{
	size_t start = cutter->written;
	char *text = cutter->text;
	bool is_cut = true;

	while (text[cutter->read] && is_cut) {
		bool is_inner = text[cutter->read] == '(' &&
				(!cutter->written || text[cutter->written - 1] == ' ');

		if (operator_bytes(text, cutter->read)) {
			is_cut = copy_operator(cutter);
		} else if (is_anonymous(text + cutter->read)) {
			copy(cutter, strlen(anonymous));
		} else if (is_inner && enter_declarator(cutter)) {
			start = cutter->written;
		} else if (text[cutter->read] == '(') {
			is_cut = drop_parameters(cutter);
		} else if (text[cutter->read] == '<') {
			is_cut = drop_list(cutter);
		} else if (text[cutter->read] == '{') {
			is_cut = copy_braces(cutter);
		} else if (text[cutter->read] == ')') {
			cutter->read += strlen(text + cutter->read); /* end of a declarator */
		} else {
			copy(cutter, 1);
			if (text[cutter->written - 1] == ' ')
				start = cutter->written;
		}
	}
	return start;
}

static void cut_type(struct cutter *cutter)
{
	while (cutter->text[cutter->read])
		if (cutter->text[cutter->read] != '<' || !drop_list(cutter))
			copy(cutter, 1);
}

static void cut_cxx(char *name, bool keeps_lists)
{
	struct cutter cutter = {.text = name, .keeps_lists = keeps_lists};
	char *clones = strstr(name, " [clone ");
	bool is_of_type;
	size_t first, start, nr;

	if (clones)
		*clones = '\0';
	while ((nr = prefix_bytes(name + cutter.read, of_others, ARRAY_SIZE(of_others))))
		copy(&cutter, nr);
	nr = prefix_bytes(name + cutter.read, of_types, ARRAY_SIZE(of_types));
	copy(&cutter, nr);
	is_of_type = nr > 0;
	first = start = cutter.written;
	if (is_of_type)
		cut_type(&cutter);
	else
		start = cut_function(&cutter);
	finish(&cutter);
	if (clones) {
		*clones = ' ';
		memmove(name + cutter.written - 1, clones, strlen(clones) + 1);
	}
	memmove(name + first, name + start, strlen(name + start) + 1);
}

void simple_name_cxx(char *name)
{
	cut_cxx(name, false);
}

void simple_name_dwarf(char *name)
{
	struct cutter cutter = {.text = name};
	bool is_cut = name[0] != '<';

	while (name[cutter.read] && is_cut) {
		if (operator_bytes(name, cutter.read))
			is_cut = copy_operator(&cutter);
		else if (name[cutter.read] == '<')
			is_cut = drop_list(&cutter);
		else
			copy(&cutter, 1);
	}
	finish(&cutter);
}

/* --- Rust ---------------------------------------------------------------------------------- */

/* True if a list names the type and trait of a method: `<T as Trait>::f`, `<impl T for U>`. */
static bool is_header(const struct cutter *cutter)
{
	const char *text = cutter->text;
	char before = cutter->read ? text[cutter->read - 1] : ' ';

	return text_starts_with(text + cutter->read, "<impl ") || is_one_of(before, " <&*([,");
}

void simple_name_rust(char *name)
{
	struct cutter cutter = {.text = name};

	while (name[cutter.read]) {
		bool is_path = cutter.written > 2 && !memcmp(name + cutter.written - 2, "::", 2);

		if (name[cutter.read] != '<' || is_header(&cutter)) {
			copy(&cutter, 1);
			continue;
		}
		if (!drop_list(&cutter))
			break;
		if (is_path)
			cutter.written -= 2; /* the `::` of `f::<i32>` */
	}
	finish(&cutter);
}

/* --- D ------------------------------------------------------------------------------------- */

void simple_name_d(char *name)
{
	static const char postblit[] = "(this)";
	struct cutter cutter = {.text = name};

	while (name[cutter.read]) {
		const char *rest = name + cutter.read;
		bool is_instance = rest[0] == '!' && rest[1] == '(';
		size_t nr;

		if ((is_instance || rest[0] == '(') && !text_starts_with(rest, postblit)) {
			nr = group_bytes(rest + is_instance, '(', ')');
			if (!nr)
				break;
			cutter.read += nr + is_instance;
			drop_qualifiers(&cutter);
		} else {
			copy(&cutter, 1);
		}
	}
	finish(&cutter);
}

/* --- in columns ---------------------------------------------------------------------------- */

#define FITTED_MAX_BYTES 8192 /* longer names lose their middle */

/* Returns where the parentheses that end at `end` begin; 0 if they do not match. */
static size_t find_open(const char *name, size_t end)
{
	size_t depth = 0, i;

	for (i = end; i--;) {
		depth += name[i] == ')';
		if (name[i] == '(' && --depth == 0)
			return i;
	}
	return 0;
}

/*
 * True if the name ends with parameters and perhaps qualifiers: `f(int)`,
 * `A<int>::operator()(int) const`. A regular expression, or a remark in parentheses, has no name
 * before the parentheses.
 */
static bool ends_in_parameters(const char *name)
{
	static const char *const words[] = {" const", " volatile", " &", " &&", " noexcept"};
	const char *clones = strstr(name, " [clone ");
	size_t nr = clones ? (size_t)(clones - name) : strlen(name), i = 0, open;
	char before;

	while (i < ARRAY_SIZE(words))
		if (text_ends_with(name, nr, words[i])) {
			nr -= strlen(words[i]);
			i = 0;
		} else {
			i++;
		}
	if (!nr || name[nr - 1] != ')')
		return false;
	open = find_open(name, nr);
	before = open ? name[open - 1] : '\0';
	if (is_word(before) || is_one_of(before, ">]})"))
		return true;
	for (i = 1; open > 8 && i <= 4 && i + 8 <= open; i++)
		if (operator_bytes(name, open - 8 - i) == 8 + i)
			return true;
	return false;
}

/* Returns the text after the next `::` outside of brackets, or NULL. */
static const char *next_part(const char *name)
{
	int depth = 0;

	for (; *name; name++) {
		if (is_one_of(*name, "<({["))
			depth++;
		else if (is_one_of(*name, ">)}]"))
			depth--;
		else if (depth <= 0 && name[0] == ':' && name[1] == ':')
			return name + 2;
	}
	return NULL;
}

/* Drops the least important parts of a name. No change if no language is recognized. */
static void shorten(char *name, const char *full, size_t columns)
{
	if (ends_in_parameters(full)) {
		cut_cxx(name, true);
		if (text_columns(name) <= columns)
			return;
		strcpy(name, full);
		simple_name_cxx(name);
	} else if (strstr(full, "::<") || (*full == '<' && strstr(full, ">::"))) {
		simple_name_rust(name);
	} else if (strstr(full, "::") && !strchr(full, ' ')) {
		simple_name_dwarf(name);
	}
	if (!*name)
		strcpy(name, full);
}

/* Returns the bytes of the marks that call trees append to names: ` [k]`, ` [i] (recursive)`. */
static size_t mark_bytes(const char *name)
{
	static const char recursive[] = " (recursive)";
	size_t nr = strlen(name), end = nr;

	if (text_ends_with(name, end, recursive))
		end -= strlen(recursive);
	if (end > 4 && name[end - 4] == ' ' && name[end - 3] == '[' && is_word(name[end - 2]) &&
	    name[end - 1] == ']')
		end -= 4;
	return nr - end;
}

/* Fits a name without marks into the columns. */
static void fit_name(const char *name, size_t columns, const char *ellipsis, char *buffer)
{
	size_t needed = text_columns(ellipsis);
	char shorter[FITTED_MAX_BYTES];
	const char *part;

	strcpy(shorter, name);
	if (text_columns(name) > columns)
		shorten(shorter, name, columns);
	for (part = shorter; text_columns(shorter) > columns && (part = next_part(part));) {
		if (text_columns(part) + needed > columns)
			continue;
		buffer = stpcpy(buffer, ellipsis);
		text_cut(part, columns - needed, ellipsis, buffer);
		return;
	}
	text_cut(shorter, columns, ellipsis, buffer);
}

void simple_name_fit(const char *name, size_t columns, const char *ellipsis, char *buffer)
{
	size_t nr = strlen(name), nr_mark = mark_bytes(name);
	char bare[FITTED_MAX_BYTES];

	if (nr >= sizeof(bare) || columns < 2 * nr_mark || text_columns(name) <= columns) {
		text_cut(name, columns, ellipsis, buffer);
		return;
	}
	memcpy(bare, name, nr - nr_mark);
	bare[nr - nr_mark] = '\0';
	fit_name(bare, columns - nr_mark, ellipsis, buffer);
	strcat(buffer, name + nr - nr_mark); /* ASCII */
}
