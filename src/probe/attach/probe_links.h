/*
 * Attaching probes, many at a time, by the best means that the kernel has (probe_features.h). What is
 * attached in one call can be detached by itself; a probe that can't be attached is found and
 * named, and the others are attached.
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
	int32_t pid; /* user code of this process alone; 0: of all (the programs filter) */
	/* A probe that the kernel does not take, and why: a text that lives on. */
	void (*refuse)(void *context, uint32_t number, const char *why);
	void *context;
};

struct probe_links;

struct probe_links *probe_links_new(const struct probe_links_options *options, struct error *error);

/* Detaches what is attached. */
void probe_links_free(struct probe_links *links);

/*
 * Attaches these probes, as one group. The group's number; or a negative errno when the attaching
 * as such failed (not permitted, no memory, no descriptors left): then none of them is.
 */
int64_t probe_links_attach(struct probe_links *links, const uint32_t *numbers, size_t nr,
			   struct error *error);

/*
 * When it returns, none of the group's probes hits any more, and their counts are final. Several
 * threads may be in it, for different groups each, while one other attaches.
 */
void probe_links_detach(struct probe_links *links, uint32_t number);

/*
 * Hits that the kernel itself counts as missed, of all that is or was attached; UINT64_MAX: not
 * told.
 */
uint64_t probe_links_missed(struct probe_links *links);

#endif
