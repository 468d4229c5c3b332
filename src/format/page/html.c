/*
 * The page is page/page.html, which a browser can open as it is. What stands in it between two
 * marks, <!--NAME--> and <!--/NAME-->, is for trying it, and is replaced here.
 *
 *	policy	the Content-Security-Policy: nothing may be asked for, whatever a name contains
 *	title, heading	what was sampled, or compared
 *	style, script	page.css and the scripts
 *	data	two script elements: JSON about the profile, and the columns of numbers
 *
 * The data are trees of calls in preorder and the words that they are made of; see html_columns. A
 * profile has a tree for its count and the value that goes with it (the one before, of a
 * difference), and one for each further value.
 */
#include "format/page/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd_io.h"
#include "format/flame/compared_names.h"
#include "format/flame/flame_style.h"
#include "format/flame/svg_text.h"
#include "format/page/assets.h"
#include "format/page/html_about.h"
#include "format/page/html_columns.h"
#include "format/page/html_slices.h"
#include "format/page/html_tree.h"
#include "format/page/html_words.h"
#include "profile/profile.h"
#include "view/diff/comparison.h"
#include "view/diff/difference.h"
#include "view/flame_nodes.h"
#include "view/named_stacks.h"

/* Of all trees together: more make a page that takes seconds to open. */
#define MAX_NODES 2000000

#define POLICY                                                                                    \
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "             \
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " \
	"form-action 'none'\">"

struct page {
	const struct profile *profile;
	const struct format_options *options;
	struct html_words words;
	struct html_columns columns;
	struct html_about about;
	struct difference_scale scale;
	FILE *out;
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
		.tell_apart = true,
		.reverse = style_of(page)->reverse,
		.with_slices = with_slices,
		.other_value = other,
	};

	return named_stacks_init(stacks, page->profile, &style);
}

static struct flame_shape shape_of(const struct page *page, const struct named_stacks *stacks,
				   bool is_first)
{
	size_t nr_trees = profile_nr_values(page->profile) - (page->about.other > 0);
	struct flame_shape shape = {.max_nodes = MAX_NODES / nr_trees,
				    .flamechart = style_of(page)->flamechart};

	/* Both values count alike; in the other trees, nearly only the other one does. */
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

	page->about.nr_labels = style_of(page)->reverse ? 0 : tree->stacks->nr_labels;
	if (tree->nr_rests && root->width > 0)
		page->about.least_share = tree->nodes->least_width / root->width;
	if (!result && has_slices)
		result = html_slices_put(page->profile, tree, &page->columns);
	if (!result && tree->nr_rests)
		result = html_words_add_totals(&page->words);
	return result;
}

/* The tree of the count, or of one of the further values. */
static int put_tree(struct page *page, size_t value)
{
	cleanup(named_stacks_clear) struct named_stacks stacks = {0};
	cleanup(flame_nodes_clear) struct flame_nodes nodes = {0};
	cleanup(html_tree_clear) struct html_tree tree = {
		.stacks = &stacks,
		.nodes = &nodes,
		.number = html_about_tree(&page->about, value),
		.has_count = !value,
		.has_other = value || page->about.other,
	};
	bool with_slices = !value && profile_nr_slices(page->profile) > 0;
	struct flame_shape shape;

	if (name_stacks(page, value ? value : page->about.other, with_slices, &stacks) < 0)
		return -ENOMEM;
	shape = shape_of(page, &stacks, !value);
	if (flame_nodes_init(&nodes, &stacks, &shape) < 0)
		return -ENOMEM;
	return value ? html_tree_put(&tree, &page->words, &page->columns)
		     : put_first_tree(page, &tree);
}

/* Which value goes with the count, and whether the two are compared. 0 or -ENOMEM. */
static int find_other(struct page *page)
{
	static const struct comparison_style by_default;
	const struct comparison_style *style = page->options->comparison;
	size_t before = comparison_value(page->profile);

	page->about.other = before ? before : profile_nr_values(page->profile) > 1;
	if (!before)
		return 0;
	page->about.scale = &page->scale;
	return comparison_scale(&page->scale, page->profile, style ? style : &by_default);
}

static int make_columns(struct page *page)
{
	size_t value;
	int result = html_words_init(&page->words, page->profile, page->options->categories);

	if (!result)
		result = put_tree(page, 0);
	for (value = 1; value < profile_nr_values(page->profile) && !result; value++)
		if (value != page->about.other)
			result = put_tree(page, value);
	if (!result)
		html_words_put(&page->words, &page->columns);
	return page->columns.failed ? -ENOMEM : result;
}

/* --- the page -------------------------------------------------------------------------------- */

static int write_policy(struct page *page)
{
	(void)fputs(POLICY, page->out);
	return 0;
}

static int write_title(struct page *page)
{
	const struct comparison_style *compared = page->options->comparison;
	const char *title = style_of(page)->title;
	uint32_t event = profile_origin(page->profile)->event;

	if (title) {
		svg_text(page->out, title);
		return 0;
	}
	(void)fputs(page->about.scale ? "Difference" : "Profile", page->out);
	if (page->about.scale && compared_names_known(compared)) {
		(void)fputs(": ", page->out);
		compared_names_write(compared, page->out);
	} else if (event) {
		(void)fputs(": ", page->out);
		svg_text(page->out, profile_string(page->profile, event));
	}
	return 0;
}

static int write_style(struct page *page)
{
	(void)fprintf(page->out, "<style>\n%s</style>", asset_page_css);
	return 0;
}

static int write_script(struct page *page)
{
	(void)fprintf(page->out, "<script>\n%s</script>", asset_page_js);
	return 0;
}

static int write_data(struct page *page)
{
	int result;

	result = stream_finish(page->out); /* what follows has errors of its own */
	if (result < 0)
		return result;
	(void)fputs("<script type=\"application/json\" id=\"about\">", page->out);
	result = html_about_write(&page->about, page->out);
	(void)fputs("</script>\n<script type=\"text/plain\" id=\"data\">", page->out);
	if (!result)
		result = html_columns_write(&page->columns, page->out);
	(void)fputs("</script>", page->out);
	return result;
}

static const struct part {
	const char *begin, *end;
	int (*write)(struct page *page);
} parts[] = {
	{"<!--policy-->", "<!--/policy-->", write_policy},
	{"<!--title-->", "<!--/title-->", write_title},
	{"<!--heading-->", "<!--/heading-->", write_title},
	{"<!--style-->", "<!--/style-->", write_style},
	{"<!--script-->", "<!--/script-->", write_script},
	{"<!--data-->", "<!--/data-->", write_data},
};

/* Behind the part of the template that begins here; NULL: none does. */
static const char *write_part(struct page *page, const char *at, int *ret_result)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct part *part = &parts[i];
		const char *end;

		if (strncmp(at, part->begin, strlen(part->begin)) != 0)
			continue;
		*ret_result = part->write(page);
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

int html_write(const struct profile *profile, const struct format_options *options, FILE *out)
{
	cleanup(clear) struct page page = {.profile = profile, .options = options, .out = out};
	int result;

	page.about = (struct html_about){
		.profile = profile, .options = options, .columns = &page.columns};
	errno = 0;
	result = find_other(&page);
	if (!result)
		result = make_columns(&page);
	if (!result)
		result = write_page(&page);
	return result < 0 ? result : stream_finish(out);
}
