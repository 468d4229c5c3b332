/*
 * Converts call frame information to rows.
 *
 * There are two passes. The first one lists which function's entry describes which code, sorts the
 * list and resolves overlaps; .debug_frame fills the gaps of .eh_frame, and code without CFI that
 * is known otherwise (program entry points, signal returns) is inserted. The second pass runs the
 * programs in the order of addresses, so rows are produced sorted, merged and in one array, and
 * only the list is ever stored twice. All work is in proportion to the size of the sections: see
 * the limits in cfi_entries.c.
 *
 * Go's functions are described by Go's own table (go_frames.h), which has precedence over
 * .debug_frame: that has neither frame pointers nor the places where the runtime switches stacks.
 * Go code for arm64, and with a table that is not understood, is unwound by frame pointers, which
 * miss the caller of a function without a frame.
 */
#include "elf/unwind/unwind_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "elf/unwind/cfi_entries.h"
#include "elf/unwind/cfi_program.h"
#include "elf/unwind/code_frames.h"
#include "elf/unwind/code_spans.h"
#include "elf/unwind/go_frames.h"

#define RULES_MAX (1U << 20) /* LLVM has some thousands */

/* Maximum size of the code at a program's entry point if it has no CFI. */
#define ENTRY_MAX_BYTES 64

/* --- the compiler ---------------------------------------------------------------------------- */

/* The source that describes a span of code: a section, or one of ours. */
enum source {
	SOURCE_EH_FRAME,
	SOURCE_DEBUG_FRAME,
	SOURCE_OF_DEBUG_FILE,
	NR_SECTIONS,
	SOURCE_ENTRY = NR_SECTIONS,
	SOURCE_SIGNAL,
	SOURCE_CLONE, /* SOURCE_SIGNAL + 1: one search finds both */
	SOURCE_GO,
	SOURCE_GO_WITHOUT_TABLE,
	SOURCE_CODE,
};

struct compiler {
	struct unwind_rows *rows;
	const struct elf_image *image;
	const struct cfi_machine *machine;
	struct go_frames go_frames;
	struct code_frames code_frames;
	struct cfi_section sections[NR_SECTIONS];
	struct cfi_reader readers[NR_SECTIONS];
	struct cfi_program program;
	struct code_spans spans;
	struct u64_map numbers; /* of rules, by their hash */
	uint32_t last_rule;
	struct error *error;
};

/* --- rules and rows -------------------------------------------------------------------------- */

static int add_rule(struct compiler *compiler, const struct unwind_rule *rule, uint64_t key,
		    uint32_t *ret_number)
{
	struct unwind_rows *rows = compiler->rows;

	if (rows->nr_rules == RULES_MAX) {
		rows->nr_not_packed++;
		*ret_number = 0;
		return 0;
	}
	if (ARRAY_RESERVE(rows->rules, rows->rule_capacity, rows->nr_rules + 1) < 0 ||
	    u64_map_set(&compiler->numbers, key, rows->nr_rules) < 0)
		return error_no_memory(compiler->error, "for unwind rows");
	*ret_number = (uint32_t)rows->nr_rules;
	rows->rules[rows->nr_rules++] = *rule;
	return 0;
}

static uint64_t hash_rule(const struct unwind_rule *rule)
{
	uint64_t words[sizeof(*rule) / sizeof(uint64_t)];
	uint64_t hash = 0;
	size_t i;

	memcpy(words, rule, sizeof(words));
	for (i = 0; i < ARRAY_SIZE(words); i++)
		hash = hash_add(hash, words[i]);
	return hash;
}

/*
 * Finds or adds the rule's number. Most rows have the same rule as the row before, or a recent one.
 */
static int number_rule(struct compiler *compiler, const struct unwind_rule *rule,
		       uint32_t *ret_number)
{
	const struct unwind_rule *rules = compiler->rows->rules;
	uint64_t key, *number;
	int err;

	if (memcmp(&rules[compiler->last_rule], rule, sizeof(*rule))) {
		/* Rules with equal hashes have successive keys. */
		for (key = hash_rule(rule);; key++) {
			number = u64_map_find(&compiler->numbers, key);
			if (!number || !memcmp(&rules[*number], rule, sizeof(*rule)))
				break;
		}
		if (number) {
			compiler->last_rule = (uint32_t)*number;
		} else {
			err = add_rule(compiler, rule, key, &compiler->last_rule);
			if (err < 0)
				return err;
		}
	}
	*ret_number = compiler->last_rule;
	return 0;
}

/* Adds a row: the rule applies from this address on, which must be above all others. */
static int add_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct compiler *compiler = context;
	struct unwind_rows *rows = compiler->rows;
	uint32_t number = 0;
	int err = number_rule(compiler, rule, &number);

	if (err < 0 || (rows->nr_rows && rows->rows[rows->nr_rows - 1].rule == number))
		return err;
	if (rows->nr_rows == UNWIND_ROWS_MAX)
		return error_set(compiler->error, -E2BIG, "more than %u unwind rows",
				 UNWIND_ROWS_MAX);
	if (ARRAY_ADD(rows->rows, rows->nr_rows, rows->row_capacity,
		      (struct unwind_row){address, number}) < 0)
		return error_no_memory(compiler->error, "for unwind rows");
	return 0;
}

static int add_bare_row(struct compiler *compiler, uint64_t address, enum unwind_cfa cfa)
{
	struct unwind_rule rule = {.cfa = (uint8_t)cfa,
				   .is_signal_frame = cfa == UNWIND_CFA_SIGNAL};

	return add_row(compiler, address, &rule);
}

/* --- first pass: which source describes which code ------------------------------------------- */

static bool is_code(const struct elf_image *image, uint64_t start, uint64_t end)
{
	size_t i;

	for (i = 0; i < image->nr_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (start >= segment->vaddr && end <= segment->vaddr + segment->bytes)
			return true;
	}
	return false;
}

/*
 * Lists the functions of a section. Entries for code that is not in the file are left by linkers
 * for discarded functions.
 */
static int list_functions(struct compiler *compiler, enum source source, struct code_spans *spans)
{
	struct cfi_reader *reader = &compiler->readers[source];
	struct cfi_function function;
	enum cfi_found found;

	cfi_reader_init(reader, &compiler->sections[source]);
	while ((found = cfi_reader_next(reader, &function)) != CFI_END) {
		struct code_span span = {.source = source};

		if (found == CFI_BROKEN ||
		    !is_code(compiler->image, function.start, function.end)) {
			compiler->rows->nr_broken++;
			continue;
		}
		span.start = function.start;
		span.end = function.end;
		span.offset = (uint32_t)function.offset;
		if (code_spans_add(spans, &span) < 0)
			return -ENOMEM;
	}
	code_spans_settle(spans);
	return 0;
}

/* Fills gaps with `others`, if err is 0, and clears them. */
static int take_spans(struct compiler *compiler, struct code_spans *others, int err)
{
	if (err == 0)
		err = code_spans_fill(&compiler->spans, others);
	code_spans_clear(others);
	return err < 0 ? error_no_memory(compiler->error, "for unwind rows") : 0;
}

static int take_section(struct compiler *compiler, enum source source,
			const struct elf_image *image)
{
	struct cfi_section *section = &compiler->sections[source];
	struct code_spans spans = {0};
	bool is_broken = false;
	int err;

	if (source == SOURCE_EH_FRAME)
		err = cfi_section_read_eh_frame(section, image, &is_broken, compiler->error);
	else
		err = cfi_section_read_debug_frame(section, image, &is_broken, compiler->error);
	compiler->rows->nr_broken += is_broken;
	if (err < 0)
		return err;
	err = list_functions(compiler, source, &spans);
	return take_spans(compiler, &spans, err);
}

/* Adds the functions in Go's table; if that is unusable, all code is unwound by frame pointers. */
static int take_go_code(struct compiler *compiler)
{
	const struct elf_image *image = compiler->image;
	struct code_spans code = {0};
	int err = go_frames_read(&compiler->go_frames, image, SOURCE_GO, SOURCE_SIGNAL, &code,
				 compiler->error);
	size_t i;

	compiler->rows->nr_functions += code.nr;
	if (err == 0 && !code.nr && cfi_section_is_of_go(image))
		for (i = 0; i < image->nr_segments && !err; i++) {
			const struct elf_segment *segment = &image->segments[i];
			uint64_t end = segment->vaddr + segment->bytes;

			err = code_spans_add(
				&code, &(struct code_span){.start = segment->vaddr,
							   .end = end,
							   .source = SOURCE_GO_WITHOUT_TABLE});
		}
	code_spans_settle(&code);
	return take_spans(compiler, &code, err);
}

static int take_signal_returns(struct compiler *compiler)
{
	struct code_spans returns = {0};
	int err = signal_returns_find(&returns, compiler->image, &compiler->spans, SOURCE_SIGNAL);

	return take_spans(compiler, &returns, err);
}

/*
 * Marks the code from the entry point to the end of its function, or without one to its first call:
 * it has no caller, even if its CFI doesn't say so.
 */
static int take_entry(struct compiler *compiler)
{
	const struct code_spans *spans = &compiler->spans;
	uint64_t entry = compiler->image->entry;
	struct code_span span = {.start = entry, .end = entry + 1, .source = SOURCE_ENTRY};
	size_t i = code_spans_at(spans, entry);

	if (!entry || !is_code(compiler->image, span.start, span.end))
		return 0;
	if (i < spans->nr && spans->spans[i].start <= entry) {
		span.end = spans->spans[i].end;
	} else {
		while (span.end - entry < ENTRY_MAX_BYTES &&
		       (i == spans->nr || span.end < spans->spans[i].start) &&
		       is_code(compiler->image, entry, span.end + 1))
			span.end++;
		span.end = code_frames_first_call(compiler->image, entry, span.end);
	}
	return code_spans_insert(&compiler->spans, &span) < 0
		       ? error_no_memory(compiler->error, "for unwind rows")
		       : 0;
}

/* Adds code without other sources, by its instructions. */
static int take_code(struct compiler *compiler, const struct elf_image *debug)
{
	struct code_frames *frames = &compiler->code_frames;
	struct code_spans code = {0};
	int err = code_frames_read(frames, compiler->image, debug, &compiler->spans);
	size_t i;

	for (i = 0; i + 1 < frames->nr && err == 0; i++)
		if (frames->frames[i].rule.cfa != UNWIND_CFA_NONE)
			err = code_spans_add(
				&code, &(struct code_span){.start = frames->frames[i].address,
							   .end = frames->frames[i + 1].address,
							   .offset = (uint32_t)i,
							   .source = SOURCE_CODE});
	return take_spans(compiler, &code, err);
}

static int list_code(struct compiler *compiler, const struct elf_image *debug)
{
	int err = take_section(compiler, SOURCE_EH_FRAME, compiler->image);

	if (err == 0)
		err = take_go_code(compiler);
	if (err == 0)
		err = take_section(compiler, SOURCE_DEBUG_FRAME, compiler->image);
	if (err == 0 && debug && debug->is_64 && debug->machine == compiler->image->machine)
		err = take_section(compiler, SOURCE_OF_DEBUG_FILE, debug);
	if (err == 0)
		err = take_signal_returns(compiler);
	if (err == 0)
		err = take_entry(compiler);
	if (err == 0)
		err = take_code(compiler, debug);
	return err;
}

/* --- second pass: run the programs ----------------------------------------------------------- */

/* Adds the rows of a function that are in the span. -EINVAL if its program is invalid. */
static int run_function(struct compiler *compiler, const struct code_span *span)
{
	const struct cfi_section *section = &compiler->sections[span->source];
	struct cfi_program *program = &compiler->program;
	struct cfi_function function;
	uint64_t start = 0, end = 0;
	struct unwind_rule rule;
	int found, err;

	if (cfi_reader_get(&compiler->readers[span->source], span->offset, &function) < 0 ||
	    cfi_program_init(program, compiler->machine, section, &function) < 0)
		return -EINVAL;
	while ((found = cfi_program_next(program, &start, &end)) > 0) {
		if (start < span->start)
			start = span->start;
		if (end > span->end)
			end = span->end;
		if (start >= end)
			continue;
		compiler->rows->nr_not_packed += !cfi_program_rule(program, &rule);
		err = add_row(compiler, start, &rule);
		if (err < 0)
			return err;
	}
	return found;
}

static int add_function(struct compiler *compiler, const struct code_span *span)
{
	struct unwind_rows *rows = compiler->rows;
	size_t nr_rows = rows->nr_rows, nr_not_packed = rows->nr_not_packed;
	int err = run_function(compiler, span);

	if (err != -EINVAL) {
		rows->nr_functions++;
		return err;
	}
	rows->nr_broken++;
	rows->nr_rows = nr_rows;
	rows->nr_not_packed = nr_not_packed;
	return add_bare_row(compiler, span->start, UNWIND_CFA_NONE);
}

static int add_span(struct compiler *compiler, const struct code_span *span)
{
	if (span->source == SOURCE_ENTRY)
		return add_bare_row(compiler, span->start, UNWIND_CFA_END);
	if (span->source == SOURCE_SIGNAL)
		return add_bare_row(compiler, span->start, UNWIND_CFA_SIGNAL);
	if (span->source == SOURCE_CLONE)
		return add_row(compiler, span->start,
			       &(struct unwind_rule){.cfa = UNWIND_CFA_REGISTER,
						     .reg = compiler->machine->sp,
						     .offset = 8,
						     .ra = {UNWIND_AT_CFA, 0, -8}});
	if (span->source == SOURCE_GO)
		return go_frames_rows(&compiler->go_frames, span, add_row, compiler);
	if (span->source == SOURCE_CODE)
		return add_row(compiler, span->start,
			       &compiler->code_frames.frames[span->offset].rule);
	if (span->source == SOURCE_GO_WITHOUT_TABLE)
		return add_bare_row(compiler, span->start, UNWIND_CFA_CHAIN);
	return add_function(compiler, span);
}

static int add_spans(struct compiler *compiler)
{
	uint64_t reach = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < compiler->spans.nr && err == 0; i++) {
		const struct code_span *span = &compiler->spans.spans[i];

		if (i && reach < span->start)
			err = add_bare_row(compiler, reach, UNWIND_CFA_NONE);
		if (err == 0)
			err = add_span(compiler, span);
		reach = span->end;
	}
	if (err == 0 && i)
		err = add_bare_row(compiler, reach, UNWIND_CFA_NONE);
	return err;
}

/* --- reading all rows ------------------------------------------------------------------------ */

int unwind_rows_read(struct unwind_rows *rows, const struct elf_image *image,
		     const struct elf_image *debug, struct error *error)
{
	const struct unwind_rule none = {.cfa = UNWIND_CFA_NONE};
	struct compiler *compiler;
	uint32_t number;
	size_t i;
	int err;

	*rows = (struct unwind_rows){0};
	compiler = calloc(1, sizeof(*compiler));
	if (!compiler)
		return error_no_memory(error, "for unwind rows");
	compiler->rows = rows;
	compiler->image = image;
	compiler->machine = cfi_machine_find(image->machine);
	compiler->error = error;
	/* rules[0] is for code without a known rule. */
	err = add_rule(compiler, &none, hash_rule(&none), &number);
	if (err == 0 && image->is_64 && compiler->machine) {
		err = list_code(compiler, debug);
		if (err == 0)
			err = add_spans(compiler);
	}
	for (i = 0; i < NR_SECTIONS; i++)
		cfi_section_clear(&compiler->sections[i]);
	code_spans_clear(&compiler->spans);
	u64_map_clear(&compiler->numbers);
	go_frames_clear(&compiler->go_frames);
	code_frames_clear(&compiler->code_frames);
	free(compiler);
	return err;
}

void unwind_rows_clear(struct unwind_rows *rows)
{
	free(rows->rows);
	free(rows->rules);
	*rows = (struct unwind_rows){0};
}

size_t unwind_rows_above(const struct unwind_rows *rows, uint64_t address)
{
	return ARRAY_NR_UP_TO(rows->rows, rows->nr_rows, address, address);
}
