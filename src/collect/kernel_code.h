/*
 * Names of kernel code that may go away before a run ends: of modules and BPF programs. The kernel is asked for them at
 * the end of each epoch, and when it reports that it has unloaded a program, which it does by name, the address becomes
 * free for another one.
 */
#ifndef STOOK_COLLECT_KERNEL_CODE_H
#define STOOK_COLLECT_KERNEL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "profile/profile.h"

/* As struct kernel_names of sym/kallsyms.h, which this layer may not include. */
struct kernel_code_names {
	int (*name)(void *self, const uint64_t *addresses, size_t nr,
		    int (*add)(void *context, size_t i, const char *name, const char *module),
		    void *context, struct error *error);
	void *self;
};

/* Code that the kernel has unloaded, as it reports it. */
struct gone_code {
	uint64_t time_ns, start, end;
	char name[256];
};

struct kernel_code {
	struct kernel_code_names names; /* .name NULL: nobody is asked */
	size_t nr_seen;			/* the profile's frames below this number were looked at */
	uint32_t *loose;		/* frames of code that may be unloaded */
	size_t nr_loose, cap_loose;
	size_t first_asked;	/* in loose: the first one of the latest question */
	struct u64_map core;	/* pages of the kernel itself, which stays */
	struct gone_code *gone; /* sorted by time; not replayed yet */
	size_t nr_gone, cap_gone;
	unsigned nr_failures; /* of questions, in a row */
	unsigned nr_rests;    /* further calls at which nobody is asked */
};

void kernel_code_clear(struct kernel_code *code);

/* Call it when another profile is filled from now on. */
void kernel_code_change_profile(struct kernel_code *code);

/* Names the profile's kernel frames that were added since the last call, as far as the kernel answers. 0 or -ENOMEM. */
int kernel_code_name(struct kernel_code *code, struct profile *profile);

/*
 * The kernel answers as of the time when it is asked. Call this next, when all that was unloaded until then has been
 * added: frames whose code was unloaded since their samples get the name of that code. 0 or -ENOMEM.
 */
int kernel_code_correct(const struct kernel_code *code, struct profile *profile);

/* Adds code that was unloaded. 0 or -ENOMEM. */
int kernel_code_add_gone(struct kernel_code *code, const struct gone_code *gone);

/* Replays what was unloaded until then: frames in it keep the name; later ones at these addresses are others. 0 or -ENOMEM. */
int kernel_code_replay(struct kernel_code *code, struct profile *profile, uint64_t until_ns);

#endif
