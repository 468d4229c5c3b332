/*
 * proc/file_open: traps that a user could set for a profiler which opens paths chosen by that user,
 * below that user's root. Mapped files are tested in test_file_table.c.
 */
#include "proc/file_open.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "unit/folder.h"
#include "unit/test.h"

/* The folder is the root; files beside it must not be reached. */
struct root {
	int fd;
	char outside[96];
};

static struct root make_root(void)
{
	struct root root;

	need_openat2();
	enter_folder();
	(void)snprintf(root.outside, sizeof(root.outside), "%s.outside", folder);
	make_file(root.outside, "outside");
	make_folder("lib");
	make_file(in_folder("lib/code"), "inside");
	root.fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(root.fd >= 0);
	return root;
}

static void drop_root(const struct root *root)
{
	CHECK_EQ(unlink(root->outside), 0);
	CHECK_EQ(close(root->fd), 0);
	leave_folder();
}

static void check_opens(int root_fd, const char *path, const char *expected)
{
	cleanup_fd int fd = file_open_below(root_fd, path);
	char got[64] = "";

	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, got, sizeof(got) - 1, 0), strlen(expected));
	CHECK_STR(got, expected);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST(file_open_below_a_root)
{
	struct root root = make_root();

	check_opens(root.fd, "/lib/code", "inside");
	check_opens(root.fd, "lib/code", "inside");
	check_opens(root.fd, "//lib/./code", "inside");
	CHECK_EQ(file_open_below(root.fd, "/lib/nothing"), -ENOENT);
	CHECK_EQ(file_open_below(root.fd, ""), -ENOENT);
	check_opens(-1, root.outside, "outside");
	check_opens(-1, root.outside + 1, "outside"); /* not from the working directory */
	drop_root(&root);
}

TEST(file_open_below_stays_below_with_dots)
{
	struct root root = make_root();
	char path[128];

	check_opens(root.fd, "/../../lib/code", "inside");
	check_opens(root.fd, "lib/../../../lib/code", "inside");
	(void)snprintf(path, sizeof(path), "..%s", strrchr(root.outside, '/'));
	CHECK_EQ(file_open_below(root.fd, path), -ENOENT);
	drop_root(&root);
}

TEST(file_open_below_keeps_links_inside)
{
	struct root root = make_root();
	char outwards[192];

	(void)snprintf(outwards, sizeof(outwards), "../..%s", root.outside);
	CHECK_EQ(symlink(root.outside, in_folder("absolute")), 0);
	CHECK_EQ(symlink(outwards, in_folder("relative")), 0);
	CHECK_EQ(symlink("/tmp", in_folder("folder")), 0);
	CHECK_EQ(symlink("/lib/code", in_folder("good")), 0); /* in this root, not the host's */
	CHECK_EQ(symlink("../../../lib", in_folder("lib/up")), 0);
	CHECK_EQ(symlink("circle", in_folder("circle")), 0);
	CHECK_EQ(file_open_below(root.fd, "/absolute"), -ENOENT);
	CHECK_EQ(file_open_below(root.fd, "/relative"), -ENOENT);
	(void)snprintf(outwards, sizeof(outwards), "/folder%s", strrchr(root.outside, '/'));
	CHECK_EQ(file_open_below(root.fd, outwards), -ENOENT);
	check_opens(root.fd, "/good", "inside");
	check_opens(root.fd, "/lib/up/code", "inside");
	CHECK_EQ(file_open_below(root.fd, "/circle"), -ELOOP);
	drop_root(&root);
}

/* A magic link of /proc leads to a descriptor or another root without resolving a path. */
TEST(file_open_below_follows_no_link_of_proc)
{
	struct root root = make_root();
	cleanup_fd int outside = open(root.outside, O_RDONLY | O_CLOEXEC);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), outside);
	CHECK(access(path, R_OK) == 0);
	CHECK_EQ(file_open_below(-1, path), -EXDEV);
	(void)snprintf(path, sizeof(path), "/proc/%d/root/etc/passwd", getpid());
	CHECK_EQ(file_open_below(-1, path), -EXDEV);
	drop_root(&root);
}

/* Opening a fifo would block; opening a device may have side effects. */
/* stat() reports some of these as regular files. */
TEST(file_open_below_opens_no_files_of_the_kernel)
{
	need_openat2();
	CHECK_EQ(file_open_below(-1, "/proc/version"), -EACCES);
	CHECK_EQ(file_open_below(-1, "/sys/kernel/mm/transparent_hugepage/enabled"), -EACCES);
}

static int open_owned(int root_fd, const char *path, uid_t owner)
{
	struct file_owners owners = {0};
	int fd;

	file_owners_add(&owners, owner);
	fd = file_open_owned(root_fd, path, &owners);
	if (fd >= 0)
		(void)close(fd);
	return fd < 0 ? fd : 0;
}

TEST(file_open_owned_knows_whose_it_is)
{
	struct root root = make_root();

	CHECK_EQ(symlinkat("/lib/code", root.fd, "link"), 0);
	CHECK_EQ(open_owned(root.fd, "/lib/code", geteuid()), 0);
	CHECK_EQ(open_owned(root.fd, "/link", geteuid()), 0);
	CHECK_EQ(open_owned(root.fd, "/lib/code", geteuid() + 1), -EACCES);
	CHECK_EQ(open_owned(root.fd, "/link", geteuid() + 1), -EACCES);
	CHECK_EQ(open_owned(root.fd, "/lib", geteuid()), -EACCES);
	CHECK_EQ(open_owned(root.fd, "/none", geteuid()), -ENOENT);
	if (geteuid() == 0) {
		CHECK_EQ(fchownat(root.fd, "link", 65534, 65534, AT_SYMLINK_NOFOLLOW), 0);
		CHECK_EQ(open_owned(root.fd, "/link", 0), -EACCES);
		CHECK_EQ(fchownat(root.fd, "lib/code", 65534, 65534, 0), 0);
		CHECK_EQ(open_owned(root.fd, "/link", 65534), 0);
	}
	CHECK_EQ(unlinkat(root.fd, "link", 0), 0);
	drop_root(&root);
}

TEST(file_is_of_root_alone)
{
	struct root root = make_root();
	cleanup_fd int fd = openat(root.fd, "lib/code", O_RDONLY | O_CLOEXEC);
	cleanup_fd int outside = open(root.outside, O_RDONLY | O_CLOEXEC);
	char path[128];

	(void)snprintf(path, sizeof(path), "%s", in_folder("lib/code"));
	CHECK(file_is_of_root(fd, path));
	CHECK(!file_is_of_root(outside, path));
	CHECK(!file_is_of_root(fd, "/lib/code")); /* as a process in this root names it */
	CHECK(!file_is_of_root(fd, path + 1));
	CHECK(!file_is_of_root(fd, ""));
	CHECK_EQ(fchmod(fd, 0664), 0);
	CHECK(!file_is_of_root(fd, path));
	CHECK_EQ(fchmod(fd, 0644), 0);
	CHECK_EQ(chmod(in_folder("lib"), 0777), 0);
	CHECK(!file_is_of_root(fd, path));
	CHECK_EQ(chmod(in_folder("lib"), 0755), 0);
	CHECK_EQ(symlinkat("lib", root.fd, "link"), 0);
	(void)snprintf(path, sizeof(path), "%s", in_folder("link/code"));
	CHECK(!file_is_of_root(fd, path));
	CHECK_EQ(unlinkat(root.fd, "link", 0), 0);
	if (geteuid() == 0) {
		(void)snprintf(path, sizeof(path), "%s", in_folder("lib/code"));
		CHECK_EQ(fchownat(root.fd, "lib", 65534, 65534, 0), 0);
		CHECK(!file_is_of_root(fd, path));
		CHECK_EQ(fchownat(root.fd, "lib", 0, 0, 0), 0);
		CHECK_EQ(fchown(fd, 65534, 65534), 0);
		CHECK(!file_is_of_root(fd, path));
	}
	drop_root(&root);
}

TEST(file_open_below_opens_regular_files_only)
{
	struct root root = make_root();

	CHECK_EQ(mkfifo(in_folder("fifo"), 0600), 0);
	(void)alarm(10);
	CHECK_EQ(file_open_below(root.fd, "/fifo"), -EINVAL);
	CHECK_EQ(file_open_below(root.fd, "/lib"), -EINVAL);
	CHECK_EQ(file_open_below(root.fd, "/"), -EINVAL);
	CHECK_EQ(file_open_below(-1, "/dev/null"), -EINVAL);
	CHECK_EQ(file_open_below(-1, "/dev/zero"), -EINVAL);
	(void)alarm(0);
	drop_root(&root);
}

static struct file_id id_of(const char *path)
{
	struct stat st;

	CHECK_EQ(stat(path, &st), 0);
	return (struct file_id){major(st.st_dev), minor(st.st_dev), st.st_ino, 0};
}

static int open_again(const struct file_id *id, int root_fd, const char *path)
{
	struct found_file found;
	int err = file_find_again(id, root_fd, path, &found), fd;

	if (err < 0)
		return err;
	fd = file_open_handle(found.handle);
	(void)close(found.handle);
	return fd;
}

/* Want of descriptors passes: it is not taken for a file that cannot be read. */
TEST(file_open_handle_tells_want_of_descriptors)
{
	struct root root = make_root();
	int handle = openat(root.fd, "lib/code", O_PATH | O_CLOEXEC);
	struct rlimit before, none;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 3;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(file_open_handle(handle), -EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	(void)close(handle);
	drop_root(&root);
}

TEST(file_find_again_wants_the_same_file)
{
	struct root root = make_root();
	struct file_id id = id_of(in_folder("lib/code"));
	int fd = open_again(&id, root.fd, "/lib/code");

	CHECK(fd >= 0);
	(void)close(fd);
	CHECK_EQ(open_again(&id, root.fd, "/lib/gone"), -ENOENT);
	CHECK_EQ(rename(in_folder("lib/code"), in_folder("lib/old")), 0);
	make_file(in_folder("lib/code"), "another");
	CHECK_EQ(open_again(&id, root.fd, "/lib/code"), -ENOENT);
	fd = open_again(&id, root.fd, "/lib/old"); /* the path is only a hint */
	CHECK(fd >= 0);
	(void)close(fd);
	drop_root(&root);
}
