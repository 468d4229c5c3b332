/* The script for fish: a line for each option, with its help. */
#include "cmd/completion_scripts.h"

/* In '…' of fish only ' and \ mean something. */
static void write_quoted(const char *text, FILE *out)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('\'', out);
}

static void write_value(const struct completed_value *value, FILE *out)
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
		completion_write_words(value->words, out);
		fputs(value->is_list ? "\")'" : "'", out);
		break;
	default:
		fputs(" -x", out);
	}
}

static void write_row(const struct completed_command *command, const struct option_row *row,
		      FILE *out)
{
	struct completed_value value = completed_value(command->command->name, row);

	fprintf(out, "complete -c stook -n '__stook_in %s'", command->command->name);
	if (row->letter)
		fprintf(out, " -s %c", row->letter);
	fprintf(out, " -l %s", row->name);
	write_value(&value, out);
	fputs(" -d ", out);
	write_quoted(row->help, out);
	fputc('\n', out);
}

static void write_command(const struct completed_command *command, FILE *out)
{
	const char *name = command->command->name;
	size_t i;

	fprintf(out, "\ncomplete -c stook -n __stook_first -a %s -d ", name);
	write_quoted(command->command->summary, out);
	fputc('\n', out);
	if (command->words)
		fprintf(out, "complete -c stook -n '__stook_in %s' -a '%s'\n", name,
			command->words);
	if (command->takes_files)
		fprintf(out, "complete -c stook -n '__stook_in %s' -F\n", name);
	for (i = 0; i < command->nr_rows; i++)
		write_row(command, command->rows[i], out);
	fprintf(out,
		"complete -c stook -n '__stook_in %s' -s h -l help -d 'what the options are'\n",
		name);
}

static const char head[] =
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
	"complete -c stook -n __stook_first -l help -d 'what the commands are'\n"
	"complete -c stook -n __stook_first -l version -d 'which stook this is'\n"
	"complete -c stook -n __stook_behind -F -a '(__fish_complete_command)'\n";

void completion_write_fish(const struct completed_command *commands, size_t nr, FILE *out)
{
	size_t i;

	fputs(head, out);
	for (i = 0; i < nr; i++)
		write_command(&commands[i], out);
}
