/* The command behind `--`: held back until sampling has begun, then let go and waited for. */
#ifndef STOOK_CMD_RUN_CHILD_H
#define STOOK_CMD_RUN_CHILD_H

#include <sys/types.h>

#include "base/error.h"

struct child {
	pid_t pid;    /* 0: none */
	int pidfd;    /* readable when it has ended */
	int start_fd; /* closing it without a byte ends the child */
	int exec_fd;  /* says why the program could not be executed */
};

/* A process that is ready to become argv. 0 or a negative errno. */
int child_prepare(struct child *child, char **argv, struct error *error);

/* Lets it execute. 0; or what execvp() failed with: -ENOENT, -EACCES, … */
int child_start(struct child *child, char **argv, struct error *error);

/* Waits for its end; its status as a shell tells it: 128 + the signal for one that was killed. */
int child_wait(struct child *child);

/* Closes what is open; a child that was never started ends. Also for {0}. */
void child_clear(struct child *child);

#endif
