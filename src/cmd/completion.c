/*
 * stook completion: prints the script by which a shell completes stook's command lines.
 *
 *	$ stook completion bash >/usr/share/bash-completion/completions/stook
 *
 * Nothing about commands or options is written down here: each command is run with a visitor at the
 * tables of options (option_table.h), so it does nothing but show its own. What a row does not say
 * is which words its value may be; completion_values.c does, by the option's name.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cmd/complain.h"
#include "cmd/completion_scripts.h"

static const struct shell {
	const char *name;
	void (*write)(const struct completed_command *commands, size_t nr, FILE *out);
} shells[] = {
	{"bash", completion_write_bash},
	{"zsh", completion_write_zsh},
	{"fish", completion_write_fish},
};

#define SHELL_NAMES "bash zsh fish"

static int take_shell(void *context, const char *word, struct error *error)
{
	const struct shell **ret = context;
	size_t i;

	if (*ret)
		return error_set(error, -EINVAL, "a second shell: '%s'", word);
	for (i = 0; i < ARRAY_SIZE(shells); i++)
		if (!strcmp(word, shells[i].name))
			*ret = &shells[i];
	return *ret ? 0
		    : error_set(error, -EINVAL, "no script for '%s': one of bash, zsh, fish", word);
}

static int parse(int argc, char **argv, const struct shell **ret, struct error *error)
{
	const struct option_table table = {
		.take_word = take_shell,
		.context = ret,
		.usage = "usage: stook completion bash|zsh|fish\n"
			 "\n"
			 "Prints the script by which this shell completes stook's command lines. "
			 "'make "
			 "install'\n"
			 "puts them where the shells look for them.\n",
		.examples = "\nexamples:\n"
			    "  . <(stook completion bash)             for this shell alone\n"
			    "  stook completion fish > ~/.config/fish/completions/stook.fish",
	};
	int err = option_table_parse(&table, argc, argv, error);

	if (!err && !*ret)
		err = error_set(error, -EINVAL, "no shell given: bash, zsh or fish");
	return err;
}

/* --- what commands take ---------------------------------------------------------------------- */

/* Whether the usage has this word in its first line. */
static bool usage_has(const struct option_table *table, const char *word)
{
	const char *at = strstr(table->usage, word);

	return at && at < strchrnul(table->usage, '\n');
}

static void note_table(void *context, const struct option_table *table)
{
	struct completed_command *command = context;

	command->nr_rows = option_table_rows(table, command->rows);
	command->runs_command = usage_has(table, "-- CMD");
	if (!strcmp(command->command->name, "completion"))
		command->words = SHELL_NAMES;
	else
		command->takes_files = !command->runs_command;
}

/* Runs each command with the visitor. NULL when out of memory. */
static struct completed_command *visit_commands(size_t *ret_nr)
{
	const struct command *command;
	struct completed_command *commands;
	size_t nr = 0, i;

	while (command_get(nr))
		nr++;
	commands = calloc(nr, sizeof(*commands));
	for (i = 0; commands && (command = command_get(i)); i++) {
		char *argv[] = {(char *)command->name, NULL};

		commands[i].command = command;
		option_table_visit(note_table, &commands[i]);
		(void)command->run(1, argv);
	}
	option_table_visit(NULL, NULL);
	*ret_nr = nr;
	return commands;
}

int cmd_completion(int argc, char **argv)
{
	cleanup_free struct completed_command *commands = NULL;
	const struct shell *shell = NULL;
	struct error error = {0};
	size_t nr;
	int err = parse(argc, argv, &shell, &error);

	if (err < 0) {
		complain_error(&error);
		return EXIT_USAGE;
	}
	if (err)
		return 0;
	commands = visit_commands(&nr);
	if (!commands) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	shell->write(commands, nr, stdout);
	if (fflush(stdout) == 0)
		return 0;
	(void)error_set_errno(&error, "cannot write the script");
	complain_error(&error);
	return EXIT_FAILED;
}
