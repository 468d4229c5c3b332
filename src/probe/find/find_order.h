/* The last touch to a list of probes: its order, and what tells files apart. */
#ifndef STOOK_PROBE_FIND_FIND_ORDER_H
#define STOOK_PROBE_FIND_FIND_ORDER_H

#include "probe/expression/probe_list.h"

/*
 * Sorts by file, then address, then the kernel's; no place stays twice. Probes of one name in
 * several files get the file's name before their detail. 0 or -ENOMEM.
 */
int find_order(struct probe_list *list);

#endif
