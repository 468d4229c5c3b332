/*
 * A profile's strings, modules and frames, and the profile as a whole.
 *
 * Each interned kind is a growing array, indexed by number, with a number_index to find entries by
 * content: 48 bytes per frame, 64 bytes per sample, 4 bytes per frame of a stack. A frame is found
 * by kind, module and address; a frame known by name only gets an address where no code can be
 * (PROFILE_NOWHERE), and is found by its lines. Samples are in profile_samples.c, their values in
 * profile_values.c.
 */
#include "profile/profile_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"

int64_t profile_add_string(struct profile *profile, const char *text)
{
	return strings_add(profile->strings, text);
}

int64_t profile_add_string_bytes(struct profile *profile, const char *bytes, size_t nr)
{
	return strings_add_bytes(profile->strings, bytes, nr);
}

int64_t profile_add_foreign_string(struct profile *profile, const char *text, size_t nr)
{
	cleanup_free char *copy = NULL;
	char *nul;

	if (!nr)
		return 0; /* number of the empty string */
	if (!memchr(text, '\0', nr))
		return profile_add_string_bytes(profile, text, nr);
	copy = malloc(nr);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, nr);
	while ((nul = memchr(copy, '\0', nr)))
		*nul = '?';
	return profile_add_string_bytes(profile, copy, nr);
}

void profile_set_origin(struct profile *profile, const struct profile_origin *origin)
{
	profile->origin = *origin;
}

const struct profile_origin *profile_origin(const struct profile *profile)
{
	return &profile->origin;
}

int profile_add_comment(struct profile *profile, const char *line)
{
	int64_t string = strings_add(profile->strings, line);

	if (string < 0 || array_reserve(&profile->comments, &profile->cap_comments,
					profile->nr_comments + 1, sizeof(*profile->comments)) < 0)
		return -ENOMEM;
	profile->comments[profile->nr_comments++] = (uint32_t)string;
	return 0;
}

size_t profile_nr_comments(const struct profile *profile)
{
	return profile->nr_comments;
}

const char *profile_comment(const struct profile *profile, size_t number)
{
	return strings_get(profile->strings, profile->comments[number]);
}

#define TOPIC_COLUMNS 9

const char *profile_comment_about(const struct profile *profile, const char *topic,
				  const char *words)
{
	size_t nr = strlen(topic), i;

	for (i = 0; i < profile_nr_comments(profile); i++) {
		const char *line = profile_comment(profile, i);

		if (strlen(line) > TOPIC_COLUMNS && nr < TOPIC_COLUMNS &&
		    !strncmp(line, topic, nr) && strspn(line + nr, " ") >= TOPIC_COLUMNS - nr &&
		    strstr(line, words))
			return line + TOPIC_COLUMNS;
	}
	return NULL;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int add_first_module(struct profile *profile, enum module_kind kind, const char *name)
{
	struct module module = {.kind = kind};
	int64_t string = strings_add(profile->strings, name);
	int64_t number;

	if (string < 0)
		return (int)string;
	module.name = (uint32_t)string;
	number = profile_add_module(profile, &module);
	return number < 0 ? (int)number : 0;
}

struct profile *profile_new(void)
{
	struct profile *profile = calloc(1, sizeof(*profile));
	int64_t samples = -ENOMEM, count = -ENOMEM;

	if (!profile)
		return NULL;
	profile->other_stack = -1;
	profile->max_frames = PROFILE_MAX_FRAMES;
	profile->strings = strings_new();
	if (profile->strings) {
		samples = strings_add(profile->strings, "samples");
		count = strings_add(profile->strings, "count");
	}
	if (samples < 0 || count < 0 ||
	    add_first_module(profile, MODULE_UNKNOWN, "[unknown]") < 0 ||
	    add_first_module(profile, MODULE_KERNEL, "[kernel]") < 0) {
		profile_free(profile);
		return NULL;
	}
	profile->samples_string = (uint32_t)samples;
	profile->count_string = (uint32_t)count;
	profile_set_main_type(profile, (struct value_type){0});
	return profile;
}

void profile_free(struct profile *profile)
{
	size_t i;

	if (!profile)
		return;
	strings_free(profile->strings);
	free(profile->modules);
	number_index_clear(&profile->module_index);
	free(profile->codes);
	free(profile->lines);
	free(profile->frames);
	number_index_clear(&profile->frame_index);
	stack_table_clear(&profile->stacks);
	free(profile->samples);
	number_index_clear(&profile->sample_index);
	number_index_clear(&profile->named_index);
	for (i = 0; i < profile->nr_columns; i++)
		free(profile->columns[i].amounts);
	stack_table_clear(&profile->label_sets);
	free(profile->slices);
	number_index_clear(&profile->slice_index);
	free(profile->comments);
	free(profile);
}

size_t profile_bytes(const struct profile *profile)
{
	size_t columns = 0, i;

	for (i = 0; i < profile->nr_columns; i++)
		columns += profile->columns[i].cap * sizeof(*profile->columns[i].amounts);
	return columns + sizeof(*profile) + strings_bytes(profile->strings) +
	       profile->cap_modules * sizeof(*profile->modules) +
	       number_index_bytes(&profile->module_index) +
	       profile->cap_frames * sizeof(*profile->frames) +
	       profile->cap_codes * sizeof(*profile->codes) +
	       profile->cap_lines * sizeof(*profile->lines) +
	       number_index_bytes(&profile->frame_index) + stack_table_bytes(&profile->stacks) +
	       profile->cap_samples * sizeof(*profile->samples) +
	       number_index_bytes(&profile->sample_index) +
	       number_index_bytes(&profile->named_index) + stack_table_bytes(&profile->label_sets) +
	       number_index_bytes(&profile->slice_index) +
	       profile->cap_slices * sizeof(*profile->slices) +
	       profile->cap_comments * sizeof(*profile->comments);
}

/* --- reading --------------------------------------------------------------------------------- */

uint32_t profile_nr_strings(const struct profile *profile)
{
	return strings_nr(profile->strings);
}

const char *profile_string(const struct profile *profile, uint32_t string)
{
	return strings_get(profile->strings, string);
}

size_t profile_nr_modules(const struct profile *profile)
{
	return profile->nr_modules;
}

const struct module *profile_module(const struct profile *profile, uint32_t module)
{
	return &profile->modules[module];
}

const char *profile_module_name(const struct profile *profile, uint32_t module)
{
	const char *path = profile_string(profile, profile->modules[module].name);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (profile->modules[module].kind == MODULE_RUN_TIME)
		return "[JIT]";
	return *name ? name : "[unknown]";
}

#define START_MARK "+0x"

int profile_set_start(struct profile *profile, uint32_t frame, uint64_t start)
{
	uint32_t module = profile_frame(profile, frame)->module;
	cleanup_free char *text = text_printf("%s" START_MARK "%" PRIx64,
					      profile_module_name(profile, module), start);

	return text ? profile_set_function(profile, frame, text) : -ENOMEM;
}

bool profile_is_start(const struct profile *profile, uint32_t function, uint32_t module)
{
	const char *text = profile_string(profile, function);
	const char *digits = strrchr(text, '+'), *name;
	size_t nr;

	if (!digits || !text_starts_with(digits, START_MARK))
		return false;
	nr = (size_t)(digits - text);
	digits += strlen(START_MARK);
	name = profile_module_name(profile, module);
	return *digits && !digits[strspn(digits, "0123456789abcdef")] && !strncmp(text, name, nr) &&
	       !name[nr];
}

uint64_t profile_start(const struct profile *profile, uint32_t function)
{
	const char *digits = strrchr(profile_string(profile, function), '+');

	return digits ? strtoull(digits + strlen(START_MARK), NULL, 16) : 0;
}

bool profile_is_named(const struct profile *profile, const struct frame *frame)
{
	return frame->function && !profile_is_start(profile, frame->function, frame->module);
}

size_t profile_nr_frames(const struct profile *profile)
{
	return profile->nr_frames;
}

const struct frame *profile_frame(const struct profile *profile, uint32_t frame)
{
	return &profile->frames[frame];
}

/* --- modules --------------------------------------------------------------------------------- */

int64_t profile_add_module(struct profile *profile, const struct module *module)
{
	uint64_t hash = hash_add(hash_add(module->kind, module->file), module->name);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&profile->module_index, hash, &probe, &number)) {
		const struct module *known = &profile->modules[number];

		if (known->kind == module->kind && known->file == module->file &&
		    known->name == module->name)
			return number;
	}
	if (profile->nr_modules >= UINT32_MAX - 1 ||
	    array_reserve(&profile->modules, &profile->cap_modules, profile->nr_modules + 1,
			  sizeof(*profile->modules)) < 0 ||
	    number_index_reserve(&profile->module_index) < 0)
		return -ENOMEM;
	number = (uint32_t)profile->nr_modules++;
	profile->modules[number] = *module;
	number_index_add(&profile->module_index, hash, number);
	return number;
}

int profile_set_code(struct profile *profile, uint32_t module, const struct module_code *code)
{
	if (array_reserve(&profile->codes, &profile->cap_codes, (size_t)module + 1, sizeof(*code)) <
	    0)
		return -ENOMEM;
	for (; profile->nr_codes <= module; profile->nr_codes++)
		profile->codes[profile->nr_codes] = (struct module_code){0};
	profile->codes[module] = *code;
	return 0;
}

int module_code_vaddr(const struct module_code *code, uint64_t offset, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < code->nr_segments; i++) {
		const struct module_segment *segment = &code->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->bytes)
			continue;
		*ret = segment->vaddr + (offset - segment->offset);
		return 0;
	}
	return -ENOENT;
}

int module_code_offset(const struct module_code *code, uint64_t vaddr, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < code->nr_segments; i++) {
		const struct module_segment *segment = &code->segments[i];

		if (vaddr < segment->vaddr || vaddr - segment->vaddr >= segment->bytes)
			continue;
		*ret = segment->offset + (vaddr - segment->vaddr);
		return 0;
	}
	return -ENOENT;
}

const struct module_code *profile_code(const struct profile *profile, uint32_t module)
{
	const struct module_code *code;

	if (module >= profile->nr_codes)
		return NULL;
	code = &profile->codes[module];
	return code->build_id_bytes || code->nr_segments || code->is_gone || code->is_unread ? code
											     : NULL;
}

/* --- frames ---------------------------------------------------------------------------------- */

static bool is_full(const struct profile *profile)
{
	return profile->nr_frames >= profile->max_frames || profile_is_at_limit(profile);
}

/* True for the unnamed frame of profile_add_frame() past the limit, and for "[other stacks]". */
static bool is_stand_in(uint32_t module, uint64_t address)
{
	return module == MODULE_NR_UNKNOWN && (!address || address == OTHER_STACKS_ADDRESS);
}

/* Appends a frame and adds it to the index. Returns its number, or -ENOMEM. */
static int64_t push_frame(struct profile *profile, struct number_index *index, uint64_t hash,
			  const struct frame *frame)
{
	uint32_t number;

	if (profile->nr_frames >= UINT32_MAX - 1 ||
	    array_reserve(&profile->frames, &profile->cap_frames, profile->nr_frames + 1,
			  sizeof(*profile->frames)) < 0 ||
	    number_index_reserve(index) < 0)
		return -ENOMEM;
	number = (uint32_t)profile->nr_frames++;
	profile->frames[number] = *frame;
	number_index_add(index, hash, number);
	return number;
}

static uint64_t hash_of_frame(enum frame_kind kind, uint32_t module, uint64_t address)
{
	return hash_add(hash_u64((uint64_t)module << 1 | (kind == FRAME_KERNEL)), address);
}

int64_t profile_find_frame(const struct profile *profile, enum frame_kind kind, uint32_t module,
			   uint64_t address)
{
	const uint64_t hash = hash_of_frame(kind, module, address);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&profile->frame_index, hash, &probe, &number)) {
		const struct frame *frame = &profile->frames[number];

		if (frame->address == address && frame->module == module && frame->kind == kind)
			return number;
	}
	return -ENOENT;
}

int64_t profile_add_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
			  uint64_t address)
{
	const int64_t known = profile_find_frame(profile, kind, module, address);

	if (known >= 0)
		return known;
	if (is_full(profile) && !is_stand_in(module, address))
		return profile_add_frame(profile, kind, MODULE_NR_UNKNOWN, 0);
	return push_frame(profile, &profile->frame_index, hash_of_frame(kind, module, address),
			  &(struct frame){.address = address, .module = module, .kind = kind});
}

/* One line without file and line number is just the frame's name: not stored as a line. */
static size_t nr_real_lines(const struct code_line *lines, size_t nr)
{
	return nr == 1 && !lines->file && !lines->line ? 0 : nr;
}

static bool has_content(const struct profile *profile, const struct frame *frame,
			const struct code_line *lines, size_t nr)
{
	size_t nr_real = nr_real_lines(lines, nr);

	return frame->function == (nr ? lines[nr - 1].function : 0) && frame->nr_lines == nr_real &&
	       (!nr_real ||
		!memcmp(profile_lines(profile, frame), lines, nr_real * sizeof(*lines)));
}

/* The index still leads to the frame, which is then no match. */
void profile_displace_frame(struct profile *profile, uint32_t frame)
{
	profile->frames[frame].address = PROFILE_NOWHERE + frame;
}

int64_t profile_add_named_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
				const struct code_line *lines, size_t nr)
{
	uint64_t hash = hash_add(module, (uint64_t)kind);
	struct frame frame = {.module = module, .kind = kind};
	size_t probe = 0;
	uint32_t number;
	int64_t added;

	if (nr > UINT16_MAX)
		nr = UINT16_MAX;
	if (nr)
		hash = hash_add(hash, hash_key(lines, nr * sizeof(*lines)));
	while (number_index_next(&profile->named_index, hash, &probe, &number)) {
		const struct frame *known = &profile->frames[number];

		if (known->module == module && known->kind == kind &&
		    has_content(profile, known, lines, nr))
			return number;
	}
	if (is_full(profile))
		return profile_add_frame(profile, kind, MODULE_NR_UNKNOWN, 0);
	frame.function = nr ? lines[nr - 1].function : 0;
	frame.address = PROFILE_NOWHERE + profile->nr_frames;
	added = push_frame(profile, &profile->named_index, hash, &frame);
	if (added < 0 || !nr_real_lines(lines, nr))
		return added;
	return profile_set_lines(profile, (uint32_t)added, lines, nr) < 0 ? -ENOMEM : added;
}

void profile_set_name(struct profile *profile, uint32_t frame, uint32_t string)
{
	profile->frames[frame].function = string;
}

int profile_set_function(struct profile *profile, uint32_t frame, const char *name)
{
	int64_t string = strings_add(profile->strings, name);

	if (string < 0)
		return (int)string;
	profile_set_name(profile, frame, (uint32_t)string);
	return 0;
}

int profile_set_lines(struct profile *profile, uint32_t frame, const struct code_line *lines,
		      size_t nr)
{
	if (nr > UINT16_MAX)
		nr = UINT16_MAX;
	if (profile->nr_lines + nr > UINT32_MAX ||
	    array_reserve(&profile->lines, &profile->cap_lines, profile->nr_lines + nr,
			  sizeof(*lines)) < 0)
		return -ENOMEM;
	if (nr)
		memcpy(profile->lines + profile->nr_lines, lines, nr * sizeof(*lines));
	profile->frames[frame].first_line = (uint32_t)profile->nr_lines;
	profile->frames[frame].nr_lines = (uint16_t)nr;
	profile->nr_lines += nr;
	return 0;
}

const struct code_line *profile_lines(const struct profile *profile, const struct frame *frame)
{
	return frame->nr_lines ? profile->lines + frame->first_line : NULL;
}

void profile_set_max_frames(struct profile *profile, size_t nr)
{
	profile->max_frames = nr < PROFILE_MAX_FILE_FRAMES ? nr : PROFILE_MAX_FILE_FRAMES;
}
