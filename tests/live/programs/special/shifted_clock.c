/*
 * A library for LD_PRELOAD: CLOCK_REALTIME is shifted by the seconds that stand in the file $SHIFTED_BY, a number of at
 * most 15 characters and a newline. They can change while the program runs:
 *
 *	cc -shared -fPIC -o shifted_clock.so shifted_clock.c
 *	SHIFTED_BY=seconds LD_PRELOAD=./shifted_clock.so stook agent …
 *
 * The file is mapped once, since confined processes cannot open it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *text;

__attribute__((constructor)) static void map_file(void)
{
	const char *path = getenv("SHIFTED_BY");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);

	text = map == MAP_FAILED ? "0" : map;
	if (fd >= 0)
		(void)close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int result = (int)syscall(SYS_clock_gettime, clock, ret);

	if (!result && clock == CLOCK_REALTIME && text)
		ret->tv_sec += atol(text);
	return result;
}
