/* A folder of a test's own below /tmp, and what tests put into it. */
#ifndef STOOK_TESTS_UNIT_FOLDER_H
#define STOOK_TESTS_UNIT_FOLDER_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* Good until the eighth call from now. */
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

/* Runs a shell command within the folder; whether it succeeded. */
static inline bool run_in_folder(const char *command)
{
	char line[1024];

	CHECK(snprintf(line, sizeof(line), "cd %s && { %s; } >/dev/null 2>&1", folder, command) <
	      (int)sizeof(line));
	return system(line) == 0;
}

/* Some tools that tests are run under don't know it. */
static inline void need_openat2(void)
{
	if (syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == ENOSYS)
		SKIP("there is no openat2()");
}

#endif
