/*
 * The script for bash. It needs nothing of the package bash-completion: a `--option=value` comes as
 * three words, as bash cuts them.
 */
#include "cmd/completion_scripts.h"

static void write_options(const struct completed_command *command, FILE *out)
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

static const char *function_name(enum value_kind kind)
{
	static const char *const names[] = {
		[VALUE_TEXT] = "true",
		[VALUE_FILE] = "_stook_files",
		[VALUE_FOLDER] = "_stook_folders",
		[VALUE_PID] = "_stook_pids",
		[VALUE_WORDS] = "_stook_words",
	};

	return names[kind];
}

static void write_values(const struct completed_command *command, FILE *out)
{
	size_t i;

	for (i = 0; i < command->nr_rows; i++) {
		const struct option_row *row = command->rows[i];
		struct completed_value value = completed_value(command->command->name, row);

		if (value.kind == VALUE_NONE)
			continue;
		fprintf(out, "\t%s:--%s", command->command->name, row->name);
		if (row->letter)
			fprintf(out, " | %s:-%c", command->command->name, row->letter);
		fprintf(out, ") %s", function_name(value.kind));
		if (value.words) {
			fputs(" '", out);
			completion_write_words(value.words, out);
			fprintf(out, "' '%s'", value.is_list ? "," : "");
		}
		fputs(" ;;\n", out);
	}
}

static const char head[] =
	"# bash completion of stook; made by 'stook completion bash'\n"
	"\n"
	"# What is before the last comma stays.\n"
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
	"# Status 1: the option takes no value.\n"
	"_stook_value() { # COMMAND:OPTION\n"
	"\tcase $1 in\n";

static const char middle[] =
	"\t*) return 1 ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# Behind -- comes a command of its own.\n"
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

static const char tail[] = "\tesac\n"
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

void completion_write_bash(const struct completed_command *commands, size_t nr, FILE *out)
{
	size_t i;

	fputs(head, out);
	for (i = 0; i < nr; i++)
		write_values(&commands[i], out);
	fputs(middle, out);
	for (i = 0; i < nr; i++)
		write_options(&commands[i], out);
	fputs(tail, out);
	fputs("_stook_commands='", out);
	for (i = 0; i < nr; i++)
		fprintf(out, "%s%s", i ? " " : "", commands[i].command->name);
	fputs("'\n", out);
}
