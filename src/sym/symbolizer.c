/*
 * The frames to be named are listed and sorted by module; each run of one module is named by what
 * suits its kind, a row of a table. Code in no file (MODULE_ANON, MODULE_UNKNOWN) stays unnamed.
 *
 * The vdso is read from our own process: the kernel maps the same one into every process of our
 * word size. Frames in the other one (32-bit processes on a 64-bit kernel) may get wrong names.
 */
#include "sym/symbolizer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_image.h"
#include "elf/symbol_table.h"
#include "elf/vdso.h"
#include "sym/demangle.h"

/* Longer names are cut; some C++ templates come near. */
#define NAME_MAX_BYTES 8191

/* The code at the entry point that sets up and calls main's caller is no longer than this. */
#define START_BYTES 64

struct pending_frame {
	uint32_t module;
	uint32_t frame;
	uint64_t address;
};

struct job {
	struct profile *profile;
	const struct symbolizer_sources *sources;
	struct symbolizer_result *result;
	const struct pending_frame *frames; /* of one module */
	size_t nr;
};

/* --- one name ------------------------------------------------------------------------------ */

static int name_frame(struct profile *profile, uint32_t frame, const char *name)
{
	cleanup_free char *readable = NULL;
	char cut[NAME_MAX_BYTES + 1];

	if (strnlen(name, sizeof(cut)) == sizeof(cut)) {
		memcpy(cut, name, NAME_MAX_BYTES);
		cut[NAME_MAX_BYTES] = '\0';
		name = cut;
	}
	readable = demangle(name);
	return profile_set_function(profile, frame, readable ? readable : name);
}

/* --- files and the vdso -------------------------------------------------------------------- */

/* Where every stack of a main thread ends. Stripped programs have no name for it, but they have it.
 */
static bool is_start(const struct elf_image *image, uint64_t vaddr)
{
	return image->entry && vaddr >= image->entry && vaddr - image->entry < START_BYTES;
}

static int name_from_table(const struct job *job, const struct elf_image *image,
			   const struct symbol_table *symbols)
{
	size_t i;
	int err = 0;

	for (i = 0; i < job->nr && err == 0; i++) {
		const char *name;
		uint64_t vaddr;

		if (elf_image_offset_to_vaddr(image, job->frames[i].address, &vaddr) < 0)
			continue;
		name = symbol_table_find(symbols, vaddr, NULL);
		if (!name && is_start(image, vaddr))
			name = "_start";
		if (name)
			err = name_frame(job->profile, job->frames[i].frame, name);
	}
	return err;
}

/* Takes over the image. -ENOMEM, or 0, also for an image whose symbols can't be read. */
static int name_from_image(const struct job *job, struct elf_image *image)
{
	struct error error = {0};
	struct symbol_table *symbols = symbol_table_read(image, &error);
	int err = 0;

	if (symbols)
		err = name_from_table(job, image, symbols);
	else if (error.code == -ENOMEM)
		err = -ENOMEM;
	else
		job->result->nr_files_failed++;
	symbol_table_free(symbols);
	elf_image_close(image);
	return err;
}

static int name_in_file(const struct job *job, const struct module *module)
{
	const struct file *file = file_table_get(job->sources->files, module->file);
	struct elf_image image;
	int err = -EBADF;

	if (file->fd >= 0)
		err = elf_image_open(&image, file->fd, NULL);
	if (err == 0)
		return name_from_image(job, &image);
	if (err == -ENOMEM)
		return err;
	job->result->nr_files_failed++;
	return 0;
}

static int name_in_vdso(const struct job *job, const struct module *module)
{
	size_t bytes;
	const void *vdso = vdso_find(&bytes);
	struct elf_image image;
	int err;

	if (!vdso)
		return 0;
	err = elf_image_open_memory(&image, vdso, bytes, NULL);
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	return name_from_image(job, &image);
}

/* --- the kernel ---------------------------------------------------------------------------- */

/* A frame's module says "[kernel]" already; which kernel module is not part of a function name. */
static int add_kernel_name(void *context, size_t i, const char *name, const char *module)
{
	const struct job *job = context;

	return i < job->nr ? name_frame(job->profile, job->frames[i].frame, name) : -EINVAL;
}

/* True if the source named what it could; otherwise the result says why not. */
static bool ask(const struct kernel_names *source, const struct job *job, const uint64_t *addresses)
{
	struct error *error = &job->result->kernel_error;
	struct error reason = {0};
	int err;

	if (!source->name)
		return false;
	err = source->name(source->self, addresses, job->nr, add_kernel_name, (void *)job, &reason);
	if (err < 0) {
		reason.code = err;
		*error = reason;
	}
	return err >= 0;
}

static int name_in_kernel(const struct job *job, const struct module *module)
{
	cleanup_free uint64_t *addresses = calloc(job->nr, sizeof(*addresses));
	struct error *error = &job->result->kernel_error;
	struct error before = *error;
	bool named;
	size_t i;

	if (!addresses)
		return -ENOMEM;
	for (i = 0; i < job->nr; i++)
		addresses[i] = job->frames[i].address;
	named = ask(&job->sources->kernel, job, addresses) ||
		ask(&job->sources->kernel_fallback, job, addresses);
	if (!named && error->code != -ENOMEM)
		return 0;
	*error = before;
	return named ? 0 : -ENOMEM;
}

/* --- all of them --------------------------------------------------------------------------- */

static int (*const name_module[])(const struct job *job, const struct module *module) = {
	[MODULE_UNKNOWN] = NULL,      [MODULE_KERNEL] = name_in_kernel,
	[MODULE_FILE] = name_in_file, [MODULE_VDSO] = name_in_vdso,
	[MODULE_ANON] = NULL,
};

static int compare_pending(const void *left, const void *right)
{
	const struct pending_frame *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* Lists the nameless frames from number `first` on, sorted by module; returns how many. */
static size_t list_pending(const struct profile *profile, size_t first,
			   struct pending_frame *pending)
{
	size_t i, nr = 0, nr_frames = profile_nr_frames(profile);

	for (i = first; i < nr_frames; i++) {
		const struct frame *frame = profile_frame(profile, (uint32_t)i);
		const struct module *module = profile_module(profile, frame->module);

		if (frame->function || !name_module[module->kind])
			continue;
		pending[nr++] = (struct pending_frame){frame->module, (uint32_t)i, frame->address};
	}
	qsort(pending, nr, sizeof(*pending), compare_pending);
	return nr;
}

static int name_pending(struct job *job, const struct pending_frame *pending, size_t nr)
{
	size_t start, end;
	int err = 0;

	for (start = 0; start < nr && err == 0; start = end) {
		const struct module *module = profile_module(job->profile, pending[start].module);

		for (end = start + 1; end < nr; end++)
			if (pending[end].module != pending[start].module)
				break;
		job->frames = pending + start;
		job->nr = end - start;
		err = name_module[module->kind](job, module);
	}
	return err;
}

static void count(const struct profile *profile, struct symbolizer_result *result)
{
	size_t nr_frames = profile_nr_frames(profile);

	for (; result->nr_frames_tried < nr_frames; result->nr_frames_tried++) {
		if (profile_frame(profile, (uint32_t)result->nr_frames_tried)->function)
			result->nr_named++;
		else
			result->nr_unnamed++;
	}
}

int symbolizer_name_frames(struct profile *profile, const struct symbolizer_sources *sources,
			   struct symbolizer_result *result)
{
	struct job job = {.profile = profile, .sources = sources, .result = result};
	cleanup_free struct pending_frame *pending = NULL;
	size_t first = result->nr_frames_tried;
	int err;

	if (first >= profile_nr_frames(profile))
		return 0;
	pending = calloc(profile_nr_frames(profile) - first, sizeof(*pending));
	if (!pending)
		return -ENOMEM;
	err = name_pending(&job, pending, list_pending(profile, first, pending));
	if (err == 0)
		count(profile, result);
	return err;
}
