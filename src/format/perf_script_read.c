/*
 * Line by line; a sample is put together until an empty line, or the next header, ends it. Nothing is
 * kept of the text. A line that is a header only because nothing speaks against it counts as one
 * when a frame follows.
 */
#include "format/perf_script_read.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/line_reader.h"
#include "format/clean_string.h"
#include "format/perf_script_events.h"
#include "format/perf_script_line.h"
#include "format/perf_script_stack.h"
#include "profile/profile_values.h"

struct reader {
	struct profile *profile;
	struct format_notes *notes;
	struct error *error;
	struct line_reader lines;

	struct perf_events events;
	uint64_t period; /* of the first event; 0: it varies, or there was none so far */
	bool has_periods, varies, has_time;
	uint64_t first_ns, last_ns; /* time */
	uint64_t nr_samples;

	bool in_sample;
	bool is_sure; /* that it is one */
	uint64_t header_line;
	struct sample_labels labels;
	size_t event;
	uint64_t weight;
	struct perf_stack stack;
};

static void note_bad_line(struct reader *reader, uint64_t number)
{
	if (!reader->notes->bad_lines++ || number < reader->notes->first_bad_line)
		reader->notes->first_bad_line = number;
}

/* --- samples -----------------------------------------------------------------------------------
 */

static void note_labels(struct reader *reader, const struct perf_header *header)
{
	reader->notes->labels |=
		(header->comm.nr ? LABEL_COMM : 0) | (header->has_pid ? LABEL_PID : 0) |
		(header->has_tid ? LABEL_TID : 0) | (header->has_cpu ? LABEL_CPU : 0);
}

static void note_time(struct reader *reader, uint64_t time_ns)
{
	if (!reader->has_time || time_ns < reader->first_ns)
		reader->first_ns = time_ns;
	reader->has_time = true;
	if (time_ns > reader->last_ns)
		reader->last_ns = time_ns;
}

static void note_period(struct reader *reader, uint64_t period)
{
	reader->has_periods = true;
	if (reader->period && reader->period != period)
		reader->varies = true;
	reader->period = period;
}

static void end_sample(struct reader *reader)
{
	reader->in_sample = false;
	perf_stack_reset(&reader->stack);
}

static int count_sample(struct reader *reader)
{
	const struct perf_stack *stack = &reader->stack;
	struct profile *profile = reader->profile;
	int64_t number;

	reader->nr_samples++;
	if (reader->weight > INT64_MAX - profile_value_total(profile, reader->event)) {
		note_bad_line(reader, reader->header_line);
		return 0;
	}
	number = profile_add_sample(profile, &reader->labels, stack->frames, stack->nr_frames,
				    stack->nr_kernel, 0);
	if (number < 0 ||
	    profile_add_value(profile, (uint32_t)number, reader->event, reader->weight) < 0)
		return -ENOMEM;
	return reader->events.samples
		       ? profile_add_value(profile, (uint32_t)number, reader->events.samples, 1)
		       : 0;
}

/* A stack that is too long for the profile loses its root. */
static int finish_sample(struct reader *reader)
{
	const struct perf_stack *stack = &reader->stack;
	struct sample_labels *labels = &reader->labels;
	int result;

	if (!reader->in_sample)
		return 0;
	result = perf_stack_finish(&reader->stack);
	if (result < 0)
		return result;
	labels->user_end = stack->nr_frames > stack->nr_kernel ? WALK_COMPLETE : WALK_NONE;
	labels->kernel_end = stack->nr_kernel ? WALK_UNWOUND : WALK_NONE;
	if (stack->is_cut)
		labels->user_end = WALK_TRUNCATED;
	if (reader->is_sure || stack->nr_frames)
		result = reader->event < PROFILE_MAX_VALUES ? count_sample(reader) : 0;
	else
		note_bad_line(reader, reader->header_line);
	end_sample(reader);
	return result;
}

/* --- headers -----------------------------------------------------------------------------------
 */

static int begin_sample(struct reader *reader, const struct perf_header *header)
{
	struct perf_frame frame;
	int64_t comm;
	int result = finish_sample(reader);

	if (result < 0)
		return result;
	comm = clean_string_add(reader->profile, header->comm.at, header->comm.nr);
	if (comm < 0)
		return (int)comm;
	reader->labels = (struct sample_labels){
		.comm = (uint32_t)comm, .pid = header->pid, .tid = header->tid, .cpu = header->cpu};
	reader->in_sample = true;
	reader->is_sure = perf_header_is_sure(header);
	reader->header_line = reader->lines.number;
	reader->weight = header->has_period && header->period ? header->period : 1;
	result = perf_events_find(&reader->events, header, &reader->event);
	if (result < 0)
		return result;
	reader->notes->dropped_samples += reader->event >= PROFILE_MAX_VALUES;
	note_labels(reader, header);
	if (header->has_time)
		note_time(reader, header->time_ns);
	if (header->has_period && reader->event == 0)
		note_period(reader, reader->weight);
	if (perf_script_frame(header->rest.at, header->rest.nr, &frame) && frame.file.nr)
		return perf_stack_add(&reader->stack, &frame);
	return 0;
}

/* --- lines -------------------------------------------------------------------------------------
 */

static bool is_branch_stack(const struct line *line)
{
	size_t blanks = 0;

	while (blanks < line->nr && line->text[blanks] == ' ')
		blanks++;
	return line->nr - blanks > 2 && line->text[blanks] == '0' && line->text[blanks + 1] == 'x';
}

/* A header behind blanks is that of a sample without call stack, whose comm stands to the right. */
static int read_indented(struct reader *reader, const struct line *line)
{
	struct perf_header header;
	struct perf_frame frame;
	struct perf_text file;
	uint32_t number;

	if (*line->text == ' ' && perf_script_header(line->text, line->nr, &header) &&
	    (header.has_cpu || header.has_time))
		return begin_sample(reader, &header);
	if (reader->in_sample && perf_script_frame(line->text, line->nr, &frame))
		return perf_stack_add(&reader->stack, &frame);
	if (reader->in_sample && perf_script_place(line->text, line->nr, &file, &number))
		return perf_stack_add_place(&reader->stack, file, number);
	if (!reader->in_sample || !is_branch_stack(line))
		note_bad_line(reader, reader->lines.number);
	return 0;
}

/* Frames of old scripts begin at the left, too. */
static int read_unindented(struct reader *reader, const struct line *line)
{
	struct perf_header header;
	struct perf_frame frame;

	(void)perf_script_header(line->text, line->nr, &header);
	if (reader->in_sample && !perf_header_is_sure(&header) &&
	    perf_script_frame(line->text, line->nr, &frame) && frame.file.nr)
		return perf_stack_add(&reader->stack, &frame);
	return begin_sample(reader, &header);
}

static int read_line(struct reader *reader, const struct line *line)
{
	if (line->is_cut) {
		note_bad_line(reader, reader->lines.number);
		return 0;
	}
	if (!line->nr)
		return finish_sample(reader);
	if (*line->text == '#')
		return 0;
	if (*line->text == ' ' || *line->text == '\t')
		return read_indented(reader, line);
	return read_unindented(reader, line);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void set_origin(struct reader *reader)
{
	struct profile_origin origin = *profile_origin(reader->profile);

	if (reader->has_periods && !reader->varies)
		origin.period = reader->period;
	origin.duration_ns = reader->last_ns - reader->first_ns;
	profile_set_origin(reader->profile, &origin);
}

static int read_lines(struct reader *reader)
{
	struct line line;
	int result;

	while ((result = line_reader_next(&reader->lines, &line)) > 0) {
		result = read_line(reader, &line);
		if (result < 0)
			break;
	}
	if (!result)
		result = finish_sample(reader);
	if (!result && !reader->nr_samples && reader->lines.number)
		return error_set(reader->error, -EBADMSG,
				 "it has no sample: the output of `perf script` is expected");
	set_origin(reader);
	reader->notes->nr_events = reader->events.nr - (reader->events.samples != 0);
	return result;
}

static void clear_reader(struct reader *reader)
{
	line_reader_clear(&reader->lines);
	perf_stack_clear(&reader->stack);
}

int perf_script_read(FILE *in, struct profile *profile, struct format_notes *notes,
		     struct error *error)
{
	cleanup(clear_reader) struct reader reader = {.profile = profile,
						      .notes = notes,
						      .error = error,
						      .lines = {.in = in},
						      .events = {.profile = profile}};
	int result = perf_stack_init(&reader.stack, profile);

	*notes = (struct format_notes){0};
	if (!result)
		result = read_lines(&reader);
	return result < 0 && result != -EBADMSG ? line_reader_explain(result, error) : result;
}

/* The line that begins at *at, which is moved to the next one; without its end. */
static struct perf_text next_line(const char **at, const char *end)
{
	struct perf_text line = {*at, (size_t)(end - *at)};
	const char *line_end = memchr(*at, '\n', line.nr);

	if (line_end)
		line.nr = (size_t)(line_end - *at);
	*at += line.nr + (line_end != NULL);
	if (line.nr && line.at[line.nr - 1] == '\r')
		line.nr--;
	return line;
}

/*
 * The first line that is neither empty nor a comment must be a header. If that can't be told from
 * itself alone, a frame must follow: a line of folded stacks may hold numbers and words with colons.
 */
bool perf_script_is_it(const char *head, size_t nr)
{
	static const char comments[] = "# ========";
	const char *at = head, *end = head + nr;
	struct perf_text line = {head, 0};
	struct perf_header header;
	struct perf_frame frame;

	if (nr >= strlen(comments) && !memcmp(head, comments, strlen(comments)))
		return true;
	while (at < end && (!line.nr || *line.at == '#'))
		line = next_line(&at, end);
	if (!line.nr || *line.at == '#' || !perf_script_header(line.at, line.nr, &header))
		return false;
	if (header.has_cpu || header.has_time || (header.event.nr && !header.rest.nr))
		return true;
	line = next_line(&at, end);
	return line.nr && *line.at == '\t' && perf_script_frame(line.at, line.nr, &frame);
}
