/*
 * format/page/html: the page's columns, decoded as page/js/decode.js does it. The page in a browser
 * is tested by tests/browser/html.mjs.
 */
#include "format/page/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/flame/flame.h"
#include "format/gzip.h"
#include "profile/profile.h"
#include "unit/make_profile.h"
#include "unit/test.h"
#include "view/categories.h"

#define MAX_BYTES (1 << 20)

struct page {
	char *text;
	char *about;	/* JSON */
	uint8_t *bytes; /* all columns */
};

/* --- reading a page back --------------------------------------------------------------------- */

static char *write_page(const struct profile *profile, const struct format_options *options)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(html_write(profile, options, out), 0);
	(void)fclose(out);
	return text;
}

/* Returns the text between the element with this id and the next tag. */
static char *element(const char *text, const char *id)
{
	const char *begin = strstr(text, id), *end;

	CHECK(begin != NULL);
	begin += strlen(id);
	end = strchr(begin, '<');
	CHECK(end != NULL);
	return strndup(begin, (size_t)(end - begin));
}

static uint32_t digit_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(digits, c);

	CHECK(c && at);
	return (uint32_t)(at - digits);
}

static FILE *from_base64(const char *text)
{
	FILE *file = tmpfile();
	uint32_t bits = 0;
	size_t i;

	CHECK(file && strlen(text) % 4 == 0);
	for (i = 0; text[i] && text[i] != '='; i++) {
		bits = bits << 6 | digit_of(text[i]);
		if (i % 4)
			(void)putc((int)(bits >> (6 - 2 * (i % 4)) & 0xff), file);
	}
	rewind(file);
	return file;
}

static struct page read_page(const struct profile *profile, const struct format_options *options)
{
	struct page page = {.text = write_page(profile, options)};
	cleanup_free char *base64 = element(page.text, "id=\"data\">");
	cleanup_file FILE *file = from_base64(base64);
	size_t nr;

	page.about = element(page.text, "id=\"about\">");
	CHECK_EQ(gzip_read(file, MAX_BYTES, &page.bytes, &nr), 0);
	return page;
}

static void page_free(struct page *page)
{
	free(page->text);
	free(page->about);
	free(page->bytes);
}

/* Finds a column's offset and size; returns false if there is none of that name. */
static bool find_column(const struct page *page, const char *name, size_t *ret_at, size_t *ret_nr)
{
	const char *at = strstr(page->about, "\"columns\":[") + strlen("\"columns\":[");
	size_t begin = 0, numbers, bytes;
	char found[64];

	while (sscanf(at, "[\"%63[^\"]\",%zu,%zu]", found, &numbers, &bytes) == 3) {
		if (!strcmp(found, name)) {
			*ret_at = begin;
			*ret_nr = bytes;
			return true;
		}
		begin += bytes;
		at = strchr(at, ']') + 1;
		at += *at == ',';
	}
	return false;
}

/* Returns a column's numbers as "1 2 300 ". */
static char *column(const struct page *page, const char *name)
{
	size_t at, nr, i;
	uint64_t number = 0;
	unsigned shift = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &i);

	CHECK(find_column(page, name, &at, &nr));
	for (i = at; i < at + nr; i++) {
		number |= (uint64_t)(page->bytes[i] & 0x7f) << shift;
		shift += 7;
		if (page->bytes[i] & 0x80)
			continue;
		(void)fprintf(out, "%llu ", (unsigned long long)number);
		number = shift = 0;
	}
	(void)fclose(out);
	return text;
}

static void check_column(const struct page *page, const char *name, const char *wanted)
{
	cleanup_free char *text = column(page, name);

	CHECK_STR(text, wanted);
}

/* Compares the texts, joined by bars. */
static void check_texts(const struct page *page, const char *wanted)
{
	cleanup_free char *text = NULL;
	size_t at, nr, i;

	CHECK(find_column(page, "texts", &at, &nr));
	text = calloc(nr + 1, 1);
	for (i = 0; i < nr; i++)
		text[i] = page->bytes[at + i] ? (char)page->bytes[at + i] : '|';
	CHECK_STR(text, wanted);
}

/* --- tests ----------------------------------------------------------------------------------- */

TEST(html_has_the_tree_in_preorder)
{
	const struct format_options options = {.labels = LABEL_COMM};
	struct profile *profile = make_profile("b;main;zeta 300\n"
					       "a;main;alpha;sys_read_[k] 4\n"
					       "a;main 5\n");
	struct page page = read_page(profile, &options);

	check_texts(&page, "|(left out)|a|main|alpha|sys_read|b|zeta|[kernel]|app");
	/* all, a, main, alpha, sys_read, b, main, zeta */
	check_column(&page, "tree0.up", "0 0 0 0 0 4 0 0 ");
	check_column(&page, "tree0.word", "0 2 3 4 5 6 3 7 ");
	check_column(&page, "tree0.self", "0 0 5 0 4 0 0 300 ");
	check_column(&page, "word.text", "0 1 2 3 4 5 6 7 ");
	check_column(&page, "word.kind", "0 6 0 1 1 2 0 1 ");
	check_column(&page, "word.function", "0 0 0 1 2 3 0 4 ");
	check_column(&page, "function.name", "3 4 5 7 ");
	check_column(&page, "function.module", "2 2 1 2 ");
	CHECK(strstr(page.about, "\"nr_labels\":1,") != NULL);
	page_free(&page);
	profile_free(profile);
}

TEST(html_has_no_markup_of_others)
{
	struct flame_style style = {.title = "</title><script>x</script>"};
	const struct format_options options = {.labels = LABEL_COMM, .flame = &style};
	struct profile *profile = make_profile("<!--data-->;</script>;\xff\x01 3\n");
	struct page page;

	CHECK_EQ(profile_add_comment(profile, "</script><b>&amp;"), 0);
	page = read_page(profile, &options);
	CHECK(strstr(page.about, "\\u003c/script\\u003e\\u003cb\\u003e\\u0026amp;") != NULL);
	CHECK(strstr(page.text, "<title>&lt;/title&gt;&lt;script&gt;") != NULL);
	CHECK(strstr(page.text, "<script>x") == NULL);
	CHECK(strstr(page.text, "<b>") == NULL);
	page_free(&page);
	profile_free(profile);
}

TEST(html_asks_for_nothing)
{
	const struct format_options options = {0};
	struct profile *profile = make_profile("a;b 1\n");
	cleanup_free char *text = write_page(profile, &options);

	CHECK(strstr(text, "content=\"default-src 'none'; script-src 'unsafe-inline';") != NULL);
	CHECK(strstr(text, "http:") == NULL);
	CHECK(strstr(text, "https:") == NULL);
	CHECK(strstr(text, "src=") == NULL);
	CHECK(strstr(text, "demo.js") == NULL);
	CHECK(strstr(text, "<!--") == NULL);
	profile_free(profile);
}

TEST(html_has_counts_by_slice)
{
	const struct format_options options = {0};
	const struct time_slice late = {2000, 3000}, early = {1000, 1500};
	struct profile *profile = profile_new();
	struct page page;

	CHECK_EQ(profile_add_slice(profile, &late), 1);
	CHECK_EQ(profile_add_slice(profile, &early), 2);
	(void)make_labelled(profile, (struct sample_labels){.slice = 1}, "t;a;b 7");
	(void)make_labelled(profile, (struct sample_labels){.slice = 2}, "t;a;b 5");
	(void)make_labelled(profile, (struct sample_labels){.slice = 1}, "t;a 1");
	(void)make_labelled(profile, (struct sample_labels){0}, "t;a 9");
	page = read_page(profile, &options);
	check_column(&page, "tree0.self", "0 10 12 ");
	check_column(&page, "slice.start", "0 1000 ");
	check_column(&page, "slice.length", "500 1000 ");
	check_column(&page, "node.slices", "0 1 2 ");
	check_column(&page, "node.slice", "1 0 1 ");
	check_column(&page, "node.count", "1 5 7 ");
	page_free(&page);
	profile_free(profile);
}

static void add_value(struct profile *profile, const char *type, int64_t sample, uint64_t amount)
{
	struct value_type value = {0};
	int number;

	value.type = (uint32_t)profile_add_string(profile, type);
	value.unit = (uint32_t)profile_add_string(profile, "bytes");
	number = profile_add_value_type(profile, &value);
	CHECK(number > 0);
	CHECK_EQ(profile_add_value(profile, (uint32_t)sample, (size_t)number, amount), 0);
}

TEST(html_has_each_value)
{
	const struct format_options options = {0};
	struct profile *profile = profile_new();
	int64_t sample = make_sample(profile, "t;a;b 7"), other = make_sample(profile, "t;c 0");
	struct page page;

	add_value(profile, "one", sample, 70);
	add_value(profile, "two", sample, 0);
	add_value(profile, "two", other, 5);
	page = read_page(profile, &options);
	check_column(&page, "tree0.self", "0 0 7 ");
	check_column(&page, "tree0.other", "0 0 70 ");
	check_column(&page, "tree1.other", "0 0 0 5 ");
	CHECK(strstr(page.about, "{\"type\":\"two\",\"unit\":\"bytes\",\"total\":5,\"tree\":1,"
				 "\"column\":\"other\"}") != NULL);
	page_free(&page);
	profile_free(profile);
}

TEST(html_has_categories)
{
	static const char table[] = "copies: memcpy*\nsleep: *sleep*\n";
	struct categories *categories = categories_parse(table, strlen(table), NULL);
	const struct format_options options = {.categories = categories};
	struct profile *profile = make_profile("t;main;nanosleep 1\nt;main;memcpy_fast 2\n");
	struct page page;

	CHECK(categories != NULL);
	page = read_page(profile, &options);
	/* main, memcpy_fast, nanosleep */
	check_column(&page, "function.category", "0 1 2 ");
	CHECK(strstr(page.about, "\"categories\":[\"other\",\"copies\",\"sleep\"],") != NULL);
	page_free(&page);
	profile_free(profile);
	categories_free(categories);
}

TEST(html_tells_what_is_compared)
{
	const struct format_options options = {0};
	struct profile *profile = profile_new();
	int64_t sample = make_sample(profile, "t;a;b 8");
	struct page page;

	add_value(profile, "before", sample, 4);
	page = read_page(profile, &options);
	CHECK(strstr(page.about, "\"difference\":{\"value\":1,\"by_time\":false,\"before\":4,"
				 "\"after\":8,") != NULL);
	page_free(&page);
	profile_free(profile);
}

/* A call tree of nodes with a count of at least 10; lighter nodes are summed up. */
TEST(html_tree_sums_what_was_left_out)
{
	const struct named_stacks_style style = {.with_slices = true};
	const struct flame_shape shape = {.least_width = 10};
	const struct time_slice slice = {1000, 2000};
	struct profile *profile = profile_new();
	struct named_stacks stacks;
	struct flame_nodes nodes;
	struct html_words words;
	struct html_columns columns = {0};
	struct html_tree tree = {.stacks = &stacks, .nodes = &nodes, .has_count = true};
	char *list = NULL;
	size_t nr;
	FILE *out;

	CHECK_EQ(profile_add_slice(profile, &slice), 1);
	(void)make_labelled(profile, (struct sample_labels){.slice = 1}, "t;a;b;c 3");
	(void)make_labelled(profile, (struct sample_labels){.slice = 1}, "t;a;b 12");
	(void)make_labelled(profile, (struct sample_labels){.slice = 1}, "t;a;d 4");
	(void)make_labelled(profile, (struct sample_labels){.slice = 1}, "t;a;e 5");
	(void)make_labelled(profile, (struct sample_labels){.slice = 1}, "t;f 1");
	CHECK_EQ(named_stacks_init(&stacks, profile, &style), 0);
	CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
	CHECK_EQ(html_words_init(&words, profile, NULL), 0);
	CHECK_EQ(html_tree_put(&tree, &words, &columns), 0);
	CHECK_EQ(html_slices_put(profile, &tree, &columns), 0);
	/* all, a, b, (c), (d, e), (f) */
	CHECK_EQ(tree.nr_rests, 3);
	out = open_memstream(&list, &nr);
	html_columns_write_list(&columns, out);
	(void)fclose(out);
	CHECK_STR(list, "[[\"tree0.up\",6,6],[\"tree0.word\",6,6],[\"tree0.self\",6,6],"
			"[\"slice.start\",1,1],[\"slice.length\",1,2],[\"node.slices\",6,6],"
			"[\"node.slice\",4,4],[\"node.count\",4,4]]");
	CHECK(!memcmp(columns.columns[0].bytes, "\0\0\0\0\2\2", 6));
	CHECK(!memcmp(columns.columns[1].bytes, "\0\2\3\1\1\1", 6));
	CHECK(!memcmp(columns.columns[2].bytes, "\0\0\14\3\11\1", 6));
	CHECK(!memcmp(columns.columns[7].bytes, "\14\3\11\1", 4));
	free(list);
	html_tree_clear(&tree);
	html_columns_clear(&columns);
	html_words_clear(&words);
	flame_nodes_clear(&nodes);
	named_stacks_clear(&stacks);
	profile_free(profile);
}

TEST(html_is_the_same_each_time)
{
	const struct format_options options = {.labels = LABEL_COMM};
	struct profile *profile = make_profile("b;main;zeta 3\na;main;alpha 4\n");
	cleanup_free char *one = write_page(profile, &options);
	cleanup_free char *other = write_page(profile, &options);

	CHECK_STR(one, other);
	profile_free(profile);
}

TEST(html_of_an_empty_profile)
{
	const struct format_options options = {0};
	struct profile *profile = profile_new();
	struct page page = read_page(profile, &options);

	check_column(&page, "tree0.word", "0 ");
	page_free(&page);
	profile_free(profile);
}

TEST(html_says_when_memory_runs_out)
{
	const struct format_options options = {.labels = LABEL_COMM};
	const struct time_slice slice = {1000, 2000};
	struct profile *profile = make_profile("b;main;zeta 3\na;main;alpha;!;sys_[k] 4\n");
	cleanup_file FILE *out = fopen("/dev/null", "w");
	size_t nth;
	int result;

	CHECK_EQ(profile_add_slice(profile, &slice), 1);
	CHECK_EQ(profile_add_comment(profile, "line"), 0);
	for (nth = 1;; nth++) {
		(void)test_fail_allocation(nth);
		result = html_write(profile, &options, out);
		(void)test_fail_allocation(0);
		if (!result)
			break;
		CHECK_EQ(result, -ENOMEM);
		CHECK(nth < 5000);
	}
	CHECK(nth > 20);
	profile_free(profile);
}

TEST(html_says_that_the_disk_is_full)
{
	const struct format_options options = {0};
	struct profile *profile = make_profile("a;b 1\n");
	cleanup_file FILE *out = fopen("/dev/full", "w");

	CHECK_EQ(html_write(profile, &options, out), -ENOSPC);
	profile_free(profile);
}
