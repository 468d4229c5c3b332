/*
 * The few functions that change stacks are known by name. A stripped file has neither names nor
 * .debug_frame, and is walked by frame pointers; so is all of Go for arm64, whose frames look
 * different. Frame pointers alone lose the caller of a function that has no frame.
 */
#include "elf/unwind/go_code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/symbols/symbol_table.h"
#include "elf/unwind/cfi_section.h"

struct go_code {
	struct symbol_table *symbols; /* NULL: call frame information is not to be used */
};

static const char *const beginnings[] = {"goexit"};

static const char *const changes[] = {"systemstack", "mcall",	    "morestack", "morestack_noctxt",
				      "asmcgocall",  "cgocallback", "gogo",	 "sigtramp"};

int go_code_read(struct go_code **ret, const struct elf_image *image)
{
	const struct symbol_part part = {image, SYMBOLS_STATIC | SYMBOLS_DYNAMIC};
	struct error error = {0};

	*ret = NULL;
	if (!cfi_section_is_of_go(image))
		return 0;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	if (image->machine != EM_X86_64)
		return 0;
	(*ret)->symbols = symbol_table_read(&part, 1, &error);
	if (!(*ret)->symbols && error.code == -ENOMEM) {
		go_code_free(*ret);
		*ret = NULL;
		return -ENOMEM;
	}
	return 0;
}

void go_code_free(struct go_code *code)
{
	if (!code)
		return;
	symbol_table_free(code->symbols);
	free(code);
}

/* "runtime.mcall" or "runtime.mcall.abi0" is "mcall". */
static bool is_one_of(const char *name, const char *const *wanted, size_t nr)
{
	static const char package[] = "runtime.";
	size_t length, i;

	if (strncmp(name, package, strlen(package)) != 0)
		return false;
	name += strlen(package);
	length = strcspn(name, ".");
	for (i = 0; i < nr; i++)
		if (strlen(wanted[i]) == length && !strncmp(name, wanted[i], length))
			return true;
	return false;
}

enum unwind_cfa go_code_special(const struct go_code *code, uint64_t function)
{
	const char *name = code->symbols ? symbol_table_find(code->symbols, function, NULL) : NULL;

	if (!name)
		return UNWIND_CFA_CHAIN;
	if (is_one_of(name, beginnings, ARRAY_SIZE(beginnings)))
		return UNWIND_CFA_END;
	if (is_one_of(name, changes, ARRAY_SIZE(changes)))
		return UNWIND_CFA_CHAIN;
	return UNWIND_CFA_NONE;
}

void go_code_complete(struct unwind_rule *rule)
{
	if (rule->cfa != UNWIND_CFA_REGISTER)
		*rule = (struct unwind_rule){.cfa = UNWIND_CFA_CHAIN};
	else if (rule->offset >= 16)
		rule->fp = (struct unwind_place){.where = UNWIND_AT_CFA, .offset = -16};
}
