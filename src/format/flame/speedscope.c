/*
 * Names come from view/named_stacks. A frame's JSON text is its identity: texts are interned across
 * all values, and the table of frames is written last, since the order does not matter in JSON.
 * Only the rows of the value being written are in memory.
 */
#include "format/flame/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/strings.h"
#include "format/text/json.h"
#include "profile/profile.h"
#include "view/diff/comparison.h"
#include "view/named_stacks.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* A value as speedscope shows it. */
struct shown_value {
	size_t number;		  /* index in the profile */
	uint64_t factor;	  /* amounts are multiplied by it … */
	struct value_scale scale; /* … and divided by it */
	const char *name, *unit;
};

struct row {
	uint32_t stack, slice;
	uint64_t amount;
};

struct writer {
	const struct profile *profile;
	const struct format_options *options;
	FILE *out;
	struct strings *frames; /* as JSON; a frame's number is its text's index - 1 */
	char *text;		/* buffer of text_out: the frame being written */
	size_t nr_text;
	FILE *text_out;

	/* The value being written: */
	struct named_stacks stacks;
	uint32_t *ranks;   /* of words, by name */
	uint32_t *numbers; /* frames of words, counted from 1; 0: not assigned yet */
	struct row *rows;
	size_t nr_rows, cap_rows;
};

/* --- frames ----------------------------------------------------------------------------------- */

static void write_member(FILE *out, const char *key, const char *text)
{
	(void)fprintf(out, ",\"%s\":", key);
	json_write_string(out, text);
}

/* Returns the file of the code; NULL if unknown. */
static const char *module_file(const struct profile *profile, const struct word_info *info)
{
	const struct module *module = profile_module(profile, info->module);

	if (info->kind == WORD_LABEL || info->kind == WORD_MISSED || module->kind == MODULE_UNKNOWN)
		return NULL;
	return module->kind == MODULE_FILE ? profile_string(profile, module->name)
					   : profile_module_name(profile, info->module);
}

/* Writes `,"file":…,"line":…` from the text after the function: " FILE:LINE". */
static int write_place(FILE *out, const char *place)
{
	const char *colon = strrchr(place, ':');
	char *file = colon ? strndup(place + 1, (size_t)(colon - place - 1)) : NULL;

	if (!file)
		return -ENOMEM;
	write_member(out, "file", file);
	(void)fprintf(out, ",\"line\":%lu", strtoul(colon + 1, NULL, 10));
	free(file);
	return 0;
}

/* Returns the length of the function's name in a word; the source position may follow it. */
static size_t name_bytes(const struct writer *writer, const struct word_info *info,
			 const char *text)
{
	const char *name = info->function ? profile_string(writer->profile, info->function)
					  : named_stacks_no_name(writer->profile, info->module);
	size_t nr = strlen(text), nr_name = strlen(name);
	bool has_place = info->kind != WORD_LABEL && info->kind != WORD_MISSED && nr > nr_name &&
			 text[nr_name] == ' ' && strchr(text + nr_name, ':');

	return has_place ? nr_name : nr;
}

static int write_frame(struct writer *writer, uint32_t word)
{
	const struct word_info *info = named_stacks_info(&writer->stacks, word);
	const char *text = named_stacks_word(&writer->stacks, word);
	size_t nr = strlen(text), nr_name = name_bytes(writer, info, text);
	const char *module = module_file(writer->profile, info);
	char *name;
	int result = 0;

	name = strndup(text, nr_name);
	if (!name)
		return -ENOMEM;
	(void)fputs("{\"name\":", writer->text_out);
	json_write_string(writer->text_out, name);
	free(name);
	if (nr_name < nr)
		result = write_place(writer->text_out, text + nr_name);
	else if (module)
		write_member(writer->text_out, "file", module);
	(void)putc('}', writer->text_out);
	return result;
}

/* Returns the number of a word's frame, counted from 1, or -ENOMEM. */
static int64_t frame_of_word(struct writer *writer, uint32_t word)
{
	int64_t number = writer->numbers[word];

	if (number)
		return number;
	rewind(writer->text_out);
	if (write_frame(writer, word) < 0 || fflush(writer->text_out) != 0)
		return -ENOMEM;
	number = strings_add_bytes(writer->frames, writer->text, writer->nr_text);
	if (number > 0)
		writer->numbers[word] = (uint32_t)number;
	return number;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int add_row(struct writer *writer, uint32_t stack, uint32_t slice, uint64_t amount)
{
	if (!amount)
		return 0;
	if (array_reserve(&writer->rows, &writer->cap_rows, writer->nr_rows + 1,
			  sizeof(*writer->rows)) < 0)
		return -ENOMEM;
	writer->rows[writer->nr_rows++] =
		(struct row){.stack = stack, .slice = slice, .amount = amount};
	return 0;
}

/* Only the count has slices; samples without a slice come first. */
static int add_rows(struct writer *writer, const struct shown_value *value)
{
	const struct named_stacks *stacks = &writer->stacks;
	const uint64_t *amounts = value->number ? stacks->others : stacks->counts;
	bool is_sliced = !value->number && stacks->slices.nr;
	const struct u64_map_slot *slot;
	size_t i;
	int result = 0;

	for (i = 0; is_sliced && !result && (slot = u64_map_next(&stacks->slices, &i));)
		result = add_row(writer, (uint32_t)(slot->key >> 32), (uint32_t)slot->key,
				 slot->value);
	for (i = 0; !is_sliced && !result && i < named_stacks_nr(stacks); i++)
		result = add_row(writer, (uint32_t)i, 0, amounts[i]);
	return result;
}

static int compare_words(const void *a, const void *b, void *context)
{
	const struct writer *writer = context;
	uint32_t word_a = *(const uint32_t *)a, word_b = *(const uint32_t *)b;
	const struct word_info *info_a = named_stacks_info(&writer->stacks, word_a);
	const struct word_info *info_b = named_stacks_info(&writer->stacks, word_b);
	int order = strcmp(named_stacks_word(&writer->stacks, word_a),
			   named_stacks_word(&writer->stacks, word_b));

	if (order)
		return order;
	if (info_a->kind != info_b->kind)
		return info_a->kind > info_b->kind ? 1 : -1;
	return strcmp(profile_string(writer->profile,
				     profile_module(writer->profile, info_a->module)->name),
		      profile_string(writer->profile,
				     profile_module(writer->profile, info_b->module)->name));
}

static int rank_words(struct writer *writer)
{
	size_t nr = writer->stacks.nr_words, i;
	cleanup_free uint32_t *order = malloc((nr + 1) * sizeof(*order));

	writer->ranks = calloc(nr + 1, sizeof(*writer->ranks));
	writer->numbers = calloc(nr + 1, sizeof(*writer->numbers));
	if (!order || !writer->ranks || !writer->numbers)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, nr, sizeof(*order), compare_words, writer);
	for (i = 0; i < nr; i++)
		writer->ranks[order[i]] = (uint32_t)i;
	return 0;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct writer *writer = context;
	const struct row *row_a = a, *row_b = b;
	const uint32_t *words_a, *words_b;
	size_t nr_a, nr_b, i;

	if (row_a->slice != row_b->slice)
		return row_a->slice > row_b->slice ? 1 : -1;
	words_a = named_stacks_get(&writer->stacks, row_a->stack, &nr_a);
	words_b = named_stacks_get(&writer->stacks, row_b->stack, &nr_b);
	for (i = 0; i < nr_a && i < nr_b; i++)
		if (words_a[i] != words_b[i])
			return writer->ranks[words_a[i]] > writer->ranks[words_b[i]] ? 1 : -1;
	return (nr_a > nr_b) - (nr_a < nr_b);
}

/* --- profiles --------------------------------------------------------------------------------- */

static int write_stack(struct writer *writer, uint32_t stack)
{
	size_t nr, i;
	const uint32_t *words = named_stacks_get(&writer->stacks, stack, &nr);

	(void)putc_unlocked('[', writer->out);
	for (i = 0; i < nr; i++) {
		int64_t frame = frame_of_word(writer, words[i]);

		if (frame < 0)
			return (int)frame;
		(void)fprintf(writer->out, "%s%" PRId64, i ? "," : "", frame - 1);
	}
	(void)putc_unlocked(']', writer->out);
	return 0;
}

static void write_amount(struct writer *writer, const struct shown_value *value, uint64_t amount)
{
	char text[VALUE_SCALE_BYTES];

	(void)fputs(value_scale_text(text, amount * value->factor, value->scale), writer->out);
}

static int write_rows(struct writer *writer, const struct shown_value *value)
{
	size_t i;

	(void)fputs(",\"samples\":[", writer->out);
	for (i = 0; i < writer->nr_rows && !ferror_unlocked(writer->out); i++) {
		if (i)
			(void)fputs(",\n", writer->out);
		if (write_stack(writer, writer->rows[i].stack) < 0)
			return -ENOMEM;
	}
	(void)fputs("],\n\"weights\":[", writer->out);
	for (i = 0; i < writer->nr_rows && !ferror_unlocked(writer->out); i++) {
		if (i)
			(void)putc_unlocked(',', writer->out);
		write_amount(writer, value, writer->rows[i].amount);
	}
	(void)putc(']', writer->out);
	return 0;
}

/* Returns the schema's name for a unit; "none" for other units. */
static const char *unit_name(const char *unit)
{
	static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds",
					    "seconds", "bytes"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(unit, units[i]))
			return units[i];
	return "none";
}

static void forget_value(struct writer *writer)
{
	named_stacks_clear(&writer->stacks);
	free(writer->ranks);
	free(writer->numbers);
	writer->ranks = NULL;
	writer->numbers = NULL;
	writer->nr_rows = 0;
}

static int write_value(struct writer *writer, const struct shown_value *value)
{
	const struct named_stacks_style style = {
		.labels = writer->options->labels,
		.no_user = writer->options->no_user,
		.no_kernel = writer->options->no_kernel,
		.lines = true,
		.by_origin = true,
		.with_slices = !value->number && profile_nr_slices(writer->profile),
		.other_value = value->number,
	};
	uint64_t total;

	if (named_stacks_init(&writer->stacks, writer->profile, &style) < 0 ||
	    rank_words(writer) < 0 || add_rows(writer, value) < 0)
		return -ENOMEM;
	if (writer->nr_rows)
		qsort_r(writer->rows, writer->nr_rows, sizeof(*writer->rows), compare_rows, writer);
	total = value->number ? writer->stacks.others_total : writer->stacks.total;
	(void)fputs("{\"type\":\"sampled\"", writer->out);
	write_member(writer->out, "name", value->name);
	write_member(writer->out, "unit", unit_name(value->unit));
	(void)fputs(",\"startValue\":0,\"endValue\":", writer->out);
	write_amount(writer, value, total);
	if (write_rows(writer, value) < 0)
		return -ENOMEM;
	(void)putc('}', writer->out);
	return 0;
}

/* Both sides of a difference have the same scale. */
static bool is_scaled(const struct profile *profile, size_t value)
{
	return !value || value == comparison_value(profile);
}

/*
 * A value equal to the event's is computed from the samples, whose time slices are known. It gets
 * the event's name even if pprof has its own name for it.
 */
static struct shown_value shown_value(const struct profile *profile,
				      const struct profile_value *value)
{
	uint32_t event = profile_origin(profile)->event;

	return (struct shown_value){
		.number = value->is_event ? 0 : value->number,
		.factor = value->is_event ? profile_origin(profile)->period : 1,
		.scale = !value->is_event && is_scaled(profile, value->number)
				 ? profile_scale(profile)
				 : value_scale(0),
		.name = value->is_event && event ? profile_string(profile, event) : value->type,
		.unit = value->unit,
	};
}

/* Event values come first; the number of samples, which says the same, is omitted then. */
static int write_values(struct writer *writer)
{
	struct profile_value values[PROFILE_MAX_VALUES];
	size_t nr = profile_values(writer->profile, values), nr_written = 0, i;
	bool has_events = false;
	int events, result = 0;

	for (i = 0; i < nr; i++)
		has_events |= values[i].is_event;
	for (events = 1; events >= 0; events--)
		for (i = 0; !result && i < nr; i++) {
			struct shown_value value = shown_value(writer->profile, &values[i]);
			bool is_same = has_events && !values[i].is_event && !values[i].number;

			if (values[i].is_event != events || is_same)
				continue;
			if (nr_written++)
				(void)fputs(",\n", writer->out);
			result = write_value(writer, &value);
			forget_value(writer);
		}
	return result;
}

static int write_all(struct writer *writer)
{
	uint32_t i;
	int result;

	(void)fputs("{\"$schema\":\"" SCHEMA "\",\"exporter\":\"stook\",\"activeProfileIndex\":0,\n"
		    "\"profiles\":[\n",
		    writer->out);
	result = write_values(writer);
	(void)fputs("],\n\"shared\":{\"frames\":[\n", writer->out);
	for (i = 1; i < strings_nr(writer->frames); i++)
		(void)fprintf(writer->out, "%s%s", i > 1 ? ",\n" : "",
			      strings_get(writer->frames, i));
	(void)fputs("]}}\n", writer->out);
	return result;
}

int speedscope_write(const struct profile *profile, const struct format_options *options, FILE *out)
{
	struct writer writer = {.profile = profile, .options = options, .out = out};
	int result = -ENOMEM;

	errno = 0;
	writer.frames = strings_new();
	writer.text_out = open_memstream(&writer.text, &writer.nr_text);
	if (writer.frames && writer.text_out)
		result = write_all(&writer);
	if (writer.text_out)
		(void)fclose(writer.text_out);
	free(writer.text);
	free(writer.rows);
	strings_free(writer.frames);
	return result < 0 ? result : stream_finish(out);
}
