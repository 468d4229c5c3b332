/*
 * A line for each field:
 *
 *	\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
 *	\tfield:char comm[16];\toffset:40;\tsize:16;\tsigned:0;
 *	\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;
 */
#include "probe/find/tracepoint_format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define COMMON "common_"

static bool is_name_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_';
}

/* Whether a word is in the declaration, which ends at nr. */
static bool has_word(const char *text, size_t nr, const char *word)
{
	size_t bytes = strlen(word), i;

	for (i = 0; i + bytes <= nr; i++)
		if (!memcmp(text + i, word, bytes) && (!i || !is_name_byte(text[i - 1])) &&
		    (i + bytes == nr || !is_name_byte(text[i + bytes])))
			return true;
	return false;
}

/* The number behind `;\tKEY:`, in the same line. */
static bool take_number(const char *line, const char *key, uint32_t *ret)
{
	const char *end = strchr(line, '\n');
	const char *at = strstr(line, key);
	char *behind;
	unsigned long number;

	if (!at || (end && at > end) || !isdigit((unsigned char)at[strlen(key)]))
		return false;
	number = strtoul(at + strlen(key), &behind, 10);
	*ret = (uint32_t)number;
	return *behind == ';' && number <= UINT16_MAX;
}

/* The name is the last word, in front of brackets if there are any. */
static void take_declaration(const char *text, size_t nr, struct tracepoint_field *field)
{
	size_t end = nr, begin;

	field->is_relative = nr > 9 && text_starts_with(text, "__rel_loc");
	field->is_data_loc =
		field->is_relative || (nr > 10 && text_starts_with(text, "__data_loc"));
	field->is_char = has_word(text, nr, "char");
	if (end && text[end - 1] == ']') {
		field->is_array = true;
		while (end && text[end - 1] != '[')
			end--;
		end -= end > 0;
	}
	while (end && !is_name_byte(text[end - 1]))
		end--;
	for (begin = end; begin && is_name_byte(text[begin - 1]); begin--)
		;
	field->name = text + begin;
	field->nr_name = end - begin;
}

bool tracepoint_field_next(const char **format, struct tracepoint_field *ret)
{
	const char *at;

	while ((at = strstr(*format, "\tfield:"))) {
		struct tracepoint_field field = {0};
		uint32_t is_signed = 0;
		const char *end;

		at += strlen("\tfield:");
		*format = at;
		end = at + strcspn(at, ";\n");
		if (*end != ';' || !take_number(end, "offset:", &field.offset) ||
		    !take_number(end, "size:", &field.bytes) ||
		    !take_number(end, "signed:", &is_signed))
			continue;
		take_declaration(at, (size_t)(end - at), &field);
		field.is_signed = is_signed;
		if (!field.nr_name)
			continue;
		*ret = field;
		return true;
	}
	return false;
}

bool tracepoint_field_find(const char *format, const char *name, struct tracepoint_field *ret)
{
	struct tracepoint_field field;

	while (tracepoint_field_next(&format, &field)) {
		if (field.nr_name != strlen(name) || memcmp(field.name, name, field.nr_name) != 0)
			continue;
		*ret = field;
		return true;
	}
	return false;
}

bool tracepoint_field_is_text(const struct tracepoint_field *field)
{
	return field->is_char && (field->is_array || field->is_data_loc);
}

void tracepoint_field_names(const char *format, char *ret, size_t bytes)
{
	struct tracepoint_field field;
	size_t nr = 0;

	*ret = '\0';
	while (tracepoint_field_next(&format, &field)) {
		if (text_starts_with(field.name, COMMON))
			continue;
		if (nr + field.nr_name + 8 > bytes) {
			(void)snprintf(ret + nr, bytes - nr, ", …");
			return;
		}
		nr += (size_t)snprintf(ret + nr, bytes - nr, "%s%.*s", nr ? ", " : "",
				       (int)field.nr_name, field.name);
	}
}
