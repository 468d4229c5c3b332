/* The subcommands: main.c has the table, each has a file of its own. */
#ifndef STOOK_CMD_COMMANDS_H
#define STOOK_CMD_COMMANDS_H

enum {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_OWN_FAILURE = 125, /* with `-- CMD`, whose own status may be anything */
};

int cmd_funccount(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_stackcount(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);
int cmd_tally(int argc, char **argv);

#endif
