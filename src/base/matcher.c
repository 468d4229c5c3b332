/*
 * Matches names against a glob or a regular expression. A pattern that only one name can match
 * becomes a string comparison.
 *
 * A glob is parsed in one pass into a list of states. A state has a transition to the next one,
 * some have another one to a later state, and none go back, except that a star also stays in its
 * state. A glob is in several states at once, all that the bytes so far may have led to: a set with
 * a bit for each state. Each byte of a name leads from one set to the next, so matching takes at
 * most one step per byte, whatever the glob. The states reached without a byte are found in one
 * pass over the set.
 *
 * Regular expressions are the C library's, between `^(` and `)$` (without the `$` for a prefix).
 * Its compiler expands repetitions (`((a{255}){255}){255}` takes all memory) and its back
 * references take exponential time, so expressions are checked first. It creates the sets of an
 * expression's states while matching and keeps them all: an expression like `.*a.{16}` can use some
 * megabytes over many names.
 *
 * If memory runs out in regexec(), the name does not match, since regexec() cannot report it.
 *
 * Not supported in globs: classes (`[[:digit:]]`), which are rejected, and multibyte characters.
 */
#include "base/matcher.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

/* --- globs: from the text to states ----------------------------------------------------------- */

/* A byte of text makes two states at most; one more is at either end. */
#define GLOB_STATES_MAX (2 * MATCHER_TEXT_MAX + 2)
#define WORD_BITS	64
#define WORDS_MAX	((GLOB_STATES_MAX + WORD_BITS - 1) / WORD_BITS)

enum glob_kind {
	GLOB_BYTE, /* consumes this byte */
	GLOB_ANY,  /* consumes any byte */
	GLOB_SET,  /* consumes a byte of set `to` */
	GLOB_STAR, /* consumes any byte and stays, or goes on without one */
	GLOB_FORK, /* consumes nothing: goes to the next state and to `to` */
	GLOB_JUMP, /* consumes nothing: goes to `to` */
	GLOB_END,
};

struct glob_state {
	uint8_t kind; /* enum glob_kind */
	uint8_t byte;
	uint16_t to;
};

struct glob_set {
	uint64_t bytes[4]; /* one bit each */
};

struct glob {
	struct glob_state *states; /* from the first to GLOB_END */
	size_t nr_states, cap_states;
	struct glob_set *sets;
	size_t nr_sets, cap_sets;
	size_t nr_words; /* of a bit set of states */
	uint64_t *last;	 /* states in which a name may end, also via transitions without a byte */
	uint64_t *all;	 /* states from which a star matches any rest */
};

/*
 * An alternative is `FORK ... JUMP`: the fork also goes to the next alternative, the jump to the
 * state after the last one. Only at the closing parenthesis is it known if it contains
 * alternatives; until then the opening one is a fork, which becomes the byte `(` if there was no
 * `|`.
 */
#define GLOB_DEPTH_MAX 64

/* An open parenthesis; the first one represents the whole text. */
struct glob_group {
	size_t at;
	size_t fork;  /* of the alternative being read */
	size_t jumps; /* the last jump so far; its `to` is the one before; 0: none */
};

struct glob_parser {
	const char *text;
	size_t nr, at;
	bool is_plain; /* no alternatives, and nothing is rejected */
	struct glob *glob;
	struct glob_group groups[GLOB_DEPTH_MAX];
	size_t nr_groups;
	struct matcher_error *error;
};

static int fail_glob(struct glob_parser *parser, size_t at, const char *what)
{
	*parser->error = (struct matcher_error){.at = at, .what = what};
	return what ? -EINVAL : -ENOMEM;
}

static int add_state(struct glob_parser *parser, enum glob_kind kind, uint8_t byte, size_t to)
{
	struct glob *glob = parser->glob;

	if (ARRAY_ADD(glob->states, glob->nr_states, glob->cap_states,
		      (struct glob_state){
			      .kind = (uint8_t)kind, .byte = byte, .to = (uint16_t)to}) < 0)
		return fail_glob(parser, 0, NULL);
	return 0;
}

static int open_glob_group(struct glob_parser *parser)
{
	if (parser->nr_groups == GLOB_DEPTH_MAX)
		return fail_glob(parser, parser->at, "parentheses nested too deep");
	parser->groups[parser->nr_groups++] = (struct glob_group){
		.at = parser->at,
		.fork = parser->glob->nr_states,
	};
	return add_state(parser, GLOB_FORK, 0, 0);
}

static int next_alternative(struct glob_parser *parser)
{
	struct glob_group *group = &parser->groups[parser->nr_groups - 1];
	size_t jump = parser->glob->nr_states;

	if (add_state(parser, GLOB_JUMP, 0, group->jumps) < 0)
		return -ENOMEM;
	group->jumps = jump;
	parser->glob->states[group->fork].to = (uint16_t)parser->glob->nr_states;
	group->fork = parser->glob->nr_states;
	return add_state(parser, GLOB_FORK, 0, 0);
}

/* The last alternative needs no fork; all alternatives continue at the current end. */
static void join_alternatives(struct glob_parser *parser, const struct glob_group *group)
{
	struct glob_state *states = parser->glob->states;
	size_t jump = group->jumps, before;

	states[group->fork].kind = GLOB_JUMP;
	states[group->fork].to = (uint16_t)(group->fork + 1);
	for (; jump; jump = before) {
		before = states[jump].to;
		states[jump].to = (uint16_t)parser->glob->nr_states;
	}
}

static int close_glob_group(struct glob_parser *parser)
{
	const struct glob_group *group = &parser->groups[parser->nr_groups - 1];

	if (parser->nr_groups == 1)
		return fail_glob(parser, parser->at, "no '(' for this ')'");
	parser->nr_groups--;
	if (group->jumps) {
		join_alternatives(parser, group);
		return 0;
	}
	parser->glob->states[group->fork] = (struct glob_state){.kind = GLOB_BYTE, .byte = '('};
	return add_state(parser, GLOB_BYTE, ')', 0);
}

/* Reads a member of a set, which may be escaped. */
static int read_member(struct glob_parser *parser, size_t open, uint8_t *ret)
{
	if (parser->at < parser->nr && parser->text[parser->at] == '\\')
		parser->at++;
	if (parser->at >= parser->nr)
		return fail_glob(parser, open, "no ']' for this '['");
	*ret = (uint8_t)parser->text[parser->at++];
	return 0;
}

static bool is_at(const struct glob_parser *parser, size_t at, char byte)
{
	return at < parser->nr && parser->text[at] == byte;
}

/* Reads `a` or `a-z`; a `-` before the `]` is a member. */
static int read_range(struct glob_parser *parser, size_t open, struct glob_set *set)
{
	size_t start = parser->at;
	uint8_t first, last;
	unsigned byte;

	if (is_at(parser, start, '[') && is_at(parser, start + 1, ':'))
		return fail_glob(parser, start, "classes like [:digit:] need a regular expression");
	if (read_member(parser, open, &first) < 0)
		return -EINVAL;
	last = first;
	if (is_at(parser, parser->at, '-') && !is_at(parser, parser->at + 1, ']')) {
		parser->at++;
		if (read_member(parser, open, &last) < 0)
			return -EINVAL;
	}
	if (last < first)
		return fail_glob(parser, start, "invalid range: end before start");
	for (byte = first; byte <= last; byte++)
		set->bytes[byte / 64] |= 1ULL << byte % 64;
	return 0;
}

static int read_set(struct glob_parser *parser)
{
	struct glob *glob = parser->glob;
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
	if (ARRAY_ADD(glob->sets, glob->nr_sets, glob->cap_sets, set) < 0)
		return fail_glob(parser, 0, NULL);
	return add_state(parser, GLOB_SET, 0, glob->nr_sets - 1);
}

/* Reads the element at `at` and moves past it. */
static int read_glob_next(struct glob_parser *parser)
{
	const struct glob *glob = parser->glob;
	char byte = parser->text[parser->at];
	size_t start = parser->at;
	int err = 0;

	if (parser->is_plain && strchr("(|)", byte)) {
		parser->at++;
		return add_state(parser, GLOB_BYTE, (uint8_t)byte, 0);
	}
	switch (byte) {
	case '*':
		/*
		 * Consecutive stars are merged. After a `)`, a preceding star state belongs to the
		 * last alternative, so it is not the same star.
		 */
		if (!parser->at || parser->text[parser->at - 1] != '*' ||
		    glob->states[glob->nr_states - 1].kind != GLOB_STAR)
			err = add_state(parser, GLOB_STAR, 0, 0);
		break;
	case '?':
		err = add_state(parser, GLOB_ANY, 0, 0);
		break;
	case '[':
		err = read_set(parser);
		if (err != -EINVAL || !parser->is_plain)
			return err;
		parser->at = start;
		err = add_state(parser, GLOB_BYTE, '[', 0);
		break;
	case '(':
		err = open_glob_group(parser);
		break;
	case '|':
		err = next_alternative(parser);
		break;
	case ')':
		err = close_glob_group(parser);
		break;
	case '\\':
		if (parser->at + 1 < parser->nr)
			byte = parser->text[++parser->at];
		else if (!parser->is_plain)
			return fail_glob(parser, parser->at, "nothing after this '\\'");
		/* fall through */
	default:
		err = add_state(parser, GLOB_BYTE, (uint8_t)byte, 0);
	}
	parser->at++;
	return err;
}

/* Parses into an empty glob, which the caller must clear in any case. 0, -EINVAL or -ENOMEM. */
static int glob_parse(struct glob *glob, const char *text, bool is_plain,
		      struct matcher_error *error)
{
	struct glob_parser parser = {.text = text,
				     .nr = strlen(text),
				     .is_plain = is_plain,
				     .glob = glob,
				     .error = error};
	int err = open_glob_group(&parser);

	while (!err && parser.at < parser.nr)
		err = read_glob_next(&parser);
	if (err < 0)
		return err;
	if (parser.nr_groups > 1)
		return fail_glob(&parser, parser.groups[parser.nr_groups - 1].at,
				 "no ')' for this '('");
	join_alternatives(&parser, &parser.groups[0]);
	return add_state(&parser, GLOB_END, 0, 0);
}

static void glob_clear(struct glob *glob)
{
	free(glob->states);
	free(glob->sets);
	free(glob->last);
	free(glob->all);
	*glob = (struct glob){0};
}

/* --- globs: matching a name ------------------------------------------------------------------- */

static bool has(const uint64_t *set, size_t state)
{
	return set[state / WORD_BITS] >> state % WORD_BITS & 1;
}

static void add(uint64_t *set, size_t state)
{
	set[state / WORD_BITS] |= 1ULL << state % WORD_BITS;
}

static bool has_common(const struct glob *glob, const uint64_t *a, const uint64_t *b)
{
	size_t i;

	for (i = 0; i < glob->nr_words; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

/*
 * Adds the state's successors: those reached without a byte to `from`, those with this byte to
 * `to`.
 */
static void step_state(const struct glob *glob, size_t state, uint8_t byte, uint64_t *from,
		       uint64_t *to)
{
	const struct glob_state *at = &glob->states[state];
	bool takes = false;

	switch (at->kind) {
	case GLOB_FORK:
		add(from, state + 1);
		add(from, at->to);
		break;
	case GLOB_JUMP:
		add(from, at->to);
		break;
	case GLOB_STAR:
		add(from, state + 1);
		add(to, state);
		break;
	case GLOB_BYTE:
		takes = at->byte == byte;
		break;
	case GLOB_SET:
		takes = glob->sets[at->to].bytes[byte / 64] >> byte % 64 & 1;
		break;
	case GLOB_ANY:
		takes = true;
		break;
	default: /* GLOB_END consumes nothing */
		break;
	}
	if (takes)
		add(to, state + 1);
}

/*
 * Computes the next set of states; false if it is empty. Transitions lead forward only, so states
 * added to `from` on the way are still ahead.
 */
static bool step(const struct glob *glob, uint64_t *from, uint8_t byte, uint64_t *to)
{
	uint64_t any = 0;
	size_t i;

	memset(to, 0, glob->nr_words * sizeof(*to));
	for (i = 0; i < glob->nr_words; i++) {
		uint64_t done = 0;

		while (from[i] & ~done) {
			unsigned bit = (unsigned)__builtin_ctzll(from[i] & ~done);

			done |= 1ULL << bit;
			step_state(glob, i * WORD_BITS + bit, byte, from, to);
		}
	}
	for (i = 0; i < glob->nr_words; i++)
		any |= to[i];
	return any;
}

static bool glob_fits_name(const struct glob *glob, const char *name)
{
	uint64_t sets[2][WORDS_MAX];
	unsigned at = 0;

	memset(sets[0], 0, glob->nr_words * sizeof(sets[0][0]));
	add(sets[0], 0);
	for (;; name++, at ^= 1) {
		if (has_common(glob, sets[at], glob->all))
			return true;
		if (!*name)
			return has_common(glob, sets[at], glob->last);
		if (!step(glob, sets[at], (uint8_t)*name, sets[at ^ 1]))
			return false;
	}
}

/* Finds the final states from the end backwards, as transitions lead forward only. 0 or -ENOMEM. */
static int glob_prepare(struct glob *glob)
{
	size_t state = glob->nr_states;

	glob->nr_words = (glob->nr_states + WORD_BITS - 1) / WORD_BITS;
	glob->last = calloc(glob->nr_words, sizeof(*glob->last));
	glob->all = calloc(glob->nr_words, sizeof(*glob->all));
	if (!glob->last || !glob->all)
		return -ENOMEM;
	while (state-- > 0) {
		const struct glob_state *at = &glob->states[state];
		bool goes_on = at->kind == GLOB_STAR || at->kind == GLOB_FORK;
		bool goes_to = at->kind == GLOB_JUMP || at->kind == GLOB_FORK;

		if (at->kind == GLOB_END || (goes_on && has(glob->last, state + 1)) ||
		    (goes_to && has(glob->last, at->to)))
			add(glob->last, state);
		if ((at->kind == GLOB_STAR && has(glob->last, state)) ||
		    (goes_on && has(glob->all, state + 1)) || (goes_to && has(glob->all, at->to)))
			add(glob->all, state);
	}
	return 0;
}

/* --- regular expressions: limits -------------------------------------------------------------- */

#define REGEX_COPIES_MAX 2000 /* characters and operators, after expanding all repetitions */
#define REGEX_DEPTH_MAX	 64

struct regex_group {
	size_t at;
	size_t size; /* in characters and operators so far, expanded */
	size_t last; /* those of the last item, the one a repetition applies to; 0: there is none */
	/* Each is true if this may match nothing: the last item, what is before it in this branch, an earlier branch. */
	bool is_last_empty, is_before_empty, is_branch_empty;
};

struct regex_scan {
	const char *text;
	size_t nr, at;
	struct regex_group groups[REGEX_DEPTH_MAX]; /* the first one is the whole text */
	size_t nr_groups;
	struct matcher_error *error;
};

static int fail_regex(struct regex_scan *scan, size_t at, const char *what)
{
	*scan->error = (struct matcher_error){.at = at, .what = what};
	return -EINVAL;
}

static struct regex_group *innermost(struct regex_scan *scan)
{
	return &scan->groups[scan->nr_groups - 1];
}

static void add_last(struct regex_scan *scan, size_t size, bool is_empty)
{
	struct regex_group *group = innermost(scan);

	group->last = size;
	group->size += size;
	group->is_before_empty = group->is_before_empty && group->is_last_empty;
	group->is_last_empty = is_empty;
}

/* A repetition does not apply to an anchor, nor at the start of a branch: the C library ignores or refuses it. */
static void add_anchor(struct regex_scan *scan)
{
	add_last(scan, 1, true);
	innermost(scan)->last = 0;
}

static bool may_be_empty(const struct regex_group *group)
{
	return group->is_branch_empty || (group->is_before_empty && group->is_last_empty);
}

static void begin_group(struct regex_scan *scan)
{
	scan->groups[scan->nr_groups++] = (struct regex_group){
		.at = scan->at, .is_last_empty = true, .is_before_empty = true};
}

static void begin_branch(struct regex_scan *scan)
{
	struct regex_group *group = innermost(scan);

	group->is_branch_empty = may_be_empty(group);
	group->is_last_empty = group->is_before_empty = true;
	group->last = 0;
	group->size++;
}

static int open_regex_group(struct regex_scan *scan)
{
	if (scan->nr_groups == REGEX_DEPTH_MAX)
		return fail_regex(scan, scan->at, "parentheses nested too deep");
	begin_group(scan);
	scan->at++;
	return 0;
}

/*
 * An unmatched `)` must be found here: the C library would match it with the `(` that we put around
 * the text.
 */
static int close_regex_group(struct regex_scan *scan)
{
	const size_t size = innermost(scan)->size + 1;
	const bool is_empty = may_be_empty(innermost(scan));

	if (scan->nr_groups == 1)
		return fail_regex(scan, scan->at, "no '(' for this ')'");
	scan->nr_groups--;
	scan->at++;
	add_last(scan, size, is_empty);
	return 0;
}

/*
 * Skips a set: `[`, an optional `^`, a `]` that is a member, and so on up to the `]` outside [: :],
 * [. .] and [= =].
 */
static int skip_regex_set(struct regex_scan *scan)
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
			return fail_regex(scan, i, "unterminated character class");
		i = (size_t)(found + 1 - scan->text);
	}
	if (i >= scan->nr)
		return fail_regex(scan, open, "no ']' for this '['");
	scan->at = i + 1;
	add_last(scan, 1, false);
	return 0;
}

static int skip_regex_escape(struct regex_scan *scan)
{
	if (scan->at + 1 >= scan->nr)
		return fail_regex(scan, scan->at, "nothing after this '\\'");
	if (isdigit((unsigned char)scan->text[scan->at + 1]))
		return fail_regex(scan, scan->at, "back references are not supported");
	if (strchr("bB<>`'", scan->text[scan->at + 1]))
		add_anchor(scan);
	else
		add_last(scan, 1, false);
	scan->at += 2;
	return 0;
}

/*
 * Accounts for a repetition of the last item: as many copies, or without end. The C library follows the ways through a
 * repetition without end of what may be empty, such as (a*)*, each time again, and there are exponentially many if what
 * is before it may be empty, too.
 */
static int repeat_last(struct regex_scan *scan, size_t at, size_t times, bool is_endless)
{
	struct regex_group *group = innermost(scan);

	if (is_endless && group->last && group->is_last_empty)
		return fail_regex(scan, at, "this repeats without end what may be empty");
	group->size += group->last * (times - 1);
	group->last *= times;
	if (group->size > REGEX_COPIES_MAX)
		return fail_regex(scan, at, "too many repetitions");
	return 0;
}

/* Reads a number; it stops growing when it is over the limit. */
static size_t read_count(struct regex_scan *scan)
{
	size_t count = 0;

	for (; isdigit((unsigned char)scan->text[scan->at]); scan->at++)
		if (count <= REGEX_COPIES_MAX)
			count = count * 10 + (size_t)(scan->text[scan->at] - '0');
	return count;
}

/* `{n}`, `{n,}`, `{n,m}`. */
static int read_counts(struct regex_scan *scan)
{
	size_t open = scan->at++, least, most;
	bool has_least = isdigit((unsigned char)scan->text[scan->at]);
	bool is_endless = false;
	int err;

	least = most = read_count(scan);
	if (has_least && scan->text[scan->at] == ',') {
		scan->at++;
		is_endless = !isdigit((unsigned char)scan->text[scan->at]);
		most = is_endless ? least + 1 : read_count(scan);
	}
	if (!has_least || scan->text[scan->at] != '}' || most < least)
		return fail_regex(scan, open,
				  "'{' starts {n}, {n,} or {n,m}; a literal one is '\\{'");
	scan->at++;
	err = repeat_last(scan, open, most ? most : 1, is_endless);
	innermost(scan)->is_last_empty |= !least;
	return err;
}

/* `+` is expanded to one item and a starred one. `*` and `?` are copied with their item, so they count. */
static int read_operator(struct regex_scan *scan)
{
	const size_t at = scan->at++;
	struct regex_group *group = innermost(scan);
	int err = 0;

	switch (scan->text[at]) {
	case '+':
		return repeat_last(scan, at, 2, true);
	case '*':
		err = repeat_last(scan, at, 1, true);
		/* fallthrough */
	case '?':
		group->is_last_empty = true;
		group->last += group->last > 0;
		group->size++;
		return err;
	case '|':
		begin_branch(scan);
		return 0;
	case '^':
	case '$':
		add_anchor(scan);
		return 0;
	default:
		add_last(scan, 1, false);
		return 0;
	}
}

static int read_regex_next(struct regex_scan *scan)
{
	switch (scan->text[scan->at]) {
	case '(':
		return open_regex_group(scan);
	case ')':
		return close_regex_group(scan);
	case '[':
		return skip_regex_set(scan);
	case '\\':
		return skip_regex_escape(scan);
	case '{':
		return read_counts(scan);
	default:
		return read_operator(scan);
	}
}

static int regex_check_limits(const char *text, size_t nr, struct matcher_error *error)
{
	struct regex_scan scan = {.text = text, .nr = nr, .error = error};
	int err = 0;

	begin_group(&scan);
	while (!err && scan.at < nr)
		err = read_regex_next(&scan);
	if (!err && scan.nr_groups > 1)
		return fail_regex(&scan, innermost(&scan)->at, "no ')' for this '('");
	return err;
}

/* --- matchers --------------------------------------------------------------------------------- */

struct matcher {
	char *only; /* if set, the only name that matches */
	struct glob glob;
	bool has_regex;
	bool is_any;
	regex_t regex;
};

/* If all states between the first and the last are bytes, only one name matches. */
static int set_glob(struct matcher *matcher, const char *text, bool is_plain,
		    struct matcher_error *error)
{
	struct glob *glob = &matcher->glob;
	int err = glob_parse(glob, text, is_plain, error);
	size_t nr, i;

	if (err < 0)
		return err;
	nr = glob->nr_states - 2;
	for (i = 0; i < nr && glob->states[i + 1].kind == GLOB_BYTE; i++)
		;
	if (i < nr) {
		err = glob_prepare(glob);
		matcher->is_any = !err && has(glob->all, 0);
		return err;
	}
	matcher->only = malloc(nr + 1);
	if (!matcher->only)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		matcher->only[i] = (char)glob->states[i + 1].byte;
	matcher->only[nr] = '\0';
	return 0;
}

/* Errors that regcomp() may still report after regex_check_limits(). */
static const char *regex_fault(int code)
{
	static const struct {
		int code;
		const char *what;
	} faults[] = {
		{REG_ECTYPE, "unknown character class"},
		{REG_ECOLLATE, "unknown character between '[.' and '.]'"},
		{REG_ERANGE, "invalid range: end before start"},
		{REG_BADRPT, "nothing to repeat before '*', '+', '?' or '{'"},
		{REG_BADBR, "invalid repetition"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i].code == code)
			return faults[i].what;
	return "invalid regular expression";
}

/*
 * The name in a text like `malloc` or `^malloc$`; the text is modified. NULL if it contains
 * operators. For a prefix the `$` is required.
 */
static const char *plain_regex(char *text, bool is_prefix)
{
	size_t nr = strlen(text), i;

	if (nr && text[nr - 1] == '$')
		text[--nr] = '\0';
	else if (is_prefix)
		return NULL;
	text += text[0] == '^';
	for (i = 0; text[i]; i++)
		if (strchr("^$.[]()|*+?{}\\", text[i]))
			return NULL;
	return text;
}

static int set_regex(struct matcher *matcher, const char *text, enum matcher_kind kind,
		     struct matcher_error *error)
{
	cleanup_free char *anchored = NULL, *copy = NULL;
	const char *plain;
	int code;

	if (regex_check_limits(text, strlen(text), error) < 0)
		return -EINVAL;
	anchored = kind == MATCHER_SEARCH
			   ? strdup(text)
			   : text_printf("^(%s)%s", text, kind == MATCHER_REGEX ? "$" : "");
	if (!anchored)
		return -ENOMEM;
	code = regcomp(&matcher->regex, anchored,
		       kind == MATCHER_SEARCH ? REG_EXTENDED : REG_EXTENDED | REG_NOSUB);
	if (code == REG_ESPACE)
		return -ENOMEM;
	if (code) {
		error->what = regex_fault(code);
		return -EINVAL;
	}
	matcher->has_regex = true;
	if (kind == MATCHER_SEARCH)
		return 0;
	matcher->is_any = !strcmp(text, ".*") || !strcmp(text, "^.*$") || !strcmp(text, "^.*");
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	plain = plain_regex(copy, kind == MATCHER_PREFIX);
	if (!plain)
		return 0;
	matcher->only = strdup(plain);
	return matcher->only ? 0 : -ENOMEM;
}

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

struct matcher *matcher_new(const char *text, size_t nr, enum matcher_kind kind,
			    struct matcher_error *error)
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
	if (kind == MATCHER_GLOB || kind == MATCHER_PLAIN_GLOB)
		err = set_glob(matcher, copy, kind == MATCHER_PLAIN_GLOB, error);
	else
		err = set_regex(matcher, copy, kind, error);
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
	glob_clear(&matcher->glob);
	if (matcher->has_regex)
		regfree(&matcher->regex);
	free(matcher);
}

bool matcher_matches(const struct matcher *matcher, const char *name)
{
	if (matcher->is_any)
		return true;
	if (matcher->only)
		return !strcmp(matcher->only, name);
	if (matcher->has_regex)
		return !regexec(&matcher->regex, name, 0, NULL, 0);
	return glob_fits_name(&matcher->glob, name);
}

bool matcher_find(const struct matcher *matcher, const char *name, regmatch_t parts[MATCHER_PARTS])
{
	return regexec(&matcher->regex, name, MATCHER_PARTS, parts, 0) == 0;
}

const char *matcher_only_name(const struct matcher *matcher)
{
	return matcher->only;
}

bool matcher_is_any(const struct matcher *matcher)
{
	return matcher->is_any;
}

/* --- filters ---------------------------------------------------------------------------------- */

bool name_filter_wants(const struct name_filter *filter, const char *name)
{
	size_t i;

	if (filter->only && !matcher_matches(filter->only, name))
		return false;
	for (i = 0; i < filter->nr_excluded; i++)
		if (matcher_matches(filter->excluded[i], name))
			return false;
	return true;
}

bool name_filter_is_any(const struct name_filter *filter)
{
	return !filter->only && !filter->nr_excluded;
}

void name_filter_clear(struct name_filter *filter)
{
	matcher_free(filter->only);
	while (filter->nr_excluded)
		matcher_free(filter->excluded[--filter->nr_excluded]);
	filter->only = NULL;
}
