/* proc/root_table: the root of this process, and children with another one. */
#include "proc/root_table.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "unit/folder.h"
#include "unit/test.h"

#define NO_PID	  2000000000
#define MAX_ROOTS 16

/* Runs in the child before the test examines it; returns 0 or -1. */
typedef int change_function(void);

struct child {
	pid_t pid;
};

/* Starts a child that makes the change. Skips the test if it lacks permission. */
static struct child start(change_function *change)
{
	struct child child;
	char byte = 0;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	child.pid = fork();
	CHECK(child.pid >= 0);
	if (child.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = change() == 0;
		(void)!write(ends[1], &byte, 1);
		for (;;)
			(void)pause();
	}
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	if (!byte) {
		(void)kill(child.pid, SIGKILL);
		leave_folder();
		SKIP("needs the right to change the root");
	}
	return child;
}

static void end(const struct child *child)
{
	CHECK_EQ(kill(child->pid, SIGKILL), 0);
	CHECK_EQ(waitpid(child->pid, NULL, 0), child->pid);
}

static int change_nothing(void)
{
	return 0;
}

static int change_root(void)
{
	return chdir(folder) == 0 && chroot(".") == 0 ? 0 : -1;
}

static int change_mounts(void)
{
	return unshare(CLONE_NEWNS);
}

/* Mounts something over the folder in the child's mount namespace. */
static int mount_over(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", folder, "tmpfs", 0, NULL) < 0 || chdir(folder) < 0)
		return -1;
	make_file(in_folder("inside"), "");
	return chroot(".");
}

static int add_root(struct root_table *table, int32_t pid)
{
	struct root_id id;
	int fd, err = root_identify(pid, &id, &fd);

	return err < 0 ? err : root_table_add(table, &id, fd);
}

TEST(root_table_knows_our_own)
{
	struct root_table *table = root_table_new(MAX_ROOTS);
	struct child child;

	enter_folder();
	CHECK_EQ(add_root(table, getpid()), ROOT_OURS);
	CHECK_EQ(root_table_fd(table, ROOT_OURS), -1);
	child = start(change_nothing);
	CHECK_EQ(add_root(table, child.pid), ROOT_OURS);
	end(&child);
	CHECK_EQ(add_root(table, NO_PID), -ENOENT);
	CHECK_EQ(add_root(table, 0), -ENOENT);
	CHECK_EQ(add_root(table, -1), -ENOENT);
	root_table_free(table);
	root_table_free(NULL);
	leave_folder();
}

static bool is_in(int root_fd, const char *name)
{
	return faccessat(root_fd, name, F_OK, 0) == 0;
}

TEST(root_table_tells_roots_apart)
{
	struct root_table *table;
	struct child child, twin, other;
	int number, second;

	enter_folder();
	make_file(in_folder("here"), "");
	child = start(change_root);
	twin = start(change_root);
	other = start(mount_over);
	table = root_table_new(MAX_ROOTS);
	number = add_root(table, child.pid);
	CHECK(number != ROOT_OURS);
	CHECK(is_in(root_table_fd(table, number), "here"));
	CHECK_EQ(add_root(table, child.pid), number);
	CHECK_EQ(add_root(table, twin.pid), number);
	second = add_root(table, other.pid);
	CHECK(second != ROOT_OURS && second != number);
	CHECK(is_in(root_table_fd(table, second), "inside"));
	CHECK_EQ(add_root(table, getpid()), ROOT_OURS);
	end(&child);
	end(&twin);
	end(&other);
	CHECK_EQ(add_root(table, child.pid), -ENOENT);
	/* Files in the root can be found after its processes exited. */
	CHECK(is_in(root_table_fd(table, number), "here"));
	CHECK(is_in(root_table_fd(table, second), "inside"));
	root_table_free(table);
	leave_folder();
}

/* The same folder in two mount namespaces, which may have different mounts below it. */
TEST(root_table_tells_mount_namespaces_apart)
{
	struct root_table *table;
	struct child child, other;
	int number;

	enter_folder();
	child = start(change_mounts);
	other = start(change_mounts);
	table = root_table_new(MAX_ROOTS);
	number = add_root(table, child.pid);
	CHECK(number != ROOT_OURS);
	CHECK(root_table_fd(table, number) >= 0);
	CHECK(add_root(table, other.pid) != number);
	end(&child);
	end(&other);
	root_table_free(table);
	leave_folder();
}

/*
 * All children exist at the same time, since the inode number of a freed mount namespace is reused.
 */
TEST(root_table_has_a_limit)
{
	struct root_table *table;
	struct child children[MAX_ROOTS + 3];
	int i;

	enter_folder();
	for (i = 0; i < MAX_ROOTS + 3; i++)
		children[i] = start(change_mounts);
	table = root_table_new(MAX_ROOTS);
	for (i = 0; i < MAX_ROOTS + 3; i++)
		CHECK_EQ(add_root(table, children[i].pid), i + 1 < MAX_ROOTS ? i + 1 : -ENOSPC);
	CHECK_EQ(add_root(table, children[7].pid), 8);
	for (i = 0; i < MAX_ROOTS + 3; i++)
		end(&children[i]);
	root_table_free(table);
	leave_folder();
}

static int become_root_of_namespace(void)
{
	FILE *map;

	if (setuid(65534) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 ||
	    unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -1;
	map = fopen("/proc/self/uid_map", "w");
	return map && fputs("0 65534 1", map) >= 0 && fclose(map) == 0 ? 0 : -1;
}

/* The same mounts as ours in another user namespace: only the owner of the mounts matters. */
static int leave_users(void)
{
	return unshare(CLONE_NEWUSER);
}

TEST(root_table_knows_who_is_root)
{
	struct root_table *table;
	struct child ours, mounts, user, users;

	enter_folder();
	ours = start(change_nothing);
	mounts = start(change_mounts);
	user = start(become_root_of_namespace);
	users = start(leave_users);
	CHECK_EQ(root_uid_of(ours.pid), 0);
	CHECK_EQ(root_uid_of(mounts.pid), 0);
	CHECK_EQ(root_uid_of(user.pid), 65534);
	CHECK_EQ(root_uid_of(users.pid), (uid_t)-1); /* can have chosen its root directory */
	CHECK_EQ(root_uid_of(NO_PID), (uid_t)-1);
	table = root_table_new(MAX_ROOTS);
	CHECK_EQ(root_table_uid(table, add_root(table, ours.pid)), 0);
	CHECK_EQ(root_table_uid(table, add_root(table, user.pid)), 65534);
	end(&ours);
	end(&mounts);
	end(&user);
	end(&users);
	root_table_free(table);
	leave_folder();
}

TEST(root_table_without_memory)
{
	struct root_table *table;
	size_t nth = 0;

	do {
		(void)test_fail_allocation(++nth);
		table = root_table_new(MAX_ROOTS);
		(void)test_fail_allocation(0);
	} while (!table);
	CHECK(nth > 2);
	(void)test_fail_allocation(1);
	CHECK_EQ(add_root(table, getpid()), ROOT_OURS);
	CHECK_EQ(test_fail_allocation(0), 0); /* needs no memory */
	root_table_free(table);
}

/* Numbers are used again, and a root is found among thousands. */
TEST(root_table_of_thousands)
{
	struct root_table *table = root_table_new(ROOT_TABLE_MAX);
	struct root_id id = {.device = 7};
	unsigned round;
	int number;

	CHECK(table != NULL);
	for (round = 0; round < 3; round++) {
		for (id.inode = 1; id.inode < ROOT_TABLE_MAX; id.inode++) {
			number = root_table_add(table, &id, -1);
			CHECK(number > ROOT_OURS && number < ROOT_TABLE_MAX);
			CHECK_EQ(root_table_add(table, &id, -1), number); /* known */
		}
		CHECK_EQ(root_table_add(table, &id, -1), -ENOSPC);
		CHECK_EQ(root_table_nr(table), ROOT_TABLE_MAX);
		for (id.inode = 1; id.inode < ROOT_TABLE_MAX; id.inode += 2) {
			number = root_table_add(table, &id, -1);
			root_table_release(table, number);
			CHECK_EQ(root_table_fd(table, number), -1);
			CHECK_EQ(root_table_add(table, &id, -1), number);
		}
		for (number = 1; number < ROOT_TABLE_MAX; number++)
			root_table_release(table, number);
	}
	root_table_free(table);
}
