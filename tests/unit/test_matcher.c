/*
 * base/matcher: tables of matches and of syntax errors with their positions. Random globs are
 * compared with fnmatch(), if they have no alternatives, and with regexec().
 */
#include "base/matcher.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/test.h"

#define PATHOLOGICAL_MAX_MS 500 /* exponential time would be years; with room for sanitizers */

static struct matcher *must_make(const char *text, enum matcher_kind kind)
{
	struct matcher_error error;
	struct matcher *matcher = matcher_new(text, strlen(text), kind, &error);

	if (!matcher)
		fprintf(stderr, "'%s': %s at %zu\n", text, error.what, error.at);
	CHECK(matcher);
	return matcher;
}

static bool fits(const char *text, enum matcher_kind kind, const char *name)
{
	struct matcher *matcher = must_make(text, kind);
	bool result = matcher_matches(matcher, name);

	matcher_free(matcher);
	return result;
}

static void check_refused(const char *text, enum matcher_kind kind, size_t at, const char *what)
{
	struct matcher_error error = {0};

	CHECK(!matcher_new(text, strlen(text), kind, &error));
	CHECK_STR(error.what, what);
	CHECK_EQ(error.at, at);
}

/* --- tables ----------------------------------------------------------------------------------- */

struct fit {
	const char *text, *fits, *fits_not; /* names separated by blanks; NULL: none */
};

static void check_names(const struct fit *fit, enum matcher_kind kind, const char *names,
			bool expected)
{
	cleanup_free char *copy = names ? strdup(names) : NULL;
	char *name, *rest = copy;

	while ((name = strsep(&rest, " "))) {
		if (fits(fit->text, kind, name) != expected)
			fprintf(stderr, "'%s' and '%s'\n", fit->text, name);
		CHECK(fits(fit->text, kind, name) == expected);
	}
}

static void check_table(const struct fit *table, size_t nr, enum matcher_kind kind)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		check_names(&table[i], kind, table[i].fits, true);
		check_names(&table[i], kind, table[i].fits_not, false);
	}
}

TEST(matcher_fits_globs)
{
	static const struct fit table[] = {
		{"malloc", "malloc", "mallo mallocx xmalloc Malloc "},
		{"*", "a ab ", NULL},
		{"a*", "a ab a*", "ba  A"},
		{"*a", "a ba aa *a", "ab "},
		{"a*c", "ac abc abcc", "ab cac"},
		{"**a**", "a bab", "b "},
		{"a?c", "abc a?c acc", "ac abbc"},
		{"[abc]x", "ax bx cx", "x dx abx"},
		{"[a-cx]1", "a1 b1 c1 x1", "d1 -1"},
		{"[!a-c]", "d - !", "a b c "},
		{"[^a-c]", "d - !", "a b c ^^"},
		{"[]a]", "] a", "[ b"},
		{"[!]a]", "[ b", "] a"},
		{"[a-]", "a -", "b"},
		{"[-a]", "a -", "b"},
		{"[a^!]", "a ^ !", "b"},
		{"[\\]\\\\-_]", "] \\ ^ _", "` ["},
		{"[a\\-c]", "a - c", "b"},
		{"a\\*b", "a*b", "ab axb"},
		{"\\(a\\|b\\)", "(a|b)", "a b"},
		{"\\**", "* *a", "a"},
		{"(a|b)", "a b", "ab (a) "},
		{"(a|b)*", "a b ax bx", "x"},
		{"(a|b*)*", "a ax b bx", "x"},
		{"(*a|b)*c", "ac bc xac bxc", "c xc xbc"},
		{"x(a|b(c|d)e|)y", "xay xbcey xbdey xy", "xbey xaby x y"},
		{"((a|b)|(c|d))", "a b c d", "ab (a|b)"},
		{"(call*|*Read*|*Write*)", "call callX aReadb Writeb", "cal read xcall"},
		{"a|b", "a b", "ab a|b"},
		{"a*|*b|c", "ax xb c", "cx x"},
		{"(|a)b", "b ab", "aab a"},
		{"f(int,char)", "f(int,char)", "fint,char"},
		{"main.(*T).f", "main.(*T).f main.(T).f", "main.*T.f"},
		{"f((a|b)*)", "f(a) f(bx)", "fa f(x)"},
		{"std::vector<*>::~vector", "std::vector<int>::~vector", "std::vector"},
		{"\xc3\xa9?", "\xc3\xa9x", "\xc3\xa9"},
		{"[\xa9]", "\xa9", "\xc3\xa9"},
	};

	check_table(table, ARRAY_SIZE(table), false);
}

TEST(matcher_fits_regular_expressions)
{
	static const struct fit table[] = {
		{"malloc", "malloc", "mallocx xmalloc"},
		{"^malloc$", "malloc", "mallocx xmalloc"},
		{"^vfs_.*", "vfs_ vfs_read", "xvfs_read vfs"},
		{"(write|read)$", "write read", "writes pread"},
		{"a|b", "a b", "ax xb"},
		{"[[:alpha:]_]+[0-9]{2,3}", "ab_12 a123", "a1 a1234 12"},
		{"[]x]+", "]x] x", "[ a"},
		{"[^]x]", "a [", "] x"},
		{"(ab){2}c?", "abab ababc", "ab ababab"},
		{"\\(a\\)", "(a)", "a"},
		{"a{0}b", "b", "ab"},
	};

	check_table(table, ARRAY_SIZE(table), true);
}

TEST(matcher_fits_plain_globs)
{
	static const struct fit table[] = {
		{"a(b|c)*", "a(b|c) a(b|c)x", "ab acx"},
		{"a|b", "a|b", "a b"},
		{"x[a-c]?", "xaz xcz", "xdz xa"},
		{"a[", "a[", "a ab"},
		{"a[b*", "a[b a[bc", "ab"},
		{"x[z-a]", "x[z-a]", "xz"},
		{"a\\", "a\\", "a"},
		{"\\*a", "*a", "xa"},
	};

	check_table(table, ARRAY_SIZE(table), MATCHER_PLAIN_GLOB);
}

TEST(matcher_searches)
{
	static const struct fit table[] = {
		{"b+", "abb b bc", "a"},
		{"^b", "b bx", "ab"},
		{"a$|^b", "a xa bx", "ab x"},
		{"malloc", "malloc __libc_malloc mallocx", "mallc"},
	};

	check_table(table, ARRAY_SIZE(table), MATCHER_SEARCH);
	check_refused("x(a", MATCHER_SEARCH, 1, "no ')' for this '('");
	check_refused("(a)\\1", MATCHER_SEARCH, 3, "back references are not supported");
	check_refused("((a{255}){255}){255}", MATCHER_SEARCH, 9, "too many repetitions");
}

TEST(matcher_refuses_globs_and_says_where)
{
	static const char no_close[] = "no ')' for this '('", no_open[] = "no '(' for this ')'",
			  no_bracket[] = "no ']' for this '['",
			  no_byte[] = "nothing after this '\\'", control[] = "a control character";

	check_refused("(a|b", false, 0, no_close);
	check_refused("a(b(c)", false, 1, no_close);
	check_refused("a)", false, 1, no_open);
	check_refused("a|b)", false, 3, no_open);
	check_refused("x[a", false, 1, no_bracket);
	check_refused("x[", false, 1, no_bracket);
	check_refused("x[!", false, 1, no_bracket);
	check_refused("x[]", false, 1, no_bracket);
	check_refused("x[a-", false, 1, no_bracket);
	check_refused("x[a\\", false, 1, no_bracket);
	check_refused("x[z-a]", false, 2, "invalid range: end before start");
	check_refused("[a[:digit:]]", false, 2, "classes like [:digit:] need a regular expression");
	check_refused("abc\\", false, 3, no_byte);
	check_refused("ab\n", false, 2, control);
	check_refused("\x7f", true, 0, control);
}

TEST(matcher_refuses_regular_expressions_and_says_where)
{
	static const char counts[] = "'{' starts {n}, {n,} or {n,m}; a literal one is '\\{'";

	check_refused("(a|b", true, 0, "no ')' for this '('");
	check_refused("a)", true, 1, "no '(' for this ')'");
	check_refused("a)|(b", true, 1, "no '(' for this ')'");
	check_refused("x[a", true, 1, "no ']' for this '['");
	check_refused("x[[:alpha:]", true, 1, "no ']' for this '['");
	check_refused("x[[:alpha]", true, 2, "unterminated character class");
	check_refused("ab\\", true, 2, "nothing after this '\\'");
	check_refused("(a)\\1", true, 3, "back references are not supported");
	check_refused("a{", true, 1, counts);
	check_refused("a{x}", true, 1, counts);
	check_refused("a{,3}", true, 1, counts);
	check_refused("a{3,2}", true, 1, counts);
	check_refused("a{2", true, 1, counts);
	check_refused("[z-a]", true, 0, "invalid range: end before start");
	check_refused("[[:foo:]]", true, 0, "unknown character class");
	check_refused("*a", true, 0, "nothing to repeat before '*', '+', '?' or '{'");
}

/* --- limits ----------------------------------------------------------------------------------- */

TEST(matcher_limits_what_a_regular_expression_takes)
{
	static const char copies[] = "too many repetitions",
			  empty[] = "this repeats without end what may be empty";
	char deep[256] = "", marks[] = "a????????????????????????{100}",
	     bars[] = "(||||||||||||||||||||||||){100}";

	CHECK(!fits("(a{20}){20}b?", true, "b"));
	check_refused("((a{255}){255}){255}", true, 9, copies);
	check_refused("a{4294967297}", true, 1, copies);
	check_refused("a{99999999999999999999999}", true, 1, copies);
	check_refused("((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+", true, 31, copies);
	check_refused(marks, true, 25, copies);
	check_refused(bars, true, 26, copies);
	check_refused("a**", true, 2, empty);
	check_refused("(a*)*", true, 4, empty);
	check_refused("b(a?|b)+", true, 7, empty);
	check_refused("(a|(|b))*", true, 8, empty);
	check_refused("(a?b*){2,}", true, 6, empty);
	check_refused("(a{0,2}$)*", true, 9, empty);
	check_refused("(\\b)*", true, 4, empty);
	CHECK(fits("^(a|b*c)*d.*?(e?f)+$", true, "abbcdxef"));
	CHECK(fits("(a?b*){2}", true, "abab"));
	memset(deep, '(', 200);
	check_refused(deep, true, 63, "parentheses nested too deep");
	check_refused(deep, false, 63, "parentheses nested too deep");
}

TEST(matcher_takes_long_texts)
{
	char text[MATCHER_TEXT_MAX + 2], name[2 * MATCHER_TEXT_MAX + 1];

	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	memset(text, 'a', sizeof(text));
	text[MATCHER_TEXT_MAX + 1] = '\0';
	check_refused(text, false, MATCHER_TEXT_MAX, "too long");
	check_refused(text, true, MATCHER_TEXT_MAX, "too long");
	text[MATCHER_TEXT_MAX] = '\0';
	CHECK(!fits(text, false, name));
	CHECK(fits(text, false, name + MATCHER_TEXT_MAX));
	text[MATCHER_TEXT_MAX - 1] = '*';
	CHECK(fits(text, false, name));
	CHECK(!fits(text, false, name + MATCHER_TEXT_MAX + 2));
	memset(text, '|', MATCHER_TEXT_MAX);
	CHECK(fits(text, false, ""));
	CHECK(!fits(text, false, name));
}

/* Matches `repeated` NR times, then `end`. */
static void check_pathological(const char *repeated, size_t nr, const char *end, size_t nr_name)
{
	cleanup_free char *text = calloc(1, nr * strlen(repeated) + strlen(end) + 1);
	cleanup_free char *name = calloc(1, nr_name + 1);
	struct matcher *matcher;
	clock_t start = clock();

	while (nr--)
		(void)strcat(text, repeated);
	(void)strcat(text, end);
	memset(name, 'a', nr_name);
	matcher = must_make(text, false);
	CHECK(!matcher_matches(matcher, name));
	matcher_free(matcher);
	CHECK((clock() - start) * 1000 / CLOCKS_PER_SEC < PATHOLOGICAL_MAX_MS);
}

TEST(matcher_takes_no_exponential_time)
{
	check_pathological("*a", 30, "b", 4000);
	check_pathological("*a", 300, "b", 1000);
	check_pathological("a*", 20, "b", 8000);
	check_pathological("(a|a)", 60, "b", 61);
	check_pathological("(a|*a)", 60, "b", 1000);
	check_pathological("(*|*)", 200, "b", 1000);
	check_pathological("*a??????????????????????????", 1, "b", 8000);
	check_pathological("(a*|*a|?*)", 100, "b", 1000);
}

/* --- comparison with libc --------------------------------------------------------------------- */

/* A random glob, and the same as a regular expression. */
struct random_glob {
	char glob[512], regex[1024];
	size_t nr_parts;
};

static uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 42;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % limit;
}

static void add_both(struct random_glob *random, const char *glob, const char *regex)
{
	(void)strcat(random->glob, glob);
	(void)strcat(random->regex, regex);
}

static void add_random(struct random_glob *random, unsigned depth)
{
	static const char *const parts[][2] = {
		{"a", "a"},	  {"b", "b"},	    {"*", ".*"},	  {"?", "."},
		{"[ab]", "[ab]"}, {"[!a]", "[^a]"}, {"[a-b.]", "[a-b.]"}, {"[^]b]", "[^]b]"},
		{"\\*", "\\*"},	  {".", "\\."},	    {"a", "a"},		  {"\\(", "\\("},
	};
	uint32_t nr = random_below(5), i, which;

	for (i = 0; i < nr && random->nr_parts < 20; i++, random->nr_parts++) {
		which = random_below(ARRAY_SIZE(parts) + (depth ? 4 : 0));
		if (which < ARRAY_SIZE(parts)) {
			add_both(random, parts[which][0], parts[which][1]);
			continue;
		}
		add_both(random, "(", "(");
		do {
			add_random(random, depth - 1);
			add_both(random, "|", "|");
		} while (random_below(2));
		add_random(random, depth - 1);
		add_both(random, ")", ")");
	}
}

static void make_name(char *name)
{
	size_t nr = random_below(10), i;

	for (i = 0; i < nr; i++)
		name[i] = "aaabbb.*(]"[random_below(10)];
	name[nr] = '\0';
}

TEST(matcher_agrees_with_fnmatch)
{
	size_t nr_fitting = 0, i, j;

	for (i = 0; i < 3000; i++) {
		struct random_glob random = {0};
		struct matcher *matcher;
		char name[16];

		add_random(&random, 0);
		matcher = must_make(random.glob, false);
		for (j = 0; j < 20; j++) {
			bool expected;

			make_name(name);
			expected = !fnmatch(random.glob, name, 0);
			nr_fitting += expected;
			if (matcher_matches(matcher, name) != expected)
				fprintf(stderr, "'%s' and '%s'\n", random.glob, name);
			CHECK(matcher_matches(matcher, name) == expected);
		}
		matcher_free(matcher);
	}
	CHECK(nr_fitting > 500);
}

/* Sometimes makes it one of two alternatives; the other one keeps the matcher in many states. */
static struct matcher *make_random(const struct random_glob *random)
{
	char text[600];

	if (random_below(20))
		return must_make(random->glob, false);
	(void)snprintf(text, sizeof(text), "%s|~*a???????????????", random->glob);
	return must_make(text, false);
}

TEST(matcher_agrees_with_regexec)
{
	size_t nr_fitting = 0, i, j;

	for (i = 0; i < 2000; i++) {
		struct random_glob random = {0};
		struct matcher *matcher;
		char name[16], anchored[1100];
		regex_t regex;

		add_random(&random, 3);
		matcher = make_random(&random);
		(void)snprintf(anchored, sizeof(anchored), "^(%s)$", random.regex);
		CHECK_EQ(regcomp(&regex, anchored, REG_EXTENDED | REG_NOSUB), 0);
		for (j = 0; j < 20; j++) {
			bool expected;

			make_name(name);
			expected = !regexec(&regex, name, 0, NULL, 0);
			nr_fitting += expected;
			if (matcher_matches(matcher, name) != expected)
				fprintf(stderr, "'%s' and '%s'\n", random.glob, name);
			CHECK(matcher_matches(matcher, name) == expected);
		}
		regfree(&regex);
		matcher_free(matcher);
	}
	CHECK(nr_fitting > 500);
}

/* --- properties of a pattern ------------------------------------------------------------------ */

static void check_plain(const char *text, enum matcher_kind kind, const char *only, bool is_any)
{
	struct matcher *matcher = must_make(text, kind);

	if (only)
		CHECK_STR(matcher_only_name(matcher), only);
	else
		CHECK(!matcher_only_name(matcher));
	CHECK_EQ(matcher_is_any(matcher), is_any);
	matcher_free(matcher);
}

TEST(matcher_knows_what_is_plain)
{
	check_plain("malloc", false, "malloc", false);
	check_plain("a\\*b\\\\", false, "a*b\\", false);
	check_plain("f(int)", false, "f(int)", false);
	check_plain("mall?c", false, NULL, false);
	check_plain("a|b", false, NULL, false);
	check_plain("*", false, NULL, true);
	check_plain("***", false, NULL, true);
	check_plain("(a|*)", false, NULL, true);
	check_plain("(a|)*", false, NULL, true);
	check_plain("*a", false, NULL, false);
	check_plain("malloc", true, "malloc", false);
	check_plain("^malloc$", true, "malloc", false);
	check_plain("a.c", true, NULL, false);
	check_plain("^a^", true, NULL, false);
	check_plain(".*", true, NULL, true);
	check_plain("^.*$", true, NULL, true);
	check_plain("malloc", MATCHER_PREFIX, NULL, false);
	check_plain("malloc$", MATCHER_PREFIX, "malloc", false);
	check_plain(".*", MATCHER_PREFIX, NULL, true);
}

static void check_without_memory(const char *text, enum matcher_kind kind)
{
	struct matcher_error error;
	struct matcher *matcher;
	size_t nth = 0;

	do {
		(void)test_fail_allocation(++nth);
		matcher = matcher_new(text, strlen(text), kind, &error);
		(void)test_fail_allocation(0);
		CHECK(matcher || !error.what);
	} while (!matcher);
	CHECK(nth > 1);
	matcher_free(matcher);
}

TEST(name_filter_takes_some_and_leaves_out_others)
{
	struct name_filter filter = {0};
	struct matcher_error fault;

	CHECK(name_filter_is_any(&filter));
	CHECK(name_filter_wants(&filter, "java") && name_filter_wants(&filter, ""));
	filter.excluded[filter.nr_excluded++] = matcher_new("^kw", 3, MATCHER_SEARCH, &fault);
	CHECK(!name_filter_is_any(&filter));
	CHECK(name_filter_wants(&filter, "java") && !name_filter_wants(&filter, "kworker/0:1"));
	filter.only = matcher_new("r", 1, MATCHER_SEARCH, &fault);
	filter.excluded[filter.nr_excluded++] = matcher_new("perl\"?$", 7, MATCHER_SEARCH, &fault);
	CHECK(name_filter_wants(&filter, "redis") && !name_filter_wants(&filter, "java"));
	CHECK(!name_filter_wants(&filter, "kworker/0:1") && !name_filter_wants(&filter, "perl\""));
	name_filter_clear(&filter);
	CHECK(name_filter_is_any(&filter));
}

TEST(matcher_without_memory)
{
	check_without_memory("malloc", false);
	check_without_memory("(call*|*[Rr]ead*|*Write*)", false);
	check_without_memory("*a????????????????????", false);
	check_without_memory("^malloc$", true);
	check_without_memory("^vfs_.*", true);
}
