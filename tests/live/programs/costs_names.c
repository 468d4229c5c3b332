/*
 * costs_names SECONDS jit: spins in JIT-compiled code with names in a perf map only. costs_names
 * SECONDS maps NUMBER FOLDER: maps NUMBER empty files as code, with paths below FOLDER of nearly
 * the maximum length, and spins.
 *
 * Makes symbol lookup expensive for a profiler, for tests/hostile. Prints "ready" when it begins to
 * spin; an alarm ends it.
 */
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burn.h"

#define PAGE 4096

/* A jump to itself. */
#if defined(__x86_64__)
static const unsigned char code[] = {0xeb, 0xfe};
#else
static const unsigned char code[] = {0x00, 0x00, 0x00, 0x14};
#endif

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void spin_in_jit(void)
{
	void *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*jump)(void);

	if (memory == MAP_FAILED)
		err(1, "mmap");
	memcpy(memory, code, sizeof(code));
	__builtin___clear_cache(memory, (char *)memory + sizeof(code));
	memcpy(&jump, &memory, sizeof(jump));
	say_ready();
	jump();
}

/* Makes nested folders up to nearly the maximum path length; returns the innermost. */
static int make_folders(const char *path)
{
	char name[201];
	size_t nr = strlen(path);
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (; nr + sizeof(name) < PATH_MAX - 64; nr += sizeof(name)) {
		int inner;

		if (fd < 0 || mkdirat(fd, name, 0755) < 0)
			err(1, "mkdir");
		inner = openat(fd, name, O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = inner;
	}
	return fd;
}

static void map_files(int number, const char *path)
{
	int folder = make_folders(path), i;

	for (i = 0; i < number; i++) {
		char name[32];
		int fd;

		snprintf(name, sizeof(name), "file%d", i);
		fd = openat(folder, name, O_RDWR | O_CREAT, 0755);
		if (fd < 0 ||
		    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			err(1, "%s", name);
		close(fd);
	}
}

NAMED void spin_among_files(void)
{
	for (;;)
		BURN_TURNS(1000000);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	alarm((unsigned)atoi(argv[1]));
	if (!strcmp(argv[2], "jit"))
		spin_in_jit();
	if (argc < 5)
		return 2;
	map_files(atoi(argv[3]), argv[4]);
	say_ready();
	spin_among_files();
	return 0;
}
