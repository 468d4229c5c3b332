/*
 * One event of tracefs with many places, for kernels without links for many: one descriptor, and
 * detached in one go. The program is told the place, not the probe; the map of places tells which
 * that is.
 */
#ifndef STOOK_PROBE_ATTACH_LINK_EVENT_H
#define STOOK_PROBE_ATTACH_LINK_EVENT_H

#include "probe/attach/link_state.h"

/* Entries in the map of places that one probe may take. */
#define LINK_EVENT_PLACES 2

/*
 * Where a program finds itself when this probe is hit: the keys of its places; how many there are.
 * inode is the file's, of user code.
 */
size_t link_event_places(const struct probe *probe, uint64_t inode,
			 struct wire_place ret[LINK_EVENT_PLACES]);

/* All calls or all returns. */
link_attach link_event_attach;

/* Closes what they have needed. */
void link_event_end(struct link_state *state);

#endif
