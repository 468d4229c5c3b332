/* The tables are handed to getopt_long(), which knows the customs of command lines. */
#include "cmd/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define FIRST_LONG_ONLY 256 /* getopt's value for row i without a letter: this + i */
#define HELP_VALUE	1000
#define LEFT_COLUMNS	26

/* A table's rows, one behind the other, as getopt wants them. */
struct rows {
	const struct option_row *rows[OPTION_ROWS_MAX];
	void *options[OPTION_ROWS_MAX];
	size_t nr;
	struct option longs[OPTION_ROWS_MAX + 2];
	char shorts[2 * OPTION_ROWS_MAX + 4];
};

/* Who wants to see tables; see option_table_visit(). */
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
		/* … is three bytes and one column. */
		printf("  %-*s %s\n", LEFT_COLUMNS + (strstr(left, "…") ? 2 : 0), left, row->help);
	}
	puts(table->examples);
}

static int unknown_option(const char *word, struct error *error)
{
	(void)error_set(error, -EINVAL, "unknown option '%s'", word);
	if (!strcmp(word, "-g") || !strcmp(word, "--call-graph"))
		error_hint(error, "stacks are always taken: leave it out");
	return -EINVAL;
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
			err = rows->rows[i]->take(rows->options[i], optarg, error);
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
			return unknown_option(argv[word], error);
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
