/* Writes perf script text. Samples come in the order of the profile, in which they were first seen. */
#include "format/perf/perf_script.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/fd_io.h"
#include "base/text.h"
#include "format/perf/perf_script_parts.h"
#include "profile/profile.h"

struct writer {
	const struct profile *profile;
	const struct format_options *options;
	struct perf_words words;
	size_t multiple; /* the value that has no entries: it is the count times the period; or 0 */
	uint64_t nr_entries, nr_written;
	FILE *out;
};

/* --- texts ------------------------------------------------------------------------------------ */

static void put_name(struct writer *writer, uint32_t string)
{
	text_write(writer->out, string ? profile_string(writer->profile, string) : "[unknown]");
}

/*
 * Readers take a blank at the beginning of a line for a frame, a # for a comment, and blanks behind
 * the name for what comes before the next field. So these are written as /proc/mounts has them.
 */
static bool is_escaped(const char *text, const char *at)
{
	bool is_first = at == text, is_last = !at[1];

	return *at == '\\' || (*at == '#' && is_first) || (*at == ' ' && (is_first || is_last));
}

static void put_comm(struct writer *writer, uint32_t string)
{
	const char *text = profile_string(writer->profile, string), *at;
	size_t bytes;

	if (!string)
		put_name(writer, string);
	for (at = text; *at; at += bytes ? bytes : 1) {
		bytes = is_escaped(text, at) ? 0 : text_character(at);
		if (bytes == 1)
			(void)putc_unlocked(*at, writer->out);
		else if (bytes)
			(void)fwrite_unlocked(at, 1, bytes, writer->out);
		else
			(void)fprintf(writer->out, "\\%03o", (unsigned char)*at);
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

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

/* --- entries ---------------------------------------------------------------------------------- */

/*
 * The time of an entry. Since nothing is known of single samples they are spread evenly, so that the
 * first and the last one say how long the run was. If that is not known either, no duration is made
 * up.
 */
static uint64_t time_of(const struct writer *writer, const struct sample *sample)
{
	const struct profile_origin *origin = profile_origin(writer->profile);
	uint64_t duration_us = origin->duration_ns / 1000, spread_us = 0;

	if (sample->labels.slice)
		return profile_slice(writer->profile, sample->labels.slice).start_ns / 1000;
	if (writer->nr_entries >= 2)
		spread_us = (uint64_t)((double)duration_us * ((double)writer->nr_written /
							      (double)(writer->nr_entries - 1)));
	return origin->time_ns / 1000 + spread_us;
}

static void put_entry(struct writer *writer, const struct sample *sample, size_t value,
		      uint64_t period)
{
	const struct sample_labels *labels = &sample->labels;
	uint64_t time_us = time_of(writer, sample);

	writer->nr_written++;
	put_comm(writer, labels->comm);
	if (writer->options->labels & LABEL_PID)
		(void)fprintf(writer->out, " %d/%d", (int)labels->pid, (int)labels->tid);
	else
		(void)fprintf(writer->out, " %d", (int)labels->tid);
	if (writer->options->labels & LABEL_CPU)
		(void)fprintf(writer->out, " [%03d]", (int)labels->cpu);
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

/* --- the whole -------------------------------------------------------------------------------- */

/* The stored value that says no more than the samples and the period do, as "cpu" in pprof files. */
static size_t find_multiple(const struct profile *profile)
{
	struct profile_value values[PROFILE_MAX_VALUES];
	size_t nr = profile_values(profile, values), i;

	for (i = 0; i < nr; i++)
		if (values[i].is_event)
			return values[i].number;
	return 0;
}

int perf_script_write(const struct profile *profile, const struct format_options *options,
		      FILE *out)
{
	struct writer writer = {.profile = profile, .options = options, .out = out};
	size_t nr = profile_nr_samples(profile), k;
	uint64_t period;
	uint32_t i;

	errno = 0;
	perf_words_init(&writer.words, profile);
	writer.multiple = find_multiple(profile);
	for (i = 0; i < nr; i++)
		for (k = 0; k < writer.words.nr; k++)
			writer.nr_entries += period_of(&writer, i, k) != 0;
	perf_comments_write(profile, &writer.words, writer.multiple,
			    options->labels & PERF_COMMENT_LABELS, out);
	for (i = 0; i < nr && !ferror_unlocked(out); i++)
		for (k = 0; k < writer.words.nr; k++) {
			period = period_of(&writer, i, k);
			if (period)
				put_entry(&writer, profile_sample(profile, i), k, period);
		}
	return stream_finish(out);
}
