/* base/file/out_file: a file that appears complete or not at all. */
#include "unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/out_file.h"

/* Each test works in its own folder, which must be empty again at the end. */
static char folder[64];

static void enter_folder(void)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/stook-test-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	CHECK_EQ(chdir(folder), 0);
}

static size_t nr_entries(void)
{
	DIR *directory = opendir(folder);
	size_t nr = 0;

	CHECK(directory != NULL);
	while (readdir(directory))
		nr++;
	(void)closedir(directory);
	return nr - 2; /* . and .. */
}

static void leave_folder(void)
{
	CHECK_EQ(nr_entries(), 0);
	CHECK_EQ(chdir("/"), 0);
	CHECK_EQ(rmdir(folder), 0);
}

static void check_content(const char *path, const char *expected)
{
	char text[256] = "";
	FILE *file = fopen(path, "r");

	CHECK(file != NULL);
	CHECK_EQ(fread(text, 1, sizeof(text) - 1, file), strlen(expected));
	CHECK_STR(text, expected);
	(void)fclose(file);
}

TEST(out_file_appears_whole)
{
	struct out_file file;
	struct error error = {0};
	struct stat st;

	enter_folder();
	(void)umask(027);
	CHECK_EQ(out_file_open(&file, "result", &error), 0);
	fprintf(file.stream, "one\n");
	CHECK_EQ(fflush(file.stream), 0);
	CHECK_EQ(access("result", F_OK), -1); /* not before it is complete */
	fprintf(file.stream, "two\n");
	CHECK_EQ(out_file_commit(&file, &error), 0);
	check_content("result", "one\ntwo\n");
	CHECK_EQ(stat("result", &st), 0);
	CHECK_EQ(st.st_mode & 07777, 0640); /* mode as open() sets it */
	CHECK_EQ(nr_entries(), 1);
	out_file_abort(&file); /* no-op after a commit */
	check_content("result", "one\ntwo\n");
	CHECK_EQ(unlink("result"), 0);
	leave_folder();
}

TEST(out_file_replaces_only_at_the_end)
{
	struct out_file file;
	struct error error = {0};

	enter_folder();
	CHECK_EQ(out_file_open(&file, "result", &error), 0);
	fprintf(file.stream, "old");
	CHECK_EQ(out_file_commit(&file, &error), 0);
	CHECK_EQ(out_file_open(&file, "result", &error), 0);
	fprintf(file.stream, "new");
	(void)fflush(file.stream);
	check_content("result", "old");
	CHECK_EQ(out_file_commit(&file, &error), 0);
	check_content("result", "new");
	CHECK_EQ(unlink("result"), 0);
	leave_folder();
}

static void write_file(const char *path, const char *text)
{
	struct out_file file;
	struct error error = {0};

	CHECK_EQ(out_file_open(&file, path, &error), 0);
	fputs(text, file.stream);
	CHECK_EQ(out_file_commit(&file, &error), 0);
}

TEST(out_file_keeps_mode_and_owner)
{
	struct stat st;

	enter_folder();
	(void)umask(022);
	write_file("private", "old");
	CHECK_EQ(chmod("private", 0600), 0);
	if (geteuid() == 0)
		CHECK_EQ(chown("private", 65534, 65533), 0);
	write_file("private", "new");
	check_content("private", "new");
	CHECK_EQ(stat("private", &st), 0);
	CHECK_EQ(st.st_mode & 07777, 0600);
	if (geteuid() == 0)
		CHECK(st.st_uid == 65534 && st.st_gid == 65533);
	CHECK_EQ(nr_entries(), 1);
	CHECK_EQ(unlink("private"), 0);
	leave_folder();
}

TEST(out_file_follows_symlinks)
{
	struct out_file file;
	struct error error = {0};
	struct stat st;

	enter_folder();
	CHECK_EQ(mkdir("below", 0700), 0);
	CHECK_EQ(symlink("below/real", "link"), 0);
	write_file("link", "made"); /* a dangling link */
	check_content("below/real", "made");
	CHECK_EQ(out_file_open(&file, "link", &error), 0);
	fputs("new", file.stream);
	(void)fflush(file.stream);
	check_content("below/real", "made"); /* unchanged until complete */
	CHECK_EQ(out_file_commit(&file, &error), 0);
	check_content("below/real", "new");
	CHECK(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
	CHECK_EQ(nr_entries(), 2);
	CHECK(!unlink("link") && !unlink("below/real") && !rmdir("below"));
	leave_folder();
}

/* /dev/stdout stays a link, and stdout's open flags (here O_APPEND) apply. */
TEST(out_file_stdout_is_ours)
{
	struct stat st;
	int fd;

	enter_folder();
	write_file("log", "one\n");
	fd = open("log", O_WRONLY | O_APPEND);
	CHECK(fd >= 0);
	CHECK_EQ(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	write_file("/dev/stdout", "two\n");
	write_file("/proc/self/fd/1", "three\n");
	check_content("log", "one\ntwo\nthree\n");
	CHECK(lstat("/dev/stdout", &st) == 0 && S_ISLNK(st.st_mode));
	/* Under any other name it is an ordinary file. */
	CHECK_EQ(symlink("/proc/self/fd/1", "other"), 0);
	write_file("other", "four\n");
	check_content("log", "four\n");
	CHECK(lstat("other", &st) == 0 && S_ISLNK(st.st_mode));
	(void)close(fd);
	CHECK(!unlink("log") && !unlink("other"));
	leave_folder();
}

TEST(out_file_aborted_leaves_nothing)
{
	struct out_file file, never = {0};
	struct error error = {0};

	enter_folder();
	CHECK_EQ(out_file_open(&file, "result", &error), 0);
	fprintf(file.stream, "half of it");
	(void)fflush(file.stream);
	CHECK_EQ(access("result", F_OK), -1);
	out_file_abort(&file);
	out_file_abort(&file);
	out_file_abort(&never);
	leave_folder();
}

TEST(out_file_that_cannot_be_opened)
{
	struct out_file file;
	struct error error = {0};

	enter_folder();
	CHECK_EQ(out_file_open(&file, "no-such-folder/result", &error), -ENOENT);
	CHECK_EQ(error.code, -ENOENT);
	CHECK(strstr(error.text, "no-such-folder/result") != NULL);
	out_file_abort(&file);
	CHECK_EQ(out_file_open(&file, folder, &error), -EISDIR);
	out_file_abort(&file);
	leave_folder();
}

/* The path has become a folder: the error is reported, and no temporary file stays. */
TEST(out_file_that_cannot_be_renamed)
{
	struct out_file file;
	struct error error = {0};

	enter_folder();
	CHECK_EQ(out_file_open(&file, "result", &error), 0);
	fprintf(file.stream, "lost");
	CHECK_EQ(mkdir("result", 0700), 0);
	CHECK(out_file_commit(&file, &error) < 0);
	CHECK(strstr(error.text, "result") != NULL);
	CHECK_EQ(rmdir("result"), 0);
	leave_folder();
}

TEST(out_file_on_a_full_device)
{
	struct out_file file;
	struct error error = {0};

	if (access("/dev/full", W_OK) < 0)
		SKIP("/dev/full cannot be written");
	CHECK_EQ(out_file_open(&file, "/dev/full", &error), 0);
	fprintf(file.stream, "no room");
	CHECK_EQ(out_file_commit(&file, &error), -ENOSPC);
	CHECK_EQ(error.code, -ENOSPC);
	CHECK_EQ(access("/dev/full", F_OK), 0);
}

TEST(out_file_writes_a_fifo_in_place)
{
	struct out_file file;
	struct error error = {0};
	char got[16] = "";
	struct stat st;
	int fd;

	enter_folder();
	CHECK_EQ(mkfifo("pipe", 0600), 0);
	fd = open("pipe", O_RDONLY | O_NONBLOCK);
	CHECK(fd >= 0);
	CHECK_EQ(out_file_open(&file, "pipe", &error), 0);
	CHECK_EQ(nr_entries(), 1);
	fprintf(file.stream, "through");
	CHECK_EQ(out_file_commit(&file, &error), 0);
	CHECK_EQ(read(fd, got, sizeof(got) - 1), 7);
	CHECK_STR(got, "through");
	CHECK(stat("pipe", &st) == 0 && S_ISFIFO(st.st_mode));
	(void)close(fd);
	CHECK_EQ(unlink("pipe"), 0);
	leave_folder();
}

/* In a folder like /tmp; tests/hostile/outputs.sh has cases with two users and kernel settings. */
TEST(out_file_refuses_what_others_left)
{
	struct out_file file;
	struct error error = {0};
	struct stat st;

	if (geteuid() != 0)
		SKIP("files of other users take root");
	enter_folder();
	CHECK_EQ(chmod(folder, 01777), 0);
	CHECK(!symlink("target", "link") && !lchown("link", 65534, 65534));
	CHECK(!symlink(".", "through") && !lchown("through", 65534, 65534));
	CHECK(!mkfifo("fifo", 0666) && !chown("fifo", 65534, 65534));
	CHECK_EQ(out_file_open(&file, "link", &error), -EACCES);
	CHECK(strstr(error.text, "the existing symlink belongs to user 65534") != NULL);
	CHECK_EQ(out_file_open(&file, "through/new", &error), -EACCES);
	CHECK_EQ(out_file_open(&file, "fifo", &error), -EACCES);
	CHECK(strstr(error.text, "the existing fifo") != NULL);
	CHECK(error.hint[0]);
	CHECK_EQ(nr_entries(), 3);
	/* Without the sticky bit anyone may change the folder: written, as by a shell. */
	CHECK_EQ(chmod(folder, 0777), 0);
	write_file("link", "written");
	check_content("target", "written");
	CHECK(!unlink("link") && !unlink("target") && !unlink("through") && !unlink("fifo"));
	/* A folder's owner may place files in it. */
	CHECK(!chown(folder, 65534, 65534) && !chmod(folder, 01777));
	write_file("left", "old");
	CHECK_EQ(chown("left", 65534, 65534), 0);
	write_file("left", "new");
	CHECK(stat("left", &st) == 0 && st.st_uid == 65534);
	CHECK_EQ(unlink("left"), 0);
	leave_folder();
}

TEST(out_file_walks_as_the_kernel_does)
{
	struct out_file file;
	struct error error = {0};
	char path[128], *name;

	enter_folder();
	CHECK(!mkdir("a", 0700) && !mkdir("a/b", 0700));
	CHECK(!symlink("b/../c", "a/link") && !symlink("loop", "loop"));
	(void)snprintf(path, sizeof(path), "%s//a/./b/..//link", folder);
	write_file(path, "text");
	check_content("a/c", "text");
	CHECK_EQ(unlink("a/c"), 0);
	CHECK_EQ(out_file_open(&file, "loop", &error), -ELOOP);
	CHECK_EQ(out_file_open(&file, "a/", &error), -EISDIR);
	CHECK_EQ(out_file_open(&file, "a/..", &error), -EISDIR);
	CHECK_EQ(out_file_open(&file, "a/c/", &error), -ENOENT);
	CHECK_EQ(out_file_open(&file, "a/link/x", &error), -ENOENT);
	name = calloc(1, 5000);
	CHECK(name != NULL);
	memset(name, 'n', 256);
	CHECK_EQ(out_file_open(&file, name, &error), -ENAMETOOLONG);
	memset(name, '/', 4999);
	CHECK_EQ(out_file_open(&file, name, &error), -ENAMETOOLONG);
	/* For a name of maximum length, the temporary file's name must be shortened. */
	memset(name, 'n', 255);
	name[255] = '\0';
	write_file(name, "text");
	check_content(name, "text");
	CHECK(!unlink(name) && !unlink("a/link") && !unlink("loop") && !rmdir("a/b") &&
	      !rmdir("a"));
	free(name);
	leave_folder();
}
