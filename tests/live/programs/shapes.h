/*
 * Shared by the programs unwind_*.c: a table of shapes. A shape is a stack known by construction.
 *
 *	PROGRAM MS [SHAPE…]	runs these shapes, or all, one after the other, each in its own
 *				process with the shape's name, for MS of CPU time
 *
 * A shape ends in work(), which calls hot() until its time is up. Nearly all samples are in hot().
 * Everything is built without frame pointers, see the Makefile.
 */
#ifndef STOOK_TESTS_LIVE_SHAPES_H
#define STOOK_TESTS_LIVE_SHAPES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

struct shape {
	const char *name; /* at most 15 bytes: it becomes a thread's name */
	void (*run)(void);
};

static uint64_t work_ns;

/* Prevents a tail call: the caller's frame would be gone. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

NAMED void hot(void)
{
	BURN_TURNS(20000);
}

static __attribute__((noinline, noclone, no_icf, unused)) void work(void)
{
	uint64_t end_ns = thread_cpu_ns() + work_ns;

	while (thread_cpu_ns() < end_ns)
		hot();
}

/* Returns 0, or 1 if the shape crashed or reported a failure. */
NAMED int run_shape(const struct shape *shape)
{
	int status;

	fflush(stdout);
	if (fork() == 0) {
		prctl(PR_SET_NAME, shape->name);
		shape->run();
		_exit(0);
	}
	wait(&status);
	if (status)
		fprintf(stderr, "shape %s: status %d\n", shape->name, status);
	return status != 0;
}

static int run_shapes(const struct shape *shapes, size_t nr, int argc, char **argv)
{
	int failed = 0, i;
	size_t shape;

	work_ns = strtoull(argc > 1 ? argv[1] : "100", NULL, 10) * 1000000;
	for (shape = 0; shape < nr; shape++) {
		for (i = 2; i < argc && strcmp(argv[i], shapes[shape].name); i++)
			;
		if (argc <= 2 || i < argc)
			failed |= run_shape(&shapes[shape]);
	}
	return failed;
}

#define SHAPES_MAIN(shapes)                                                                  \
	int main(int argc, char **argv)                                                      \
	{                                                                                    \
		return run_shapes(shapes, sizeof(shapes) / sizeof((shapes)[0]), argc, argv); \
	}

#endif
