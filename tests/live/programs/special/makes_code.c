/*
 * makes_code SECONDS [FUNCTIONS [NAME]]: generates code at run time and runs it, under one name
 * after another, like a JIT compiler that discards old code.
 *
 * Property: every sample in the code is main;run_made;[code], or deeper. The code is at one of two
 * addresses in turn, and is called NAME_0, NAME_1, … (default NAME: "made"). Before it runs, a line
 * is added to /tmp/perf-PID.map with getpid() as PID; with NAME "-" the line is printed instead,
 * and no map is written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../burn.h"

#define PAGE_BYTES 65536 /* at least the largest page size */

/* Runs at any address: no calls, no data. The linker defines the section's start and end. */
__attribute__((used, noinline, section("movable"))) static void movable_code(void)
{
	BURN_TURNS(100000);
}

extern const unsigned char __start_movable[], __stop_movable[];

static void *make_code(void)
{
	size_t bytes = (size_t)(__stop_movable - __start_movable);
	void *page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		exit(1);
	memcpy(page, __start_movable, bytes);
	__builtin___clear_cache(page, (char *)page + bytes);
	if (mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC))
		exit(1);
	return page;
}

static void tell(const void *code, const char *name, int number)
{
	int is_silent = !strcmp(name, "-");
	FILE *map = stdout;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	if (!is_silent)
		map = fopen(path, "a");
	if (!map)
		exit(1);
	fprintf(map, "%lx %lx %s_%d\n", (unsigned long)code,
		(unsigned long)(__stop_movable - __start_movable), is_silent ? "made" : name,
		number);
	if (is_silent ? fflush(map) : fclose(map))
		exit(1);
}

NAMED void run_made(void (*code)(void), uint64_t end_ns)
{
	while (monotonic_ns() < end_ns)
		code();
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int functions = argc > 2 ? atoi(argv[2]) : 1;
	const char *name = argc > 3 ? argv[3] : "made";
	uint64_t begin_ns = monotonic_ns();
	void *codes[2] = {make_code(), make_code()};

	for (int i = 0; i < functions; i++) {
		tell(codes[i % 2], name, i);
		run_made((void (*)(void))codes[i % 2],
			 begin_ns + (uint64_t)(seconds * 1e9 * (i + 1) / functions));
	}
	return 0;
}
