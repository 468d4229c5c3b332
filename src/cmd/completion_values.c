/*
 * What the values of options can be. A row's name for its value says what it is: FILE, DIR, PID,…;
 * where it is one of a few words, these are here, by the option's name. tests/golden/completion.sh
 * sees that the commands take each of them.
 */
#include "cmd/completion_scripts.h"

#include <string.h>

#include "base/array.h"
#include "format/format.h"

static const struct {
	const char *value; /* as the row has it, without what follows a comma */
	enum value_kind kind;
} kinds[] = {
	{"FILE", VALUE_FILE},
	{"DIR", VALUE_FOLDER},
	{"PATH", VALUE_FOLDER},
	{"PID", VALUE_PID},
};

static const struct {
	const char *option, *words;
} words[] = {
	{"by", "pid tid comm cpu cgroup"},
	{"demangle", "full simple no"},
	{"event", "cycles instructions cache-misses branch-misses cpu-clock task-clock page-faults "
		  "context-switches"},
	{"fold", "clones tiers"},
	{"unwind", "auto cfi fp"},
};

struct completed_value completed_value(const struct option_row *row)
{
	static char read_names[FORMAT_NAMES_BYTES];
	struct completed_value value = {.kind = VALUE_TEXT};
	size_t nr, i;

	if (!row->value)
		return (struct completed_value){.kind = VALUE_NONE};
	nr = strcspn(row->value, ",");
	value.is_list = row->value[nr] == ',';
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i].value) == nr && !strncmp(kinds[i].value, row->value, nr))
			value.kind = kinds[i].kind;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].option, row->name)) {
			value.kind = VALUE_WORDS;
			value.words = words[i].words;
		}
	if (!strcmp(row->name, "format"))
		value = (struct completed_value){.kind = VALUE_WORDS, .words = format_names()};
	if (!strcmp(row->name, "input-format"))
		value = (struct completed_value){.kind = VALUE_WORDS,
						 .words = format_read_names(read_names)};
	return value;
}

void completion_write_words(const char *list, FILE *out)
{
	const char *separator = "";

	for (list += strspn(list, " ,"); *list; list += strspn(list, " ,")) {
		size_t nr = strcspn(list, " ,");

		fprintf(out, "%s%.*s", separator, (int)nr, list);
		separator = " ";
		list += nr;
	}
}
