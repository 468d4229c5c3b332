/*
 * Handmade call frame information, and its rules as text. Pointers are absolute, eight bytes; the
 * code alignment factor is 1, the data alignment factor -8. For x86-64 a function starts with the
 * CFA at rsp + 8 and the return address at CFA - 8; for arm64 with sp + 0, and in the link
 * register.
 */
#ifndef STOOK_TESTS_UNIT_CFI_FIXTURE_H
#define STOOK_TESTS_UNIT_CFI_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "bpf/unwind_format.h"
#include "unit/test.h"

struct made {
	uint8_t bytes[4096];
	size_t nr;
	bool is_arm64;
};

static inline void put(struct made *made, const void *bytes, size_t nr)
{
	CHECK(nr <= sizeof(made->bytes) - made->nr);
	memcpy(made->bytes + made->nr, bytes, nr);
	made->nr += nr;
}

static inline void put_number(struct made *made, uint64_t number, size_t nr)
{
	put(made, &number, nr); /* little-endian, as this machine is */
}

/* Starts an entry. Its length field is filled in when the entry ends. */
static inline size_t begin_entry(struct made *made)
{
	put_number(made, 0, 4);
	return made->nr - 4;
}

static inline void end_entry(struct made *made, size_t entry)
{
	uint32_t length = (uint32_t)(made->nr - entry - 4);

	memcpy(made->bytes + entry, &length, sizeof(length));
}

/* Appends a common information entry; returns its offset. */
static inline size_t put_common(struct made *made, bool is_eh_frame, const char *letters,
				const char *data, size_t nr_data)
{
	static const uint8_t x86_program[] = {0x0c, 7, 8, 0x80 | 16, 1};
	static const uint8_t arm64_program[] = {0x0c, 31, 0};
	size_t entry = begin_entry(made);

	put_number(made, is_eh_frame ? 0 : UINT32_MAX, 4);
	put_number(made, 1, 1);
	put(made, letters, strlen(letters) + 1);
	put(made, made->is_arm64 ? "\1\x78\x1e" : "\1\x78\x10", 3);
	put(made, data, nr_data);
	if (made->is_arm64)
		put(made, arm64_program, sizeof(arm64_program));
	else
		put(made, x86_program, sizeof(x86_program));
	end_entry(made, entry);
	return entry;
}

static inline size_t put_function(struct made *made, bool is_eh_frame, size_t common,
				  uint64_t start, uint64_t bytes, const char *program,
				  size_t nr_program)
{
	size_t entry = begin_entry(made);

	put_number(made, is_eh_frame ? made->nr - common : common, 4);
	put_number(made, start, 8);
	put_number(made, bytes, 8);
	put(made, program, nr_program);
	end_entry(made, entry);
	return entry;
}

static inline void show_place(char *text, const struct unwind_place *place)
{
	char *end = text + strlen(text);

	if (place->where == UNWIND_SAME)
		sprintf(end, " same");
	else if (place->where == UNWIND_LOST)
		sprintf(end, " lost");
	else if (place->where == UNWIND_AT_CFA)
		sprintf(end, " c%+d", place->offset);
	else if (place->where == UNWIND_AT_REGISTER)
		sprintf(end, " (r%u%+d)", place->reg, place->offset);
	else
		sprintf(end, " r%u%+d", place->reg, place->offset);
}

/* Appends a rule to the text: CFA, return address, frame pointer. */
static inline void show_rule(char *text, const struct unwind_rule *rule)
{
	char *end = text + strlen(text);

	if (rule->is_signal_frame)
		end += sprintf(end, "S:");
	if (rule->cfa == UNWIND_CFA_NONE)
		sprintf(end, "none");
	else if (rule->cfa == UNWIND_CFA_END)
		sprintf(end, "end");
	else if (rule->cfa == UNWIND_CFA_SIGNAL)
		sprintf(end, "signal");
	else if (rule->cfa == UNWIND_CFA_PLT)
		sprintf(end, "plt%d", rule->add);
	else if (rule->cfa == UNWIND_CFA_MEMORY)
		sprintf(end, "(r%u%+d)%+d", rule->reg, rule->offset, rule->add);
	else
		sprintf(end, "r%u%+d", rule->reg, rule->offset);
	if (rule->cfa == UNWIND_CFA_NONE || rule->cfa == UNWIND_CFA_END ||
	    rule->cfa == UNWIND_CFA_SIGNAL)
		return;
	show_place(text, &rule->ra);
	show_place(text, &rule->fp);
}

#endif
