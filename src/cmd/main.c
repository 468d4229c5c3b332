/* stook COMMAND …: finds the command and runs it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/fd_io.h"
#include "cmd/commands.h"
#include "run/complain.h"

static void print_help(FILE *out)
{
	const struct command *command;
	size_t i;

	fputs("stook: a profiler for Linux production hosts\n"
	      "\n"
	      "usage: stook COMMAND [OPTIONS]\n"
	      "\n"
	      "commands:\n",
	      out);
	for (i = 0; (command = command_get(i)); i++)
		fprintf(out, "  %-10s %s\n", command->name, command->summary);
	fputs("\n"
	      "'stook COMMAND --help' tells a command's options; 'stook --version' the version.\n",
	      out);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;

	fd_open_standard_streams();
	(void)signal(SIGCHLD, SIG_DFL); /* ignored by who started us, it takes waitpid() away */
	if (!name) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		print_help(stdout);
		return 0;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		puts("stook " STOOK_VERSION);
		return 0;
	}
	command = command_find(name);
	if (command)
		return command->run(argc - 1, argv + 1);
	complain("no command '%s'; 'stook --help' lists them", name);
	return EXIT_USAGE;
}
