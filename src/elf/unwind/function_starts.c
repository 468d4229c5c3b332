/*
 * Reads all entries of .eh_frame in the order of the section, and adds their ranges to a
 * symbol_table, which sorts them and handles nested ranges: some compilers give a part of a
 * function an entry of its own without changing the function's entry.
 */
#include "elf/unwind/function_starts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/unwind/cfi_entries.h"
#include "elf/unwind/cfi_program.h"

/* The budget is checked each time after this many entries. */
#define ENTRIES_A_LOOK 4096

/* The linker makes one CFI entry for each of these sections. */
static const char *const stub_sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};

struct lister {
	const struct elf_image *image;
	struct cfi_section section;
	struct cfi_reader reader;
	GElf_Shdr stubs[ARRAY_SIZE(stub_sections)];
	size_t nr_stubs;
};

static void find_stubs(struct lister *lister)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(stub_sections); i++)
		if (elf_section_find(lister->image, stub_sections[i],
				     &lister->stubs[lister->nr_stubs]) == 0)
			lister->nr_stubs++;
}

static bool is_stub(const struct lister *lister, uint64_t start)
{
	size_t i;

	for (i = 0; i < lister->nr_stubs; i++)
		if (start - lister->stubs[i].sh_addr < lister->stubs[i].sh_size)
			return true;
	return false;
}

/* False for entries of code that is not in the file: linkers leave them for discarded functions. */
static bool is_code(const struct elf_image *image, const struct cfi_function *function)
{
	size_t i;

	for (i = 0; i < image->nr_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (function->start >= segment->vaddr &&
		    function->start - segment->vaddr < segment->bytes)
			return function->end > function->start;
	}
	return false;
}

static int list_entries(struct lister *lister, struct symbol_table *table)
{
	struct cfi_function function;
	enum cfi_found found;
	size_t nr = 0;
	int err = 0;

	cfi_reader_init(&lister->reader, &lister->section);
	while (!err && (found = cfi_reader_next(&lister->reader, &function)) != CFI_END) {
		if (nr++ % ENTRIES_A_LOOK == 0)
			err = read_budget_take(lister->image->budget, 0);
		if (!err && found == CFI_FUNCTION && is_code(lister->image, &function) &&
		    !is_stub(lister, function.start))
			err = symbol_table_add(table, function.start, function.end - function.start,
					       "");
	}
	return err ? err : symbol_table_settle(table);
}

static struct lister *open_lister(const struct elf_image *image, struct error *error)
{
	struct lister *lister = calloc(1, sizeof(*lister));
	bool is_broken;

	if (!lister) {
		(void)error_no_memory(error, "for the starts of functions");
		return NULL;
	}
	lister->image = image;
	if (cfi_section_read_eh_frame(&lister->section, image, &is_broken, error) == 0)
		return lister;
	cfi_section_clear(&lister->section);
	free(lister);
	return NULL;
}

static void close_lister(struct lister *lister)
{
	cfi_section_clear(&lister->section);
	free(lister);
}

int function_starts_read(struct symbol_table **ret, const struct elf_image *image,
			 struct error *error)
{
	struct error why = {0};
	struct lister *lister = open_lister(image, &why);
	struct symbol_table *table = NULL;
	int err = lister ? 0 : why.code;

	*ret = NULL;
	if (lister && lister->section.nr) {
		find_stubs(lister);
		table = symbol_table_new();
		err = table ? list_entries(lister, table) : -ENOMEM;
	}
	if (lister)
		close_lister(lister);
	if (!err) {
		*ret = table;
		return 0;
	}
	symbol_table_free(table);
	return err == -ENOMEM ? error_no_memory(error, "for the starts of functions")
			      : error_set(error, -ENOEXEC, "invalid .eh_frame");
}

/* --- one function ---------------------------------------------------------------------------- */

/* True if the return address is where a call leaves it: on top of the stack, or in its register. */
static bool is_called(const struct cfi_program *program)
{
	const struct cfi_machine *machine = program->machine;
	const struct cfi_state *state = &program->state;

	if (state->rule.cfa != UNWIND_CFA_REGISTER || state->cfa_register != machine->sp)
		return false;
	if (machine->has_link_register)
		return state->cfa_offset == 0 && state->rule.ra.where == UNWIND_SAME;
	return state->cfa_offset == 8;
}

bool function_start_is_called(const struct elf_image *image, uint64_t start)
{
	const struct cfi_machine *machine = cfi_machine_find(image->machine);
	struct lister *lister = machine ? open_lister(image, NULL) : NULL;
	struct cfi_program *program = calloc(1, sizeof(*program));
	struct cfi_function function;
	uint64_t from, to;
	enum cfi_found found;
	bool is = false;

	if (lister && program) {
		cfi_reader_init(&lister->reader, &lister->section);
		while ((found = cfi_reader_next(&lister->reader, &function)) != CFI_END)
			if (found == CFI_FUNCTION && function.start == start)
				break;
		is = found == CFI_FUNCTION &&
		     cfi_program_init(program, machine, &lister->section, &function) == 0 &&
		     cfi_program_next(program, &from, &to) > 0 && is_called(program);
	}
	free(program);
	if (lister)
		close_lister(lister);
	return is;
}
