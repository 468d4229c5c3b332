/* Tables are parsed by getopt_long(), which implements the conventions of command lines. */
#include "cmd/options/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/closest.h"
#include "base/file/fd_io.h"
#include "base/text.h"

#define FIRST_LONG_ONLY 256 /* getopt's value for row i without a letter: 256 + i */
#define HELP_VALUE	1000
#define LEFT_COLUMNS	27
#define HELP_INDENT	(2 + LEFT_COLUMNS + 1)
#define HELP_COLUMNS	80
#define NAMES_BYTES	128 /* in a message that lists names */

/* The rows of all groups in one list, and their form for getopt. */
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

/* Writes "a, b or c": last is the final separator, before a prefix of each name. */
static void list_names(const char *before, const char *const *names, size_t nr, const char *last,
		       char list[NAMES_BYTES])
{
	size_t bytes = 0, i;

	list[0] = '\0';
	for (i = 0; i < nr && bytes < NAMES_BYTES; i++) {
		const char *separator = i + 1 < nr ? ", " : last;

		bytes += (size_t)snprintf(list + bytes, NAMES_BYTES - bytes, "%s%s%s",
					  i ? separator : "", before, names[i]);
	}
}

int option_take_choice(const char *option, const char *value, const char *const *names, size_t nr,
		       struct error *error)
{
	size_t name = option_find_name(value, strlen(value), names, nr);
	char list[NAMES_BYTES];

	if (name < nr)
		return (int)name;
	list_names("", names, nr, " or ", list);
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
	list_names("", names, nr, ", ", list);
	return error_set(error, -EINVAL, "bad value '%s' for %s: a list of %s", value, option,
			 list);
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
	size_t nr_longs = 0, i;

	*shorts++ = '+'; /* stop at the first operand, which may be a command's */
	*shorts++ = ':';
	for (i = 0; i < rows->nr; i++) {
		const struct option_row *row = rows->rows[i];

		if (row->name)
			rows->longs[nr_longs++] = (struct option){
				row->name, row->value ? required_argument : no_argument, NULL,
				value_of(rows, i)};
		if (!row->letter)
			continue;
		*shorts++ = row->letter;
		if (row->value)
			*shorts++ = ':';
	}
	*shorts++ = 'h';
	*shorts = '\0';
	rows->longs[nr_longs] = (struct option){"help", no_argument, NULL, HELP_VALUE};
}

/* An option that several groups have appears once to the user. */
static bool is_same_option(const struct option_row *a, const struct option_row *b)
{
	return a->name && b->name ? !strcmp(a->name, b->name)
				  : a->name == b->name && a->letter == b->letter;
}

static bool is_first(const struct rows *rows, size_t number)
{
	size_t i = 0;

	while (!is_same_option(rows->rows[i], rows->rows[number]))
		i++;
	return i == number;
}

size_t option_table_rows(const struct option_table *table,
			 const struct option_row *ret[OPTION_ROWS_MAX])
{
	struct rows rows = {0};
	size_t nr = 0, i;

	list_rows(table, &rows);
	for (i = 0; i < rows.nr; i++)
		if (rows.rows[i]->help && is_first(&rows, i))
			ret[nr++] = rows.rows[i];
	return nr;
}

/* UTF-8 such as … has several bytes and one column; all characters in help texts do. */
static size_t columns_of(const char *text, size_t nr)
{
	size_t columns = 0, i;

	for (i = 0; i < nr; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

/* Prints text in lines of at most HELP_COLUMNS; the cursor must be at HELP_INDENT. */
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

/* --- unknown options -------------------------------------------------------------------------- */

/*
 * Options of perf and bcc's tools that have another name here or are not needed. A letter that is another option here
 * is looked up when that option rejects its value.
 */
static const struct {
	const char *option;
	const char *ours; /* the hint is for commands with this option; NULL: for all others */
	const char *hint;
} elsewhere[] = {
	{"--all-cpus", "all", "use -a, --all, which is the default"},
	{"-B", "detailed", "omit it: numbers are always grouped by commas"},
	{"--big-num", "detailed", "omit it: numbers are always grouped by commas"},
	{"--annotations", "annotate", "use --annotate"},
	{"--branch-any", "unwind", "branch records are not supported; unwind tables are used"},
	{"-b", "unwind", "branch records are not supported; unwind tables are used"},
	{"-d", "detailed", "perf's -d is --detailed here; -d takes the duration"},
	{"--field-separator", "detailed", "use --csv, whose first line names its columns"},
	{"--filter", "where", "use --where 'args.FIELD < 100'"},
	{"--for-each-cgroup", "per-cgroup", "use --per-cgroup, with --cgroup PATH above them"},
	{"-g", "regexp", "use 'stook stackcount' to record stacks"},
	{"--call-graph", "regexp", "use 'stook stackcount' to record stacks"},
	{"-g", NULL, "stacks are always recorded: omit it"},
	{"--call-graph", NULL, "stacks are always recorded: omit it"},
	{"-G", "cgroup", "use --cgroup PATH"},
	{"-i", "detailed", "perf's -i is --no-follow here; -i takes the interval"},
	{"--interval-count", "detailed", "use -d SECS: N times the interval"},
	{"-j", "json", "use --json"},
	{"--json-output", "json", "use --json"},
	{"--hash-storage-size", "count-entries", "use --count-entries N"},
	{"--include-idle", "idle", "use -I, --idle"},
	{"--kernel-stacks-only", "kernel", "use -K, --kernel"},
	{"-L", "tid", "use -t, --tid"},
	{"-M", "detailed", "omit it: the metrics of the counted events are always printed"},
	{"--metrics", "detailed", "omit it: the metrics of the counted events are always printed"},
	{"-m", "ring-bytes", "use --ring-bytes N, which is rarely needed"},
	{"--mmap-pages", "ring-bytes", "use --ring-bytes N, which is rarely needed"},
	{"--no-inherit", "no-follow", "use --no-follow"},
	{"-P", "by", "use --by pid"},
	{"--perpid", "by", "use --by pid"},
	{"--stack-storage-size", "count-entries", "not needed: there is no limited stack storage"},
	{"--timeout", "duration", "use -d, in seconds or with a unit: -d 500ms"},
	{"--topdown", "preset", "use --preset topdown"},
	{"-u", "pid", "select the user's processes: -p $(pgrep -d, -u USER)"},
	{"--uid", "pid", "select the user's processes: -p $(pgrep -d, -u USER)"},
	{"--user-stacks-only", "user", "use -U, --user"},
	{"-x", "detailed", "use --csv, whose first line names its columns"},
};

static bool has_option(const struct rows *rows, const char *name)
{
	size_t i;

	for (i = 0; i < rows->nr; i++)
		if (rows->rows[i]->help && !strcmp(rows->rows[i]->name, name))
			return true;
	return false;
}

static const char *find_elsewhere(const struct rows *rows, const char *option)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (!strcmp(elsewhere[i].option, option) &&
		    (!elsewhere[i].ours || has_option(rows, elsewhere[i].ours)))
			return elsewhere[i].hint;
	return NULL;
}

/*
 * Suggests options whose names are similar to name or start with it. Returns false if there is
 * none.
 */
static bool hint_near(const struct rows *rows, const char *name, struct error *error)
{
	const char *names[CLOSEST_NAMES];
	struct closest closest;
	size_t nr, i;

	closest_init(&closest, name);
	for (i = 0; i < rows->nr; i++)
		if (rows->rows[i]->help)
			closest_offer(&closest, rows->rows[i]->name);
	nr = closest_names(&closest, names);
	if (nr == 1)
		error_hint(error, "did you mean --%s?", names[0]);
	else if (nr > 1)
		error_hint(error, "did you mean --%s or --%s?", names[0], names[1]);
	closest_clear(&closest);
	return nr > 0;
}

/* For "--no", suggests "--no-follow" and "--no-symbols": getopt accepts only unique prefixes. */
static bool hint_ambiguous(const struct rows *rows, const char *name, struct error *error)
{
	const char *names[OPTION_ROWS_MAX];
	size_t bytes = strlen(name), nr = 0, i;
	char list[NAMES_BYTES];

	for (i = 0; i < rows->nr; i++)
		if (bytes && rows->rows[i]->help && is_first(rows, i) &&
		    !strncmp(rows->rows[i]->name, name, bytes))
			names[nr++] = rows->rows[i]->name;
	if (nr < 2)
		return false;
	list_names("--", names, nr, " or ", list);
	error_hint(error, "did you mean %s?", list);
	return true;
}

/* word: as typed. letter: the unknown letter in it, or 0. */
static int unknown_option(const struct rows *rows, const char *command, const char *word,
			  char letter, struct error *error)
{
	const char option[] = {'-', letter, '\0'};
	size_t dashes = strspn(word, "-"), bytes = strcspn(word, "=");
	char name[64];
	const char *hint;

	(void)snprintf(name, sizeof(name), "%.*s", (int)bytes, word);
	if (word[bytes] && dashes == 2 && has_option(rows, name + dashes))
		return error_set(error, -EINVAL, "%s does not take a value: '%s'", name, word);
	(void)error_set(error, -EINVAL, "unknown option '%s'", word);
	hint = find_elsewhere(rows, name);
	if (!hint && dashes == 1 && letter)
		hint = find_elsewhere(rows, option);
	if (hint)
		error_hint(error, "%s", hint);
	else if (dashes == 1 && has_option(rows, name + 1))
		error_hint(error, "did you mean -%s?", name);
	else if (dashes == 1 && letter && bytes > 2)
		error_hint(error, "unknown letter '%s'; 'stook %s --help' lists the options",
			   option, command);
	else if (!hint_ambiguous(rows, name + dashes, error) &&
		 (bytes <= dashes + 1 || !hint_near(rows, name + dashes, error)))
		error_hint(error, "'stook %s --help' lists the options", command);
	return -EINVAL;
}

/* --- taking values --------------------------------------------------------------------------- */

static int take_value(const struct option_row *row, void *options, const char *value,
		      struct error *error)
{
	void *field = (char *)options + row->at;

	if (row->take)
		return row->take(options, value, error);
	if (row->number)
		return option_take_number(row->number, value, field, error);
	if (row->value)
		*(const char **)field = value;
	else
		*(bool *)field = true;
	return 0;
}

/* Gives the value to each group that has the option. */
static int take_option(const struct rows *rows, const struct option_row *option, const char *value,
		       struct error *error)
{
	int err = 0;
	size_t i;

	for (i = 0; i < rows->nr && !err; i++)
		if (is_same_option(rows->rows[i], option))
			err = take_value(rows->rows[i], rows->options[i], value, error);
	return err;
}

static const struct option_row *row_of(const struct rows *rows, int value)
{
	size_t i = 0;

	while (value != value_of(rows, i))
		i++;
	return rows->rows[i];
}

/* `-pid 10` is parsed as -p with the value "id", which is probably not meant. */
static void hint_two_dashes(const struct rows *rows, const char *word, struct error *error)
{
	if (word[0] == '-' && word[1] && word[2] && has_option(rows, word + 1) && !*error->hint)
		error_hint(error, "did you mean -%s?", word);
}

/* `stat -d -- CMD` is parsed as -d with the value "--": perf's -d takes none. */
static void hint_other_letter(const struct rows *rows, int letter, struct error *error)
{
	const char option[] = {'-', (char)letter, '\0'};
	const char *hint = letter < FIRST_LONG_ONLY ? find_elsewhere(rows, option) : NULL;

	if (hint && !*error->hint)
		error_hint(error, "%s", hint);
}

/* --- bundles of bcc's letters ---------------------------------------------------------------- */

/* Finds the row of a letter; with bundled, rows whose bundled letter it is take precedence. */
static const struct option_row *row_of_letter(const struct rows *rows, char letter, bool bundled)
{
	size_t i;

	for (i = 0; bundled && i < rows->nr; i++)
		if (rows->rows[i]->bundled == letter)
			return rows->rows[i];
	for (i = 0; i < rows->nr; i++)
		if (rows->rows[i]->letter == letter)
			return rows->rows[i];
	return NULL;
}

/*
 * True for a word of letters in which a letter that takes a value here is followed by other
 * letters, if all of the letters are options without values when bcc's letters take precedence.
 */
static bool is_bundle(const struct rows *rows, const char *word)
{
	bool is_other = false;
	size_t i;

	if (word[0] != '-' || word[1] == '-' || !word[1])
		return false;
	for (i = 1; word[i]; i++) {
		const struct option_row *ours = row_of_letter(rows, word[i], false);
		const struct option_row *row = row_of_letter(rows, word[i], true);

		if (!row || row->value)
			return false;
		is_other |= ours && ours->value && word[i + 1];
	}
	return is_other;
}

static int take_bundle(const struct rows *rows, const char *word, struct error *error)
{
	int err = 0;

	while (*++word && !err)
		err = take_option(rows, row_of_letter(rows, *word, true), NULL, error);
	return err;
}

/* --- parsing ---------------------------------------------------------------------------------- */

int option_table_parse(const struct option_table *table, int argc, char **argv, struct error *error)
{
	struct rows rows = {0};
	bool in_word = false; /* within a word of several letters */
	int err = 0;

	if (visitor) {
		visitor(visitor_context, table);
		return 1;
	}
	list_rows(table, &rows);
	fill_getopt(&rows);
	opterr = 0;
	if (!optind) /* glibc: resets the state of earlier parsing */
		(void)getopt_long(1, argv, rows.shorts, rows.longs, NULL);
	while (!err) {
		int word = optind, value;

		if (!in_word && word < argc && is_bundle(&rows, argv[word])) {
			err = take_bundle(&rows, argv[optind++], error);
			continue;
		}
		value = getopt_long(argc, argv, rows.shorts, rows.longs, NULL);
		in_word = value >= 0 && optind == word;
		if (value == HELP_VALUE || value == 'h') {
			print_help(table);
			return 1;
		}
		if (value == ':') {
			err = error_set(error, -EINVAL, "'%s' needs a value", argv[word]);
			hint_other_letter(&rows, optopt, error);
			return err;
		}
		if (value == '?')
			return unknown_option(&rows, argv[0], argv[word],
					      argv[word][1] == '-' ? '\0' : (char)optopt, error);
		if (value >= 0) {
			err = take_option(&rows, row_of(&rows, value), optarg, error);
			if (err < 0) {
				hint_two_dashes(&rows, argv[word], error);
				hint_other_letter(&rows, value, error);
			}
		} else if (optind >= argc || optind > word) {
			return 0; /* at the end, or just after a `--` */
		} else {
			err = table->take_word(table->context, argv[optind++], error);
		}
	}
	return err;
}

/* --- files of options -------------------------------------------------------------------------- */

#define OPTION_FILE_BYTES 65536
#define BLANKS		  " \t\r"

static char *trimmed(char *text)
{
	size_t nr;

	text += strspn(text, BLANKS);
	for (nr = strlen(text); nr && strchr(BLANKS, text[nr - 1]); nr--)
		text[nr - 1] = '\0';
	return text;
}

static int take_switch(const struct rows *rows, const struct option_row *row, const char *value,
		       struct error *error)
{
	if (!strcmp(value, "no"))
		return 0; /* which it is */
	if (strcmp(value, "yes") != 0)
		return option_bad(error, row->name, value, "yes or no");
	return take_option(rows, row, NULL, error);
}

static int take_line(const struct rows *rows, char *line, struct error *error)
{
	char *equals = strchr(line, '='), *name, *value;
	size_t i;

	if (!equals)
		return error_set(error, -EINVAL, "not of the form 'name = value': '%s'", line);
	*equals = '\0';
	name = trimmed(line);
	value = trimmed(equals + 1);
	for (i = 0; i < rows->nr; i++)
		if (rows->rows[i]->help && !strcmp(rows->rows[i]->name, name))
			return rows->rows[i]->value
				       ? take_option(rows, rows->rows[i], value, error)
				       : take_switch(rows, rows->rows[i], value, error);
	(void)error_set(error, -EINVAL, "unknown option '%s'", name);
	(void)hint_near(rows, name, error);
	return -EINVAL;
}

/* Names the file and the line in an error. */
static int at_line(const char *path, size_t number, struct error *error)
{
	const struct error reason = *error;

	(void)error_set(error, reason.code, "'%s', line %zu: %s", path, number, reason.text);
	if (*reason.hint)
		error_hint(error, "%s", reason.hint);
	return reason.code;
}

static int read_text(const char *path, char **ret, struct error *error)
{
	cleanup_file FILE *file = fopen(path, "re");
	size_t nr;
	int err;

	if (!file)
		return error_set_errno(error, "cannot open '%s'", path);
	err = stream_read_all(file, OPTION_FILE_BYTES, ret, &nr);
	if (err == -EFBIG)
		return error_set(error, err, "'%s' has more than %u KiB", path,
				 OPTION_FILE_BYTES >> 10);
	return err ? error_set(error, err, "cannot read '%s': %s", path, strerror(-err)) : 0;
}

int option_table_read_file(const struct option_table *table, const char *path, char **ret_text,
			   struct error *error)
{
	struct rows rows = {0};
	char *at, *line;
	size_t number = 0;
	int err;

	*ret_text = NULL;
	list_rows(table, &rows);
	err = read_text(path, ret_text, error);
	for (at = *ret_text; !err && (line = strsep(&at, "\n"));) {
		number++;
		line = trimmed(line);
		if (*line && *line != '#' && take_line(&rows, line, error) < 0)
			err = at_line(path, number, error);
	}
	return err;
}

#define MAX_CPUS 65536

int option_take_cpus(const char *value, uint32_t **list, size_t *nr, struct error *error)
{
	free(*list);
	*list = NULL;
	if (number_parse_list(value, true, MAX_CPUS, MAX_CPUS, list, nr) < 0)
		return option_bad(error, "--cpu", value, "a list such as 0,2-5");
	return 0;
}
