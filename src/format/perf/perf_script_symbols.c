/*
 * A frame is known by its symbol and file, not by its address, which is that of one process' memory
 * and means nothing without its mappings. perf-map-agent writes functions that were inlined into
 * JIT code as `outer->inner`; they become lines of one frame, as perf's own `(inlined)` ones do.
 */
#include "format/perf/perf_script_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "format/text/clean_string.h"

#define UNKNOWN_NAME "[unknown]"
#define INTO	     "->"

static bool is_text(struct perf_text text, const char *wanted)
{
	return text.nr == strlen(wanted) && !memcmp(text.at, wanted, text.nr);
}

/* --- where its code is ------------------------------------------------------------------------
 */

static bool is_kernel_itself(struct perf_text file)
{
	static const char kernel[] = "[kernel.kallsyms]";
	const char *slash;

	if (!file.nr || is_text(file, UNKNOWN_NAME))
		return true;
	if (file.nr >= strlen(kernel) && !memcmp(file.at, kernel, strlen(kernel)))
		return true; /* also with what follows: [kernel.kallsyms]_stext */
	slash = memrchr(file.at, '/', file.nr);
	return (slash || *file.at != '[') && memmem(file.at, file.nr, "vmlinu", strlen("vmlinu"));
}

static int64_t add_module(struct perf_symbols *symbols, enum module_kind kind,
			  struct perf_text file)
{
	struct module module = {.kind = kind};
	int64_t name = clean_string_add(symbols->profile, file.at, file.nr);

	if (name < 0)
		return name;
	module.name = (uint32_t)name;
	return profile_add_module(symbols->profile, &module);
}

static int64_t module_of(struct perf_symbols *symbols, const struct perf_frame *frame,
			 enum perf_code code)
{
	switch (code) {
	case PERF_CODE_KERNEL:
		if (is_kernel_itself(frame->file))
			return MODULE_NR_KERNEL;
		return add_module(symbols, MODULE_KERNEL, frame->file);
	case PERF_CODE_FILE:
		return add_module(symbols, MODULE_FILE, frame->file);
	case PERF_CODE_VDSO:
		return add_module(symbols, MODULE_VDSO, frame->file);
	case PERF_CODE_RUN_TIME:
		return add_module(symbols, MODULE_RUN_TIME, frame->file);
	case PERF_CODE_INLINED:
		return frame->address >> 63 ? MODULE_NR_KERNEL : MODULE_NR_UNKNOWN;
	default:
		return MODULE_NR_UNKNOWN;
	}
}

/* --- its names --------------------------------------------------------------------------------
 */

static int64_t name_of(struct perf_symbols *symbols, struct perf_text name)
{
	if (!name.nr || is_text(name, UNKNOWN_NAME))
		return 0;
	return clean_string_add(symbols->profile, name.at, name.nr);
}

/* Cuts the first function off a chain of inlined ones. */
static struct perf_text cut_name(struct perf_text *chain)
{
	const char *into = memmem(chain->at, chain->nr, INTO, strlen(INTO));
	struct perf_text name = *chain;

	if (!into) {
		chain->nr = 0;
		return name;
	}
	name.nr = (size_t)(into - name.at);
	chain->at += name.nr + strlen(INTO);
	chain->nr -= name.nr + strlen(INTO);
	return name;
}

static int64_t add_frame(struct perf_symbols *symbols, const struct perf_symbol *symbol,
			 const struct code_line *lines, size_t nr)
{
	return profile_add_named_frame(symbols->profile, symbol->kind, symbol->module, lines, nr);
}

/* The outermost comes first in text, and last in lines. */
static int64_t add_chain(struct perf_symbols *symbols, struct perf_symbol *symbol,
			 struct perf_text chain)
{
	size_t nr_most = chain.nr / strlen(INTO) + 1, nr = 0;
	cleanup_free struct code_line *lines = calloc(nr_most, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	while (chain.nr) {
		int64_t name = name_of(symbols, cut_name(&chain));

		if (name < 0)
			return name;
		lines[nr_most - ++nr].function = (uint32_t)name;
	}
	symbol->name = lines[nr_most - 1].function;
	return add_frame(symbols, symbol, lines + nr_most - nr, nr);
}

static int64_t add_name(struct perf_symbols *symbols, struct perf_symbol *symbol,
			struct perf_text text)
{
	const struct code_line *line;
	int64_t name;

	if (symbol->code == PERF_CODE_RUN_TIME && text.nr &&
	    memmem(text.at, text.nr, INTO, strlen(INTO)))
		return add_chain(symbols, symbol, text);
	name = name_of(symbols, text);
	if (name < 0)
		return name;
	symbol->name = (uint32_t)name;
	line = &(struct code_line){.function = symbol->name};
	return add_frame(symbols, symbol, line, symbol->name != 0);
}

/* --- the table --------------------------------------------------------------------------------
 */

/* Of what is inlined only the address tells. */
static bool is_in_kernel(const struct perf_frame *frame, enum perf_code code)
{
	return code == PERF_CODE_KERNEL || (code == PERF_CODE_INLINED && frame->address >> 63);
}

static int set_symbol(struct perf_symbols *symbols, size_t number, const struct perf_frame *frame)
{
	struct perf_symbol symbol = {.code = perf_script_code(frame)};
	int64_t result = module_of(symbols, frame, symbol.code);

	if (result < 0)
		return (int)result;
	symbol.module = (uint32_t)result;
	symbol.kind = is_in_kernel(frame, symbol.code) ? FRAME_KERNEL : FRAME_USER;
	result = add_name(symbols, &symbol, frame->symbol);
	if (result < 0)
		return (int)result;
	symbol.frame = (uint32_t)result;
	symbols->symbols[number] = symbol;
	return 0;
}

/*
 * What frames of one symbol have in common: both texts, and on which side of memory they are. The
 * first one's length stands in front, so that no two pairs are joined to the same.
 */
static size_t make_key(struct perf_symbols *symbols, const struct perf_frame *frame)
{
	const uint64_t front = (uint64_t)frame->symbol.nr << 1 | frame->address >> 63;
	const struct perf_text parts[] = {
		{(const char *)&front, sizeof(front)}, frame->symbol, frame->file};
	size_t nr = 0, i;

	if (array_reserve(&symbols->key, &symbols->cap_key,
			  sizeof(front) + frame->symbol.nr + frame->file.nr, 1) < 0)
		return 0;
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].nr) {
			memcpy(symbols->key + nr, parts[i].at, parts[i].nr);
			nr += parts[i].nr;
		}
	return nr;
}

const struct perf_symbol *perf_symbols_find(struct perf_symbols *symbols,
					    const struct perf_frame *frame)
{
	uint32_t nr_known = strings_nr(symbols->texts);
	size_t nr_key = make_key(symbols, frame);
	int64_t number;

	/* Room first: a text without its symbol would be found later. */
	if (!nr_key || array_reserve(&symbols->symbols, &symbols->cap_symbols, (size_t)nr_known + 1,
				     sizeof(*symbols->symbols)) < 0)
		return NULL;
	number = strings_add_bytes(symbols->texts, symbols->key, nr_key);
	if (number < 0 || (number == nr_known && set_symbol(symbols, (size_t)number, frame) < 0))
		return NULL;
	return &symbols->symbols[number];
}

int perf_symbols_init(struct perf_symbols *symbols, struct profile *profile)
{
	*symbols = (struct perf_symbols){.profile = profile, .texts = strings_new()};
	return symbols->texts ? 0 : -ENOMEM;
}

void perf_symbols_clear(struct perf_symbols *symbols)
{
	strings_free(symbols->texts);
	free(symbols->symbols);
	free(symbols->key);
}
