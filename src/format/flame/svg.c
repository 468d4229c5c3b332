/*
 * Everything around the boxes: title, legend, the line for details, styles and the script. Elements
 * that only work with a script (buttons, the search field) are created by the script, so that no
 * reader sees buttons that do nothing.
 */
#include "format/flame/flame.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/text.h"
#include "format/flame/svg_graph.h"
#include "format/flame/svg_text.h"
#include "format/page/assets.h"
#include "view/amount.h"

/* --- the head -------------------------------------------------------------------------------- */

static const char styles[] = "#frames{user-select:none;-webkit-user-select:none}\n"
			     "#frames text{pointer-events:none}\n"
			     "#frames rect{rx:2px;cursor:pointer}\n"
			     "#frames rect:hover,#frames rect:focus{stroke:#000;outline:none}\n"
			     "#frames rect:focus{stroke-width:2}\n"
			     "#frames rect.match{fill:#e600e6}\n"
			     "#frames .above{opacity:.5}\n"
			     ".button{cursor:pointer}\n"
			     ".button:hover,.button:focus{text-decoration:underline}\n"
			     ".off{fill:#5a5a5a}\n";

static void write_background(const struct svg_graph *graph, FILE *out)
{
	struct background background = palette_background(graph->style.palette);

	if (graph->is_difference || graph->category_of_word)
		background = palette_background(palette_of_kinds());
	if (graph->style.bgcolors)
		(void)background_parse(graph->style.bgcolors, &background);
	(void)fputs("<defs><linearGradient id=\"background\" x2=\"0\" y2=\"1\">"
		    "<stop offset=\"5%\" stop-color=\"",
		    out);
	svg_color(out, background.top);
	(void)fputs("\"/><stop offset=\"95%\" stop-color=\"", out);
	svg_color(out, background.bottom);
	(void)fputs("\"/></linearGradient></defs>\n"
		    "<rect width=\"100%\" height=\"100%\" fill=\"url(#background)\"/>\n",
		    out);
}

static void write_head(const struct svg_graph *graph, FILE *out)
{
	unsigned width = graph->style.width, height = graph->height;

	(void)fprintf(out,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		      "<svg version=\"1.1\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
		      "height=\"%u\" viewBox=\"0 0 %u %u\" font-family=\"",
		      width, height, width, height);
	svg_text(out, graph->style.fonttype);
	(void)fputs(", sans-serif\" font-size=\"", out);
	svg_number(out, graph->style.fontsize, 2);
	(void)fputs("\" aria-labelledby=\"title\">\n", out);
	if (graph->style.notes) {
		(void)fputs("<desc>", out);
		svg_text(out, graph->style.notes);
		(void)fputs("</desc>\n", out);
	}
	(void)fprintf(out, "<style>\n%s</style>\n", styles);
	write_background(graph, out);
}

/* --- titles ---------------------------------------------------------------------------------- */

static const char *shape_name(const struct svg_graph *graph)
{
	if (graph->is_difference)
		return "Differential Flame Graph";
	if (graph->style.flamechart)
		return "Flame Chart";
	return graph->style.inverted ? "Icicle Graph" : "Flame Graph";
}

/* "Flame Graph: cpu-clock, 30 s", without unknown parts; for a difference, the compared files. */
static void write_own_title(const struct svg_graph *graph, FILE *out)
{
	const struct profile_origin *origin = profile_origin(graph->profile);
	const struct comparison_style *compared = graph->options->comparison;
	const char *before = ": ";

	svg_text(out, shape_name(graph));
	if (graph->is_difference && compared_names_known(compared)) {
		(void)fputs(before, out);
		compared_names_write(compared, out);
		return;
	}
	if (origin->event) {
		(void)fputs(before, out);
		svg_text(out, profile_string(graph->profile, origin->event));
		before = ", ";
	}
	if (origin->duration_ns) {
		(void)fputs(before, out);
		svg_number(out, (double)origin->duration_ns / 1e9, 1);
		(void)fputs(" s", out);
	}
}

static void begin_middle_text(FILE *out, const char *id, double base, double size)
{
	(void)fprintf(out, "<text id=\"%s\" x=\"50%%\" y=\"", id);
	svg_number(out, base, 1);
	(void)fputs("\" text-anchor=\"middle\" font-size=\"", out);
	svg_number(out, size, 2);
	(void)fputs("\">", out);
}

/* Writes the total like a report, unless the user gave a unit or a factor. */
static void write_total(const struct svg_graph *graph, uint64_t total, FILE *out)
{
	const struct flame_style *asked = graph->options->flame;
	char buffer[AMOUNT_BYTES], counted[AMOUNT_COUNTED_BYTES];

	if (!profile_is_sum(graph->profile) || (asked && (asked->countname || asked->factor > 0))) {
		svg_boxes_write_count(graph, total, out);
		return;
	}
	svg_text(out, amount_total(graph->profile, total, buffer));
	svg_text(out, amount_counted(graph->profile, total, counted));
}

/*
 * "12,345 samples; the run's stacks: user: 5.2 % complete, 94.8 % truncated"
 * "12,345 samples before, 12,543 samples after"
 */
static void write_own_subtitle(const struct svg_graph *graph, FILE *out)
{
	const struct comparison_style *compared = graph->options->comparison;
	/* The subtitle shows if stacks were truncated or counts are estimates. */
	const char *verdict = profile_comment_about(graph->profile, "stacks", "truncated");
	const char *budget = profile_comment_about(graph->profile, "budget", "");

	if (graph->is_difference) {
		write_total(graph, graph->stacks.others_total, out);
		(void)fputs(" before, ", out);
	}
	write_total(graph, graph->stacks.total, out);
	if (graph->is_difference)
		(void)fputs(" after", out);
	if (svg_graph_total(graph) > graph->stacks.total) {
		(void)fputs("; the full width represents ", out);
		write_total(graph, svg_graph_total(graph), out);
	}
	if (graph->is_difference && compared && compared->note) {
		(void)fputs(". ", out);
		svg_text(out, compared->note);
	}
	if (verdict && !graph->is_difference) {
		(void)fputs("; the run's stacks: ", out);
		svg_text(out, verdict);
	}
	if (budget && !graph->is_difference) {
		(void)fputs("; ", out);
		svg_text(out, budget);
	}
}

static void write_titles(const struct svg_graph *graph, FILE *out)
{
	const struct flame_style *style = &graph->style;
	double size = style->fontsize;

	begin_middle_text(out, "title", 2 * size, size + 5);
	if (style->title)
		svg_text(out, style->title);
	else
		write_own_title(graph, out);
	(void)fputs("</text>\n", out);
	if (style->subtitle && !*style->subtitle)
		return;
	begin_middle_text(out, "subtitle", 4 * size, size);
	if (style->subtitle)
		svg_text(out, style->subtitle);
	else
		write_own_subtitle(graph, out);
	(void)fputs("</text>\n", out);
}

/* --- legend ----------------------------------------------------------------------------------- */

/*
 * Rows below the boxes that explain the colours used in the picture, and for a difference the
 * widths. The width of a text is only estimated, since fonts depend on the reader's system, so
 * entries have extra space between them.
 */

struct legend {
	char ratios[3][RATIO_NUMBER_BYTES + 32]; /* texts of a ratio's entries */
	struct legend_entry {
		const char *text; /* owned by the graph, or static */
		struct color color;
		const char *edge; /* further attributes of the entry's box; NULL: no box */
		double left;	  /* pixels */
		unsigned row;
	} entries[CATEGORIES_MAX];
	size_t nr;
	unsigned nr_rows;
};

#define ROW_HEIGHT 1.6 /* in font sizes */

static void legend_add(struct legend *legend, const char *text, struct color color,
		       const char *edge)
{
	if (legend->nr < ARRAY_SIZE(legend->entries))
		legend->entries[legend->nr++] =
			(struct legend_entry){.text = text, .color = color, .edge = edge};
}

static void add_changes(struct legend *legend, bool negate)
{
	struct color more = negate ? palette_less(0.7) : palette_more(0.7);
	struct color less = negate ? palette_more(0.7) : palette_less(0.7);

	legend_add(legend, "more", more, "");
	legend_add(legend, "less", less, "");
	legend_add(legend, "new", more, SVG_EDGE_OF_NEW);
	legend_add(legend, "gone", less, SVG_EDGE_OF_GONE);
	legend_add(legend, "within noise", palette_unchanged(), "");
	legend_add(legend, "width: before plus after", palette_unchanged(), NULL);
}

static void add_categories(struct legend *legend, const struct svg_graph *graph)
{
	size_t i;

	for (i = 0; i < graph->nr_heaviest; i++) {
		uint32_t category = graph->heaviest[i];

		legend_add(legend, categories_name(graph->options->categories, category),
			   palette_category(graph->rank_of[category]), "");
	}
}

/* A single kind needs no legend; states of threads and kinds of locks do, called as their frames. */
static void add_kinds(struct legend *legend, const struct svg_graph *graph)
{
	const char *states[PALETTE_NR_STATES + 1] = {NULL};
	bool seen[NR_WORD_KINDS] = {false};
	size_t nr_seen = 0;
	size_t i, kind;

	for (i = 1; i < graph->nodes.nr; i++) {
		const uint32_t word = graph->nodes.nodes[i].word;
		const char *name = named_stacks_word(&graph->stacks, word);

		seen[named_stacks_info(&graph->stacks, word)->kind] = true;
		if (named_stacks_info(&graph->stacks, word)->kind == WORD_USER)
			states[palette_state(name)] = name;
	}
	for (kind = 0; kind < NR_WORD_KINDS; kind++)
		nr_seen += seen[kind];
	for (kind = 0; kind < NR_WORD_KINDS && nr_seen > 1; kind++)
		if (seen[kind])
			legend_add(legend, palette_kind_name((enum word_kind)kind),
				   palette_kind_color((enum word_kind)kind), "");
	for (i = 0; i < PALETTE_NR_STATES; i++)
		if (states[i])
			legend_add(legend, states[i], palette_state_color(i), "");
}

/*
 * Returns the text's distance from the entry's left edge, in font sizes: after its box, if it has
 * one.
 */
static double text_left(const struct legend_entry *entry)
{
	return entry->edge ? 1.4 : 0;
}

/* Places entries from left to right; starts a new row at the right edge of the picture. */
static void legend_place(struct legend *legend, const struct svg_graph *graph)
{
	double size = graph->style.fontsize;
	double left = SVG_MARGIN;
	unsigned row = 0;
	size_t i;

	for (i = 0; i < legend->nr; i++) {
		struct legend_entry *entry = &legend->entries[i];
		double wide =
			text_left(entry) + SVG_CHARACTER_WIDTH * text_columns(entry->text) + 1.6;

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

/* The scale of a ratio, its middle is the whole profile's. */
static void add_ratios(struct legend *legend, const struct ratio *ratio)
{
	static const char *const words[] = {" or less", ", as all", " or more"};
	char number[RATIO_NUMBER_BYTES];
	int step;

	legend_add(legend, ratio->text, palette_unchanged(), NULL);
	for (step = -1; step <= 1; step++) {
		char *text = legend->ratios[step + 1];

		(void)snprintf(text, sizeof(legend->ratios[0]), "%s%s",
			       ratio_number(ratio->whole * pow(RATIO_MOST, step), number),
			       words[step + 1]);
		legend_add(legend, text, palette_ratio(step), "");
	}
	if (ratio->least > 0)
		legend_add(legend, "too few samples", palette_unchanged(), "");
}

static void legend_init(struct legend *legend, const struct svg_graph *graph)
{
	*legend = (struct legend){.nr = 0};
	if (graph->is_difference)
		add_changes(legend, graph->style.negate);
	else if (graph->category_of_word)
		add_categories(legend, graph);
	else if (graph->has_ratio)
		add_ratios(legend, &graph->ratio);
	else if (graph->style.palette == palette_of_kinds())
		add_kinds(legend, graph);
	legend_place(legend, graph);
}

static unsigned legend_height(const struct legend *legend, const struct svg_graph *graph)
{
	return (unsigned)(legend->nr_rows * ROW_HEIGHT * graph->style.fontsize);
}

static void legend_write_box(const struct legend_entry *entry, double base, double size, FILE *out)
{
	(void)fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"",
		      entry->left, base - 0.85 * size, size, size);
	svg_color(out, entry->color);
	(void)fprintf(out, "\"%s/>", entry->edge);
}

static void legend_write(const struct legend *legend, const struct svg_graph *graph, FILE *out)
{
	double size = graph->style.fontsize;
	size_t i;

	(void)fputs("<g id=\"legend\">\n", out);
	for (i = 0; i < legend->nr; i++) {
		const struct legend_entry *entry = &legend->entries[i];
		double base = graph->frames_top + graph->frames_height +
			      (1.7 + entry->row * ROW_HEIGHT) * size;

		if (entry->edge)
			legend_write_box(entry, base, size, out);
		(void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">",
			      entry->left + text_left(entry) * size, base);
		svg_text(out, entry->text);
		(void)fputs("</text>\n", out);
	}
	(void)fputs("</g>\n", out);
}

/* --- the whole picture ----------------------------------------------------------------------- */

static void write_details(const struct svg_graph *graph, FILE *out)
{
	double base = graph->height - graph->style.fontsize;

	(void)fprintf(out, "<text id=\"details\" x=\"%d\" y=\"%.1f\" data-name=\"", SVG_MARGIN,
		      base);
	svg_text(out, graph->style.nametype);
	(void)fputs("\"> </text>\n", out);
}

static int write_all(struct svg_graph *graph, FILE *out)
{
	unsigned width =
		graph->style.width > 2 * SVG_MARGIN ? graph->style.width - 2 * SVG_MARGIN : 1;
	struct legend legend;

	legend_init(&legend, graph);
	graph->height += legend_height(&legend, graph);
	errno = 0;
	write_head(graph, out);
	write_titles(graph, out);
	legend_write(&legend, graph, out);
	write_details(graph, out);
	(void)fprintf(out,
		      "<svg id=\"frames\" x=\"%d\" width=\"%u\" height=\"%u\" data-row=\"%u\">\n",
		      SVG_MARGIN, width, graph->height, graph->style.height);
	svg_boxes_write(graph, out);
	(void)fprintf(out, "</svg>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", asset_svg_js);
	return stream_finish(out);
}

bool svg_ignores_total(const struct profile *profile, const struct flame_style *style)
{
	double total = style->total * (double)profile_scale(profile).factor;

	/* A total with fractions was rounded when scaled: tolerate half a unit. */
	return total > 0 && total + 0.5 < (double)profile_total(profile);
}

int svg_write(const struct profile *profile, const struct format_options *options, FILE *out)
{
	cleanup(svg_graph_clear) struct svg_graph graph;
	int err = svg_graph_init(&graph, profile, options);

	return err ? err : write_all(&graph, out);
}
