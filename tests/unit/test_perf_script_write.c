/* format/perf/perf_script_write: the text written, and that reading it gives the same profile. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/folded/folded.h"
#include "format/perf/perf_script_parts.h"
#include "profile/profile.h"
#include "unit/make_profile.h"
#include "unit/perf_script_text.h"

static char *written(const struct profile *profile, unsigned labels)
{
	const struct format_options options = {.labels = labels};
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(perf_script_write(profile, &options, out), 0);
	(void)fclose(out);
	return text;
}

/* Returns the first entry, after comments and an empty line. */
static const char *entry(const char *text)
{
	const char *end = strstr(text, "\n\n");

	CHECK(end != NULL);
	return end + 2;
}

TEST(perf_script_written)
{
	struct profile *profile = profile_new();
	struct sample_labels labels = {.pid = 12, .tid = 13, .cpu = 3};
	char *text;

	(void)make_labelled(profile, labels,
			    "#a b;main;in_[i];libz.so.1!libz.so.1+0x4a20;jit_[j];[missed] 3");
	text = written(profile, LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU);
	CHECK(!strncmp(entry(text), "\\043a b 12/13 [003] 0.000000:          3 samples: \n", 50));
	CHECK(strstr(text, "\t               0 [Missed Kernel Stack] ([unknown])\n\t") != NULL);
	CHECK(strstr(text, " jit (/tmp/perf-12.map)\n\t") != NULL);
	CHECK(strstr(text, " in (inlined)\n\t") != NULL);
	CHECK(strstr(text, " [unknown] (/usr/lib/libz.so.1)\n\t") != NULL);
	CHECK(strstr(text, " main (/usr/lib/app)\n\n") != NULL);
	free(text);
	text = written(profile, LABEL_COMM);
	CHECK(!strncmp(entry(text), "\\043a b 13 0.000000:          3 samples: \n", 41));
	free(text);
	profile_free(profile);
}

/* --- round trips ------------------------------------------------------------------------------ */

static struct value_type make_type(struct profile *profile, const char *type, const char *unit)
{
	return (struct value_type){(uint32_t)profile_add_string(profile, type),
				   (uint32_t)profile_add_string(profile, unit)};
}

static void make_value(struct profile *profile, const char *type, const char *unit, uint64_t first,
		       uint64_t second)
{
	struct value_type value = make_type(profile, type, unit);
	int number = profile_add_value_type(profile, &value);

	CHECK(number > 0);
	CHECK_EQ(profile_add_value(profile, 0, (size_t)number, first), 0);
	CHECK_EQ(profile_add_value(profile, 1, (size_t)number, second), 0);
}

static void make_event(struct profile *profile, const char *event, const char *unit,
		       uint64_t period)
{
	struct value_type type = make_type(profile, event, unit);
	struct profile_origin origin = {.event = type.type,
					.unit = type.unit,
					.period = period,
					.time_ns = 1763762400123456789,
					.duration_ns = 12000304001};

	profile_set_origin(profile, &origin);
}

static void check_same_origin(const struct profile *a, const struct profile *b)
{
	const struct profile_origin *one = profile_origin(a), *other = profile_origin(b);

	CHECK_STR(profile_string(a, one->event), profile_string(b, other->event));
	CHECK_STR(profile_string(a, one->unit), profile_string(b, other->unit));
	CHECK_EQ(one->period, other->period);
	CHECK_EQ(one->time_ns, other->time_ns);
	CHECK_EQ(one->duration_ns, other->duration_ns);
	CHECK_EQ(profile_is_sum(a), profile_is_sum(b));
}

static void check_same(const struct profile *a, const struct profile *b)
{
	size_t i;

	check_same_origin(a, b);
	CHECK_EQ(profile_nr_values(a), profile_nr_values(b));
	for (i = 0; i < profile_nr_values(a); i++) {
		CHECK_STR(type_text(a, i), type_text(b, i));
		CHECK_STR(unit_text(a, i), unit_text(b, i));
		CHECK_EQ(profile_value_total(a, i), profile_value_total(b, i));
	}
}

static struct profile *through_text(const struct profile *profile, struct format_notes *notes)
{
	char *text = written(profile, LABEL_COMM);
	struct profile *again = read_text(text, notes);

	CHECK_EQ(notes->bad_lines, 0);
	free(text);
	return again;
}

TEST(perf_script_values_survive)
{
	struct profile *profile = profile_new(), *again;
	struct format_notes notes;
	char *text;

	(void)make_sample(profile, "a;main;f 3");
	(void)make_sample(profile, "a;main 4");
	make_event(profile, "cpu", "nanoseconds", 100);
	make_value(profile, "cpu", "nanoseconds", 300, 400);
	make_value(profile, "cpu", "count", 7, 0);
	make_value(profile, "my type", "1/100", 0, 5);
	again = through_text(profile, &notes);
	check_same(profile, again);
	CHECK_EQ(notes.labels, LABEL_COMM); /* though there are tids */
	CHECK_EQ(notes.nr_events, 0);
	profile_free(again);
	text = written(profile, LABEL_COMM);
	CHECK(strstr(text, "\n# stook: for each sample: 100 nanoseconds of cpu\n") != NULL);
	CHECK(strstr(text, " 300 cpu") == NULL);
	CHECK(strstr(text, " 3 cpu: \n") != NULL);
	free(text);
	profile_free(profile);
}

TEST(perf_script_sums_survive)
{
	struct profile *profile = profile_new(), *again;
	struct format_notes notes;

	(void)make_sample(profile, "a;main;f 3");
	(void)make_sample(profile, "a;main 4");
	make_event(profile, "cpu-clock", "nanoseconds", 0);
	set_main_value(profile, "weight", "1/100");
	make_value(profile, "cpu", "nanoseconds", 9, 9);
	again = through_text(profile, &notes);
	check_same(profile, again);
	profile_free(again);
	profile_free(profile);
}

TEST(perf_script_without_samples_survives)
{
	struct profile *profile = profile_new(), *again;
	struct format_notes notes;

	make_event(profile, "cpu-clock", "nanoseconds", 7);
	again = through_text(profile, &notes);
	check_same(profile, again);
	profile_free(again);
	profile_free(profile);
}

TEST(perf_script_names_of_threads_survive)
{
	static const char *const comms[] = {" a", "#a", "a ",		"\\040a",	"a\nb",
					    "\t", "é",	"\xc2\x9b\xff", "\xe2\x80\xaex"};
	struct format_notes notes;
	size_t i;

	for (i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
		struct profile *profile = profile_new(), *again;
		struct sample_labels labels = {0};

		labels.comm = (uint32_t)profile_add_string(profile, comms[i]);
		CHECK(profile_add_sample(profile, &labels, NULL, 0, 0, 1) >= 0);
		again = through_text(profile, &notes);
		CHECK_STR(profile_string(again, profile_sample(again, 0)->labels.comm), comms[i]);
		profile_free(again);
		profile_free(profile);
	}
}

TEST(perf_script_is_safe_for_terminals)
{
	static const char evil[] = "e\x1b\xc2\x9b\x9b\xe2\x80\xaeé";
	struct profile *profile = profile_new();
	struct sample_labels labels = {0};
	uint32_t frame = (uint32_t)profile_add_frame(profile, FRAME_USER, 0, 1);
	struct profile_origin origin = {0};
	char *text;

	(void)profile_set_function(profile, frame, evil);
	labels.comm = (uint32_t)profile_add_string(profile, evil);
	(void)profile_add_sample(profile, &labels, &frame, 1, 0, 1);
	origin.event = origin.unit = (uint32_t)profile_add_string(profile, evil);
	profile_set_origin(profile, &origin);
	text = written(profile, LABEL_COMM);
	CHECK(strstr(text, " sampled: e_______é of e???????é\n") != NULL);
	CHECK(strstr(text, "\ne\\033\\302\\233\\233\\342\\200\\256é 0 ") != NULL);
	CHECK(strstr(text, " e_______é: \n") != NULL);
	CHECK(strstr(text, " e???????é (") != NULL);
	free(text);
	profile_free(profile);
}

/* Two of our files concatenated: facts on which they differ are unknown. */
TEST(perf_script_joined_texts)
{
	static const char text[] = "# ========\n# stook: sampled: every 10 nanoseconds of clock\n"
				   "# stook: lasted: 5 nanoseconds\n"
				   "# stook: periods of clock: count of samples\n\n"
				   "a 0 1.0: 3 clock: \n\n"
				   "# stook: sampled: every 20 nanoseconds of clock\n"
				   "# stook: lasted: 5 nanoseconds\n"
				   "# stook: periods of clock: count of samples\n\n"
				   "a 0 1.0: 4 clock: \n\n";
	struct format_notes notes;
	struct profile *profile = read_text(text, &notes);

	CHECK_EQ(profile_total(profile), 7);
	CHECK(!profile_is_sum(profile));
	CHECK_EQ(profile_origin(profile)->period, 0);
	CHECK_STR(profile_string(profile, profile_origin(profile)->event), "clock");
	profile_free(profile);
}

/*
 * More event names than a profile has values, all of the same value: names past the limit of the
 * reader are dropped with their samples.
 */
TEST(perf_script_too_many_words)
{
	char *text = NULL;
	size_t nr, i;
	FILE *out = open_memstream(&text, &nr);
	struct format_notes notes;
	struct profile *profile;

	for (i = 0; i < 2 * PROFILE_MAX_VALUES; i++)
		(void)fprintf(out, "# stook: periods of e%zu: count of samples\n", i);
	(void)fputs("\na 0 1.0: 3 e0: \n\na 0 1.0: 4 e1: \n\na 0 1.0: 4 e127: \n\n", out);
	(void)fclose(out);
	profile = read_text(text, &notes);
	CHECK_EQ(profile_nr_values(profile), 1);
	CHECK_EQ(profile_total(profile), 7);
	CHECK_EQ(notes.dropped_samples, 0);
	CHECK_EQ(notes.dropped_events, 1);
	profile_free(profile);
	free(text);
}

TEST(perf_script_comments)
{
	static const struct {
		const char *line;
		enum perf_comment_kind kind;
	} cases[] = {
		{"# stook: labels: comm pid", PERF_COMMENT_LABELS_ARE},
		{"# stook: began: 12 nanoseconds after 1970", PERF_COMMENT_BEGAN},
		{"# stook: began: 99999999999999999999 nanoseconds", PERF_COMMENT_OTHER},
		{"# stook: lasted: nanoseconds", PERF_COMMENT_OTHER},
		{"# stook: sampled: nanoseconds of cpu-clock", PERF_COMMENT_SAMPLED},
		{"# stook: sampled: every x nanoseconds of cpu-clock", PERF_COMMENT_OTHER},
		{"# stook: periods of a:b: count of c d of e", PERF_COMMENT_PERIODS},
		{"# stook: periods of a: count of ", PERF_COMMENT_OTHER},
		{"# stook: periods of a: a count of b", PERF_COMMENT_OTHER},
		{"# stook: for each sample: 5 nanoseconds of cpu", PERF_COMMENT_FOR_EACH},
		{"# captured on    : Sun Nov 22", PERF_COMMENT_OTHER},
	};
	struct perf_comment comment;
	size_t i, nr;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (nr = 0; nr < strlen(cases[i].line); nr++)
			(void)perf_comment_parse(test_guarded(cases[i].line, nr), nr);
		CHECK_EQ(perf_comment_parse(cases[i].line, nr).kind, cases[i].kind);
	}
	comment = perf_comment_parse(cases[6].line, strlen(cases[6].line));
	CHECK(is_text(comment.word, "a:b") && is_text(comment.unit, "count"));
	CHECK(is_text(comment.type, "c d of e"));
}

static uint64_t duration_read_back(uint64_t time_ns, uint64_t duration_ns)
{
	struct profile_origin origin = {.time_ns = time_ns, .duration_ns = duration_ns};
	struct profile *profile = profile_new(), *again;
	struct format_notes notes;
	char *text;

	(void)make_sample(profile, "a;main 3");
	(void)make_sample(profile, "a;main;b 3");
	(void)make_sample(profile, "a;main;c 3");
	profile_set_origin(profile, &origin);
	text = written(profile, LABEL_COMM);
	again = read_text(text, &notes);
	duration_ns = profile_origin(again)->duration_ns;
	free(text);
	profile_free(again);
	profile_free(profile);
	return duration_ns;
}

TEST(perf_script_duration_survives)
{
	CHECK_EQ(duration_read_back(1763762400123456789, 12000304000), 12000304000);
	CHECK_EQ(duration_read_back(0, 12000304000), 12000304000);
	CHECK_EQ(duration_read_back(1763762400123456789, 0), 0);
}

TEST(perf_script_written_and_read)
{
	const struct format_options options = {.labels = LABEL_COMM, .annotate = true};
	struct profile *profile = profile_new(), *again;
	struct format_notes notes;
	char *text, *before;

	(void)make_sample(profile, "a b;[missed];sys_[k] 32");
	(void)make_sample(profile, "a b;main;in_[i];in2_[i];f(int, char);sys_[k];vfs_[k] 16");
	(void)make_sample(profile, "a b;main;jit_[j] 8");
	(void)make_sample(profile, "a b;main;libc.so! 4");
	(void)make_sample(profile, "c;!_[k] 2");
	(void)make_sample(profile, "c 1");
	text = written(profile, LABEL_COMM);
	again = read_text(text, &notes);
	CHECK_EQ(notes.bad_lines, 0);
	before = folded_text(profile, options);
	check_folded(again, LABEL_COMM, before);
	free(before);
	free(text);
	profile_free(again);
	profile_free(profile);
}
