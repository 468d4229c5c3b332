/*
 * One pass over the mappings of all processes; see file_users.h.
 *
 * Files are compared by inode number alone: the device that stat() tells is not that of mappings on
 * btrfs and overlayfs. Two file systems may have the same number by chance; the answer decides about
 * a word to the user and a default, so that does no harm.
 */
#include "proc/file_users.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/maps.h"

struct question {
	const uint64_t *inodes;
	size_t nr_inodes;
	const uint32_t *pids;
	size_t nr_pids;
	uint64_t end_ns;
};

static bool is_known(const struct question *question, uint32_t pid)
{
	size_t i;

	if (pid == (uint32_t)getpid())
		return true;
	for (i = 0; i < question->nr_pids; i++)
		if (question->pids[i] == pid)
			return true;
	return false;
}

static int64_t find_inode(const struct question *question, uint64_t inode)
{
	size_t i;

	for (i = 0; i < question->nr_inodes; i++)
		if (question->inodes[i] == inode)
			return (int64_t)i;
	return -ENOENT;
}

static int64_t search_process(const struct question *question, uint32_t pid)
{
	struct maps maps;
	struct maps_entry entry;
	int64_t found = -ENOENT;

	if (maps_open(&maps, (int32_t)pid) < 0)
		return -ENOENT;
	while (found == -ENOENT && maps_next(&maps, &entry)) {
		if (clock_now_ns() > question->end_ns)
			found = -ETIMEDOUT;
		else if (entry.executable && entry.id.inode)
			found = find_inode(question, entry.id.inode);
	}
	maps_close(&maps);
	return found;
}

int64_t file_users_find(const uint64_t *inodes, size_t nr_inodes, const uint32_t *pids,
			size_t nr_pids, uint64_t limit_ns)
{
	const struct question question = {inodes, nr_inodes, pids, nr_pids,
					  clock_now_ns() + limit_ns};
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int64_t found = -ENOENT;

	if (!processes)
		return -ETIMEDOUT;
	while (found == -ENOENT && (entry = readdir(processes))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && !is_known(&question, pid))
			found = search_process(&question, pid);
	}
	(void)closedir(processes);
	return found;
}
