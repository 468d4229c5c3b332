/* The kernel's tracepoints, from tracefs' available_events, and their fields. */
#ifndef STOOK_PROBE_FIND_TRACEPOINTS_H
#define STOOK_PROBE_FIND_TRACEPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/closest.h"
#include "base/error.h"
#include "probe/expression/probe_list.h"
#include "probe/find/pattern.h"

struct tracepoint {
	const char *category, *name;
	size_t nr_chosen; /* by how many patterns */
};

struct tracepoints {
	char *text; /* cut into names */
	struct tracepoint *items;
	size_t nr, capacity;
	struct exclusions exclusions;
};

/* Takes over a list of lines "category:event" (allocated, NUL-ended). 0 or -ENOMEM. */
int tracepoints_parse(struct tracepoints *tracepoints, char *list);

int tracepoints_read(struct tracepoints *tracepoints, int tracefs_fd, struct error *error);
void tracepoints_clear(struct tracepoints *tracepoints);

/* Chooses what fits a pattern of kind PATTERN_TRACEPOINT. Returns how many fit. */
size_t tracepoints_choose(struct tracepoints *tracepoints, const struct pattern *pattern);

/* True if there is one that fits; a category that fits. */
bool tracepoints_have(const struct tracepoints *tracepoints, const struct pattern *pattern);
bool tracepoints_have_category(const struct tracepoints *tracepoints,
			       const struct matcher *category);

/* Drops the chosen ones that the exclusions leave out. Returns how many stay. */
size_t tracepoints_settle(struct tracepoints *tracepoints);

/* Adds a probe for each that was chosen. 0 or a negative errno. */
int tracepoints_add(const struct tracepoints *tracepoints, int tracefs_fd, struct probe_list *list,
		    struct error *error);

/* Names of events, without their category. */
void tracepoints_offer(const struct tracepoints *tracepoints, struct closest *closest);

/*
 * The tracepoints to look at instead of the list's kernel functions, where the kernel has no means to
 * probe these: "t:syscalls:sys_enter_read, t:syscalls:sys_enter_write", three at most, or "t:tcp:*"; ""
 * if none is near.
 */
void tracepoints_suggest(const struct tracepoints *tracepoints, const struct probe_list *list,
			 char *ret, size_t bytes);

/* --- fields, from a tracepoint's file `format` in tracefs ------------------------------------- */

struct tracepoint_field {
	const char *name; /* in the format, nr_name bytes */
	size_t nr_name;
	uint32_t offset, bytes;
	bool is_signed;
	bool is_array;	  /* in place */
	bool is_data_loc; /* elsewhere: the field has its offset from the record's begin … */
	bool is_relative; /* … or from the field's end */
	bool is_char;	  /* its items are characters */
};

bool tracepoint_field_find(const char *format, const char *name, struct tracepoint_field *ret);

bool tracepoint_field_is_text(const struct tracepoint_field *field);

/* "dev, sector, bytes": the names of all, cut to fit; without those that each tracepoint has. */
void tracepoint_field_names(const char *format, char *ret, size_t bytes);

#endif
