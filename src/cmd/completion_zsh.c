/* The script for zsh: what _arguments wants of each option, with its help. */
#include "cmd/completion_scripts.h"

#include <string.h>

/* Within '…'; with a backslash before what means something to _arguments or _describe. */
static void write_quoted(const char *text, const char *special, FILE *out)
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

static void write_action(const struct completed_value *value, FILE *out)
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
		completion_write_words(value->words, out);
		fputs(value->is_list ? "" : ")", out);
		break;
	default:
		fputc(' ', out);
	}
}

/* '*--pid=[help]:PID,…:action' */
static void write_spec(const char *command, const struct option_row *row, bool is_letter, FILE *out)
{
	struct completed_value value = completed_value(command, row);
	bool has_value = value.kind != VALUE_NONE;

	if (is_letter)
		fprintf(out, "\t\t\t'*-%c%s[", row->letter, has_value ? "+" : "");
	else
		fprintf(out, "\t\t\t'*--%s%s[", row->name, has_value ? "=" : "");
	write_quoted(row->help, "[]\\", out);
	fputc(']', out);
	if (has_value) {
		fputc(':', out);
		write_quoted(row->value, ":\\", out);
		fputc(':', out);
		write_action(&value, out);
	}
	fputs("' \\\n", out);
}

static void write_command(const struct completed_command *command, FILE *out)
{
	size_t i;

	fprintf(out, "\t%s)\n\t\t_arguments -s -S \\\n", command->command->name);
	for (i = 0; i < command->nr_rows; i++) {
		const struct option_row *row = command->rows[i];

		if (row->letter)
			write_spec(command->command->name, row, true, out);
		write_spec(command->command->name, row, false, out);
	}
	fputs("\t\t\t'(- *)'{-h,--help}'[what the options are]'", out);
	if (command->words)
		fprintf(out, " \\\n\t\t\t'1:word:(%s)'", command->words);
	if (command->takes_files)
		fputs(" \\\n\t\t\t'*:file:_files'", out);
	fputs("\n\t\t;;\n", out);
}

static const char head[] = "#compdef stook\n"
			   "# zsh completion of stook; made by 'stook completion zsh'\n"
			   "\n"
			   "_stook() {\n"
			   "\tlocal command=$words[2]\n"
			   "\tlocal -a subcommands=(\n";

/* Behind -- comes a command of its own. */
static const char middle[] = "\t)\n"
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

/* Run as a function of $fpath it completes at once; sourced, it is to be declared. */
static const char tail[] = "\tesac\n"
			   "}\n"
			   "\n"
			   "if [[ $funcstack[1] == _stook ]]; then\n"
			   "\t_stook \"$@\"\n"
			   "else\n"
			   "\tcompdef _stook stook\n"
			   "fi\n";

void completion_write_zsh(const struct completed_command *commands, size_t nr, FILE *out)
{
	size_t i;

	fputs(head, out);
	for (i = 0; i < nr; i++) {
		fprintf(out, "\t\t'%s:", commands[i].command->name);
		write_quoted(commands[i].command->summary, ":\\", out);
		fputs("'\n", out);
	}
	fputs(middle, out);
	for (i = 0; i < nr; i++)
		write_command(&commands[i], out);
	fputs(tail, out);
}
