/*
 * Reads perf script text line by line. A sample ends at an empty line or the next header. The text
 * is not kept in memory. A line that is taken for a header only because it can be nothing else must
 * be followed by a frame.
 */
#include "format/perf/perf_script.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "format/perf/perf_script_parts.h"
#include "profile/profile.h"

#define COUNT	"count"
#define SAMPLES "samples"

struct event {
	uint32_t name; /* string */
	size_t value;
	uint64_t nr_samples;
	bool has_periods;
	uint64_t period; /* last period; 0: none so far */
	bool varies;
};

/*
 * The events of the text; each is a value of the profile. The first event is the count until the
 * end, when the event with the most samples is known.
 *
 * Events with periods are sums of periods. Without periods, a single event is the count of samples;
 * several events each have their number of samples. In the latter case, and in addition to sums,
 * one more value counts the samples of all events. Our own comments list the values and their
 * order.
 */
struct events {
	struct profile *profile;
	struct event events[PROFILE_MAX_VALUES]; /* in order of appearance */
	size_t nr;
	size_t samples; /* the value that counts samples; 0: none */

	bool from_comments;
	size_t multiple; /* the value that is factor times the count; 0: none */
	uint64_t factor;
};

struct reader {
	struct profile *profile;
	struct format_notes *notes;
	struct error *error;
	struct line_reader lines;

	struct events events;
	struct perf_run run; /* from comments */
	bool has_time;
	uint64_t first_ns, last_ns; /* time */
	uint64_t nr_samples;
	bool has_events, has_files; /* seen so far in headers and frames */

	bool in_sample;
	bool is_sure;	  /* it is certainly a sample */
	bool is_one_line; /* its only frame is in the header line */
	uint64_t header_line;
	struct sample_labels labels;
	struct perf_header header; /* without its texts */
	struct event *event;	   /* NULL: too many events */
	uint64_t weight;
	struct perf_stack stack;
};

/* --- events ----------------------------------------------------------------------------------- */

static const char *unit_of(const struct perf_header *header)
{
	struct perf_text event = header->event;

	if (!header->has_period)
		return SAMPLES;
	return event.nr && (memmem(event.at, event.nr, "cpu-clock", strlen("cpu-clock")) ||
			    memmem(event.at, event.nr, "task-clock", strlen("task-clock")))
		       ? "nanoseconds"
		       : COUNT;
}

static void append(struct events *events, uint32_t name, size_t value)
{
	events->events[events->nr++] = (struct event){.name = name, .value = value};
}

/* --- events of comments ----------------------------------------------------------------------- */

/* True if the event is known, or there is no room for another one. */
static bool is_known(const struct events *events, uint32_t name)
{
	size_t i;

	if (events->nr == PROFILE_MAX_VALUES)
		return true;
	for (i = 0; i < events->nr; i++)
		if (events->events[i].name == name)
			return true;
	return false;
}

/* Evaluates a comment about periods, before the first sample. Returns 0 or -ENOMEM. */
static int read_periods(struct events *events, const struct perf_comment *comment)
{
	struct profile *profile = events->profile;
	bool is_multiple = comment->kind == PERF_COMMENT_FOR_EACH;
	int64_t word = profile_add_foreign_string(profile, comment->word.at, comment->word.nr);
	int64_t type = profile_add_foreign_string(profile, comment->type.at, comment->type.nr);
	int64_t unit = profile_add_foreign_string(profile, comment->unit.at, comment->unit.nr);
	struct value_type value;
	int number = 0;

	if (word < 0 || type < 0 || unit < 0)
		return -ENOMEM;
	if (is_multiple ? !events->nr || events->multiple : is_known(events, (uint32_t)word))
		return 0;
	value = (struct value_type){(uint32_t)type, (uint32_t)unit};
	if (events->nr)
		number = profile_add_value_type(profile, &value);
	else
		profile_set_main_type(profile, value);
	if (number < 0)
		return 0;
	events->from_comments = true;
	if (!is_multiple) {
		append(events, (uint32_t)word, (size_t)number);
		return 0;
	}
	events->multiple = (size_t)number;
	events->factor = comment->number;
	return 0;
}

/* --- events of samples ------------------------------------------------------------------------ */

/* Adds the value that counts samples. Returns 0 or -ENOMEM. */
static int add_samples(struct events *events)
{
	struct profile *profile = events->profile;
	struct value_type type;
	int number;
	uint32_t i;

	if (profile_make_value_type(profile, SAMPLES, COUNT, &type) < 0)
		return -ENOMEM;
	if (events->events[0].name == type.type) /* the name is taken */
		return 0;
	number = profile_add_value_type(profile, &type);
	if (number < 0)
		return number;
	events->samples = (size_t)number;
	if (events->events[0].has_periods)
		return 0;
	/* The counts so far were 1 per sample of the first event: these are samples, too. */
	for (i = 0; i < profile_nr_samples(profile); i++)
		if (profile_add_value(profile, i, events->samples, profile_value(profile, i, 0)) <
		    0)
			return -ENOMEM;
	return 0;
}

/* Makes a value type; an event without a name gets a default name. Returns 0 or -ENOMEM. */
static int make_type(struct profile *profile, uint32_t name, const char *unit,
		     struct value_type *ret)
{
	return profile_make_value_type(
		profile, name ? profile_string(profile, name) : PROFILE_SOME_EVENTS, unit, ret);
}

static int add_first(struct events *events, uint32_t name, struct value_type type, bool has_periods)
{
	append(events, name, 0);
	events->events[0].has_periods = has_periods;
	if (!has_periods)
		return 0;
	profile_set_main_type(events->profile, type);
	return add_samples(events);
}

/* Returns 0, -ENOMEM or -E2BIG. */
static int add_event(struct events *events, const struct perf_header *header, uint32_t name)
{
	struct value_type type, first;
	int number = make_type(events->profile, name, unit_of(header), &type);

	if (number < 0)
		return number;
	if (!events->nr)
		return add_first(events, name, type, header->has_period);
	/* The single event was the count of samples; from now on it is one of several events. */
	if (!events->from_comments && events->nr == 1 && !events->events[0].has_periods) {
		number = make_type(events->profile, events->events[0].name, SAMPLES, &first);
		if (number < 0)
			return number;
		profile_set_main_type(events->profile, first);
		number = add_samples(events);
	}
	if (number < 0)
		return number;
	number = profile_add_value_type(events->profile, &type);
	if (number < 0)
		return number;
	append(events, name, (size_t)number);
	events->events[events->nr - 1].has_periods = header->has_period;
	return 0;
}

/* Finds or adds the event of a header; NULL if there is no room for it. Returns 0 or -ENOMEM. */
static int find_event(struct events *events, const struct perf_header *header, struct event **ret)
{
	struct profile *profile = events->profile;
	int64_t name = profile_add_foreign_string(profile, header->event.at, header->event.nr);
	uint64_t period;
	int result = 0;
	size_t i;

	if (name < 0)
		return (int)name;
	for (i = 0; i < events->nr && events->events[i].name != name; i++)
		;
	if (i == events->nr && events->samples && i < PROFILE_MAX_VALUES &&
	    profile_value_type(profile, events->samples).type == name) {
		/*
		 * An event named "samples" (written by older versions) replaces the value "samples"
		 * that add_samples() added.
		 */
		profile_clear_value(profile, events->samples);
		append(events, (uint32_t)name, events->samples);
		events->samples = 0;
	} else if (i == events->nr) {
		result =
			i < PROFILE_MAX_VALUES ? add_event(events, header, (uint32_t)name) : -E2BIG;
	}
	*ret = result < 0 ? NULL : &events->events[i];
	if (*ret && header->has_period) {
		period = header->period ? header->period : 1;
		(*ret)->varies |= (*ret)->period && (*ret)->period != period;
		(*ret)->period = period;
	}
	return result == -ENOMEM ? result : 0;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* True if the totals do not overflow after adding weight. */
static bool has_room(const struct events *events, const struct event *event, uint64_t weight)
{
	uint64_t multiple;

	if (!profile_value_has_room(events->profile, event->value, weight))
		return false;
	if (event->value || !events->multiple)
		return true;
	return !__builtin_mul_overflow(weight, events->factor, &multiple) &&
	       profile_value_has_room(events->profile, events->multiple, multiple);
}

static int count_event(struct events *events, struct event *event, uint32_t sample, uint64_t weight)
{
	int result = profile_add_value(events->profile, sample, event->value, weight);

	event->nr_samples++;
	if (!result && events->samples)
		result = profile_add_value(events->profile, sample, events->samples, 1);
	if (!result && events->multiple && !event->value)
		result = profile_add_value(events->profile, sample, events->multiple,
					   weight * events->factor);
	return result;
}

/*
 * Makes the event with the most samples the count; if there are several, the first of them. The
 * events before it move up by one, so that the others keep their order. Returns 0 or -ENOMEM.
 */
static int choose_count(struct events *events)
{
	struct profile *profile = events->profile;
	const struct event *most = events->events;
	struct profile_origin origin;
	int64_t count;
	size_t i;

	if (!events->nr || events->from_comments)
		return 0;
	for (i = 1; i < events->nr; i++)
		if (events->events[i].nr_samples > most->nr_samples)
			most = &events->events[i];
	for (i = 1; &events->events[i] <= most; i++)
		if (profile_choose_value(profile, events->events[i].value) < 0)
			return -ENOMEM;
	count = profile_add_string(profile, COUNT);
	if (count < 0)
		return (int)count;
	origin = *profile_origin(profile);
	origin.event = most->name;
	origin.unit = most->has_periods ? profile_value_type(profile, 0).unit : (uint32_t)count;
	origin.period = most->has_periods && !most->varies ? most->period : 0;
	profile_set_origin(profile, &origin);
	return 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

static void note_bad_line(struct reader *reader, uint64_t number)
{
	if (!reader->notes->bad_lines++ || number < reader->notes->first_bad_line)
		reader->notes->first_bad_line = number;
}

/* Labels from the header, skipping placeholders. */
static int set_labels(struct reader *reader, const struct perf_header *header)
{
	unsigned labels = (header->comm.nr ? LABEL_COMM : 0) | (header->has_pid ? LABEL_PID : 0) |
			  (header->has_tid ? LABEL_TID : 0) | (header->has_cpu ? LABEL_CPU : 0);
	int64_t comm = 0;

	if (reader->run.has_labels)
		labels &= reader->run.labels;
	if (labels & LABEL_COMM)
		comm = perf_run_comm(&reader->run, header->comm);
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

static int note_event(struct reader *reader, const struct perf_header *header)
{
	int result = find_event(&reader->events, header, &reader->event);

	reader->notes->dropped_events += !result && !reader->event;
	return result;
}

static int count_sample(struct reader *reader)
{
	const struct perf_stack *stack = &reader->stack;
	struct profile *profile = reader->profile;
	int64_t number;

	reader->nr_samples++;
	if (!reader->event)
		return 0;
	if (!has_room(&reader->events, reader->event, reader->weight)) {
		note_bad_line(reader, reader->header_line);
		return 0;
	}
	number = profile_add_sample(profile, &reader->labels, stack->frames, stack->nr_frames,
				    stack->nr_kernel, 0);
	if (number < 0)
		return -ENOMEM;
	return count_event(&reader->events, reader->event, (uint32_t)number, reader->weight);
}

/* A stack that is too deep for the profile loses its root. */
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
		result = note_event(reader, &reader->header);
	if (!result && (reader->is_sure || stack->nr_frames))
		result = count_sample(reader);
	else if (!result)
		note_bad_line(reader, reader->header_line);
	reader->in_sample = false;
	perf_stack_reset(&reader->stack);
	return result;
}

/* --- headers ---------------------------------------------------------------------------------- */

/* The event of a line that may turn out to be no header is added later. */
static int begin_sample(struct reader *reader, const struct perf_header *header)
{
	struct perf_frame frame;
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
		result = note_event(reader, header);
	if (result < 0)
		return result;
	if (header->has_time) {
		if (!reader->has_time || header->time_ns < reader->first_ns)
			reader->first_ns = header->time_ns;
		if (header->time_ns > reader->last_ns)
			reader->last_ns = header->time_ns;
		reader->has_time = true;
	}
	/* The fields of a tracepoint, which are at the same place, are skipped. */
	reader->is_one_line =
		perf_script_frame(header->rest.at, header->rest.nr, &frame) && frame.file.nr;
	return reader->is_one_line ? perf_stack_add(&reader->stack, &frame) : 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool is_branch_stack(const struct line *line)
{
	size_t blanks = 0;

	while (blanks < line->nr && line->text[blanks] == ' ')
		blanks++;
	return line->nr - blanks > 2 && line->text[blanks] == '0' && line->text[blanks + 1] == 'x';
}

/*
 * An indented header belongs to a sample without call stack, whose comm is right-aligned. Without
 * CPU and time, it is recognized only by a frame in the same line, and only outside of a stack,
 * because a comm may look like an address.
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

/* Frames of old scripts are not indented. */
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
		return is_first ? read_periods(&reader->events, &comment) : 0;
	default:
		return perf_run_add(&reader->run, &comment, is_first);
	}
}

/* perf ends each line. The last line may be truncated if it has fewer parts than earlier lines. */
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

/* --- the whole -------------------------------------------------------------------------------- */

static int read_lines(struct reader *reader)
{
	struct profile_origin origin;
	struct line line;
	int result;

	while ((result = line_reader_next(&reader->lines, &line)) > 0) {
		result = read_line(reader, &line);
		if (result < 0)
			break;
	}
	if (!result)
		result = finish_sample(reader);
	if (!result && !reader->nr_samples && reader->lines.number && !reader->events.from_comments)
		return error_set(reader->error, -EBADMSG,
				 "it has no sample: expected the output of `perf script`");
	if (!result)
		result = choose_count(&reader->events);
	origin = *profile_origin(reader->profile);
	origin.duration_ns = reader->last_ns - reader->first_ns;
	if (reader->events.from_comments)
		perf_run_apply(&reader->run, &origin);
	profile_set_origin(reader->profile, &origin);
	reader->notes->nr_events = reader->events.from_comments ? 0 : reader->events.nr;
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
						      .run = {.profile = profile}};
	int result = perf_stack_init(&reader.stack, profile);

	*notes = (struct format_notes){0};
	if (!result)
		result = read_lines(&reader);
	return result < 0 && result != -EBADMSG ? line_reader_explain(result, error) : result;
}

/* Returns the line at *at, without its end, and moves *at to the next line. */
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
 * The first line that is neither empty nor a comment must be a header. If the line alone is
 * ambiguous, a frame must follow: a line of folded stacks may contain numbers and words with
 * colons.
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
