/* The last touch to a list of probes: its order, and what tells files apart. */
#ifndef STOOK_TARGET_FIND_ORDER_H
#define STOOK_TARGET_FIND_ORDER_H

#include "event/probe_list.h"

/*
 * Sorts by file, then address, then the kernel's; no place stays twice. Probes of one name in
 * several files get the file's name before their detail. 0 or -ENOMEM.
 */
int find_order(struct probe_list *list);

#endif
