/*
 * Two files are read, since neither has all: the time of the start is only in the first, the users
 * only in the second. If the process ends between, the second is not there: so what is returned is
 * of one process, but for a number that was given away anew within that moment.
 */
#include "proc/process_status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define STAT_BYTES 1024

static FILE *open_of(int32_t pid, const char *what)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	return fopen(path, "re");
}

static void copy_comm(char to[16], const char *from, const char *end)
{
	size_t nr = (size_t)(end - from) < 15 ? (size_t)(end - from) : 15;

	memcpy(to, from, nr);
	to[nr] = '\0';
}

/* pid (comm) state … start …: comm may hold anything, also blanks and brackets. */
static bool read_stat(int32_t pid, struct process_status *ret)
{
	cleanup_file FILE *file = open_of(pid, "stat");
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	char text[STAT_BYTES];
	const char *from, *end;
	uint64_t ticks;

	if (!file)
		return false;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	from = strchr(text, '(');
	end = strrchr(text, ')');
	if (!from || !end ||
	    sscanf(end + 1,
		   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%" SCNu64,
		   &ret->state, &ticks) != 2)
		return false;
	copy_comm(ret->comm, from + 1, end);
	ret->start_boot_ns = ticks * tick_ns;
	return true;
}

/* NSpid: one number for each pid namespace, from that of /proc to the innermost. */
static void parse_pids(const char *text, struct process_status *ret)
{
	int length, nr;
	int32_t pid;

	for (nr = 0; sscanf(text, "%d%n", &pid, &length) == 1; nr++) {
		ret->inner_pid = pid;
		text += length;
	}
	ret->is_nested = nr > 1;
}

static bool read_status(int32_t pid, struct process_status *ret)
{
	cleanup_file FILE *file = open_of(pid, "status");
	char line[512];
	bool has_uid = false, has_gid = false;

	ret->inner_pid = pid; /* kernels without pid namespaces */
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "NSpid:", 6))
			parse_pids(line + 6, ret);
		has_uid |= sscanf(line, "Uid: %*u %u", &ret->uid) == 1;
		has_gid |= sscanf(line, "Gid: %*u %u", &ret->gid) == 1;
		(void)sscanf(line, "SigCgt: %" SCNx64, &ret->caught);
	}
	return has_uid && has_gid;
}

int process_status_read(int32_t pid, struct process_status *ret)
{
	struct process_status status = {0};

	if (!read_stat(pid, &status) || !read_status(pid, &status))
		return -ESRCH;
	*ret = status;
	return 0;
}
