/* pread() and pwrite() until it is done, and descriptors; see fd_io.h. */
#include "base/fd_io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

int fd_read_at(int fd, uint64_t offset, void *to, size_t nr)
{
	char *at = to;

	while (nr) {
		ssize_t got = pread(fd, at, nr, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		at += got;
		offset += (uint64_t)got;
		nr -= (size_t)got;
	}
	return 0;
}

int fd_write_at(int fd, uint64_t offset, const void *from, size_t nr)
{
	const char *at = from;

	while (nr) {
		ssize_t put = pwrite(fd, at, nr, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (put == 0)
			return -EIO;
		at += put;
		offset += (uint64_t)put;
		nr -= (size_t)put;
	}
	return 0;
}

void fd_open_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
}

uint64_t fd_allow_all(void)
{
	struct rlimit limit, wanted;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return UINT64_MAX;
	wanted = (struct rlimit){limit.rlim_max, limit.rlim_max};
	return setrlimit(RLIMIT_NOFILE, &wanted) == 0 ? wanted.rlim_cur : limit.rlim_cur;
}
