/* What kind of code the frames of perf script text are: their files have names that tell. */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_CODE_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_CODE_H

#include "format/perf/perf_script_line.h"

/* Where a frame's code lies, by the name of its file. */
enum perf_code {
	PERF_CODE_UNKNOWN,
	PERF_CODE_FILE,
	PERF_CODE_VDSO,
	PERF_CODE_KERNEL,
	PERF_CODE_RUN_TIME, /* made at run time */
	PERF_CODE_INLINED,  /* in the frame that follows */
};

enum perf_code perf_script_code(const struct perf_frame *frame);

#endif
