/* A table of registers for each machine, and what differs in the notes of static probes. */
#include "probe/find/arguments.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "probe/find/argument_machine.h"
#include "probe/find/tracepoint_format.h"

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
		return error_set(error, -EINVAL, "'%s' has no arg%u: arg1 to arg%zu are known",
				 probe->name, operand->argument, nr);
	return error_set(error, -EINVAL, "'%s' has no arg%u", probe->name, operand->argument);
}

/* --- functions ------------------------------------------------------------------------------- */

static struct tally_fetch whole_register(uint16_t at)
{
	return (struct tally_fetch){
		.kind = TALLY_FETCH_REGISTER, .bytes = 8, .base = at, .index = TALLY_NO_INDEX};
}

/* What fentry leaves behind, in the order of the arguments: a word each. */
static struct tally_fetch of_trampoline(unsigned argument)
{
	return (struct tally_fetch){.kind = TALLY_FETCH_FIELD,
				    .bytes = 8,
				    .base = (uint16_t)((argument - 1) * 8),
				    .index = TALLY_NO_INDEX};
}

static int find_in_function(const struct argument_machine *machine, const struct probe *probe,
			    bool by_trampoline, const struct operand *operand,
			    struct tally_fetch *ret, struct error *error)
{
	const struct argument_registers *registers =
		probe->is_go ? &machine->go : &machine->functions;

	if (operand->field[0]) {
		(void)error_set(error, -EINVAL, "'%s' is no tracepoint: it has no args.%s",
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
	*ret = by_trampoline ? of_trampoline(operand->argument)
			     : whole_register(registers->at[operand->argument - 1]);
	return 0;
}

/* --- static probes --------------------------------------------------------------------------- */

/* "-4@…": bytes and whether there is a sign. Where it goes on, or NULL. */
static const char *take_size(const char *text, struct tally_fetch *fetch)
{
	fetch->is_signed = *text == '-';
	text += fetch->is_signed;
	if (!*text || !strchr("1248", *text) || text[1] != '@')
		return NULL; /* "8f@%xmm0": floating point */
	fetch->bytes = (uint8_t)(*text - '0');
	return text + 2;
}

/* The nr-th of a note's arguments, from 1 on; NULL if there are fewer. */
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
		/* arm64 has blanks inside of brackets: "8@[sp, 16]". */
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
		return error_set(error, -EINVAL,
				 "arg%u of '%s' is nowhere that can be read: its note says '%s'",
				 operand->argument, probe->name, note);
	*ret = fetch;
	return 0;
}

/* --- tracepoints ----------------------------------------------------------------------------- */

static int no_field(const struct probe *probe, const char *format, const char *name,
		    struct error *error)
{
	char names[300];

	tracepoint_field_names(format, names, sizeof(names));
	(void)error_set(error, -EINVAL, "tracepoint '%s' has no field '%s'", probe->name, name);
	error_hint(error, "it has %s", *names ? names : "none");
	return -EINVAL;
}

/* The record's first eight bytes, where these lie, are not what programs see. */
static int no_common_field(const struct probe *probe, const char *name, struct error *error)
{
	return error_set(error, -EINVAL,
			 "the field '%s' of '%s' can't be read: there are pid, tid, cpu", name,
			 probe->name);
}

static struct tally_fetch address_of(const struct tracepoint_field *field)
{
	return (struct tally_fetch){
		.kind = field->is_data_loc ? TALLY_FETCH_DATA_LOC : TALLY_FETCH_ADDRESS,
		.bytes = 8,
		.base = (uint16_t)field->offset,
		.index = (uint16_t)(field->is_relative ? field->offset + field->bytes : 0),
	};
}

static int find_field(const struct probe *probe, const char *format, const struct operand *operand,
		      struct tally_fetch *ret, struct error *error)
{
	struct tracepoint_field field;

	if (!operand->field[0]) {
		char names[300];

		tracepoint_field_names(format, names, sizeof(names));
		(void)error_set(error, -EINVAL, "'%s' is a tracepoint: it has fields", probe->name);
		error_hint(error, "args.FIELD, where FIELD is one of %s", names);
		return -EINVAL;
	}
	if (!tracepoint_field_find(format, operand->field, &field))
		return no_field(probe, format, operand->field, error);
	if (text_starts_with(operand->field, "common_"))
		return no_common_field(probe, operand->field, error);
	if (operand->is_address && tracepoint_field_is_text(&field)) {
		*ret = address_of(&field);
		return 0;
	}
	if (field.is_array || field.is_data_loc || !field.bytes || field.bytes > 8 ||
	    operand->is_address)
		return error_set(error, -EINVAL, "the field '%s' of '%s' is no number%s",
				 operand->field, probe->name, operand->is_address ? " there" : "");
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

/* --- all of them ----------------------------------------------------------------------------- */

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
