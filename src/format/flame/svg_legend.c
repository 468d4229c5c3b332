/*
 * Only what occurs in the picture is explained. How wide a text will be is not known, since fonts
 * are the reader's, so there is more room between entries than they need.
 */
#include "format/flame/svg_legend.h"

#include "base/array.h"
#include "format/flame/svg_boxes.h"
#include "format/flame/svg_text.h"
#include "format/text/columns.h"

#define ROW_HEIGHT 1.6 /* in font sizes */

/* --- entries --------------------------------------------------------------------------------- */

static void add(struct svg_legend *legend, const char *text, struct color color, const char *edge)
{
	if (legend->nr < ARRAY_SIZE(legend->entries))
		legend->entries[legend->nr++] =
			(struct svg_legend_entry){.text = text, .color = color, .edge = edge};
}

static void add_changes(struct svg_legend *legend, bool negate)
{
	struct color more = negate ? palette_less(0.7) : palette_more(0.7);
	struct color less = negate ? palette_more(0.7) : palette_less(0.7);

	add(legend, "more", more, "");
	add(legend, "less", less, "");
	add(legend, "new", more, SVG_EDGE_OF_NEW);
	add(legend, "gone", less, SVG_EDGE_OF_GONE);
	add(legend, "maybe by chance", palette_unchanged(), "");
	add(legend, "width: before and after together", palette_unchanged(), NULL);
}

static void add_categories(struct svg_legend *legend, const struct svg_graph *graph)
{
	size_t i;

	for (i = 0; i < graph->nr_heaviest; i++) {
		uint32_t category = graph->heaviest[i];

		add(legend, categories_name(graph->options->categories, category),
		    palette_category(graph->rank_of[category]), "");
	}
}

/* A kind alone needs no explanation. */
static void add_kinds(struct svg_legend *legend, const struct svg_graph *graph)
{
	bool seen[NR_WORD_KINDS] = {false};
	size_t nr_seen = 0;
	size_t i, kind;

	for (i = 1; i < graph->nodes.nr; i++)
		seen[named_stacks_info(&graph->stacks, graph->nodes.nodes[i].word)->kind] = true;
	for (kind = 0; kind < NR_WORD_KINDS; kind++)
		nr_seen += seen[kind];
	for (kind = 0; kind < NR_WORD_KINDS && nr_seen > 1; kind++)
		if (seen[kind])
			add(legend, palette_kind_name((enum word_kind)kind),
			    palette_kind_color((enum word_kind)kind), "");
}

/* Behind its box, in font sizes. */
static double text_left(const struct svg_legend_entry *entry)
{
	return entry->edge ? 1.4 : 0;
}

/* From left to right, and on in a further row where the picture ends. */
static void place(struct svg_legend *legend, const struct svg_graph *graph)
{
	double size = graph->style.fontsize;
	double left = SVG_MARGIN;
	unsigned row = 0;
	size_t i;

	for (i = 0; i < legend->nr; i++) {
		struct svg_legend_entry *entry = &legend->entries[i];
		double wide =
			text_left(entry) + SVG_CHARACTER_WIDTH * columns_of(entry->text) + 1.6;

		if (left > SVG_MARGIN && left + wide * size > graph->style.width) {
			left = SVG_MARGIN;
			row++;
		}
		entry->left = left;
		entry->row = row;
		left += wide * size;
	}
	legend->nr_rows = legend->nr ? row + 1 : 0;
}

void svg_legend_init(struct svg_legend *legend, const struct svg_graph *graph)
{
	*legend = (struct svg_legend){.nr = 0};
	if (graph->is_difference)
		add_changes(legend, graph->style.negate);
	else if (graph->category_of_word)
		add_categories(legend, graph);
	else if (graph->style.palette == palette_of_kinds())
		add_kinds(legend, graph);
	place(legend, graph);
}

/* --- writing --------------------------------------------------------------------------------- */

unsigned svg_legend_height(const struct svg_legend *legend, const struct svg_graph *graph)
{
	return (unsigned)(legend->nr_rows * ROW_HEIGHT * graph->style.fontsize);
}

static void write_box(const struct svg_legend_entry *entry, double base, double size, FILE *out)
{
	(void)fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"",
		      entry->left, base - 0.85 * size, size, size);
	svg_color(out, entry->color);
	(void)fprintf(out, "\"%s/>", entry->edge);
}

void svg_legend_write(const struct svg_legend *legend, const struct svg_graph *graph, FILE *out)
{
	double size = graph->style.fontsize;
	size_t i;

	(void)fputs("<g id=\"legend\">\n", out);
	for (i = 0; i < legend->nr; i++) {
		const struct svg_legend_entry *entry = &legend->entries[i];
		double base = graph->frames_top + graph->frames_height +
			      (1.7 + entry->row * ROW_HEIGHT) * size;

		if (entry->edge)
			write_box(entry, base, size, out);
		(void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">",
			      entry->left + text_left(entry) * size, base);
		svg_text(out, entry->text);
		(void)fputs("</text>\n", out);
	}
	(void)fputs("</g>\n", out);
}
