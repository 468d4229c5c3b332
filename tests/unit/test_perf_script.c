/* format/perf_script_*: the shapes of perf's text, and that what is written can be read. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/folded.h"
#include "format/perf_script_line.h"
#include "format/perf_script_read.h"
#include "format/perf_script_write.h"
#include "profile/profile_values.h"
#include "unit/make_profile.h"

/* --- lines ------------------------------------------------------------------------------------ */

static bool is_text(struct perf_text text, const char *wanted)
{
	return text.nr == strlen(wanted) && !memcmp(text.at, wanted, text.nr);
}

static struct perf_header header_of(const char *line)
{
	struct perf_header header;
	size_t nr = strlen(line);

	CHECK(perf_script_header(test_guarded(line, nr), nr, &header));
	return header;
}

TEST(perf_script_headers)
{
	struct perf_header header =
		header_of("redis-server 12/34 [003]  4794564.109216:     101010 cycles:u: ");

	CHECK(is_text(header.comm, "redis-server") && is_text(header.event, "cycles:u"));
	CHECK(header.pid == 12 && header.tid == 34 && header.cpu == 3);
	CHECK_EQ(header.time_ns, 4794564109216000);
	CHECK_EQ(header.period, 101010);
	header = header_of("my 12 worker  34 666709.771979123:   7 cpu-clock: ");
	CHECK(is_text(header.comm, "my 12 worker") && header.tid == 34 && !header.has_pid);
	CHECK_EQ(header.time_ns, 666709771979123);
	header = header_of("node 31912 cpu-clock: ");
	CHECK(is_text(header.comm, "node") && is_text(header.event, "cpu-clock"));
	CHECK(header.tid == 31912 && !header.has_period && !header.has_time);
	header = header_of(
		"swapper     0 [001] 1.5: sched:sched_switch: prev_comm=a 1 [120] 2.5: b:");
	CHECK(header.has_tid && header.tid == 0 && is_text(header.event, "sched:sched_switch"));
	CHECK(is_text(header.rest, "prev_comm=a 1 [120] 2.5: b:"));
	header = header_of(":-1    -1/-1 [000] 1.5:  1 cpu/event=0x3c,umask=0x0/u: ");
	CHECK(is_text(header.comm, ":-1") && header.pid == -1);
	CHECK(is_text(header.event, "cpu/event=0x3c,umask=0x0/u"));
}

TEST(perf_script_headers_with_little_in_them)
{
	struct perf_header header = header_of("24005 ");

	CHECK(header.tid == 24005 && !header.comm.nr && !perf_header_is_sure(&header));
	header = header_of("my prog ");
	CHECK(is_text(header.comm, "my prog") && !header.has_tid);
	header = header_of("dd 12 1.5: 562312341234 main (/bin/dd)");
	CHECK(!header.has_period && is_text(header.rest, "562312341234 main (/bin/dd)"));
	header = header_of("dd 12 1.5:   2000000 ");
	CHECK(header.has_period && header.period == 2000000);
	header = header_of("dd 99999999999 cycles: ");
	CHECK(!header.has_tid); /* no such number */
}

static struct perf_frame frame_of(const char *line)
{
	struct perf_frame frame;
	size_t nr = strlen(line);

	CHECK(perf_script_frame(test_guarded(line, nr), nr, &frame));
	return frame;
}

TEST(perf_script_frames)
{
	struct perf_frame frame = frame_of("\t  7f8f1ee70000 foo+0x1f (/lib/x y.so)");

	CHECK_EQ(frame.address, 0x7f8f1ee70000);
	CHECK(is_text(frame.symbol, "foo") && is_text(frame.file, "/lib/x y.so"));
	frame = frame_of("\t 1 operator()(int) const (/usr/bin/a (deleted))");
	CHECK(is_text(frame.symbol, "operator()(int) const"));
	CHECK(is_text(frame.file, "/usr/bin/a (deleted)"));
	frame = frame_of("\t 1 f(void (*)(int)) (/lib/a(1).so)");
	CHECK(is_text(frame.symbol, "f(void (*)(int))") && is_text(frame.file, "/lib/a(1).so"));
	frame = frame_of("\t 11f7 work");
	CHECK(is_text(frame.symbol, "work") && !frame.file.nr);
	frame = frame_of("\t 11f7 (/lib/a.so)");
	CHECK(!frame.symbol.nr && is_text(frame.file, "/lib/a.so"));
	frame = frame_of("\t 11f7");
	CHECK(!frame.symbol.nr && !frame.file.nr);
	frame = frame_of("\t 1 _start+0xffff018fd5dce000 (/usr/lib/ld-2.24.so)");
	CHECK(is_text(frame.symbol, "_start"));
}

TEST(perf_script_kinds_of_code)
{
	static const struct {
		const char *line;
		enum perf_code code;
	} cases[] = {
		{"1 f ([kernel.kallsyms])", PERF_CODE_KERNEL},
		{"1 f ([kernel.kallsyms]_stext)", PERF_CODE_KERNEL},
		{"1 f ([guest.kernel.kallsyms])", PERF_CODE_KERNEL},
		{"1 f ([ext4])", PERF_CODE_KERNEL},
		{"1 f (/lib/modules/4.1.0/build/vmlinux)", PERF_CODE_KERNEL},
		{"1 f (/boot/vmlinux-6.1.0)", PERF_CODE_KERNEL},
		{"1 f (/lib/modules/6.1/kernel/fs/ext4.ko.xz)", PERF_CODE_KERNEL},
		{"1 f (bpf_prog_6deef7357e7b4530)", PERF_CODE_KERNEL},
		{"ffffffff81000000 [unknown] ([unknown])", PERF_CODE_KERNEL},
		{"7fff81000000 [unknown] ([unknown])", PERF_CODE_UNKNOWN},
		{"1 f", PERF_CODE_UNKNOWN},
		{"1 f ([vdso])", PERF_CODE_VDSO},
		{"1 f ([heap])", PERF_CODE_FILE},
		{"1 f (/usr/bin/x)", PERF_CODE_FILE},
		{"1 f (/tmp/perf-123.map)", PERF_CODE_RUN_TIME},
		{"1 f (/root/.debug/jit/jitted-1-2.so)", PERF_CODE_RUN_TIME},
		{"1 f (//anon)", PERF_CODE_RUN_TIME},
		{"1 f ([anon:v8])", PERF_CODE_RUN_TIME},
		{"1 f (inlined)", PERF_CODE_INLINED},
	};
	struct perf_frame frame;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		frame = frame_of(cases[i].line);
		CHECK_EQ(perf_script_code(&frame), cases[i].code);
	}
}

/* Every truncation, before an unreadable page. */
TEST(perf_script_lines_cut_off)
{
	static const char *const lines[] = {"a b 12/34 [003] 1.5: 10 x:y: z",
					    "\t 7f+0x a+0x1 (/b (deleted))", "  f.c:12",
					    "\t 7 f(void (*)(int)) ([kernel.kallsyms])"};
	size_t i, nr;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (nr = 0; nr <= strlen(lines[i]); nr++) {
			char *guarded = test_guarded(lines[i], nr);
			struct perf_header header;
			struct perf_frame frame;
			struct perf_text file;
			uint32_t number;

			(void)perf_script_header(guarded, nr, &header);
			if (perf_script_frame(guarded, nr, &frame))
				(void)perf_script_code(&frame);
			(void)perf_script_place(guarded, nr, &file, &number);
			(void)perf_script_is_it(guarded, nr);
		}
}

/* --- files ------------------------------------------------------------------------------------ */

static struct profile *read_text(const char *text, struct format_notes *notes)
{
	struct profile *profile = profile_new();
	struct error error = {0};
	FILE *in = fmemopen((void *)text, strlen(text), "r");

	CHECK_EQ(perf_script_read(in, profile, notes, &error), 0);
	(void)fclose(in);
	return profile;
}

static void check_folded(const struct profile *profile, unsigned labels, const char *wanted)
{
	const struct format_options options = {.labels = labels, .annotate = true, .lines = true};
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(folded_write(profile, &options, out), 0);
	(void)fclose(out);
	CHECK_STR(text, wanted);
	free(text);
}

static void check_read(const char *text, const char *wanted)
{
	struct format_notes notes;
	struct profile *profile = read_text(text, &notes);

	CHECK_EQ(notes.bad_lines, 0);
	check_folded(profile, LABEL_COMM, wanted);
	profile_free(profile);
}

TEST(perf_script_samples)
{
	check_read("# comment\n#\na b 1/2 [000] 1.5: 10 cycles: \n"
		   "\tffffffff81 vfs_read+0x1 ([kernel.kallsyms])\n"
		   "\tffffffff82 [unknown] ([ext4])\n\t 11 main+0x2 (/bin/a)\n\n"
		   "a b 1/3 [001] 1.6: 5 cycles: \n"
		   "\tffffffff85 vfs_read+0x9 ([kernel.kallsyms])\n"
		   "\tffffffff82 [unknown] ([ext4])\n\t 15 main+0x6 (/bin/a)\n",
		   "a b;main;[unknown]_[k];vfs_read_[k] 15\n");
	check_read("a 1 1.5: cycles: \r\n\t 1 main (/bin/a)\r\n\r\na 1 1.6: cycles: \r\n\r\n",
		   "a 1\na;main 1\n");
	check_read("a 19983 cycles: \nff read ([kernel.kallsyms])\nfe main (/bin/a)\n",
		   "a;main;read_[k] 1\n");
	check_read("a \n\t 11f7 work\n\t 2724a main\n\n", "a;main;work 1\n");
	check_read("    a b 1 1.5: 7 cycles:  ffffffff81 f+0x1 ([kernel.kallsyms])\n"
		   "     dd 2 1.6: 9 cycles:  11 main+0x1 (/bin/dd)\n",
		   "dd;main 9\na b;f_[k] 7\n");
}

TEST(perf_script_unknown_in_the_upper_half)
{
	check_read("a 1 1.5: cycles: \n\tffffffff81 [unknown] ([unknown])\n"
		   "\tffffffff81000000 [unknown] ([unknown])\n\t 1 main (/bin/a)\n"
		   "\tfffffffffffffff0 [unknown] ([unknown])\n\n",
		   "a;[unknown];main;[unknown];[unknown] 1\n");
	check_read("a 1 1.5: cycles: \n\tffffffff81000000 [unknown] ([unknown])\n"
		   "\t 1 main (/bin/a)\n\tfffffffffffffff0 [unknown] ([unknown])\n\n",
		   "a;[unknown];main;[unknown]_[k] 1\n");
}

TEST(perf_script_inlined_and_lines)
{
	check_read("a 1 1.5: cycles: \n\t 1 in2 (inlined)\n  x.h:3\n\t 1 in (inlined)\n"
		   "\t 1 f+0x1 (/bin/a)\n  /src/a.c:12\n\t 2 main+0x1 (/bin/a)\n  a[ff]\n\n",
		   "a;main;f a.c:12;in_[i];in2 x.h:3_[i] 1\n");
	check_read("a 1 1.5: cycles: \n\t 1 Lx;::a->Ly;::b->c (/tmp/perf-1.map)\n"
		   "\t 2 A::operator->() (/bin/a)\n\n",
		   "a;A::operator->();Lx:::a_[j];Ly:::b_[i];c_[i] 1\n");
	check_read("a 1 1.5: cycles: \n\t 1 in (inlined)\n\n", "a;in 1\n");
	check_read("a 1 1.5: cycles: \n\tffffffff81000001 in (inlined)\n"
		   "\tffffffff81000001 f ([ext4])\n\t 1 main (/bin/a)\n\n",
		   "a;main;f_[k];in_[i] 1\n");
}

/* perf calls inlined what has another name in the debug info: its caller says nothing of its file. */
TEST(perf_script_inlined_at_another_address)
{
	static const char text[] =
		"a 1 1.5: cycles: \n\t 9 malloc2 (inlined)\n\t 9 malloc (inlined)\n"
		"\t 5 in (inlined)\n\t 5 f+0x1 (/bin/a)\n\n";
	struct format_notes notes;
	struct profile *profile = read_text(text, &notes);
	const struct sample *sample = profile_sample(profile, 0);
	const uint32_t *frames = profile_sample_frames(profile, sample);

	check_folded(profile, LABEL_COMM, "a;f;in_[i];malloc;malloc2_[i] 1\n");
	CHECK_EQ(sample->nr_frames, 2);
	CHECK_EQ(profile_frame(profile, frames[0])->module, MODULE_NR_UNKNOWN);
	CHECK_EQ(profile_module(profile, profile_frame(profile, frames[1])->module)->kind,
		 MODULE_FILE);
	profile_free(profile);
	check_read("a 1 1.5: cycles: \n\tffffffff81000009 in (inlined)\n"
		   "\tffffffff81000001 f ([ext4])\n\t 1 main (/bin/a)\n\n",
		   "a;main;f_[k];in_[k] 1\n");
}

TEST(perf_script_events_are_values)
{
	struct format_notes notes;
	struct profile *profile =
		read_text("a 1/1 [000] 1.0: 10 cycles: \n\t 1 main (/bin/a)\n\n"
			  "a 1/1 [000] 3.5: 7 page-faults: \n\t 1 main (/bin/a)\n\n"
			  "a 1/1 [000] 2.5: 3 page-faults: \n\t 1 other (/bin/a)\n\n"
			  "a 1/1 [000] 2.0: sched:x: y z\n\t 1 main (/bin/a)\n\n",
			  &notes);
	int faults = profile_find_value(profile, "page-faults");

	CHECK(faults > 0);
	CHECK_EQ(profile_nr_values(profile), 4); /* with the number of samples */
	CHECK_EQ(profile_value_total(profile, (size_t)faults), 10);
	CHECK_EQ(notes.nr_events, 3);
	CHECK_EQ(notes.labels, LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU);
	CHECK_STR(profile_string(profile, profile_origin(profile)->event), "cycles");
	CHECK_EQ(profile_origin(profile)->period, 10);
	CHECK_EQ(profile_origin(profile)->duration_ns, 2500000000);
	CHECK(profile_is_sum(profile));
	check_folded(profile, LABEL_COMM | LABEL_PID | LABEL_TID, "a-1/1;main 10\n");
	profile_free(profile);
}

TEST(perf_script_passes_over)
{
	struct format_notes notes;
	struct profile *profile =
		read_text("\t 1 nobody (/bin/a)\na 1/1 [000] 1.0: 10 cycles: \n"
			  "\t 1 main (/bin/a)\n 0x1/0x2/P/-/-/0  0x3/0x4/M/-/-/0\n?? \n\nwhat\n\n",
			  &notes);

	CHECK_EQ(notes.bad_lines, 3);
	CHECK_EQ(notes.first_bad_line, 1);
	check_folded(profile, LABEL_COMM, "a;main 10\n");
	profile_free(profile);
}

TEST(perf_script_counts_samples_beside_periods)
{
	static const char text[] = "a 1/1 [000] 1.0: 10 cycles: \n\t 1 main (/bin/a)\n\n"
				   "a 1/1 [000] 1.1: 30 cycles: \n\t 1 main (/bin/a)\n\n"
				   "a 1/1 [000] 1.1: 7 faults: \n\t 1 main (/bin/a)\n\n";
	static const char own[] = "a 1/1 [000] 2.0: 12 samples: \n\t 1 main (/bin/a)\n\n";
	char both[sizeof(text) + sizeof(own)];
	struct format_notes notes;
	struct profile *profile = read_text(text, &notes);
	int samples = profile_find_value(profile, "samples");

	CHECK_EQ(profile_total(profile), 40);
	CHECK(samples > 0);
	CHECK_EQ(profile_value_total(profile, (size_t)samples), 3);
	CHECK_EQ(profile_nr_values(profile), 3);
	profile_free(profile);
	/* An event of that name says it itself. */
	(void)snprintf(both, sizeof(both), "%s%s", text, own);
	profile = read_text(both, &notes);
	CHECK_EQ(profile_value_total(profile, (size_t)profile_find_value(profile, "samples")), 12);
	CHECK_EQ(profile_total(profile), 40);
	profile_free(profile);
	profile = read_text(own, &notes);
	CHECK_EQ(profile_nr_values(profile), 1);
	CHECK_EQ(notes.nr_events, 1);
	CHECK_EQ(profile_total(profile), 12);
	profile_free(profile);
}

TEST(perf_script_empty)
{
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};
	FILE *in = fopen("/dev/null", "r");

	CHECK_EQ(perf_script_read(in, profile, &notes, &error), 0);
	CHECK_EQ(profile_nr_samples(profile), 0);
	(void)fclose(in);
	profile_free(profile);
}

TEST(perf_script_nothing)
{
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};
	FILE *in = fmemopen((void *)"what\nis this\n", 13, "r");

	CHECK_EQ(perf_script_read(in, profile, &notes, &error), -EBADMSG);
	CHECK(strstr(error.text, "perf script") != NULL);
	(void)fclose(in);
	profile_free(profile);
}

static bool is_it(const char *head)
{
	return perf_script_is_it(test_guarded(head, strlen(head)), strlen(head));
}

TEST(perf_script_knows_its_own)
{
	CHECK(is_it("# ========\n# captured on"));
	CHECK(is_it("#\n\na 1 1.5: 10 cycles: \n"));
	CHECK(is_it("a 19983 cycles:\n"));
	CHECK(is_it("a b \n\t 11f7 work\n"));
	CHECK(!is_it("a b \n"));
	CHECK(!is_it("a;b;c 3\na;b 4\n"));
	CHECK(!is_it("a;b 12 c: 3\n"));
	CHECK(!is_it("# just a comment\n"));
	CHECK(!is_it(""));
}

/* --- writing ---------------------------------------------------------------------------------- */

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

TEST(perf_script_written)
{
	struct profile *profile = profile_new();
	struct sample_labels labels = {.pid = 12, .tid = 13, .cpu = 3};
	char *text;

	(void)make_labelled(profile, labels, "#a b;main;in_[i];jit_[j];[missed] 3");
	text = written(profile, LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU);
	CHECK(!strncmp(text, "?a b 12/13 [003] 0.000000:          3 samples: \n", 47));
	CHECK(strstr(text, "\t               0 [Missed Kernel Stack] ([unknown])\n\t") != NULL);
	CHECK(strstr(text, " jit (/tmp/perf-12.map)\n\t") != NULL);
	CHECK(strstr(text, " in (inlined)\n\t") != NULL);
	CHECK(strstr(text, " main (/usr/lib/app)\n\n") != NULL);
	free(text);
	text = written(profile, LABEL_COMM);
	CHECK(!strncmp(text, "?a b 13 0.000000:          3 samples: \n", 38));
	free(text);
	profile_free(profile);
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
	char *text, *before = NULL;
	size_t nr;
	FILE *out = open_memstream(&before, &nr);

	(void)make_sample(profile, "a b;[missed];sys_[k] 32");
	(void)make_sample(profile, "a b;main;in_[i];in2_[i];f(int, char);sys_[k];vfs_[k] 16");
	(void)make_sample(profile, "a b;main;jit_[j] 8");
	(void)make_sample(profile, "a b;main;libc.so! 4");
	(void)make_sample(profile, "c;!_[k] 2");
	(void)make_sample(profile, "c 1");
	text = written(profile, LABEL_COMM);
	again = read_text(text, &notes);
	CHECK_EQ(notes.bad_lines, 0);
	CHECK_EQ(folded_write(profile, &options, out), 0);
	(void)fclose(out);
	check_folded(again, LABEL_COMM, before);
	free(before);
	free(text);
	profile_free(again);
	profile_free(profile);
}

TEST(perf_script_without_memory)
{
	static const char text[] = "a 1 1.5: 4 cycles: \n\t 1 in (inlined)\n\t 1 f (/bin/a)\n"
				   "\t 2 a->b (/tmp/perf-1.map)\n  a.c:1\n\n"
				   "b 1 1.5: 4 faults: \n\t 1 f (/bin/a)\n\n";
	struct format_notes notes;
	struct error error;
	size_t nth = 1;
	int result;

	do {
		struct profile *profile = profile_new();
		FILE *in = fmemopen((void *)text, sizeof(text) - 1, "r");

		error = (struct error){0};
		(void)test_fail_allocation(nth++);
		result = perf_script_read(in, profile, &notes, &error);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
		CHECK(result == 0 || *error.text);
		(void)fclose(in);
		profile_free(profile);
	} while (result < 0);
	CHECK(nth > 10);
}
