/*
 * What was sampled, samples, code, and at last the strings that all of these have used. Messages go
 * out one by one, see pprof_sink.h.
 *
 * Which values samples have is for pprof_values to say, what their frames are in pprof for
 * pprof_code, which samples there are and in which order for pprof_rows.
 */
#include "format/pprof/pprof.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd_io.h"
#include "format/pprof/pprof_code.h"
#include "format/pprof/pprof_fields.h"
#include "format/pprof/pprof_rows.h"
#include "format/pprof/pprof_sink.h"
#include "format/pprof/pprof_values.h"
#include "format/pprof/pprof_write_code.h"
#include "profile/profile.h"

struct writer {
	const struct profile *profile;
	const struct format_options *options;
	struct pprof_values values;
	struct pprof_code code;
	struct pprof_rows rows;
	struct pprof_sink sink;
	uint64_t *numbers; /* of a packed field */
	size_t cap_numbers;
};

/* Numbers of the schema are signed. */
static uint64_t saturated(uint64_t number)
{
	return number < INT64_MAX ? number : INT64_MAX;
}

/* Room for so many numbers; NULL after a failure. */
static uint64_t *numbers_of(struct writer *writer, size_t nr)
{
	if (array_reserve(&writer->numbers, &writer->cap_numbers, nr + 1,
			  sizeof(*writer->numbers)) < 0) {
		pprof_sink_note(&writer->sink, -ENOMEM);
		return NULL;
	}
	return writer->numbers;
}

/* --- what was sampled ------------------------------------------------------------------------- */

static void write_value_type(struct pprof_sink *sink, uint32_t field, const char *type,
			     const char *unit)
{
	protobuf_number(&sink->message, VALUE_TYPE_TYPE, pprof_sink_string(sink, type));
	protobuf_number(&sink->message, VALUE_TYPE_UNIT, pprof_sink_string(sink, unit));
	pprof_sink_message(sink, field);
}

static void write_comments(struct writer *writer)
{
	size_t nr = profile_nr_comments(writer->profile), i;
	uint64_t *numbers = numbers_of(writer, nr);

	for (i = 0; numbers && i < nr; i++)
		numbers[i] = pprof_sink_string(&writer->sink, profile_comment(writer->profile, i));
	if (numbers)
		protobuf_packed(&writer->sink.file, PROFILE_COMMENT, numbers, nr);
}

static void write_origin(struct writer *writer)
{
	const struct profile_origin *origin = profile_origin(writer->profile);
	const struct pprof_values *values = &writer->values;
	struct pprof_sink *sink = &writer->sink;
	size_t i;

	for (i = 0; i < values->nr; i++)
		write_value_type(sink, PROFILE_SAMPLE_TYPE, values->values[i].type,
				 values->values[i].unit);
	if (origin->period || origin->event || origin->unit)
		write_value_type(sink, PROFILE_PERIOD_TYPE, values->event, values->unit);
	protobuf_number(&sink->file, PROFILE_PERIOD, saturated(origin->period));
	protobuf_number(&sink->file, PROFILE_TIME_NANOS, saturated(origin->time_ns));
	protobuf_number(&sink->file, PROFILE_DURATION_NANOS, saturated(origin->duration_ns));
	protobuf_number(&sink->file, PROFILE_DEFAULT_SAMPLE_TYPE,
			pprof_sink_string(sink, values->preferred));
	write_comments(writer);
}

/* --- labels ----------------------------------------------------------------------------------- */

static void write_text(struct pprof_sink *sink, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	protobuf_number(&sink->part, LABEL_KEY, pprof_sink_string(sink, key));
	protobuf_number(&sink->part, LABEL_STR, pprof_sink_string(sink, text));
	pprof_sink_part(sink, SAMPLE_LABEL);
}

static void write_number(struct pprof_sink *sink, const char *key, int64_t number, const char *unit)
{
	protobuf_number(&sink->part, LABEL_KEY, pprof_sink_string(sink, key));
	protobuf_number(&sink->part, LABEL_NUM, (uint64_t)number);
	protobuf_number(&sink->part, LABEL_NUM_UNIT, pprof_sink_string(sink, unit));
	pprof_sink_part(sink, SAMPLE_LABEL);
}

static void write_slice(struct writer *writer, uint32_t number)
{
	struct time_slice slice;

	if (!number)
		return;
	slice = profile_slice(writer->profile, number);
	write_number(&writer->sink, PPROF_SLICE_START, (int64_t)saturated(slice.start_ns),
		     PPROF_NANOSECONDS);
	write_number(&writer->sink, PPROF_SLICE_END, (int64_t)saturated(slice.end_ns),
		     PPROF_NANOSECONDS);
}

static void write_set(struct writer *writer, uint32_t set)
{
	const struct profile *profile = writer->profile;
	struct set_label labels[LABEL_SET_MAX];
	size_t nr = profile_label_set(profile, set, labels), i;

	for (i = 0; i < nr; i++) {
		const char *key = profile_string(profile, labels[i].key);

		if (labels[i].text)
			write_text(&writer->sink, key, profile_string(profile, labels[i].text));
		else
			write_number(&writer->sink, key, labels[i].number,
				     profile_string(profile, labels[i].unit));
	}
}

/* The unit is what pprof takes it for anyway; without one, number 0 would be no label at all. */
static void write_id(struct writer *writer, enum label label, const char *key, int32_t number)
{
	if (writer->options->labels & label)
		write_number(&writer->sink, key, number, key);
}

/* What was not asked for is not there. */
static void write_labels(struct writer *writer, const struct pprof_row_labels *row)
{
	const struct profile *profile = writer->profile;
	const struct sample_labels *labels = &row->labels;

	write_text(&writer->sink, PPROF_COMM, profile_string(profile, labels->comm));
	write_text(&writer->sink, PPROF_CGROUP, profile_string(profile, labels->cgroup));
	write_id(writer, LABEL_PID, PPROF_PID, labels->pid);
	write_id(writer, LABEL_TID, PPROF_TID, labels->tid);
	write_id(writer, LABEL_CPU, PPROF_CPU, labels->cpu);
	write_text(&writer->sink, PPROF_USER_END, row->user_end);
	write_text(&writer->sink, PPROF_KERNEL_END, row->kernel_end);
	write_slice(writer, labels->slice);
	write_set(writer, labels->set);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void write_sample(struct writer *writer, struct pprof_row *row)
{
	struct protobuf_writer *message = &writer->sink.message;
	size_t nr = pprof_row_places(row), i;
	uint64_t *numbers = numbers_of(writer, nr);

	if (!numbers)
		return;
	for (i = 0; i < nr; i++)
		numbers[i] = writer->code.places[pprof_row_place(&writer->code, row, i)].id;
	protobuf_packed(message, SAMPLE_LOCATION_ID, numbers, nr);
	for (i = 0; i < writer->values.nr; i++)
		row->values[i] = saturated(row->values[i]);
	protobuf_packed(message, SAMPLE_VALUE, row->values, writer->values.nr);
	write_labels(writer, &row->what);
	pprof_sink_message(&writer->sink, PROFILE_SAMPLE);
}

/* --- the whole -------------------------------------------------------------------------------- */

static int write_all(struct writer *writer)
{
	struct pprof_sink *sink = &writer->sink;
	struct pprof_row row;
	size_t position = 0;

	write_origin(writer);
	while (!sink->error && pprof_rows_next(&writer->rows, &position, &row))
		write_sample(writer, &row);
	pprof_write_code(sink, &writer->code);
	pprof_sink_finish(sink);
	return sink->error;
}

static void writer_clear(struct writer *writer)
{
	pprof_code_clear(&writer->code);
	pprof_rows_clear(&writer->rows);
	pprof_sink_clear(&writer->sink);
	free(writer->numbers);
}

int pprof_write(const struct profile *profile, const struct format_options *options, FILE *out)
{
	cleanup(writer_clear) struct writer writer = {.profile = profile, .options = options};
	int result;

	pprof_values_init(&writer.values, profile);
	if (pprof_sink_init(&writer.sink, out) < 0 || pprof_code_init(&writer.code, profile) < 0 ||
	    pprof_rows_init(&writer.rows, profile, options, &writer.values, &writer.code) < 0)
		return -ENOMEM;
	result = write_all(&writer);
	if (result < 0)
		return result;
	errno = 0;
	return stream_finish(out);
}
