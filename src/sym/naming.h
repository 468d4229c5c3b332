/* Shared by symbolizer.c and name_file.c, and by tests of its limits; private to them. */
#ifndef STOOK_SYM_NAMING_H
#define STOOK_SYM_NAMING_H

#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"
#include "sym/debug_files.h"
#include "sym/file_symbols.h"
#include "sym/run_time_maps.h"
#include "sym/symbolizer.h"

/* Longer names are cut; some C++ templates come near this length. */
#define NAME_MAX_BYTES 8191

struct symbolizer {
	struct symbolizer_options options;
	struct symbolizer_result result;
	struct symbol_cache *cache;
	struct run_time_maps *run_time;
	struct debuginfod *debuginfod; /* NULL: not to be asked */
	struct debug_link_crcs crcs;
	size_t nr_frames_tried; /* the first ones of the profile */
	uint64_t lines_ns;	/* that DWARF has taken of the run until now */
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

/* Gives a frame this name, demangled. 0 or -ENOMEM. */
int name_frame(const struct naming *naming, uint32_t frame, const char *name);

/* For each kind of module that is a file: names the frames. 0 or -ENOMEM. */
int name_in_file(const struct naming *naming);
int name_in_vdso(const struct naming *naming);

#endif
