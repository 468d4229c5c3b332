/*
 * One pass writes the bytes, and one pass reads them: strings, modules, frames and sets of labels are numbered from 1 in
 * the order of their first use, and the first reference to one is followed by its definition.
 *
 *	number of values; for each: type, unit
 *	number of samples; for each:
 *		labels: comm, cgroup, probe, pid, tid, CPU number, ends of the walks, set
 *		number of kernel frames, number of frames, frames from the leaf
 *		amount of each value
 *
 *	string	length, bytes
 *	module	kind, name, length of its code (store_put_code()), code
 *	frame	flags, module, address; or flags, module, number of lines, for each: function, file, line
 *	set	number of labels; for each: key, text, unit, number
 *
 * All numbers are ULEB128. zlib is used at its fastest level: the bytes are replaced within a minute. Readers trust
 * nothing: the store may be damaged.
 */
#include "store/unnamed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "store/store_state.h"

enum kind {
	KIND_STRING,
	KIND_MODULE,
	KIND_FRAME,
	KIND_SET,
	NR_KINDS,
};

/* --- writing ---------------------------------------------------------------------------------- */

struct writer {
	const struct profile *profile;
	struct content content;
	uint32_t *numbers[NR_KINDS]; /* by the profile's numbers; 0: not used yet */
	uint32_t nr[NR_KINDS];
};

static void writer_clear(struct writer *writer)
{
	size_t i;

	for (i = 0; i < NR_KINDS; i++)
		free(writer->numbers[i]);
	content_clear(&writer->content);
}

static void put(struct writer *writer, uint64_t number)
{
	content_put_uleb(&writer->content, number);
}

/* Appends a reference. True: the definition is to follow. */
static bool put_reference(struct writer *writer, enum kind kind, uint32_t number)
{
	uint32_t *known = &writer->numbers[kind][number];
	const bool is_first = !*known;

	if (is_first)
		*known = ++writer->nr[kind];
	put(writer, *known);
	return is_first;
}

static void put_string(struct writer *writer, uint32_t string)
{
	const char *text = profile_string(writer->profile, string);
	const size_t nr = strlen(text);

	if (!nr) {
		put(writer, 0);
	} else if (put_reference(writer, KIND_STRING, string)) {
		put(writer, nr);
		content_put(&writer->content, text, nr);
	}
}

static void put_module(struct writer *writer, uint32_t number)
{
	const struct module *module = profile_module(writer->profile, number);
	const struct module_code *code = profile_code(writer->profile, number);
	cleanup(content_clear) struct content bytes = {0};

	if (!put_reference(writer, KIND_MODULE, number))
		return;
	put(writer, module->kind);
	put_string(writer, module->name);
	if (code)
		store_put_code(&bytes, code);
	put(writer, bytes.nr);
	content_put(&writer->content, bytes.bytes, bytes.nr);
	writer->content.failed |= bytes.failed;
}

static void put_frame(struct writer *writer, uint32_t number)
{
	struct frame_lines lines;
	const struct frame *frame = profile_frame(writer->profile, number);
	size_t i;

	if (!put_reference(writer, KIND_FRAME, number))
		return;
	frame_lines_init(&lines, writer->profile, frame);
	put(writer, (frame->kind == FRAME_KERNEL ? FRAME_IS_KERNEL : 0) |
			    (lines.nr ? 0 : FRAME_HAS_ADDRESS));
	put_module(writer, frame->module);
	put(writer, lines.nr ? lines.nr : frame->address);
	for (i = 0; i < lines.nr; i++) {
		put_string(writer, lines.at[i].function);
		put_string(writer, lines.at[i].file);
		put(writer, lines.at[i].line);
	}
}

static void put_set(struct writer *writer, uint32_t set)
{
	struct set_label labels[LABEL_SET_MAX];
	size_t nr, i;

	if (!set) {
		put(writer, 0);
		return;
	}
	if (!put_reference(writer, KIND_SET, set))
		return;
	nr = profile_label_set(writer->profile, set, labels);
	put(writer, nr);
	for (i = 0; i < nr; i++) {
		put_string(writer, labels[i].key);
		put_string(writer, labels[i].text);
		put_string(writer, labels[i].unit);
		put(writer, (uint64_t)labels[i].number);
	}
}

static void put_labels(struct writer *writer, const struct sample_labels *labels)
{
	put_string(writer, labels->comm);
	put_string(writer, labels->cgroup);
	put_string(writer, labels->probe);
	put(writer, (uint32_t)labels->pid);
	put(writer, (uint32_t)labels->tid);
	put(writer, (uint32_t)labels->cpu);
	put(writer, labels->user_end);
	put(writer, labels->kernel_end);
	put_set(writer, labels->set);
}

/* A string of the profile's own has a number; that of a value may be a constant. */
static void put_text(struct writer *writer, const char *text)
{
	put(writer, ++writer->nr[KIND_STRING]);
	put(writer, strlen(text));
	content_put(&writer->content, text, strlen(text));
}

static void put_samples(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	struct profile_value values[PROFILE_MAX_VALUES];
	const size_t nr_values = profile_values(profile, values);
	uint64_t nr = 0;
	uint32_t i;
	size_t k;

	put(writer, nr_values);
	for (k = 0; k < nr_values; k++) {
		put_text(writer, store_value_type(profile, &values[k]));
		put_text(writer, values[k].unit);
	}
	for (i = 0; i < profile_nr_samples(profile); i++)
		nr += profile_has_value(profile, i);
	put(writer, nr);
	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, i);
		const uint32_t *frames = profile_sample_frames(profile, sample);

		if (!profile_has_value(profile, i))
			continue;
		put_labels(writer, &sample->labels);
		put(writer, sample->nr_kernel_frames);
		put(writer, sample->nr_frames);
		for (k = 0; k < sample->nr_frames; k++)
			put_frame(writer, frames[k]);
		for (k = 0; k < nr_values; k++)
			put(writer, profile_value(profile, i, values[k].number) * values[k].factor);
	}
}

int unnamed_write(const struct profile *profile, struct content *to)
{
	cleanup(writer_clear) struct writer writer = {.profile = profile};
	size_t nr[NR_KINDS] = {
		[KIND_STRING] = profile_nr_strings(profile),
		[KIND_MODULE] = profile_nr_modules(profile),
		[KIND_FRAME] = profile_nr_frames(profile),
	};
	uint32_t i;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		const uint32_t set = profile_sample(profile, i)->labels.set;

		nr[KIND_SET] = set > nr[KIND_SET] ? set : nr[KIND_SET];
	}
	for (i = 0; i < NR_KINDS; i++) {
		writer.numbers[i] = calloc(nr[i] + 1, sizeof(uint32_t));
		if (!writer.numbers[i])
			return -ENOMEM;
	}
	put_samples(&writer);
	return content_compress(&writer.content, Z_BEST_SPEED, to);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reader {
	struct profile *profile;
	struct bytes rest;
	/* The profile's numbers, by those in the bytes. */
	uint32_t *numbers[NR_KINDS];
	size_t nr[NR_KINDS], capacity[NR_KINDS];
	uint32_t *frames; /* of the present sample */
	size_t cap_frames;
	int values[PROFILE_MAX_VALUES]; /* the profile's numbers */
	size_t nr_values;
};

static void reader_clear(struct reader *reader)
{
	size_t i;

	for (i = 0; i < NR_KINDS; i++)
		free(reader->numbers[i]);
	free(reader->frames);
	profile_free(reader->profile);
}

#define NOT_DEFINED INT64_MAX

/* Returns the profile's number of what is referred to, NOT_DEFINED if its definition follows, or -EBADMSG. */
static int64_t read_reference(struct reader *reader, enum kind kind)
{
	const uint64_t number = bytes_uleb(&reader->rest);

	if (reader->rest.failed || number > reader->nr[kind] + 1)
		return -EBADMSG;
	if (!number)
		return kind == KIND_STRING || kind == KIND_SET ? 0 : -EBADMSG;
	return number > reader->nr[kind] ? NOT_DEFINED : reader->numbers[kind][number - 1];
}

/* Notes the number of what was defined, and returns it. */
static int64_t define(struct reader *reader, enum kind kind, int64_t number)
{
	if (number < 0)
		return number;
	return ARRAY_ADD(reader->numbers[kind], reader->nr[kind], reader->capacity[kind],
			 (uint32_t)number) < 0
		       ? -ENOMEM
		       : number;
}

static int64_t read_string(struct reader *reader)
{
	const int64_t known = read_reference(reader, KIND_STRING);
	uint64_t nr;
	const uint8_t *text;

	if (known != NOT_DEFINED)
		return known;
	nr = bytes_uleb(&reader->rest);
	text = bytes_skip(&reader->rest, nr);
	if (!text)
		return -EBADMSG;
	return define(reader, KIND_STRING,
		      profile_add_foreign_string(reader->profile, (const char *)text, nr));
}

/* Reads strings one after the other. 0 or a negative errno. */
static int read_strings(struct reader *reader, uint32_t *const strings[], size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const int64_t string = read_string(reader);

		if (string < 0)
			return (int)string;
		*strings[i] = (uint32_t)string;
	}
	return 0;
}

static int64_t read_module(struct reader *reader)
{
	const int64_t known = read_reference(reader, KIND_MODULE);
	struct module module = {.file = (uint32_t)reader->nr[KIND_MODULE] + 1};
	struct module_code code;
	struct bytes bytes;
	int64_t name, added;
	int result = 0;

	if (known != NOT_DEFINED)
		return known;
	module.kind = (enum module_kind)bytes_uleb(&reader->rest);
	name = read_string(reader);
	if (name < 0)
		return name;
	bytes = bytes_cut(&reader->rest, bytes_uleb(&reader->rest));
	if (reader->rest.failed || module.kind > MODULE_RUN_TIME)
		return -EBADMSG;
	module.name = (uint32_t)name;
	added = store_add_module(reader->profile, &module);
	if (added >= 0 && bytes.nr)
		result = store_parse_code(&bytes, &code)
				 ?: profile_set_code(reader->profile, (uint32_t)added, &code);
	return define(reader, KIND_MODULE, result < 0 ? result : added);
}

static int64_t read_frame(struct reader *reader)
{
	const int64_t known = read_reference(reader, KIND_FRAME);
	struct code_line lines[STORED_MAX_LINES];
	enum frame_kind kind;
	uint64_t flags, nr, i;
	int64_t module, frame;

	if (known != NOT_DEFINED)
		return known;
	flags = bytes_uleb(&reader->rest);
	kind = flags & FRAME_IS_KERNEL ? FRAME_KERNEL : FRAME_USER;
	module = read_module(reader);
	if (module < 0)
		return module;
	nr = bytes_uleb(&reader->rest); /* or the address */
	if (reader->rest.failed || (!(flags & FRAME_HAS_ADDRESS) && nr > STORED_MAX_LINES))
		return -EBADMSG;
	if (flags & FRAME_HAS_ADDRESS) {
		frame = nr < PROFILE_NOWHERE
				? profile_add_frame(reader->profile, kind, (uint32_t)module, nr)
				: -EBADMSG;
		return define(reader, KIND_FRAME, frame);
	}
	for (i = 0; i < nr; i++) {
		uint32_t *const strings[] = {&lines[i].function, &lines[i].file};
		const int result = read_strings(reader, strings, ARRAY_SIZE(strings));

		if (result < 0)
			return result;
		lines[i].line = (uint32_t)bytes_uleb(&reader->rest);
	}
	return define(reader, KIND_FRAME,
		      store_add_lines(reader->profile, kind, (uint32_t)module, lines, nr));
}

static int64_t read_set(struct reader *reader)
{
	const int64_t known = read_reference(reader, KIND_SET);
	struct set_label labels[LABEL_SET_MAX];
	uint64_t nr, i;

	if (known != NOT_DEFINED)
		return known;
	nr = bytes_uleb(&reader->rest);
	if (nr > LABEL_SET_MAX)
		return -EBADMSG;
	for (i = 0; i < nr; i++) {
		uint32_t *const strings[] = {&labels[i].key, &labels[i].text, &labels[i].unit};
		const int result = read_strings(reader, strings, ARRAY_SIZE(strings));

		if (result < 0)
			return result;
		labels[i].number = (int64_t)bytes_uleb(&reader->rest);
	}
	return define(reader, KIND_SET, profile_add_label_set(reader->profile, labels, nr));
}

static int read_labels(struct reader *reader, struct sample_labels *ret)
{
	struct sample_labels labels = {0};
	uint32_t *const strings[] = {&labels.comm, &labels.cgroup, &labels.probe};
	const int result = read_strings(reader, strings, ARRAY_SIZE(strings));
	int64_t set;

	if (result < 0)
		return result;
	labels.pid = (int32_t)bytes_uleb(&reader->rest);
	labels.tid = (int32_t)bytes_uleb(&reader->rest);
	labels.cpu = (int32_t)bytes_uleb(&reader->rest);
	labels.user_end = (uint8_t)bytes_uleb(&reader->rest);
	labels.kernel_end = (uint8_t)bytes_uleb(&reader->rest);
	set = read_set(reader);
	if (set < 0)
		return (int)set;
	labels.set = (uint32_t)set;
	*ret = labels;
	return 0;
}

static int read_values(struct reader *reader)
{
	size_t i;

	reader->nr_values = bytes_uleb(&reader->rest);
	if (reader->rest.failed || !reader->nr_values || reader->nr_values > PROFILE_MAX_VALUES)
		return -EBADMSG;
	for (i = 0; i < reader->nr_values; i++) {
		struct value_type type;
		uint32_t *const strings[] = {&type.type, &type.unit};
		const int result = read_strings(reader, strings, ARRAY_SIZE(strings));

		if (result < 0)
			return result;
		if (!i)
			profile_set_main_type(reader->profile, type);
		reader->values[i] = profile_add_value_type(reader->profile, &type);
		if (reader->values[i] < 0)
			return reader->values[i];
	}
	return 0;
}

/* Reads the frames of a sample, and returns how many. */
static int64_t read_stack(struct reader *reader, uint64_t *ret_nr_kernel)
{
	uint64_t nr, i;

	*ret_nr_kernel = bytes_uleb(&reader->rest);
	nr = bytes_uleb(&reader->rest);
	/* A frame takes at least one byte. */
	if (reader->rest.failed || nr > reader->rest.nr || *ret_nr_kernel > nr)
		return -EBADMSG;
	if (ARRAY_RESERVE(reader->frames, reader->cap_frames, nr + 1) < 0)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		const int64_t frame = read_frame(reader);

		if (frame < 0)
			return frame;
		reader->frames[i] = (uint32_t)frame;
	}
	return (int64_t)nr;
}

static int read_sample(struct reader *reader, const struct unnamed_choice *choice)
{
	struct sample_labels labels;
	uint64_t nr_kernel, amount;
	int64_t nr, sample = -1;
	int result = read_labels(reader, &labels), is_wanted = 1;
	size_t i;

	if (result < 0)
		return result;
	nr = read_stack(reader, &nr_kernel);
	if (nr < 0)
		return (int)nr;
	if (choice->choose)
		is_wanted = choice->choose(choice->context, reader->profile, &labels);
	if (is_wanted < 0)
		return is_wanted;
	if (is_wanted)
		sample = profile_add_sample(reader->profile, &labels, reader->frames,
					    choice->no_stacks ? 0 : (size_t)nr,
					    choice->no_stacks ? 0 : nr_kernel, 0);
	if (is_wanted && sample < 0)
		return sample == -EINVAL ? -EBADMSG : (int)sample;
	for (i = 0; i < reader->nr_values && !result; i++) {
		amount = bytes_uleb(&reader->rest);
		if (!is_wanted || !amount)
			continue;
		if (!profile_value_has_room(reader->profile, (size_t)reader->values[i], amount))
			return -EBADMSG;
		result = profile_add_value(reader->profile, (uint32_t)sample,
					   (size_t)reader->values[i], amount);
	}
	return result < 0 ? result : reader->rest.failed ? -EBADMSG : 0;
}

int unnamed_read(struct bytes bytes, const struct unnamed_choice *choice, struct profile **ret)
{
	cleanup(reader_clear) struct reader reader = {.profile = profile_new()};
	cleanup_free uint8_t *whole = NULL;
	size_t nr = 0;
	uint64_t nr_samples, i;
	int result = reader.profile ? content_expand(bytes, &whole, &nr) : -ENOMEM;

	if (result < 0)
		return result;
	reader.rest = bytes_of(whole, nr);
	result = read_values(&reader);
	nr_samples = bytes_uleb(&reader.rest);
	if (!result && reader.rest.failed)
		result = -EBADMSG;
	for (i = 0; i < nr_samples && !result; i++)
		result = read_sample(&reader, choice);
	if (result < 0)
		return result;
	*ret = reader.profile;
	reader.profile = NULL;
	return 0;
}
