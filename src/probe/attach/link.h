/*
 * Inside of attaching, shared by the ways to do it: link_multi.c, link_event.c and link_copy.c,
 * which probe_links.c puts together. Only for this folder and its tests.
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

/* --- what a group of probes is attached by ---------------------------------------------------- */

#define EVENT_NAME_BYTES 48

/* A link or a perf event: attached while it is open. */
struct link_fd {
	int fd;
	enum probe_hook hook;
};

/* An event that was defined in tracefs: stook/NAME. */
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

/* Takes over fd, on failure too. Each is 0 or -ENOMEM. */
int link_group_add_fd(struct link_group *group, enum probe_hook hook, int fd);
int link_group_add_event(struct link_group *group, const struct link_event *event);
int link_group_add_place(struct link_group *group, const struct wire_place *place);

/* How much was in a group at some moment: to go back to it. */
struct link_mark {
	size_t nr_fds, nr_events, nr_places;
};

struct link_mark link_group_mark(const struct link_group *group);

/*
 * Detaches all that was added since the mark: descriptors, then events, then places. Programs that
 * were running have ended when it returns.
 */
void link_group_release(struct link_group *group, struct link_mark mark, int tracefs_fd,
			int places_fd);

/* Detaches all, and frees. */
void link_group_clear(struct link_group *group, int tracefs_fd, int places_fd);

/* --- what the ways of attaching share --------------------------------------------------------- */

struct link_state {
	struct probe_links_options options;

	/* link_event */
	int tracefs_fd;	    /* -1: not needed yet */
	uint32_t nr_events; /* made so far: each has a name of its own */
	uint64_t start_ns;  /* of this process, since boot: part of the names */

	/* link_copy */
	/* By probe: the function's id in the kernel's BTF, 0: none. NULL: not read yet. */
	uint32_t *function_types;
};

/*
 * Attaches these probes, all of one hook, and adds to the group what they are detached by. Probes
 * that the kernel does not take are refused. 0, or a negative errno when the attaching as such
 * failed: then what is in the group is to be detached.
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

/* Why this probe can't be attached; NULL: the errno says that no other could be either. */
const char *link_refusal(enum probe_hook hook, int err);

/* For such an errno: fills error with what failed and what to try. Returns err. */
int link_failure(enum probe_hook hook, int err, size_t nr, struct error *error);

/*
 * Guesses by their first byte which places of user code the kernel refuses. Puts the numbers into
 * ret_sorted, the likely ones first, otherwise in their order. Returns how many are likely.
 */
size_t hard_places_first(const struct probe_list *list, const uint32_t *numbers, size_t nr,
			 uint32_t *ret_sorted);

/* --- the kernel functions of a list by name --------------------------------------------------- */

struct symbol_index {
	const struct probe_list *list;
	uint32_t *numbers; /* of probes, sorted by symbol */
	size_t nr;
};

/* All of these probes must be of kernel functions. 0 or -ENOMEM. */
int symbol_index_init(struct symbol_index *index, const struct probe_list *list,
		      const uint32_t *numbers, size_t nr);
void symbol_index_clear(struct symbol_index *index);

/* The *ret_nr probes with this name, which ends at name_bytes. */
const uint32_t *symbol_index_find(const struct symbol_index *index, const char *name,
				  size_t name_bytes, size_t *ret_nr);

/* --- code of files, mapped while probes are put into it --------------------------------------- */

/*
 * The kernel checks an instruction when it first puts a breakpoint there: if no process has the
 * file mapped, a place that can't be probed is attached like any other, and silently counts
 * nothing. So the files are mapped here while probes are attached. Nothing executes the mapping.
 */
struct code_mapping {
	void *memory; /* NULL: none */
	size_t bytes;
};

struct code_mappings {
	struct code_mapping *files; /* by the file's number */
	size_t nr;
};

/*
 * Maps the user code that these probes are in. Files that can't be mapped are left out: the kernel
 * checks them later. 0 or -ENOMEM.
 */
int code_mappings_init(struct code_mappings *mappings, const struct probe_list *list,
		       const uint32_t *numbers, size_t nr);
void code_mappings_clear(struct code_mappings *mappings);

/* --- one link for many functions -------------------------------------------------------------- */

/* From enum bpf_attach_type: Debian 12's headers have only the first. */
#define LINK_KPROBE_MULTI 42
#define LINK_UPROBE_MULTI 48

/* The argument of BPF_LINK_CREATE, as the kernel lays it out. */
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

/* The link's descriptor, or a negative errno. */
int link_multi_create(const struct link_multi_request *request);

/*
 * A batch is of one file (user code) and either calls or returns; kernel functions have all an
 * address or all none.
 */
link_attach link_multi_attach;

/* --- tracefs events --------------------------------------------------------------------------- */

#define EVENT_GROUP	 "stook"
#define EVENT_TEXT_BYTES 640 /* symbols of the kernel have up to 511 */

/* Where kernel or user events are defined. */
const char *event_text_file(bool is_kernel);

struct event_owner {
	int32_t pid;
	uint64_t start_ns; /* since boot */
};

void event_text_name(char name[EVENT_NAME_BYTES], const struct event_owner *owner, uint32_t serial);

/* A line that adds a probe's place to an event; fd is an open descriptor of its file. */
void event_text_define(char text[EVENT_TEXT_BYTES], const char *name, const struct probe *probe,
		       int fd);
void event_text_remove(char text[EVENT_TEXT_BYTES], const char *name);

/*
 * Walks the definitions that a file of tracefs lists to the next event of this program's group;
 * *text is moved behind its line. False at the end.
 */
bool event_text_next(const char **text, char ret_name[EVENT_NAME_BYTES],
		     struct event_owner *ret_owner);

/* Entries in the map of places that one probe may take. */
#define LINK_EVENT_PLACES 2

/*
 * The keys of the places that a program sees when this probe is hit, and how many there are. inode
 * is that of the file of user code.
 */
size_t link_event_places(const struct probe *probe, uint64_t inode,
			 struct wire_place ret[LINK_EVENT_PLACES]);

/* A batch is all calls or all returns. */
link_attach link_event_attach;

/* --- a program of its own for each probe ------------------------------------------------------ */

/* Replaces WIRE_NUMBER_MARK by the number wherever it is loaded. Returns how often. Pure. */
size_t link_copy_number(struct bpf_insn *instructions, size_t nr, uint32_t number);

link_attach link_copy_attach;

#endif
