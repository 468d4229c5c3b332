/*
 * What fuzzers share. A condition that does not hold ends the process, which libFuzzer reports with the input. So do the
 * checks of unit tests, whose fixtures some fuzzers use. Each fuzzer is one file that includes this one.
 */
#ifndef STOOK_TESTS_FUZZ_FUZZ_H
#define STOOK_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "unit/test.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr);

static inline void expect(bool holds)
{
	if (!holds)
		abort();
}

void test_check(bool holds, const char *file, int line, const char *what)
{
	expect(holds);
}

void test_check_eq(int64_t a, int64_t b, const char *file, int line, const char *what)
{
	expect(a == b);
}

#endif
