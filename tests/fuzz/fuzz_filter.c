/*
 * Arbitrary filters of tracepoints. The first line is the filter; the rest are lines of the tracepoint's format, behind
 * the fixture's. A filter of the fixture's own fields is run by an interpreter, and so are its negation, and
 * conjunctions and disjunctions with itself, which follow from it.
 *
 *	make fuzz && tests/fuzz/seeds_filters.sh FOLDER && build/fuzz/fuzz_filter FOLDER
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fuzz/fuzz.h"
#include "probe/find/tracepoint_filter.h"
#include "probe/find/tracepoints.h"
#include "unit/filter_fixture.h"

#define MAX_BYTES 6000

/* Jumps lead forward, to an instruction or to what follows; fields are in the record. */
static void check_instructions(const struct bpf_insn *instructions, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const uint8_t class = BPF_CLASS(instructions[i].code);
		const uint8_t operation = BPF_OP(instructions[i].code);

		if (class == BPF_JMP && operation != BPF_CALL && operation != BPF_EXIT)
			expect(instructions[i].off >= 0 &&
			       i + 1 + (size_t)instructions[i].off <= nr);
		expect(class != BPF_LDX || instructions[i].src_reg == BPF_REG_10 ||
		       instructions[i].off >= 8);
		if (class == BPF_LD)
			i++;
	}
}

/* 0: false; 1: true; or a negative errno. */
static int evaluate(const char *text)
{
	cleanup_free struct bpf_insn *instructions = NULL;
	struct error error = {0};
	size_t nr = 0;
	int err = tracepoint_filter_compile("a:b", format, text, &instructions, &nr, &error);

	if (err) {
		expect(error.code == err && *error.text && !instructions);
		return err;
	}
	check_instructions(instructions, nr);
	return run(instructions, nr);
}

/* What follows from a filter may be refused only for its length or its depth. */
static void check_follows(const char *pattern, const char *text, int expected)
{
	static char whole[3 * MAX_BYTES];
	int result;

	(void)snprintf(whole, sizeof(whole), pattern, text, text);
	result = evaluate(whole);
	expect(result == expected || result == -E2BIG ||
	       (result == -EINVAL && strlen(text) >= 16)); /* 16 levels at least */
}

static void check_other_format(const char *text, const char *lines)
{
	cleanup_free struct bpf_insn *instructions = NULL;
	static char both[sizeof(format) + MAX_BYTES];
	struct error error = {0};
	size_t nr = 0;

	(void)snprintf(both, sizeof(both), "%s%s", lines, format);
	if (tracepoint_filter_compile("a:b", both, text, &instructions, &nr, &error) < 0)
		expect(error.code < 0 && *error.text);
	else
		check_instructions(instructions, nr);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	char text[MAX_BYTES + 1], *lines = text, *filter;
	struct error error = {0};
	int result;

	if (nr > MAX_BYTES)
		return 0;
	memcpy(text, bytes, nr);
	text[nr] = '\0';
	filter = strsep(&lines, "\n");
	result = evaluate(filter);
	if (result >= 0) {
		check_follows("!(%s)", filter, !result);
		check_follows("(%s) && (%s)", filter, result);
		check_follows("!(%s) || (%s)", filter, 1);
	}
	expect(tracepoint_filter_explain("a:b", format, filter, &error) < 0 && *error.text);
	if (lines)
		check_other_format(filter, lines);
	return 0;
}
