/*
 * From a record to a sample of the profile: user addresses become (file, offset), once and at once,
 * because they mean something only while their process lives.
 */
#ifndef STOOK_COLLECT_RESOLVER_H
#define STOOK_COLLECT_RESOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "collect/drain.h"
#include "proc/mappings.h"

struct resolver;

/* Takes files, profile, labels and cgroup_root_fd out of the options. NULL when out of memory. */
struct resolver *resolver_new(const struct drain_options *options);
void resolver_free(struct resolver *resolver);

/* The user stack of a record, as the kernel walked it or as we did. */
struct user_part {
	const uint64_t *frames; /* leaf first */
	size_t nr;
	uint8_t end;			 /* enum walk_end */
	const struct mappings *mappings; /* of the process at that time; NULL: not known */
};

/* Adds one sample; its number in the profile, or -ENOMEM. */
int64_t resolver_add(struct resolver *resolver, const struct wire_record *record, const char *comm,
		     const struct user_part *user);

#endif
