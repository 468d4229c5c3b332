/* kernel/aside: work that goes on in a thread, and its result. */
#include "unit/test.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "kernel/aside.h"

/* Waits until the other end of a pipe is closed. */
static int wait_for_end(void *context)
{
	const int *fd = context;
	char byte;

	return read(*fd, &byte, 1) == 0 ? -EDOM : 0;
}

TEST(aside_goes_on_meanwhile)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	struct aside aside = {0};
	int ends[2];

	CHECK(aside_is_done(&aside));
	CHECK_EQ(aside_finish(&aside), 0);
	CHECK_EQ(pipe(ends), 0);
	aside_begin(&aside, wait_for_end, &ends[0]);
	CHECK(!aside_is_done(&aside));
	(void)close(ends[1]);
	while (!aside_is_done(&aside))
		(void)nanosleep(&moment, NULL);
	CHECK_EQ(aside_finish(&aside), -EDOM);
	CHECK_EQ(aside_finish(&aside), -EDOM);
	(void)close(ends[0]);
}

static int add_one(void *context)
{
	int *number = context;

	return ++*number;
}

TEST(aside_waits_for_the_end)
{
	struct aside aside = {0};
	int number = 0, i;

	for (i = 1; i <= 100; i++) {
		aside_begin(&aside, add_one, &number);
		CHECK_EQ(aside_finish(&aside), i);
	}
}
