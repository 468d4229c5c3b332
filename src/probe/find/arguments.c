/*
 * A table of registers for each machine, and a parser of the argument locations in the notes of
 * static probes.
 */
#include "probe/find/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "probe/find/tracepoints.h"

/* --- x86-64 ----------------------------------------------------------------------------------- */

/* Each register with the names of its parts, from 8 bytes to 1 byte. */
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

/* Parses "%rax". Returns the position after it, or NULL. */
static const char *take_register_x86(const char *text, uint16_t *ret)
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

/* Parses the part after the base: ",%rcx,4)" or ")". */
static const char *take_index_x86(const char *text, struct tally_fetch *fetch)
{
	int64_t scale = 1;

	if (*text == ',') {
		text = take_register_x86(text + 1, &fetch->index);
		if (text && *text == ',')
			text = take_number(text + 1, &scale);
		if (!text || scale < 1 || scale > 8 || (scale & (scale - 1)))
			return NULL;
		fetch->shift = (uint8_t)__builtin_ctzll((uint64_t)scale);
	}
	return *text == ')' ? text + 1 : NULL;
}

/* Parses "-24(%rbp)", "(%rax,%rcx,8)". */
static bool take_memory_x86(const char *text, struct tally_fetch *fetch)
{
	int64_t add = 0;

	if (*text != '(')
		text = take_number(text, &add);
	if (!text || *text != '(')
		return false;
	text = take_register_x86(text + 1, &fetch->base);
	if (!text || !is_end(take_index_x86(text, fetch)))
		return false;
	fetch->kind = TALLY_FETCH_MEMORY;
	fetch->add = add;
	return true;
}

static bool take_place_x86(const char *text, struct tally_fetch *fetch)
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
		return is_end(take_register_x86(text, &fetch->base));
	default:
		return take_memory_x86(text, fetch);
	}
}

const struct argument_machine arguments_x86 = {
	.functions = {{112, 104, 96, 88, 72, 64}}, /* rdi rsi rdx rcx r8 r9 */
	.go = {{80, 40, 88, 112, 104, 72}},	   /* rax rbx rcx rdi rsi r8 */
	.result = 80,
	.take_place = take_place_x86,
};

/* --- arm64 ------------------------------------------------------------------------------------ */

#define STACK_POINTER_AT (31 * 8)
#define REGISTERS	 31

/* Parses "x0", "w0" or "sp". Returns the position after it, or NULL. */
static const char *take_register_arm64(const char *text, uint16_t *ret)
{
	unsigned long number;
	char *end;

	if (text[0] == 's' && text[1] == 'p') {
		*ret = STACK_POINTER_AT;
		return text + 2;
	}
	if ((text[0] != 'x' && text[0] != 'w') || !isdigit((unsigned char)text[1]))
		return NULL;
	number = strtoul(text + 1, &end, 10);
	*ret = (uint16_t)(number * 8);
	return number < REGISTERS ? end : NULL;
}

static bool take_memory_arm64(const char *text, struct tally_fetch *fetch)
{
	int64_t add = 0;

	fetch->kind = TALLY_FETCH_MEMORY;
	text = take_register_arm64(text, &fetch->base);
	if (text && *text == ',') {
		text += 1 + strspn(text + 1, " ");
		text = isalpha((unsigned char)*text) ? take_register_arm64(text, &fetch->index)
						     : take_number(text, &add);
	}
	fetch->add = add;
	return text && *text == ']' && is_end(text + 1);
}

static bool take_place_arm64(const char *text, struct tally_fetch *fetch)
{
	int64_t number = 0;

	if (*text == '[')
		return take_memory_arm64(text + 1, fetch);
	if (isalpha((unsigned char)*text)) {
		fetch->kind = TALLY_FETCH_REGISTER;
		return is_end(take_register_arm64(text, &fetch->base));
	}
	fetch->kind = TALLY_FETCH_CONSTANT;
	text = take_number(text, &number);
	fetch->add = number;
	return is_end(text);
}

const struct argument_machine arguments_arm64 = {
	.functions = {{0, 8, 16, 24, 32, 40}},
	.go = {{0, 8, 16, 24, 32, 40}},
	.result = 0,
	.take_place = take_place_arm64,
};

const struct argument_machine *arguments_machine(void)
{
#if defined(__x86_64__)
	return &arguments_x86;
#else
	return &arguments_arm64;
#endif
}

static int no_argument(const struct probe *probe, const struct operand *operand, size_t nr,
		       struct error *error)
{
	if (nr)
		return error_set(error, -EINVAL, "'%s' has no arg%u; available: arg1 to arg%zu",
				 probe->name, operand->argument, nr);
	return error_set(error, -EINVAL, "'%s' has no arg%u", probe->name, operand->argument);
}

/* --- functions ------------------------------------------------------------------------------- */

static struct tally_fetch whole_register(uint16_t at)
{
	return (struct tally_fetch){
		.kind = TALLY_FETCH_REGISTER, .bytes = 8, .base = at, .index = TALLY_NO_INDEX};
}

static int find_in_function(const struct argument_machine *machine, const struct probe *probe,
			    bool by_trampoline, const struct operand *operand,
			    struct tally_fetch *ret, struct error *error)
{
	const struct argument_registers *registers =
		probe->is_go ? &machine->go : &machine->functions;

	if (operand->field[0]) {
		(void)error_set(error, -EINVAL, "'%s' is not a tracepoint: it has no args.%s",
				probe->name, operand->field);
		error_hint(error, "arg1, arg2, … are the arguments of a function");
		return -EINVAL;
	}
	if (operand->kind == TALLY_AT_RETURN && by_trampoline) {
		*ret = (struct tally_fetch){.kind = TALLY_FETCH_RESULT, .bytes = 8};
		return 0;
	}
	if (operand->kind == TALLY_AT_RETURN) {
		*ret = whole_register(machine->result);
		return 0;
	}
	if (operand->argument > ARGUMENTS_OF_FUNCTION)
		return no_argument(probe, operand, ARGUMENTS_OF_FUNCTION, error);
	*ret = whole_register(registers->at[operand->argument - 1]);
	/* With fentry, arguments are an array of words, in their order. */
	if (by_trampoline) {
		ret->kind = TALLY_FETCH_FIELD;
		ret->base = (uint16_t)((operand->argument - 1) * 8);
	}
	return 0;
}

/* --- static probes --------------------------------------------------------------------------- */

/* Parses "-4@…": size in bytes, negative if signed. Returns the position after it, or NULL. */
static const char *take_size(const char *text, struct tally_fetch *fetch)
{
	fetch->is_signed = *text == '-';
	text += fetch->is_signed;
	if (!*text || !strchr("1248", *text) || text[1] != '@')
		return NULL; /* "8f@%xmm0": floating point */
	fetch->bytes = (uint8_t)(*text - '0');
	return text + 2;
}

/*
 * Returns the nr-th argument of a note, from 1; NULL if there are fewer. *ret_found: number of
 * arguments seen.
 */
static const char *nth_argument(const char *text, unsigned nr, unsigned *ret_found)
{
	const char *at = text, *found = NULL;

	*ret_found = 0;
	for (;;) {
		at += strspn(at, " ");
		if (!*at)
			return found;
		if (++*ret_found == nr)
			found = at;
		/* arm64 has blanks inside brackets: "8@[sp, 16]". */
		for (; *at && *at != ' '; at++)
			if (*at == '[')
				at += strcspn(at, "]") - (strchr(at, ']') ? 0 : 1);
	}
}

static int find_in_note(const struct argument_machine *machine, const struct probe *probe,
			const struct operand *operand, struct tally_fetch *ret, struct error *error)
{
	const char *note = probe->arguments ? probe->arguments : "";
	struct tally_fetch fetch = {.index = TALLY_NO_INDEX};
	const char *at;
	unsigned nr;

	if (operand->field[0] || operand->kind == TALLY_AT_RETURN)
		return error_set(error, -EINVAL, "'%s' is a static probe: it has no %s%s",
				 probe->name, operand->field[0] ? "args." : "retval",
				 operand->field);
	at = nth_argument(note, operand->argument, &nr);
	if (!at)
		return no_argument(probe, operand, nr, error);
	at = take_size(at, &fetch);
	if (!at || !machine->take_place(at, &fetch))
		return error_set(
			error, -EINVAL,
			"arg%u of '%s' cannot be read: unsupported location in its note '%s'",
			operand->argument, probe->name, note);
	*ret = fetch;
	return 0;
}

/* --- tracepoints ----------------------------------------------------------------------------- */

static int find_field(const struct probe *probe, const char *format, const struct operand *operand,
		      struct tally_fetch *ret, struct error *error)
{
	const char *name = operand->field;
	struct tracepoint_field field;
	char names[300];

	tracepoint_field_names(format, names, sizeof(names));
	if (!name[0]) {
		(void)error_set(error, -EINVAL,
				"'%s' is a tracepoint: it has fields, not arguments", probe->name);
		error_hint(error, "use args.FIELD, where FIELD is one of %s", names);
		return -EINVAL;
	}
	if (!tracepoint_field_find(format, name, &field)) {
		(void)error_set(error, -EINVAL, "tracepoint '%s' has no field '%s'", probe->name,
				name);
		error_hint(error, "it has %s", *names ? names : "none");
		return -EINVAL;
	}
	/* BPF programs do not see the first eight bytes of the record, where these fields are. */
	if (text_starts_with(name, "common_"))
		return error_set(error, -EINVAL,
				 "the field '%s' of '%s' cannot be read; use pid, tid or cpu", name,
				 probe->name);
	if (operand->is_address && tracepoint_field_is_text(&field)) {
		*ret = (struct tally_fetch){
			.kind = field.is_data_loc ? TALLY_FETCH_DATA_LOC : TALLY_FETCH_ADDRESS,
			.bytes = 8,
			.base = (uint16_t)field.offset,
			.index = (uint16_t)(field.is_relative ? field.offset + field.bytes : 0),
		};
		return 0;
	}
	if (field.is_array || field.is_data_loc || !field.bytes || field.bytes > 8 ||
	    operand->is_address)
		return error_set(error, -EINVAL, "the field '%s' of '%s' is not a %s", name,
				 probe->name, operand->is_address ? "string" : "number");
	*ret = (struct tally_fetch){.kind = TALLY_FETCH_FIELD,
				    .bytes = (uint8_t)field.bytes,
				    .is_signed = field.is_signed,
				    .base = (uint16_t)field.offset,
				    .index = TALLY_NO_INDEX};
	return 0;
}

bool arguments_field_is_text(const char *format, const char *name)
{
	struct tracepoint_field field;

	return tracepoint_field_find(format, name, &field) && tracepoint_field_is_text(&field);
}

/* --- all kinds of probes ---------------------------------------------------------------------- */

int arguments_find(const struct argument_machine *machine, const struct probe *probe,
		   const char *format, bool by_trampoline, const struct operand *operand,
		   struct tally_fetch *ret, struct error *error)
{
	switch (probe->kind) {
	case PROBE_TRACEPOINT:
		return find_field(probe, format, operand, ret, error);
	case PROBE_USDT:
		return find_in_note(machine, probe, operand, ret, error);
	case PROBE_USER:
	case PROBE_KERNEL:
		break;
	}
	return find_in_function(machine, probe, by_trampoline, operand, ret, error);
}
