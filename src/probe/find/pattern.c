/*
 * Parses patterns from left to right: `!`, prefixes, the program up to its colon, and the name,
 * from whose end an offset is split off.
 *
 * Conflicts with bcc's grammar: bcc takes `t:x`, `u:x`, `p:x` as function x of a library called t,
 * u or p. Here a letter is always a prefix, and p:t:x is what bcc means. Splitting at the first
 * colon allows names with colons and slashes (prog:std::sort, prog:net/http.Get); paths with a
 * colon need a `\`.
 */
#include "probe/find/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

#define PID_MAX	  4194304 /* the kernel's PID_MAX_LIMIT */
#define SHOWN_MAX 160	  /* bytes of the pattern shown in an error, which has room for 400 */
#define TEXT_MAX  8192	  /* a path and a name */
#define NO_COLON  SIZE_MAX

struct reader {
	const char *text;
	size_t nr, at; /* parsed up to `at` */
	bool is_regex;
	struct pattern *pattern;
	struct error *error;
};

static int fail(const struct reader *reader, size_t at, const char *what)
{
	const char *rest = reader->nr > SHOWN_MAX ? "…" : "";

	return error_set(reader->error, -EINVAL, "bad pattern '%.*s%s': %s (column %zu)", SHOWN_MAX,
			 reader->text, rest, what, at + 1);
}

/* --- where parts end -------------------------------------------------------------------------- */

/*
 * Returns the position after the set that begins at `at`, or after its bracket if the set has no
 * end.
 */
static size_t skip_set(const struct reader *reader, size_t at)
{
	const char *text = reader->text;
	size_t i = at + 1;

	i += text[i] == '^' || (text[i] == '!' && !reader->is_regex);
	i += text[i] == ']';
	for (; text[i] && text[i] != ']'; i++) {
		if (text[i] == '\\' && text[i + 1] && !reader->is_regex)
			i++;
		else if (text[i] == '[' && text[i + 1] == ':' && strstr(text + i + 2, ":]"))
			i = (size_t)(strstr(text + i + 2, ":]") + 1 - text);
	}
	return text[i] ? i + 1 : at + 1;
}

/*
 * Finds the next run of colons from `at` on, outside brackets and parentheses. *ret_nr: its length.
 */
static size_t find_colons(const struct reader *reader, size_t at, size_t *ret_nr)
{
	const char *text = reader->text;
	int depth = 0;

	while (text[at]) {
		if (text[at] == ':' && depth <= 0) {
			*ret_nr = strspn(text + at, ":");
			return at;
		}
		depth += (text[at] == '(') - (text[at] == ')');
		if (text[at] == '[')
			at = skip_set(reader, at);
		else
			at += text[at] == '\\' && text[at + 1] ? 2 : 1;
	}
	return NO_COLON;
}

/*
 * Finds the colon that ends a part: a single one, or the first of three, before a name ::like this.
 */
static size_t find_separator(const struct reader *reader)
{
	size_t at = reader->at, nr;

	for (;; at += nr) {
		at = find_colons(reader, at, &nr);
		if (at == NO_COLON || nr != 2)
			return at;
	}
}

/* --- parts ------------------------------------------------------------------------------------ */

static int make_matcher(const struct reader *reader, size_t start, size_t end,
			enum matcher_kind regex_kind, struct matcher **ret)
{
	struct matcher_error fault;

	*ret = matcher_new(reader->text + start, end - start,
			   reader->is_regex ? regex_kind : MATCHER_GLOB, &fault);
	if (*ret)
		return 0;
	return fault.what ? fail(reader, start + fault.at, fault.what)
			  : error_no_memory(reader->error, "");
}

/* Parses the category of a tracepoint or the provider of a static probe, up to the colon. */
static int set_group(struct reader *reader, size_t colon, struct matcher **ret)
{
	int err;

	if (reader->at == colon)
		return fail(reader, colon, "nothing before this ':'");
	err = make_matcher(reader, reader->at, colon, MATCHER_REGEX, ret);
	reader->at = colon + 1;
	return err;
}

/* A program of digits only is a pid. */
static int set_pid(const struct reader *reader, size_t start)
{
	struct pattern *pattern = reader->pattern;
	const char *program = pattern->program;
	uint64_t pid;

	if (program[strspn(program, "0123456789")])
		return 0;
	if (number_parse(program, PID_MAX, &pid) < 0 || !pid)
		return fail(reader, start, "not a valid pid");
	pattern->pid = (uint32_t)pid;
	return 0;
}

static int set_program(struct reader *reader, size_t end)
{
	size_t start = reader->at, nr = 0, i;
	char *program;

	if (start == end)
		return fail(reader, start, "nothing before this ':'");
	program = malloc(end - start + 1);
	if (!program)
		return error_no_memory(reader->error, "");
	reader->pattern->program = program;
	for (i = start; i < end; i++) {
		if (strchr("*?|", reader->text[i]))
			return fail(reader, i, "no wildcards before ':'");
		i += reader->text[i] == '\\' && i + 1 < end;
		program[nr++] = reader->text[i];
	}
	program[nr] = '\0';
	reader->at = end + 1;
	return set_pid(reader, start);
}

/* Parses 0x and hexadecimal digits. Returns -ENOENT if it is a name. */
static int take_address(const struct reader *reader)
{
	const char *text = reader->text + reader->at;

	if (!text_starts_with(text, "0x") && !text_starts_with(text, "0X"))
		return -ENOENT;
	if (number_parse(text, UINT64_MAX, &reader->pattern->address) < 0)
		return fail(reader, reader->at, "not an address");
	return 0;
}

/* Finds the end of the name: before `+` and a number, or at the end of the text. */
static int take_offset(const struct reader *reader, size_t *ret_end)
{
	struct pattern *pattern = reader->pattern;
	const char *name = reader->text + reader->at, *plus = strrchr(name, '+');
	bool is_hex = plus && text_starts_with(plus + 1, "0x");

	*ret_end = reader->nr;
	if (!plus || (plus > name && plus[-1] == '\\') || (reader->is_regex && !is_hex))
		return 0;
	if (!is_hex && (!plus[1] || plus[1 + strspn(plus + 1, "0123456789")]))
		return 0;
	*ret_end = (size_t)(plus - reader->text);
	if (number_parse(plus + 1, UINT64_MAX, &pattern->offset) < 0)
		return fail(reader, *ret_end, "not an offset");
	if (pattern->is_return)
		return fail(reader, *ret_end, "a return probe cannot have an offset");
	if (pattern->is_exclusion)
		return fail(reader, *ret_end, "an exclusion cannot have an offset");
	pattern->has_offset = true;
	return 0;
}

/* Parses the name, up to `end`. It may begin with `::`, as ::global names do. */
static int set_name(const struct reader *reader, size_t end)
{
	struct pattern *pattern = reader->pattern;
	size_t nr_colons = strspn(reader->text + reader->at, ":");
	int err;

	if (nr_colons && nr_colons != 2)
		return fail(reader, reader->at, "too many ':'");
	if (reader->at == end)
		return fail(reader, end, "no name");
	/* Prefix match as in bcc. With an offset, the whole name of one function has to match. */
	err = make_matcher(reader, reader->at, end,
			   pattern->has_offset ? MATCHER_REGEX : MATCHER_PREFIX, &pattern->name);
	if (err < 0)
		return err;
	pattern->name_text = strndup(reader->text + reader->at, end - reader->at);
	return pattern->name_text ? 0 : error_no_memory(reader->error, "");
}

/* Parses a function's name with its offset, or an address. */
static int read_function(const struct reader *reader)
{
	struct pattern *pattern = reader->pattern;
	size_t end;
	int err = take_address(reader);

	if (err != -ENOENT)
		return err;
	err = take_offset(reader, &end);
	if (!err)
		err = set_name(reader, end);
	if (!err && pattern->has_offset && !matcher_only_name(pattern->name))
		return fail(reader, end, "an offset needs a single function name, not a pattern");
	return err;
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* Parses a kernel function. The hint is for a pattern that was probably meant to have a program. */
static int read_kernel(struct reader *reader)
{
	struct pattern *pattern = reader->pattern;
	const char *name = reader->text + reader->at, *slash = strchr(name, '/');
	size_t nr, colon = find_colons(reader, reader->at, &nr);
	int err;

	pattern->kind = PATTERN_KERNEL;
	if (colon != NO_COLON && !pattern->is_any_kind) {
		err = fail(reader, colon, "a kernel function's name has no ':'");
		error_hint(reader->error,
			   "for functions of a program use PROGRAM:NAME, as in c:malloc");
		return err;
	}
	if (slash && !pattern->is_any_kind) {
		err = fail(reader, (size_t)(slash - reader->text),
			   "a kernel function's name has no '/'");
		error_hint(reader->error, "for functions of a program use PATH:NAME");
		return err;
	}
	err = read_function(reader);
	if (!pattern->name)
		pattern->is_any_kind = false;
	return err;
}

static int read_tracepoint(struct reader *reader)
{
	struct pattern *pattern = reader->pattern;
	size_t nr, colon = find_colons(reader, reader->at, &nr);
	int err;

	pattern->kind = PATTERN_TRACEPOINT;
	if (colon != NO_COLON) {
		err = set_group(reader, colon, &pattern->category);
		if (err < 0)
			return err;
		colon = find_colons(reader, reader->at, &nr);
		if (colon != NO_COLON)
			return fail(reader, colon, "too many ':'; a tracepoint is t:CATEGORY:NAME");
	}
	return set_name(reader, reader->nr);
}

static int read_usdt(struct reader *reader)
{
	struct pattern *pattern = reader->pattern;
	size_t nr, colon = find_colons(reader, reader->at, &nr);
	int err;

	pattern->kind = PATTERN_USDT;
	if (colon == NO_COLON)
		return fail(reader, reader->nr, "missing ':'; a static probe is u:PROGRAM:NAME");
	err = set_program(reader, colon);
	if (err < 0)
		return err;
	colon = find_colons(reader, reader->at, &nr);
	if (colon != NO_COLON) {
		err = set_group(reader, colon, &pattern->provider);
		if (err < 0)
			return err;
		colon = find_colons(reader, reader->at, &nr);
		if (colon != NO_COLON)
			return fail(reader, colon,
				    "too many ':'; a static probe is u:PROGRAM:PROVIDER:NAME");
	}
	return set_name(reader, reader->nr);
}

/*
 * Returns the `+` of FILE+0xADDRESS, the form in which profiles show functions without a name;
 * NULL: not of this form.
 */
static const char *find_file_address(const struct reader *reader)
{
	const char *file = reader->text + reader->at, *plus = strrchr(file, '+');

	if (!plus || plus == file || !text_starts_with(plus + 1, "0x") || !plus[3] ||
	    plus[3 + strspn(plus + 3, "0123456789abcdefABCDEF")] ||
	    strcspn(file, "*?|[]()\\") != strlen(file))
		return NULL;
	return plus;
}

/* True if the pattern cannot mean a kernel function. */
static bool is_surely_file(const struct reader *reader, size_t plus)
{
	const struct pattern *pattern = reader->pattern;
	size_t nr = plus - reader->at;

	return pattern->is_return || pattern->is_exclusion ||
	       memchr(reader->text + reader->at, '/', nr) ||
	       memmem(reader->text + reader->at, nr, ".so", 3) ||
	       strspn(reader->text + reader->at, "0123456789") == nr;
}

static int read_file_address(struct reader *reader, size_t plus)
{
	struct pattern *pattern = reader->pattern;
	int err;

	pattern->kind = PATTERN_USER;
	err = set_program(reader, plus);
	return err < 0 ? err : take_address(reader);
}

/*
 * Parses bcc's three parts. If the program, between the first two colons, is empty, it is the
 * kernel.
 */
static int read_place(struct reader *reader, bool has_prefix)
{
	struct pattern *pattern = reader->pattern;
	const char *plus;
	size_t colon;
	int err;

	if (has_prefix && reader->text[reader->at] == ':') {
		reader->at++;
		return read_kernel(reader);
	}
	colon = find_separator(reader);
	plus = colon == NO_COLON ? find_file_address(reader) : NULL;
	if (plus && is_surely_file(reader, (size_t)(plus - reader->text)))
		return read_file_address(reader, (size_t)(plus - reader->text));
	if (colon == NO_COLON) {
		pattern->may_be_file = plus != NULL;
		pattern->is_any_kind = pattern->is_exclusion && !has_prefix;
		return read_kernel(reader);
	}
	pattern->kind = PATTERN_USER;
	err = set_program(reader, colon);
	return err < 0 ? err : read_function(reader);
}

static int read_after_p(struct reader *reader)
{
	return read_place(reader, true);
}

static int read_user(struct reader *reader)
{
	if (find_separator(reader) == NO_COLON)
		return fail(reader, reader->nr, "missing ':'; a uprobe is uprobe:PROGRAM:NAME");
	return read_place(reader, false);
}

/*
 * Letters are bcc's, words are bpftrace's. The attach mechanism is not chosen here, so fentry is
 * the same as k.
 */
static const struct prefix {
	const char *text;
	int (*read)(struct reader *reader);
	bool is_return;
	const char *no_return; /* why `r:` cannot precede it; NULL: it can */
} prefixes[] = {
	{"p:", read_after_p, false, NULL},
	{"k:", read_kernel, false, NULL},
	{"t:", read_tracepoint, false, "a tracepoint has no return"},
	{"u:", read_usdt, false, "a static probe has no return"},
	{"kprobe:", read_kernel, false, NULL},
	{"kretprobe:", read_kernel, true, NULL},
	{"fentry:", read_kernel, false, NULL},
	{"fexit:", read_kernel, true, NULL},
	{"kfunc:", read_kernel, false, NULL},
	{"kretfunc:", read_kernel, true, NULL},
	{"uprobe:", read_user, false, NULL},
	{"uretprobe:", read_user, true, NULL},
	{"tracepoint:", read_tracepoint, false, "a tracepoint has no return"},
	{"rawtracepoint:", read_tracepoint, false, "a tracepoint has no return"},
	{"usdt:", read_usdt, false, "a static probe has no return"},
};

static bool take_prefix(struct reader *reader, const char *prefix)
{
	if (!text_starts_with(reader->text + reader->at, prefix))
		return false;
	reader->at += strlen(prefix);
	return true;
}

static int read_kind(struct reader *reader)
{
	struct pattern *pattern = reader->pattern;
	size_t start = reader->at, i;

	pattern->is_return = take_prefix(reader, "r:");
	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		const struct prefix *prefix = &prefixes[i];

		if (!take_prefix(reader, prefix->text))
			continue;
		if (pattern->is_return && prefix->no_return)
			return fail(reader, start, prefix->no_return);
		pattern->is_return |= prefix->is_return;
		return prefix->read(reader);
	}
	return read_place(reader, pattern->is_return);
}

static int check_text(const struct reader *reader)
{
	size_t i;

	if (!reader->nr)
		return error_set(reader->error, -EINVAL, "bad pattern '': it is empty");
	if (reader->nr > TEXT_MAX)
		return fail(reader, TEXT_MAX, "too long");
	for (i = 0; i < reader->nr; i++)
		if (iscntrl((unsigned char)reader->text[i]))
			return error_set(reader->error, -EINVAL,
					 "bad pattern: a control character (column %zu)", i + 1);
	return 0;
}

int pattern_parse(const char *text, bool is_regex, struct pattern *ret, struct error *error)
{
	struct pattern pattern = {0};
	struct reader reader = {
		.text = text,
		.nr = strlen(text),
		.is_regex = is_regex,
		.pattern = &pattern,
		.error = error,
	};
	int err = check_text(&reader);

	if (err < 0)
		return err;
	pattern.is_exclusion = text[0] == '!';
	reader.at = pattern.is_exclusion;
	if (pattern.is_exclusion && text[1] == '!')
		return fail(&reader, 1, "more than one '!'");
	pattern.text = strdup(text);
	err = pattern.text ? read_kind(&reader) : error_no_memory(reader.error, "");
	if (err < 0) {
		pattern_clear(&pattern);
		return err;
	}
	*ret = pattern;
	return 0;
}

int pattern_become_file(struct pattern *pattern)
{
	char *program = strdup(pattern->name_text);

	if (!program)
		return -ENOMEM;
	matcher_free(pattern->name);
	free(pattern->name_text);
	pattern->kind = PATTERN_USER;
	pattern->program = program;
	pattern->name = NULL;
	pattern->name_text = NULL;
	pattern->address = pattern->offset;
	pattern->offset = 0;
	pattern->has_offset = pattern->may_be_file = false;
	return 0;
}

void pattern_clear(struct pattern *pattern)
{
	free(pattern->text);
	free(pattern->program);
	free(pattern->name_text);
	matcher_free(pattern->category);
	matcher_free(pattern->provider);
	matcher_free(pattern->name);
	*pattern = (struct pattern){0};
}

/* --- exclusions ------------------------------------------------------------------------------- */

int exclusions_add(struct exclusions *exclusions, const struct pattern *pattern)
{
	size_t i;

	for (i = 0; i < exclusions->nr; i++)
		if (exclusions->patterns[i] == pattern)
			return 0;
	return ARRAY_ADD(exclusions->patterns, exclusions->nr, exclusions->capacity, pattern);
}

void exclusions_clear(struct exclusions *exclusions)
{
	free(exclusions->patterns);
	*exclusions = (struct exclusions){0};
}

bool exclusion_is_about(const struct pattern *pattern, enum pattern_kind kind, bool is_return)
{
	if (pattern->is_return && !is_return)
		return false;
	return pattern->is_any_kind || pattern->kind == kind;
}
