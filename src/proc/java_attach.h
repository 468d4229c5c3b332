/*
 * Asks a running JVM (HotSpot, 17 or newer) to write its perf map, through its attach socket.
 *
 * The JVM creates the socket when it gets SIGQUIT and finds a certain file. A JVM that does not
 * expect the signal is killed by it, so it is sent only to a JVM that catches it, and whose command
 * line does not disable the mechanism. The file and the socket are the target's: they are located
 * below its root, and accessed with its uid.
 */
#ifndef STOOK_PROC_JAVA_ATTACH_H
#define STOOK_PROC_JAVA_ATTACH_H

#include "base/error.h"
#include "proc/runtime_table.h"

/*
 * Returns when the map has been written: 0, or a negative errno, with the JVM's own message if it
 * refused. Takes no longer than timeout_ns; -ECANCELED as soon as stop_fd is readable (-1: none).
 */
int java_attach_write_map(const struct runtime_process *process, uint64_t timeout_ns, int stop_fd,
			  struct error *error);

#endif
