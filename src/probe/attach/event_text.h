/*
 * The texts that define and remove events in tracefs, and what is read back of them. Pure.
 *
 * An event's name tells whose it is: sPID_START_SERIAL. One that a killed run has left behind can so
 * be told from one that is in use.
 */
#ifndef STOOK_PROBE_ATTACH_EVENT_TEXT_H
#define STOOK_PROBE_ATTACH_EVENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/expression/probe_list.h"

#define EVENT_GROUP	 "stook"
#define EVENT_NAME_BYTES 48
#define EVENT_TEXT_BYTES 640 /* symbols of the kernel have up to 511 */

/* Where kernel or user events are defined. */
const char *event_text_file(bool is_kernel);

struct event_owner {
	int32_t pid;
	uint64_t start_ns; /* since boot */
};

void event_text_name(char name[EVENT_NAME_BYTES], const struct event_owner *owner, uint32_t serial);

/* A line that adds a probe's place to an event; fd is its file's, which we have open. */
void event_text_define(char text[EVENT_TEXT_BYTES], const char *name, const struct probe *probe,
		       int fd);
void event_text_remove(char text[EVENT_TEXT_BYTES], const char *name);

/*
 * Walks the definitions that a file lists, for the events of this group: *text goes on behind the
 * line. False at the end.
 */
bool event_text_next(const char **text, char ret_name[EVENT_NAME_BYTES],
		     struct event_owner *ret_owner);

#endif
