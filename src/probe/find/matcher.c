/*
 * Two ways to match behind one door: a glob is our own (glob.h), a regular expression is the C
 * library's, between `^(` and `)$`. What has but one name to fit is a comparison.
 *
 * The C library makes up the sets of its expression's states as names ask for them, and keeps them
 * all: an expression like `.*a.{16}` can cost some megabytes over many names. Running out of memory
 * there reads as a name that does not fit, since it has no other way to say so.
 */
#include "probe/find/matcher.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probe/find/glob.h"
#include "probe/find/glob_walk.h"
#include "probe/find/regex_limits.h"

struct matcher {
	char *only; /* what has nothing to it but this name */
	struct glob_walk *walk;
	bool has_regex;
	bool is_any;
	regex_t regex;
};

/* --- globs ------------------------------------------------------------------------------------ */

/* Between the first state and the last there are bytes alone; the first may jump to the second. */
static bool is_plain(const struct glob *glob)
{
	size_t i;

	for (i = 1; i + 1 < glob->nr_states; i++)
		if (glob->states[i].kind != GLOB_BYTE)
			return false;
	return true;
}

static char *plain_text(const struct glob *glob)
{
	size_t nr = glob->nr_states - 2, i;
	char *text = malloc(nr + 1);

	if (!text)
		return NULL;
	for (i = 0; i < nr; i++)
		text[i] = (char)glob->states[i + 1].byte;
	text[nr] = '\0';
	return text;
}

static int set_glob(struct matcher *matcher, const char *text, struct matcher_error *error)
{
	struct glob glob;
	int err = glob_parse(text, strlen(text), &glob, error);

	if (err < 0)
		return err;
	if (is_plain(&glob)) {
		matcher->only = plain_text(&glob);
		glob_clear(&glob);
		return matcher->only ? 0 : -ENOMEM;
	}
	matcher->walk = glob_walk_new(&glob);
	if (!matcher->walk)
		return -ENOMEM;
	matcher->is_any = glob_walk_is_any(matcher->walk);
	return 0;
}

/* --- regular expressions ---------------------------------------------------------------------- */

/* What regcomp() may still find where regex_check_limits() found nothing. */
static const char *regex_fault(int code)
{
	static const struct {
		int code;
		const char *what;
	} faults[] = {
		{REG_ECTYPE, "no such class of characters"},
		{REG_ECOLLATE, "no such character between '[.' and '.]'"},
		{REG_ERANGE, "a range that ends before it begins"},
		{REG_BADRPT, "nothing to repeat before '*', '+', '?' or '{'"},
		{REG_BADBR, "a repetition that is none"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i].code == code)
			return faults[i].what;
	return "not a regular expression";
}

/*
 * `malloc` or `^malloc$`: the name in it, of a text that is cut for it. NULL: it is not that plain.
 */
static const char *plain_regex(char *text)
{
	size_t nr = strlen(text), i;

	if (nr && text[nr - 1] == '$')
		text[--nr] = '\0';
	text += text[0] == '^';
	for (i = 0; text[i]; i++)
		if (strchr("^$.[]()|*+?{}\\", text[i]))
			return NULL;
	return text;
}

static int set_regex(struct matcher *matcher, const char *text, struct matcher_error *error)
{
	cleanup_free char *anchored = NULL, *copy = NULL;
	const char *plain;
	int code;

	if (regex_check_limits(text, strlen(text), error) < 0)
		return -EINVAL;
	if (asprintf(&anchored, "^(%s)$", text) < 0) {
		anchored = NULL;
		return -ENOMEM;
	}
	code = regcomp(&matcher->regex, anchored, REG_EXTENDED | REG_NOSUB);
	if (code == REG_ESPACE)
		return -ENOMEM;
	if (code) {
		error->what = regex_fault(code);
		return -EINVAL;
	}
	matcher->has_regex = true;
	matcher->is_any = !strcmp(text, ".*") || !strcmp(text, "^.*$") || !strcmp(text, "^.*");
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	plain = plain_regex(copy);
	if (!plain)
		return 0;
	matcher->only = strdup(plain);
	return matcher->only ? 0 : -ENOMEM;
}

/* --- both ------------------------------------------------------------------------------------- */

static int check_text(const char *text, size_t nr, struct matcher_error *error)
{
	size_t i;

	if (nr > MATCHER_TEXT_MAX) {
		*error = (struct matcher_error){.at = MATCHER_TEXT_MAX, .what = "too long"};
		return -EINVAL;
	}
	for (i = 0; i < nr; i++) {
		if (!iscntrl((unsigned char)text[i]))
			continue;
		*error = (struct matcher_error){.at = i, .what = "a control character"};
		return -EINVAL;
	}
	return 0;
}

struct matcher *matcher_new(const char *text, size_t nr, bool is_regex, struct matcher_error *error)
{
	cleanup_free char *copy = NULL;
	struct matcher *matcher;
	int err;

	*error = (struct matcher_error){0};
	if (check_text(text, nr, error) < 0)
		return NULL;
	copy = strndup(text, nr);
	matcher = copy ? calloc(1, sizeof(*matcher)) : NULL;
	if (!matcher)
		return NULL;
	err = is_regex ? set_regex(matcher, copy, error) : set_glob(matcher, copy, error);
	if (err < 0) {
		matcher_free(matcher);
		return NULL;
	}
	return matcher;
}

void matcher_free(struct matcher *matcher)
{
	if (!matcher)
		return;
	free(matcher->only);
	glob_walk_free(matcher->walk);
	if (matcher->has_regex)
		regfree(&matcher->regex);
	free(matcher);
}

bool matcher_fits(const struct matcher *matcher, const char *name)
{
	if (matcher->is_any)
		return true;
	if (matcher->only)
		return !strcmp(matcher->only, name);
	if (matcher->walk)
		return glob_walk_fits(matcher->walk, name);
	return !regexec(&matcher->regex, name, 0, NULL, 0);
}

const char *matcher_only_name(const struct matcher *matcher)
{
	return matcher->only;
}

bool matcher_is_any(const struct matcher *matcher)
{
	return matcher->is_any;
}
