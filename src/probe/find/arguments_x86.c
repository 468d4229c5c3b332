/* x86-64: registers, and the operands of notes, which are written as the assembler has them. */
#include "probe/find/argument_machine.h"
#include "probe/find/arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Each register with the names of its parts, from 8 bytes to 1. */
static const struct named_register {
	const char *names[4];
	uint16_t at;
} named_registers[] = {
	{{"r15", "r15d", "r15w", "r15b"}, 0},  {{"r14", "r14d", "r14w", "r14b"}, 8},
	{{"r13", "r13d", "r13w", "r13b"}, 16}, {{"r12", "r12d", "r12w", "r12b"}, 24},
	{{"rbp", "ebp", "bp", "bpl"}, 32},     {{"rbx", "ebx", "bx", "bl"}, 40},
	{{"r11", "r11d", "r11w", "r11b"}, 48}, {{"r10", "r10d", "r10w", "r10b"}, 56},
	{{"r9", "r9d", "r9w", "r9b"}, 64},     {{"r8", "r8d", "r8w", "r8b"}, 72},
	{{"rax", "eax", "ax", "al"}, 80},      {{"rcx", "ecx", "cx", "cl"}, 88},
	{{"rdx", "edx", "dx", "dl"}, 96},      {{"rsi", "esi", "si", "sil"}, 104},
	{{"rdi", "edi", "di", "dil"}, 112},    {{"rsp", "esp", "sp", "spl"}, 152},
};

/* "%rax": where it goes on, or NULL. */
static const char *take_register(const char *text, uint16_t *ret)
{
	size_t nr, i, k;

	if (*text != '%')
		return NULL;
	nr = strspn(++text, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (i = 0; i < ARRAY_SIZE(named_registers); i++)
		for (k = 0; k < 4; k++) {
			const char *name = named_registers[i].names[k];

			if (strlen(name) != nr || memcmp(name, text, nr) != 0)
				continue;
			*ret = named_registers[i].at;
			return text + nr;
		}
	return NULL;
}

static const char *take_number(const char *text, int64_t *ret)
{
	char *end;

	if (!strchr("-0123456789", *text) || !*text)
		return NULL;
	errno = 0;
	*ret = strtoll(text, &end, 0);
	return errno || end == text ? NULL : end;
}

static bool is_end(const char *text)
{
	return text && (*text == '\0' || *text == ' ');
}

/* Behind the base: ",%rcx,4)" or ")". */
static const char *take_index(const char *text, struct tally_fetch *fetch)
{
	int64_t scale = 1;

	if (*text == ',') {
		text = take_register(text + 1, &fetch->index);
		if (text && *text == ',')
			text = take_number(text + 1, &scale);
		if (!text || scale < 1 || scale > 8 || (scale & (scale - 1)))
			return NULL;
		fetch->shift = (uint8_t)__builtin_ctzll((uint64_t)scale);
	}
	return *text == ')' ? text + 1 : NULL;
}

/* "-24(%rbp)", "(%rax,%rcx,8)" */
static bool take_memory(const char *text, struct tally_fetch *fetch)
{
	int64_t add = 0;

	if (*text != '(')
		text = take_number(text, &add);
	if (!text || *text != '(')
		return false;
	text = take_register(text + 1, &fetch->base);
	if (!text || !is_end(take_index(text, fetch)))
		return false;
	fetch->kind = TALLY_FETCH_MEMORY;
	fetch->add = add;
	return true;
}

static bool take_place(const char *text, struct tally_fetch *fetch)
{
	int64_t number;

	switch (*text) {
	case '$':
		fetch->kind = TALLY_FETCH_CONSTANT;
		text = take_number(text + 1, &number);
		fetch->add = text ? number : 0;
		return is_end(text);
	case '%':
		fetch->kind = TALLY_FETCH_REGISTER;
		return is_end(take_register(text, &fetch->base));
	default:
		return take_memory(text, fetch);
	}
}

const struct argument_machine arguments_x86 = {
	.functions = {{112, 104, 96, 88, 72, 64}}, /* rdi rsi rdx rcx r8 r9 */
	.go = {{80, 40, 88, 112, 104, 72}},	   /* rax rbx rcx rdi rsi r8 */
	.result = 80,
	.take_place = take_place,
};
