/*
 * The tables of code in a pprof file: mappings, locations, and the functions that these name.
 *
 * Used by pprof_write.c alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_WRITE_CODE_H
#define STOOK_FORMAT_PPROF_PPROF_WRITE_CODE_H

#include "format/pprof/pprof_code.h"
#include "format/pprof/pprof_sink.h"

/* Failures are the sink's. */
void pprof_write_code(struct pprof_sink *sink, const struct pprof_code *code);

#endif
