/*
 * The text of a table of categories into its patterns, in order, and an index of them: which
 * patterns may fit names that begin with this byte.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/categories_table.h"
#include "view/kernel_categories.h"

#define BLANKS " \t\r"

struct reader {
	struct categories *categories;
	struct error *error;
	size_t line;
	bool failed;
};

static void complain_of(struct reader *reader, const char *what, const char *of)
{
	reader->failed = true;
	(void)error_set(reader->error, -EINVAL, "line %zu: %s '%s'", reader->line, what, of);
}

static void run_out(struct reader *reader)
{
	reader->failed = true;
	(void)error_set(reader->error, -ENOMEM, "out of memory");
}

/* The number of the category of this name, known or new; or a negative errno. */
static int64_t add_category(struct categories *categories, const char *name)
{
	size_t i;

	for (i = 0; i < categories->nr; i++)
		if (!strcmp(categories->names[i], name))
			return (int64_t)i;
	if (categories->nr == CATEGORIES_MAX)
		return -E2BIG;
	if (array_reserve(&categories->names, &categories->cap, categories->nr + 1,
			  sizeof(*categories->names)) < 0)
		return -ENOMEM;
	categories->names[categories->nr] = strdup(name);
	if (!categories->names[categories->nr])
		return -ENOMEM;
	return (int64_t)categories->nr++;
}

/* What stands behind `@`; NULL: nothing. */
static int set_where(struct pattern *pattern, const char *module, bool of_kernel)
{
	if (!module) {
		pattern->where = of_kernel ? WHERE_KERNEL : WHERE_ANY;
	} else if (!strcmp(module, "kernel")) {
		pattern->where = WHERE_KERNEL;
	} else if (!strcmp(module, "user")) {
		pattern->where = WHERE_USER;
	} else {
		pattern->where = WHERE_MODULE;
		pattern->module = strdup(module);
		if (!pattern->module)
			return -ENOMEM;
	}
	return 0;
}

static void clear_pattern(struct pattern *pattern)
{
	if (!pattern->glob)
		regfree(&pattern->regex);
	free(pattern->glob);
	free(pattern->module);
}

/* Either glob or regex is given. */
static void add_pattern(struct reader *reader, uint32_t category, const char *text, bool is_regex,
			const char *module)
{
	struct categories *categories = reader->categories;
	struct pattern pattern = {.category = category};
	char why[160];
	int code;

	if (array_reserve(&categories->patterns, &categories->cap_patterns,
			  categories->nr_patterns + 1, sizeof(*categories->patterns)) < 0 ||
	    set_where(&pattern, module, categories->of_kernel) < 0) {
		run_out(reader);
		return;
	}
	if (is_regex) {
		code = regcomp(&pattern.regex, text, REG_EXTENDED | REG_NOSUB);
		if (code) {
			free(pattern.module);
			(void)regerror(code, NULL, why, sizeof(why));
			complain_of(reader, why, text);
			return;
		}
	} else {
		pattern.glob = strdup(text);
		if (!pattern.glob) {
			free(pattern.module);
			run_out(reader);
			return;
		}
	}
	categories->patterns[categories->nr_patterns++] = pattern;
}

/* Where the text behind an opening delimiter ends: at the same one, but not behind `\`. */
static char *closing(char *text, char delimiter)
{
	for (; *text && *text != delimiter; text++)
		if (*text == '\\' && text[1] && delimiter == '/')
			text++;
	return *text ? text : NULL;
}

/*
 * Cuts the pattern at *at off the line; *ret_text and *ret_module (NULL: none) are its parts. Its
 * kind: `"`, `/`, 0 for a bare one, or -1 with a complaint.
 */
static int next_pattern(struct reader *reader, char **at, char **ret_text, char **ret_module)
{
	char kind = **at == '"' || **at == '/' ? **at : '\0';
	char *text = *at + (kind != '\0');
	char *end = kind ? closing(text, kind) : text + strcspn(text, BLANKS);
	char *rest, *module;

	if (!end) {
		complain_of(reader,
			    kind == '"' ? "no closing quotation mark in" : "no closing slash in",
			    *at);
		return -1;
	}
	rest = end + strcspn(end, BLANKS);
	if (kind && end[1] && !strchr(BLANKS "@", end[1])) {
		complain_of(reader, "something stands right behind the pattern", text);
		return -1;
	}
	*at = *rest ? rest + 1 : rest;
	*rest = '\0';
	module = kind ? (end[1] == '@' ? end + 1 : NULL) : strrchr(text, '@');
	if (kind)
		*end = '\0';
	if (module)
		*module++ = '\0';
	*ret_text = text;
	*ret_module = module && *module ? module : NULL;
	return kind;
}

static void read_patterns(struct reader *reader, uint32_t category, char *at)
{
	while (!reader->failed && *(at += strspn(at, BLANKS))) {
		char *text, *module;
		int kind = next_pattern(reader, &at, &text, &module);

		if (kind >= 0)
			add_pattern(reader, category, *text ? text : "*", kind == '/', module);
	}
}

static void read_line(struct reader *reader, char *line)
{
	char *colon, *end;
	int64_t category;

	line += strspn(line, BLANKS);
	if (!*line || *line == '#')
		return;
	colon = strchr(line, ':');
	if (!colon || colon == line) {
		complain_of(reader, "no category and ':' in front of", line);
		return;
	}
	for (end = colon; end > line && strchr(BLANKS, end[-1]); end--)
		;
	*end = '\0';
	category = add_category(reader->categories, line);
	if (category == -ENOMEM)
		run_out(reader);
	else if (category == -E2BIG)
		complain_of(reader, "too many categories: no room for", line);
	else if (category == CATEGORY_OTHER)
		complain_of(reader, "what no row matches is called so:", line);
	else
		read_patterns(reader, (uint32_t)category, colon + 1);
}

static void read_lines(struct reader *reader, const char *text, size_t nr)
{
	while (nr && !reader->failed) {
		const char *newline = memchr(text, '\n', nr);
		size_t bytes = newline ? (size_t)(newline - text) : nr;
		cleanup_free char *line = strndup(text, bytes);

		reader->line++;
		if (!line)
			run_out(reader);
		else if (strlen(line) != bytes)
			complain_of(reader, "a byte 0 behind", line);
		else
			read_line(reader, line);
		text += bytes + (newline != NULL);
		nr -= bytes + (newline != NULL);
	}
}

/* --- the index ------------------------------------------------------------------------------- */

static bool may_begin_with(const struct pattern *pattern, unsigned char byte)
{
	return !pattern->glob || !*pattern->glob || strchr("*?[\\", *pattern->glob) ||
	       (unsigned char)*pattern->glob == byte;
}

/* Adds up what there is for each byte, and lists it once there is a list. */
static uint32_t index_patterns(struct categories *categories, uint32_t *list)
{
	uint32_t nr = 0;
	size_t byte, i;

	for (byte = 0; byte < CATEGORIES_NR_BYTES; byte++) {
		categories->first_of_byte[byte] = nr;
		for (i = 0; i < categories->nr_patterns; i++) {
			if (!may_begin_with(&categories->patterns[i], (unsigned char)byte))
				continue;
			if (list)
				list[nr] = (uint32_t)i;
			nr++;
		}
	}
	categories->first_of_byte[CATEGORIES_NR_BYTES] = nr;
	return nr;
}

static int build_index(struct categories *categories)
{
	uint32_t nr = index_patterns(categories, NULL);

	categories->by_byte = calloc(nr + 1, sizeof(*categories->by_byte));
	if (!categories->by_byte)
		return -ENOMEM;
	(void)index_patterns(categories, categories->by_byte);
	return 0;
}

/* --- tables ---------------------------------------------------------------------------------- */

static struct categories *parse(const char *text, size_t nr, bool of_kernel, struct error *error)
{
	struct categories *categories = calloc(1, sizeof(*categories));
	struct reader reader = {.categories = categories, .error = error};

	if (!categories || add_category(categories, "other") < 0) {
		categories_free(categories);
		(void)error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	categories->of_kernel = of_kernel;
	read_lines(&reader, text, nr);
	if (!reader.failed && !categories->nr_patterns) {
		reader.failed = true;
		(void)error_set(error, -EINVAL, "no row 'category: pattern …'");
	}
	if (!reader.failed && build_index(categories) < 0)
		run_out(&reader);
	if (!reader.failed)
		return categories;
	categories_free(categories);
	return NULL;
}

struct categories *categories_parse(const char *text, size_t nr, struct error *error)
{
	return parse(text, nr, false, error);
}

struct categories *categories_of_kernel(struct error *error)
{
	return parse(kernel_categories, strlen(kernel_categories), true, error);
}

void categories_free(struct categories *categories)
{
	size_t i;

	if (!categories)
		return;
	for (i = 0; i < categories->nr; i++)
		free(categories->names[i]);
	for (i = 0; i < categories->nr_patterns; i++)
		clear_pattern(&categories->patterns[i]);
	free(categories->names);
	free(categories->patterns);
	free(categories->by_byte);
	free(categories);
}

size_t categories_nr(const struct categories *categories)
{
	return categories->nr;
}

const char *categories_name(const struct categories *categories, uint32_t category)
{
	return categories->names[category];
}
