/* Private to symbolizer.c and name_file.c, and to tests of the limits. */
#ifndef STOOK_SYM_NAMING_H
#define STOOK_SYM_NAMING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"
#include "sym/debug_files.h"
#include "sym/names_task.h"
#include "sym/symbolizer.h"

struct symbolizer {
	struct symbolizer_options options;
	struct symbolizer_result result;
	atomic_uint_fast64_t nr_over_memory;
	atomic_uint_fast64_t little_bytes, much_bytes; /* for its worker, once has_new_limits */
	atomic_bool has_new_limits;
	struct worker *worker;	      /* its parsers find the names of code in files */
	struct names_state *vdso;     /* the one file that is parsed here: it is the kernel's */
	struct file_table *elsewhere; /* files found by path; options.files is NULL then */
	struct debug_link_crcs crcs;
	size_t nr_frames_tried; /* the profile's frames below this number were tried … */
	bool *is_untried;	/* … but for those of these modules */
	size_t nr_modules;	/* … which it has room for */
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

/*
 * Name the frames of a module that is a file, the vdso, or a process' JIT-compiled code. 0; 1: ask again another time;
 * or -ENOMEM.
 */
int name_in_file(const struct naming *naming);
int name_in_vdso(const struct naming *naming);
int name_in_run_time(const struct naming *naming);

#endif
