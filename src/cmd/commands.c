/* The table of subcommands. A new one is a file of its own and a row here. */
#include "cmd/commands.h"

#include <string.h>

#include "base/array.h"

static const struct command commands[] = {
	{"profile", cmd_profile, "sample stacks on a timer or a counter"},
	{"funccount", cmd_funccount, "count the calls of functions, by pattern"},
	{"stackcount", cmd_stackcount, "count the stacks that lead to a function or tracepoint"},
	{"tally", cmd_tally, "hits by key, with sums and histograms of arguments or latency"},
	{"report", cmd_report, "profiles as tables and trees, or in another format"},
	{"diff", cmd_diff, "what changed between two profiles, and how sure that is"},
	{"flame", cmd_flame, "draw profiles as a flame graph"},
	{"symbolize", cmd_symbolize, "name here what was recorded elsewhere without names"},
	{"completion", cmd_completion, "what shells need to complete its command lines"},
};

const struct command *command_get(size_t i)
{
	return i < ARRAY_SIZE(commands) ? &commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}
