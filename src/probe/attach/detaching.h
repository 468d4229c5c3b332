/*
 * Detaching a group of probes in the background. Its hits end at once, but the kernel returns only
 * after a grace period: 50 to 90 ms for a link, one link as long as any other. Threads wait for the
 * same grace periods: 34 links took 1.6 s one after the other and 0.12 s side by side.
 *
 * So probe_links_detach() is called from several threads, for different groups each, and while
 * further groups are attached by the first.
 */
#ifndef STOOK_PROBE_ATTACH_DETACHING_H
#define STOOK_PROBE_ATTACH_DETACHING_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/attach/probe_links.h"

/* More at a time bring nothing. */
#define DETACHING_MAX 64

struct detaching;

/* Never fails; NULL if there was no thread to be had, and the group is detached already. */
struct detaching *detaching_start(struct probe_links *links, uint32_t group);

bool detaching_is_over(const struct detaching *detaching);

/* Waits for the end. */
void detaching_finish(struct detaching *detaching);

#endif
