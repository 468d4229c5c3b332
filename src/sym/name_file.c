/*
 * Names code in files: opens the file, stores its build id and segments in the profile, and looks
 * up its symbols; then, on request, inlined calls and source lines. The vdso is a file in memory.
 *
 * The vdso is read from our own process: the kernel maps the same one into every process of our
 * word size. Frames in the other vdso (32-bit processes on a 64-bit kernel) may get wrong names.
 *
 * Lines: all addresses of a module are passed to source_lines at once. The outermost function keeps
 * its name from the symbol table; without one it gets DWARF's. The run waits for this, and samples
 * may be lost meanwhile, so there is a time limit per file (source_lines) and one for all files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "elf/image/elf_image.h"
#include "proc/file_open.h"
#include "profile/simple_name.h"
#include "sym/naming.h"
#include "sym/source_lines.h"

/* Converts a file offset to a link-time address. 0; -ENOENT if no segment contains it. */
static int find_vaddr(const struct naming *naming, const struct elf_image *image, uint64_t offset,
		      uint64_t *ret)
{
	const struct module_code *code = profile_code(naming->profile, naming->module);
	size_t i;

	if (image)
		return elf_image_offset_to_vaddr(image, offset, ret);
	for (i = 0; code && i < code->nr_segments; i++) {
		const struct module_segment *segment = &code->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->bytes)
			continue;
		*ret = segment->vaddr + (offset - segment->offset);
		return 0;
	}
	return -ENOENT;
}

/* --- inlined calls and source lines ----------------------------------------------------------- */

/* Time limit for the lines of all files of a run; past it further files get none. */
#define ALL_LINES_NS (60 * NS_PER_SEC)

struct place {
	uint64_t vaddr;
	uint32_t frame;
};

struct lines {
	const struct naming *naming;
	const struct place *places; /* of the request's addresses */
};

static int64_t add_path(const struct naming *naming, const char *path)
{
	return path && *path ? profile_add_string(naming->profile, path) : 0;
}

/*
 * Functions local to a file may have no mangled name in DWARF, only `sum<int>`, which the demangler
 * does not simplify. Mangled names have no `<`.
 */
static int64_t add_line_name(const struct naming *naming, const char *name)
{
	char simple[NAME_MAX_BYTES + 1];
	size_t nr = strnlen(name, NAME_MAX_BYTES);

	if (naming->symbolizer->options.demangle.mode != DEMANGLE_SIMPLE || !memchr(name, '<', nr))
		return add_function_name(naming, name);
	memcpy(simple, name, nr);
	simple[nr] = '\0';
	simple_name_dwarf(simple);
	return profile_add_string(naming->profile, simple);
}

static int add_line(const struct naming *naming, const struct debug_line *line,
		    struct code_line *ret)
{
	int64_t function = 0;
	int64_t file = add_path(naming, line->file);

	if (line->function && *line->function)
		function = add_line_name(naming, line->function);
	if (function < 0 || file < 0)
		return -ENOMEM;
	*ret = (struct code_line){(uint32_t)function, (uint32_t)file, line->line};
	return 0;
}

static int set_lines(const struct naming *naming, uint32_t number, struct code_line *lines,
		     size_t nr)
{
	const struct frame *frame = profile_frame(naming->profile, number);
	struct code_line *outermost = &lines[nr - 1];

	if (profile_is_named(naming->profile, frame) || (frame->function && !outermost->function))
		outermost->function = frame->function;
	else
		profile_set_name(naming->profile, number, outermost->function);
	return profile_set_lines(naming->profile, number, lines, nr);
}

static int add_lines(void *context, size_t i, const struct debug_line *found, size_t nr)
{
	const struct lines *lines = context;
	const struct naming *naming = lines->naming;
	struct code_line built[DEBUG_LINES_MAX];
	size_t k;
	int err;

	if (!nr || nr > DEBUG_LINES_MAX)
		return 0;
	for (k = 0; k < nr; k++) {
		err = add_line(naming, &found[k], &built[k]);
		if (err < 0)
			return err;
	}
	return set_lines(naming, lines->places[i].frame, built, nr);
}

/* --- where the DWARF is ---------------------------------------------------------------------- */

/*
 * Opens the file with DWARF: `file` itself, its debug file, or one from a server. Returns a
 * descriptor, which the caller closes, or -ENOENT.
 */
static int open_debug_info(const struct symbolizer *symbolizer, struct code_file *file,
			   const struct elf_image *image)
{
	cleanup_fd int asked = -1;
	int debug_fd;

	if (file->fd >= 0 && debug_info_exists(file->fd))
		return fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	debug_fd = debug_files_find(&symbolizer->options.places, file, image);
	if (debug_fd >= 0 && debug_info_exists(debug_fd))
		return fcntl(debug_fd, F_DUPFD_CLOEXEC, 0);
	if (symbolizer->debuginfod)
		asked = debuginfod_open(symbolizer->debuginfod, file->build_id,
					file->build_id_bytes, symbolizer->options.budget);
	return asked >= 0 && debug_info_exists(asked) ? take_fd(&asked) : -ENOENT;
}

/* --- the addresses of a module --------------------------------------------------------------- */

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return COMPARE(a->vaddr, b->vaddr);
}

/*
 * Lists the link-time addresses of the module's frames, sorted, without duplicates. Returns how
 * many.
 */
static size_t list_places(const struct naming *naming, const struct elf_image *image,
			  struct place *places)
{
	size_t i, nr = 0, nr_different = 0;

	for (i = 0; i < naming->nr; i++) {
		places[nr].frame = naming->frames[i].frame;
		if (find_vaddr(naming, image, naming->frames[i].address, &places[nr].vaddr) == 0)
			nr++;
	}
	qsort(places, nr, sizeof(*places), compare_places);
	for (i = 0; i < nr; i++)
		if (!i || places[i].vaddr != places[i - 1].vaddr)
			places[nr_different++] = places[i];
	return nr_different;
}

/* True if the run has time left for another file; if not, sets result.lines_error. */
static bool has_time(struct symbolizer *symbolizer)
{
	if (symbolizer->lines_ns < ALL_LINES_NS)
		return true;
	(void)error_set(&symbolizer->result.lines_error, -ETIME,
			"not all inlined calls and source lines were looked up: time limit of "
			"%d seconds reached",
			(int)(ALL_LINES_NS / NS_PER_SEC));
	return false;
}

/* As source_lines_find(), limited by the time left for all files of the run. */
static int find_in_time(struct symbolizer *symbolizer, struct source_lines_place *place,
			const struct debug_info_request *request, struct debug_info_work *ret,
			struct error *error)
{
	uint64_t budget_ns = read_budget_left_ns(symbolizer->options.budget);
	uint64_t began_ns = clock_now_ns();
	int err;

	place->most_ns = ALL_LINES_NS - symbolizer->lines_ns;
	if (budget_ns < place->most_ns)
		place->most_ns = budget_ns;
	place->stop_fd = read_budget_stop_fd(symbolizer->options.budget);
	err = source_lines_find(place, request, ret, error);
	symbolizer->lines_ns += clock_now_ns() - began_ns;
	return err;
}

/*
 * Adds inlined calls and lines to the frames, if `file` or its debug file has DWARF and the run has
 * time left.
 */
static int name_lines(const struct naming *naming, struct code_file *file,
		      const struct elf_image *image)
{
	struct symbolizer *symbolizer = naming->symbolizer;
	cleanup_free struct place *places = calloc(naming->nr, sizeof(*places));
	cleanup_free uint64_t *addresses = calloc(naming->nr, sizeof(*addresses));
	cleanup_fd int fd = open_debug_info(symbolizer, file, image);
	struct source_lines_place place = {.fd = fd, .root_fd = file->root_fd};
	struct lines lines = {.naming = naming, .places = places};
	struct debug_info_request request = {
		.addresses = addresses,
		.inlined = symbolizer->options.inlined,
		.lines = symbolizer->options.lines,
		.found = add_lines,
		.context = &lines,
	};
	struct debug_info_work work = {0};
	struct error error = {0};
	size_t i;
	int err;

	if (!places || !addresses)
		return -ENOMEM;
	if (fd < 0 || read_budget_take(symbolizer->options.budget, 0) < 0 || !has_time(symbolizer))
		return 0;
	request.nr = list_places(naming, image, places);
	for (i = 0; i < request.nr; i++)
		addresses[i] = places[i].vaddr;
	err = find_in_time(symbolizer, &place, &request, &work, &error);
	symbolizer->result.nr_split_lost += work.nr_split_lost;
	/*
	 * Not if the run's time or budget is used up: then that is the cause, which is reported
	 * elsewhere.
	 */
	if (err < 0 && err != -ENOMEM && !read_budget_take(symbolizer->options.budget, 0) &&
	    has_time(symbolizer))
		symbolizer->result.lines_error = error;
	return err == -ENOMEM ? err : 0;
}

/* Limit on the length of _start, the code at the entry point. */
#define START_BYTES 64

/* --- the file -------------------------------------------------------------------------------- */

/* Fills *ret for a file of this run; the file table owns its descriptor. */
static void known_file(const struct naming *naming, const struct module *module,
		       struct code_file *ret)
{
	struct file_table *files = naming->symbolizer->options.files;
	const struct file *file = file_table_get(files, module->file);

	(void)file_table_reopen(files, module->file);
	*ret = (struct code_file){.fd = file->fd,
				  .is_unread = file->state == FILE_REFUSED ||
					       file->state == FILE_NOT_OPENED,
				  .path = file->path,
				  .root_fd = file->root_fd,
				  .root_uid = file->root_uid};
	/*
	 * The file may be shared by many containers: don't use debug files in the root of the
	 * container where it was first seen.
	 */
	ret->is_of_root = file->fd >= 0 && file_is_of_root(file->fd, file->path);
	if (ret->is_of_root) {
		ret->root_fd = -1;
		ret->root_uid = 0;
	}
}

/*
 * Fills *ret for a profile from another machine: the file at the same path here, if its build id
 * matches. The caller closes ret->fd.
 */
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
 * Stores the file's build id and segments in the profile, so that the file can be found on other
 * machines, and its lines looked up. If the file was deleted during the run, the ones stored before
 * stay.
 */
static int note_code(const struct naming *naming, struct code_file *file,
		     const struct elf_image *image)
{
	const struct module_code *before = profile_code(naming->profile, naming->module);
	struct module_code code = {.is_gone = file->fd < 0 && !image && !file->is_unread,
				   .is_unread = file->fd < 0 && file->is_unread};
	size_t i;

	if (!naming->symbolizer->options.files)
		return 0; /* stored by the machine that recorded the profile */
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
		code.is_unread = file->fd < 0 && file->is_unread;
	}
	file->build_id_bytes = code.build_id_bytes;
	memcpy(file->build_id, code.build_id, code.build_id_bytes);
	return profile_set_code(naming->profile, naming->module, &code);
}

/* --- its names ------------------------------------------------------------------------------- */

/*
 * True if the address is in _start, where every stack of a main thread ends. Stripped programs have
 * the function but no name for it. Its bounds are the function's at the entry point, if known.
 */
static bool is_start(const struct elf_image *image, uint64_t vaddr,
		     const struct file_function *function)
{
	if (!image || !image->entry)
		return false;
	if (function->name)
		return function->start == image->entry;
	return vaddr >= image->entry && vaddr - image->entry < START_BYTES;
}

/* True for the function that a signal handler returns to, in glibc and musl. */
static bool is_signal_return(const char *name)
{
	return !strcmp(name, "__restore_rt") || !strcmp(name, "__restore");
}

/*
 * Finds the name at vaddr; ret->name is NULL or empty if there is none. Special case: a signal
 * handler's return address is the first byte of the restorer, since the kernel set it and no call
 * did. The byte before it, which is looked up, is a nop outside of any function, placed there by
 * libc for this purpose. So the next byte is tried.
 */
static int find_name(const struct file_symbols_input *input, struct file_symbols *symbols,
		     uint64_t vaddr, struct file_function *ret)
{
	struct file_function behind = {0};
	int err = file_symbols_find(symbols, input, vaddr, ret);
	bool has_name = err == 0 && ret->name && *ret->name;

	if (err < 0 || has_name)
		return err;
	if (is_start(input->image, vaddr, ret)) {
		ret->name = "_start";
		return 0;
	}
	err = file_symbols_find(symbols, input, vaddr + 1, &behind);
	if (behind.name && is_signal_return(behind.name))
		*ret = behind;
	return err;
}

static int name_by(const struct naming *naming, uint32_t frame,
		   const struct file_function *function)
{
	if (!function->name)
		return 0;
	return *function->name ? name_frame(naming, frame, function->name)
			       : profile_set_start(naming->profile, frame, function->start);
}

static int look_up(const struct naming *naming, struct file_symbols *symbols,
		   const struct file_symbols_input *input)
{
	struct file_function function;
	uint64_t vaddr;
	size_t i;
	int err = 0;

	for (i = 0; i < naming->nr && err == 0; i++) {
		const struct pending_frame *frame = &naming->frames[i];

		if (read_budget_take(input->budget, 0) < 0)
			break;

		if (profile_is_named(naming->profile, profile_frame(naming->profile, frame->frame)))
			continue; /* only its lines are missing */
		if (find_vaddr(naming, input->image, frame->address, &vaddr) < 0)
			continue;
		err = find_name(input, symbols, vaddr, &function);
		if (err == 0)
			err = name_by(naming, frame->frame, &function);
	}
	return err;
}

/* Names the module's frames. image: NULL if the file can't be read. */
static int name_from(const struct naming *naming, struct code_file *file,
		     const struct elf_image *image)
{
	struct symbolizer *symbolizer = naming->symbolizer;
	const struct module *module = profile_module(naming->profile, naming->module);
	const struct file_symbols_input input = {
		.file = file,
		.image = image,
		.places = &symbolizer->options.places,
		.debuginfod = symbolizer->debuginfod,
		.budget = symbolizer->options.budget,
		/*
		 * In the vdso, show __vdso_clock_gettime, as perf does, not its alias
		 * clock_gettime.
		 */
		.raw_aliases = symbolizer->options.raw_aliases || module->kind == MODULE_VDSO,
		.no_starts = symbolizer->options.no_starts,
	};
	struct symbol_cache_key key = {
		.build_id_bytes = file->is_of_root ? file->build_id_bytes : 0,
		.file_bytes = image ? image->bytes : 0,
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
	if (has_image)
		image.budget = naming->symbolizer->options.budget;
	else
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
		return 0; /* a profile from another kernel */
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
