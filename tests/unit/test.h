/*
 * A unit test is a file of TEST() blocks. Each block registers itself and runs in its own child
 * process, so that a crash fails one test only. All files are linked into one program, unit_tests
 * (test.c).
 */
#ifndef STOOK_TESTS_UNIT_TEST_H
#define STOOK_TESTS_UNIT_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
	const char *file;
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test_register(struct test *test);

#define TEST(test_name)                                                                \
	static void test_name(void);                                                   \
	static struct test test_name##_test = {__FILE__, #test_name, test_name, NULL}; \
	__attribute__((constructor)) static void test_name##_register(void)            \
	{                                                                              \
		test_register(&test_name##_test);                                      \
	}                                                                              \
	static void test_name(void)

/* Each ends the test with a message if the check fails. */
#define CHECK(condition) test_check((condition), __FILE__, __LINE__, #condition)
#define CHECK_EQ(a, b)	 test_check_eq((int64_t)(a), (int64_t)(b), __FILE__, __LINE__, #a " == " #b)
#define CHECK_STR(a, b)	 test_check_str((a), (b), __FILE__, __LINE__, #a " == " #b)
#define SKIP(why)	 test_skip(why)

void test_check(bool holds, const char *file, int line, const char *what);
void test_check_eq(int64_t a, int64_t b, const char *file, int line, const char *what);
void test_check_str(const char *a, const char *b, const char *file, int line, const char *what);
__attribute__((noreturn)) void test_skip(const char *why);

/*
 * Makes the nth allocation from now fail (1: the next); 0 turns this off. Returns the number of
 * allocations since the last call.
 */
size_t test_fail_allocation(size_t nth);

/* Returns a number that changes with the number of descriptors that this process has open. */
size_t test_nr_open(void);

/* The tasks of a worker that runs this program: stook's own, then the ones of test_worker.c. */
struct worker_task;
const struct worker_task *test_tasks(size_t *ret_nr);

/* A helper process of a worker that was made with this as LD_LIBRARY_PATH needs 2 s to start. */
#define TEST_STARTS_LATE "/starts-late"

/* Copies the bytes so that they end at an unreadable page: reading past the end crashes. */
void *test_guarded(const void *bytes, size_t nr);

#endif
