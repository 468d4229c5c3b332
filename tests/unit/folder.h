/* A temporary folder per test below /tmp, and helpers that fill it. */
#ifndef STOOK_TESTS_UNIT_FOLDER_H
#define STOOK_TESTS_UNIT_FOLDER_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/test.h"

static char folder[64];

static inline void enter_folder(void)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/stook-test-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
}

static inline int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static inline void leave_folder(void)
{
	CHECK_EQ(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Returns the path of a name in the folder; valid for the next seven calls. */
static inline const char *in_folder(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static inline void make_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file != NULL);
	CHECK(fputs(text, file) >= 0);
	CHECK_EQ(fclose(file), 0);
}

static inline void make_folder(const char *name)
{
	CHECK_EQ(mkdir(in_folder(name), 0755), 0);
}

/* Runs a shell command in the folder; returns true if it succeeded. */
static inline bool run_in_folder(const char *command)
{
	char line[1024];

	CHECK(snprintf(line, sizeof(line), "cd %s && { %s; } >/dev/null 2>&1", folder, command) <
	      (int)sizeof(line));
	return system(line) == 0;
}

/* Skips the test without openat2(), which some tools that run the tests do not support. */
static inline void need_openat2(void)
{
	if (syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == ENOSYS)
		SKIP("there is no openat2()");
}

/* Returns a process whose root is the folder. It is killed when the test ends, also on failure. */
static inline pid_t start_in_folder(void)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		byte = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && chroot(folder) == 0 &&
		       chdir("/") == 0;
		(void)!write(ready[1], &byte, 1);
		pause();
		_exit(0);
	}
	CHECK(pid > 0);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_EQ(close(ready[0]) + close(ready[1]), 0);
	if (byte)
		return pid;
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	leave_folder();
	SKIP("needs CAP_SYS_CHROOT");
}

static inline void stop_in_folder(pid_t pid)
{
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

#endif
