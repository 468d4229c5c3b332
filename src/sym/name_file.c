/*
 * Names of code in files: the file is opened, what identifies it is noted in the profile, and its
 * symbols are looked up; also those of the vdso, which is a file in memory.
 *
 * The vdso is read from our own process: the kernel maps the same one into every process of our
 * word size. Frames in the other one (32-bit processes on a 64-bit kernel) may get wrong names.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image/elf_image.h"
#include "proc/file_open.h"
#include "sym/naming.h"

/* The code at the entry point that sets up and calls main's caller is no longer than this. */
#define START_BYTES 64

/* --- the file -------------------------------------------------------------------------------- */

/* As the run knows it; its descriptor stays the table's. */
static void known_file(const struct naming *naming, const struct module *module,
		       struct code_file *ret)
{
	struct file_table *files = naming->symbolizer->options.files;
	const struct file *file = file_table_get(files, module->file);

	(void)file_table_reopen(files, module->file);
	*ret = (struct code_file){.fd = file->fd, .path = file->path, .root_fd = file->root_fd};
}

/* Of a profile from elsewhere: what lies at its path here, if its build id is the one. */
static void file_from_elsewhere(const struct naming *naming, const struct module *module,
				struct code_file *ret)
{
	const struct module_code *code = profile_code(naming->profile, naming->module);
	const char *path = profile_string(naming->profile, module->name);
	cleanup_fd int fd = -1;

	*ret = (struct code_file){.fd = -1, .path = path, .root_fd = -1};
	if (!code || !code->build_id_bytes)
		return;
	memcpy(ret->build_id, code->build_id, code->build_id_bytes);
	ret->build_id_bytes = code->build_id_bytes;
	fd = file_open_below(-1, path);
	if (fd >= 0 && elf_image_fd_has_build_id(fd, ret->build_id, ret->build_id_bytes))
		ret->fd = take_fd(&fd);
}

/*
 * Notes in the profile what the file is, so that it can be found elsewhere, and lines looked up. Of
 * one that went while we ran, what was noted before stays.
 */
static int note_code(const struct naming *naming, struct code_file *file,
		     const struct elf_image *image)
{
	const struct module_code *before = profile_code(naming->profile, naming->module);
	struct module_code code = {.is_gone = file->fd < 0 && !image};
	size_t i;

	if (!naming->symbolizer->options.files)
		return 0; /* it was noted where it was recorded */
	if (image) {
		code.build_id_bytes = (uint8_t)image->build_id_bytes;
		memcpy(code.build_id, image->build_id, image->build_id_bytes);
		for (i = 0; i < image->nr_segments && i < PROFILE_MAX_SEGMENTS; i++)
			code.segments[i] = (struct module_segment){image->segments[i].offset,
								   image->segments[i].vaddr,
								   image->segments[i].bytes};
		code.nr_segments = (uint8_t)i;
	} else if (before) {
		code = *before;
	}
	file->build_id_bytes = code.build_id_bytes;
	memcpy(file->build_id, code.build_id, code.build_id_bytes);
	return profile_set_code(naming->profile, naming->module, &code);
}

/* --- its names ------------------------------------------------------------------------------- */

/* Where every stack of a main thread ends. Stripped programs have no name for it, but they have it. */
static bool is_start(const struct elf_image *image, uint64_t vaddr)
{
	return image && image->entry && vaddr >= image->entry && vaddr - image->entry < START_BYTES;
}

/* What a signal handler returns to, in glibc and musl. */
static bool is_signal_return(const char *name)
{
	return !strcmp(name, "__restore_rt") || !strcmp(name, "__restore");
}

/*
 * *ret: NULL if there is none. Nobody called a signal handler's return: the kernel made its first
 * byte a return address, and the byte before that is what is looked up. It has no name, because a
 * nop stands there for this very reason.
 */
static int find_name(const struct file_symbols_input *input, struct file_symbols *symbols,
		     uint64_t vaddr, const char **ret)
{
	const char *behind = NULL;
	int err = file_symbols_find(symbols, input, vaddr, ret);

	if (err == 0 && !*ret && is_start(input->image, vaddr))
		*ret = "_start";
	if (err == 0 && !*ret)
		err = file_symbols_find(symbols, input, vaddr + 1, &behind);
	if (behind && is_signal_return(behind))
		*ret = behind;
	return err;
}

static int look_up(const struct naming *naming, struct file_symbols *symbols,
		   const struct file_symbols_input *input)
{
	const char *name;
	uint64_t vaddr;
	size_t i;
	int err = 0;

	for (i = 0; i < naming->nr && err == 0; i++) {
		const struct pending_frame *frame = &naming->frames[i];

		if (profile_frame(naming->profile, frame->frame)->function)
			continue; /* it is here for its lines */
		if (naming_vaddr(naming, input->image, frame->address, &vaddr) < 0)
			continue;
		err = find_name(input, symbols, vaddr, &name);
		if (err == 0 && name)
			err = name_frame(naming, frame->frame, name);
	}
	return err;
}

/* image: NULL if the file is not to be had. */
static int name_from(const struct naming *naming, struct code_file *file,
		     const struct elf_image *image)
{
	struct symbolizer *symbolizer = naming->symbolizer;
	const struct file_symbols_input input = {
		.file = file,
		.image = image,
		.places = &symbolizer->options.places,
		.debuginfod = symbolizer->debuginfod,
	};
	struct symbol_cache_key key = {
		.build_id_bytes = file->build_id_bytes,
		.file_bytes = image ? image->bytes : 0,
		.root = file->root_fd,
		.number = naming->module,
	};
	struct file_symbols *symbols;
	size_t nr_failed;
	int err;

	memcpy(key.build_id, file->build_id, file->build_id_bytes);
	symbols = symbol_cache_get(symbolizer->cache, &key);
	if (!symbols)
		return -ENOMEM;
	nr_failed = file_symbols_nr_failed(symbols);
	err = look_up(naming, symbols, &input);
	nr_failed = file_symbols_nr_failed(symbols) - nr_failed;
	symbolizer->result.nr_files_failed += nr_failed;
	symbolizer->result.nr_tables_failed += nr_failed;
	if (err == 0 && (symbolizer->options.inlined || symbolizer->options.lines))
		err = name_lines(naming, file, image);
	debug_files_forget(file);
	return err;
}

static int name_in(const struct naming *naming, struct code_file *file)
{
	struct elf_image image;
	bool has_image = false;
	int err = 0;

	if (file->fd >= 0) {
		err = elf_image_open(&image, file->fd, NULL);
		if (err == -ENOMEM)
			return err;
		has_image = err == 0;
	}
	if (!has_image)
		naming->symbolizer->result.nr_files_failed++;
	err = note_code(naming, file, has_image ? &image : NULL);
	if (err == 0 && !naming->symbolizer->options.leave_files)
		err = name_from(naming, file, has_image ? &image : NULL);
	if (has_image)
		elf_image_close(&image);
	return err;
}

int name_in_file(const struct naming *naming)
{
	const struct module *module = profile_module(naming->profile, naming->module);
	struct code_file file;
	int err;

	if (naming->symbolizer->options.files) {
		known_file(naming, module, &file);
		return name_in(naming, &file);
	}
	file_from_elsewhere(naming, module, &file);
	err = name_in(naming, &file);
	if (file.fd >= 0)
		(void)close(file.fd);
	return err;
}

int name_in_vdso(const struct naming *naming)
{
	struct code_file file = {.fd = -1, .path = "[vdso]", .root_fd = -1};
	struct elf_image image;
	const void *vdso;
	size_t bytes;
	int err;

	if (!naming->symbolizer->options.files)
		return 0; /* it is another kernel's */
	vdso = vdso_find(&bytes);
	if (!vdso)
		return 0;
	err = elf_image_open_memory(&image, vdso, bytes, NULL);
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	err = note_code(naming, &file, &image);
	if (err == 0)
		err = name_from(naming, &file, &image);
	elf_image_close(&image);
	return err;
}
