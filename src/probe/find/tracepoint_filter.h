/*
 * Filters of tracepoints, in the language of the kernel's (Documentation/trace/events.rst), which is perf's:
 *
 *	prev_prio < 100 && !(prev_comm == "swapper/0" || next_comm ~ "kworker*")
 *
 * The kernel evaluates them for counters, but runs BPF programs at every hit, before the filter. So for programs, the
 * filter is compiled to instructions that stand before the program's own.
 */
#ifndef STOOK_PROBE_FIND_TRACEPOINT_FILTER_H
#define STOOK_PROBE_FIND_TRACEPOINT_FILTER_H

#include <linux/bpf.h>
#include <stddef.h>

#include "base/error.h"

#define TRACEPOINT_FILTER_BYTES 4096 /* limit of a filter's text; the kernel's is a page */

/*
 * Compiles a filter of the tracepoint `name`, whose file `format` is given. The instructions, freed by the caller,
 * are entered with the context in r1; they end the program with 1 where the filter is not true, and otherwise run into
 * what follows, with the context in r1 again. 0; -EINVAL, with the position of the mistake and the tracepoint's fields
 * in *error; or -EOPNOTSUPP for what only the kernel evaluates: globs with * in front, and fields that programs cannot
 * read.
 */
int tracepoint_filter_compile(const char *name, const char *format, const char *text,
			      struct bpf_insn **ret, size_t *ret_nr, struct error *error);

/* Explains what is wrong with a filter that the kernel has rejected. Returns -EINVAL. */
int tracepoint_filter_explain(const char *name, const char *format, const char *text,
			      struct error *error);

#endif
