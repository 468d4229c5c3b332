/*
 * Requests the perf map of one JVM, like a run with --java does for each sampled JVM:
 *
 *	$ ask_java 4711
 *	0: Java, its perf map has 1234 bytes
 *
 * Prints 1 and the reason if there is none. The optional second argument is the time limit in
 * seconds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/java_attach.h"
#include "proc/mappings.h"
#include "tests/unit/look_here.h"

#define MAX_OPEN 64

/* Reads the executable mappings of the process from its maps. */
static int read_mappings(int32_t pid, struct file_table *files, struct mappings **mappings)
{
	struct maps maps;
	struct maps_entry entry;
	int err = maps_open(&maps, pid);

	while (err == 0 && maps_next(&maps, &entry)) {
		struct mapping mapping = {.start = entry.start, .end = entry.end};
		int64_t number;

		if (!entry.executable || !entry.id.inode)
			continue;
		number = add_file_here(files, &entry.id, entry.path, pid, entry.start, entry.end);
		if (number < 0)
			err = (int)number;
		mapping.file = (uint32_t)number;
		if (err == 0)
			err = mappings_add(mappings, &mapping);
	}
	maps_close(&maps);
	return err;
}

static int ask(const struct runtime_process *process, uint64_t timeout_ns)
{
	cleanup_fd int fd = -1;
	struct error error = {0};
	struct stat st;

	if (java_attach_write_map(process, timeout_ns, -1, &error) < 0) {
		printf("1: %s%s%s\n", error.text, *error.hint ? "; " : "", error.hint);
		return 1;
	}
	fd = open_map_here(process);
	if (fd < 0 || fstat(fd, &st) < 0) {
		printf("1: its perf map can't be opened\n");
		return 1;
	}
	printf("0: %s, its perf map has %jd bytes\n", process->runtime->name, (intmax_t)st.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	int32_t pid = argc > 1 ? atoi(argv[1]) : 0;
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 3;
	struct file_table *files = file_table_new(MAX_OPEN);
	struct runtime_table *table = runtime_table_new();
	struct mappings *mappings = mappings_new();
	int status = 2;

	if (pid <= 0 || !files || !table || !mappings || read_mappings(pid, files, &mappings) < 0 ||
	    add_runtime_here(table, pid, 0, 0, mappings, files) != 0)
		fprintf(stderr, "usage: ask_java PID [SECONDS]\n");
	else
		status = ask(runtime_table_get(table, 0), seconds * NS_PER_SEC);
	runtime_table_free(table);
	mappings_unref(mappings);
	file_table_free(files);
	return status;
}
