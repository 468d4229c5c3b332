/*
 * Attaches probes, many at a time, by the best mechanism of the kernel (probe_features.h). Probes
 * that are attached in one call can be detached together. A probe that cannot be attached is
 * identified and reported, and the others are attached.
 */
#ifndef STOOK_PROBE_ATTACH_PROBE_LINKS_H
#define STOOK_PROBE_ATTACH_PROBE_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_object.h"
#include "probe/expression/probe_list.h"

struct probe_links_options {
	const struct probe_list *list;
	const struct probe_features *features;
	const struct probe_programs *programs;
	int32_t pid; /* only user code of this process; 0: of all (the programs filter) */
	/* Called for each probe that the kernel rejects; why is a static string. */
	void (*refuse)(void *context, uint32_t number, const char *why);
	void *context;
};

struct probe_links;

struct probe_links *probe_links_new(const struct probe_links_options *options, struct error *error);

/* Detaches all attached probes and frees. */
void probe_links_free(struct probe_links *links);

/*
 * Attaches these probes as one group. Returns the group's number; or a negative errno if attaching
 * failed altogether (not permitted, no memory, no descriptors left), and then none is attached.
 */
int64_t probe_links_attach(struct probe_links *links, const uint32_t *numbers, size_t nr,
			   struct error *error);

/*
 * On return, none of the group's probes is hit any more, and their counts are final. Thread-safe
 * for different groups, also while another thread attaches.
 */
void probe_links_detach(struct probe_links *links, uint32_t number);

/*
 * Returns the hits that the kernel counts as missed, for everything that is or was attached;
 * UINT64_MAX: not reported by this kernel.
 */
uint64_t probe_links_missed(struct probe_links *links);

#endif
