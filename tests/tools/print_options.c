/*
 * Prints stook's commands, options and formats from its tables; tests/golden/man.sh compares the
 * manual with them. One line each, with - for empty fields:
 *
 *	command NAME
 *	option COMMAND LETTER NAME VALUE
 *	format NAME EXTENSIONS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/options/option_table.h"
#include "format/format.h"

static void print_rows(void *context, const struct option_table *table)
{
	const struct option_row *rows[OPTION_ROWS_MAX];
	size_t nr = option_table_rows(table, rows), i;

	for (i = 0; i < nr; i++)
		printf("option %s %c %s %s\n", (const char *)context,
		       rows[i]->letter ? rows[i]->letter : '-', rows[i]->name,
		       rows[i]->value ? rows[i]->value : "-");
}

int main(void)
{
	const struct command *command;
	char *names = strdup(format_names());
	const char *name;
	size_t i;

	for (i = 0; (command = command_get(i)); i++) {
		char *argv[] = {(char *)command->name, NULL};

		printf("command %s\n", command->name);
		option_table_visit(print_rows, argv[0]);
		(void)command->run(1, argv);
	}
	for (name = strtok(names, ", "); name; name = strtok(NULL, ", "))
		printf("format %s %s\n", name, format_by_name(name)->extensions);
	free(names);
	return 0;
}
