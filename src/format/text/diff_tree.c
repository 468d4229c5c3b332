/* See diff_tree.h. Of a way that is too long its beginning is left out. */
#include "format/text/diff_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/text/columns.h"

#define LEAST_NAME_COLUMNS 20 /* guides leave that much to names */
#define LEVEL_COLUMNS	   2

struct glyphs {
	const char *fork, *last_fork, *guide, *no_guide, *between, *ellipsis;
};

static const struct glyphs utf8_glyphs = {"├ ", "└ ", "│ ", "  ", " › ", "…"};
static const struct glyphs ascii_glyphs = {"|-", "`-", "| ", "  ", " > ", ".."};

struct tree_writer {
	const struct diff_terminal *terminal;
	const struct comparison *comparison;
	const struct glyphs *glyphs;
	bool *guides; /* by level: more forks come further down */
};

static const char *name_of(const struct tree_writer *writer, uint32_t node)
{
	const struct comparison *comparison = writer->comparison;

	return named_stacks_word(&comparison->stacks, comparison->paths.nodes.nodes[node].word);
}

static size_t write_guides(const struct tree_writer *writer, const struct difference_line *line)
{
	size_t columns = writer->terminal->width - diff_cells_columns(writer->terminal);
	size_t room = (columns - LEAST_NAME_COLUMNS) / LEVEL_COLUMNS;
	size_t first = line->level > room ? line->level - room : 0;
	size_t i;

	writer->guides[line->level] = line->has_more;
	for (i = first + 1; i < line->level; i++)
		(void)fputs(writer->guides[i] ? writer->glyphs->guide : writer->glyphs->no_guide,
			    writer->terminal->out);
	if (!line->level)
		return 0;
	(void)fputs(line->has_more ? writer->glyphs->fork : writer->glyphs->last_fork,
		    writer->terminal->out);
	return (line->level - first) * LEVEL_COLUMNS;
}

/* As many of the last functions of the way as there is room for. way: room for their nodes. */
static void write_way(const struct tree_writer *writer, const struct difference_line *line,
		      size_t columns, uint32_t *way)
{
	const uint32_t *parents = writer->comparison->paths.parents;
	const struct glyphs *glyphs = writer->glyphs;
	size_t between = columns_of(glyphs->between), cut = columns_of(glyphs->ellipsis) + between;
	size_t left = columns, nr = 0;
	FILE *out = writer->terminal->out;
	uint32_t node = line->last;

	for (;; node = parents[node]) {
		size_t needed = columns_of(name_of(writer, node)) + (nr ? between : 0);

		if (nr && needed + (node != line->first ? cut : 0) > left)
			break;
		way[nr++] = node;
		left -= needed < left ? needed : left;
		if (node == line->first)
			break;
	}
	if (way[nr - 1] != line->first && left >= cut)
		(void)fprintf(out, "%s%s", glyphs->ellipsis, glyphs->between);
	while (nr--) {
		(void)columns_write(out, name_of(writer, way[nr]), columns, glyphs->ellipsis);
		(void)fputs(nr ? glyphs->between : "", out);
	}
}

static void write_line(const struct tree_writer *writer, const struct difference_line *line,
		       uint32_t *way)
{
	const struct diff_terminal *terminal = writer->terminal;
	size_t columns = terminal->width - diff_cells_columns(terminal);

	diff_cells_write(terminal, &writer->comparison->paths.scale, &line->pair.is);
	columns -= write_guides(writer, line);
	if (line->is_rest)
		(void)fputs("(besides these)", terminal->out);
	else
		write_way(writer, line, columns, way);
	diff_cells_end(terminal);
}

int diff_tree_write(const struct diff_terminal *terminal, const struct comparison *comparison)
{
	const struct difference_paths *paths = &comparison->paths;
	size_t nr_depths = paths->nodes.nr_depths + (size_t)2;
	cleanup_free uint32_t *way = calloc(nr_depths, sizeof(*way));
	cleanup_free bool *guides = calloc(nr_depths, sizeof(*guides));
	const struct tree_writer writer = {
		.terminal = terminal,
		.comparison = comparison,
		.glyphs = terminal->ascii ? &ascii_glyphs : &utf8_glyphs,
		.guides = guides,
	};
	size_t i;

	if (!way || !guides)
		return -ENOMEM;
	diff_cells_write_head(terminal);
	(void)fputs("CALL PATH\n", terminal->out);
	for (i = 0; i < paths->nr; i++)
		write_line(&writer, &paths->lines[i], way);
	return 0;
}
