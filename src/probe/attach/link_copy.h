/*
 * A program of its own for each probe: fentry and fexit, and tracepoints. The program that is there
 * is loaded once more for each, with the probe's number inside.
 */
#ifndef STOOK_PROBE_ATTACH_LINK_COPY_H
#define STOOK_PROBE_ATTACH_LINK_COPY_H

#include <linux/bpf.h>

#include "probe/attach/link_state.h"

/* Puts the number where WIRE_NUMBER_MARK is loaded: how often that was. Pure. */
size_t link_copy_number(struct bpf_insn *instructions, size_t nr, uint32_t number);

link_attach link_copy_attach;

/* Frees what they have needed. */
void link_copy_end(struct link_state *state);

#endif
