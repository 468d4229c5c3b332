/* cmd/options/option_table: command lines as users write them, and as they mistype them. */
#include "cmd/options/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "unit/test.h"

/* Parsed options in order: "-q;-F=99;word". */
struct taken {
	char text[256];
	bool loud, exact;
};

static int note(struct taken *taken, const char *option, const char *value)
{
	size_t nr = strlen(taken->text);

	(void)snprintf(taken->text + nr, sizeof(taken->text) - nr, "%s%s%s%s", nr ? ";" : "",
		       option, value ? "=" : "", value ? value : "");
	return 0;
}

static int take_quiet(void *options, const char *value, struct error *error)
{
	return note(options, "quiet", value);
}

static int take_frequency(void *options, const char *value, struct error *error)
{
	if (!strcmp(value, "bad"))
		return option_bad(error, "--frequency", value, "hertz, at least 1");
	return note(options, "frequency", value);
}

static int take_duration(void *options, const char *value, struct error *error)
{
	return note(options, "duration", value);
}

static int take_habit(void *options, const char *value, struct error *error)
{
	return note(options, "Z", value);
}

static int take_folded(void *options, const char *value, struct error *error)
{
	return note(options, "folded", value);
}

static int take_delimited(void *options, const char *value, struct error *error)
{
	return note(options, "delimited", value);
}

static int take_lines(void *options, const char *value, struct error *error)
{
	return note(options, "lines", value);
}

static int take_fold(void *options, const char *value, struct error *error)
{
	return note(options, "fold", value);
}

static int take_word(void *context, const char *word, struct error *error)
{
	if (!strcmp(word, "bad"))
		return error_set(error, -EINVAL, "unexpected word '%s'", word);
	return note(context, word, NULL);
}

static const struct option_row own_rows[] = {
	{'q', "quiet", NULL, take_quiet, "say less"},
	{'F', "frequency", "HZ", take_frequency, "samples a second"},
	{'d', "duration", "SECS", take_duration, "how long"},
	{'Z', NULL, "N", take_habit, NULL},
};

static const struct option_row shared_rows[] = {
	{0, "lines", NULL, take_lines,
	 "show lines of the source, where it has some: file and number"},
	{0, "fold", "WHAT,…", take_fold, "one name for: clones"},
	{'f', "folded", NULL, take_folded, "folded"},
	{0, "delimited", NULL, take_delimited, "delimited", .bundled = 'd'},
	OPTION_SWITCH(0, "exact", struct taken, exact, "as it is"),
	{0, "habit", NULL, take_quiet, NULL},
};

/* Left for the test: the result, the parsed options, and the index of the first unparsed word. */
static struct taken taken;
static struct error error;

static int parse(int argc, const char *const *words)
{
	const struct option_group groups[] = {
		{own_rows, ARRAY_SIZE(own_rows), &taken},
		{shared_rows, ARRAY_SIZE(shared_rows), &taken},
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = take_word,
		.context = &taken,
		.usage = "usage: stook test [options]",
		.examples = "examples:",
	};

	taken = (struct taken){""};
	error = (struct error){0};
	optind = 0; /* glibc: full reset */
	return option_table_parse(&table, argc, (char **)(uintptr_t)words, &error);
}

/* A command line, of which the last nr_left words are not parsed. */
#define CHECK_PARSES(expected, nr_left, ...)                                \
	do {                                                                \
		const char *const words_[] = {"test", ##__VA_ARGS__, NULL}; \
		int argc_ = (int)ARRAY_SIZE(words_) - 1;                    \
                                                                            \
		CHECK_EQ(parse(argc_, words_), 0);                          \
		CHECK_STR(taken.text, (expected));                          \
		CHECK_EQ(argc_ - optind, (nr_left));                        \
	} while (0)

#define CHECK_REFUSES(expected, ...)                                           \
	do {                                                                   \
		const char *const words_[] = {"test", ##__VA_ARGS__, NULL};    \
                                                                               \
		CHECK_EQ(parse((int)ARRAY_SIZE(words_) - 1, words_), -EINVAL); \
		CHECK_STR(error.text, (expected));                             \
	} while (0)

TEST(option_table_takes_options)
{
	CHECK_PARSES("", 0);
	CHECK_PARSES("quiet", 0, "-q");
	CHECK_PARSES("quiet;quiet", 0, "-qq");
	CHECK_PARSES("frequency=99", 0, "-F", "99");
	CHECK_PARSES("frequency=99", 0, "-F99");
	CHECK_PARSES("quiet;frequency=99", 0, "-qF99");
	CHECK_PARSES("frequency=99", 0, "--frequency", "99");
	CHECK_PARSES("frequency=99", 0, "--frequency=99");
	CHECK_PARSES("frequency=99", 0, "--freq=99");
	CHECK_PARSES("frequency=", 0, "--frequency=");
	CHECK_PARSES("lines;fold=clones", 0, "--lines", "--fold", "clones");
	CHECK_PARSES("fold=-q", 0, "--fold", "-q"); /* it is the value */
}

/* bcc's -d is --delimited: used where -d with a value makes no sense in stook's options. */
TEST(option_table_takes_bundles_of_bcc)
{
	CHECK_PARSES("delimited;folded;10", 0, "-df", "10");
	CHECK_PARSES("quiet;delimited;folded", 0, "-qdf");
	CHECK_PARSES("folded;delimited;quiet", 0, "-fdq");
	CHECK_PARSES("10;delimited;folded;quiet", 0, "10", "-df", "-q");
	CHECK_PARSES("duration=10", 0, "-d10");
	CHECK_PARSES("folded;duration=10", 0, "-fd", "10");
	CHECK_PARSES("folded;duration=10", 0, "-fd10");
	CHECK_PARSES("duration=", 0, "-d", "");
	CHECK_PARSES("duration=x", 0, "-dx"); /* not an option of stook */
	CHECK_PARSES("duration=fF", 0, "-dfF");
	CHECK_PARSES("frequency=f", 0, "-Ff"); /* -F does not bundle */
	CHECK_PARSES("quiet", 2, "-q", "--", "-df", "10");
	CHECK_PARSES("fold=-df", 0, "--fold", "-df");
}

TEST(option_table_takes_habits)
{
	CHECK_PARSES("Z=3", 0, "-Z", "3");
	CHECK_PARSES("quiet;Z=3", 0, "-qZ3");
	CHECK_PARSES("quiet", 0, "--habit");
}

TEST(option_table_sets_switches)
{
	CHECK_PARSES("quiet", 0, "-q");
	CHECK(!taken.exact && !taken.loud);
	CHECK_PARSES("5", 0, "--exact", "5");
	CHECK(taken.exact && !taken.loud);
}

TEST(option_table_takes_words_anywhere)
{
	CHECK_PARSES("5;quiet", 0, "5", "-q");
	CHECK_PARSES("quiet;5;frequency=9;x", 0, "-q", "5", "-F", "9", "x");
	CHECK_PARSES("-", 0, "-"); /* stdin, by convention */
}

TEST(option_table_ends_at_two_dashes)
{
	CHECK_PARSES("quiet", 2, "-q", "--", "ls", "-q");
	CHECK_PARSES("5", 1, "5", "--", "ls");
	CHECK_PARSES("", 0, "--");
	CHECK_PARSES("", 1, "--", "--");
	CHECK_PARSES("fold=--;5", 0, "--fold", "--", "5"); /* the first -- was a value */
	CHECK_PARSES("fold=--", 1, "--fold", "--", "--", "ls");
}

TEST(option_table_refuses_mistakes)
{
	CHECK_REFUSES("unknown option '-x'", "-x");
	CHECK_REFUSES("unknown option '-qx'", "-qx");
	CHECK_REFUSES("unknown option '--nothing'", "-q", "--nothing", "-q");
	CHECK_REFUSES("'-F' needs a value", "5", "-F");
	CHECK_REFUSES("'--fold' needs a value", "--fold");
	CHECK_REFUSES("bad value 'bad' for --frequency: hertz, at least 1", "-F", "bad");
	CHECK_REFUSES("unexpected word 'bad'", "-q", "bad");
	CHECK_REFUSES("--lines does not take a value: '--lines=5'", "--lines=5");
	CHECK_REFUSES("unknown option '-g'", "-g");
	CHECK_STR(error.hint, "stacks are always recorded: omit it");
}

#define CHECK_HINTED(expected, ...)                                            \
	do {                                                                   \
		const char *const words_[] = {"test", ##__VA_ARGS__, NULL};    \
                                                                               \
		CHECK_EQ(parse((int)ARRAY_SIZE(words_) - 1, words_), -EINVAL); \
		CHECK_STR(error.hint, (expected));                             \
	} while (0)

TEST(option_table_hints_what_was_meant)
{
	CHECK_HINTED("did you mean --frequency?", "--freqency", "99");
	CHECK_HINTED("did you mean --frequency?", "--freqency=99");
	CHECK_HINTED("did you mean --folded or --fold?", "--foldde");
	CHECK_HINTED("did you mean --fold or --folded?", "--fol");
	CHECK_HINTED("did you mean --lines?", "-lines");
	CHECK_HINTED("did you mean --frequency?", "-frequency=bad");
	CHECK_HINTED("'stook test --help' lists the options", "--xyzzy");
	CHECK_HINTED("'stook test --help' lists the options", "-x");
	CHECK_HINTED("unknown letter '-x'; 'stook test --help' lists the options", "-qx");
	CHECK_HINTED("'stook test --help' lists the options", "--habitt"); /* not suggested */
	CHECK_HINTED("", "-F", "bad");
}

/* Runs the help and returns its stdout as text. */
static void capture_help(const char *option, char *to, size_t room)
{
	const char *const words[] = {"test", option, NULL};
	int file = memfd_create("help", 0);
	int before = dup(STDOUT_FILENO);

	CHECK(file >= 0 && before >= 0);
	CHECK(dup2(file, STDOUT_FILENO) >= 0);
	CHECK_EQ(parse(2, words), 1);
	CHECK_EQ(fflush(stdout), 0);
	CHECK(dup2(before, STDOUT_FILENO) >= 0);
	memset(to, 0, room);
	CHECK(pread(file, to, room - 1, 0) > 0);
	(void)close(before);
	(void)close(file);
}

TEST(option_table_prints_help)
{
	char help[1024], again[1024];

	capture_help("--help", help, sizeof(help));
	CHECK_STR(help, "usage: stook test [options]\n"
			"  -q, --quiet                 say less\n"
			"  -F, --frequency HZ          samples a second\n"
			"  -d, --duration SECS         how long\n"
			"      --lines                 show lines of the source, where it has "
			"some: file\n"
			"                              and number\n"
			"      --fold WHAT,…           one name for: clones\n"
			"  -f, --folded                folded\n"
			"      --delimited             delimited\n"
			"      --exact                 as it is\n"
			"examples:\n");
	capture_help("-h", again, sizeof(again));
	CHECK_STR(again, help);
}

struct seen {
	const struct option_row *rows[OPTION_ROWS_MAX];
	size_t nr;
};

static void see(void *context, const struct option_table *table)
{
	struct seen *seen = context;

	seen->nr = option_table_rows(table, seen->rows);
}

/* A command that is run with a visitor shows its table and parses nothing. */
TEST(option_table_is_visited)
{
	const char *const words[] = {"test", "--no-such-option", NULL};
	struct seen seen = {.nr = 0};

	option_table_visit(see, &seen);
	CHECK_EQ(parse(2, words), 1);
	option_table_visit(NULL, NULL);
	CHECK_STR(taken.text, "");
	CHECK_EQ(seen.nr, ARRAY_SIZE(own_rows) + ARRAY_SIZE(shared_rows) - 2); /* habits excluded */
	CHECK_STR(seen.rows[0]->name, "quiet");
	CHECK_STR(seen.rows[seen.nr - 1]->name, "exact");
	CHECK_EQ(parse(2, words), -EINVAL);
}

TEST(option_takes_a_number)
{
	static const struct option_number top = {"--top", 1, 100, "1 to 100"};
	uint64_t nr = 7;

	error = (struct error){0};
	CHECK_EQ(option_take_number(&top, "0", &nr, &error), -EINVAL);
	CHECK_STR(error.text, "bad value '0' for --top: 1 to 100");
	CHECK_EQ(option_take_number(&top, "101", &nr, &error), -EINVAL);
	CHECK_EQ(option_take_number(&top, "-1", &nr, &error), -EINVAL);
	CHECK_EQ(option_take_number(&top, "", &nr, &error), -EINVAL);
	CHECK_EQ(nr, 7);
	CHECK_EQ(option_take_number(&top, "100", &nr, &error), 0);
	CHECK_EQ(nr, 100);
}

TEST(option_takes_a_choice)
{
	static const char *const names[] = {"count", "name", "rate"};

	error = (struct error){0};
	CHECK_EQ(option_take_choice("--sort", "rate", names, 3, &error), 2);
	CHECK_EQ(option_take_choice("--sort", "rat", names, 3, &error), -EINVAL);
	CHECK_STR(error.text, "bad value 'rat' for --sort: count, name or rate");
	CHECK_EQ(option_take_choice("--sort", "", names, 1, &error), -EINVAL);
	CHECK_STR(error.text, "bad value '' for --sort: count");
}

TEST(option_takes_a_set)
{
	static const char *const names[] = {"pid", "tid", "comm"};
	static const char *const wrong[] = {"", "pid,", ",pid", "pid,,tid", "pi", "pid comm"};
	unsigned bits = 8;
	size_t i;

	error = (struct error){0};
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_EQ(option_take_set("--by", wrong[i], names, 3, &bits, &error), -EINVAL);
	CHECK_STR(error.text, "bad value 'pid comm' for --by: a list of pid, tid, comm");
	CHECK_EQ(bits, 8);
	CHECK_EQ(option_take_set("--by", "comm,pid,comm", names, 3, &bits, &error), 0);
	CHECK_EQ(bits, 5);
}

/* Reads the options of a file with this text. */
static int read_options(const char *text, char **ret)
{
	const struct option_group groups[] = {
		{own_rows, ARRAY_SIZE(own_rows), &taken},
		{shared_rows, ARRAY_SIZE(shared_rows), &taken},
	};
	const struct option_table table = {.groups = groups, .nr_groups = ARRAY_SIZE(groups)};
	const int fd = memfd_create("options", MFD_CLOEXEC);
	char path[64];
	int err;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	taken = (struct taken){""};
	error = (struct error){0};
	err = option_table_read_file(&table, path, ret, &error);
	(void)close(fd);
	return err;
}

TEST(option_table_reads_files)
{
	char *text;

	CHECK_EQ(read_options("", &text), 0);
	free(text);
	CHECK_EQ(read_options("# a comment\n\n  frequency =\t99 \r\nquiet=yes\n\tlines = no\n"
			      "fold = a = # b\nexact = yes",
			      &text),
		 0);
	CHECK_STR(taken.text, "frequency=99;quiet;fold=a = # b");
	CHECK(taken.exact);
	free(text);
}

TEST(option_table_refuses_files)
{
	static const struct {
		const char *text, *wanted;
	} files[] = {
		{"quiet", "line 1: not of the form 'name = value': 'quiet'"},
		{"\nfrequency = bad", "line 2: bad value 'bad' for --frequency: hertz, at least 1"},
		{"quiet = maybe", "line 1: bad value 'maybe' for quiet: yes or no"},
		{"frequenzy = 99", "line 1: unknown option 'frequenzy'"},
		{"habit = yes", "line 1: unknown option 'habit'"},
	};
	static char large[70000];
	char *text;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		CHECK_EQ(read_options(files[i].text, &text), -EINVAL);
		CHECK(strstr(error.text, files[i].wanted) != NULL);
		free(text);
	}
	CHECK_EQ(read_options("frequenzy = 99", &text), -EINVAL);
	CHECK_STR(error.hint, "did you mean --frequency?");
	free(text);
	memset(large, '#', sizeof(large) - 1);
	CHECK_EQ(read_options(large, &text), -EFBIG);
	free(text);
	CHECK_EQ(option_table_read_file(&(const struct option_table){0}, "/nowhere/options", &text,
					&error),
		 -ENOENT);
	CHECK(!text);
}
