/*
 * Walks a user stack by unwind tables, for code without frame pointers. Tables, mappings and
 * processes are in memory that user space fills (unwind_pool.h); one step is in unwind_step.h.
 *
 * The cost of a walk is dominated by cache misses: after a millisecond of other work none of our
 * data is left in the L1 and L2 caches. Return addresses repeat, so their rules are kept in a
 * direct-mapped cache, one cache line for each; only on a miss are the mapping, the page's index
 * and the rows searched. The stack is read in windows and not word by word.
 *
 * walk_frame(), find_rule() and follow_instruction() are global functions, so that the verifier
 * checks them once and not for every iteration of the loop that calls them. Their only argument is
 * the index of the scratch space, since before about Linux 5.12 it can't be a pointer: state is in
 * a map.
 */
#include "unwind.bpf.h"

#include "unwind_epilogue.h"
#include "unwind_pool.h"

#define WINDOW_BYTES  512
#define CACHE_ENTRIES 2048
#define PAGE_BYTES    4096

/*
 * Limit of stack bytes that a CPU may send in raw records per second (2^30 ns), whatever the reason
 * that user space can't provide the missing data. Set before loading.
 */
const volatile __u64 max_raw_bytes = 1 << 20;

/* The entries of unwind_processes. Set before loading. */
const volatile __u32 nr_process_sets = 1;

/* 0: disables walks by tables, and their code is removed. */
const volatile __u32 max_walk_frames;

const volatile __u32 task_registers_at; /* see registers.bpf.h */

/*
 * A cached rule of an address, in a quarter of a cache line. Cached are addresses that repeat:
 * return addresses and, for samples that hit the kernel, the addresses of system calls.
 *
 *	tag	the address to look up (48 bits), the low half of the process' sequence number (16)
 *	rule	packed (24 bits), table (16), the high half of the sequence (16), the epoch (8)
 *
 * The epoch is included so that each table in use is looked up at least once per epoch, which
 * updates its used_epoch for user space.
 */
struct cached_rule {
	__u64 tag;
	__u64 rule;
};

#define CACHED_PACKED(rule) ((rule)&0xffffff)
#define CACHED_TABLE(rule)  ((rule) >> 24 & ((1 << UNWIND_TABLE_BITS) - 1))
#define CACHED_WHEN(rule)   ((rule) >> (24 + UNWIND_TABLE_BITS))

/* The stack being walked, and the current frame's table and wide rule. */
struct unwind_memory {
	__u64 window_at;
	__u64 window_bytes; /* 0: the window is empty */
	__u64 window[WINDOW_BYTES / 8];
	struct unwind_rule wide;
	__u32 table; /* table number of the frame */
	__u32 zero;
};

struct walker {
	struct unwind_walk walk;
	/* Initial registers of the innermost frame that steps overwrite. */
	__u64 first_pc, first_sp, first_fp, first_ra, first_is_call;
	struct unwind_memory memory;
	__u32 process;	  /* place in the pool */
	__u32 sequence;	  /* of the process */
	__u32 is_final;	  /* of the process: an address outside its mappings is not code */
	__u32 epoch;	  /* of the sample */
	__u32 is_stray;	  /* the frame's address will hardly repeat: don't cache its rule */
	__u32 nr_frames;  /* number of frames found so far */
	__u32 raw_second; /* the second of the last raw record */
	__u64 raw_bytes;  /* bytes of stack sent raw in that second */
	__u32 packed;	  /* rule of the frame */
	__u32 zero;
	struct unwind_epilogue epilogue; /* decoder state for JIT-compiled code */
	struct cached_rule cache[CACHE_ENTRIES];
};

/* One for each scratch space, sized before loading. Values are too large for per-CPU maps. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walker);
} walkers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before loading */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct unwind_process_set);
} unwind_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_MAX_TABLES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct unwind_table_entry);
} unwind_tables SEC(".maps");

struct chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, POOL_CHUNK_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, POOL_MAX_CHUNKS);
	__uint(key_size, sizeof(__u32));
	__array(values, struct chunk);
} pool SEC(".maps");

static __always_inline struct walker *walker_of(__u32 slot)
{
	return bpf_map_lookup_elem(&walkers, &slot);
}

/* --- memory access for unwind_step.h --------------------------------------------------------- */

/*
 * Masks a value to below a power of two. The asm hides the value's range from the compiler, which
 * would otherwise remove the mask that the verifier needs.
 */
#define BELOW(value, power)                      \
	({                                       \
		__u64 value_ = (value);          \
		asm volatile("" : "+r"(value_)); \
		value_ &((power)-1);             \
	})

static __always_inline char *unwind_chunk(struct unwind_memory *memory, __u32 place)
{
	__u32 number = POOL_CHUNK(place), zero = 0;
	void *chunk = bpf_map_lookup_elem(&pool, &number);

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : NULL;
}

/* An aligned item in a chunk; its size is a power of two. */
#define UNWIND_ITEM(chunk, offset, type) \
	((type *)((chunk) + (BELOW(offset, POOL_CHUNK_BYTES) & ~(sizeof(type) - 1))))

#include "unwind_lookup.h"

static __always_inline int unwind_read(struct unwind_memory *memory, __u64 address, __u64 *ret)
{
	__u64 offset = address - memory->window_at;
	__u64 bytes;

	if (address & 7)
		return -1;
	if (offset >= memory->window_bytes) {
		bytes = PAGE_BYTES - (address & (PAGE_BYTES - 1));
		if (bytes > WINDOW_BYTES)
			bytes = WINDOW_BYTES;
		memory->window_bytes = 0;
		if (bpf_probe_read_user(memory->window, bytes, (void *)address))
			return -1;
		memory->window_at = address;
		memory->window_bytes = bytes;
		offset = 0;
	}
	*ret = *(__u64 *)((char *)memory->window + (BELOW(offset, WINDOW_BYTES) & ~7ULL));
	return 0;
}

/*
 * The table, for reads after its state. arm64 may do these first and so find memory from before the table was ready;
 * it does not if their address depends on the state. BPF has loads that prevent it only since Linux 6.15.
 */
static __always_inline struct unwind_table_entry *after_state(struct unwind_table_entry *table,
							      __u64 state)
{
	asm volatile("%0 &= 0" : "+r"(state));
	return (void *)table + state;
}

static __always_inline const struct unwind_rule *unwind_wide(struct unwind_memory *memory,
							     __u32 number)
{
	struct unwind_table_entry *table = bpf_map_lookup_elem(&unwind_tables, &memory->table);
	__u32 state = table ? *(volatile __u32 *)&table->state : UNWIND_TABLE_ABSENT;

	if (!table || state != UNWIND_TABLE_READY ||
	    unwind_read_wide(memory, after_state(table, state), number, &memory->wide))
		return NULL;
	return &memory->wide;
}

#include "unwind_step.h"

/* --- from an address to its rule ------------------------------------------------------------- */

/* The mapping of the process that contains the address, or NULL. */
static __always_inline struct unwind_mapping *find_mapping(struct walker *walker, __u64 address)
{
	__u32 place = walker->process, first = 0, nr, turn;
	struct unwind_process *process;
	struct unwind_mapping *mapping;
	char *chunk = unwind_chunk(&walker->memory, place);
	__u32 offset = POOL_OFFSET(place);

	if (!chunk)
		return NULL;
	process = UNWIND_ITEM(chunk, offset, struct unwind_process);
	nr = process->nr_mappings;
	offset += sizeof(*process);
	for (turn = 0; turn < 14 && nr > 1; turn++) {
		__u32 half = nr / 2;

		mapping = UNWIND_ITEM(chunk, offset + (first + half) * sizeof(*mapping),
				      struct unwind_mapping);
		first += half & unwind_not_above(mapping->start, address);
		nr -= half;
	}
	mapping = UNWIND_ITEM(chunk, offset + first * sizeof(*mapping), struct unwind_mapping);
	return nr && mapping->start <= address && address < mapping->end ? mapping : NULL;
}

/* Decodes the next instruction of the walker's epilogue. Returns enum unwind_epilogue_end. */
__noinline int follow_instruction(__u32 slot)
{
	struct walker *walker = walker_of(slot);

	return walker ? unwind_epilogue_next(&walker->epilogue) : UNWIND_EPILOGUE_UNKNOWN;
}

/* Reads the instructions at an address, as far as they are in one page, to UNWIND_CODE_BYTES. */
static __always_inline long read_code(void *to, __u64 pc)
{
	__u64 bytes = PAGE_BYTES - (pc & (PAGE_BYTES - 1));

	__builtin_memset(to, 0, UNWIND_CODE_BYTES);
	if (bytes > UNWIND_CODE_BYTES)
		bytes = UNWIND_CODE_BYTES;
	return bpf_probe_read_user(to, bytes, (void *)pc);
}

/* The rule of JIT-compiled code, from the instructions that follow. */
static __always_inline __u32 rule_of_epilogue(struct walker *walker, __u32 slot)
{
	int end = UNWIND_EPILOGUE_ON;
	__u32 turn;

	__builtin_memset(&walker->epilogue, 0, sizeof(walker->epilogue));
	if (read_code(walker->epilogue.code, walker->walk.pc))
		return UNWIND_PACKED_NONE;
	for (turn = 0; turn < UNWIND_CODE_INSTRUCTIONS && end == UNWIND_EPILOGUE_ON; turn++)
		end = follow_instruction(slot);
	return end == UNWIND_EPILOGUE_RETURNS ? walker->epilogue.packed : UNWIND_PACKED_NONE;
}

/*
 * Finds the rule of the walker's current frame and stores it in the walker, with its table. Returns
 * 0 or how the walk ends.
 */
__noinline int find_rule(__u32 slot)
{
	struct walker *walker = walker_of(slot);
	struct unwind_table_entry *table;
	struct unwind_mapping *mapping;
	__u64 address, offset;
	__u32 state;

	if (!walker)
		return WALK_MISSED;
	address = unwind_address(&walker->walk);
	mapping = find_mapping(walker, address);
	if (!mapping)
		return walker->is_final ? WALK_NO_MAPPING : WALK_RAW;
	walker->memory.table = mapping->table;
	walker->packed = UNWIND_PACKED_NONE;
	if (mapping->kind == UNWIND_BY_FRAME_POINTER) {
		walker->packed = rule_of_epilogue(walker, slot);
		return 0;
	}
	offset = address - mapping->start + mapping->offset;
	table = bpf_map_lookup_elem(&unwind_tables, &mapping->table);
	if (!table)
		return WALK_NO_TABLE;
	state = *(volatile __u32 *)&table->state;
	if (state == UNWIND_TABLE_ABSENT)
		return 0;
	if (state != UNWIND_TABLE_READY)
		return WALK_RAW;
	if (table->used_epoch != walker->epoch)
		table->used_epoch = walker->epoch;
	walker->packed = unwind_find_rule(&walker->memory, after_state(table, state), offset);
	return 0;
}

static __always_inline struct cached_rule *cached_rule(struct walker *walker)
{
	__u64 hash = (unwind_address(&walker->walk) ^ walker->sequence) * 0x9e3779b97f4a7c15ULL;

	return &walker->cache[hash >> 40 & (CACHE_ENTRIES - 1)];
}

static __always_inline __u64 cache_tag(const struct walker *walker)
{
	return unwind_address(&walker->walk) | (__u64)walker->sequence << 48;
}

/*
 * The rest of the cache key, which has no room in the tag: high half of the sequence, and the
 * epoch.
 */
static __always_inline __u64 cache_when(const struct walker *walker)
{
	return walker->sequence >> 16 | (__u64)(walker->epoch & 0xff) << 16;
}

/* Like find_rule(), with the cache in front. */
static __always_inline int rule_of_frame(struct walker *walker, __u32 slot)
{
	struct cached_rule *cached = cached_rule(walker);
	__u64 rule = cached->rule;
	int end;

	if (walker->is_stray)
		return find_rule(slot);
	if (cached->tag == cache_tag(walker) && CACHED_WHEN(rule) == cache_when(walker)) {
		walker->packed = CACHED_PACKED(rule);
		walker->memory.table = CACHED_TABLE(rule);
		return 0;
	}
	end = find_rule(slot);
	if (end)
		return end;
	cached->tag = cache_tag(walker);
	cached->rule = walker->packed | (__u64)walker->memory.table << 24 |
		       cache_when(walker) << (24 + UNWIND_TABLE_BITS);
	return 0;
}

/* --- the walk -------------------------------------------------------------------------------- */

/*
 * Adds the walker's current frame to the stack and moves to its caller. Returns 0 or how the walk
 * ends.
 */
__noinline int walk_frame(__u32 slot)
{
	struct walker *walker = walker_of(slot);
	struct scratch *scratch = record_scratch(slot);
	__u64 pc;
	__u32 nr;
	int end;

	if (!walker || !scratch)
		return WALK_MISSED;
	nr = walker->nr_frames;
	if (nr >= max_walk_frames || nr >= WIRE_MAX_USER_FRAMES)
		return WALK_TRUNCATED;
	pc = walker->walk.pc;
	end = rule_of_frame(walker, slot);
	if (end && nr)
		return end; /* this return address is not in known code */
	scratch->frames[nr] = nr && walker->walk.is_exact ? pc + 1 : pc;
	walker->nr_frames = nr + 1;
	if (!end)
		end = unwind_step(&walker->memory, &walker->walk, walker->packed);
	walker->is_stray = walker->walk.is_exact;
	return end;
}

/* The place of the record's struct unwind_process; 0 if it is unknown. */
static __always_inline __u32 find_process(struct walker *walker, const struct wire_record *record)
{
	__u32 set_number = unwind_process_set_of(record->pid, nr_process_sets), way, place = 0;
	struct unwind_process_set *set = bpf_map_lookup_elem(&unwind_processes, &set_number);
	struct unwind_process *process;
	char *chunk;

	if (!set)
		return 0;
	for (way = 0; way < UNWIND_PROCESS_WAYS; way++) {
		__u64 slot = set->slots[way];

		if (slot >> 32 == record->pid)
			place = slot;
	}
	chunk = unwind_chunk(&walker->memory, place);
	if (!place || !chunk)
		return 0;
	process = UNWIND_ITEM(chunk, POOL_OFFSET(place), struct unwind_process);
	walker->sequence = process->sequence;
	walker->is_final = process->is_final;
	if (process->start_time_ns != record->start_time_ns || process->exec_id != record->exec_id)
		return 0;
	return place;
}

__hidden int walk_user(struct stack_context *ctx, bool has_registers, struct scratch *scratch)
{
	struct wire_record *record = &scratch->record;
	struct walker *walker = walker_of(scratch->slot);
	enum registers registers;
	__u32 i;
	int end = WALK_NONE;

	record->nr_user = 0;
	if (!walker)
		return record->user_end = WALK_MISSED;
	if (!record->pid) /* not visible in our pid namespace: its mappings will never be known */
		return record->user_end = WALK_NO_MAPPING;
	registers = read_registers(ctx, has_registers, &walker->walk);
	if (registers != REGISTERS_WIDE && registers != REGISTERS_WIDE_IN_KERNEL)
		return record->user_end =
			       registers == REGISTERS_NARROW ? WALK_NO_RULE : WALK_MISSED;
	walker->is_stray = registers == REGISTERS_WIDE;
	walker->first_pc = walker->walk.pc;
	walker->first_is_call = walker->walk.is_call;
	walker->first_sp = walker->walk.regs[UNWIND_REG_SP];
	walker->first_fp = walker->walk.regs[UNWIND_REG_FP];
	walker->first_ra = walker->walk.regs[UNWIND_REG_RA];
	walker->process = find_process(walker, record);
	if (!walker->process)
		return record->user_end = WALK_RAW;
	walker->epoch = record->epoch;
	walker->memory.window_bytes = 0;
	walker->nr_frames = 0;
	for (i = 0; i < WIRE_MAX_USER_FRAMES; i++) {
		end = walk_frame(scratch->slot);
		if (end)
			break;
	}
	record->nr_user = walker->nr_frames;
	return record->user_end = end ? end : WALK_TRUNCATED;
}

__hidden __u64 walk_stopped_at(struct scratch *scratch)
{
	struct walker *walker = walker_of(scratch->slot);

	return walker ? unwind_address(&walker->walk) : 0;
}

/* --- raw records, for user space to walk ----------------------------------------------------- */

__hidden int walk_capture(struct scratch *scratch)
{
	struct walker *walker = walker_of(scratch->slot);
	__u32 second = scratch->record.time_ns >> 30, i;
	__u64 at, bytes, done = 0;

	if (!walker)
		return -1;
	if (walker->raw_second != second)
		walker->raw_bytes = 0;
	walker->raw_second = second;
	if (walker->raw_bytes >= max_raw_bytes)
		return -1;
	for (i = 0; i < UNWIND_NR_REGS; i++)
		scratch->frames[i] = walker->walk.regs[i];
	scratch->frames[UNWIND_REG_RA] = walker->first_ra;
	scratch->frames[UNWIND_REG_FP] = walker->first_fp;
	scratch->frames[UNWIND_REG_SP] = walker->first_sp;
	scratch->frames[WIRE_RAW_PC] = walker->first_pc | walker->first_is_call << 63;
	_Static_assert(WIRE_RAW_CODE_BYTES == UNWIND_CODE_BYTES, "as much as is decoded");
	read_code(&scratch->frames[WIRE_RAW_CODE], walker->first_pc);
	at = walker->first_sp & ~7ULL;
	/* Unreadable memory is sent as zeros: there may be nothing mapped below the stack. */
	(void)bpf_probe_read_user(&scratch->frames[WIRE_RAW_HEAD], WIRE_RAW_RED_ZONE,
				  (void *)(at - WIRE_RAW_RED_ZONE));
	bytes = PAGE_BYTES - (at & (PAGE_BYTES - 1));
	/*
	 * Page by page: memory after the stack's end may be unmapped, too. The first page may be
	 * missing in a function that is just growing the stack.
	 */
	for (i = 0; i < WIRE_RAW_STACK_BYTES / PAGE_BYTES; i++) {
		char *to = (char *)&scratch->frames[WIRE_RAW_HEAD + WIRE_RAW_RED_ZONE / 8] +
			   BELOW(done, WIRE_RAW_STACK_BYTES);

		if (bytes > PAGE_BYTES ||
		    (bpf_probe_read_user(to, bytes, (void *)(at + done)) && i))
			break;
		done += bytes;
		bytes = PAGE_BYTES;
	}
	walker->raw_bytes += done;
	scratch->record.nr_user = WIRE_RAW_HEAD + (WIRE_RAW_RED_ZONE + done) / 8;
	scratch->record.user_end = WALK_RAW;
	return 0;
}
