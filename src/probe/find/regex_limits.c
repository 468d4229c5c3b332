/*
 * One pass over the text, with a stack of open parentheses; for each it is counted how many
 * characters there are when all repetitions are written out, as the C library does.
 */
#include "probe/find/regex_limits.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define DEPTH_MAX 64

struct group {
	size_t at;
	size_t size; /* in characters so far */
	size_t last; /* of them: what a repetition would repeat */
};

struct scan {
	const char *text;
	size_t nr, at;
	struct group groups[DEPTH_MAX]; /* the first is the whole text */
	size_t nr_groups;
	struct matcher_error *error;
};

static int fail(struct scan *scan, size_t at, const char *what)
{
	*scan->error = (struct matcher_error){.at = at, .what = what};
	return -EINVAL;
}

static struct group *innermost(struct scan *scan)
{
	return &scan->groups[scan->nr_groups - 1];
}

static void add_last(struct scan *scan, size_t size)
{
	innermost(scan)->last = size;
	innermost(scan)->size += size;
}

static int open_group(struct scan *scan)
{
	if (scan->nr_groups == DEPTH_MAX)
		return fail(scan, scan->at, "too many parentheses within each other");
	scan->groups[scan->nr_groups++] = (struct group){.at = scan->at++};
	return 0;
}

/*
 * The C library would take a `)` too many for itself, and so close a parenthesis around the text.
 */
static int close_group(struct scan *scan)
{
	size_t size = innermost(scan)->size + 1;

	if (scan->nr_groups == 1)
		return fail(scan, scan->at, "no '(' for this ')'");
	scan->nr_groups--;
	scan->at++;
	add_last(scan, size);
	return 0;
}

/*
 * `[`, an optional `^`, a `]` that is a member, and then up to the next one outside [: :] and the
 * like.
 */
static int skip_set(struct scan *scan)
{
	size_t open = scan->at, i = open + 1;

	i += i < scan->nr && scan->text[i] == '^';
	i += i < scan->nr && scan->text[i] == ']';
	for (; i < scan->nr && scan->text[i] != ']'; i++) {
		char end[] = {scan->text[i + 1], ']', '\0'};
		const char *found = NULL;

		if (scan->text[i] != '[' || !end[0] || !strchr(":.=", end[0]))
			continue;
		found = strstr(scan->text + i + 2, end);
		if (!found)
			return fail(scan, i, "this class has no end");
		i = (size_t)(found + 1 - scan->text);
	}
	if (i >= scan->nr)
		return fail(scan, open, "no ']' for this '['");
	scan->at = i + 1;
	add_last(scan, 1);
	return 0;
}

static int skip_escaped(struct scan *scan)
{
	if (scan->at + 1 >= scan->nr)
		return fail(scan, scan->at, "nothing behind this '\\'");
	if (isdigit((unsigned char)scan->text[scan->at + 1]))
		return fail(scan, scan->at, "back references take too long");
	scan->at += 2;
	add_last(scan, 1);
	return 0;
}

/* What was last read stands there `times` times. */
static int repeat(struct scan *scan, size_t at, size_t times)
{
	struct group *group = innermost(scan);

	group->size += group->last * (times - 1);
	group->last *= times;
	if (group->size > REGEX_COPIES_MAX)
		return fail(scan, at, "too many repetitions");
	return 0;
}

/* Digits into a number, which stops growing where it is too large anyway. */
static size_t read_count(struct scan *scan)
{
	size_t count = 0;

	for (; isdigit((unsigned char)scan->text[scan->at]); scan->at++)
		if (count <= REGEX_COPIES_MAX)
			count = count * 10 + (size_t)(scan->text[scan->at] - '0');
	return count;
}

/* `{n}`, `{n,}`, `{n,m}`. */
static int read_counts(struct scan *scan)
{
	size_t open = scan->at++, least, most;
	bool has_least = isdigit((unsigned char)scan->text[scan->at]);

	least = most = read_count(scan);
	if (has_least && scan->text[scan->at] == ',') {
		scan->at++;
		if (isdigit((unsigned char)scan->text[scan->at]))
			most = read_count(scan);
		else
			most = least + 1;
	}
	if (!has_least || scan->text[scan->at] != '}' || most < least)
		return fail(scan, open, "'{' is for {n}, {n,} and {n,m}; for itself it is '\\{'");
	scan->at++;
	return repeat(scan, open, most ? most : 1);
}

/* `+` is written out as one and any number more. */
static int read_operator(struct scan *scan)
{
	size_t at = scan->at;
	char c = scan->text[at];

	if (c == '{')
		return read_counts(scan);
	scan->at++;
	if (c == '|' || c == '^')
		innermost(scan)->last = 0;
	else if (c == '+')
		return repeat(scan, at, 2);
	else if (!strchr("*?", c))
		add_last(scan, 1);
	return 0;
}

static int read_next(struct scan *scan)
{
	switch (scan->text[scan->at]) {
	case '(':
		return open_group(scan);
	case ')':
		return close_group(scan);
	case '[':
		return skip_set(scan);
	case '\\':
		return skip_escaped(scan);
	default:
		return read_operator(scan);
	}
}

int regex_check_limits(const char *text, size_t nr, struct matcher_error *error)
{
	struct scan scan = {.text = text, .nr = nr, .nr_groups = 1, .error = error};
	int err = 0;

	while (!err && scan.at < nr)
		err = read_next(&scan);
	if (!err && scan.nr_groups > 1)
		return fail(&scan, innermost(&scan)->at, "no ')' for this '('");
	return err;
}
