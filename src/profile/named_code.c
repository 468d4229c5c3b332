/*
 * Modules, frames, lines and strings one after the other, behind their numbers. Everything in a profile is interned and
 * numbered from 0, so adding all in order must give the same numbers again; else the bytes are refused.
 */
#include "profile/named_code.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"

struct head {
	uint64_t nr_modules, nr_frames, nr_lines, nr_strings;
	uint64_t text_bytes;
};

struct module_bytes {
	uint32_t kind, file, name;
	uint32_t has_code;
	struct module_code code;
};

struct frame_bytes {
	uint64_t address;
	uint32_t module, function;
	uint32_t kind, nr_lines;
};

_Static_assert(sizeof(struct module_bytes) % 8 == 0, "frames are aligned");

/* --- writing ---------------------------------------------------------------------------------- */

static struct head measure(const struct profile *profile)
{
	struct head head = {
		.nr_modules = profile_nr_modules(profile),
		.nr_frames = profile_nr_frames(profile),
		.nr_strings = profile_nr_strings(profile),
	};
	uint32_t i;

	for (i = 0; i < head.nr_frames; i++)
		head.nr_lines += profile_frame(profile, i)->nr_lines;
	for (i = 0; i < head.nr_strings; i++)
		head.text_bytes += strlen(profile_string(profile, i)) + 1;
	return head;
}

static void write_module(const struct profile *profile, uint32_t number, struct module_bytes *to)
{
	const struct module *module = profile_module(profile, number);
	const struct module_code *code = profile_code(profile, number);

	*to = (struct module_bytes){
		.kind = module->kind, .file = module->file, .name = module->name};
	to->has_code = code != NULL;
	if (code)
		to->code = *code;
}

int named_code_write(const struct profile *profile, void **ret, size_t *ret_nr)
{
	const struct head head = measure(profile);
	const size_t nr = sizeof(head) + head.nr_modules * sizeof(struct module_bytes) +
			  head.nr_frames * sizeof(struct frame_bytes) +
			  head.nr_lines * sizeof(struct code_line) + head.text_bytes;
	char *bytes = malloc(nr);
	struct module_bytes *modules = (struct module_bytes *)(bytes + sizeof(head));
	struct frame_bytes *frames = (struct frame_bytes *)(modules + head.nr_modules);
	struct code_line *lines = (struct code_line *)(frames + head.nr_frames);
	char *text = (char *)(lines + head.nr_lines);
	uint32_t i;

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, &head, sizeof(head));
	for (i = 0; i < head.nr_modules; i++)
		write_module(profile, i, &modules[i]);
	for (i = 0; i < head.nr_frames; i++) {
		const struct frame *frame = profile_frame(profile, i);

		frames[i] = (struct frame_bytes){frame->address, frame->module, frame->function,
						 frame->kind, frame->nr_lines};
		if (frame->nr_lines)
			memcpy(lines, profile_lines(profile, frame),
			       frame->nr_lines * sizeof(*lines));
		lines += frame->nr_lines;
	}
	for (i = 0; i < head.nr_strings; i++)
		text = stpcpy(text, profile_string(profile, i)) + 1;
	*ret = bytes;
	*ret_nr = nr;
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* 0 if a number that was given is the expected one. */
static int check_number(int64_t given, uint64_t expected)
{
	return given < 0 ? (int)given : (uint64_t)given == expected ? 0 : -EPROTO;
}

static int read_module(struct profile *profile, uint32_t number, const struct module_bytes *from)
{
	const struct module module = {(enum module_kind)from->kind, from->file, from->name};
	struct module_code code;
	int err;

	if (from->kind > MODULE_RUN_TIME || from->name >= profile_nr_strings(profile))
		return -EPROTO;
	err = check_number(profile_add_module(profile, &module), number);
	if (err < 0 || !from->has_code)
		return err;
	memcpy(&code, &from->code, sizeof(code));
	code.is_gone = code.is_unread =
		false; /* when it was recorded; and any bits could be there */
	if (code.nr_segments > PROFILE_MAX_SEGMENTS || code.build_id_bytes > PROFILE_BUILD_ID_BYTES)
		return -EPROTO;
	return profile_set_code(profile, number, &code);
}

static int read_frame(struct profile *profile, uint32_t number, const struct frame_bytes *from,
		      const struct code_line *lines)
{
	uint32_t nr_strings = profile_nr_strings(profile), i;
	int err;

	if (from->kind > FRAME_KERNEL || from->module >= profile_nr_modules(profile) ||
	    from->function >= nr_strings)
		return -EPROTO;
	for (i = 0; i < from->nr_lines; i++)
		if (lines[i].function >= nr_strings || lines[i].file >= nr_strings)
			return -EPROTO;
	err = check_number(profile_add_frame(profile, (enum frame_kind)from->kind, from->module,
					     from->address),
			   number);
	if (err == 0 && from->nr_lines)
		err = profile_set_lines(profile, number, lines, from->nr_lines);
	if (err == 0)
		profile_set_name(profile, number, from->function);
	return err;
}

/* Reads everything behind the numbers. */
static int read_all(struct bytes *bytes, const struct head *head, struct profile *profile)
{
	/* Numbers below the bytes that are left cannot overflow. */
	const struct module_bytes *modules =
		(const struct module_bytes *)bytes_skip(bytes, head->nr_modules * sizeof(*modules));
	const struct frame_bytes *frames =
		(const struct frame_bytes *)bytes_skip(bytes, head->nr_frames * sizeof(*frames));
	const struct code_line *lines =
		(const struct code_line *)bytes_skip(bytes, head->nr_lines * sizeof(*lines));
	uint64_t nr_lines = head->nr_lines;
	uint32_t i;
	int err = bytes->failed ? -EPROTO : 0;

	for (i = 0; i < head->nr_strings && err == 0; i++) {
		const char *text = bytes_string(bytes);

		err = text ? check_number(profile_add_string(profile, text), i) : -EPROTO;
	}
	for (i = 0; i < head->nr_modules && err == 0; i++)
		err = read_module(profile, i, &modules[i]);
	for (i = 0; i < head->nr_frames && err == 0; i++) {
		if (frames[i].nr_lines > nr_lines || frames[i].nr_lines > UINT16_MAX)
			return -EPROTO;
		err = read_frame(profile, i, &frames[i], lines);
		lines += frames[i].nr_lines;
		nr_lines -= frames[i].nr_lines;
	}
	return err;
}

int named_code_read(const void *start, size_t nr, struct profile **ret)
{
	struct bytes bytes = bytes_of(start, nr);
	const struct head *head = (const struct head *)bytes_skip(&bytes, sizeof(*head));
	struct profile *profile;
	int err;

	if (!head || head->nr_modules > bytes.nr || head->nr_frames > PROFILE_MAX_FILE_FRAMES ||
	    head->nr_frames > bytes.nr || head->nr_lines > bytes.nr ||
	    head->nr_strings > bytes.nr || head->nr_strings > UINT32_MAX)
		return -EPROTO;
	profile = profile_new();
	if (!profile)
		return -ENOMEM;
	profile_set_max_frames(profile, PROFILE_MAX_FILE_FRAMES);
	err = read_all(&bytes, head, profile);
	if (err == 0)
		*ret = profile;
	else
		profile_free(profile);
	return err;
}

/* --- taking names ----------------------------------------------------------------------------- */

static int64_t take_string(struct profile *profile, const struct profile *named, uint32_t string)
{
	return profile_add_string(profile, profile_string(named, string));
}

static int take_lines(struct profile *profile, uint32_t frame, const struct profile *named)
{
	const struct frame *from = profile_frame(named, frame);
	const struct code_line *lines = profile_lines(named, from);
	cleanup_free struct code_line *taken = calloc(from->nr_lines + 1U, sizeof(*taken));
	size_t i;

	for (i = 0; taken && i < from->nr_lines; i++) {
		int64_t function = take_string(profile, named, lines[i].function);
		int64_t file = take_string(profile, named, lines[i].file);

		if (function < 0 || file < 0)
			return -ENOMEM;
		taken[i] = (struct code_line){(uint32_t)function, (uint32_t)file, lines[i].line};
	}
	return taken ? profile_set_lines(profile, frame, taken, from->nr_lines) : -ENOMEM;
}

int named_code_take(struct profile *profile, const struct profile *named)
{
	uint32_t i, nr = (uint32_t)profile_nr_frames(profile);
	int err = 0;

	if (profile_nr_frames(named) != nr)
		return -EPROTO;
	for (i = 0; i < nr && err == 0; i++) {
		const struct frame *from = profile_frame(named, i);
		int64_t function = take_string(profile, named, from->function);

		if (function < 0)
			return -ENOMEM;
		profile_set_name(profile, i, (uint32_t)function);
		if (from->nr_lines && !profile_frame(profile, i)->nr_lines)
			err = take_lines(profile, i, named);
	}
	return err;
}
