/*
 * The memory in which the kernel side finds processes, mappings, tables and rules; user space has
 * it mapped and writes it. Arrays of a fixed size for processes and tables, and chunks for whatever
 * varies in length, added when they are needed.
 *
 * Nothing is changed while a program may read it. What a process or table refers to is written
 * first, then the one word that makes it visible; what is taken out is used again only after the
 * next end of an epoch, which waits for all programs that were running.
 */
#ifndef STOOK_BPF_UNWIND_POOL_H
#define STOOK_BPF_UNWIND_POOL_H

#include "unwind_format.h"

/* A place in the chunks is a number: of 16 bytes each. 0 is nowhere. */
#define POOL_CHUNK_BYTES (1U << 20)
#define POOL_MAX_CHUNKS	 1024
#define POOL_UNIT_BYTES	 16
#define POOL_CHUNK_UNITS (POOL_CHUNK_BYTES / POOL_UNIT_BYTES)

#define POOL_CHUNK(place)  ((place) / POOL_CHUNK_UNITS)
#define POOL_OFFSET(place) ((place) % POOL_CHUNK_UNITS * POOL_UNIT_BYTES)

/*
 * Processes: by a hash of the pid one of the sets, in it one of the ways: one cache line. A slot is
 * pid << 32 | place of its struct unwind_process, or 0.
 */
#define UNWIND_PROCESS_SETS 1024
#define UNWIND_PROCESS_WAYS 8

struct unwind_process_set {
	__u64 slots[UNWIND_PROCESS_WAYS];
};

static inline __u32 unwind_process_set_of(__u32 pid)
{
	return pid * 0x9e3779b1U >> 22;
}

_Static_assert(UNWIND_PROCESS_SETS == 1 << (32 - 22), "the hash has as many values as sets");

/* What a code mapping is walked by. */
enum unwind_mapping_kind {
	UNWIND_BY_TABLE,	 /* of its file */
	UNWIND_BY_FRAME_POINTER, /* JIT-compiled code, unless its next instructions tell */
};

struct unwind_mapping {
	__u64 start, end;
	__u64 offset; /* in the file, of start */
	__u32 table;
	__u32 kind;
};

#define UNWIND_MAX_MAPPINGS 8192 /* of a process: the first ones by address */

struct unwind_process {
	__u64 start_time_ns; /* as in a record */
	__u64 exec_id;
	__u32 sequence;	   /* another one for each struct unwind_process there ever was */
	__u32 nr_mappings; /* by address, without overlaps; they follow */
	__u32 is_final;	   /* an address in no mapping of it is no code, rather than news */
	__u16 is_stale;	   /* user space's own notes: the mappings have changed since … */
	__u16 nr_strays;   /* … and so many walks ended outside of them */
};

_Static_assert(sizeof(struct unwind_mapping) == 32 && sizeof(struct unwind_process) == 32,
	       "offsets in chunks are kept within bounds by masks");

/* Tables, by the number that mappings have for them. */
#define UNWIND_MAX_TABLES 8192
#define UNWIND_TABLE_BITS 16 /* that their numbers fit in */

enum unwind_table_state {
	UNWIND_TABLE_WANTED, /* not there yet: send me samples as they are */
	UNWIND_TABLE_READY,
	UNWIND_TABLE_ABSENT, /* there is none: frame pointers */
};

struct unwind_table_entry {
	__u32 state;	/* written last */
	__u32 nr_pages; /* of code, from file offset 0 on */
	__u32 pages;	/* place of u32 places of pages; 0: no rules there */
	__u32 wide;	/* place of struct unwind_rule[nr_wide] */
	__u32 nr_wide;
	__u32 used_epoch; /* when it was last of use: written by walks, on both sides */
	__u32 zero[2];
};

#endif
