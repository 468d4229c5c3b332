/*
 * A recursive descent parser that appends nodes to an array: operands come before their operator, so that a condition
 * is evaluated in one pass over the array, without recursion. Nesting is limited.
 */
#include "store/where.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/matcher.h"

#define MAX_DEPTH 64
#define MAX_NODES 256

enum node_kind {
	NODE_EXISTS,
	NODE_EQUALS,
	NODE_MATCHES,
	NODE_NOT,
	NODE_AND,
	NODE_OR,
};

struct node {
	enum node_kind kind;
	char *key, *text;
	struct matcher *matcher;
};

struct store_where {
	struct node *nodes;
	size_t nr, capacity;
};

struct parser {
	struct store_where *where;
	const char *text, *at;
	unsigned depth;
	struct error *error;
};

void store_where_free(struct store_where *where)
{
	size_t i;

	if (!where)
		return;
	for (i = 0; i < where->nr; i++) {
		free(where->nodes[i].key);
		free(where->nodes[i].text);
		matcher_free(where->nodes[i].matcher);
	}
	free(where->nodes);
	free(where);
}

static int fail(const struct parser *parser, const char *what)
{
	(void)error_set(parser->error, -EINVAL, "%s at character %zu of condition '%s'", what,
			(size_t)(parser->at - parser->text) + 1, parser->text);
	error_hint(parser->error,
		   "KEY=TEXT, KEY!=TEXT, KEY~REGEX, KEY, with && || ! and (); texts with "
		   "blanks or signs in double quotes");
	return -EINVAL;
}

static void skip_blanks(struct parser *parser)
{
	while (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n')
		parser->at++;
}

/* Skips a sign, if it comes next. */
static bool skip(struct parser *parser, const char *sign)
{
	skip_blanks(parser);
	if (strncmp(parser->at, sign, strlen(sign)) != 0)
		return false;
	parser->at += strlen(sign);
	return true;
}

static int add_node(struct parser *parser, const struct node *node)
{
	struct store_where *where = parser->where;

	if (where->nr == MAX_NODES)
		return fail(parser, "too many conditions");
	if (ARRAY_ADD(where->nodes, where->nr, where->capacity, *node) < 0)
		return error_no_memory(parser->error, "for a condition");
	return 0;
}

static int parse_quoted(struct parser *parser, char *to)
{
	for (parser->at++; *parser->at && *parser->at != '"'; parser->at++) {
		if (*parser->at == '\\' && (parser->at[1] == '"' || parser->at[1] == '\\'))
			parser->at++;
		*to++ = *parser->at;
	}
	*to = '\0';
	if (!*parser->at)
		return fail(parser, "missing '\"'");
	parser->at++;
	return 0;
}

/* A regular expression may contain signs, too, also a single '|', except blanks. */
static size_t unquoted_length(const char *at, bool is_regex)
{
	const char *const ends = is_regex ? " \t\n)&\"|" : " \t\n()&|!=~\"";
	size_t nr = strcspn(at, ends);

	while (is_regex && at[nr] == '|' && at[nr + 1] != '|')
		nr += 1 + strcspn(at + nr + 1, ends);
	return nr;
}

/* Parses a word or a quoted text; the caller frees *ret. */
static int parse_text(struct parser *parser, bool is_regex, char **ret)
{
	cleanup(cleanup_free_pointer) char *text = NULL;
	size_t nr;
	int result;

	skip_blanks(parser);
	text = malloc(strlen(parser->at) + 1);
	if (!text)
		return error_no_memory(parser->error, "for a condition");
	if (*parser->at == '"') {
		result = parse_quoted(parser, text);
		if (result < 0)
			return result;
	} else {
		nr = unquoted_length(parser->at, is_regex);
		if (!nr)
			return fail(parser,
				    is_regex ? "missing regular expression" : "missing text");
		memcpy(text, parser->at, nr);
		text[nr] = '\0';
		parser->at += nr;
	}
	*ret = take_pointer(&text);
	return 0;
}

static int parse_comparison(struct parser *parser)
{
	struct node node = {.kind = NODE_EXISTS}, not = {.kind = NODE_NOT};
	struct matcher_error reason;
	bool is_negated = false;
	int result = parse_text(parser, false, &node.key);

	if (result < 0)
		return result;
	if (skip(parser, "!=")) {
		node.kind = NODE_EQUALS;
		is_negated = true;
	} else if (skip(parser, "!~")) {
		node.kind = NODE_MATCHES;
		is_negated = true;
	} else if (skip(parser, "=")) {
		node.kind = NODE_EQUALS;
	} else if (skip(parser, "~")) {
		node.kind = NODE_MATCHES;
	}
	if (node.kind != NODE_EXISTS)
		result = parse_text(parser, node.kind == NODE_MATCHES, &node.text);
	if (!result && node.kind == NODE_MATCHES) {
		node.matcher = matcher_new(node.text, strlen(node.text), MATCHER_SEARCH, &reason);
		if (!node.matcher)
			result = fail(parser, reason.what ? reason.what : "out of memory");
	}
	if (!result)
		result = add_node(parser, &node);
	if (result < 0) {
		free(node.key);
		free(node.text);
		matcher_free(node.matcher);
		return result;
	}
	return is_negated ? add_node(parser, &not ) : 0;
}

static int parse_or(struct parser *parser);

static int parse_term(struct parser *parser)
{
	static const struct node not = {.kind = NODE_NOT};
	int result;

	if (++parser->depth > MAX_DEPTH)
		return fail(parser, "conditions are nested too deeply");
	if (skip(parser, "!")) {
		result = parse_term(parser);
		if (!result)
			result = add_node(parser, &not );
	} else if (skip(parser, "(")) {
		result = parse_or(parser);
		if (!result && !skip(parser, ")"))
			result = fail(parser, "missing ')'");
	} else {
		result = parse_comparison(parser);
	}
	parser->depth--;
	return result;
}

static int parse_and(struct parser *parser)
{
	static const struct node and = {.kind = NODE_AND};
	int result = parse_term(parser);

	while (!result && skip(parser, "&&"))
		result = parse_term(parser) ?: add_node(parser, &and);
	return result;
}

static int parse_or(struct parser *parser)
{
	static const struct node or = {.kind = NODE_OR};
	int result = parse_and(parser);

	while (!result && skip(parser, "||"))
		result = parse_and(parser) ?: add_node(parser, & or);
	return result;
}

struct store_where *store_where_parse(const char *text, struct error *error)
{
	struct parser parser = {.text = text, .at = text, .error = error};
	int result;

	parser.where = calloc(1, sizeof(*parser.where));
	if (!parser.where) {
		(void)error_no_memory(error, "for a condition");
		return NULL;
	}
	result = parse_or(&parser);
	skip_blanks(&parser);
	if (!result && *parser.at)
		result = fail(&parser, "unexpected text");
	if (!result)
		return parser.where;
	store_where_free(parser.where);
	return NULL;
}

static bool node_matches(const struct node *node, store_label_fn *label, void *context)
{
	const char *text = label(context, node->key);

	if (!text)
		text = "";
	switch (node->kind) {
	case NODE_EQUALS:
		return !strcmp(text, node->text);
	case NODE_MATCHES:
		return matcher_matches(node->matcher, text);
	default:
		return *text;
	}
}

bool store_where_matches(const struct store_where *where, store_label_fn *label, void *context)
{
	bool values[MAX_NODES];
	size_t depth = 0, i;

	for (i = 0; i < where->nr; i++) {
		const struct node *node = &where->nodes[i];

		switch (node->kind) {
		case NODE_NOT:
			values[depth - 1] = !values[depth - 1];
			break;
		case NODE_AND:
			depth--;
			values[depth - 1] = values[depth - 1] && values[depth];
			break;
		case NODE_OR:
			depth--;
			values[depth - 1] = values[depth - 1] || values[depth];
			break;
		default:
			values[depth++] = node_matches(node, label, context);
			break;
		}
	}
	return values[0];
}
