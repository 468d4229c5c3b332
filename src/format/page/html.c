/*
 * The page is made from page/page.html, which a browser can also open directly. Text between the
 * two marks <!--NAME--> and <!--/NAME--> is for trying the page, and is replaced here:
 *
 *	policy	the Content-Security-Policy: the page can load nothing, whatever names contain
 *	title, heading	what was sampled or compared
 *	style, script	page.css and the scripts
 *	server	the part that only the page of the server has
 *	data	two script elements: JSON about the profile, and the columns of numbers
 *
 * The data are call trees in pre-order and their words; see html_columns. The first tree has the
 * profile's count and a second value (in a difference, the value "before"); each further value has
 * its own tree.
 */
#include "format/page/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "format/flame/flame.h"
#include "format/flame/svg_text.h"
#include "format/page/assets.h"
#include "format/text/json.h"
#include "profile/ratio.h"
#include "view/categories.h"
#include "view/diff/comparison.h"
#include "view/diff/difference.h"
#include "view/flame_nodes.h"
#include "view/named_stacks.h"

/* Limit for all trees together: a page with more nodes takes seconds to open. */
#define MAX_NODES 2000000

#define NS_PER_US 1000

#define POLICY                                                                                    \
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "             \
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " \
	"form-action 'none'\">"

struct part;

struct page {
	const struct profile *profile;
	const struct format_options *options;
	struct html_words words;
	struct html_columns columns;
	size_t other;	    /* second value of the first tree; 0: none */
	size_t nr_labels;   /* number of words before each stack */
	double least_share; /* share of the total below which calls are omitted */
	bool is_difference;
	struct difference_scale scale; /* of a difference */
	bool has_ratio;
	struct ratio ratio;
	FILE *out;
	const struct part *parts;
};

/* --- trees ----------------------------------------------------------------------------------- */

static const struct flame_style *style_of(const struct page *page)
{
	static const struct flame_style none = {.title = NULL};

	return page->options->flame ? page->options->flame : &none;
}

static int name_stacks(const struct page *page, size_t other, bool with_slices,
		       struct named_stacks *stacks)
{
	const struct named_stacks_style style = {
		.labels = page->options->labels,
		.no_user = page->options->no_user,
		.no_kernel = page->options->no_kernel,
		.lines = page->options->lines,
		.show_modules = true,
		.by_origin = true,
		.reverse = style_of(page)->reverse,
		.keep_order = style_of(page)->flamechart,
		.with_slices = with_slices,
		.other_value = other,
	};

	return named_stacks_init(stacks, page->profile, &style);
}

static struct flame_shape shape_of(const struct page *page, const struct named_stacks *stacks,
				   bool is_first)
{
	size_t nr_trees = profile_nr_values(page->profile) - (page->other > 0);
	struct flame_shape shape = {.max_nodes = MAX_NODES / nr_trees,
				    .flamechart = style_of(page)->flamechart};

	/* Both values have equal weight; in the other trees almost only the other value counts. */
	if (stacks->others_total)
		shape.other_weight = (double)(stacks->total ? stacks->total : 1) /
				     (double)stacks->others_total * (is_first ? 1 : 1e6);
	return shape;
}

static int put_first_tree(struct page *page, struct html_tree *tree)
{
	const struct flame_node *root = tree->nodes->nodes;
	bool has_slices = profile_nr_slices(page->profile) > 0;
	int result = html_tree_put(tree, &page->words, &page->columns);

	page->nr_labels = style_of(page)->reverse ? 0 : tree->stacks->nr_labels;
	if (tree->nr_rests && root->width > 0)
		page->least_share = tree->nodes->least_width / root->width;
	if (!result && has_slices)
		result = html_slices_put(page->profile, tree, &page->columns);
	if (!result && tree->nr_rests)
		result = html_words_add_totals(&page->words);
	return result;
}

/* Returns the number of the tree that contains a value. */
static size_t tree_of(const struct page *page, size_t value)
{
	size_t before = page->other && page->other < value;

	if (!value || value == page->other)
		return 0;
	/* Each further value has its own tree. */
	return page->other ? value - before : value;
}

/* Adds the tree of the count, or of a further value. */
static int put_tree(struct page *page, size_t value)
{
	cleanup(named_stacks_clear) struct named_stacks stacks = {0};
	cleanup(flame_nodes_clear) struct flame_nodes nodes = {0};
	cleanup(html_tree_clear) struct html_tree tree = {
		.stacks = &stacks,
		.nodes = &nodes,
		.number = tree_of(page, value),
		.has_count = !value,
		.has_other = value || page->other,
	};
	bool with_slices = !value && profile_nr_slices(page->profile) > 0;
	struct flame_shape shape;

	if (name_stacks(page, value ? value : page->other, with_slices, &stacks) < 0)
		return -ENOMEM;
	shape = shape_of(page, &stacks, !value);
	if (flame_nodes_init(&nodes, &stacks, &shape) < 0)
		return -ENOMEM;
	return value ? html_tree_put(&tree, &page->words, &page->columns)
		     : put_first_tree(page, &tree);
}

/* Finds the second value of the first tree, and if the two are compared. Returns 0 or -ENOMEM. */
static int find_other(struct page *page)
{
	static const struct comparison_style by_default;
	const struct comparison_style *style = page->options->comparison;
	size_t before = comparison_value(page->profile);

	page->other = before ? before : profile_nr_values(page->profile) > 1;
	if (!before) {
		page->has_ratio = ratio_find(&page->ratio, page->profile);
		if (page->has_ratio)
			page->other = page->ratio.other;
		return 0;
	}
	page->is_difference = true;
	return comparison_scale(&page->scale, page->profile, style ? style : &by_default);
}

static int make_columns(struct page *page)
{
	size_t value;
	int result = html_words_init(&page->words, page->profile, page->options->categories);

	if (!result)
		result = put_tree(page, 0);
	for (value = 1; value < profile_nr_values(page->profile) && !result; value++)
		if (value != page->other)
			result = put_tree(page, value);
	if (!result)
		html_words_put(&page->words, &page->columns);
	return page->columns.failed ? -ENOMEM : result;
}

/* --- JSON about the profile ------------------------------------------------------------------- */

static void write_text(FILE *out, const char *name, const char *text)
{
	(void)fprintf(out, "\"%s\":", name);
	json_write_string(out, text);
}

static void write_values(const struct page *page, FILE *out)
{
	size_t i;

	(void)fputs("\"values\":[", out);
	for (i = 0; i < profile_nr_values(page->profile); i++) {
		(void)fputs(i ? ",{" : "{", out);
		write_text(out, "type", profile_value_name(page->profile, i));
		(void)putc(',', out);
		write_text(out, "unit", profile_value_unit(page->profile, i));
		(void)fprintf(out, ",\"total\":%" PRIu64 ",\"tree\":%zu,\"column\":\"%s\"}",
			      profile_value_total(page->profile, i), tree_of(page, i),
			      i ? "other" : "self");
	}
	(void)fputs("],", out);
}

static void write_origin(const struct page *page, FILE *out)
{
	const struct profile_origin *origin = profile_origin(page->profile);

	(void)fputs("\"origin\":{", out);
	write_text(out, "event", profile_string(page->profile, origin->event));
	(void)putc(',', out);
	write_text(out, "unit", profile_string(page->profile, origin->unit));
	(void)fprintf(out,
		      ",\"period\":%" PRIu64 ",\"time_us\":%" PRIu64 ",\"duration_us\":%" PRIu64
		      "},",
		      origin->period, origin->time_ns / NS_PER_US, origin->duration_ns / NS_PER_US);
}

static void write_comments(const struct page *page, FILE *out)
{
	size_t i;

	(void)fputs("\"comments\":[", out);
	for (i = 0; i < profile_nr_comments(page->profile); i++) {
		if (i)
			(void)putc(',', out);
		json_write_string(out, profile_comment(page->profile, i));
	}
	(void)fputs("],", out);
}

static void write_categories(const struct page *page, FILE *out)
{
	const struct categories *categories = page->options->categories;
	uint32_t i;

	if (!categories)
		return;
	(void)fputs("\"categories\":[", out);
	for (i = 0; i < categories_nr(categories); i++) {
		if (i)
			(void)putc(',', out);
		json_write_string(out, categories_name(categories, i));
	}
	(void)fputs("],", out);
}

static void write_scale(const struct page *page, FILE *out)
{
	const struct difference_scale *scale = &page->scale;

	if (!page->is_difference)
		return;
	(void)fprintf(out,
		      "\"difference\":{\"value\":%zu,\"by_time\":%s,\"before\":%.17g,"
		      "\"after\":%.17g,\"before_all\":%.17g,\"after_all\":%.17g,",
		      page->other, scale->by_time ? "true" : "false", scale->before, scale->after,
		      scale->before_all, scale->after_all);
	(void)fprintf(out,
		      "\"before_sample\":%.17g,\"after_sample\":%.17g,\"least_sigma\":%.17g,"
		      "\"dispersion\":%.17g},",
		      scale->before_sample, scale->after_sample, scale->least_sigma,
		      scale->dispersion);
}

static void write_ratio(const struct page *page, FILE *out)
{
	const struct ratio *ratio = &page->ratio;

	if (!page->has_ratio)
		return;
	(void)fprintf(out,
		      "\"ratio\":{\"above\":%zu,\"below\":%zu,\"factor\":%.17g,\"whole\":%.17g,"
		      "\"least\":%.17g,\"most\":%d,",
		      ratio->is_main_above ? 0 : ratio->other,
		      ratio->is_main_above ? ratio->other : 0, ratio->factor, ratio->whole,
		      ratio->least, RATIO_MOST);
	write_text(out, "heading", ratio->heading);
	(void)putc(',', out);
	write_text(out, "text", ratio->text);
	(void)fputs("},", out);
}

static void write_json(const struct page *page, FILE *out)
{
	(void)putc('{', out);
	write_text(out, "writer", "stook " STOOK_VERSION);
	(void)putc(',', out);
	write_values(page, out);
	write_origin(page, out);
	write_comments(page, out);
	write_categories(page, out);
	write_scale(page, out);
	write_ratio(page, out);
	(void)fprintf(out, "\"icicle\":%s,\"nr_labels\":%zu,\"least_share\":%.3g,\"columns\":",
		      page->options->flame && page->options->flame->inverted ? "true" : "false",
		      page->nr_labels, page->least_share);
	html_columns_write_list(&page->columns, out);
	(void)putc('}', out);
}

/*
 * Returns 0 or -ENOMEM. Escapes characters that could end the script element; they occur only in
 * strings.
 */
static int write_about(const struct page *page)
{
	cleanup_free char *json = NULL;
	size_t nr = 0, i;
	FILE *stream = open_memstream(&json, &nr);
	bool failed;

	if (!stream)
		return -ENOMEM;
	write_json(page, stream);
	failed = ferror(stream);
	if (fclose(stream) || failed)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (json[i] == '<' || json[i] == '>' || json[i] == '&')
			(void)fprintf(page->out, "\\u%04x", (unsigned)json[i]);
		else
			(void)putc(json[i], page->out);
	}
	return 0;
}

/* --- the page -------------------------------------------------------------------------------- */

static int write_title(struct page *page)
{
	const struct comparison_style *compared = page->options->comparison;
	const char *title = style_of(page)->title;
	uint32_t event = profile_origin(page->profile)->event;

	if (title) {
		svg_text(page->out, title);
		return 0;
	}
	(void)fputs(page->is_difference ? "Difference" : "Profile", page->out);
	if (page->is_difference && compared_names_known(compared)) {
		(void)fputs(": ", page->out);
		compared_names_write(compared, page->out);
	} else if (event) {
		(void)fputs(": ", page->out);
		svg_text(page->out, profile_string(page->profile, event));
	}
	return 0;
}

/* The parts of write_data() as JSON. */
static int write_model(struct page *page)
{
	int result = stream_finish(page->out);

	if (result < 0)
		return result;
	(void)fputs("{\"about\":", page->out);
	write_json(page, page->out);
	(void)fputs(",\"data\":\"", page->out);
	result = html_columns_write(&page->columns, page->out);
	(void)fputs("\"}\n", page->out);
	return result;
}

static int write_data(struct page *page)
{
	int result;

	result = stream_finish(page->out); /* flush, so that any later error is from the data */
	if (result < 0)
		return result;
	(void)fputs("<script type=\"application/json\" id=\"about\">", page->out);
	result = write_about(page);
	(void)fputs("</script>\n<script type=\"text/plain\" id=\"data\">", page->out);
	if (!result)
		result = html_columns_write(&page->columns, page->out);
	(void)fputs("</script>", page->out);
	return result;
}

/* Replacements of the text between two marks: static texts, or the output of a function. */
struct part {
	const char *begin, *end; /* NULL: after the last one */
	const char *before, *text, *after;
	int (*write)(struct page *page);
};

#define PART(name, ...)                                            \
	{                                                          \
		"<!--" name "-->", "<!--/" name "-->", __VA_ARGS__ \
	}

static const struct part file_parts[] = {
	PART("policy", "", POLICY, "", NULL),
	PART("title", "", "", "", write_title),
	PART("heading", "", "", "", write_title),
	PART("style", "<style>\n", asset_page_css, "</style>", NULL),
	PART("script", "<script>\n", asset_page_js, "</script>", NULL),
	PART("server", "", "", "", NULL),
	PART("data", "", "", "", write_data),
	{NULL},
};

/* The server sends the policy as a header. */
static const struct part server_parts[] = {
	PART("policy", "", "", "", NULL),
	PART("title", "", "Stook", "", NULL),
	PART("heading", "", "Profile", "", NULL),
	PART("style", "", "<link rel=\"stylesheet\" href=\"/stook.css\">", "", NULL),
	PART("script", "", "<script src=\"/stook.js\"></script>", "", NULL),
	PART("server", "", asset_serve_html, "", NULL),
	PART("data", "", "", "", NULL),
	{NULL},
};

/*
 * Writes the part of the template that begins at `at`. Returns the text after it; NULL if none
 * does.
 */
static const char *write_part(struct page *page, const char *at, int *ret_result)
{
	const struct part *part;

	for (part = page->parts; part->begin; part++) {
		const char *end;

		if (strncmp(at, part->begin, strlen(part->begin)) != 0)
			continue;
		(void)fprintf(page->out, "%s%s%s", part->before, part->text, part->after);
		*ret_result = part->write ? part->write(page) : 0;
		end = strstr(at, part->end);
		return end ? end + strlen(part->end) : NULL;
	}
	return NULL;
}

static int write_page(struct page *page)
{
	const char *at = asset_page_html;
	int result = 0;

	while (*at && !result) {
		const char *mark = strstr(at, "<!--"), *behind;

		if (!mark)
			mark = at + strlen(at);
		(void)fwrite(at, 1, (size_t)(mark - at), page->out);
		behind = *mark ? write_part(page, mark, &result) : NULL;
		at = behind ? behind : mark;
		if (*at && !behind)
			(void)putc(*at++, page->out);
	}
	return result;
}

static void clear(struct page *page)
{
	html_words_clear(&page->words);
	html_columns_clear(&page->columns);
}

static int write_with(const struct profile *profile, const struct format_options *options,
		      FILE *out, int (*write_all)(struct page *page))
{
	cleanup(clear) struct page page = {
		.profile = profile, .options = options, .out = out, .parts = file_parts};
	int result;

	errno = 0;
	result = find_other(&page);
	if (!result)
		result = make_columns(&page);
	if (!result)
		result = write_all(&page);
	return result < 0 ? result : stream_finish(out);
}

int html_write(const struct profile *profile, const struct format_options *options, FILE *out)
{
	return write_with(profile, options, out, write_page);
}

int html_write_model(const struct profile *profile, const struct format_options *options, FILE *out)
{
	return write_with(profile, options, out, write_model);
}

int html_write_server(FILE *out)
{
	struct page page = {.out = out, .parts = server_parts};
	int result;

	errno = 0;
	result = write_page(&page);
	return result < 0 ? result : stream_finish(out);
}
