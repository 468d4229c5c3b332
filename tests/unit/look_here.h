/* Does the work of the opener for the tables of files and processes (proc/look.h) in this process. */
#ifndef STOOK_TESTS_UNIT_LOOK_HERE_H
#define STOOK_TESTS_UNIT_LOOK_HERE_H

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc/look.h"
#include "proc/process_table.h"
#include "proc/runtime_table.h"

struct mapping_target {
	struct process_table *processes;
	int32_t pid;
};

static inline int add_mapping_here(void *context, const struct maps_entry *entry, bool is_memory)
{
	struct mapping_target *target = context;

	return process_table_add_mapping(target->processes, target->pid, entry, is_memory);
}

/* Looks at everything that the tables want; processes may be NULL. 0 or -ENOMEM. */
static inline int look_here(struct file_table *files, struct process_table *processes)
{
	struct mapping_target target = {.processes = processes};
	struct file_look look;
	int err = 0;

	while (err == 0 && processes && process_table_next_look(processes, &target.pid)) {
		struct maps_looked looked;

		err = look_at_maps(target.pid, add_mapping_here, &target, &looked);
		if (err == 0)
			err = process_table_looked(processes, target.pid, &looked);
	}
	while (file_table_next_look(files, &look)) {
		struct file_looked looked;

		look_at_file(&look, &looked);
		file_table_looked(files, look.file, &looked);
	}
	return err;
}

/* Adds a process with JIT-compiled code and looks at it. */
static inline int64_t add_runtime_here(struct runtime_table *table, int32_t pid,
				       uint64_t start_time_ns, uint64_t exec_id,
				       const struct mappings *mappings,
				       const struct file_table *files)
{
	int64_t number = runtime_table_add(table, pid, start_time_ns, exec_id, mappings, files);
	uint32_t next;

	while (runtime_table_next_look(table, &next, &pid)) {
		struct process_looked looked;

		look_at_process(pid, &looked);
		runtime_table_looked(table, next, &looked);
	}
	return number;
}

/* Adds a file and looks at it. */
static inline int64_t add_file_here(struct file_table *files, const struct file_id *id,
				    const char *path, int32_t pid, uint64_t start, uint64_t end)
{
	int64_t number = file_table_add(files, id, path, pid, start, end);

	(void)look_here(files, NULL);
	return number;
}

/* Adds a file that is already open, and takes the descriptor. */
static inline int64_t add_fd_here(struct file_table *files, const char *path, int fd)
{
	struct file_looked looked = {.root_err = -ENOENT, .root_fd = -1};
	struct file_look look;
	struct file_id id;
	struct stat st;
	int64_t number;
	char magic[4] = "";

	if (fstat(fd, &st) < 0)
		return -errno;
	id = (struct file_id){major(st.st_dev), minor(st.st_dev), st.st_ino, 0};
	number = file_table_add(files, &id, path, 1, 0, 0);
	if (number < 0 || !file_table_next_look(files, &look))
		return number;
	looked.found = (struct found_file){
		.handle = fd,
		.uid = st.st_uid,
		.is_elf = pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4),
	};
	looked.is_of_root = file_is_of_root(fd, path);
	file_table_looked(files, (uint32_t)number, &looked);
	return number;
}

/* Opens the perf map of a process. */
static inline int open_map_here(const struct runtime_process *process)
{
	struct perf_map_file map;
	int err = runtime_process_map(process, &map);

	return err < 0 ? err
		       : file_open_written(map.root_fd, map.path, map.written_since_ns,
					   &map.owners);
}

#endif
