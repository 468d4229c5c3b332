/*
 * leaves MS: functions of a C library in each state that a sample may hit: without a frame
 * (memcpy), with pushed registers and a callback (qsort), and deep (snprintf). Each runs under its
 * own thread name.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define CALLED __attribute__((noinline, noclone, noipa))

static char from[4096], to[4096];
static int numbers[500];
static volatile unsigned long sink;

static int compare(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

CALLED void does_memcpy(void)
{
	memcpy(to, from, sizeof(to) - (sink & 1));
	sink += to[1];
}

CALLED void does_strlen(void)
{
	sink += strlen(from);
}

CALLED void does_qsort(void)
{
	for (int i = 0; i < 500; i++)
		numbers[i] = i * 7919 % 500;
	qsort(numbers, 500, sizeof(numbers[0]), compare);
	sink += numbers[1];
}

CALLED void does_snprintf(void)
{
	sink += snprintf(to, 100, "%lu %s %g", sink, "text", 1.0 / (sink + 1));
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

CALLED void repeats(const char *name, void (*call)(void), long ms)
{
	long end = now_ms() + ms;

	prctl(PR_SET_NAME, name);
	while (now_ms() < end) {
		for (int i = 0; i < 100; i++)
			call();
		sink++;
	}
	sink++;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 100;

	memset(from, 'x', sizeof(from) - 1);
	repeats("memcpy", does_memcpy, ms);
	repeats("strlen", does_strlen, ms);
	repeats("qsort", does_qsort, ms);
	repeats("snprintf", does_snprintf, ms);
	return sink == 1;
}
