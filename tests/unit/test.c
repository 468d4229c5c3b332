/* The runner of one unit-test program; see test.h. */
#include "unit/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_SKIP 77

static struct test *tests;
static size_t nr_allocations, failing_allocation;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t nr, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t nr, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool this_one_fails(void)
{
	return ++nr_allocations == failing_allocation;
}

void *__wrap_malloc(size_t bytes)
{
	return this_one_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t nr, size_t bytes)
{
	return this_one_fails() ? NULL : __real_calloc(nr, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return this_one_fails() ? NULL : __real_realloc(old, bytes);
}

size_t test_fail_allocation(size_t nth)
{
	size_t nr = nr_allocations;

	nr_allocations = 0;
	failing_allocation = nth;
	return nr;
}

void test_register(struct test *test)
{
	struct test **end = &tests;

	while (*end)
		end = &(*end)->next;
	*end = test;
}

static void fail(const char *file, int line)
{
	fprintf(stderr, "  at %s:%d\n", file, line);
	exit(1);
}

void test_check(bool holds, const char *file, int line, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "  does not hold: %s\n", what);
	fail(file, line);
}

void test_check_eq(int64_t a, int64_t b, const char *file, int line, const char *what)
{
	if (a == b)
		return;
	fprintf(stderr, "  %s: %" PRId64 " and %" PRId64 "\n", what, a, b);
	fail(file, line);
}

void test_check_str(const char *a, const char *b, const char *file, int line, const char *what)
{
	if (a && b && !strcmp(a, b))
		return;
	fprintf(stderr, "  %s:\n    '%s'\n    '%s'\n", what, a ? a : "(null)", b ? b : "(null)");
	fail(file, line);
}

void test_skip(const char *why)
{
	printf("SKIP %s", why);
	fflush(stdout);
	_exit(EXIT_SKIP);
}

void *test_guarded(const void *bytes, size_t nr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (nr + page - 1) / page * page;
	char *memory =
		mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + room, page, PROT_NONE) < 0)
		abort();
	return nr ? memcpy(memory + room - nr, bytes, nr) : memory + room;
}

static bool run(const struct test *test)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		test->run();
		exit(0); /* not _exit: the leak checker reports on the way out */
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return false;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP) {
		printf(" (%s)\n", test->name);
		return true;
	}
	printf("%s %s\n", status ? "FAIL" : "PASS", test->name);
	return status == 0;
}

int main(int argc, char **argv)
{
	const struct test *test;
	bool all = true;

	for (test = tests; test; test = test->next)
		if (argc < 2 || strstr(test->name, argv[1]))
			all &= run(test);
	return all ? 0 : 1;
}
