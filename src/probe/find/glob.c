/*
 * From a glob's text to its states, in one pass.
 *
 * An alternative is `FORK … JUMP`: the fork leads to the next alternative too, the jump behind the
 * last one. Whether a parenthesis opens alternatives is known only at its end; till then a fork
 * stands for it, and becomes the byte `(` if there was no `|`.
 *
 * Left out: classes (`[[:digit:]]`), which are refused, and characters of several bytes.
 */
#include "probe/find/glob.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define GROUPS_MAX 64

/* An open parenthesis; the first of them is the whole text. */
struct group {
	size_t at;
	size_t fork;  /* of the alternative that is being read */
	size_t jumps; /* of those before it, each `to` the one before; 0: none */
};

struct parser {
	const char *text;
	size_t nr, at;
	struct glob glob;
	struct group groups[GROUPS_MAX];
	size_t nr_groups;
	struct matcher_error error;
};

static int fail(struct parser *parser, size_t at, const char *what)
{
	parser->error = (struct matcher_error){.at = at, .what = what};
	return what ? -EINVAL : -ENOMEM;
}

static int add_state(struct parser *parser, enum glob_kind kind, uint8_t byte, size_t to)
{
	struct glob *glob = &parser->glob;

	if (array_reserve(&glob->states, &glob->cap_states, glob->nr_states + 1,
			  sizeof(*glob->states)) < 0)
		return fail(parser, 0, NULL);
	glob->states[glob->nr_states++] =
		(struct glob_state){.kind = (uint8_t)kind, .byte = byte, .to = (uint16_t)to};
	return 0;
}

/* --- alternatives ----------------------------------------------------------------------------- */

static int open_group(struct parser *parser)
{
	if (parser->nr_groups == GROUPS_MAX)
		return fail(parser, parser->at, "too many parentheses within each other");
	parser->groups[parser->nr_groups++] = (struct group){
		.at = parser->at,
		.fork = parser->glob.nr_states,
	};
	return add_state(parser, GLOB_FORK, 0, 0);
}

static int next_alternative(struct parser *parser)
{
	struct group *group = &parser->groups[parser->nr_groups - 1];
	size_t jump = parser->glob.nr_states;

	if (add_state(parser, GLOB_JUMP, 0, group->jumps) < 0)
		return -ENOMEM;
	group->jumps = jump;
	parser->glob.states[group->fork].to = (uint16_t)parser->glob.nr_states;
	group->fork = parser->glob.nr_states;
	return add_state(parser, GLOB_FORK, 0, 0);
}

/* The last alternative has none behind it; all go on from here. */
static void join_alternatives(struct parser *parser, const struct group *group)
{
	struct glob_state *states = parser->glob.states;
	size_t jump = group->jumps, before;

	states[group->fork].kind = GLOB_JUMP;
	states[group->fork].to = (uint16_t)(group->fork + 1);
	for (; jump; jump = before) {
		before = states[jump].to;
		states[jump].to = (uint16_t)parser->glob.nr_states;
	}
}

static int close_group(struct parser *parser)
{
	const struct group *group = &parser->groups[parser->nr_groups - 1];

	if (parser->nr_groups == 1)
		return fail(parser, parser->at, "no '(' for this ')'");
	parser->nr_groups--;
	if (group->jumps) {
		join_alternatives(parser, group);
		return 0;
	}
	parser->glob.states[group->fork] = (struct glob_state){.kind = GLOB_BYTE, .byte = '('};
	return add_state(parser, GLOB_BYTE, ')', 0);
}

/* --- sets ------------------------------------------------------------------------------------- */

/* A byte of a set, which may be escaped. */
static int read_member(struct parser *parser, size_t open, uint8_t *ret)
{
	if (parser->at < parser->nr && parser->text[parser->at] == '\\')
		parser->at++;
	if (parser->at >= parser->nr)
		return fail(parser, open, "no ']' for this '['");
	*ret = (uint8_t)parser->text[parser->at++];
	return 0;
}

static bool is_at(const struct parser *parser, size_t at, char byte)
{
	return at < parser->nr && parser->text[at] == byte;
}

/* `a`, or `a-z`; a `-` before the `]` is a member. */
static int read_range(struct parser *parser, size_t open, struct glob_set *set)
{
	size_t start = parser->at;
	uint8_t first, last;
	unsigned byte;

	if (is_at(parser, start, '[') && is_at(parser, start + 1, ':'))
		return fail(parser, start, "classes like [:digit:] are for regular expressions");
	if (read_member(parser, open, &first) < 0)
		return -EINVAL;
	last = first;
	if (is_at(parser, parser->at, '-') && !is_at(parser, parser->at + 1, ']')) {
		parser->at++;
		if (read_member(parser, open, &last) < 0)
			return -EINVAL;
	}
	if (last < first)
		return fail(parser, start, "this range ends before it begins");
	for (byte = first; byte <= last; byte++)
		set->bytes[byte / 64] |= 1ULL << byte % 64;
	return 0;
}

static int read_set(struct parser *parser)
{
	struct glob *glob = &parser->glob;
	size_t open = parser->at++, first, i;
	struct glob_set set = {{0}};
	bool is_negated = is_at(parser, parser->at, '!') || is_at(parser, parser->at, '^');

	parser->at += is_negated;
	first = parser->at;
	while (parser->at == first || !is_at(parser, parser->at, ']'))
		if (read_range(parser, open, &set) < 0)
			return -EINVAL;
	parser->at++;
	for (i = 0; i < ARRAY_SIZE(set.bytes); i++)
		set.bytes[i] ^= is_negated ? UINT64_MAX : 0;
	if (array_reserve(&glob->sets, &glob->cap_sets, glob->nr_sets + 1, sizeof(*glob->sets)) < 0)
		return fail(parser, 0, NULL);
	glob->sets[glob->nr_sets++] = set;
	return add_state(parser, GLOB_SET, 0, glob->nr_sets - 1);
}

/* --- the text --------------------------------------------------------------------------------- */

/*
 * Two stars in a row are one. Behind a `)` the state before belongs to the last alternative alone.
 */
static int read_star(struct parser *parser)
{
	const struct glob *glob = &parser->glob;

	if (parser->at && parser->text[parser->at - 1] == '*' &&
	    glob->states[glob->nr_states - 1].kind == GLOB_STAR)
		return 0;
	return add_state(parser, GLOB_STAR, 0, 0);
}

static int read_escaped(struct parser *parser)
{
	if (parser->at + 1 == parser->nr)
		return fail(parser, parser->at, "nothing behind this '\\'");
	parser->at++;
	return add_state(parser, GLOB_BYTE, (uint8_t)parser->text[parser->at], 0);
}

/* Reads what stands at `at` and moves behind it. */
static int read_next(struct parser *parser)
{
	int err;

	switch (parser->text[parser->at]) {
	case '*':
		err = read_star(parser);
		break;
	case '?':
		err = add_state(parser, GLOB_ANY, 0, 0);
		break;
	case '[':
		return read_set(parser);
	case '(':
		err = open_group(parser);
		break;
	case '|':
		err = next_alternative(parser);
		break;
	case ')':
		err = close_group(parser);
		break;
	case '\\':
		err = read_escaped(parser);
		break;
	default:
		err = add_state(parser, GLOB_BYTE, (uint8_t)parser->text[parser->at], 0);
	}
	parser->at++;
	return err;
}

static int parse(struct parser *parser)
{
	int err = open_group(parser);

	while (!err && parser->at < parser->nr)
		err = read_next(parser);
	if (err < 0)
		return err;
	if (parser->nr_groups > 1)
		return fail(parser, parser->groups[parser->nr_groups - 1].at,
			    "no ')' for this '('");
	join_alternatives(parser, &parser->groups[0]);
	return add_state(parser, GLOB_END, 0, 0);
}

int glob_parse(const char *text, size_t nr, struct glob *ret, struct matcher_error *error)
{
	struct parser parser = {.text = text, .nr = nr};
	int err = parse(&parser);

	if (err < 0) {
		glob_clear(&parser.glob);
		*error = parser.error;
		return err;
	}
	*ret = parser.glob;
	return 0;
}

void glob_clear(struct glob *glob)
{
	free(glob->states);
	free(glob->sets);
	*glob = (struct glob){0};
}

bool glob_takes(const struct glob *glob, size_t state, uint8_t byte)
{
	const struct glob_state *at = &glob->states[state];

	switch (at->kind) {
	case GLOB_BYTE:
		return at->byte == byte;
	case GLOB_SET:
		return glob_set_has(&glob->sets[at->to], byte);
	case GLOB_ANY:
	case GLOB_STAR:
		return true;
	default:
		return false;
	}
}
