/* Samples come in the order of the profile, which is that of their first sight. */
#include "format/perf/perf_script_write.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/fd_io.h"
#include "format/perf/perf_script_comments.h"
#include "format/perf/perf_script_words.h"
#include "format/pprof/pprof_values.h"
#include "profile/profile.h"

struct writer {
	const struct profile *profile;
	const struct format_options *options;
	struct perf_words words;
	size_t multiple; /* the value that has no entries: it is the count times the period; or 0 */
	uint64_t nr_entries, nr_written;
	FILE *out;
};

/* --- texts ------------------------------------------------------------------------------------
 */

static bool is_control(char byte)
{
	return (unsigned char)byte < ' ' || byte == 0x7f;
}

static void put_text(struct writer *writer, const char *text)
{
	for (; *text; text++)
		(void)putc_unlocked(is_control(*text) ? '?' : *text, writer->out);
}

static void put_name(struct writer *writer, uint32_t string)
{
	put_text(writer, string ? profile_string(writer->profile, string) : "[unknown]");
}

/*
 * Readers take a blank at the beginning of a line for a frame, a # for a comment, and blanks behind
 * the name for what comes before the next field. So these are written as /proc/mounts has them.
 */
static bool is_escaped(const char *text, const char *at)
{
	bool is_first = at == text, is_last = !at[1];

	return is_control(*at) || *at == '\\' || (*at == '#' && is_first) ||
	       (*at == ' ' && (is_first || is_last));
}

static void put_comm(struct writer *writer, uint32_t string)
{
	const char *text = profile_string(writer->profile, string), *at;

	if (!string)
		put_name(writer, string);
	for (at = text; *at; at++)
		if (is_escaped(text, at))
			(void)fprintf(writer->out, "\\%03o", (unsigned char)*at);
		else
			(void)putc_unlocked(*at, writer->out);
}

/* --- frames -----------------------------------------------------------------------------------
 */

static void put_file(struct writer *writer, const struct frame *frame, int32_t pid)
{
	const struct module *module = profile_module(writer->profile, frame->module);

	if (module->kind == MODULE_RUN_TIME)
		(void)fprintf(writer->out, "/tmp/perf-%d.map", pid < 0 ? 0 : (int)pid);
	else if (frame->kind == FRAME_KERNEL && frame->module <= MODULE_NR_KERNEL)
		(void)fputs_unlocked("[kernel.kallsyms]", writer->out);
	else
		put_name(writer, module->name);
}

static void begin_frame(struct writer *writer, uint64_t address)
{
	(void)fprintf(writer->out, "\t%16" PRIx64 " ", address < PROFILE_NOWHERE ? address : 0);
}

static void put_frame(struct writer *writer, const struct frame *frame, int32_t pid)
{
	const struct code_line *lines = profile_lines(writer->profile, frame);
	size_t i;

	for (i = 0; i + 1 < frame->nr_lines; i++) {
		begin_frame(writer, frame->address);
		put_name(writer, lines[i].function);
		(void)fputs_unlocked(" (inlined)\n", writer->out);
	}
	begin_frame(writer, frame->address);
	put_name(writer, frame->nr_lines ? lines[frame->nr_lines - 1].function : frame->function);
	(void)fputs_unlocked(" (", writer->out);
	put_file(writer, frame, pid);
	(void)fputs_unlocked(")\n", writer->out);
}

static void put_missed(struct writer *writer, const char *what)
{
	begin_frame(writer, 0);
	(void)fprintf(writer->out, "[Missed %s Stack] ([unknown])\n", what);
}

static void put_frames(struct writer *writer, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(writer->profile, sample);
	size_t nr_kernel = sample->nr_kernel_frames, i;

	if (!nr_kernel && sample->labels.kernel_end == WALK_MISSED && !writer->options->no_kernel)
		put_missed(writer, "Kernel");
	for (i = 0; i < sample->nr_frames; i++)
		put_frame(writer, profile_frame(writer->profile, frames[i]), sample->labels.pid);
	if (sample->nr_frames == nr_kernel && sample->labels.user_end == WALK_MISSED &&
	    !writer->options->no_user)
		put_missed(writer, "User");
}

/* --- entries ----------------------------------------------------------------------------------
 */

static void put_ids(struct writer *writer, const struct sample_labels *labels)
{
	if (writer->options->labels & LABEL_PID)
		(void)fprintf(writer->out, " %d/%d", (int)labels->pid, (int)labels->tid);
	else
		(void)fprintf(writer->out, " %d", (int)labels->tid);
	if (writer->options->labels & LABEL_CPU)
		(void)fprintf(writer->out, " [%03d]", (int)labels->cpu);
}

/*
 * When nothing is known of single samples they are spread evenly, so that the first and the last one
 * tell how long the run was. If that is not known either, no duration is made up.
 */
static uint64_t spread_us(const struct writer *writer)
{
	uint64_t all_us = profile_origin(writer->profile)->duration_ns / 1000;

	if (writer->nr_entries < 2)
		return 0;
	return (uint64_t)((double)all_us *
			  ((double)writer->nr_written / (double)(writer->nr_entries - 1)));
}

static uint64_t time_of(const struct writer *writer, const struct sample *sample)
{
	if (sample->labels.slice)
		return profile_slice(writer->profile, sample->labels.slice).start_ns / 1000;
	return profile_origin(writer->profile)->time_ns / 1000 + spread_us(writer);
}

static void put_entry(struct writer *writer, const struct sample *sample, size_t value,
		      uint64_t period)
{
	uint64_t time_us = time_of(writer, sample);

	writer->nr_written++;
	put_comm(writer, sample->labels.comm);
	put_ids(writer, &sample->labels);
	(void)fprintf(writer->out, " %" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " ", time_us / 1000000,
		      time_us % 1000000, period);
	perf_words_put(&writer->words, value, writer->out);
	(void)fputs_unlocked(": \n", writer->out);
	put_frames(writer, sample);
	(void)putc_unlocked('\n', writer->out);
}

static uint64_t period_of(const struct writer *writer, uint32_t sample, size_t value)
{
	if (value && value == writer->multiple)
		return 0;
	return profile_value(writer->profile, sample, value);
}

/* How many there will be: times are spread over them. */
static uint64_t count_entries(const struct writer *writer)
{
	size_t nr = profile_nr_samples(writer->profile), i;
	uint64_t nr_entries = 0;
	uint32_t sample;

	for (sample = 0; sample < nr; sample++)
		for (i = 0; i < writer->words.nr; i++)
			nr_entries += period_of(writer, sample, i) != 0;
	return nr_entries;
}

static void put_sample(struct writer *writer, uint32_t number)
{
	const struct sample *sample = profile_sample(writer->profile, number);
	size_t i;

	for (i = 0; i < writer->words.nr; i++) {
		uint64_t period = period_of(writer, number, i);

		if (period)
			put_entry(writer, sample, i, period);
	}
}

/* --- the whole --------------------------------------------------------------------------------
 */

/* As "cpu" is beside samples, of the event's name and unit, in pprof files. */
static size_t find_multiple(const struct profile *profile)
{
	const struct profile_origin *origin = profile_origin(profile);
	size_t nr = profile_nr_values(profile), i;

	if (!origin->period || profile_is_sum(profile))
		return 0;
	for (i = 1; i < nr; i++) {
		struct value_type type = profile_value_type(profile, i);

		if (type.type == origin->event && type.unit == origin->unit &&
		    pprof_values_are_multiples(profile, i, 0, origin->period))
			return i;
	}
	return 0;
}

int perf_script_write(const struct profile *profile, const struct format_options *options,
		      FILE *out)
{
	struct writer writer = {.profile = profile, .options = options, .out = out};
	size_t nr = profile_nr_samples(profile);
	uint32_t i;

	errno = 0;
	perf_words_init(&writer.words, profile);
	writer.multiple = find_multiple(profile);
	writer.nr_entries = count_entries(&writer);
	perf_comments_write(profile, &writer.words, writer.multiple,
			    options->labels & PERF_COMMENT_LABELS, out);
	for (i = 0; i < nr && !ferror_unlocked(out); i++)
		put_sample(&writer, i);
	return stream_finish(out);
}
