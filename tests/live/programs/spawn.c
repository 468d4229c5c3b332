/*
 * spawn PROGRAM NR LOW_US HIGH_US PARALLEL [DIR]: runs PROGRAM NR times, each time with a random
 * argument between LOW_US and HIGH_US, PARALLEL of them at a time.
 *
 * With DIR each run has its own file: a copy of PROGRAM with the run's number appended, made just
 * before the start and deleted as soon as the process is reaped. After that it cannot be read.
 *
 * Prints `microseconds N`, the sum of the arguments: the total work of the runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define MAX_PARALLEL 16

struct run {
	pid_t pid; /* 0: free slot */
	char file[512];
};

static struct run runs[MAX_PARALLEL];

/* Copies the program and appends text that no ELF header refers to; returns 0 or -errno. */
static int copy_program(const char *from, const char *to, long number)
{
	static char bytes[1 << 20];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t got = 0;

	if (in < 0 || out < 0)
		return -errno;
	while ((got = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)got) != got)
			return -EIO;
	dprintf(out, "copy %ld", number);
	close(in);
	close(out);
	return got < 0 ? -EIO : 0;
}

static int reap_one(void)
{
	pid_t pid = wait(NULL);

	for (int i = 0; i < MAX_PARALLEL; i++) {
		if (pid <= 0 || runs[i].pid != pid)
			continue;
		if (runs[i].file[0])
			unlink(runs[i].file);
		runs[i].pid = 0;
	}
	return pid > 0;
}

static int start_one(struct run *run, const char *program, uint64_t us, const char *dir,
		     long number)
{
	char text[32];

	run->file[0] = '\0';
	if (dir) {
		snprintf(run->file, sizeof(run->file), "%s/copy-%ld", dir, number);
		if (copy_program(program, run->file, number))
			return -1;
	}
	snprintf(text, sizeof(text), "%lu", us);
	run->pid = fork();
	if (run->pid == 0) {
		execl(dir ? run->file : program, "shortlived", text, (char *)NULL);
		_exit(127);
	}
	return run->pid < 0 ? -1 : 0;
}

static struct run *free_run(int parallel)
{
	for (int i = 0; i < parallel; i++)
		if (!runs[i].pid)
			return &runs[i];
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t random = 0x9e3779b97f4a7c15ull, sum_us = 0;
	long nr = argc > 5 ? atol(argv[2]) : 0;
	int parallel = argc > 5 ? atoi(argv[5]) : 0;
	const char *dir = argc > 6 ? argv[6] : NULL;

	if (nr < 1 || parallel < 1 || parallel > MAX_PARALLEL)
		return 2;
	for (long i = 0; i < nr; i++) {
		uint64_t us = random_between(&random, strtoull(argv[3], NULL, 10),
					     strtoull(argv[4], NULL, 10));

		while (!free_run(parallel))
			reap_one();
		if (start_one(free_run(parallel), argv[1], us, dir, i))
			return 1;
		sum_us += us;
	}
	while (reap_one())
		;
	printf("microseconds %lu\n", sum_us);
	return 0;
}
