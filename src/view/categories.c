/*
 * Tables of categories: read from a text, and looked up for functions and profiles.
 *
 * Patterns are stored in order, with an index by the first byte of the names that they can match. A
 * function is tried against the patterns of its first byte in order, and only once per profile:
 * that keeps a table of a thousand patterns cheap for a million functions.
 */
#include "view/categories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/matcher.h"
#include "base/text.h"

#define CATEGORIES_NR_BYTES 256 /* values of a name's first byte */

enum where {
	WHERE_ANY,
	WHERE_KERNEL,
	WHERE_USER,
	WHERE_MODULE,
};

struct pattern {
	uint32_t category;
	enum where where;
	struct matcher *module; /* for WHERE_MODULE; else NULL */
	struct matcher *name;
	char first; /* first byte of all matching names; 0: any byte */
};

struct categories {
	char **names; /* by number */
	size_t nr, cap;
	struct pattern *patterns;
	size_t nr_patterns, cap_patterns;
	uint32_t *by_byte; /* patterns for names with first byte 0, then 1, …, each in order */
	uint32_t first_of_byte[CATEGORIES_NR_BYTES + 1]; /* index in by_byte */
	bool of_kernel; /* that built-in table: patterns without `@` match kernel functions */
	bool of_waits;	/* that built-in table: its first row decides, not the innermost function */
};

/* --- reading a table -------------------------------------------------------------------------- */

#define BLANKS " \t\r"

struct reader {
	struct categories *categories;
	struct error *error;
	size_t line;
	bool failed;
};

static void set_error(struct reader *reader, const char *what, const char *of)
{
	reader->failed = true;
	(void)error_set(reader->error, -EINVAL, "line %zu: %s '%s'", reader->line, what, of);
}

static void set_no_memory(struct reader *reader)
{
	reader->failed = true;
	(void)error_set(reader->error, -ENOMEM, "out of memory");
}

/* Returns the number of the category, which is added if needed; or a negative errno. */
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

/* Returns NULL on failure, with the error set. */
static struct matcher *make_matcher(struct reader *reader, const char *text, bool is_regex)
{
	struct matcher_error fault;
	struct matcher *matcher = matcher_new(
		text, strlen(text), is_regex ? MATCHER_SEARCH : MATCHER_PLAIN_GLOB, &fault);

	if (!matcher && fault.what)
		set_error(reader, fault.what, text);
	else if (!matcher)
		set_no_memory(reader);
	return matcher;
}

/* module: the text after `@`; NULL: none. */
static void set_where(struct reader *reader, struct pattern *pattern, const char *module)
{
	if (!module) {
		pattern->where = reader->categories->of_kernel ? WHERE_KERNEL : WHERE_ANY;
	} else if (!strcmp(module, "kernel")) {
		pattern->where = WHERE_KERNEL;
	} else if (!strcmp(module, "user")) {
		pattern->where = WHERE_USER;
	} else {
		pattern->where = WHERE_MODULE;
		pattern->module = make_matcher(reader, module, false);
	}
}

static void add_pattern(struct reader *reader, uint32_t category, const char *text, bool is_regex,
			const char *module)
{
	struct categories *categories = reader->categories;
	struct pattern pattern = {.category = category};

	set_where(reader, &pattern, module);
	pattern.name = make_matcher(reader, text, is_regex);
	if (!is_regex && !strchr("*?[\\", *text))
		pattern.first = *text;
	/* A pattern in the table is freed with the table, even if it is incomplete. */
	if (ARRAY_ADD(categories->patterns, categories->nr_patterns, categories->cap_patterns,
		      pattern) == 0)
		return;
	matcher_free(pattern.module);
	matcher_free(pattern.name);
	set_no_memory(reader);
}

/* Returns the closing delimiter; in a regular expression, `\` escapes it. NULL if there is none. */
static char *closing(char *text, char delimiter)
{
	for (; *text && *text != delimiter; text++)
		if (*text == '\\' && text[1] && delimiter == '/')
			text++;
	return *text ? text : NULL;
}

/*
 * Splits the pattern at *at off the line, into *ret_text and *ret_module (NULL: none). Returns its
 * kind: `"`, `/`, 0 without delimiters; or -1 with the error set.
 */
static int next_pattern(struct reader *reader, char **at, char **ret_text, char **ret_module)
{
	char kind = **at == '"' || **at == '/' ? **at : '\0';
	char *text = *at + (kind != '\0');
	char *end = kind ? closing(text, kind) : text + strcspn(text, BLANKS);
	char *rest, *module;

	if (!end) {
		set_error(reader,
			  kind == '"' ? "no closing quotation mark in" : "no closing slash in",
			  *at);
		return -1;
	}
	rest = end + strcspn(end, BLANKS);
	if (kind && end[1] && !strchr(BLANKS "@", end[1])) {
		set_error(reader, "missing blank after the pattern", text);
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
		set_error(reader, "no 'category:' before", line);
		return;
	}
	for (end = colon; end > line && strchr(BLANKS, end[-1]); end--)
		;
	*end = '\0';
	category = add_category(reader->categories, line);
	if (category == -ENOMEM)
		set_no_memory(reader);
	else if (category == -E2BIG)
		set_error(reader, "too many categories: no room for", line);
	else if (category == CATEGORY_OTHER)
		set_error(reader, "name reserved for functions that no row matches:", line);
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
			set_no_memory(reader);
		else if (strlen(line) != bytes)
			set_error(reader, "NUL byte after", line);
		else
			read_line(reader, line);
		text += bytes + (newline != NULL);
		nr -= bytes + (newline != NULL);
	}
}

/* --- the index ------------------------------------------------------------------------------- */

static bool may_begin_with(const struct pattern *pattern, unsigned char byte)
{
	return !pattern->first || (unsigned char)pattern->first == byte;
}

/* Fills first_of_byte, and the list if it is not NULL. Returns the length of the list. */
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

/* --- tables ---------------------------------------------------------------------------------- */

static struct categories *parse(const char *text, size_t nr, bool of_kernel, bool of_waits,
				struct error *error)
{
	struct categories *categories = calloc(1, sizeof(*categories));
	struct reader reader = {.categories = categories, .error = error};

	if (!categories || add_category(categories, "other") < 0) {
		categories_free(categories);
		(void)error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	categories->of_kernel = of_kernel;
	categories->of_waits = of_waits;
	read_lines(&reader, text, nr);
	if (!reader.failed && !categories->nr_patterns) {
		reader.failed = true;
		(void)error_set(error, -EINVAL, "no row 'category: pattern …'");
	}
	if (!reader.failed) {
		uint32_t nr_listed = index_patterns(categories, NULL);

		categories->by_byte = calloc(nr_listed + 1, sizeof(*categories->by_byte));
		if (categories->by_byte)
			(void)index_patterns(categories, categories->by_byte);
		else
			set_no_memory(&reader);
	}
	if (!reader.failed)
		return categories;
	categories_free(categories);
	return NULL;
}

struct categories *categories_parse(const char *text, size_t nr, struct error *error)
{
	return parse(text, nr, false, false, error);
}

int categories_built_in(const char *name, struct categories **ret, struct error *error)
{
	const bool is_waits = !strcmp(name, "waits");
	const char *text = is_waits ? wait_categories : kernel_categories;

	if (!is_waits && strcmp(name, "kernel") != 0)
		return -ENOENT;
	*ret = parse(text, strlen(text), !is_waits, is_waits, error);
	return *ret ? 0 : -ENOMEM;
}

void categories_free(struct categories *categories)
{
	size_t i;

	if (!categories)
		return;
	for (i = 0; i < categories->nr; i++)
		free(categories->names[i]);
	for (i = 0; i < categories->nr_patterns; i++) {
		matcher_free(categories->patterns[i].module);
		matcher_free(categories->patterns[i].name);
	}
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

#define NO_NAME	   "[unknown]"
#define NAME_BYTES 1024 /* longer names are not tried without their arguments */

/* --- functions ------------------------------------------------------------------------------- */

/* True if the pattern matches the module's name; kernel modules (`[ext4]`) match as `ext4`, too. */
static bool module_fits(const struct matcher *matcher, const char *module)
{
	char bare[256];
	size_t nr = strlen(module);

	if (matcher_matches(matcher, module))
		return true;
	if (nr < 3 || nr > sizeof(bare) || module[0] != '[' || module[nr - 1] != ']')
		return false;
	memcpy(bare, module + 1, nr - 2);
	bare[nr - 2] = '\0';
	return matcher_matches(matcher, bare);
}

static bool is_where(const struct pattern *pattern, const char *module, enum frame_kind kind)
{
	switch (pattern->where) {
	case WHERE_KERNEL:
		return kind == FRAME_KERNEL;
	case WHERE_USER:
		return kind == FRAME_USER;
	case WHERE_MODULE:
		return module_fits(pattern->module, module);
	case WHERE_ANY:
		break;
	}
	return true;
}

/*
 * Returns the length of a name without arguments; of a kernel function, without a compiler's suffix
 * (`tcp_ack.part.0`). Parentheses that do not begin arguments: `operator()`,
 * `(anonymous namespace)`, and Go's `main.(*Server).Serve`.
 */
static size_t name_bytes(const char *name, enum frame_kind kind)
{
	size_t depth = 0, i;

	if (kind == FRAME_KERNEL)
		return strcspn(name, ".");
	for (i = 0; name[i]; i++) {
		bool is_operator = i >= 8 && text_starts_with(name + i - 8, "operator");

		if (name[i] == '<' && !is_operator)
			depth++;
		else if (name[i] == '>' && depth && name[i - 1] != '-')
			depth--;
		else if (name[i] == '(' && i && !depth && !is_operator && name[i - 1] != '.' &&
			 !text_starts_with(name + i, "(anonymous namespace)"))
			break;
	}
	return i;
}

uint32_t categories_of_function(const struct categories *categories, const char *function,
				const char *module, enum frame_kind kind)
{
	const char *name = function && *function ? function : NO_NAME;
	size_t nr = name_bytes(name, kind);
	const uint32_t *end =
		categories->by_byte + categories->first_of_byte[(unsigned char)*name + 1];
	const uint32_t *number;
	char bare[NAME_BYTES] = "";
	bool has_bare = nr && nr < sizeof(bare) && name[nr];

	if (has_bare)
		memcpy(bare, name, nr);
	number = categories->by_byte + categories->first_of_byte[(unsigned char)*name];
	for (; number < end; number++) {
		const struct pattern *pattern = &categories->patterns[*number];

		if (is_where(pattern, module, kind) &&
		    (matcher_matches(pattern->name, name) ||
		     (has_bare && matcher_matches(pattern->name, bare))))
			return pattern->category;
	}
	return CATEGORY_OTHER;
}

/* --- profiles -------------------------------------------------------------------------------- */

/* The frame between the stack of a waker and that of the thread that it woke. */
#define SEPARATOR	   "--"
#define CATEGORY_SEPARATOR 255

_Static_assert(CATEGORIES_MAX <= CATEGORY_SEPARATOR, "a number of its own");

struct counter {
	const struct categories *categories;
	const struct profile *profile;
	struct u64_map known; /* cache of functions: see category_of() */
	uint8_t *of_frame;    /* category of the frame's innermost function that has one */
	bool has_separator;   /* a frame is one */
};

/* Returns the category of a frame's function `name`, computed once per function; or -ENOMEM. */
static int category_of(struct counter *counter, const struct frame *frame, uint32_t name)
{
	uint64_t key =
		(uint64_t)name << 32 | (uint64_t)frame->module << 1 | (frame->kind == FRAME_KERNEL);
	const uint64_t *known = u64_map_find(&counter->known, key);
	uint32_t category;

	if (known)
		return (int)*known;
	category = categories_of_function(
		counter->categories, profile_string(counter->profile, name),
		profile_module_name(counter->profile, frame->module), frame->kind);
	if (u64_map_set(&counter->known, key, category) < 0)
		return -ENOMEM;
	return (int)category;
}

static int find_frame(struct counter *counter, uint32_t number)
{
	const struct frame *frame = profile_frame(counter->profile, number);
	const struct code_line *lines =
		frame->nr_lines ? profile_lines(counter->profile, frame) : NULL;
	size_t nr = lines ? frame->nr_lines : 1, i;
	int category = CATEGORY_OTHER;

	if (frame->function &&
	    !strcmp(profile_string(counter->profile, frame->function), SEPARATOR)) {
		counter->of_frame[number] = CATEGORY_SEPARATOR;
		counter->has_separator = true;
		return 0;
	}
	for (i = 0; i < nr && category == CATEGORY_OTHER; i++)
		category = category_of(counter, frame, lines ? lines[i].function : frame->function);
	if (category < 0)
		return category;
	counter->of_frame[number] = (uint8_t)category;
	return 0;
}

/* With the built-in table, time in the kernel is never attributed to user-space callers. */
static uint32_t find_sample(const struct counter *counter, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(counter->profile, sample);
	const bool of_waits = counter->categories->of_waits;
	size_t nr = sample->nr_frames, first = 0, i;
	uint32_t found = CATEGORY_OTHER;

	for (i = 0; i < nr && counter->has_separator; i++)
		if (counter->of_frame[frames[i]] == CATEGORY_SEPARATOR)
			first = i + 1;
	if (counter->categories->of_kernel && sample->nr_kernel_frames)
		nr = sample->nr_kernel_frames;
	for (i = first; i < nr && (of_waits || !found); i++) {
		const uint32_t category = counter->of_frame[frames[i]];

		/* Categories are numbered by their first rows. */
		if (category != CATEGORY_OTHER && (!found || category < found))
			found = category;
	}
	return found;
}

static int count_all(struct counter *counter, uint32_t *of_sample, uint64_t *counts)
{
	uint32_t i;

	for (i = 0; i < profile_nr_frames(counter->profile); i++)
		if (find_frame(counter, i) < 0)
			return -ENOMEM;
	for (i = 0; i < profile_nr_samples(counter->profile); i++) {
		const struct sample *sample = profile_sample(counter->profile, i);

		of_sample[i] = find_sample(counter, sample);
		counts[of_sample[i]] += sample->count;
	}
	return 0;
}

int categories_count(const struct categories *categories, const struct profile *profile,
		     uint32_t **ret_of_sample, uint64_t **ret_counts)
{
	struct counter counter = {.categories = categories, .profile = profile};
	cleanup_free uint32_t *of_sample =
		calloc(profile_nr_samples(profile) + 1, sizeof(*of_sample));
	cleanup_free uint64_t *counts = calloc(categories->nr, sizeof(*counts));
	int err = -ENOMEM;

	counter.of_frame = calloc(profile_nr_frames(profile) + 1, 1);
	if (of_sample && counts && counter.of_frame)
		err = count_all(&counter, of_sample, counts);
	u64_map_clear(&counter.known);
	free(counter.of_frame);
	if (err)
		return err;
	*ret_of_sample = take_pointer(&of_sample);
	*ret_counts = take_pointer(&counts);
	return 0;
}
