/*
 * Parses the options and compiles their expressions. A key takes one word for a number, two for a
 * thread's name, eight for any other string.
 */
#include "probe/expression/tally_query.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define COMM_WORDS   2
#define LINEAR_PARTS 3

/* The unit of latencies with --hist; --linear gives its own. */
#define TIME_DIVISOR NS_PER_US

/* An item of a comma-separated list, without surrounding blanks. */
struct part {
	const char *text;
	size_t nr;
};

/*
 * Parses the next item; ignores commas inside parentheses and quotes. Returns the start of the next
 * one, or NULL after the last.
 */
static const char *next_part(const char *text, struct part *ret)
{
	const char *at;
	size_t depth = 0;
	char quote = 0;

	for (at = text; *at; at++) {
		if (quote && *at == '\\' && at[1])
			at++;
		else if (quote)
			quote = *at == quote ? 0 : quote;
		else if (*at == '"' || *at == '\'')
			quote = *at;
		else if (*at == ',' && !depth)
			break;
		else if (*at == '(')
			depth++;
		else if (*at == ')' && depth)
			depth--;
	}
	ret->text = text;
	ret->nr = (size_t)(at - text);
	while (ret->nr && isspace((unsigned char)*ret->text)) {
		ret->text++;
		ret->nr--;
	}
	while (ret->nr && isspace((unsigned char)ret->text[ret->nr - 1]))
		ret->nr--;
	return *at ? at + 1 : NULL;
}

static bool part_is(const struct part *part, const char *word)
{
	return part->nr == strlen(word) && !memcmp(part->text, word, part->nr);
}

static void copy_name(char *name, const struct part *part)
{
	(void)snprintf(name, TALLY_KEY_NAME_BYTES, "%.*s", (int)part->nr, part->text);
}

/* --- keys ------------------------------------------------------------------------------------ */

static int add_words(struct tally_query *query, struct tally_key *key, uint8_t word, uint8_t nr,
		     struct error *error)
{
	struct tally_plan *plan = &query->program.plan;
	uint8_t i;

	if (plan->nr_key + nr > TALLY_MAX_KEY)
		return error_set(error, -E2BIG, "the keys of --by exceed %d bytes",
				 TALLY_MAX_KEY * 8);
	key->first = plan->nr_key;
	key->nr = nr;
	for (i = 0; i < nr; i++)
		plan->key[plan->nr_key++] = (uint8_t)(word + i);
	return 0;
}

/* Strips hex(EXPRESSION), which affects only the display and is not part of the language. */
static bool take_hex(struct part *part)
{
	if (part->nr < 5 || strncmp(part->text, "hex(", 4) != 0 || part->text[part->nr - 1] != ')')
		return false;
	part->text += 4;
	part->nr -= 5;
	return true;
}

static enum tally_key_kind kind_of(const struct tally_query *query,
				   const struct expression *expression, bool is_hex)
{
	if (expression->is_text)
		return TALLY_KEY_TEXT;
	if (is_hex)
		return TALLY_KEY_HEX;
	if (expression->is_time)
		return TALLY_KEY_TIME;
	if (expression->where < query->program.plan.nr_operands &&
	    query->program.operands[expression->where].kind == TALLY_CGROUP)
		return TALLY_KEY_CGROUP;
	return expression->is_unsigned ? TALLY_KEY_UNSIGNED : TALLY_KEY_NUMBER;
}

static int add_key(struct tally_query *query, struct part part, struct error *error)
{
	struct tally_key *key = &query->keys[query->nr_keys];
	struct expression expression;
	bool is_hex, is_comm;
	int err;

	if (query->nr_keys == TALLY_KEYS_MAX)
		return error_set(error, -E2BIG, "more than %d keys in --by", TALLY_KEYS_MAX);
	if (part_is(&part, "stack") || part_is(&part, "ustack") || part_is(&part, "kstack")) {
		(void)error_set(error, -EINVAL, "'stook tally' cannot use stacks as keys");
		error_hint(error,
			   "'stook stackcount' counts by stack; its --weight arg2 sums a value");
		return -EINVAL;
	}
	query->nr_keys++;
	copy_name(key->name, &part);
	if (part_is(&part, "func")) {
		struct program *program = &query->program;
		uint8_t *nr = &program->plan.nr_operands;

		if (*nr == TALLY_MAX_OPERANDS)
			return error_set(error, -E2BIG, "more than %d operands",
					 TALLY_MAX_OPERANDS);
		key->kind = TALLY_KEY_FUNCTION;
		program->operands[*nr].kind = TALLY_FUNCTION;
		program->plan.operands[*nr] = TALLY_FUNCTION;
		return add_words(query, key, (*nr)++, 1, error);
	}
	is_comm = part_is(&part, "comm");
	is_hex = take_hex(&part);
	err = expression_compile(&query->program, part.text, part.nr, &expression, error);
	if (err)
		return err;
	key->kind = kind_of(query, &expression, is_hex);
	if (!expression.is_text)
		return add_words(query, key, expression.where, 1, error);
	return add_words(query, key,
			 (uint8_t)(TALLY_MAX_NUMBERS + expression.where * TALLY_TEXT_WORDS),
			 is_comm ? COMM_WORDS : TALLY_TEXT_WORDS, error);
}

/* --- values and filters ----------------------------------------------------------------------- */

static int add_number(struct tally_query *query, const char *option, const char *text,
		      struct expression *ret, struct error *error)
{
	int err = expression_compile(&query->program, text, strlen(text), ret, error);

	if (!err && ret->is_text)
		err = error_set(error, -EINVAL, "%s '%s' is a string, but must be a number", option,
				text);
	return err;
}

/* --- histograms ------------------------------------------------------------------------------ */

/* Parses a number in the syntax of the language, with an optional sign: compiled and not kept. */
static int parse_constant(struct part part, int64_t *ret)
{
	struct program program = {0};
	const struct tally_plan *plan = &program.plan;
	bool is_negative = part.nr && *part.text == '-';
	struct expression expression;
	uint64_t number;

	part.text += is_negative;
	part.nr -= is_negative;
	if (expression_compile(&program, part.text, part.nr, &expression, NULL) < 0)
		return -EINVAL;
	if (plan->nr_steps != 1 || plan->steps[0].operation != TALLY_CONSTANT)
		return -EINVAL;
	number = (uint64_t)plan->steps[0].number;
	if (number > (uint64_t)INT64_MAX + is_negative)
		return -EINVAL;
	*ret = (int64_t)(is_negative ? 0 - number : number);
	return 0;
}

static int bad_linear(const char *text, const char *wanted, struct error *error)
{
	return error_set(error, -EINVAL, "bad value '%s' for --linear: %s", text, wanted);
}

static int set_linear(struct tally_plan *plan, const char *text, struct error *error)
{
	int64_t numbers[LINEAR_PARTS];
	const char *at = text;
	uint64_t nr;
	size_t i;

	for (i = 0; i < LINEAR_PARTS; i++) {
		struct part part;

		if (!at)
			return bad_linear(text, "MIN,MAX,STEP", error);
		at = next_part(at, &part);
		if (parse_constant(part, &numbers[i]) < 0)
			return bad_linear(text, "MIN,MAX,STEP, three numbers", error);
	}
	if (at)
		return bad_linear(text, "MIN,MAX,STEP", error);
	if (numbers[1] <= numbers[0] || numbers[2] <= 0)
		return bad_linear(text, "MAX above MIN, and STEP above 0", error);
	nr = ((uint64_t)numbers[1] - (uint64_t)numbers[0] - 1) / (uint64_t)numbers[2] + 1;
	if (nr > TALLY_MAX_BUCKETS - 2)
		return bad_linear(text, "at most 256 steps", error);
	plan->histogram = TALLY_LINEAR;
	plan->nr_buckets = (uint32_t)nr + 2;
	plan->from = numbers[0];
	plan->step = numbers[2];
	return 0;
}

static int set_histogram(struct tally_query *query, const struct tally_query_options *options,
			 struct error *error)
{
	struct tally_plan *plan = &query->program.plan;

	plan->divisor = 1;
	plan->step = 1;
	if (!options->log2 && !options->linear)
		return 0;
	if (!options->value) {
		(void)error_set(error, -EINVAL, "--value is missing: a histogram needs a value");
		error_hint(error, "for instance --value arg1, or --value latency");
		return -EINVAL;
	}
	if (options->log2 && options->linear)
		return error_set(error, -EINVAL, "--hist and --linear cannot be combined");
	if (options->linear)
		return set_linear(plan, options->linear, error);
	plan->histogram = TALLY_LOG2;
	plan->nr_buckets = TALLY_LOG2_BUCKETS;
	plan->divisor = query->value_is_time ? TIME_DIVISOR : 1;
	return 0;
}

static bool range_of_log2(uint32_t bucket, int64_t *ret_from, int64_t *ret_to)
{
	if (!bucket) {
		*ret_from = INT64_MIN;
		*ret_to = -1;
		return false;
	}
	*ret_from = bucket == 1 ? 0 : (int64_t)(1ULL << (bucket - 2));
	*ret_to = bucket == 1 ? 0 : (int64_t)((1ULL << (bucket - 1)) - 1);
	return true;
}

bool tally_bucket_range(const struct tally_plan *plan, uint32_t bucket, int64_t *ret_from,
			int64_t *ret_to)
{
	uint64_t from = (uint64_t)plan->from + (bucket - 1ULL) * (uint64_t)plan->step;

	if (plan->histogram == TALLY_LOG2)
		return range_of_log2(bucket, ret_from, ret_to);
	*ret_from = bucket ? (int64_t)from : INT64_MIN;
	*ret_to = (int64_t)(from + (uint64_t)plan->step - 1);
	if (!bucket)
		*ret_to = plan->from - 1;
	if (bucket == plan->nr_buckets - 1)
		*ret_to = INT64_MAX;
	return bucket && bucket < plan->nr_buckets - 1;
}

/* --- all of it ------------------------------------------------------------------------------- */

void tally_query_pair(struct tally_query *query)
{
	query->needs_call = query->needs_return = true;
	query->program.plan.has_pairs = true;
}

int tally_query_compile(const struct tally_query_options *options, struct tally_query *ret,
			struct error *error)
{
	struct tally_query query = {
		.program = {.is_text = options->is_text, .context = options->context}};
	struct tally_plan *plan = &query.program.plan;
	const char *by = options->by ? options->by : "func";
	struct expression expression;
	struct part part;
	size_t i;
	int err = 0;

	plan->where = plan->value = TALLY_NO_WORD;
	while (by && !err) {
		by = next_part(by, &part);
		err = add_key(&query, part, error);
	}
	if (!err && options->value) {
		err = add_number(&query, "--value", options->value, &expression, error);
		if (!err) {
			part = (struct part){options->value, strlen(options->value)};
			plan->value = expression.where;
			query.value_is_time = expression.is_time;
			copy_name(query.value, &part);
		}
	}
	if (!err && options->where) {
		err = add_number(&query, "--where", options->where, &expression, error);
		if (!err)
			plan->where = expression.where;
	}
	if (!err)
		err = set_histogram(&query, options, error);
	if (err)
		return err;
	for (i = 0; i < plan->nr_operands; i++) {
		query.needs_call |= query.program.operands[i].kind == TALLY_AT_CALL;
		query.needs_return |= query.program.operands[i].kind == TALLY_AT_RETURN;
		plan->has_pairs |= query.program.operands[i].kind == TALLY_LATENCY;
	}
	if (plan->has_pairs || (query.needs_call && query.needs_return))
		tally_query_pair(&query);
	*ret = query;
	return 0;
}
