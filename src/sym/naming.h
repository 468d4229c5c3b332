/* What the parts of the symbolizer share; for them alone. */
#ifndef STOOK_SYM_NAMING_H
#define STOOK_SYM_NAMING_H

#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"
#include "sym/code_file.h"
#include "sym/debuginfod.h"
#include "sym/run_time_maps.h"
#include "sym/symbol_cache.h"
#include "sym/symbolizer.h"

/* Longer names are cut; some C++ templates come near. */
#define NAME_MAX_BYTES 8191

struct symbolizer {
	struct symbolizer_options options;
	struct symbolizer_result result;
	struct symbol_cache *cache;
	struct run_time_maps *run_time;
	struct debuginfod *debuginfod; /* NULL: not to be asked */
	size_t nr_frames_tried;	       /* the first ones of the profile */
	uint64_t lines_ns;	       /* that DWARF has taken of the run until now */
};

/* A frame to be named. */
struct pending_frame {
	uint32_t module;
	uint32_t frame;
	uint64_t address;
};

/* The frames of one module, by address. */
struct naming {
	struct symbolizer *symbolizer;
	struct profile *profile;
	uint32_t module;
	const struct pending_frame *frames;
	size_t nr;
};

/* The profile's string for a function's name, demangled; or -ENOMEM. */
int64_t add_function_name(const struct naming *naming, const char *name);

/* Names a frame so. 0 or -ENOMEM. */
int name_frame(const struct naming *naming, uint32_t frame, const char *name);

/* By kind of module. 0, or -ENOMEM. */
int name_in_file(const struct naming *naming);
int name_in_vdso(const struct naming *naming);
int name_in_kernel(const struct naming *naming);
int name_in_run_time(const struct naming *naming);

/*
 * Adds inlined calls and lines to the frames, where `file` or what belongs to it has DWARF, and as
 * long as the run has time for it.
 */
int name_lines(const struct naming *naming, struct code_file *file, const struct elf_image *image);

/* The address of a frame's code as linked; -ENOENT if that can't be told. */
int naming_vaddr(const struct naming *naming, const struct elf_image *image, uint64_t offset,
		 uint64_t *ret);

#endif
