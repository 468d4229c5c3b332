/*
 * Inlined calls and source lines of a module's frames: its addresses are handed to source_lines at
 * once, and what comes back becomes lines of the profile.
 *
 * The function that is really there keeps the name that the symbol table has for it; without one
 * it gets DWARF's.
 *
 * Meanwhile nothing else is done, and samples may be lost: each file has its time (source_lines),
 * and all of them together have theirs, since many files can each take what one may.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sym/naming.h"
#include "sym/source_lines.h"

/* For the lines of all files of a run; then further files get none. */
#define ALL_LINES_NS (60 * NS_PER_SEC)

struct place {
	uint64_t vaddr;
	uint32_t frame;
};

struct lines {
	const struct naming *naming;
	const struct place *places; /* of the addresses asked for */
};

static int64_t add_path(const struct naming *naming, const char *path)
{
	return path && *path ? profile_add_string(naming->profile, path) : 0;
}

static int add_line(const struct naming *naming, const struct debug_line *line,
		    struct code_line *ret)
{
	int64_t function = 0;
	int64_t file = add_path(naming, line->file);

	if (line->function && *line->function)
		function = add_function_name(naming, line->function);
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

	if (frame->function)
		outermost->function = frame->function;
	else
		profile_set_name(naming->profile, number, outermost->function);
	return profile_set_lines(naming->profile, number, lines, nr);
}

static int take_lines(void *context, size_t i, const struct debug_line *found, size_t nr)
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

/* A descriptor of the file with debug information that is `file` or belongs to it; or -ENOENT. */
static int open_debug_info(const struct symbolizer *symbolizer, struct code_file *file,
			   const struct elf_image *image)
{
	cleanup_fd int asked = -1;
	int debug_fd;

	if (file->fd >= 0 && debug_info_is_in(file->fd))
		return fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	debug_fd = debug_files_find(&symbolizer->options.places, file, image);
	if (debug_fd >= 0 && debug_info_is_in(debug_fd))
		return fcntl(debug_fd, F_DUPFD_CLOEXEC, 0);
	if (symbolizer->debuginfod)
		asked = debuginfod_open(symbolizer->debuginfod, file->build_id,
					file->build_id_bytes);
	return asked >= 0 && debug_info_is_in(asked) ? take_fd(&asked) : -ENOENT;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

/* Where the module's frames are as linked, sorted, each place once. */
static size_t list_places(const struct naming *naming, const struct elf_image *image,
			  struct place *places)
{
	size_t i, nr = 0, nr_different = 0;

	for (i = 0; i < naming->nr; i++) {
		places[nr].frame = naming->frames[i].frame;
		if (naming_vaddr(naming, image, naming->frames[i].address, &places[nr].vaddr) == 0)
			nr++;
	}
	qsort(places, nr, sizeof(*places), compare_places);
	for (i = 0; i < nr; i++)
		if (!i || places[i].vaddr != places[i - 1].vaddr)
			places[nr_different++] = places[i];
	return nr_different;
}

/* Whether the run has time for another file; if not, that is what is to be told. */
static bool has_time(struct symbolizer *symbolizer)
{
	if (symbolizer->lines_ns < ALL_LINES_NS)
		return true;
	(void)error_set(&symbolizer->result.lines_error, -ETIME,
			"not all inlined calls and source lines were looked up: that may take "
			"%d seconds in all",
			(int)(ALL_LINES_NS / NS_PER_SEC));
	return false;
}

/* source_lines_find() within the time that the run has for all files. */
static int find_in_time(struct symbolizer *symbolizer, struct source_lines_place *place,
			const struct debug_info_request *request, struct debug_info_work *ret,
			struct error *error)
{
	uint64_t began_ns = clock_now_ns();
	int err;

	place->most_ns = ALL_LINES_NS - symbolizer->lines_ns;
	err = source_lines_find(place, request, ret, error);
	symbolizer->lines_ns += clock_now_ns() - began_ns;
	return err;
}

int name_lines(const struct naming *naming, struct code_file *file, const struct elf_image *image)
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
		.found = take_lines,
		.context = &lines,
	};
	struct debug_info_work work = {0};
	struct error error = {0};
	size_t i;
	int err;

	if (!places || !addresses)
		return -ENOMEM;
	if (fd < 0 || !has_time(symbolizer))
		return 0;
	request.nr = list_places(naming, image, places);
	for (i = 0; i < request.nr; i++)
		addresses[i] = places[i].vaddr;
	err = find_in_time(symbolizer, &place, &request, &work, &error);
	symbolizer->result.nr_split_lost += work.nr_split_lost;
	/* What cut it short may have been the end of the run's time. */
	if (err < 0 && err != -ENOMEM && has_time(symbolizer))
		symbolizer->result.lines_error = error;
	return err == -ENOMEM ? err : 0;
}
