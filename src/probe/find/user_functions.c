/*
 * One pass over all names for each pattern, which only notes what it chose; see user_probes.h for
 * what becomes of that. A place inside a function must be where an instruction begins: whether it
 * is one can only be told by walking there from the function's start.
 */
#include "probe/find/user_functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image/instructions.h"
#include "probe/find/code_bounds.h"
#include "probe/find/cold_part.h"
#include "probe/find/ifunc.h"
#include "probe/find/no_return.h"
#include "probe/find/user_probes.h"

/* Enough for many patterns that each fit all functions of a large file. */
#define CHOICES_MAX (8u << 20)

/* Of a function, to look at its instructions; chromium's longest have some 100 KB. */
#define CODE_MAX_BYTES (4u << 20)

/* What choosing by one pattern needs. */
struct chooser {
	struct user_file *file;
	const struct pattern *pattern;
	bool force_returns;
	struct refusals *refusals;
	struct error *error;
};

static int out_of_memory(struct error *error)
{
	return error_set(error, -ENOMEM, "out of memory for functions");
}

/* Nobody wants to hear of what was left out anyhow. */
static int refuse(struct chooser *chooser, uint32_t function, const char *why)
{
	const struct user_choice choice = {
		.vaddr = chooser->file->functions.functions[function].vaddr,
		.function = function,
		.is_return = chooser->pattern->is_return,
	};

	if (user_probes_leave_out(chooser->file, &choice))
		return 0;
	return refusals_add(chooser->refusals, user_file_shown(chooser->file, function), why) < 0
		       ? out_of_memory(chooser->error)
		       : 0;
}

/* --- places ---------------------------------------------------------------------------------- */

static int choose(struct chooser *chooser, uint32_t function, uint64_t vaddr, uint64_t offset)
{
	struct user_file *file = chooser->file;

	if (file->nr_choices == CHOICES_MAX)
		return error_set(chooser->error, -E2BIG,
				 "the patterns fit more than %u functions of '%s'", CHOICES_MAX,
				 file->from.path);
	if (array_reserve(&file->choices, &file->cap_choices, file->nr_choices + 1,
			  sizeof(*file->choices)) < 0)
		return out_of_memory(chooser->error);
	file->choices[file->nr_choices++] =
		(struct user_choice){vaddr, offset, function, chooser->pattern->is_return};
	return 0;
}

/* Where a function ends: by its size, else where the next one begins. */
static uint64_t end_of(const struct user_file *file, uint32_t function)
{
	const struct listed_function *functions = file->functions.functions;
	uint64_t start = functions[function].vaddr;
	size_t next = function;

	if (functions[function].bytes)
		return start + functions[function].bytes;
	while (next < file->functions.nr && functions[next].vaddr == start)
		next++;
	return next < file->functions.nr ? functions[next].vaddr : UINT64_MAX;
}

/* Walks a function's instructions up to the one at an offset. NULL: it begins there; else why not. */
static const char *check_boundary(const struct user_file *file, uint64_t start, uint64_t offset,
				  char *why, size_t nr_why)
{
	const size_t nr = offset + 16; /* the longest instruction ends in there */
	cleanup_free uint8_t *code = NULL;
	uint64_t at_file, at = 0;
	size_t step;

	if (offset > CODE_MAX_BYTES)
		return "so far into a function nothing can be told of its instructions";
	code = calloc(1, nr);
	if (!code || user_file_offset(file, start, &at_file) < 0 ||
	    elf_image_read(&file->image, at_file, code, offset) < 0)
		return "its code could not be read";
	(void)elf_image_read(&file->image, at_file + offset, code + offset, nr - offset);
	while (at < offset) {
		step = instruction_length(file->image.machine, code + at, nr - at);
		if (!step)
			return "an instruction before it is not known, so it can't be told whether "
			       "one begins there";
		at += step;
	}
	if (at == offset)
		return NULL;
	(void)snprintf(why, nr_why,
		       "in the middle of an instruction; the next one begins at +0x%" PRIx64, at);
	return why;
}

static int choose_inside(struct chooser *chooser, uint32_t function, uint64_t offset)
{
	struct user_file *file = chooser->file;
	uint64_t start = file->functions.functions[function].vaddr;
	char name[512], why[128];
	const char *reason;

	if (chooser->pattern->is_return)
		reason = "functions return, instructions do not";
	else if (offset >= end_of(file, function) - start)
		reason = "behind the function's end";
	else
		reason = check_boundary(file, start, offset, why, sizeof(why));
	if (!reason)
		reason = user_file_why_not_inside(file, start + offset);
	if (!reason)
		return choose(chooser, function, start + offset, offset);
	(void)snprintf(name, sizeof(name), "%s+0x%" PRIx64, user_file_shown(file, function),
		       offset);
	return refusals_add(chooser->refusals, name, reason) < 0 ? out_of_memory(chooser->error)
								 : 0;
}

/* --- names ----------------------------------------------------------------------------------- */

static const char *why_no_return(const struct chooser *chooser, uint64_t vaddr)
{
	if (!chooser->pattern->is_return)
		return NULL;
	if (chooser->file->is_go && !chooser->force_returns)
		return "a return probe would crash a Go program, whose stacks move (see --force)";
	if (chooser->file->unwinds && !chooser->force_returns)
		return "an exception or panic that passes through it would end the program "
		       "(--force "
		       "if none does)";
	return no_return_why_at(chooser->file, vaddr);
}

/* Why a function whose name fits can't be probed; NULL if it can. */
static const char *why_not(const struct chooser *chooser, uint32_t function)
{
	const struct user_file *file = chooser->file;
	const char *name = user_file_name(file, function);
	uint64_t offset;

	if (user_file_offset(file, file->functions.functions[function].vaddr, &offset) < 0)
		return "no code of the program is there";
	if (is_cold_part(name) && chooser->pattern->name &&
	    !matcher_only_name(chooser->pattern->name))
		return "part of a function, jumped to and not called";
	return why_no_return(chooser, file->functions.functions[function].vaddr);
}

static int choose_start(struct chooser *chooser, uint32_t function, uint64_t vaddr)
{
	const char *why = user_file_why_not(chooser->file, vaddr);

	return why ? refuse(chooser, function, why) : choose(chooser, function, vaddr, 0);
}

/* The resolver runs once for each program that uses the function; what was meant runs instead. */
static int choose_ifunc(struct chooser *chooser, uint32_t function)
{
	uint64_t vaddr;
	int err = ifunc_resolve(chooser->file, function, &vaddr);

	if (err == -ERANGE)
		return refuse(
			chooser, function,
			"an IFUNC resolver: it runs once, whatever is called; what it chooses "
			"is in another file, the vDSO perhaps");
	if (err < 0)
		return refuse(chooser, function,
			      "an IFUNC resolver: it runs once, whatever is called; which function "
			      "it chooses can't be told here");
	return choose_start(chooser, function, vaddr);
}

static int choose_function(struct chooser *chooser, uint32_t function)
{
	const struct listed_function *listed = &chooser->file->functions.functions[function];
	const char *why = why_not(chooser, function);

	if (why)
		return refuse(chooser, function, why);
	if (chooser->pattern->has_offset && chooser->pattern->offset)
		return choose_inside(chooser, function, chooser->pattern->offset);
	if (listed->is_ifunc)
		return choose_ifunc(chooser, function);
	return choose_start(chooser, function, listed->vaddr);
}

/* --- addresses ------------------------------------------------------------------------------- */

/* Of an address that is in no function with a name. */
static int choose_nameless(struct chooser *chooser, uint64_t address)
{
	const struct user_file *file = chooser->file;
	const char *reason = NULL;
	uint64_t start, end, offset;
	char name[32], why[128];
	int err = code_bounds_find(&file->image, address, &start, &end);

	if (err == -ENOMEM)
		return out_of_memory(chooser->error);
	if (user_file_offset(file, address, &offset) < 0)
		reason = "no code of the program is there";
	else if (err < 0)
		reason = "in no function that is known, so it can't be told whether an instruction "
			 "begins there";
	else if (chooser->pattern->is_return && address != start)
		reason = "functions return, instructions do not";
	else
		reason = check_boundary(file, start, address - start, why, sizeof(why));
	if (!reason)
		reason = address == start ? user_file_why_not(file, address)
					  : user_file_why_not_inside(file, address);
	if (!reason)
		reason = why_no_return(chooser, address);
	if (!reason)
		return choose(chooser, USER_NO_FUNCTION, address, 0);
	(void)snprintf(name, sizeof(name), "0x%" PRIx64, address);
	return refusals_add(chooser->refusals, name, reason) < 0 ? out_of_memory(chooser->error)
								 : 0;
}

/* An address as linked. */
static int choose_address(struct chooser *chooser, size_t *ret_nr)
{
	uint64_t address = chooser->pattern->address, start;
	int64_t function = user_file_function_at(chooser->file, address);

	*ret_nr = 1;
	if (function < 0 || address >= end_of(chooser->file, (uint32_t)function))
		return choose_nameless(chooser, address);
	start = chooser->file->functions.functions[function].vaddr;
	if (address > start)
		return choose_inside(chooser, (uint32_t)function, address - start);
	return choose_function(chooser, (uint32_t)function);
}

int user_functions_choose(struct user_file *file, const struct pattern *pattern, bool force_returns,
			  struct refusals *refusals, size_t *ret_nr, struct error *error)
{
	struct chooser chooser = {file, pattern, force_returns, refusals, error};
	size_t i, nr = 0;
	bool any;
	int err = 0;

	if (!pattern->name)
		return choose_address(&chooser, ret_nr);
	any = matcher_is_any(pattern->name);
	for (i = 0; i < file->functions.nr && !err; i++) {
		if (!any && !user_file_fits(file, (uint32_t)i, pattern->name))
			continue;
		err = choose_function(&chooser, (uint32_t)i);
		nr++;
	}
	*ret_nr = nr;
	return err;
}
