/*
 * The words, trees and slices of a page, and their conversion to columns.
 *
 * A function is identified by its name and its home (view/homes.h); a function without a name is
 * identified by its module. A tree is made in one pass over the flame graph's nodes, which are in
 * the page's order already. Open nodes are on a stack with the sum of their children, so that the
 * omitted rest is known when a node is closed.
 *
 * Columns are in memory until all are complete, since their list precedes them in the page. They
 * are written through gzip and base64, which encodes three bytes as four characters; browsers can
 * decode both without code in the page.
 */
#include "format/page/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "format/gzip.h"
#include "view/categories.h"

#define REST_TEXT	 "(left out)"
#define NUMBER_MAX_BYTES 10

/* --- columns ---------------------------------------------------------------------------------- */

size_t html_columns_add(struct html_columns *columns, const char *name)
{
	struct html_column *column;

	if (columns->failed || array_reserve(&columns->columns, &columns->cap, columns->nr + 1,
					     sizeof(*columns->columns)) < 0) {
		columns->failed = true;
		return 0;
	}
	column = &columns->columns[columns->nr];
	*column = (struct html_column){0};
	(void)snprintf(column->name, sizeof(column->name), "%s", name);
	return columns->nr++;
}

size_t html_columns_add_of_tree(struct html_columns *columns, size_t tree, const char *name)
{
	char full[HTML_COLUMN_NAME_BYTES];

	(void)snprintf(full, sizeof(full), "tree%zu.%s", tree, name);
	return html_columns_add(columns, full);
}

static struct html_column *reserve(struct html_columns *columns, size_t number, size_t nr)
{
	struct html_column *column;

	if (columns->failed)
		return NULL;
	column = &columns->columns[number];
	if (array_reserve(&column->bytes, &column->cap_bytes, column->nr_bytes + nr, 1) == 0)
		return column;
	columns->failed = true;
	return NULL;
}

void html_columns_put(struct html_columns *columns, size_t number, uint64_t value)
{
	struct html_column *column = reserve(columns, number, NUMBER_MAX_BYTES);

	if (!column)
		return;
	for (; value > 0x7f; value >>= 7)
		column->bytes[column->nr_bytes++] = (uint8_t)(value | 0x80);
	column->bytes[column->nr_bytes++] = (uint8_t)value;
	column->nr++;
}

void html_columns_put_bytes(struct html_columns *columns, size_t number, const void *bytes,
			    size_t nr)
{
	struct html_column *column = reserve(columns, number, nr);

	if (!column || !nr)
		return;
	memcpy(column->bytes + column->nr_bytes, bytes, nr);
	column->nr_bytes += nr;
}

void html_columns_write_list(const struct html_columns *columns, FILE *out)
{
	size_t i;

	(void)putc('[', out);
	for (i = 0; i < columns->nr; i++) {
		const struct html_column *column = &columns->columns[i];

		(void)fprintf(out, "%s[\"%s\",%zu,%zu]", i ? "," : "", column->name, column->nr,
			      column->nr_bytes);
	}
	(void)putc(']', out);
}

/* --- base64 ---------------------------------------------------------------------------------- */

/* A stream that encodes what is written and passes it on. */
struct base64 {
	FILE *out;
	uint8_t kept[3]; /* bytes of an incomplete group of three */
	size_t nr_kept;
};

static void write_group(struct base64 *base64)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *kept = base64->kept;
	uint32_t bits = (uint32_t)kept[0] << 16 | (uint32_t)kept[1] << 8 | kept[2];
	char text[4];
	size_t i;

	for (i = 0; i < 4; i++)
		text[i] = i <= base64->nr_kept ? digits[bits >> (18 - 6 * i) & 63] : '=';
	(void)fwrite(text, 1, 4, base64->out);
	memset(base64->kept, 0, sizeof(base64->kept));
	base64->nr_kept = 0;
}

static ssize_t base64_write(void *cookie, const char *bytes, size_t nr)
{
	struct base64 *base64 = cookie;
	size_t i;

	for (i = 0; i < nr; i++) {
		base64->kept[base64->nr_kept++] = (uint8_t)bytes[i];
		if (base64->nr_kept == sizeof(base64->kept))
			write_group(base64);
	}
	/* An error of the inner stream makes the outer one fail with the same errno. */
	return ferror(base64->out) ? 0 : (ssize_t)nr;
}

static int base64_close(void *cookie)
{
	struct base64 *base64 = cookie;

	if (base64->nr_kept)
		write_group(base64);
	return 0;
}

int html_columns_write(const struct html_columns *columns, FILE *out)
{
	struct base64 base64 = {.out = out};
	cleanup_file FILE *stream =
		fopencookie(&base64, "w",
			    (cookie_io_functions_t){.write = base64_write, .close = base64_close});
	struct gzip_writer *gzip;
	int result = 0;
	size_t i;

	if (columns->failed || !stream)
		return -ENOMEM;
	gzip = gzip_writer_new(stream);
	if (!gzip)
		return -ENOMEM;
	for (i = 0; i < columns->nr && !result; i++)
		result = gzip_write(gzip, columns->columns[i].bytes, columns->columns[i].nr_bytes);
	if (!result)
		result = gzip_finish(gzip);
	gzip_writer_free(gzip);
	return result;
}

void html_columns_clear(struct html_columns *columns)
{
	size_t i;

	for (i = 0; i < columns->nr; i++)
		free(columns->columns[i].bytes);
	free(columns->columns);
	*columns = (struct html_columns){0};
}

/* --- functions ------------------------------------------------------------------------------- */

static int64_t add_function(struct html_words *words, const struct html_function *function)
{
	uint64_t hash = hash_u64((uint64_t)function->name << 32 | function->module);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&words->function_index, hash, &probe, &number))
		if (words->functions[number].name == function->name &&
		    words->functions[number].module == function->module)
			return number;
	if (number_index_reserve(&words->function_index) < 0 ||
	    array_reserve(&words->functions, &words->cap_functions, words->nr_functions + 1,
			  sizeof(*words->functions)) < 0)
		return -ENOMEM;
	number_index_add(&words->function_index, hash, (uint32_t)words->nr_functions);
	words->functions[words->nr_functions] = *function;
	return (int64_t)words->nr_functions++;
}

/* Returns the text for a function without a name, the same as in named stacks with show_modules. */
static int64_t no_name(struct html_words *words, uint32_t module, enum frame_kind kind)
{
	const char *text = named_stacks_no_name(words->profile, module);
	cleanup_free char *full = NULL;

	if (kind == FRAME_KERNEL || profile_module(words->profile, module)->kind == MODULE_UNKNOWN)
		return strings_add(words->texts, text);
	if (asprintf(&full, "%s (%s)", text, profile_module_name(words->profile, module)) < 0) {
		full = NULL;
		return -ENOMEM;
	}
	return strings_add(words->texts, full);
}

/* name: string in the profile; 0: none. Returns the function's number, or -ENOMEM. */
static int64_t function_of(struct html_words *words, uint32_t name, uint32_t module,
			   enum frame_kind kind)
{
	struct html_function function = {.module = module};
	const char *text = profile_string(words->profile, name);
	int64_t number = name ? strings_add(words->texts, text) : no_name(words, module, kind);

	if (number < 0)
		return number;
	function.name = (uint32_t)number;
	if (words->categories && name)
		function.category = (uint8_t)categories_of_function(
			words->categories, text, profile_module_name(words->profile, module), kind);
	return add_function(words, &function);
}

/* --- words ----------------------------------------------------------------------------------- */

static int64_t add_word(struct html_words *words, const struct html_word *word)
{
	uint64_t hash = hash_add((uint64_t)word->text << 32 | word->function, word->kind);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&words->word_index, hash, &probe, &number)) {
		const struct html_word *known = &words->words[number];

		if (known->text == word->text && known->function == word->function &&
		    known->kind == word->kind)
			return number;
	}
	if (number_index_reserve(&words->word_index) < 0 ||
	    array_reserve(&words->words, &words->cap_words, words->nr_words + 1,
			  sizeof(*words->words)) < 0)
		return -ENOMEM;
	number_index_add(&words->word_index, hash, (uint32_t)words->nr_words);
	words->words[words->nr_words] = *word;
	return (int64_t)words->nr_words++;
}

int64_t html_words_add(struct html_words *words, const struct named_stacks *stacks, uint32_t number)
{
	const struct word_info *info = named_stacks_info(stacks, number);
	int64_t text = strings_add(words->texts, named_stacks_word(stacks, number));
	struct html_word word = {.kind = (uint8_t)info->kind};
	int64_t function;

	if (text < 0)
		return text;
	word.text = (uint32_t)text;
	if (info->kind != WORD_LABEL && info->kind != WORD_MISSED) {
		function = function_of(words, info->function, info->module,
				       info->kind == WORD_KERNEL ? FRAME_KERNEL : FRAME_USER);
		if (function < 0)
			return function;
		word.function = (uint32_t)function + 1;
	}
	return add_word(words, &word);
}

/* --- the words of a page --------------------------------------------------------------------- */

int html_words_init(struct html_words *words, const struct profile *profile,
		    const struct categories *categories)
{
	struct html_word rest = {.kind = NR_WORD_KINDS};
	int64_t text;

	*words = (struct html_words){.profile = profile, .categories = categories};
	words->texts = strings_new();
	text = words->texts ? strings_add(words->texts, REST_TEXT) : -ENOMEM;
	if (text >= 0 && homes_init(&words->homes, profile) < 0)
		text = -ENOMEM;
	rest.text = (uint32_t)text;
	if (text < 0 || add_word(words, &(struct html_word){.kind = WORD_LABEL}) < 0 ||
	    add_word(words, &rest) < 0) {
		html_words_clear(words);
		return -ENOMEM;
	}
	return 0;
}

void html_words_clear(struct html_words *words)
{
	homes_clear(&words->homes);
	strings_free(words->texts);
	free(words->functions);
	number_index_clear(&words->function_index);
	free(words->words);
	number_index_clear(&words->word_index);
	*words = (struct html_words){0};
}

int html_words_add_totals(struct html_words *words)
{
	cleanup(function_totals_clear) struct function_totals totals = {0};
	size_t i;

	if (function_totals_init(&totals, words->profile) < 0)
		return -ENOMEM;
	words->has_totals = true;
	for (i = 0; i < totals.nr; i++) {
		const struct function_total *total = &totals.functions[i];
		uint32_t home = homes_find(&words->homes, total->module, total->name);
		int64_t function = function_of(words, total->name, home, total->kind);

		if (function < 0)
			return (int)function;
		words->functions[function].self += total->self;
		words->functions[function].total += total->total;
	}
	return 0;
}

/* --- columns of words ------------------------------------------------------------------------ */

static void put_texts(const struct html_words *words, struct html_columns *columns)
{
	size_t column = html_columns_add(columns, "texts");
	uint32_t i;

	for (i = 0; i < strings_nr(words->texts); i++) {
		const char *text = strings_get(words->texts, i);

		/* NUL-separated. */
		html_columns_put_bytes(columns, column, "", i > 0);
		html_columns_put_bytes(columns, column, text, strlen(text));
	}
}

static void put_modules(const struct html_words *words, struct html_columns *columns)
{
	size_t column = html_columns_add(columns, "modules");
	uint32_t i;

	for (i = 0; i < profile_nr_modules(words->profile); i++) {
		int64_t text = 0;

		if (profile_module(words->profile, i)->kind != MODULE_UNKNOWN)
			text = strings_add(words->texts, profile_module_name(words->profile, i));
		if (text < 0)
			columns->failed = true;
		html_columns_put(columns, column, text < 0 ? 0 : (uint64_t)text);
	}
}

static void put_functions(const struct html_words *words, struct html_columns *columns)
{
	size_t name = html_columns_add(columns, "function.name");
	size_t module = html_columns_add(columns, "function.module");
	size_t category = html_columns_add(columns, "function.category");
	size_t self = 0, total = 0, i;

	if (words->has_totals) {
		self = html_columns_add(columns, "function.self");
		total = html_columns_add(columns, "function.total");
	}
	for (i = 0; i < words->nr_functions; i++) {
		const struct html_function *function = &words->functions[i];

		html_columns_put(columns, name, function->name);
		html_columns_put(columns, module, function->module);
		html_columns_put(columns, category, function->category);
		if (!words->has_totals)
			continue;
		html_columns_put(columns, self, function->self);
		html_columns_put(columns, total, function->total);
	}
}

void html_words_put(const struct html_words *words, struct html_columns *columns)
{
	size_t text, kind, function, i;

	put_modules(words, columns); /* first, since it adds texts */
	put_texts(words, columns);
	put_functions(words, columns);
	text = html_columns_add(columns, "word.text");
	kind = html_columns_add(columns, "word.kind");
	function = html_columns_add(columns, "word.function");
	for (i = 0; i < words->nr_words; i++) {
		html_columns_put(columns, text, words->words[i].text);
		html_columns_put(columns, kind, words->words[i].kind);
		html_columns_put(columns, function, words->words[i].function);
	}
}

/* --- trees ----------------------------------------------------------------------------------- */

struct open_node {
	const struct flame_node *node;
	uint32_t number;		   /* in the page */
	uint64_t children, other_children; /* sums over the children so far */
};

struct pass {
	struct html_tree *tree;
	struct html_columns *columns;
	size_t up, word, self, other; /* numbers of columns */
	struct open_node *open;
	size_t nr_open, cap_open;
	size_t last_depth;
};

/* Adds a node, so far without children, as a child of the innermost open node. */
static int put_node(struct pass *pass, uint32_t word, uint64_t self, uint64_t other)
{
	struct html_tree *tree = pass->tree;
	size_t depth = pass->nr_open;

	if (array_reserve(&tree->parents, &tree->cap, tree->nr + 1, sizeof(*tree->parents)) < 0 ||
	    array_reserve(&tree->words, &tree->cap_words, tree->nr + 1, sizeof(*tree->words)) < 0)
		return -ENOMEM;
	tree->parents[tree->nr] = depth ? pass->open[depth - 1].number : 0;
	tree->words[tree->nr++] = word;
	html_columns_put(pass->columns, pass->up, depth ? pass->last_depth + 1 - depth : 0);
	html_columns_put(pass->columns, pass->word, word);
	if (tree->has_count)
		html_columns_put(pass->columns, pass->self, self);
	if (tree->has_other)
		html_columns_put(pass->columns, pass->other, other);
	pass->last_depth = depth;
	return 0;
}

/* Closes all open nodes at this depth or deeper. */
static int close_nodes(struct pass *pass, size_t depth)
{
	while (pass->nr_open > depth) {
		const struct open_node *open = &pass->open[pass->nr_open - 1];
		const struct flame_node *node = open->node;
		uint64_t rest = node->count - node->self - open->children;
		uint64_t other = node->other - node->other_self - open->other_children;

		if (rest || other) {
			if (put_node(pass, HTML_WORD_REST, rest, other) < 0)
				return -ENOMEM;
			pass->tree->nr_rests++;
		}
		pass->nr_open--;
		if (!pass->nr_open)
			break;
		pass->open[pass->nr_open - 1].children += node->count;
		pass->open[pass->nr_open - 1].other_children += node->other;
	}
	return 0;
}

static int open_node(struct pass *pass, const struct flame_node *node)
{
	struct html_tree *tree = pass->tree;
	uint32_t number = (uint32_t)tree->nr;

	if (close_nodes(pass, node->depth) < 0 ||
	    put_node(pass, tree->word_of[node->word], node->self, node->other_self) < 0 ||
	    array_reserve(&pass->open, &pass->cap_open, pass->nr_open + 1, sizeof(*pass->open)) < 0)
		return -ENOMEM;
	pass->open[pass->nr_open++] = (struct open_node){.node = node, .number = number};
	return 0;
}

/* Maps the stacks' words to words of the page, in the order of the nodes; the root is word 0. */
static int map_words(struct html_tree *tree, struct html_words *words)
{
	size_t i;

	tree->word_of = calloc(tree->stacks->nr_words + 1, sizeof(*tree->word_of));
	if (!tree->word_of)
		return -ENOMEM;
	for (i = 0; i < tree->nodes->nr; i++) {
		uint32_t word = tree->nodes->nodes[i].word;
		int64_t number;

		if (!word || tree->word_of[word])
			continue;
		number = html_words_add(words, tree->stacks, word);
		if (number < 0)
			return (int)number;
		tree->word_of[word] = (uint32_t)number;
	}
	return 0;
}

int html_tree_put(struct html_tree *tree, struct html_words *words, struct html_columns *columns)
{
	struct pass pass = {.tree = tree, .columns = columns};
	int result = 0;
	size_t i;

	if (map_words(tree, words) < 0)
		return -ENOMEM;
	pass.up = html_columns_add_of_tree(columns, tree->number, "up");
	pass.word = html_columns_add_of_tree(columns, tree->number, "word");
	if (tree->has_count)
		pass.self = html_columns_add_of_tree(columns, tree->number, "self");
	if (tree->has_other)
		pass.other = html_columns_add_of_tree(columns, tree->number, "other");
	for (i = 0; i < tree->nodes->nr && !result; i++)
		result = open_node(&pass, &tree->nodes->nodes[i]);
	if (!result)
		result = close_nodes(&pass, 0);
	free(pass.open);
	return result;
}

void html_tree_clear(struct html_tree *tree)
{
	free(tree->word_of);
	free(tree->parents);
	free(tree->words);
	*tree = (struct html_tree){0};
}

struct slice_count {
	uint32_t node;
	uint32_t slice;
	uint64_t count;
};

struct slices {
	const struct profile *profile;
	const struct html_tree *tree;
	struct u64_map children; /* parent << 32 | word -> node */
	uint32_t *node_of;	 /* stack -> node */
	uint32_t *place_of;	 /* slice -> its position in time */
	uint32_t *in_order;	 /* slices sorted by time */
	struct slice_count *counts;
	size_t nr_counts;
};

/* --- slices ---------------------------------------------------------------------------------- */

/*
 * The profile has counts by stack and slice, the page has nodes: each stack is followed down the
 * tree to the node where it ends, or to the node for omitted calls on its way. The counts are then
 * sorted by node and slice.
 *
 * The page's slices are sorted by time, from 0; samples without a slice are omitted.
 */

static int compare_starts(const void *a, const void *b, void *context)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
	struct time_slice slice = profile_slice(context, one);
	struct time_slice other_slice = profile_slice(context, other);

	if (slice.start_ns != other_slice.start_ns)
		return slice.start_ns < other_slice.start_ns ? -1 : 1;
	return (one > other) - (one < other);
}

static int order_slices(struct slices *slices)
{
	size_t nr = profile_nr_slices(slices->profile);
	uint32_t i;

	slices->place_of = calloc(nr + 1, sizeof(*slices->place_of));
	slices->in_order = calloc(nr + 1, sizeof(*slices->in_order));
	if (!slices->place_of || !slices->in_order)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		slices->in_order[i] = i + 1;
	qsort_r(slices->in_order, nr, sizeof(*slices->in_order), compare_starts,
		(void *)slices->profile);
	for (i = 0; i < nr; i++)
		slices->place_of[slices->in_order[i]] = i;
	return 0;
}

static void put_slices(const struct slices *slices, struct html_columns *columns)
{
	size_t start = html_columns_add(columns, "slice.start");
	size_t length = html_columns_add(columns, "slice.length");
	uint64_t last = 0;
	size_t i;

	for (i = 0; i < profile_nr_slices(slices->profile); i++) {
		struct time_slice slice = profile_slice(slices->profile, slices->in_order[i]);

		html_columns_put(columns, start, i ? slice.start_ns - last : 0);
		html_columns_put(columns, length,
				 slice.end_ns > slice.start_ns ? slice.end_ns - slice.start_ns : 0);
		last = slice.start_ns;
	}
}

/* --- slices: nodes of stacks ----------------------------------------------------------------- */

static uint64_t child_key(uint32_t parent, uint32_t word)
{
	return (uint64_t)parent << 32 | word;
}

static uint32_t find_node(const struct slices *slices, uint32_t stack)
{
	const struct html_tree *tree = slices->tree;
	size_t nr, i;
	const uint32_t *words = named_stacks_get(tree->stacks, stack, &nr);
	uint32_t node = 0;

	for (i = 0; i < nr; i++) {
		uint32_t word = tree->word_of[words[i]];
		const uint64_t *child = NULL;

		if (word) /* the word occurs in the tree */
			child = u64_map_find(&slices->children, child_key(node, word));
		if (!child)
			child = u64_map_find(&slices->children, child_key(node, HTML_WORD_REST));
		if (!child)
			break; /* the stack has no count */
		node = (uint32_t)*child;
		if (tree->words[node] == HTML_WORD_REST)
			break;
	}
	return node;
}

static int find_nodes(struct slices *slices)
{
	const struct html_tree *tree = slices->tree;
	size_t nr = named_stacks_nr(tree->stacks);
	uint32_t i;

	slices->node_of = calloc(nr + 1, sizeof(*slices->node_of));
	if (!slices->node_of)
		return -ENOMEM;
	for (i = 1; i < tree->nr; i++)
		if (u64_map_set(&slices->children, child_key(tree->parents[i], tree->words[i]), i))
			return -ENOMEM;
	for (i = 0; i < nr; i++)
		slices->node_of[i] = find_node(slices, i);
	u64_map_clear(&slices->children);
	return 0;
}

/* --- slices: counts -------------------------------------------------------------------------- */

static int compare_counts(const void *a, const void *b)
{
	const struct slice_count *one = a, *other = b;

	if (one->node != other->node)
		return one->node < other->node ? -1 : 1;
	return (one->slice > other->slice) - (one->slice < other->slice);
}

static int collect_counts(struct slices *slices)
{
	const struct u64_map *by_stack = &slices->tree->stacks->slices;
	const struct u64_map_slot *slot;
	size_t i;

	slices->counts = calloc(by_stack->nr + 1, sizeof(*slices->counts));
	if (!slices->counts)
		return -ENOMEM;
	for (i = 0; (slot = u64_map_next(by_stack, &i));) {
		uint32_t number = (uint32_t)slot->key;

		if (number && slot->value)
			slices->counts[slices->nr_counts++] = (struct slice_count){
				.node = slices->node_of[slot->key >> 32],
				.slice = slices->place_of[number],
				.count = slot->value,
			};
	}
	qsort(slices->counts, slices->nr_counts, sizeof(*slices->counts), compare_counts);
	return 0;
}

/* Adds up counts of the same node and slice: several omitted stacks share a node. */
static void add_up_counts(struct slices *slices)
{
	size_t nr = 0, i;

	for (i = 0; i < slices->nr_counts; i++) {
		if (nr && !compare_counts(&slices->counts[nr - 1], &slices->counts[i]))
			slices->counts[nr - 1].count += slices->counts[i].count;
		else
			slices->counts[nr++] = slices->counts[i];
	}
	slices->nr_counts = nr;
}

static void put_counts(const struct slices *slices, struct html_columns *columns)
{
	size_t nr_column = html_columns_add(columns, "node.slices");
	size_t step = html_columns_add(columns, "node.slice");
	size_t count = html_columns_add(columns, "node.count");
	size_t at = 0, first;
	uint32_t node, last;

	for (node = 0; node < slices->tree->nr; node++) {
		last = 0;
		for (first = at; at < slices->nr_counts && slices->counts[at].node == node; at++) {
			html_columns_put(columns, step, slices->counts[at].slice - last);
			html_columns_put(columns, count, slices->counts[at].count);
			last = slices->counts[at].slice;
		}
		html_columns_put(columns, nr_column, at - first);
	}
}

/* --- slices: output -------------------------------------------------------------------------- */

static void slices_clear(struct slices *slices)
{
	u64_map_clear(&slices->children);
	free(slices->node_of);
	free(slices->place_of);
	free(slices->in_order);
	free(slices->counts);
}

int html_slices_put(const struct profile *profile, const struct html_tree *tree,
		    struct html_columns *columns)
{
	cleanup(slices_clear) struct slices slices = {.profile = profile, .tree = tree};

	if (order_slices(&slices) < 0 || find_nodes(&slices) < 0 || collect_counts(&slices) < 0)
		return -ENOMEM;
	add_up_counts(&slices);
	put_slices(&slices, columns);
	put_counts(&slices, columns);
	return 0;
}
