/*
 * Line by line; a sample is put together until an empty line, or the next header, ends it. Nothing is
 * kept of the text. A line that is a header only because nothing speaks against it counts as one
 * when a frame follows.
 */
#include "format/perf/perf_script_read.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd_io.h"
#include "format/perf/perf_script_comments.h"
#include "format/perf/perf_script_events.h"
#include "format/perf/perf_script_line.h"
#include "format/perf/perf_script_stack.h"
#include "format/perf/perf_script_told.h"

struct reader {
	struct profile *profile;
	struct format_notes *notes;
	struct error *error;
	struct line_reader lines;

	struct perf_events events;
	struct perf_told told; /* by comments */
	bool has_time;
	uint64_t first_ns, last_ns; /* time */
	uint64_t nr_samples;
	bool has_events, has_files; /* the headers, the frames so far */

	bool in_sample;
	bool is_sure;	  /* that it is one */
	bool is_one_line; /* its only frame stood in the header */
	uint64_t header_line;
	struct sample_labels labels;
	struct perf_header header; /* without its texts */
	struct perf_event *event;  /* NULL: there was no room for it */
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

/* Those that the header has, unless they stand there for others only. */
static unsigned labels_of(const struct reader *reader, const struct perf_header *header)
{
	unsigned labels = (header->comm.nr ? LABEL_COMM : 0) | (header->has_pid ? LABEL_PID : 0) |
			  (header->has_tid ? LABEL_TID : 0) | (header->has_cpu ? LABEL_CPU : 0);

	return reader->told.has_labels ? labels & reader->told.labels : labels;
}

static int set_labels(struct reader *reader, const struct perf_header *header)
{
	unsigned labels = labels_of(reader, header);
	int64_t comm = 0;

	if (labels & LABEL_COMM)
		comm = perf_told_comm(&reader->told, header->comm);
	if (comm < 0)
		return (int)comm;
	reader->labels = (struct sample_labels){
		.comm = (uint32_t)comm,
		.pid = labels & LABEL_PID ? header->pid : 0,
		.tid = labels & LABEL_TID ? header->tid : 0,
		.cpu = labels & LABEL_CPU ? header->cpu : 0,
	};
	reader->notes->labels |= labels;
	return 0;
}

static void note_time(struct reader *reader, uint64_t time_ns)
{
	if (!reader->has_time || time_ns < reader->first_ns)
		reader->first_ns = time_ns;
	reader->has_time = true;
	if (time_ns > reader->last_ns)
		reader->last_ns = time_ns;
}

static int find_event(struct reader *reader, const struct perf_header *header)
{
	int result = perf_events_find(&reader->events, header, &reader->event);

	reader->notes->dropped_samples += !result && !reader->event;
	return result;
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
	if (!reader->event)
		return 0;
	if (!perf_events_have_room(&reader->events, reader->event, reader->weight)) {
		note_bad_line(reader, reader->header_line);
		return 0;
	}
	number = profile_add_sample(profile, &reader->labels, stack->frames, stack->nr_frames,
				    stack->nr_kernel, 0);
	if (number < 0)
		return -ENOMEM;
	return perf_events_count(&reader->events, reader->event, (uint32_t)number, reader->weight);
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
	if (!reader->is_sure && stack->nr_frames)
		result = find_event(reader, &reader->header);
	if (!result && (reader->is_sure || stack->nr_frames))
		result = count_sample(reader);
	else if (!result)
		note_bad_line(reader, reader->header_line);
	end_sample(reader);
	return result;
}

/* --- headers -----------------------------------------------------------------------------------
 */

/* What tracepoints say there is passed over. */
static int add_rest(struct reader *reader, const struct perf_header *header)
{
	struct perf_frame frame;

	reader->is_one_line =
		perf_script_frame(header->rest.at, header->rest.nr, &frame) && frame.file.nr;
	return reader->is_one_line ? perf_stack_add(&reader->stack, &frame) : 0;
}

/* What may turn out to be no header says nothing of events. */
static int begin_sample(struct reader *reader, const struct perf_header *header)
{
	int result = finish_sample(reader);

	if (!result)
		result = set_labels(reader, header);
	if (result < 0)
		return result;
	reader->in_sample = true;
	reader->is_sure = perf_header_is_sure(header);
	reader->header_line = reader->lines.number;
	reader->weight = header->has_period && header->period ? header->period : 1;
	reader->header = *header;
	reader->header.comm = reader->header.event = reader->header.rest = (struct perf_text){0};
	reader->has_events |= header->event.nr > 0;
	if (reader->is_sure)
		result = find_event(reader, header);
	if (result < 0)
		return result;
	if (header->has_time)
		note_time(reader, header->time_ns);
	return add_rest(reader, header);
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

/*
 * A header behind blanks is that of a sample without call stack, whose comm stands to the right. If
 * it has neither CPU nor time, only a frame in the same line tells; and only where no stack goes on,
 * as a comm may look like an address.
 */
static bool is_indented_header(const struct reader *reader, const struct perf_header *header)
{
	if (header->has_cpu || header->has_time)
		return true;
	return (!reader->in_sample || reader->is_one_line) && perf_header_has_frame(header);
}

static int read_indented(struct reader *reader, const struct line *line)
{
	struct perf_header header;
	struct perf_frame frame;
	struct perf_text file;
	uint32_t number;

	if (*line->text == ' ' && perf_script_header(line->text, line->nr, &header) &&
	    is_indented_header(reader, &header))
		return begin_sample(reader, &header);
	if (reader->in_sample && perf_script_frame(line->text, line->nr, &frame)) {
		reader->has_files |= frame.file.nr > 0;
		return perf_stack_add(&reader->stack, &frame);
	}
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

static int read_comment(struct reader *reader, const struct line *line)
{
	struct perf_comment comment = perf_comment_parse(line->text, line->nr);
	bool is_first = !reader->in_sample && !reader->nr_samples;

	switch (comment.kind) {
	case PERF_COMMENT_OTHER:
		return 0;
	case PERF_COMMENT_PERIODS:
	case PERF_COMMENT_FOR_EACH:
		return is_first ? perf_events_tell(&reader->events, &comment) : 0;
	default:
		return perf_told_add(&reader->told, &comment, is_first);
	}
}

/* perf ends each line. The last one may be cut off where it looks like less than those before it. */
static bool is_cut_off(const struct reader *reader, const struct line *line)
{
	const struct line_reader *lines = &reader->lines;
	struct perf_header header;
	struct perf_frame frame;

	if (!lines->at_end || lines->start < lines->end || lines->bytes[lines->end - 1] == '\n')
		return false;
	if (!perf_script_header(line->text, line->nr, &header))
		return false;
	if (perf_header_is_sure(&header))
		return reader->has_events && !header.event.nr;
	return reader->in_sample && reader->has_files &&
	       perf_script_frame(line->text, line->nr, &frame) && !frame.file.nr;
}

static int read_line(struct reader *reader, const struct line *line)
{
	if (!line->nr)
		return finish_sample(reader);
	if (line->is_cut || is_cut_off(reader, line)) {
		note_bad_line(reader, reader->lines.number);
		return 0;
	}
	if (*line->text == '#')
		return read_comment(reader, line);
	if (*line->text == ' ' || *line->text == '\t')
		return read_indented(reader, line);
	return read_unindented(reader, line);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void set_origin(struct reader *reader)
{
	struct profile_origin origin = *profile_origin(reader->profile);

	origin.duration_ns = reader->last_ns - reader->first_ns;
	if (reader->events.is_told)
		perf_told_apply(&reader->told, &origin);
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
	if (!result && !reader->nr_samples && reader->lines.number && !reader->events.is_told)
		return error_set(reader->error, -EBADMSG,
				 "it has no sample: the output of `perf script` is expected");
	if (!result)
		result = perf_events_finish(&reader->events);
	set_origin(reader);
	reader->notes->nr_events = reader->events.is_told ? 0 : reader->events.nr;
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
						      .events = {.profile = profile},
						      .told = {.profile = profile}};
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
	if (header.has_cpu || header.has_time || (header.event.nr && !header.rest.nr) ||
	    perf_header_has_frame(&header))
		return true;
	line = next_line(&at, end);
	return line.nr && *line.at == '\t' && perf_script_frame(line.at, line.nr, &frame);
}
