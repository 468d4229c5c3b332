/*
 * A limit for reading other people's files: time, bytes, and a signal from the user. One budget is
 * shared by all readers of a run. They ask it before each piece and stop when it says so; what they
 * have read until then counts.
 *
 * The work comes in parts, one for each file or process. A part may take half of what is left, so
 * that no single file, however large, keeps the others from being read.
 */
#ifndef STOOK_BASE_READ_BUDGET_H
#define STOOK_BASE_READ_BUDGET_H

#include <stdint.h>

struct read_budget {
	uint64_t max_ns, max_bytes;   /* of the whole */
	uint64_t left_ns, left_bytes; /* of the whole, without the time of the part that runs */
	int stop_fd; /* readable: the user wants it to end now; -1: there is none */

	/* The part that runs. */
	uint64_t began_ns, end_ns, look_ns;
	uint64_t part_bytes;
	int spent; /* 0, or what read_budget_take() returns from now on */
};

void read_budget_init(struct read_budget *budget, uint64_t time_ns, uint64_t bytes, int stop_fd);

/* Begins and ends a part. read_budget_end() returns 0, or which limit the part ran into. */
void read_budget_begin(struct read_budget *budget);
int read_budget_end(struct read_budget *budget);

/*
 * Asks for so many bytes; 0 asks for the time only. 0; -ETIME or -EDQUOT when the part has had its
 * share of time or bytes; -ECANCELED when the user wants an end. After a refusal every call is
 * refused until the next part. Without a budget (NULL) everything is allowed.
 */
int read_budget_take(struct read_budget *budget, uint64_t bytes);

/* How long the part may still wait; UINT64_MAX for NULL. And what else ends waiting; -1: nothing. */
uint64_t read_budget_left_ns(const struct read_budget *budget);
int read_budget_stop_fd(const struct read_budget *budget);

/* Gives time back, and the same share of the bytes; never more than there was at first. */
void read_budget_refill(struct read_budget *budget, uint64_t time_ns);

/* Bytes that can be had without pressing anybody else on the host; UINT64_MAX if not told. */
uint64_t read_budget_spare_memory(void);

#endif
