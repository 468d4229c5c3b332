/*
 * Internals of attaching, shared by link_multi.c, link_event.c and link_copy.c, which probe_links.c
 * combines. Only for this folder and its tests.
 */
#ifndef STOOK_PROBE_ATTACH_LINK_H
#define STOOK_PROBE_ATTACH_LINK_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/probe_wire.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_links.h"
#include "probe/expression/probe_list.h"

/* --- resources of an attached group of probes ------------------------------------------------- */

#define EVENT_NAME_BYTES 48

/* A link or a perf event; probes stay attached while it is open. */
struct link_fd {
	int fd;
	enum probe_hook hook;
	bool is_program; /* kept for the kernel's count of misses, which it tells of others by number to root only */
};

/* An event defined in tracefs as stook/NAME. */
struct link_event {
	char name[EVENT_NAME_BYTES];
	bool is_kernel;
};

struct link_group {
	struct link_fd *fds;
	size_t nr_fds, cap_fds;
	struct link_event *events;
	size_t nr_events, cap_events;
	struct wire_place *places; /* in the map of places */
	size_t nr_places, cap_places;
};

/*
 * Add to the group; the first two take ownership of fd, also on failure. Return 0 or -ENOMEM.
 */
int link_group_add_fd(struct link_group *group, enum probe_hook hook, int fd);
int link_group_add_program(struct link_group *group, enum probe_hook hook, int fd);
int link_group_add_event(struct link_group *group, const struct link_event *event);
int link_group_add_place(struct link_group *group, const struct wire_place *place);

/* A state of a group to roll back to. */
struct link_mark {
	size_t nr_fds, nr_events, nr_places;
};

struct link_mark link_group_mark(const struct link_group *group);

/*
 * Detaches everything added since the mark: descriptors, then events, then places. On return, no
 * detached program is still running.
 */
void link_group_release(struct link_group *group, struct link_mark mark, int tracefs_fd,
			int places_fd);

/* Detaches everything and frees. */
void link_group_clear(struct link_group *group, int tracefs_fd, int places_fd);

/* --- state of attaching ----------------------------------------------------------------------- */

struct link_state {
	struct probe_links_options options;

	/* link_event */
	int tracefs_fd;	    /* -1: not needed yet */
	uint32_t nr_events; /* created so far; part of each name */
	uint64_t start_ns;  /* start of this process since boot; part of each name */

	/* link_copy */
	/* By probe: the BTF id of its kernel function; 0: none. NULL: not read yet. */
	uint32_t *function_types;
};

/*
 * Attaches these probes, which all use `hook`, and adds to the group what is needed to detach them.
 * Probes that the kernel rejects are passed to refuse(). Returns 0, or a negative errno if
 * attaching failed altogether; the caller then has to release the group.
 */
typedef int link_attach(struct link_state *state, enum probe_hook hook, const uint32_t *numbers,
			size_t nr, struct link_group *group, struct error *error);

static inline const struct probe *link_probe(const struct link_state *state, uint32_t number)
{
	return &state->options.list->probes[number];
}

static inline void link_refuse(const struct link_state *state, uint32_t number, const char *why)
{
	state->options.refuse(state->options.context, number, why);
}

/* --- refusals --------------------------------------------------------------------------------- */

/* Returns why a single probe cannot be attached; NULL: the errno applies to all probes. */
const char *link_refusal(enum probe_hook hook, int err);

/*
 * For an errno that applies to all probes: fills error with what failed and what to try. Returns
 * err.
 */
int link_failure(enum probe_hook hook, int err, size_t nr, struct error *error);

/*
 * Copies the numbers to ret_sorted, first the places of user code that the kernel may reject, otherwise in order.
 * Returns how many of them there are.
 */
size_t doubtful_places_first(const struct probe_list *list, const uint32_t *numbers, size_t nr,
			     uint32_t *ret_sorted);

/* --- kernel functions of a list, by name ------------------------------------------------------ */

struct symbol_index {
	const struct probe_list *list;
	uint32_t *numbers; /* probe numbers, sorted by symbol */
	size_t nr;
};

/* All of these probes must be of kernel functions. Returns 0 or -ENOMEM. */
int symbol_index_init(struct symbol_index *index, const struct probe_list *list,
		      const uint32_t *numbers, size_t nr);
void symbol_index_clear(struct symbol_index *index);

/* Returns the *ret_nr probes of the function with this name, which is name_bytes long. */
const uint32_t *symbol_index_find(const struct symbol_index *index, const char *name,
				  size_t name_bytes, size_t *ret_nr);

/* --- links for many functions (multi links) --------------------------------------------------- */

/* From enum bpf_attach_type: Debian 12's headers have only the first. */
#define LINK_KPROBE_MULTI 42
#define LINK_UPROBE_MULTI 48

/* The argument of BPF_LINK_CREATE, in the kernel's layout. */
struct link_multi_request {
	uint32_t program_fd, target_fd, attach_type, flags;
	union {
		struct {
			uint32_t flags, nr;
			uint64_t symbols, addresses, cookies;
		} kprobe;
		struct {
			uint64_t path, offsets, semaphores, cookies;
			uint32_t nr, flags, pid;
		} uprobe;
	};
};

/* Returns the link's descriptor, or a negative errno. */
int link_multi_create(const struct link_multi_request *request);

/*
 * A batch has either calls or returns; user code of a single file; kernel functions all with an
 * address or all without.
 */
link_attach link_multi_attach;

/* --- tracefs events --------------------------------------------------------------------------- */

#define EVENT_GROUP	 "stook"
#define EVENT_TEXT_BYTES 640 /* kernel symbols have up to 511 */

/* Returns the tracefs file in which kernel or user events are defined. */
const char *event_text_file(bool is_kernel);

struct event_owner {
	int32_t pid;
	uint64_t start_ns; /* since boot */
};

void event_text_name(char name[EVENT_NAME_BYTES], const struct event_owner *owner, uint32_t serial);

/*
 * Formats the line that adds a probe's place to an event. fd is an open descriptor of the probe's
 * file.
 */
void event_text_define(char text[EVENT_TEXT_BYTES], const char *name, const struct probe *probe,
		       int fd);
void event_text_remove(char text[EVENT_TEXT_BYTES], const char *name);

/*
 * Finds the next event of this program's group among the definitions in a tracefs file. Advances
 * *text past its line. False at the end.
 */
bool event_text_next(const char **text, char ret_name[EVENT_NAME_BYTES],
		     struct event_owner *ret_owner);

/* Maximum entries in the map of places per probe. */
#define LINK_EVENT_PLACES 2

/*
 * Computes the keys that a program sees when this probe is hit. Returns how many there are. inode
 * is that of the file of user code.
 */
size_t link_event_places(const struct probe *probe, uint64_t inode,
			 struct wire_place ret[LINK_EVENT_PLACES]);

/* A batch has either calls or returns. */
link_attach link_event_attach;

/* --- one program per probe (copies) ----------------------------------------------------------- */

/*
 * Replaces each load of WIRE_NUMBER_MARK by the number. Returns the number of replacements. Pure.
 */
size_t link_copy_number(struct bpf_insn *instructions, size_t nr, uint32_t number);

link_attach link_copy_attach;

#endif
