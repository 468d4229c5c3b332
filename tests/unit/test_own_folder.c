/* base/file/own_folder: folders for another user. The cache of unwind tables tests those for ourselves. */
#include "base/file/own_folder.h"

#include <errno.h>
#include <string.h>

#include "unit/folder.h"

#define OWNER 65523

/* Enters a folder that the owner can pass. */
static void start(void)
{
	if (geteuid() != 0)
		SKIP("needs root, to give a folder away");
	enter_folder();
	CHECK_EQ(chmod(folder, 0711), 0);
}

static int open_own(const char *name, size_t nr_made, struct error *error)
{
	const struct own_folder own = {.path = in_folder(name),
				       .what_for = "keep files",
				       .owner = OWNER,
				       .nr_made = nr_made};

	return own_folder_open(&own, error);
}

static void check_refused(const char *name, size_t nr_made, int code, const char *text)
{
	struct error error = {0};

	CHECK_EQ(open_own(name, nr_made, &error), code);
	CHECK(strstr(error.text, text) != NULL);
	CHECK(strstr(error.text, in_folder(name)) != NULL);
}

static void check_folder(const char *name, uid_t owner, mode_t mode)
{
	struct stat status;

	CHECK_EQ(lstat(in_folder(name), &status), 0);
	CHECK_EQ(status.st_uid, owner);
	CHECK_EQ(status.st_mode, S_IFDIR | mode);
}

TEST(own_folder_of_another_user)
{
	struct error error;
	int i, fd;

	start();
	(void)umask(077);
	for (i = 0; i < 2; i++) { /* made, and found */
		fd = open_own("a/b", 2, &error);
		CHECK(fd >= 0);
		CHECK_EQ(close(fd), 0);
		check_folder("a", 0, 0711);
		check_folder("a/b", OWNER, 0700);
	}
	CHECK_EQ(rmdir(in_folder("a/b")), 0);
	CHECK_EQ(rmdir(in_folder("a")), 0); /* nothing else was left there */
	CHECK_EQ(rmdir(folder), 0);
}

/* A run that was killed has left the folder with its first name; this one has the same pid, as in a container. */
TEST(own_folder_that_was_not_finished)
{
	struct error error = {0};
	char name[32];

	start();
	(void)snprintf(name, sizeof(name), ".b.%d", getpid());
	make_folder(name);
	CHECK_EQ(chown(in_folder(name), OWNER, OWNER), 0);
	CHECK_EQ(close(open_own("b", 1, &error)), 0);
	check_folder("b", OWNER, 0700);
	CHECK(access(in_folder(name), F_OK) < 0);
	leave_folder();
}

TEST(own_folder_above_is_made_passable)
{
	struct error error;

	start();
	make_folder("a");
	CHECK_EQ(chmod(in_folder("a"), 0700), 0);
	check_refused("a/b", 1, -EPERM, "is not passable for other users");
	check_folder("a", 0, 0700);
	CHECK_EQ(close(open_own("a/b", 2, &error)), 0);
	check_folder("a", 0, 0711);
	leave_folder();
}

TEST(own_folder_gives_nothing_away)
{
	start();
	make_folder("ours");
	check_refused("ours", 1, -EPERM, "is not owned by user 65523");
	check_folder("ours", 0, 0755);
	make_folder("theirs");
	CHECK_EQ(chown(in_folder("theirs"), OWNER, OWNER), 0);
	check_refused("theirs/b", 1, -EPERM, "is owned by another user");
	CHECK_EQ(chmod(in_folder("theirs"), 0770), 0);
	check_refused("theirs", 1, -EPERM, "is writable by other users");
	CHECK_EQ(symlink("ours", in_folder("link")), 0);
	check_refused("link", 1, -ENOTDIR, "link");
	check_refused("link/b", 1, -ENOTDIR, "link");
	check_refused("none/b", 1, -ENOENT, "none");
	leave_folder();
}
