/*
 * A limit for reading untrusted files: time, bytes, and a stop request by the user. One budget is
 * shared by all readers of a run. They ask it before each piece and stop if it refuses; the data
 * read until then is used.
 *
 * The work is divided into parts, one for each file or process. A part may use half of the
 * remaining budget, so that no single file, however large, keeps the others from being read.
 */
#ifndef STOOK_BASE_FILE_READ_BUDGET_H
#define STOOK_BASE_FILE_READ_BUDGET_H

#include <stdint.h>

struct read_budget {
	uint64_t max_ns, max_bytes;   /* total */
	uint64_t left_ns, left_bytes; /* remaining, without the time of the current part */
	int stop_fd;		      /* readable when the user wants to stop; -1: none */

	/* The current part. */
	uint64_t began_ns, end_ns, look_ns;
	uint64_t part_bytes;
	int spent; /* 0, or the error that read_budget_take() returns from now on */
};

void read_budget_init(struct read_budget *budget, uint64_t time_ns, uint64_t bytes, int stop_fd);

/*
 * Begin and end a part. read_budget_end() returns 0, or the error of the limit that was exceeded.
 */
void read_budget_begin(struct read_budget *budget);
int read_budget_end(struct read_budget *budget);

/*
 * Asks for permission to read `bytes`; 0 checks the time only. Returns 0; -ETIME or -EDQUOT
 * if the part has used its share of time or bytes; -ECANCELED if the user wants to stop. After a
 * refusal every call is refused until the next part. Without a budget (NULL) everything is allowed.
 */
int read_budget_take(struct read_budget *budget, uint64_t bytes);

/* Charges for bytes that another process has read for this part; refused: an error that it met, or 0. */
void read_budget_charge(struct read_budget *budget, uint64_t bytes, int refused);

/*
 * The time that the part may still wait (UINT64_MAX for NULL), and a descriptor that ends the wait
 * (-1: none).
 */
uint64_t read_budget_left_ns(const struct read_budget *budget);
int read_budget_stop_fd(const struct read_budget *budget);

/* Refills time, and the same share of the bytes, up to the initial amounts. */
void read_budget_refill(struct read_budget *budget, uint64_t time_ns);

/*
 * Memory in bytes that can be used without pressure on the rest of the host; UINT64_MAX if unknown.
 */
uint64_t read_budget_spare_memory(void);

#endif
