/* stook COMMAND …: finds the command and runs it. A new one is a file of its own and a row here. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/fd_io.h"
#include "cmd/commands.h"
#include "cmd/complain.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"profile", cmd_profile, "sample stacks on a timer or a counter"},
	{"funccount", cmd_funccount, "count the calls of functions, by pattern"},
	{"stackcount", cmd_stackcount, "count the stacks that lead to a function or tracepoint"},
	{"tally", cmd_tally, "hits by key, with sums and histograms of arguments or latency"},
	{"symbolize", cmd_symbolize, "name here what was recorded elsewhere without names"},
};

static void print_help(FILE *out)
{
	size_t i;

	fputs("stook: a profiler for Linux production hosts\n"
	      "\n"
	      "usage: stook COMMAND [OPTIONS]\n"
	      "\n"
	      "commands:\n",
	      out);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "'stook COMMAND --help' tells a command's options; 'stook --version' the version.\n",
	      out);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	size_t i;

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
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	complain("no command '%s'; 'stook --help' lists them", name);
	return EXIT_USAGE;
}
