/*
 * Names and writes the intervals of a run in a thread of its own while the session goes on.
 *
 * Naming waits for other people: for files, debuginfod servers, JVMs. The thread that reads the rings must not, or
 * samples would be lost and intervals be late; it only hands over what it has collected. If an interval takes longer
 * than the next ones, these are joined, and shown as one.
 *
 * A sink may want each interval at once, before it has names, to keep it safe until then. A second thread hands these
 * over, since naming can take as long as many intervals, and keeping may wait for a disk. It also joins intervals that
 * are to be named together.
 */
#ifndef STOOK_RUN_INTERVALS_H
#define STOOK_RUN_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/session.h"
#include "run/names.h"

struct intervals;

/* The intervals that a part consists of, by their numbers: 1, 2, … */
struct interval_span {
	uint64_t first, last;
};

/* Where intervals go. */
struct interval_sink {
	/*
	 * Called in the naming thread; the part tells when the interval was, and has no profile any more. Returns 0 or a
	 * negative errno, after which nothing is named or written.
	 */
	int (*write)(void *context, struct profile *profile, const struct session_part *part,
		     struct interval_span span, struct error *error);
	/*
	 * Called in the other thread, for each interval in turn and before write(), if it is not NULL. The profile is a
	 * copy, with the names of code that was named before; NULL: out of memory. is_naming: it lacks those names, since
	 * naming, or a call of write(), goes on.
	 */
	void (*keep)(void *context, struct profile *profile, const struct session_part *part,
		     struct interval_span span, bool is_naming);
	void *context;
	int first_niceness,
		niceness; /* of the thread and its helpers: for the first interval, for later ones */
};

/*
 * Starts the threads. names and the sink belong to them until intervals_finish(). Returns NULL on failure.
 */
struct intervals *intervals_new(struct session_names *names, const struct interval_sink *sink,
				struct error *error);
void intervals_free(struct intervals *intervals); /* calls intervals_finish() */

/*
 * Hands over an interval; takes the part, also on failure. Unless it is due, and only if the sink keeps intervals, it
 * is named together with those up to the next one that is. 0 or -ENOMEM.
 */
int intervals_add(struct intervals *intervals, const struct session_part *part, bool is_due,
		  struct error *error);

/* Returns the CPU time of the threads, also after their end. */
uint64_t intervals_cpu_ns(const struct intervals *intervals);

/* Returns a descriptor that is readable when writing, or joining intervals, has failed. */
int intervals_fd(const struct intervals *intervals);

/* Returns 0; or, once, the first failure to write: -EPIPE if the reader closed stdout. */
int intervals_status(struct intervals *intervals, struct error *error);

/* Waits until all intervals are written, and ends the threads. Returns as intervals_status(). */
int intervals_finish(struct intervals *intervals, struct error *error);

/* Returns the number of intervals that were shown as one with the interval before. */
uint64_t intervals_nr_joined(const struct intervals *intervals);

#endif
