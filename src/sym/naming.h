/* Private to symbolizer.c and name_file.c, and to tests of the limits. */
#ifndef STOOK_SYM_NAMING_H
#define STOOK_SYM_NAMING_H

#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"
#include "sym/debug_files.h"
#include "sym/file_symbols.h"
#include "sym/run_time_maps.h"
#include "sym/symbolizer.h"

/* Longer names are truncated; some C++ templates come near this length. */
#define NAME_MAX_BYTES 8191

struct symbolizer {
	struct symbolizer_options options;
	struct symbolizer_result result;
	struct symbol_cache *cache;
	struct run_time_maps *run_time;
	struct debuginfod *debuginfod; /* NULL: servers are not asked */
	struct debug_link_crcs crcs;
	size_t nr_frames_tried; /* the profile's frames below this number were tried */
	uint64_t lines_ns;	/* time spent on reading DWARF in this run */
};

/* A frame to name. */
struct pending_frame {
	uint32_t module;
	uint32_t frame;
	uint64_t address;
};

/* The frames to name in one module, sorted by address. */
struct naming {
	struct symbolizer *symbolizer;
	struct profile *profile;
	uint32_t module;
	const struct pending_frame *frames;
	size_t nr;
};

/* Demangles a function's name. Returns its string in the profile, or -ENOMEM. */
int64_t add_function_name(const struct naming *naming, const char *name);

/* Names a frame, demangled. 0 or -ENOMEM. */
int name_frame(const struct naming *naming, uint32_t frame, const char *name);

/* Name the frames of a module that is a file, or the vdso. 0 or -ENOMEM. */
int name_in_file(const struct naming *naming);
int name_in_vdso(const struct naming *naming);

#endif
