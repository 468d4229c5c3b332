/*
 * What the values of options can be. A row's name for its value says what it is: FILE, DIR, PID,…;
 * where it is one of a few words, these are here, by the names of the command and the option.
 * tests/golden/completion.sh sees that the commands take each of them.
 */
#include "cmd/completion_scripts.h"

#include <string.h>

#include "base/array.h"
#include "format/flame/palette.h"
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

#define ROW_KEYS "function module comm pid tid cpu cgroup line kind category"

/* Of several rows that fit, the first one counts. */
static const struct {
	const char *command; /* NULL: all that have the option */
	const char *option;
	const char *words;
} words[] = {
	{NULL, "bgcolors", "white yellow blue green grey"},
	{"tally", "by", "func comm pid tid cpu"},
	{NULL, "by", "pid tid comm cpu cgroup"},
	{NULL, "call-graph", "graph fractal flat folded none caller callee"},
	{NULL, "demangle", "full simple no"},
	{NULL, "event",
	 "cycles instructions cache-misses branch-misses cpu-clock task-clock page-faults "
	 "context-switches"},
	{NULL, "fold", "clones tiers"},
	{"diff", "group-by", "function module comm"},
	{NULL, "group-by", ROW_KEYS},
	{NULL, "order", "self total"},
	{"diff", "sort", "function module comm"},
	{"funccount", "sort", "count name rate"},
	{"tally", "sort", "count key sum min avg max"},
	{NULL, "sort", ROW_KEYS},
	{NULL, "unwind", "auto cfi fp"},
};

static const char *read_names(void)
{
	static char names[FORMAT_NAMES_BYTES];

	return format_read_names(names);
}

/* Words that are told by whoever takes them. */
static const struct {
	const char *option;
	const char *(*names)(void);
} lists[] = {
	{"colors", palette_names},
	{"format", format_names},
	{"input-format", read_names},
};

static const char *words_of(const char *command, const char *option)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		if (!strcmp(lists[i].option, option))
			return lists[i].names();
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].option, option) &&
		    (!words[i].command || !strcmp(words[i].command, command)))
			return words[i].words;
	return NULL;
}

struct completed_value completed_value(const char *command, const struct option_row *row)
{
	struct completed_value value = {.kind = VALUE_TEXT};
	size_t nr, i;

	if (!row->value)
		return (struct completed_value){.kind = VALUE_NONE};
	nr = strcspn(row->value, ",");
	value.is_list = row->value[nr] == ',';
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i].value) == nr && !strncmp(kinds[i].value, row->value, nr))
			value.kind = kinds[i].kind;
	value.words = words_of(command, row->name);
	if (value.words)
		value.kind = VALUE_WORDS;
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
