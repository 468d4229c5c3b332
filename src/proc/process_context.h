/*
 * OpenTelemetry's process context (OTEP 4719): attributes of its service that a process publishes in its own memory,
 * for profilers.
 *
 * Reading it may block, so the opener does it, and the message is parsed without rights (run/process_labels).
 */
#ifndef STOOK_PROC_PROCESS_CONTEXT_H
#define STOOK_PROC_PROCESS_CONTEXT_H

#include <stdint.h>

#include "base/bytes.h"

/* Limit of a message. The SDKs' own limit is 4 KiB for a key or value; real ones have some hundred bytes. */
#define PROCESS_CONTEXT_BYTES (16u << 10)

struct process_context {
	uint32_t nr; /* bytes of the message */
	uint8_t message[PROCESS_CONTEXT_BYTES];
};

/*
 * Reads the context that a process has published. 0; -ENOENT: none, or the process has exited; -EACCES: its memory may
 * not be read; -EAGAIN: it is being written; -EBADMSG: of an unknown version, or not readable; -E2BIG: above the limit.
 */
int process_context_read(int32_t pid, struct process_context *ret);

/* The attributes that are read; others are skipped. */
#define PROCESS_NR_ATTRIBUTES 8
extern const char *const process_attribute_names[PROCESS_NR_ATTRIBUTES];

/* Limit of a value, with its NUL. */
#define PROCESS_ATTRIBUTE_BYTES 256

struct process_attributes {
	uint32_t nr_left_out;					    /* texts above the limit */
	char texts[PROCESS_NR_ATTRIBUTES][PROCESS_ATTRIBUTE_BYTES]; /* ""; not there */
};

/* Parses a message. Zeros in texts become `?`. 0; or -EBADMSG, and *ret is untouched. */
int process_context_parse(struct bytes message, struct process_attributes *ret);

#endif
