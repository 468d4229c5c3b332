/* format/perf_script_*: the variants of perf's text, and the profiles read from it. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/perf/perf_script.h"
#include "format/perf/perf_script_parts.h"
#include "profile/profile.h"
#include "unit/perf_script_text.h"

/* --- lines ------------------------------------------------------------------------------------ */

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

/* Every truncation, in front of an unreadable page. */
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

/* perf says inlined if debug info has another name: the caller's file is not the symbol's. */
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
			  "a 1/1 [000] 2.6: 10 cycles: \n\t 1 main (/bin/a)\n\n"
			  "a 1/1 [000] 2.0: sched:x: y z\n\t 1 main (/bin/a)\n\n",
			  &notes);
	int faults = profile_find_value(profile, "page-faults");

	CHECK(faults > 0);
	CHECK_EQ(profile_nr_values(profile), 4); /* plus the number of samples */
	CHECK_EQ(profile_value_total(profile, (size_t)faults), 10);
	CHECK_EQ(notes.nr_events, 3);
	CHECK_EQ(notes.labels, LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU);
	CHECK_STR(profile_string(profile, profile_origin(profile)->event), "cycles");
	CHECK_EQ(profile_origin(profile)->period, 10);
	CHECK_EQ(profile_origin(profile)->duration_ns, 2500000000);
	CHECK(profile_is_sum(profile));
	check_folded(profile, LABEL_COMM | LABEL_PID | LABEL_TID, "a-1/1;main 20\n");
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
	/* An event named "samples" replaces the count of samples. */
	(void)snprintf(both, sizeof(both), "%s%s", text, own);
	profile = read_text(both, &notes);
	CHECK_EQ(profile_value_total(profile, (size_t)profile_find_value(profile, "samples")), 12);
	CHECK_EQ(profile_total(profile), 40);
	profile_free(profile);
	profile = read_text(own, &notes);
	CHECK_EQ(profile_nr_values(profile), 1);
	CHECK_EQ(notes.nr_events, 1);
	CHECK(!profile_is_sum(profile));
	CHECK_EQ(profile_total(profile), 12);
	profile_free(profile);
}

static uint64_t value_total(const struct profile *profile, const char *type)
{
	int number = profile_find_value(profile, type);

	CHECK(number >= 0);
	return profile_value_total(profile, (size_t)number);
}

/* The faults at startup come first, but cpu-clock has the most samples. */
TEST(perf_script_most_samples_are_the_count)
{
	struct format_notes notes;
	struct profile *profile = read_text("a 1 1.0: 1 faults: \n\t 1 f (/bin/a)\n\n"
					    "a 1 1.1: 9 misses: \n\t 1 f (/bin/a)\n\n"
					    "a 1 1.2: 5 cpu-clock: \n\t 1 f (/bin/a)\n\n"
					    "a 1 1.3: 5 cpu-clock: \n\t 1 g (/bin/a)\n\n",
					    &notes);
	static const char *const types[] = {"cpu-clock", "samples", "faults", "misses"};
	size_t i;

	CHECK_EQ(profile_nr_values(profile), 4);
	for (i = 0; i < 4; i++)
		CHECK_STR(type_text(profile, i), types[i]);
	CHECK_STR(unit_text(profile, 0), "nanoseconds");
	CHECK_EQ(profile_total(profile), 10);
	CHECK_EQ(value_total(profile, "misses"), 9);
	CHECK_EQ(profile_origin(profile)->period, 5);
	CHECK_STR(profile_string(profile, profile_origin(profile)->event), "cpu-clock");
	profile_free(profile);
	profile = read_text("a 1 1.0: x: \n\t 1 f (/bin/a)\n\na 1 1.1: y: \n\n", &notes);
	CHECK_STR(type_text(profile, 0), "x"); /* equal numbers: the first one */
	profile_free(profile);
}

TEST(perf_script_events_without_periods)
{
	struct format_notes notes;
	struct profile *profile = read_text("a 1 1.0: faults: \n\t 1 f (/bin/a)\n\n"
					    "a 1 1.1: clock: \n\t 1 f (/bin/a)\n\n"
					    "a 1 1.2: clock: \n\t 1 g (/bin/a)\n\n",
					    &notes);

	CHECK_EQ(notes.nr_events, 2);
	CHECK_EQ(profile_nr_values(profile), 3);
	CHECK_EQ(value_total(profile, "clock"), 2);
	CHECK_EQ(value_total(profile, "faults"), 1);
	CHECK_EQ(value_total(profile, "samples"), 3);
	CHECK_STR(unit_text(profile, 0), "samples");
	CHECK_EQ(profile_origin(profile)->period, 0);
	profile_free(profile);
	profile = read_text("a 1 1.0: clock: \n\t 1 f (/bin/a)\n\nwhat\n\n", &notes);
	CHECK_EQ(notes.nr_events, 1);
	CHECK_EQ(profile_nr_values(profile), 1);
	CHECK(!profile_is_sum(profile));
	CHECK_STR(profile_string(profile, profile_origin(profile)->event), "clock");
	profile_free(profile);
}

TEST(perf_script_events_without_names)
{
	struct format_notes notes;
	struct profile *profile = read_text("a 1 1.5: 2 cycles: \n\na 1 1.6: 5\n\n", &notes);

	CHECK_EQ(profile_nr_values(profile), 3);
	CHECK_EQ(value_total(profile, "cycles"), 2);
	CHECK_EQ(value_total(profile, "samples"), 2);
	CHECK_EQ(value_total(profile, "events"), 5);
	profile_free(profile);
}

TEST(perf_script_without_stacks_and_times)
{
	check_read("              sh 18048  ffffffff81 elf_load ([kernel.kallsyms])\n"
		   "              dd 18048      7fcd _start (/lib/ld.so)\n"
		   " redis-benchmark 18049      7fce main (/bin/redis)\n",
		   "dd;_start 1\nredis-benchmark;main 1\nsh;elf_load_[k] 1\n");
	check_read("   sh 18048 cycles:  ffffffff81 elf_load ([kernel.kallsyms])\n"
		   "   sh 18048 cycles:  ffffffff81 elf_load ([kernel.kallsyms])\n",
		   "sh;elf_load_[k] 2\n");
}

static void check_cut_off(const char *text, uint64_t bad_lines, const char *wanted)
{
	struct format_notes notes;
	struct profile *profile = read_text(text, &notes);

	CHECK_EQ(notes.bad_lines, bad_lines);
	check_folded(profile, LABEL_COMM, wanted);
	profile_free(profile);
}

TEST(perf_script_last_line_cut_off)
{
	static const char head[] = "a 5 [000] 1.0: 1 cycles: \n\tabc f+0x1 (/x)\n";
	static const char *const ends[] = {"\tabd g+0x", "\tab", "\tabd g+0x1 (/li",
					   "\na 5 [000] 1.0: 1 cyc"};
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s", head, ends[i]);
		check_cut_off(text, 1, "a;f 1\n");
	}
	(void)snprintf(text, sizeof(text), "%s\tabd g+0x1 (/x)", head);
	check_cut_off(text, 0, "a;g;f 1\n");
	check_cut_off("a 5 1.0: cycles: \n\tabc f\n\tabd g", 0, "a;g;f 1\n");
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
	CHECK(is_it("   sh 18048  ffffffff81 elf_load ([kernel.kallsyms])\n"));
	CHECK(is_it("   sh 18048 cycles:  ffffffff81 elf_load ([kernel.kallsyms])\n"));
	CHECK(!is_it("sh 18048 ffffffff81 f (x) 3\n"));
	CHECK(!is_it("a b \n"));
	CHECK(!is_it("a;b;c 3\na;b 4\n"));
	CHECK(!is_it("a;b 12 c: 3\n"));
	CHECK(!is_it("# just a comment\n"));
	CHECK(!is_it(""));
}

static void check_without_memory(const char *text)
{
	struct format_notes notes;
	struct error error;
	size_t nth = 1;
	int result;

	do {
		struct profile *profile = profile_new();
		FILE *in = fmemopen((void *)text, strlen(text), "r");

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

TEST(perf_script_without_memory)
{
	check_without_memory("a 1 1.5: 4 cycles: \n\t 1 in (inlined)\n\t 1 f (/bin/a)\n"
			     "\t 2 a->b (/tmp/perf-1.map)\n  a.c:1\n\n"
			     "b 1 1.5: 4 faults: \n\t 1 f (/bin/a)\n\n"
			     "b 1 1.6: 4 faults: \n\t 1 f (/bin/a)\n\n");
	check_without_memory("a 1 1.5: cycles: \n\t 1 f (/bin/a)\n\nb 1 1.5: faults: \n\n");
	check_without_memory("# stook: labels: comm\n"
			     "# stook: sampled: every 10 nanoseconds of cpu\n"
			     "# stook: periods of cpu: count of samples\n"
			     "# stook: for each sample: 10 nanoseconds of cpu\n"
			     "# stook: periods of b: bytes of b\n\n"
			     "\\040a 0 1.5: 4 cpu: \n\t 1 f (/bin/a)\n\na 0 1.6: 5 b: \n\n");
}
