/*
 * The scripts by which shells complete stook's command lines: one function for each shell, all from
 * the same list of what commands take. Used by completion.c alone.
 */
#ifndef STOOK_CMD_COMPLETION_SCRIPTS_H
#define STOOK_CMD_COMPLETION_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/commands.h"
#include "cmd/options/option_table.h"

enum value_kind {
	VALUE_NONE, /* the option takes none */
	VALUE_TEXT, /* of which nothing is known */
	VALUE_FILE,
	VALUE_FOLDER,
	VALUE_PID,
	VALUE_WORDS, /* one of some */
};

struct completed_value {
	enum value_kind kind;
	const char *words; /* of VALUE_WORDS; see completion_write_words() */
	bool is_list;	   /* several, with commas between them */
};

/* What the value of a command's option can be, by the names in its row. */
struct completed_value completed_value(const char *command, const struct option_row *row);

/* Words that have spaces or commas between them, with one space instead. */
void completion_write_words(const char *list, FILE *out);

struct completed_command {
	const struct command *command;
	const struct option_row *rows[OPTION_ROWS_MAX]; /* all but --help */
	size_t nr_rows;
	bool runs_command; /* one may follow behind `--` */
	const char *words; /* its own words are among these; NULL: files, or nothing */
	bool takes_files;
};

void completion_write_bash(const struct completed_command *commands, size_t nr, FILE *out);
void completion_write_zsh(const struct completed_command *commands, size_t nr, FILE *out);
void completion_write_fish(const struct completed_command *commands, size_t nr, FILE *out);

#endif
