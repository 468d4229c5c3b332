/* The table of formats, and inlined functions and source lines in all of them. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "format/gzip.h"
#include "unit/folded_text.h"
#include "unit/make_profile.h"
#include "view/group_totals.h"

TEST(format_by_its_extension)
{
	static const struct {
		const char *path;
		const char *name; /* NULL: no format */
	} cases[] = {
		{"a.folded", "folded"},
		{"/x/a.txt", "report"},
		{"a.pb.gz", "pprof"},
		{"a.b.pprof", "pprof"},
		{"a.gz", NULL},
		{".pprof", NULL},
		{"a", NULL},
		{"", NULL},
		{"a.pb.gz.x", NULL},
		{"a,", NULL},
		{"pprof", NULL},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct format *format = format_by_path(cases[i].path);

		CHECK(!format == !cases[i].name);
		if (format)
			CHECK_STR(format->name, cases[i].name);
	}
}

TEST(format_table)
{
	char names[FORMAT_NAMES_BYTES];

	CHECK_STR(format_names(),
		  "pprof, perf, folded, report, html, svg, speedscope, json, csv, md");
	CHECK_STR(format_extensions(), ".pb.gz, .pprof, .perf, .folded, .txt, .html, .svg, "
				       ".speedscope.json, .json, .csv, .md");
	CHECK_STR(format_read_names(names), "pprof, perf, folded");
	CHECK(!format_by_name("folded, report"));
	CHECK(!format_by_name("folded")->is_binary && !format_by_name("report")->read);
	CHECK(format_by_name("pprof")->is_binary && format_by_name("pprof")->parse);
}

static const struct format_read_options read_options = {.no_comm = false};

/* Writes and reads through the table; checks the reader's notes. */
TEST(format_writes_and_reads)
{
	const struct format *pprof = format_by_name("pprof");
	const struct format_options options = {.labels = LABEL_COMM | LABEL_PID};
	struct profile *profile = profile_new(), *read = profile_new();
	struct format_notes notes;
	struct error error = {0};
	FILE *file = tmpfile();

	(void)make_sample(profile, "a;main;work 5");
	CHECK_EQ(pprof->write(profile, &options, file), 0);
	rewind(file);
	CHECK_EQ(format_read(file, "-", &read_options, read, &notes, &error), 0);
	CHECK_EQ(profile_total(read), 5);
	CHECK_EQ(notes.labels, LABEL_COMM | LABEL_PID);
	(void)fclose(file);
	profile_free(profile);
	profile_free(read);
}

static void check_folded(const char *line, bool annotate, const char *wanted)
{
	const struct format_options options = {
		.labels = LABEL_COMM, .annotate = annotate, .lines = true};
	struct profile *profile = profile_new();

	(void)make_sample(profile, line);
	check_folded_text(profile, options, wanted);
	profile_free(profile);
}

TEST(folded_inlined_functions_follow_their_callers)
{
	check_folded("a;main;outer;middle_[i];inner_[i] 1", false, "a;main;outer;middle;inner 1\n");
	check_folded("a;main;outer;middle_[i];inner_[i] 1", true,
		     "a;main;outer;middle_[i];inner_[i] 1\n");
	check_folded("a;main;sys_[k];get_[i] 1", true, "a;main;sys_[k];get_[i] 1\n");
	check_folded("a;run_[j];get_[i] 1", true, "a;run_[j];get_[i] 1\n");
}

TEST(folded_source_lines)
{
	check_folded("a;main{/x/y.c:3};work{z.h:4}_[i] 1", false, "a;main y.c:3;work z.h:4 1\n");
	check_folded("a;{/x/y.c:3} 1", false, "a;[unknown] y.c:3 1\n");
	check_folded("a;main{/x/y.c:0} 1", false, "a;main 1\n");
}

TEST(folded_deleted_files)
{
	check_folded("a;~gone.so!;~gone.so!named 1", false, "a;[deleted];named 1\n");
}

static const struct function_total *find_total(const struct profile *profile,
					       const struct function_totals *totals,
					       const char *name)
{
	size_t i;

	for (i = 0; i < totals->nr; i++)
		if (!strcmp(profile_string(profile, totals->functions[i].name), name))
			return &totals->functions[i];
	CHECK(!"the function is there");
	return NULL;
}

static void check_total(const struct profile *profile, const struct function_totals *totals,
			const char *name, uint64_t self, uint64_t total)
{
	const struct function_total *found = find_total(profile, totals, name);

	CHECK_EQ(found ? found->self : 0, self);
	CHECK_EQ(found ? found->total : 0, total);
}

TEST(function_totals_of_inlined_functions)
{
	struct profile *profile = profile_new();
	struct function_totals totals;

	(void)make_sample(profile, "a;main;outer;get_[i] 10");
	(void)make_sample(profile, "a;main;outer;get_[i];hash_[i] 5");
	(void)make_sample(profile, "a;main;get;leaf 2");
	(void)make_sample(profile, "a;main;get;get_[i] 1");
	CHECK_EQ(function_totals_init(&totals, profile), 0);
	check_total(profile, &totals, "get", 11, 18);
	check_total(profile, &totals, "hash", 5, 5);
	check_total(profile, &totals, "outer", 0, 15);
	check_total(profile, &totals, "main", 0, 18);
	check_total(profile, &totals, "leaf", 2, 2);
	function_totals_clear(&totals);
	profile_free(profile);
}

/* Compressed text and pprof are distinguished after decompression. */
static void check_compressed(const char *text, const char *wanted)
{
	const struct format_options options = {.labels = LABEL_COMM};
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};
	FILE *file = tmpfile();
	struct gzip_writer *gzip = gzip_writer_new(file);

	CHECK_EQ(gzip_write(gzip, text, strlen(text)), 0);
	CHECK_EQ(gzip_finish(gzip), 0);
	gzip_writer_free(gzip);
	rewind(file);
	CHECK_EQ(format_read(file, "-", &read_options, profile, &notes, &error), 0);
	CHECK_EQ(notes.labels & LABEL_COMM, LABEL_COMM);
	(void)fclose(file);
	check_folded_text(profile, options, wanted);
	profile_free(profile);
}

TEST(format_compressed_text)
{
	check_compressed("a;main;b 3\na;main 2\n", "a;main;b 3\na;main 2\n");
	check_compressed("a 1/2 [000] 1.5: 10 cycles: \n\t 1 main (/bin/a)\n\n", "a;main 10\n");
}
