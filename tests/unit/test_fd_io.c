/* base/fd_io: all of it, or the reason why not. */
#include "base/fd_io.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "unit/test.h"

TEST(fd_io_reads_what_was_written)
{
	cleanup_fd int fd = memfd_create("fd_io", 0);
	char bytes[8] = "";

	CHECK_EQ(fd_write_at(fd, 0, "abcdef", 6), 0);
	CHECK_EQ(fd_write_at(fd, 2, "CD", 2), 0);
	CHECK_EQ(fd_write_at(fd, 100, "", 0), 0);
	CHECK_EQ(fd_read_at(fd, 1, bytes, 5), 0);
	CHECK_STR(bytes, "bCDef");
	CHECK_EQ(fd_read_at(fd, 6, bytes, 0), 0);
	CHECK_EQ(fd_read_at(fd, 1, bytes, 6), -ENODATA);
	CHECK_EQ(fd_read_at(fd, 6, bytes, 1), -ENODATA);
	CHECK_EQ(fd_read_at(-1, 0, bytes, 1), -EBADF);
	CHECK_EQ(fd_write_at(-1, 0, bytes, 1), -EBADF);
}

/* What has room is written; then there is an error and not a short count. */
TEST(fd_io_on_a_full_disk)
{
	const struct rlimit small = {10, 10};
	cleanup_file FILE *file = tmpfile();
	char bytes[16];

	CHECK(file != NULL);
	memset(bytes, 'x', sizeof(bytes));
	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_EQ(fd_write_at(fileno(file), 0, bytes, sizeof(bytes)), -EFBIG);
	CHECK_EQ(fd_read_at(fileno(file), 0, bytes, 10), 0);
}

TEST(fd_allow_all_raises_the_limit_to_what_is_allowed)
{
	const struct rlimit low = {20, 30};
	struct rlimit limit;

	if (setrlimit(RLIMIT_NOFILE, &low) < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_max != low.rlim_max)
		SKIP("a limit of descriptors that can be set (valgrind keeps its own)");
	CHECK_EQ(fd_allow_all(), 30);
	CHECK_EQ(fd_allow_all(), 30);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(limit.rlim_cur, 30);
	CHECK_EQ(limit.rlim_max, 30);
}
