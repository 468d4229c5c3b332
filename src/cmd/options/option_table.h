/*
 * Command lines described by tables: a row for each option, with the function that takes its value.
 * Groups of options that several commands share are separate tables.
 */
#ifndef STOOK_CMD_OPTIONS_OPTION_TABLE_H
#define STOOK_CMD_OPTIONS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct option_number {
	const char *option;
	uint64_t least, most;
	const char *wanted; /* describes valid values, for the error message */
};

/*
 * A row without help is an option of another tool that has a meaning here, too. It works like any
 * other option, but is not listed in the help or in shell completion.
 */
struct option_row {
	char letter;	   /* 0: none */
	const char *name;  /* NULL, without help: the row has only a letter */
	const char *value; /* name of the value in the help; NULL: takes no value */
	int (*take)(void *options, const char *value, struct error *error);
	const char *help;
	/* Without take(): offset of the field to set, a bool, or with a value a const char * … */
	size_t at;
	const struct option_number *number; /* … or, if not NULL, a uint64_t or size_t */
	/*
	 * The option's letter in bcc's tools, if that letter is another option here. It applies in
	 * bundles that are invalid with our letters: -df is --delimited --folded, and not -d with a
	 * value.
	 */
	char bundled;
};

/* Options that only set a field of their group's options. */
#define OPTION_SWITCH(letter, name, type, field, help)                \
	{                                                             \
		letter, name, NULL, NULL, help, offsetof(type, field) \
	}
#define OPTION_TEXT(letter, name, value, type, field, help)            \
	{                                                              \
		letter, name, value, NULL, help, offsetof(type, field) \
	}
#define OPTION_NUMBER(letter, name, value, type, field, least, most, wanted, help) \
	{                                                                          \
		letter, name, value, NULL, help, offsetof(type, field),            \
			&(const struct option_number)                              \
		{                                                                  \
			"--" name, least, most, wanted                             \
		}                                                                  \
	}

struct option_group {
	const struct option_row *rows;
	size_t nr;
	void *options; /* passed to take() */
};

/* An option that several groups have is passed to each; the help has the text of the first. */
#define OPTION_GROUPS_MAX 8

struct option_table {
	const struct option_group *groups;
	size_t nr_groups;
	/* Takes an operand, a word that is not an option. */
	int (*take_word)(void *context, const char *word, struct error *error);
	void *context;
	const char *usage, *examples; /* in the help, above and below the options */
};

/*
 * Parses options and operands, in any order, until `--` or the end. optind is then the next word,
 * where the next call continues. Returns 0; 1 if help was printed and nothing is left to do; or a
 * negative errno for invalid usage, with *error. For an unknown option, the hint names the most
 * similar one.
 */
int option_table_parse(const struct option_table *table, int argc, char **argv,
		       struct error *error);

/*
 * Takes options from the lines `name = value` of a file: names are those of long options, and a switch has the value
 * yes or no. Empty lines and lines that begin with # are skipped. *ret_text has the values that options refer to, and
 * is freed by the caller, also after a failure. 0, or a negative errno with the file and line in the error.
 */
int option_table_read_file(const struct option_table *table, const char *path, char **ret_text,
			   struct error *error);

/*
 * Makes option_table_parse() pass its table to visit and return 1 instead of parsing, so that a
 * command can be run just to get its options. NULL: parse again.
 */
typedef void option_table_visit_fn(void *context, const struct option_table *table);
void option_table_visit(option_table_visit_fn *visit, void *context);

#define OPTION_ROWS_MAX 128

/* Lists the rows of all groups that have help, each option once; returns their number. */
size_t option_table_rows(const struct option_table *table,
			 const struct option_row *ret[OPTION_ROWS_MAX]);

/* Sets "bad value 'x' for --opt: wanted"; returns -EINVAL. */
int option_bad(struct error *error, const char *option, const char *value, const char *wanted);

/* Returns 0, or -EINVAL with the error of option_bad(). */
int option_take_number(const struct option_number *number, const char *value, uint64_t *ret,
		       struct error *error);

/* Returns the index of the name equal to these bytes; nr if there is none. */
size_t option_find_name(const char *text, size_t bytes, const char *const *names, size_t nr);

/*
 * Returns the index of the name, or -EINVAL with the error of option_bad(), which lists the names.
 */
int option_take_choice(const char *option, const char *value, const char *const *names, size_t nr,
		       struct error *error);

/* Parses the CPUs of --cpu. The list is replaced, and freed by the caller. 0, or option_bad(). */
int option_take_cpus(const char *value, uint32_t **list, size_t *nr, struct error *error);

/*
 * Parses comma-separated names into bits: 1 for the first of `names`, and so on. Returns 0, or
 * -EINVAL with an error that lists the names.
 */
int option_take_set(const char *option, const char *value, const char *const *names, size_t nr,
		    unsigned *ret, struct error *error);

#endif
