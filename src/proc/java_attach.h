/*
 * Asks a running JVM (HotSpot, 17 or newer) to write its perf map, over its attach socket.
 *
 * The socket is made by the JVM when it gets SIGQUIT and finds a certain file. A JVM that is not
 * ready for it dies of that signal, so it is sent only to one that catches it, and whose command
 * line does not switch the mechanism off. The file and the socket are the target's: they are found
 * below its root, and touched with its uid.
 */
#ifndef STOOK_PROC_JAVA_ATTACH_H
#define STOOK_PROC_JAVA_ATTACH_H

#include "base/error.h"
#include "proc/runtime_table.h"

/*
 * Returns when the map has been written: 0, or a negative errno with the JVM's own word for it if
 * it refused. Takes no longer than timeout_ns; -ECANCELED as soon as stop_fd can be read (-1: none).
 */
int java_attach_write_map(const struct runtime_process *process, uint64_t timeout_ns, int stop_fd,
			  struct error *error);

#endif
