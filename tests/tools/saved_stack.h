/*
 * A stack with everything that its walk needs, as text. tests/unit/test_replay.c walks it again
 * without the program, its files or root:
 *
 *	machine x86-64
 *	map 5566a2e00000-5566a2f00000 1000 redis-server		for people; not parsed
 *	reg 7 7ffd12345678		by DWARF number, in hex; 32 is the program counter
 *	word 7ffd12345680 5566a2e01234	of the stack: the words that the walk read
 *	rule 5566a2e01234 cfa register 7 16 0 ra cfa 0 -8 fp same 0 0
 *	frame 5566a2e01234		found by another unwinder, stored as in a record
 *	end complete
 *
 * A rule's address is the one looked up. Its numbers are: register, offset, add; register and
 * offset of the return address and of the frame pointer. `signal` at the end means that the CFI
 * marks a signal frame: the caller was interrupted. An address without a rule is in no mapping.
 */
#ifndef STOOK_TESTS_TOOLS_SAVED_STACK_H
#define STOOK_TESTS_TOOLS_SAVED_STACK_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind_format.h"
#include "bpf/wire.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/unwind_compile.h"
#include "proc/file_table.h"
#include "proc/mappings.h"
#include "../unit/unwind_reading.h"
#include "stopped_thread.h"

#define SAVED_MAX_WORDS 4096
#define SAVED_MAX_FILES 4096

struct saved_word {
	uint64_t address, value;
};

struct saved_rule {
	uint64_t address;
	struct unwind_rule rule;
};

struct saved_stack {
	struct saved_word words[SAVED_MAX_WORDS];
	size_t nr_words;
	struct saved_rule rules[WIRE_MAX_USER_FRAMES + 1];
	size_t nr_rules;
	uint64_t frames[WIRE_MAX_USER_FRAMES];
	size_t nr_frames;
	enum walk_end end;
};

/* Memory of the stopped process, as the kernel side reads it, with a list of the words read. */
struct unwind_memory {
	pid_t pid;
	const struct unwind_table *table;
	struct saved_stack *saved;
};

static inline int unwind_read(struct unwind_memory *memory, uint64_t address, __u64 *ret)
{
	struct saved_stack *saved = memory->saved;

	if (address % sizeof(uint64_t) || read_stack(memory->pid, address, (uint64_t *)ret, 1) != 1)
		return -1;
	if (saved->nr_words == SAVED_MAX_WORDS)
		return -1;
	saved->words[saved->nr_words++] = (struct saved_word){address, *ret};
	return 0;
}

static inline const struct unwind_rule *unwind_wide(const struct unwind_memory *memory,
						    uint32_t number)
{
	return memory->table && number < memory->table->nr_wide ? &memory->table->wide[number]
								: NULL;
}

#include "bpf/unwind_step.h"

/* --- tables, built for this walk and cached -------------------------------------------------- */

static inline const struct unwind_table *table_of_vdso(void)
{
	static struct unwind_table table;
	static bool is_read;
	size_t bytes;
	const void *vdso = vdso_find(&bytes);

	if (!is_read && vdso)
		(void)unwind_compile_memory(&table, vdso, bytes, NULL);
	is_read = true;
	return &table;
}

static inline const struct unwind_table *table_of(const struct file_table *files,
						  const struct mapping *mapping)
{
	static struct unwind_table tables[SAVED_MAX_FILES];
	static bool is_read[SAVED_MAX_FILES];
	uint32_t file = mapping->file;
	struct elf_image image;

	if (mapping->kind == MAPPING_VDSO)
		return table_of_vdso();
	if (mapping->kind != MAPPING_FILE || file >= SAVED_MAX_FILES)
		return NULL;
	if (!is_read[file] &&
	    elf_image_open(&image, file_table_get(files, file)->handle, NULL) == 0) {
		(void)unwind_compile(&tables[file], &image, NULL, NULL);
		elf_image_close(&image);
	}
	is_read[file] = true;
	return tables[file].nr_pages ? &tables[file] : NULL;
}

/* --- walking --------------------------------------------------------------------------------- */

/* Looks up and records the packed rule of an address; returns false if it is unmapped. */
static inline bool look_up(struct unwind_memory *memory, const struct mappings *mappings,
			   const struct file_table *files, uint64_t address, uint32_t *ret)
{
	const struct mapping *mapping = mappings_find(mappings, address);
	struct saved_rule *saved = &memory->saved->rules[memory->saved->nr_rules];

	if (!mapping)
		return false;
	memory->table = table_of(files, mapping);
	*saved = (struct saved_rule){.address = address};
	*ret = UNWIND_PACKED_NONE;
	if (memory->table) {
		*ret = unwind_table_find(memory->table, address - mapping->start + mapping->offset);
		saved->rule = unwind_table_unpack(memory->table, *ret);
	}
	memory->saved->nr_rules++;
	return true;
}

/* Repeats the walk of collect/unwind/stack_walk.c and records it; returns 0 or -EINVAL. */
static inline int saved_stack_walk(struct saved_stack *saved, const struct stopped_thread *thread,
				   const struct mappings *mappings, const struct file_table *files)
{
	const uint64_t *words = thread->words;
	struct unwind_walk walk = {.is_exact = 1, .known = ~0U, .pc = words[WIRE_RAW_PC]};
	struct unwind_memory memory = {
		.pid = thread->pid,
		.saved = saved,
	};
	uint32_t packed;

	memset(saved, 0, sizeof(*saved));
	memcpy(walk.regs, words, sizeof(walk.regs));
	while (!saved->end && saved->nr_frames < WIRE_MAX_USER_FRAMES) {
		if (!look_up(&memory, mappings, files, walk.pc - !walk.is_exact, &packed)) {
			saved->end = WALK_NO_MAPPING;
			return saved->nr_frames ? 0 : -EINVAL;
		}
		saved->frames[saved->nr_frames] = walk.pc + (saved->nr_frames && walk.is_exact);
		saved->nr_frames++;
		saved->end = (enum walk_end)unwind_step(&memory, &walk, packed);
	}
	return saved->end ? 0 : -EINVAL;
}

/* --- writing --------------------------------------------------------------------------------- */

static const char *const saved_cfa_names[] = {
	[UNWIND_CFA_NONE] = "none",	[UNWIND_CFA_END] = "end",
	[UNWIND_CFA_CHAIN] = "chain",	[UNWIND_CFA_REGISTER] = "register",
	[UNWIND_CFA_MEMORY] = "memory", [UNWIND_CFA_PLT] = "plt",
	[UNWIND_CFA_SIGNAL] = "signal",
};
static const char *const saved_where_names[] = {
	[UNWIND_SAME] = "same",	     [UNWIND_AT_CFA] = "cfa", [UNWIND_AT_REGISTER] = "at",
	[UNWIND_IN_REGISTER] = "in", [UNWIND_LOST] = "lost",
};
static const char *const walk_end_names[NR_WALK_ENDS] = {
#define X(id, name, words) name,
	WALK_ENDS(X)
#undef X
};

#if defined(__x86_64__)
#define SAVED_MACHINE "x86-64"
#else
#define SAVED_MACHINE "arm64"
#endif

static inline void write_rule(FILE *file, const struct saved_rule *saved)
{
	const struct unwind_rule *rule = &saved->rule;

	fprintf(file, "rule %" PRIx64 " cfa %s %d %d %d ra %s %d %d fp %s %d %d%s\n",
		saved->address, saved_cfa_names[rule->cfa], rule->reg, rule->offset, rule->add,
		saved_where_names[rule->ra.where], rule->ra.reg, rule->ra.offset,
		saved_where_names[rule->fp.where], rule->fp.reg, rule->fp.offset,
		rule->is_signal_frame ? " signal" : "");
}

/* Writes only the file's name: its folder is private. */
static inline void write_map(FILE *file, const struct mapping *mapping,
			     const struct file_table *files)
{
	const char *name = "anonymous", *base;

	if (mapping->kind == MAPPING_VDSO)
		name = "vdso";
	else if (mapping->kind == MAPPING_FILE)
		name = file_table_get(files, mapping->file)->path;
	base = strrchr(name, '/');
	fprintf(file, "map %" PRIx64 "-%" PRIx64 " %" PRIx64 " %s\n", mapping->start, mapping->end,
		mapping->offset, base ? base + 1 : name);
}

/* Writes the mappings that the walk passed, each once. */
static inline void write_maps(FILE *file, const struct saved_stack *saved,
			      const struct mappings *mappings, const struct file_table *files)
{
	size_t i, k;

	for (i = 0; i < mappings_nr(mappings); i++) {
		const struct mapping *mapping = mappings_get(mappings, i);

		for (k = 0; k < saved->nr_rules; k++)
			if (mappings_find(mappings, saved->rules[k].address) == mapping)
				break;
		if (k < saved->nr_rules)
			write_map(file, mapping, files);
	}
}

/* A recursion has one rule many times. */
static inline bool is_new_rule(const struct saved_stack *saved, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (saved->rules[k].address == saved->rules[i].address)
			return false;
	return true;
}

static inline int saved_stack_write(const struct saved_stack *saved, const char *path,
				    const uint64_t *words, const struct mappings *mappings,
				    const struct file_table *files)
{
	FILE *file = fopen(path, "we");
	size_t i;

	if (!file)
		return -errno;
	fprintf(file, "machine " SAVED_MACHINE "\n");
	write_maps(file, saved, mappings, files);
	for (i = 0; i < WIRE_RAW_HEAD; i++)
		if (words[i])
			fprintf(file, "reg %zu %" PRIx64 "\n", i, words[i]);
	for (i = 0; i < saved->nr_words; i++)
		fprintf(file, "word %" PRIx64 " %" PRIx64 "\n", saved->words[i].address,
			saved->words[i].value);
	for (i = 0; i < saved->nr_rules; i++)
		if (is_new_rule(saved, i))
			write_rule(file, &saved->rules[i]);
	for (i = 0; i < saved->nr_frames; i++)
		fprintf(file, "frame %" PRIx64 "\n", saved->frames[i]);
	fprintf(file, "end %s\n", walk_end_names[saved->end]);
	return fclose(file) ? -EIO : 0;
}

#endif
