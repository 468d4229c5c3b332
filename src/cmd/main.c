/* stook COMMAND …: finds the command and runs it. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/fd_io.h"
#include "cmd/commands.h"
#include "run/complain.h"
#include "run/run.h"
#include "sym/debuginfod.h"

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
	      "'stook help COMMAND' lists a command's options; 'stook --version' prints the "
	      "version.\n",
	      out);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct error error = {0};

	if (command)
		return command->run(argc, argv);
	command_explain(argv[0], &error);
	complain_error(&error);
	return EXIT_USAGE;
}

static int run_help(char *name)
{
	char help[] = "--help";
	char *argv[] = {name, help, NULL};

	return run(command_find(name), 2, argv);
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
	return !strcmp(word, a) || !strcmp(word, b) || !strcmp(word, c);
}

/* A help text that could not be written is a failure, but not one that the reader has had enough of. */
static int finish(int status)
{
	struct error error = {0};

	if (status || fflush(stdout) == 0 || errno == EPIPE)
		return status;
	(void)error_set_errno(&error, "cannot write to standard output");
	complain_error(&error);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	char *name = argc > 1 ? argv[1] : NULL;
	int worker_status = worker_main(argc, argv, run_tasks, NR_TASKS);

	if (worker_status >= 0)
		return worker_status;
	(void)debuginfod_main(argc, argv);
	fd_open_standard_streams();
	(void)signal(SIGCHLD, SIG_DFL); /* waitpid() fails if the parent left it ignored */
	if (!name) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (is_one_of(name, "help", "--help", "-h")) {
		if (argc > 2)
			return finish(run_help(argv[2]));
		print_help(stdout);
		return finish(0);
	}
	if (is_one_of(name, "version", "--version", "-V")) {
		puts("stook " STOOK_VERSION);
		return finish(0);
	}
	if (argc == 3 && !strcmp(argv[2], "help"))
		return finish(run_help(name));
	return finish(run(command_find(name), argc - 1, argv + 1));
}
