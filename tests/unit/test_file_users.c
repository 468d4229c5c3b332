/* proc/file_users: this test's own copy of a program, run by children. */
#include "proc/file_users.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit/folder.h"
#include "unit/test.h"

#define LIMIT_NS (10 * NS_PER_SEC)

/* A file that nobody else has. */
static uint64_t make_code(const char *path, int *ret_fd)
{
	struct stat st;

	make_file(path, "code");
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(*ret_fd >= 0 && fstat(*ret_fd, &st) == 0);
	return st.st_ino;
}

/* A child that has mapped it so, when this returns. */
static pid_t start_user(int fd, int protection)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (mmap(NULL, 4, protection, MAP_PRIVATE, fd, 0) != MAP_FAILED)
			(void)!write(ready[1], "", 1);
		(void)pause();
		_exit(0);
	}
	(void)close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void end_user(pid_t pid)
{
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(file_users_others_are_found)
{
	uint64_t inodes[2] = {0};
	uint32_t pids[2] = {1};
	int fds[2];
	pid_t user;

	enter_folder();
	inodes[0] = make_code(in_folder("a"), &fds[0]);
	inodes[1] = make_code(in_folder("b"), &fds[1]);
	CHECK_EQ(file_users_find(inodes, 2, NULL, 0, LIMIT_NS), -ENOENT);
	user = start_user(fds[1], PROT_READ | PROT_EXEC);
	CHECK_EQ(file_users_find(inodes, 2, NULL, 0, LIMIT_NS), 1);
	CHECK_EQ(file_users_find(inodes, 1, NULL, 0, LIMIT_NS), -ENOENT);
	pids[1] = (uint32_t)user;
	CHECK_EQ(file_users_find(inodes, 2, pids, 2, LIMIT_NS), -ENOENT);
	end_user(user);
	leave_folder();
}

TEST(file_users_we_are_none)
{
	int fd;
	uint64_t inode;

	enter_folder();
	inode = make_code(in_folder("a"), &fd);
	CHECK(mmap(NULL, 4, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	CHECK_EQ(file_users_find(&inode, 1, NULL, 0, LIMIT_NS), -ENOENT);
	leave_folder();
}

/* To read a file is not to run it. */
TEST(file_users_readers_are_none)
{
	int fd;
	uint64_t inode;
	pid_t reader;

	enter_folder();
	inode = make_code(in_folder("a"), &fd);
	reader = start_user(fd, PROT_READ);
	CHECK_EQ(file_users_find(&inode, 1, NULL, 0, LIMIT_NS), -ENOENT);
	end_user(reader);
	leave_folder();
}

TEST(file_users_keep_to_their_time)
{
	uint64_t inode = UINT64_MAX;
	pid_t user = start_user(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), PROT_READ);

	CHECK_EQ(file_users_find(&inode, 1, NULL, 0, 0), -ETIMEDOUT);
	end_user(user);
}
