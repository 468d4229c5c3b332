/*
 * /proc/PID/exe leads to the file itself, whatever its path means by now. A program is a regular
 * file always, so that opening it can wait for nothing and start nothing.
 */
#include "proc/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define DELETED " (deleted)"

static int no_program(int32_t pid)
{
	int err = -errno;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	return err == -ENOENT && access(path, F_OK) < 0 ? -ESRCH : err;
}

int program_file_open(int32_t pid, char **ret_path)
{
	cleanup_fd int fd = -1;
	char link[64], path[PATH_MAX];
	ssize_t nr;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	nr = readlink(link, path, sizeof(path) - 1);
	if (nr >= 0)
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return no_program(pid);
	if (text_ends_with(path, (size_t)nr, DELETED))
		nr -= (ssize_t)strlen(DELETED);
	*ret_path = strndup(path, (size_t)nr);
	return *ret_path ? take_fd(&fd) : -ENOMEM;
}

DIR *program_folder_open(int root_fd, const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT};
	cleanup_fd int own_root = -1, fd = -1;
	DIR *folder;

	if (root_fd < 0)
		own_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = (int)syscall(SYS_openat2, root_fd < 0 ? own_root : root_fd, path, &how, sizeof(how));
	folder = fd < 0 ? NULL : fdopendir(fd);
	if (folder)
		(void)take_fd(&fd);
	return folder;
}
