/*
 * A host that exists only as arithmetic: what each process maps, what each file contains, and which stacks it
 * runs all follow from a few numbers by hashing, so millions of processes and files need no memory. Private to
 * simulate.c.
 *
 * Processes run a program: its file, then libraries, each mapped without its first 64 KiB. Long-lived ones have a
 * slot; those of a container are replaced with it. Short-lived ones wait in a queue for their exit.
 */
#ifndef STOOK_TESTS_TOOLS_SYNTHETIC_HOST_H
#define STOOK_TESTS_TOOLS_SYNTHETIC_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "bpf/unwind_format.h"
#include "proc/file_table.h"

#define HOST_MINOR	1
#define CONTAINER_MINOR 1000 /* of the first container's file system */
#define CONTAINER_FILES 25
#define CONTAINER_MAINS 10	/* of these, programs */
#define FIRST_PID	5000001 /* above the greatest pid_max, so that no look finds a real process */
#define NR_PIDS		4194304
#define MAX_LIBRARIES	14
#define MAX_STACK	9
#define STACKS_OF_EACH	24 /* different stacks of a process */
#define TEXT_PAGE	(1ULL << UNWIND_PAGE_SHIFT)
#define JIT_PLACE	60 /* number of the first mapping of JIT-compiled code */
#define SHORT_LIFE_NS	(100 * NS_PER_MS)

/* A file is this pair. */
struct host_file {
	uint32_t minor;
	uint32_t inode;
};

struct host_process {
	int32_t pid;	    /* 0: none */
	uint32_t container; /* serial number; 0: the host */
	uint32_t program;
	uint32_t nr_jit; /* regions of JIT-compiled code; 0: it has none */
	uint64_t start_ns;
	uint64_t exit_ns; /* of a short-lived one */
	uint64_t base;	  /* address of its first mapping */
};

struct host {
	uint64_t random;
	uint32_t nr_host_files;
	struct host_process *processes; /* long-lived, those of containers last */
	uint32_t nr_processes, nr_on_host, nr_in_container;
	uint32_t nr_containers;	     /* at a time */
	uint32_t last_container;     /* serial number */
	struct host_process *shorts; /* a queue */
	uint64_t first_short, end_short;
	uint32_t cap_shorts;
	struct u64_map by_pid; /* → process */
	uint32_t nr_pids;      /* given out so far */
};

/* A stack, leaf first. */
struct host_stack {
	size_t nr;
	uint64_t addresses[MAX_STACK];	   /* of the instruction, not of the return */
	struct host_file files[MAX_STACK]; /* inode 0: JIT-compiled */
	uint64_t offsets[MAX_STACK];
};

static inline uint64_t host_random(struct host *host)
{
	host->random += 0x9e3779b97f4a7c15ULL;
	return hash_stable_u64(host->random);
}

static inline uint32_t host_below(struct host *host, uint32_t limit)
{
	return (uint32_t)((host_random(host) >> 32) * limit >> 32);
}

static inline uint64_t mix_numbers(uint64_t a, uint64_t b)
{
	return hash_stable_add(hash_stable_u64(a), b);
}

/* --- files ------------------------------------------------------------------------------------ */

/* 64 KiB pages of its text, 2 to 33, after a page without code. */
static inline uint32_t file_pages(struct host_file file)
{
	uint64_t hash = mix_numbers(file.minor, file.inode);

	return 2 + (uint32_t)((hash >> 8) & ((1U << (hash % 6)) - 1));
}

static inline struct file_id file_identity(struct host_file file)
{
	return (struct file_id){0, file.minor, file.inode, 1};
}

#define FILE_PATH_BYTES 64

static inline void file_path(struct host_file file, char path[FILE_PATH_BYTES])
{
	(void)snprintf(path, FILE_PATH_BYTES, "/usr/%s/file-%u",
		       file.minor == HOST_MINOR ? "lib" : "app", file.inode);
}

/* Functions of 16 KiB. Their names tell the file; containers are made of a limited number of images. */
#define FUNCTION_SHIFT	    14
#define FUNCTION_NAME_BYTES 64
#define NR_IMAGES	    128

static inline uint32_t file_image(struct host_file file)
{
	return file.minor == HOST_MINOR ? NR_IMAGES : file.minor % NR_IMAGES;
}

static inline void function_name(struct host_file file, uint64_t offset, char *ret)
{
	(void)snprintf(ret, FUNCTION_NAME_BYTES, "file_%u_%u::f%u()", file_image(file), file.inode,
		       (uint32_t)(offset >> FUNCTION_SHIFT));
}

/* Small numbers are far more frequent. */
static inline uint32_t skewed(uint64_t hash, uint32_t limit)
{
	double share = (double)(hash >> 11) / (double)(1ULL << 53);

	return (uint32_t)(share * share * share * (double)limit);
}

/* --- processes -------------------------------------------------------------------------------- */

static inline uint32_t process_nr_files(const struct host_process *process)
{
	return 3 + (uint32_t)(mix_numbers(process->program, process->container != 0) %
			      (MAX_LIBRARIES - 2));
}

static inline struct host_file process_file(const struct host *host,
					    const struct host_process *process, uint32_t i)
{
	uint32_t nr_mains = host->nr_host_files / 2, nr = host->nr_host_files - nr_mains;
	uint32_t first = nr_mains + 1;
	uint64_t hash = mix_numbers(process->program, i);
	struct host_file file = {HOST_MINOR, i ? 0 : 1 + process->program};

	if (process->container) {
		file.minor = CONTAINER_MINOR + process->container;
		nr = CONTAINER_FILES - CONTAINER_MAINS;
		first = CONTAINER_MAINS + 1;
	}
	/* All have the first three libraries; the others differ. */
	if (i)
		file.inode = first + (i <= 3 ? i - 1 : 3 + skewed(hash, nr - 3));
	return file;
}

static inline uint64_t process_start_of(const struct host_process *process, uint32_t i)
{
	return process->base + ((uint64_t)i << 30);
}

static inline void process_begin(struct host *host, struct host_process *process,
				 uint32_t container, uint64_t now_ns)
{
	uint64_t hash = host_random(host);

	*process = (struct host_process){
		.pid = FIRST_PID + (int32_t)(host->nr_pids++ % NR_PIDS),
		.container = container,
		.program = container ? (uint32_t)(hash % CONTAINER_MAINS)
				     : skewed(hash, host->nr_host_files / 2),
		.start_ns = now_ns,
		.base = 0x550000000000ULL + ((hash & 0xffffff) << 12),
	};
	while (u64_map_find(&host->by_pid,
			    (uint64_t)process->pid)) /* long-lived, and pids wrapped */
		process->pid = FIRST_PID + (int32_t)(host->nr_pids++ % NR_PIDS);
	if (u64_map_set(&host->by_pid, (uint64_t)process->pid, (uintptr_t)process) < 0)
		abort();
}

static inline void process_end(struct host *host, struct host_process *process)
{
	(void)u64_map_remove(&host->by_pid, (uint64_t)process->pid);
	process->pid = 0;
}

static inline const struct host_process *host_find(const struct host *host, int32_t pid)
{
	const uint64_t *value = u64_map_find(&host->by_pid, (uint64_t)pid);

	return value ? (const struct host_process *)(uintptr_t)*value : NULL;
}

static inline bool container_lives(const struct host *host, uint32_t serial)
{
	return serial <= host->last_container &&
	       serial + host->nr_containers > host->last_container;
}

/*
 * The k-th stack of a process: from any of its mappings up to the start of its program. The last 256 bytes of each
 * page of code are the outermost functions, see simulate.c.
 */
static inline void process_stack(const struct host *host, const struct host_process *process,
				 uint32_t k, struct host_stack *ret)
{
	uint64_t seed = mix_numbers(mix_numbers(process->program, process->container), k);
	uint32_t nr_files = process_nr_files(process);
	size_t i;

	ret->nr = 3 + seed % (MAX_STACK - 2);
	for (i = 0; i < ret->nr; i++) {
		uint64_t hash = mix_numbers(seed, i), offset;
		bool is_last = i == ret->nr - 1;
		uint32_t number = is_last ? 0 : (uint32_t)(hash >> 40) % nr_files;
		struct host_file file = process_file(host, process, number);

		if (process->nr_jit && i == 0 && k % 2) {
			number = JIT_PLACE;
			offset = (hash >> 8) % ((uint64_t)process->nr_jit * TEXT_PAGE) & ~0xfULL;
			ret->files[i] = (struct host_file){0, 0};
			ret->offsets[i] = offset;
			ret->addresses[i] = process_start_of(process, number) + offset;
			continue;
		}
		offset = (hash >> 8) % ((uint64_t)(file_pages(file) - 1) * TEXT_PAGE);
		offset = is_last ? offset | 0xff00 : offset & ~0x8000ULL;
		ret->files[i] = file;
		ret->offsets[i] = offset + TEXT_PAGE;
		ret->addresses[i] = process_start_of(process, number) + offset;
	}
}

#endif
