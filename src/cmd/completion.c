/*
 * stook completion: prints the completion script for a shell.
 *
 *	$ stook completion bash >/usr/share/bash-completion/completions/stook
 *
 * Commands and options are not listed here. Instead, each command is run with a visitor for its
 * table of options (option_table.h), so that it only shows its table and does nothing else. The
 * tables do not have the possible values of an option: these are listed here, by the names of
 * command and option; tests/golden/completion.sh checks that the commands accept each of them. One
 * writer per shell prints the script from the same list.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "run/complain.h"
#include "cmd/options/option_table.h"
#include "format/flame/palette.h"
#include "format/format.h"

#define SHELL_NAMES "bash zsh fish"

enum value_kind {
	VALUE_NONE, /* the option takes no value */
	VALUE_TEXT, /* any text */
	VALUE_FILE,
	VALUE_FOLDER,
	VALUE_PID,
	VALUE_WORDS, /* one word of a list */
};

struct completed_value {
	enum value_kind kind;
	const char *words; /* for VALUE_WORDS; see write_words() */
	bool is_list;	   /* several, separated by commas */
};

struct completed_command {
	const struct command *command;
	const struct option_row *rows[OPTION_ROWS_MAX]; /* all but --help */
	size_t nr_rows;
	bool runs_command; /* takes `-- CMD` */
	const char *words; /* its operands are among these; NULL: files or none */
	bool takes_files;
};

/* --- possible values ------------------------------------------------------------------------- */

static const struct {
	const char *value; /* as in the option's row, up to a comma */
	enum value_kind kind;
} kinds[] = {
	{"FILE", VALUE_FILE},
	{"DIR", VALUE_FOLDER},
	{"PATH", VALUE_FOLDER},
	{"PID", VALUE_PID},
};

#define ROW_KEYS "function module comm pid tid cpu cgroup probe line kind category"

/* The first matching row is used. */
static const struct {
	const char *command; /* NULL: all commands that have the option */
	const char *option;
	const char *words;
} words[] = {
	{NULL, "bgcolors", "white yellow blue green grey"},
	{"tally", "by", "func comm pid tid cpu"},
	{"sched", "by", "comm pid tid cgroup cpu"},
	{"funccount", "by", "pid tid comm cpu cgroup"},
	{NULL, "by", "pid tid comm cpu cgroup probe"},
	{NULL, "call-graph", "graph fractal flat folded none caller callee"},
	{NULL, "aliases", "used raw"},
	{NULL, "demangle", "full simple no"},
	{NULL, "unknown", "start plain"},
	{NULL, "event",
	 "cycles instructions cache-misses branch-misses cpu-clock task-clock page-faults "
	 "context-switches"},
	{NULL, "fold", "clones tiers"},
	{NULL, "preset", "stalls topdown"},
	{"funccount", "format", "text md json csv"},
	{"list", "format", "text md json csv"},
	{"doctor", "format", "text md json csv"},
	{"tally", "format", "text md json csv"},
	{"sched", "format", "text md json csv"},
	{"stat", "format", "text md json csv"},
	{"diff", "group-by", "function module comm"},
	{NULL, "group-by", ROW_KEYS},
	{NULL, "order", "self total"},
	{"diff", "sort", "function module comm"},
	{"funccount", "sort", "count name rate"},
	{"tally", "sort", "count key sum min avg max"},
	{"sched", "sort", "avg max runtime switch delay migrations name"},
	{NULL, "sort", ROW_KEYS},
	{NULL, "unwind", "auto cfi fp"},
};

static const char *read_names(void)
{
	static char names[FORMAT_NAMES_BYTES];

	return format_read_names(names);
}

/* Lists of values that are defined elsewhere. */
static const struct {
	const char *option;
	const char *(*names)(void);
} lists[] = {
	{"colors", palette_names},
	{"format", format_names},
	{"input-format", read_names},
};

static const char *words_of(const char *command, const char *option)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].option, option) &&
		    (!words[i].command || !strcmp(words[i].command, command)))
			return words[i].words;
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		if (!strcmp(lists[i].option, option))
			return lists[i].names();
	return NULL;
}

/* Returns the kind of an option's value, from the name of the value in the option's row. */
static struct completed_value completed_value(const char *command, const struct option_row *row)
{
	struct completed_value value = {.kind = VALUE_TEXT};
	size_t nr, i;

	if (!row->value)
		return (struct completed_value){.kind = VALUE_NONE};
	nr = strcspn(row->value, ",");
	value.is_list = row->value[nr] == ',';
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i].value) == nr && !strncmp(kinds[i].value, row->value, nr))
			value.kind = kinds[i].kind;
	value.words = words_of(command, row->name);
	if (value.words)
		value.kind = VALUE_WORDS;
	return value;
}

/* Writes a list separated by spaces or commas with a single space between words. */
static void write_words(const char *list, FILE *out)
{
	const char *separator = "";

	for (list += strspn(list, " ,"); *list; list += strspn(list, " ,")) {
		size_t nr = strcspn(list, " ,");

		fprintf(out, "%s%.*s", separator, (int)nr, list);
		separator = " ";
		list += nr;
	}
}

/* --- bash ------------------------------------------------------------------------------------ */

/* Does not need the package bash-completion. Bash splits `--option=value` into three words. */

static void write_bash_options(const struct completed_command *command, FILE *out)
{
	size_t i;

	fprintf(out, "\t%s)\n\t\toptions='-h --help", command->command->name);
	for (i = 0; i < command->nr_rows; i++) {
		const struct option_row *row = command->rows[i];

		if (row->letter)
			fprintf(out, " -%c", row->letter);
		fprintf(out, " --%s", row->name);
	}
	fputs("'\n", out);
	if (command->words)
		fprintf(out, "\t\twords='%s'\n", command->words);
	if (command->takes_files)
		fputs("\t\twords=FILES\n", out);
	fputs("\t\t;;\n", out);
}

static void write_bash_values(const struct completed_command *command, FILE *out)
{
	static const char *const functions[] = {
		[VALUE_TEXT] = "true",
		[VALUE_FILE] = "_stook_files",
		[VALUE_FOLDER] = "_stook_folders",
		[VALUE_PID] = "_stook_pids",
		[VALUE_WORDS] = "_stook_words",
	};
	size_t i;

	for (i = 0; i < command->nr_rows; i++) {
		const struct option_row *row = command->rows[i];
		struct completed_value value = completed_value(command->command->name, row);

		if (value.kind == VALUE_NONE)
			continue;
		fprintf(out, "\t%s:--%s", command->command->name, row->name);
		if (row->letter)
			fprintf(out, " | %s:-%c", command->command->name, row->letter);
		fprintf(out, ") %s", functions[value.kind]);
		if (value.words) {
			fputs(" '", out);
			write_words(value.words, out);
			fprintf(out, "' '%s'", value.is_list ? "," : "");
		}
		fputs(" ;;\n", out);
	}
}

static const char bash_head[] =
	"# bash completion of stook; made by 'stook completion bash'\n"
	"\n"
	"# Keeps everything before the last comma.\n"
	"_stook_words() { # WORDS [,]\n"
	"\tlocal before=\n"
	"\t[[ ${2-} == , && $cur == *,* ]] && before=${cur%,*},\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${cur#\"$before\"}\")\n"
	"}\n"
	"\n"
	"_stook_pids() {\n"
	"\t_stook_words \"$(cd /proc && echo [0-9]*)\" ,\n"
	"}\n"
	"\n"
	"_stook_files() {\n"
	"\tcompopt -o filenames\n"
	"\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"}\n"
	"\n"
	"_stook_folders() {\n"
	"\tcompopt -o filenames\n"
	"\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
	"}\n"
	"\n"
	"# Returns 1 if the option takes no value.\n"
	"_stook_value() { # COMMAND:OPTION\n"
	"\tcase $1 in\n";

static const char bash_middle[] =
	"\t*) return 1 ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# After -- comes another command line.\n"
	"_stook_command() {\n"
	"\tlocal i\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\t[[ ${COMP_WORDS[i]} == -- ]] && break\n"
	"\tdone\n"
	"\t((i < COMP_CWORD)) || return\n"
	"\tif ((i + 1 == COMP_CWORD)); then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\telse\n"
	"\t\t_stook_files\n"
	"\tfi\n"
	"}\n"
	"\n"
	"_stook() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal options='' words='' command=${COMP_WORDS[1]}\n"
	"\tCOMPREPLY=()\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\t_stook_words \"$_stook_commands --help --version\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ $cur == '=' ]]; then\n"
	"\t\tcur=\n"
	"\telif [[ $prev == '=' ]]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n"
	"\t_stook_command && return\n"
	"\t_stook_value \"$command:$prev\" && return\n"
	"\tcase $command in\n";

static const char bash_tail[] = "\tesac\n"
				"\tif [[ $cur == -* ]]; then\n"
				"\t\t_stook_words \"$options\"\n"
				"\telif [[ $words == FILES ]]; then\n"
				"\t\t_stook_files\n"
				"\telse\n"
				"\t\t_stook_words \"$words\"\n"
				"\tfi\n"
				"}\n"
				"\n"
				"complete -F _stook stook\n";

static void write_bash(const struct completed_command *commands, size_t nr, FILE *out)
{
	size_t i;

	fputs(bash_head, out);
	for (i = 0; i < nr; i++)
		write_bash_values(&commands[i], out);
	fputs(bash_middle, out);
	for (i = 0; i < nr; i++)
		write_bash_options(&commands[i], out);
	fputs(bash_tail, out);
	fputs("_stook_commands='", out);
	for (i = 0; i < nr; i++)
		fprintf(out, "%s%s", i ? " " : "", commands[i].command->name);
	fputs("'\n", out);
}

/* --- zsh: an argument of _arguments for each option, with its help --------------------------- */

/*
 * Writes text for '…', with backslashes before the special characters of _arguments or _describe.
 */
static void write_zsh_quoted(const char *text, const char *special, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", out);
			continue;
		}
		if (*special && strchr(special, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void write_zsh_action(const struct completed_value *value, FILE *out)
{
	switch (value->kind) {
	case VALUE_FILE:
		fputs("_files", out);
		break;
	case VALUE_FOLDER:
		fputs("_files -/", out);
		break;
	case VALUE_PID:
		fputs("_sequence _pids", out);
		break;
	case VALUE_WORDS:
		fputs(value->is_list ? "_sequence compadd - " : "(", out);
		write_words(value->words, out);
		fputs(value->is_list ? "" : ")", out);
		break;
	default:
		fputc(' ', out);
	}
}

/* '*--pid=[help]:PID,…:action' */
static void write_zsh_spec(const char *command, const struct option_row *row, bool is_letter,
			   FILE *out)
{
	struct completed_value value = completed_value(command, row);
	bool has_value = value.kind != VALUE_NONE;

	if (is_letter)
		fprintf(out, "\t\t\t'*-%c%s[", row->letter, has_value ? "+" : "");
	else
		fprintf(out, "\t\t\t'*--%s%s[", row->name, has_value ? "=" : "");
	write_zsh_quoted(row->help, "[]\\", out);
	fputc(']', out);
	if (has_value) {
		fputc(':', out);
		write_zsh_quoted(row->value, ":\\", out);
		fputc(':', out);
		write_zsh_action(&value, out);
	}
	fputs("' \\\n", out);
}

static void write_zsh_command(const struct completed_command *command, FILE *out)
{
	size_t i;

	fprintf(out, "\t%s)\n\t\t_arguments -s -S \\\n", command->command->name);
	for (i = 0; i < command->nr_rows; i++) {
		const struct option_row *row = command->rows[i];

		if (row->letter)
			write_zsh_spec(command->command->name, row, true, out);
		write_zsh_spec(command->command->name, row, false, out);
	}
	fputs("\t\t\t'(- *)'{-h,--help}'[list the options]'", out);
	if (command->words)
		fprintf(out, " \\\n\t\t\t'1:word:(%s)'", command->words);
	if (command->takes_files)
		fputs(" \\\n\t\t\t'*:file:_files'", out);
	fputs("\n\t\t;;\n", out);
}

static const char zsh_head[] = "#compdef stook\n"
			       "# zsh completion of stook; made by 'stook completion zsh'\n"
			       "\n"
			       "_stook() {\n"
			       "\tlocal command=$words[2]\n"
			       "\tlocal -a subcommands=(\n";

/* After -- comes another command line. */
static const char zsh_middle[] = "\t)\n"
				 "\tif ((CURRENT == 2)); then\n"
				 "\t\t_describe command subcommands\n"
				 "\t\treturn\n"
				 "\tfi\n"
				 "\tlocal -i dashes=${words[(i)--]}\n"
				 "\tif ((dashes < CURRENT)); then\n"
				 "\t\tshift $dashes words\n"
				 "\t\t((CURRENT -= dashes))\n"
				 "\t\t_normal\n"
				 "\t\treturn\n"
				 "\tfi\n"
				 "\tshift words\n"
				 "\t((CURRENT--))\n"
				 "\tcase $command in\n";

/* As a function of $fpath it completes at once; if sourced, it must be registered. */
static const char zsh_tail[] = "\tesac\n"
			       "}\n"
			       "\n"
			       "if [[ $funcstack[1] == _stook ]]; then\n"
			       "\t_stook \"$@\"\n"
			       "else\n"
			       "\tcompdef _stook stook\n"
			       "fi\n";

static void write_zsh(const struct completed_command *commands, size_t nr, FILE *out)
{
	size_t i;

	fputs(zsh_head, out);
	for (i = 0; i < nr; i++) {
		fprintf(out, "\t\t'%s:", commands[i].command->name);
		write_zsh_quoted(commands[i].command->summary, ":\\", out);
		fputs("'\n", out);
	}
	fputs(zsh_middle, out);
	for (i = 0; i < nr; i++)
		write_zsh_command(&commands[i], out);
	fputs(zsh_tail, out);
}

/* --- fish: a line for each option, with its help --------------------------------------------- */

/* Within '…', fish treats only ' and \ specially. */
static void write_fish_quoted(const char *text, FILE *out)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('\'', out);
}

static void write_fish_value(const struct completed_value *value, FILE *out)
{
	switch (value->kind) {
	case VALUE_NONE:
		break;
	case VALUE_FILE:
		fputs(" -r -F", out);
		break;
	case VALUE_FOLDER:
		fputs(" -x -a '(__fish_complete_directories)'", out);
		break;
	case VALUE_PID:
		fputs(" -x -a '(__fish_complete_list , __fish_complete_pids)'", out);
		break;
	case VALUE_WORDS:
		fputs(value->is_list ? " -x -a '(__fish_complete_list , \"printf %s\\\\\\n "
				     : " -x -a '",
		      out);
		write_words(value->words, out);
		fputs(value->is_list ? "\")'" : "'", out);
		break;
	default:
		fputs(" -x", out);
	}
}

static void write_fish_row(const struct completed_command *command, const struct option_row *row,
			   FILE *out)
{
	struct completed_value value = completed_value(command->command->name, row);

	fprintf(out, "complete -c stook -n '__stook_in %s'", command->command->name);
	if (row->letter)
		fprintf(out, " -s %c", row->letter);
	fprintf(out, " -l %s", row->name);
	write_fish_value(&value, out);
	fputs(" -d ", out);
	write_fish_quoted(row->help, out);
	fputc('\n', out);
}

static void write_fish_command(const struct completed_command *command, FILE *out)
{
	const char *name = command->command->name;
	size_t i;

	fprintf(out, "\ncomplete -c stook -n __stook_first -a %s -d ", name);
	write_fish_quoted(command->command->summary, out);
	fputc('\n', out);
	if (command->words)
		fprintf(out, "complete -c stook -n '__stook_in %s' -a '%s'\n", name,
			command->words);
	if (command->takes_files)
		fprintf(out, "complete -c stook -n '__stook_in %s' -F\n", name);
	for (i = 0; i < command->nr_rows; i++)
		write_fish_row(command, command->rows[i], out);
	fprintf(out, "complete -c stook -n '__stook_in %s' -s h -l help -d 'list the options'\n",
		name);
}

static const char fish_head[] =
	"# fish completion of stook; made by 'stook completion fish'\n"
	"\n"
	"function __stook_first\n"
	"\ttest (count (commandline -opc)) -eq 1\n"
	"end\n"
	"\n"
	"function __stook_behind\n"
	"\tcontains -- -- (commandline -opc)\n"
	"end\n"
	"\n"
	"function __stook_in\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -gt 1 && test $words[2] = $argv[1] && not __stook_behind\n"
	"end\n"
	"\n"
	"complete -c stook -f\n"
	"complete -c stook -n __stook_first -l help -d 'list the commands'\n"
	"complete -c stook -n __stook_first -l version -d 'print the version'\n"
	"complete -c stook -n __stook_behind -F -a '(__fish_complete_command)'\n";

static void write_fish(const struct completed_command *commands, size_t nr, FILE *out)
{
	size_t i;

	fputs(fish_head, out);
	for (i = 0; i < nr; i++)
		write_fish_command(&commands[i], out);
}

/* --- the command line ------------------------------------------------------------------------ */

static const struct shell {
	const char *name;
	void (*write)(const struct completed_command *commands, size_t nr, FILE *out);
} shells[] = {
	{"bash", write_bash},
	{"zsh", write_zsh},
	{"fish", write_fish},
};

static int take_shell(void *context, const char *word, struct error *error)
{
	const struct shell **ret = context;
	size_t i;

	if (*ret)
		return error_set(error, -EINVAL, "more than one shell: '%s'", word);
	for (i = 0; i < ARRAY_SIZE(shells); i++)
		if (!strcmp(word, shells[i].name))
			*ret = &shells[i];
	return *ret ? 0
		    : error_set(error, -EINVAL, "unknown shell '%s': use bash, zsh or fish", word);
}

static int parse(int argc, char **argv, const struct shell **ret, struct error *error)
{
	const struct option_table table = {
		.take_word = take_shell,
		.context = ret,
		.usage = "usage: stook completion bash|zsh|fish\n"
			 "\n"
			 "Prints the completion script for a shell. 'make install' installs the "
			 "scripts of all\n"
			 "three.\n",
		.examples = "\nexamples:\n"
			    "  . <(stook completion bash)             in this shell only\n"
			    "  stook completion fish > ~/.config/fish/completions/stook.fish",
	};
	int err = option_table_parse(&table, argc, argv, error);

	if (!err && !*ret)
		err = error_set(error, -EINVAL, "no shell given: bash, zsh or fish");
	return err;
}

/* --- options of the commands ----------------------------------------------------------------- */

static void note_table(void *context, const struct option_table *table)
{
	struct completed_command *command = context;
	const char *at = strstr(table->usage, "-- CMD");

	command->nr_rows = option_table_rows(table, command->rows);
	command->runs_command = at && at < strchrnul(table->usage, '\n'); /* in the first line */
	if (!strcmp(command->command->name, "completion"))
		command->words = SHELL_NAMES;
	else
		command->takes_files = !command->runs_command;
}

/* Runs each command with the visitor. Returns NULL when out of memory. */
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
