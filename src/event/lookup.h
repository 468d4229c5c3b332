/*
 * From the name of an event, and the terms behind it, to the events that it means; for event/event.c, which knows the
 * syntax around names.
 *
 * Each function appends to parser->out and returns 0, or a negative errno with the message in *parser->error. The ones
 * that say so return -ENOENT without a message if nothing has this name.
 */
#ifndef STOOK_EVENT_LOOKUP_H
#define STOOK_EVENT_LOOKUP_H

#include <stdbool.h>

#include "event/event.h"
#include "event/pmu.h"

struct event_host {
	struct pmus pmus;
	int tracefs_fd;
	char *model; /* NULL: this CPU's */
};

struct parser {
	struct event_host *host;
	struct events *out;
	bool is_single;	  /* for event_parse(): nothing is expanded */
	const char *text; /* the event that is parsed, for messages */
	struct error *error;
};

/* Texts come from command lines: a message does not repeat more of them than this. */
#define SHOWN "%.150s"

/* An event named parser->text that has no type yet; and adding it when it has. */
void lookup_init(const struct parser *parser, struct event *event);
int lookup_add(const struct parser *parser, const struct event *event);

/* cycles, L1-dcache-loads, r1c2; or -ENOENT. */
int lookup_generic(struct parser *parser, const char *name);

/* CATEGORY:EVENT, both may be globs; or -ENOENT. */
int lookup_tracepoints(struct parser *parser, const char *name);

/* An event of PMUs, or of the CPU model. */
int lookup_name(struct parser *parser, const char *name);

/* PMU/TERMS/, or NAME/TERMS/ with another name. */
int lookup_with_terms(struct parser *parser, const char *name, const char *terms);

#endif
