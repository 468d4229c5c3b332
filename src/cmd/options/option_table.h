/*
 * Command lines by tables: a row for each option, with the function that takes its value. Groups of
 * options that several commands have are tables of their own.
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
	const char *wanted; /* in words, for whoever gives another one */
};

/*
 * A row without help is a habit: an option of another tool that means something here, too. It works like
 * any other, and is not listed where options are: in the help, and in what shells complete.
 */
struct option_row {
	char letter;	   /* 0: none */
	const char *name;  /* NULL, of a habit: it has its letter alone */
	const char *value; /* what it is called in the help; NULL: takes none */
	int (*take)(void *options, const char *value, struct error *error);
	const char *help;
	/* Without take(): where the field is that is set, a bool, or if there is a value a text … */
	size_t at;
	const struct option_number *number; /* … or, with this, a uint64_t or size_t */
	/*
	 * Its letter in bcc's tools, where another option has it here: in bundles that would make no
	 * sense by our letters, it is this option. -df is --delimited --folded, and not -d with a value.
	 */
	char bundled;
};

/* Options that set a field of their group's options, and nothing more. */
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
	void *options; /* what take() gets */
};

/* An option that several groups have is given to each; the help has the first one's text. */
#define OPTION_GROUPS_MAX 8

struct option_table {
	const struct option_group *groups;
	size_t nr_groups;
	/* A word that is no option. */
	int (*take_word)(void *context, const char *word, struct error *error);
	void *context;
	const char *usage, *examples; /* of the help, above and below the options */
};

/*
 * Takes options and other words, in any order, until `--` or the end; optind is then behind, and the next
 * call goes on from there. 0; 1: help was printed, all is done; or a negative errno: a mistake of the
 * user's, in *error. For an option that is not there, the hint has the one that may have been meant.
 */
int option_table_parse(const struct option_table *table, int argc, char **argv,
		       struct error *error);

/*
 * From now on, instead of parsing, option_table_parse() hands its table over and returns 1, so that
 * a command that is run says what its options are. NULL: as before.
 */
typedef void option_table_visit_fn(void *context, const struct option_table *table);
void option_table_visit(option_table_visit_fn *visit, void *context);

#define OPTION_ROWS_MAX 128

/* The rows of all groups that the help lists, each name once; how many they are. */
size_t option_table_rows(const struct option_table *table,
			 const struct option_row *ret[OPTION_ROWS_MAX]);

/* "bad value 'x' for --opt: wanted"; returns -EINVAL. */
int option_bad(struct error *error, const char *option, const char *value, const char *wanted);

/* 0, or -EINVAL as by option_bad(). */
int option_take_number(const struct option_number *number, const char *value, uint64_t *ret,
		       struct error *error);

/* The number of the name that these bytes are; nr: none of them. */
size_t option_find_name(const char *text, size_t bytes, const char *const *names, size_t nr);

/* Which of the names it is, or -EINVAL as by option_bad(), which lists them. */
int option_take_choice(const char *option, const char *value, const char *const *names, size_t nr,
		       struct error *error);

/*
 * Names with commas between them, as bits: 1 for the first of `names`, and so on. 0, or -EINVAL as
 * by option_bad(), which lists them.
 */
int option_take_set(const char *option, const char *value, const char *const *names, size_t nr,
		    unsigned *ret, struct error *error);

#endif
