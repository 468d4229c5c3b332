/*
 * Compares instruction lengths with a disassembler:
 *
 *	objdump -d -z -w FILE | print_instructions
 *
 * Each line of objdump has an address, the bytes and the instruction. Only these bytes are passed
 * to instruction_length(), which must use them all. Prints the lines that differ, and at the end `N
 * compared, N skipped, N differ`. Skipped are lines that are not instructions for objdump, either
 * (`(bad)`, `.byte`, separate prefixes), and instructions that fault or differ between processors.
 * objdump shows fwait together with the next instruction; here it counts as an instruction by
 * itself.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image/instructions.h"

#define LINE_BYTES   4096
#define DIFFER_SHOWN 20
#define FWAIT	     0x9b

static unsigned long nr_compared, nr_skipped, nr_differ;

/* Reads the hexadecimal bytes up to the tab; returns their number, all that arm64 needs. */
static size_t read_code(const char *text, uint8_t code[INSTRUCTION_MAX_BYTES + 1])
{
	size_t nr = 0;
	int used;

	while (*text && *text != '\t' && *text != '\n') {
		unsigned byte;

		if (*text == ' ') {
			text++;
			continue;
		}
		if (nr > INSTRUCTION_MAX_BYTES || sscanf(text, "%2x%n", &byte, &used) != 1)
			return 0;
		code[nr++] = (uint8_t)byte;
		text += used;
	}
	return nr;
}

/* True if all words are prefixes: objdump printed them apart from their instruction. */
static bool is_prefix_alone(const char *meaning)
{
	static const char *const prefixes[] = {"rex",	"data16", "addr32", "lock", "repz",
					       "repnz", "rep",	  "cs",	    "ds",   "es",
					       "fs",	"gs",	  "ss",	    "bnd",  "notrack"};
	size_t i;

	while (*meaning == ' ')
		meaning++;
	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t nr = strlen(prefixes[i]);

		if (strncmp(meaning, prefixes[i], nr) != 0)
			continue;
		nr += strcspn(meaning + nr, " \n");
		return !meaning[nr + strspn(meaning + nr, " \n")] || is_prefix_alone(meaning + nr);
	}
	return false;
}

/*
 * True for invalid instructions (REX before VEX), and branches whose length AMD and Intel differ
 * on.
 */
static bool is_not_defined(const char *meaning, const uint8_t *code)
{
	bool is_branch = code[0] == 0x66 && (code[1] == 0xe8 || code[1] == 0xe9);

	return is_branch || (!strncmp(meaning, "rex.", 4) && strstr(meaning, " v"));
}

static bool is_skipped(uint16_t machine, const char *meaning, const uint8_t *code)
{
	if (!*meaning || strstr(meaning, "(bad)") || strstr(meaning, ".byte"))
		return true;
	return machine == EM_X86_64 && (is_prefix_alone(meaning) || is_not_defined(meaning, code));
}

static void compare(uint16_t machine, const char *line)
{
	const char *bytes = strstr(line, ":\t"), *meaning;
	uint8_t code[INSTRUCTION_MAX_BYTES + 1] = {0};
	size_t nr, first, length;

	if (!bytes)
		return;
	meaning = strchr(bytes + 2, '\t');
	nr = meaning ? read_code(bytes + 2, code) : 0;
	if (!nr || is_skipped(machine, meaning + 1, code)) {
		nr_skipped++;
		return;
	}
	nr_compared++;
	first = code[0] == FWAIT && machine == EM_X86_64 && nr > 1;
	length = instruction_length(machine, code + first, nr - first);
	if (length != nr - first && nr_differ++ < DIFFER_SHOWN)
		printf("%zu bytes: %s", length, line);
}

int main(void)
{
	static char line[LINE_BYTES];
	uint16_t machine = EM_NONE;

	while (fgets(line, sizeof(line), stdin)) {
		if (strstr(line, "file format elf64-x86-64"))
			machine = EM_X86_64;
		else if (strstr(line, "file format elf64-littleaarch64"))
			machine = EM_AARCH64;
		else
			compare(machine, line);
	}
	printf("%lu compared, %lu skipped, %lu differ\n", nr_compared, nr_skipped, nr_differ);
	return nr_compared && !nr_differ ? 0 : 1;
}
