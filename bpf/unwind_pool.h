/*
 * The memory from which the kernel side reads processes, mappings, tables and rules. User space
 * maps it and writes it. Processes and tables are in arrays of fixed size; everything of variable
 * length is in chunks, which are allocated on demand.
 *
 * Nothing is changed while a program may read it. The data of a process or table is written first,
 * then the one word that makes it visible. Removed data is reused only after the next end of an
 * epoch, which waits for all running programs.
 */
#ifndef STOOK_BPF_UNWIND_POOL_H
#define STOOK_BPF_UNWIND_POOL_H

#include "unwind_format.h"

/* A place in the chunks is an index in units of 16 bytes. 0 means none. */
#define POOL_CHUNK_BYTES (1U << 20)
#define POOL_MAX_CHUNKS	 1024
#define POOL_UNIT_BYTES	 16
#define POOL_CHUNK_UNITS (POOL_CHUNK_BYTES / POOL_UNIT_BYTES)

#define POOL_CHUNK(place)  ((place) / POOL_CHUNK_UNITS)
#define POOL_OFFSET(place) ((place) % POOL_CHUNK_UNITS * POOL_UNIT_BYTES)

/*
 * Processes: a hash of the pid selects a set of 8 slots, one cache line. A slot is pid << 32 |
 * place of its struct unwind_process, or 0. The number of sets depends on the memory of the pool.
 */
#define UNWIND_MIN_PROCESS_SETS 1024
#define UNWIND_MAX_PROCESS_SETS 16384
#define UNWIND_PROCESS_WAYS	8

struct unwind_process_set {
	__u64 slots[UNWIND_PROCESS_WAYS];
};

static inline __u32 unwind_process_set_of(__u32 pid, __u32 nr_sets)
{
	return (__u64)(pid * 0x9e3779b1U) * nr_sets >> 32;
}

/* How code in a mapping is unwound. */
enum unwind_mapping_kind {
	UNWIND_BY_TABLE,	 /* by its file's unwind table */
	UNWIND_BY_FRAME_POINTER, /* JIT-compiled code, unless unwind_epilogue.h finds a rule */
};

struct unwind_mapping {
	__u64 start, end;
	__u64 offset; /* in the file, of start */
	__u32 table;
	__u32 kind;
};

#define UNWIND_MAX_MAPPINGS 8192 /* per process; the first ones by address are kept */

struct unwind_process {
	__u64 start_time_ns; /* as in a record */
	__u64 exec_id;
	__u32 sequence;	   /* unique over all struct unwind_process ever made */
	__u32 nr_mappings; /* number of mappings that follow; sorted, no overlaps */
	__u32 is_final;	   /* the mappings are complete: an address outside of them is not code */
	__u16 is_stale;	   /* user space only: the mappings have changed since this was written */
	__u16 nr_strays;   /* user space only: number of walks that ended outside the mappings */
};

_Static_assert(sizeof(struct unwind_mapping) == 32 && sizeof(struct unwind_process) == 32,
	       "offsets in chunks are kept within bounds by masks");

/* Tables, indexed by the table number in mappings. */
#define UNWIND_MAX_TABLES 8192
#define UNWIND_TABLE_BITS 16 /* table numbers fit into these */

enum unwind_table_state {
	UNWIND_TABLE_WANTED, /* not loaded yet: send raw records */
	UNWIND_TABLE_READY,
	UNWIND_TABLE_ABSENT, /* the file has none: use frame pointers */
};

struct unwind_table_entry {
	__u32 state;	/* written last */
	__u32 nr_pages; /* pages of code, from file offset 0 on */
	__u32 pages;	/* place of u32[nr_pages], the places of pages; 0: page without rules */
	__u32 wide;	/* place of struct unwind_rule[nr_wide] */
	__u32 nr_wide;
	__u32 used_epoch; /* epoch of the last use; written by walks on both sides */
	__u32 zero[2];
};

#endif
