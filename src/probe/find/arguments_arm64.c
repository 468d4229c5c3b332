/* arm64: registers, and the operands of notes: "x0", "w1", "[sp, 12]", "[x2, x3]", "17". */
#include "probe/find/argument_machine.h"
#include "probe/find/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STACK_POINTER_AT (31 * 8)
#define REGISTERS	 31

/* Where it goes on, or NULL. */
static const char *take_register(const char *text, uint16_t *ret)
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

static const char *take_number(const char *text, int64_t *ret)
{
	char *end;

	if (!*text || !strchr("-0123456789", *text))
		return NULL;
	errno = 0;
	*ret = strtoll(text, &end, 0);
	return errno || end == text ? NULL : end;
}

static bool is_end(const char *text)
{
	return text && (*text == '\0' || *text == ' ');
}

static bool take_memory(const char *text, struct tally_fetch *fetch)
{
	int64_t add = 0;

	fetch->kind = TALLY_FETCH_MEMORY;
	text = take_register(text, &fetch->base);
	if (text && *text == ',') {
		text += 1 + strspn(text + 1, " ");
		text = isalpha((unsigned char)*text) ? take_register(text, &fetch->index)
						     : take_number(text, &add);
	}
	fetch->add = add;
	return text && *text == ']' && is_end(text + 1);
}

static bool take_place(const char *text, struct tally_fetch *fetch)
{
	int64_t number = 0;

	if (*text == '[')
		return take_memory(text + 1, fetch);
	if (isalpha((unsigned char)*text)) {
		fetch->kind = TALLY_FETCH_REGISTER;
		return is_end(take_register(text, &fetch->base));
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
	.take_place = take_place,
};
