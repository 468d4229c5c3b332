/*
 * Arbitrary options of `stook tally`: compiles them, checks the invariants that the BPF programs
 * rely on, and executes the steps with the code that runs in the kernel. Lines are --by, --value,
 * --where and --linear.
 *
 *	make fuzz && tests/fuzz/seeds_expression.sh FOLDER && build/fuzz/fuzz_expression FOLDER
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/tally_steps.h"
#include "fuzz/fuzz.h"
#include "probe/expression/tally_query.h"

#define LINES	  4
#define MAX_BYTES 4096

/* True if the word has a value when the step runs: an operand or an earlier step's result. */
static bool is_word(const struct tally_plan *plan, size_t nr_steps, uint8_t word)
{
	return word < plan->nr_operands ||
	       (word >= TALLY_MAX_OPERANDS && word < TALLY_MAX_OPERANDS + nr_steps);
}

static void check_step(const struct tally_plan *plan, size_t i, size_t nr_literals)
{
	const struct tally_step *step = &plan->steps[i];

	expect(step->to == TALLY_MAX_OPERANDS + i && step->to < TALLY_MAX_NUMBERS);
	expect(step->operation <= TALLY_SAME_TEXT);
	if (step->operation == TALLY_CONSTANT)
		return;
	if (step->operation == TALLY_SAME_TEXT) {
		expect(step->left < plan->nr_texts);
		expect((uint64_t)step->number < nr_literals);
		return;
	}
	expect(is_word(plan, i, step->left));
	if (step->operation == TALLY_SIGNED || step->operation == TALLY_UNSIGNED)
		expect(step->number >= 0 && step->number < 64);
	else if (step->operation != TALLY_NOT)
		expect(is_word(plan, i, step->right));
}

static void check_key_word(const struct tally_plan *plan, uint8_t word)
{
	if (word < TALLY_MAX_NUMBERS)
		expect(is_word(plan, plan->nr_steps, word));
	else
		expect(word < TALLY_MAX_NUMBERS + plan->nr_texts * TALLY_TEXT_WORDS);
}

static void check_plan(const struct tally_plan *plan, size_t nr_literals)
{
	size_t i;

	expect(plan->nr_operands <= TALLY_MAX_OPERANDS && plan->nr_texts <= TALLY_MAX_TEXTS);
	expect(plan->nr_steps <= TALLY_MAX_STEPS && plan->nr_key <= TALLY_MAX_KEY);
	expect(nr_literals <= TALLY_MAX_LITERALS && plan->nr_buckets <= TALLY_MAX_BUCKETS);
	expect(plan->divisor && plan->step > 0);
	for (i = 0; i < plan->nr_steps; i++)
		check_step(plan, i, nr_literals);
	for (i = 0; i < plan->nr_key; i++)
		check_key_word(plan, plan->key[i]);
	for (i = 0; i < plan->nr_texts; i++)
		expect(plan->texts[i].kind == TALLY_TEXT_COMM ||
		       plan->texts[i].word < plan->nr_operands);
	expect(plan->where == TALLY_NO_WORD || is_word(plan, plan->nr_steps, plan->where));
	expect(plan->value == TALLY_NO_WORD || is_word(plan, plan->nr_steps, plan->value));
}

/* Aborts unless the buckets are contiguous. */
static void check_buckets(const struct tally_plan *plan)
{
	int64_t from, to, end = INT64_MIN;
	uint32_t i;

	for (i = 0; i < plan->nr_buckets; i++) {
		(void)tally_bucket_range(plan, i, &from, &to);
		expect(from == end && (to >= from || plan->histogram == TALLY_LINEAR));
		end = (int64_t)((uint64_t)to + 1);
	}
}

static void take_steps(const struct tally_plan *plan)
{
	static const int64_t some[] = {0, -1, INT64_MIN, INT64_MAX, 63, 4096};
	struct tally_values values = {0};
	size_t turn, i;

	for (turn = 0; turn < 6; turn++) {
		values.unknown = turn == 5 ? 5 : 0;
		values.unknown_texts = turn == 5;
		for (i = 0; i < TALLY_MAX_OPERANDS; i++)
			values.words[i] = some[(turn + i) % 6];
		tally_run_steps(&values, plan);
	}
}

static bool is_text(void *context, const char *field)
{
	return field[0] == 't';
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	char text[MAX_BYTES + 1], *lines[LINES] = {NULL}, *rest = text;
	struct tally_query_options options = {.is_text = is_text};
	struct tally_query query;
	struct error error = {0};
	size_t i;

	if (nr > MAX_BYTES)
		return 0;
	memcpy(text, bytes, nr);
	text[nr] = '\0';
	for (i = 0; i < LINES && rest; i++)
		lines[i] = strsep(&rest, "\n");
	options.by = lines[0];
	options.value = lines[1] && *lines[1] ? lines[1] : NULL;
	options.where = lines[2] && *lines[2] ? lines[2] : NULL;
	options.linear = lines[3] && *lines[3] ? lines[3] : NULL;
	options.log2 = options.value && !options.linear;
	if (tally_query_compile(&options, &query, &error) < 0) {
		expect(error.code < 0 && *error.text);
		return 0;
	}
	check_plan(&query.program.plan, query.program.nr_literals);
	check_buckets(&query.program.plan);
	take_steps(&query.program.plan);
	return 0;
}
