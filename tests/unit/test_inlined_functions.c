/* elf/dwarf/inlined_functions: of this program's own debug information. */
#include "elf/dwarf/inlined_functions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/dwarf/debug_info.h"
#include "unit/test.h"

static volatile int sink;

static inline __attribute__((always_inline)) void only_inlined(int n)
{
	sink += n * sink;
	sink ^= n;
}

__attribute__((noinline)) static void with_code(int n)
{
	only_inlined(n);
	sink *= n;
}

static int own_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	if (!debug_info_is_in(fd))
		SKIP("needs debug information in the tests (-g)");
	return fd;
}

TEST(inlined_functions_are_told_from_others)
{
	struct error error = {0};
	cleanup_fd int fd = own_file();

	only_inlined(1);
	with_code(2);
	CHECK_EQ(inlined_functions_has(fd, "only_inlined", UINT64_MAX, &error), 1);
	CHECK_EQ(inlined_functions_has(fd, "with_code", UINT64_MAX, &error), 0);
	CHECK_EQ(inlined_functions_has(fd, "inlined_functions_has", UINT64_MAX, &error), 0);
	CHECK_EQ(inlined_functions_has(fd, "only_inline", UINT64_MAX, &error), 0);
	CHECK_EQ(inlined_functions_has(fd, "", UINT64_MAX, &error), 0);
	CHECK_EQ(error.code, 0);
}

TEST(inlined_functions_within_their_time)
{
	struct error error = {0};
	cleanup_fd int fd = own_file();

	CHECK_EQ(inlined_functions_has(fd, "only_inlined", 0, &error), -ETIME);
	CHECK_EQ(error.code, -ETIME);
}

TEST(inlined_functions_of_files_without_debug_information)
{
	cleanup_file FILE *file = tmpfile();
	struct error error = {0};

	CHECK(file);
	CHECK_EQ(inlined_functions_has(fileno(file), "f", UINT64_MAX, &error), -ENOENT);
	CHECK_EQ(error.code, -ENOENT);
	CHECK_EQ(inlined_functions_has(-1, "f", UINT64_MAX, NULL), -ENOENT);
}

/* libdw's own allocations are its own matter. */
TEST(inlined_functions_out_of_memory)
{
	cleanup_fd int fd = own_file();
	int has = -ENOMEM;
	size_t nth;

	for (nth = 1; has < 0; nth++) {
		test_fail_allocation(nth);
		has = inlined_functions_has(fd, "only_inlined", UINT64_MAX, NULL);
		test_fail_allocation(0);
		CHECK(has >= 0 || has == -ENOMEM);
	}
	CHECK_EQ(has, 1);
	CHECK(nth > 2);
}
