/*
 * Line by line; a sample is put together until an empty line, or the next header, ends it. Nothing is
 * kept of the text. A line that is a header only because nothing speaks against it counts as one
 * when a frame follows.
 */
#include "format/perf_script_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/line_reader.h"
#include "format/clean_string.h"
#include "format/perf_script_line.h"
#include "format/perf_script_symbols.h"
#include "profile/profile_values.h"

/* A frame while its lines come: what was inlined, then what it is in, and their places. */
struct open_frame {
	struct code_line *lines; /* innermost first */
	size_t nr_lines, cap_lines;
	struct perf_symbol symbol; /* of the last line */
	bool has_places;
};

struct reader {
	struct profile *profile;
	struct perf_script_notes *notes;
	struct error *error;
	struct line_reader lines;
	struct perf_symbols symbols;

	uint32_t events[PROFILE_MAX_VALUES]; /* strings, by the number of the value */
	size_t nr_events;
	uint64_t period; /* of the first event; 0: it varies, or there was none so far */
	bool has_periods, varies;
	uint64_t first_ns, last_ns; /* time */
	uint64_t nr_samples;

	bool in_sample;
	bool is_sure; /* that it is one */
	uint64_t header_line;
	struct sample_labels labels;
	size_t event;
	uint64_t weight;
	struct open_frame open;
	uint32_t *frames; /* leaf first */
	size_t nr_frames, nr_kernel, cap_frames;
};

static void note_bad_line(struct reader *reader, uint64_t number)
{
	if (!reader->notes->bad_lines++ || number < reader->notes->first_bad_line)
		reader->notes->first_bad_line = number;
}

/* --- frames ------------------------------------------------------------------------------------
 */

/* The frame that is complete goes to the stack. */
static int close_frame(struct reader *reader)
{
	struct open_frame *open = &reader->open;
	int64_t frame = open->symbol.frame;

	if (!open->nr_lines)
		return 0;
	if (open->nr_lines > 1 || open->has_places)
		frame = profile_add_named_frame(reader->profile, open->symbol.kind,
						open->symbol.module, open->lines, open->nr_lines);
	if (frame < 0 || array_reserve(&reader->frames, &reader->cap_frames, reader->nr_frames + 1,
				       sizeof(*reader->frames)) < 0)
		return -ENOMEM;
	if (open->symbol.kind == FRAME_KERNEL && reader->nr_kernel == reader->nr_frames)
		reader->nr_kernel++;
	reader->frames[reader->nr_frames++] = (uint32_t)frame;
	open->nr_lines = 0;
	open->has_places = false;
	return 0;
}

/*
 * Below user code, an address in the kernel's half that is in no file is no code: a walk by frame
 * pointers took it for a caller. Without an address it is just unknown.
 */
static struct perf_frame believed(const struct reader *reader, const struct perf_frame *frame)
{
	struct perf_frame believed = *frame;

	if (reader->nr_kernel < reader->nr_frames)
		believed.address = 0;
	return believed;
}

static int add_frame(struct reader *reader, const struct perf_frame *frame)
{
	struct open_frame *open = &reader->open;
	const struct perf_symbol *symbol;
	struct perf_frame known;
	int result = 0;

	if (open->nr_lines && open->symbol.code != PERF_CODE_INLINED)
		result = close_frame(reader);
	if (result < 0)
		return result;
	known = believed(reader, frame);
	symbol = perf_symbols_find(&reader->symbols, &known);
	if (!symbol || array_reserve(&open->lines, &open->cap_lines, open->nr_lines + 1,
				     sizeof(*open->lines)) < 0)
		return -ENOMEM;
	open->symbol = *symbol;
	open->lines[open->nr_lines++] = (struct code_line){.function = symbol->name};
	return 0;
}

/* Where the last frame's source is. */
static int add_place(struct reader *reader, struct perf_text file, uint32_t number)
{
	struct open_frame *open = &reader->open;
	int64_t name;

	if (!open->nr_lines || !file.nr)
		return 0;
	name = clean_string_add(reader->profile, file.at, file.nr);
	if (name < 0)
		return (int)name;
	open->lines[open->nr_lines - 1].file = (uint32_t)name;
	open->lines[open->nr_lines - 1].line = number;
	open->has_places = true;
	return 0;
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
	if (!reader->first_ns || time_ns < reader->first_ns)
		reader->first_ns = time_ns;
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
	reader->open.nr_lines = 0;
	reader->open.has_places = false;
	reader->nr_frames = 0;
	reader->nr_kernel = 0;
}

static int count_sample(struct reader *reader)
{
	bool is_count = reader->event == 0;
	int64_t number;

	reader->nr_samples++;
	if (reader->weight > INT64_MAX - profile_value_total(reader->profile, reader->event)) {
		note_bad_line(reader, reader->header_line);
		return 0;
	}
	number = profile_add_sample(reader->profile, &reader->labels, reader->frames,
				    reader->nr_frames, reader->nr_kernel,
				    is_count ? reader->weight : 0);
	if (number >= 0 && !is_count)
		number = profile_add_value(reader->profile, (uint32_t)number, reader->event,
					   reader->weight);
	return number < 0 ? (int)number : 0;
}

/* A stack that is too long for the profile loses its root. */
static int finish_sample(struct reader *reader)
{
	struct sample_labels *labels = &reader->labels;
	int result;

	if (!reader->in_sample)
		return 0;
	result = close_frame(reader);
	labels->user_end = reader->nr_frames > reader->nr_kernel ? WALK_COMPLETE : WALK_NONE;
	labels->kernel_end = reader->nr_kernel ? WALK_UNWOUND : WALK_NONE;
	if (reader->nr_frames > UINT16_MAX) {
		reader->nr_frames = UINT16_MAX;
		labels->user_end = WALK_TRUNCATED;
	}
	if (reader->nr_kernel > reader->nr_frames)
		reader->nr_kernel = reader->nr_frames;
	if (result < 0)
		return result;
	if (reader->is_sure || reader->nr_frames)
		result = reader->event < PROFILE_MAX_VALUES ? count_sample(reader) : 0;
	else
		note_bad_line(reader, reader->header_line);
	end_sample(reader);
	return result;
}

static bool is_clock(struct perf_text event)
{
	return memmem(event.at, event.nr, "cpu-clock", strlen("cpu-clock")) ||
	       memmem(event.at, event.nr, "task-clock", strlen("task-clock"));
}

static int64_t unit_of(struct reader *reader, struct perf_text event, bool is_weighted)
{
	return profile_add_string(reader->profile, is_weighted && event.nr && is_clock(event)
							   ? "nanoseconds"
							   : "count");
}

/* The first event is what the profile's counts are of. */
static int add_first_event(struct reader *reader, uint32_t event, uint32_t unit, bool is_weighted)
{
	struct profile_origin origin = *profile_origin(reader->profile);

	origin.event = event;
	origin.unit = unit;
	if (is_weighted)
		origin.counted = (struct value_type){event, unit};
	profile_set_origin(reader->profile, &origin);
	reader->events[reader->nr_events++] = event;
	return 0;
}

/* The value of an event: a new one, if it was not there before. */
static int add_event(struct reader *reader, const struct perf_header *header, uint32_t event)
{
	int64_t unit = unit_of(reader, header->event, header->has_period);
	int number;

	if (unit < 0)
		return (int)unit;
	if (!reader->nr_events)
		return add_first_event(reader, event, (uint32_t)unit, header->has_period);
	number = profile_add_value_type(reader->profile,
					&(struct value_type){event, (uint32_t)unit});
	if (number == -E2BIG)
		return 0;
	if (number < 0)
		return number;
	reader->event = (size_t)number;
	reader->events[reader->nr_events++] = event;
	return 0;
}

static int find_event(struct reader *reader, const struct perf_header *header)
{
	int64_t event = clean_string_add(reader->profile, header->event.at, header->event.nr);

	if (event < 0)
		return (int)event;
	for (reader->event = 0; reader->event < reader->nr_events; reader->event++)
		if (reader->events[reader->event] == event)
			return 0;
	reader->event = reader->nr_events ? PROFILE_MAX_VALUES : 0;
	return add_event(reader, header, (uint32_t)event);
}

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
	result = find_event(reader, header);
	if (result < 0)
		return result;
	reader->notes->dropped_samples += reader->event >= PROFILE_MAX_VALUES;
	note_labels(reader, header);
	if (header->has_time)
		note_time(reader, header->time_ns);
	if (header->has_period && reader->event == 0)
		note_period(reader, reader->weight);
	if (perf_script_frame(header->rest.at, header->rest.nr, &frame) && frame.file.nr)
		return add_frame(reader, &frame);
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
		return add_frame(reader, &frame);
	if (reader->in_sample && perf_script_place(line->text, line->nr, &file, &number))
		return add_place(reader, file, number);
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
		return add_frame(reader, &frame);
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
	if (!result && !reader->nr_samples)
		return error_set(reader->error, -EBADMSG,
				 "it has no sample: the output of `perf script` is expected");
	set_origin(reader);
	return result;
}

static void clear_reader(struct reader *reader)
{
	line_reader_clear(&reader->lines);
	perf_symbols_clear(&reader->symbols);
	free(reader->open.lines);
	free(reader->frames);
}

int perf_script_read(FILE *in, struct profile *profile, struct perf_script_notes *notes,
		     struct error *error)
{
	cleanup(clear_reader) struct reader reader = {
		.profile = profile, .notes = notes, .error = error, .lines = {.in = in}};
	int result = perf_symbols_init(&reader.symbols, profile);

	*notes = (struct perf_script_notes){0};
	if (!result)
		result = read_lines(&reader);
	if (result == -ENOMEM)
		(void)error_set(error, result, "out of memory");
	else if (result < 0 && result != -EBADMSG)
		(void)error_set(error, result, "cannot read it: %s", strerror(-result));
	return result;
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
