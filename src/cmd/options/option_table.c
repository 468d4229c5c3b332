/* The tables are handed to getopt_long(), which knows the conventions of command lines. */
#include "cmd/options/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define FIRST_LONG_ONLY 256 /* getopt's value for row i without a letter: this + i */
#define HELP_VALUE	1000
#define LEFT_COLUMNS	27
#define HELP_INDENT	(2 + LEFT_COLUMNS + 1)
#define HELP_COLUMNS	80
#define NAMES_BYTES	128 /* of a message that lists them */

/* A table's rows, one behind the other, as getopt wants them. */
struct rows {
	const struct option_row *rows[OPTION_ROWS_MAX];
	void *options[OPTION_ROWS_MAX];
	size_t nr;
	struct option longs[OPTION_ROWS_MAX + 2];
	char shorts[2 * OPTION_ROWS_MAX + 4];
};

/* Set by option_table_visit(). */
static option_table_visit_fn *visitor;
static void *visitor_context;

void option_table_visit(option_table_visit_fn *visit, void *context)
{
	visitor = visit;
	visitor_context = context;
}

int option_bad(struct error *error, const char *option, const char *value, const char *wanted)
{
	return error_set(error, -EINVAL, "bad value '%s' for %s: %s", value, option, wanted);
}

int option_take_number(const struct option_number *number, const char *value, uint64_t *ret,
		       struct error *error)
{
	uint64_t taken;

	if (number_parse(value, number->most, &taken) < 0 || taken < number->least)
		return option_bad(error, number->option, value, number->wanted);
	*ret = taken;
	return 0;
}

size_t option_find_name(const char *text, size_t bytes, const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (strlen(names[i]) == bytes && !strncmp(names[i], text, bytes))
			break;
	return i;
}

/* "a, b or c", with " or " for the last separator. */
static void list_names(const char *const *names, size_t nr, const char *last,
		       char list[NAMES_BYTES])
{
	size_t bytes = 0, i;

	list[0] = '\0';
	for (i = 0; i < nr && bytes < NAMES_BYTES; i++) {
		const char *separator = i + 1 < nr ? ", " : last;

		bytes += (size_t)snprintf(list + bytes, NAMES_BYTES - bytes, "%s%s",
					  i ? separator : "", names[i]);
	}
}

int option_take_choice(const char *option, const char *value, const char *const *names, size_t nr,
		       struct error *error)
{
	size_t name = option_find_name(value, strlen(value), names, nr);
	char list[NAMES_BYTES];

	if (name < nr)
		return (int)name;
	list_names(names, nr, " or ", list);
	return option_bad(error, option, value, list);
}

int option_take_set(const char *option, const char *value, const char *const *names, size_t nr,
		    unsigned *ret, struct error *error)
{
	char list[NAMES_BYTES];
	const char *at = value;
	unsigned bits = 0;

	for (;;) {
		size_t bytes = strcspn(at, ","), name = option_find_name(at, bytes, names, nr);

		if (name == nr)
			break;
		bits |= 1U << name;
		if (!at[bytes]) {
			*ret = bits;
			return 0;
		}
		at += bytes + 1;
	}
	list_names(names, nr, ", ", list);
	return error_set(error, -EINVAL, "bad value '%s' for %s: some of %s", value, option, list);
}

static int value_of(const struct rows *rows, size_t i)
{
	return rows->rows[i]->letter ? rows->rows[i]->letter : FIRST_LONG_ONLY + (int)i;
}

static void list_rows(const struct option_table *table, struct rows *rows)
{
	size_t group, i;

	for (group = 0; group < table->nr_groups; group++)
		for (i = 0; i < table->groups[group].nr && rows->nr < OPTION_ROWS_MAX; i++) {
			rows->rows[rows->nr] = &table->groups[group].rows[i];
			rows->options[rows->nr++] = table->groups[group].options;
		}
}

static void fill_getopt(struct rows *rows)
{
	char *shorts = rows->shorts;
	size_t i;

	*shorts++ = '+'; /* stop at the first word, which may be a command's */
	*shorts++ = ':';
	for (i = 0; i < rows->nr; i++) {
		const struct option_row *row = rows->rows[i];

		rows->longs[i] =
			(struct option){row->name, row->value ? required_argument : no_argument,
					NULL, value_of(rows, i)};
		if (!row->letter)
			continue;
		*shorts++ = row->letter;
		if (row->value)
			*shorts++ = ':';
	}
	*shorts++ = 'h';
	*shorts = '\0';
	rows->longs[i] = (struct option){"help", no_argument, NULL, HELP_VALUE};
	rows->longs[i + 1] = (struct option){0};
}

/* The first row of this name: what several groups have is one option to the user. */
static size_t first_of_name(const struct rows *rows, const char *name)
{
	size_t i = 0;

	while (strcmp(rows->rows[i]->name, name) != 0)
		i++;
	return i;
}

size_t option_table_rows(const struct option_table *table,
			 const struct option_row *ret[OPTION_ROWS_MAX])
{
	struct rows rows = {0};
	size_t nr = 0, i;

	list_rows(table, &rows);
	for (i = 0; i < rows.nr; i++)
		if (first_of_name(&rows, rows.rows[i]->name) == i)
			ret[nr++] = rows.rows[i];
	return nr;
}

/* … is three bytes and one column, as all of UTF-8 that is in help. */
static size_t columns_of(const char *text, size_t nr)
{
	size_t columns = 0, i;

	for (i = 0; i < nr; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

/* In lines of at most HELP_COLUMNS; the cursor is at HELP_INDENT already. */
static void print_wrapped(const char *text)
{
	size_t at = HELP_INDENT, bytes;

	for (; *text; text += bytes + (text[bytes] == ' ')) {
		size_t columns;

		bytes = strcspn(text, " ");
		columns = columns_of(text, bytes);
		if (at > HELP_INDENT && at + 1 + columns > HELP_COLUMNS) {
			printf("\n%*s", HELP_INDENT, "");
			at = HELP_INDENT;
		}
		printf("%s%.*s", at > HELP_INDENT ? " " : "", (int)bytes, text);
		at += columns + (at > HELP_INDENT);
	}
	putchar('\n');
}

static void print_help(const struct option_table *table)
{
	const struct option_row *rows[OPTION_ROWS_MAX];
	size_t nr = option_table_rows(table, rows), i;

	puts(table->usage);
	for (i = 0; i < nr; i++) {
		const struct option_row *row = rows[i];
		char left[64];

		(void)snprintf(left, sizeof(left), "%c%c%s --%s%s%s", row->letter ? '-' : ' ',
			       row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name,
			       row->value ? " " : "", row->value ? row->value : "");
		printf("  %s%*s", left, (int)(LEFT_COLUMNS + 1 - columns_of(left, strlen(left))),
		       "");
		print_wrapped(row->help);
	}
	puts(table->examples);
}

static int unknown_option(const char *command, const char *word, struct error *error)
{
	(void)error_set(error, -EINVAL, "unknown option '%s'", word);
	error_hint(error, "'stook %s --help' lists the options", command);
	if (!strcmp(word, "-g") || !strcmp(word, "--call-graph"))
		error_hint(error, "stacks are always taken: leave it out");
	return -EINVAL;
}

static int take_value(const struct option_row *row, void *options, struct error *error)
{
	void *field = (char *)options + row->at;

	if (row->take)
		return row->take(options, optarg, error);
	if (row->number)
		return option_take_number(row->number, optarg, field, error);
	if (row->value)
		*(const char **)field = optarg;
	else
		*(bool *)field = true;
	return 0;
}

/* Gives the value to each group that has the option. */
static int take_row(const struct rows *rows, int value, struct error *error)
{
	const char *name = NULL;
	int err = 0;
	size_t i;

	for (i = 0; i < rows->nr && !name; i++)
		if (value == value_of(rows, i))
			name = rows->rows[i]->name;
	for (i = 0; i < rows->nr && name && !err; i++)
		if (!strcmp(rows->rows[i]->name, name))
			err = take_value(rows->rows[i], rows->options[i], error);
	return err;
}

int option_table_parse(const struct option_table *table, int argc, char **argv, struct error *error)
{
	struct rows rows = {0};

	if (visitor) {
		visitor(visitor_context, table);
		return 1;
	}
	list_rows(table, &rows);
	fill_getopt(&rows);
	opterr = 0;
	for (;;) {
		int word = optind ? optind : 1;
		int value = getopt_long(argc, argv, rows.shorts, rows.longs, NULL);
		int err;

		if (value == HELP_VALUE || value == 'h') {
			print_help(table);
			return 1;
		}
		if (value == ':')
			return error_set(error, -EINVAL, "'%s' needs a value", argv[word]);
		if (value == '?')
			return unknown_option(argv[0], argv[word], error);
		if (value >= 0)
			err = take_row(&rows, value, error);
		else if (optind >= argc || optind > word)
			return 0; /* at the end, or behind a `--` that was passed just now */
		else
			err = table->take_word(table->context, argv[optind++], error);
		if (err < 0)
			return err;
	}
}
