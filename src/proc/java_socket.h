/*
 * What is done with the two files of a JVM's attach mechanism, each time by a child process that
 * has become the target's user in the target's root.
 */
#ifndef STOOK_PROC_JAVA_SOCKET_H
#define STOOK_PROC_JAVA_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "proc/process_status.h"
#include "proc/runtime_table.h"

#define JAVA_REPLY_BYTES 2048 /* more of it is not kept */

struct java_socket {
	const struct runtime_process *process; /* with its descriptors */
	struct process_status status;
	uint64_t deadline_ns;
	char reply[JAVA_REPLY_BYTES];
	size_t nr_reply;
};

/*
 * Sends the request and takes the whole reply, until the deadline. 0; -ENOENT if nobody listens,
 * at once, or, if the socket is awaited, -ETIME when nobody has come to. *error may be empty then,
 * and after -ESRCH (the process ended), -EADDRINUSE (another one has its socket) or another errno.
 */
int java_socket_talk(struct java_socket *jvm, bool is_awaited, struct error *error);

/* The file that lets SIGQUIT open the socket; it must be removed again. */
int java_socket_make_trigger(struct java_socket *jvm, struct error *error);
void java_socket_remove_trigger(struct java_socket *jvm);

#endif
