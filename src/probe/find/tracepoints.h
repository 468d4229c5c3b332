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
	size_t nr_chosen; /* number of patterns that chose it */
};

struct tracepoints {
	char *text; /* split into names */
	struct tracepoint *items;
	size_t nr, capacity;
	struct exclusions exclusions;
};

/*
 * Takes ownership of a list of lines "category:event" (allocated, NUL-terminated). Returns 0 or
 * -ENOMEM.
 */
int tracepoints_parse(struct tracepoints *tracepoints, char *list);

int tracepoints_read(struct tracepoints *tracepoints, int tracefs_fd, struct error *error);
void tracepoints_clear(struct tracepoints *tracepoints);

/*
 * Chooses the tracepoints that match a pattern of kind PATTERN_TRACEPOINT. Returns the number of
 * matches.
 */
size_t tracepoints_choose(struct tracepoints *tracepoints, const struct pattern *pattern);

/* True if a tracepoint matches; if a category matches. */
bool tracepoints_have(const struct tracepoints *tracepoints, const struct pattern *pattern);
bool tracepoints_have_category(const struct tracepoints *tracepoints,
			       const struct matcher *category);

/* True if the probe is a tracepoint that matches the pattern. */
bool tracepoint_fits(const struct pattern *pattern, const struct probe *probe);

/* Drops excluded ones from the chosen. Returns how many remain. */
size_t tracepoints_settle(struct tracepoints *tracepoints);

/* Adds a probe for each chosen tracepoint. Returns 0 or a negative errno. */
int tracepoints_add(const struct tracepoints *tracepoints, int tracefs_fd, struct probe_list *list,
		    struct error *error);

/* Offers the names of all tracepoints, without category. */
void tracepoints_offer(const struct tracepoints *tracepoints, struct closest *closest);

/*
 * Suggests tracepoints in place of the list's kernel functions, if the kernel cannot probe these:
 * "t:syscalls:sys_enter_read, t:syscalls:sys_enter_write", three at most, or "t:tcp:*"; "" if none
 * is related.
 */
void tracepoints_suggest(const struct tracepoints *tracepoints, const struct probe_list *list,
			 char *ret, size_t bytes);

/* --- fields, from a tracepoint's file `format` in tracefs ------------------------------------- */

struct tracepoint_field {
	const char *name; /* points into the format, nr_name bytes */
	size_t nr_name;
	uint32_t offset, bytes;
	bool is_signed;
	bool is_array;	  /* stored in the record */
	bool is_data_loc; /* the field holds the data's offset from the start of the record */
	bool is_relative; /* like is_data_loc, but the offset is from the end of the field */
	bool is_char;	  /* elements are characters */
};

bool tracepoint_field_find(const char *format, const char *name, struct tracepoint_field *ret);

bool tracepoint_field_is_text(const struct tracepoint_field *field);

/*
 * Writes the names of all fields ("dev, sector, bytes"), truncated to fit, without the common
 * fields of all tracepoints.
 */
void tracepoint_field_names(const char *format, char *ret, size_t bytes);

#endif
