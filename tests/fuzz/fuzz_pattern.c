/*
 * Arbitrary patterns, each with a name to match. The first byte is odd for regular expressions, and
 * `2` for matching a glob in a second way as well, which takes longer; a newline ends the pattern,
 * the rest is the name.
 *
 *	make fuzz && tests/fuzz/seeds_patterns.sh FOLDER && build/fuzz/fuzz_pattern FOLDER
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/closest.h"
#include "base/matcher.h"
#include "fuzz/fuzz.h"
#include "probe/find/pattern.h"

/* Past this number of stars, fnmatch() would take too long: its time is exponential. */
#define FNMATCH_STARS_MAX 4
#define FNMATCH_BYTES_MAX 64

/* A glob for names that begin with `~`; it is in many states at once. */
#define MANY_STATES "~*a???????????????"

/* --- patterns --------------------------------------------------------------------------------- */

static void check_parsed(const struct pattern *pattern, const char *text, const char *name)
{
	bool is_kernel = pattern->kind == PATTERN_KERNEL || pattern->kind == PATTERN_TRACEPOINT;

	expect(!strcmp(pattern->text, text));
	expect(is_kernel == !pattern->program);
	expect(!pattern->program || *pattern->program);
	expect(!pattern->name == !pattern->name_text);
	expect(!pattern->name_text || (*pattern->name_text && strstr(text, pattern->name_text)));
	expect(pattern->is_exclusion == (text[0] == '!'));
	expect(!pattern->is_any_kind || (pattern->is_exclusion && is_kernel));
	expect(!pattern->category || pattern->kind == PATTERN_TRACEPOINT);
	expect(!pattern->provider || pattern->kind == PATTERN_USDT);
	expect(!pattern->has_offset || (pattern->name && matcher_only_name(pattern->name)));
	if (pattern->name)
		(void)matcher_matches(pattern->name, name);
}

static void try_pattern(const char *text, bool is_regex, const char *name)
{
	struct pattern pattern, untouched;
	struct error error = {0};
	int err;

	memset(&pattern, 0x5a, sizeof(pattern));
	memset(&untouched, 0x5a, sizeof(untouched));
	err = pattern_parse(text, is_regex, &pattern, &error);
	if (!err) {
		check_parsed(&pattern, text, name);
		pattern_clear(&pattern);
		return;
	}
	expect(err == -EINVAL && error.code == err && *error.text);
	expect(!memcmp(&pattern, &untouched, sizeof(pattern)));
}

/* --- matchers --------------------------------------------------------------------------------- */

static bool is_for_fnmatch(const char *text, const char *name)
{
	size_t nr_stars = 0;

	if (strpbrk(text, "[]()|\\") || strlen(text) > FNMATCH_BYTES_MAX ||
	    strlen(name) > FNMATCH_BYTES_MAX)
		return false;
	for (; *text; text++)
		nr_stars += *text == '*';
	return nr_stars <= FNMATCH_STARS_MAX;
}

/* Matches the glob as one of two alternatives; the other one keeps the matcher in many states. */
static bool fits_as_alternative(const char *text, const char *name)
{
	cleanup_free char *both = NULL;
	struct matcher_error error;
	struct matcher *matcher;
	bool fits;

	expect(asprintf(&both, "(%s|" MANY_STATES ")", text) > 0);
	matcher = matcher_new(both, strlen(both), false, &error);
	expect(matcher);
	fits = matcher_matches(matcher, name);
	matcher_free(matcher);
	return fits;
}

static void check_matcher(const struct matcher *matcher, const char *text, bool is_regex,
			  const char *name, bool is_twice)
{
	const char *only = matcher_only_name(matcher);
	bool fits = matcher_matches(matcher, name);

	expect(!only || matcher_matches(matcher, only));
	expect(!only || fits == !strcmp(only, name));
	expect(!matcher_is_any(matcher) || fits);
	if (is_regex)
		return;
	if (is_for_fnmatch(text, name))
		expect(fits == !fnmatch(text, name, 0));
	if (is_twice && strlen(text) < MATCHER_TEXT_MAX / 2 && name[0] != '~')
		expect(fits == fits_as_alternative(text, name));
}

static void try_matcher(const char *text, bool is_regex, const char *name, bool is_twice)
{
	struct matcher_error error;
	struct matcher *matcher = matcher_new(text, strlen(text), is_regex, &error);

	if (!matcher) {
		expect(error.what && *error.what && error.at <= strlen(text));
		return;
	}
	check_matcher(matcher, text, is_regex, name, is_twice);
	matcher_free(matcher);
}

/* --- entry point
 * -------------------------------------------------------------------------------- */

static void try_closest(const char *text, const char *name)
{
	const char *names[CLOSEST_NAMES];
	struct closest closest;
	size_t i;

	closest_init(&closest, text);
	for (i = 0; i < 2; i++) {
		closest_offer(&closest, name);
		closest_offer(&closest, text);
	}
	i = closest_names(&closest, names);
	expect(i <= 2 && (i < 2 || strcmp(names[0], names[1]) != 0));
	closest_clear(&closest);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	cleanup_free char *text = NULL, *name = NULL;
	bool is_regex = nr && bytes[0] & 1;
	const uint8_t *end;

	if (!nr)
		return 0;
	end = memchr(bytes + 1, '\n', nr - 1);
	text = strndup((const char *)bytes + 1, end ? (size_t)(end - bytes) - 1 : nr - 1);
	name = end ? strndup((const char *)end + 1, nr - (size_t)(end - bytes) - 1) : strdup("");
	expect(text && name);
	try_pattern(text, is_regex, name);
	try_matcher(text, is_regex, name, bytes[0] == '2');
	try_closest(text, name);
	return 0;
}
