/*
 * The schema shared by the writer and the reader of pprof: field numbers of profile.proto, and the
 * names and addresses that identify kinds of code, for which the schema has no field.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_FIELDS_H
#define STOOK_FORMAT_PPROF_PPROF_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,

	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,

	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	LABEL_NUM_UNIT = 4,

	MAPPING_ID = 1,
	MAPPING_MEMORY_START = 2,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILE_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,

	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,

	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,

	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
};

#define PPROF_SAMPLES	    "samples"
#define PPROF_COUNT	    "count"
#define PPROF_NANOSECONDS   "nanoseconds"
#define PPROF_MISSED_USER   "[Missed User Stack]"
#define PPROF_MISSED_KERNEL "[Missed Kernel Stack]"
#define PPROF_COMM	    "thread_comm"
#define PPROF_CGROUP	    "cgroup"
#define PPROF_PROBE	    "probe"
#define PPROF_PID	    "pid"
#define PPROF_TID	    "tid"
#define PPROF_CPU	    "cpu"
#define PPROF_USER_END	    "user_stack_end"
#define PPROF_KERNEL_END    "kernel_stack_end"
#define PPROF_SLICE_START   "slice_start"
#define PPROF_SLICE_END	    "slice_end"
#define PPROF_KERNEL_FILE   "[kernel.kallsyms]"
#define PPROF_RUN_TIME_FILE "[JIT]"
#define PPROF_EVENT_COMMENT "event    " /* prefix of a clock's name, whose value is called "cpu" */
#define PPROF_RATIO_COMMENT \
	"ratio    " /* prefix of the names of two values: "instructions/cycles" */
#define PPROF_DELETED " (deleted)"

/* Files with more values per sample are rejected. */
#define PPROF_MAX_SAMPLE_TYPES 64

/* Names of enum walk_end. */
extern const char *const pprof_end_names[NR_WALK_ENDS];

/* A mapping from 0 to this limit has no known segments: its addresses are file offsets. */
#define PPROF_WHOLE_LIMIT INT64_MAX

/* Start of the kernel's mapping; it ends with the address space. */
#define PPROF_KERNEL_START (1ULL << 63)

/* Returns the kind of code in a mapping with this name; MODULE_UNKNOWN if the name is empty. */
enum module_kind pprof_kind_of(const char *filename);

/* True for the kernel itself, false for its modules. */
bool pprof_is_kernel_itself(const char *filename);

/* Returns the length of a path without " (deleted)" at its end. */
size_t pprof_path_length(const char *path);

/*
 * Texts in pprof files must be UTF-8: other readers reject files with invalid texts. Names and
 * paths may be any bytes, so when files are written or read each invalid byte becomes U+FFFD. If
 * there are such bytes, *text becomes a repaired copy, which ends before the first NUL and which
 * the caller frees by *ret_copy. Returns 0 or -ENOMEM.
 */
int pprof_text_repair(const char **text, size_t *nr, char **ret_copy);

#endif
