/*
 * Runs the unit tests: unit_tests [-j N] [-x FILE]… [NAME]…
 *
 * Runs the tests whose name or file name contains a NAME (default: all), except those of each FILE,
 * N at a time (default: 1), each in its own child process. Tests of one file never run in parallel,
 * so they may share file names. Prints one line per test: `PASS name`, `FAIL name`, `SKIP why
 * (name)`.
 */
#include "sym/debuginfod.h"
#include "unit/test.h"
#include "worker/worker.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_SKIP 77

#define MAX_AT_ONCE  64
#define MAX_LEFT_OUT 64

/* A running test; pid 0: a free slot. */
struct child {
	pid_t pid;
	const struct test *test;
};

size_t test_nr_open(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t nr = 0;

	CHECK(directory != NULL);
	while (readdir(directory))
		nr++;
	(void)closedir(directory);
	return nr;
}

struct options {
	size_t at_once;
	char **names, *left_out[MAX_LEFT_OUT];
	size_t nr_names, nr_left_out;
};

static struct test *tests, **tests_end = &tests;
static const struct test *current; /* set in the child */
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
	*tests_end = test;
	tests_end = &test->next;
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
	printf("SKIP %s (%s)\n", why, current->name);
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

static pid_t start(const struct test *test)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		current = test;
		test->run();
		exit(0); /* not _exit: the leak checker reports on the way out */
	}
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	return pid;
}

/* Waits for one child and frees its slot; returns false if its test failed. */
static bool finish(struct child *children)
{
	struct child *child = children;
	int status;
	pid_t pid = wait(&status);

	while (child < children + MAX_AT_ONCE && child->pid != pid)
		child++;
	if (pid < 0 || child == children + MAX_AT_ONCE) {
		perror("wait");
		exit(2);
	}
	child->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
		return true;
	printf("%s %s\n", status ? "FAIL" : "PASS", child->test->name);
	return status == 0;
}

static bool is_named(const struct test *test, char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (strstr(test->name, names[i]) || strstr(test->file, names[i]))
			return true;
	return false;
}

static bool is_wanted(const struct test *test, const struct options *options)
{
	return (!options->nr_names || is_named(test, options->names, options->nr_names)) &&
	       !is_named(test, options->left_out, options->nr_left_out);
}

/* Returns a slot for a test, or NULL if none is free or a test of its file is running. */
static struct child *place_for(const struct test *test, struct child *children, size_t nr)
{
	struct child *place = NULL;
	size_t i;

	for (i = 0; i < nr; i++)
		if (!children[i].pid)
			place = &children[i];
		else if (!strcmp(children[i].test->file, test->file))
			return NULL;
	return place;
}

/* Removes and returns the first test of the list that can run now. */
static struct test *take_next(struct child *children, size_t nr, struct child **ret_place)
{
	struct test **at, *test;

	for (at = &tests; *at; at = &(*at)->next) {
		*ret_place = place_for(*at, children, nr);
		if (!*ret_place)
			continue;
		test = *at;
		*at = test->next;
		return test;
	}
	return NULL;
}

static bool run_all(const struct options *options)
{
	struct child children[MAX_AT_ONCE] = {0}, *place;
	const struct test *test;
	size_t nr_running = 0;
	bool all = true;

	for (;;) {
		test = take_next(children, options->at_once, &place);
		if (test && is_wanted(test, options)) {
			*place = (struct child){start(test), test};
			nr_running++;
		} else if (!test && nr_running) {
			all &= finish(children);
			nr_running--;
		} else if (!test) {
			return all;
		}
	}
}

int main(int argc, char **argv)
{
	struct options options = {.at_once = 1};
	size_t nr_tasks;
	const struct worker_task *tasks = test_tasks(&nr_tasks);
	const char *libraries = getenv("LD_LIBRARY_PATH");
	int option;

	/* Nothing else is in the environment of a helper process. */
	if (libraries && !strcmp(libraries, TEST_STARTS_LATE))
		(void)usleep(2000000);
	option = worker_main(argc, argv, tasks, nr_tasks);
	if (option >= 0)
		return option;
	(void)debuginfod_main(argc, argv);

	while ((option = getopt(argc, argv, "j:x:")) != -1)
		if (option == 'j')
			options.at_once = strtoul(optarg, NULL, 10);
		else if (option == 'x' && options.nr_left_out < MAX_LEFT_OUT)
			options.left_out[options.nr_left_out++] = optarg;
		else
			return 2;
	if (options.at_once < 1 || options.at_once > MAX_AT_ONCE)
		return 2;
	options.names = argv + optind;
	options.nr_names = (size_t)(argc - optind);
	return run_all(&options) ? 0 : 1;
}
