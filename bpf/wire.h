/*
 * The protocol between user space and the BPF programs: the record of a stack, the counters, the
 * reasons for loss. Both sides compile this header.
 *
 * Time is divided into epochs. On the first occurrence of a stack in an epoch its whole record goes
 * through the ring, and its id is inserted into that epoch's count map with the value 0; each later
 * occurrence adds one there. So a record is one sample, and a count is the number of further equal
 * samples. Where samples have weights (requested bytes, or the number of a probe's hits that one
 * sample represents), count maps also have the sum of the weights; and of a ratio, the sum of the events of its other
 * counter.
 *
 * Epoch n uses slot n % 3 of the count maps and of the counters. User space begins epoch n + 1 by
 * writing `epoch`, and then puts an empty map into the slot of epoch n + 2, which is unused. That
 * update returns only after all programs that were running have finished: from then on all data of
 * epoch n is at rest, including its counters. (With two slots the empty map would replace the map
 * of epoch n while a program that read `epoch` just before still uses it.)
 *
 * At rest, for each epoch, in samples and exactly:
 *	entries = idle + own + filtered + ended + recorded + counted + thinned + the sum of lost[]
 *
 * Off-CPU (bpf/offcpu.bpf.c), a sample is a thread that leaves its CPU, and the count map also has
 * the nanoseconds until it came back, if it did so in the same epoch. A wait that crosses the end of
 * an epoch is sent when it ends, as a struct wire_wait. At rest, for each epoch, in nanoseconds of
 * the waits that ended in it and exactly:
 *	waited = counted + sent + passed over + lost
 *
 * Under a budget, a wait may begin without a walk (`thinned`). Its time is counted in the same way, for a record
 * without stacks (WIRE_UNWALKED), and user space divides the time of such a record among the stacks that were walked
 * for others of the thread's waits in the same state and place (collect/split.h).
 */
#ifndef STOOK_BPF_WIRE_H
#define STOOK_BPF_WIRE_H

#ifndef STOOK_VMLINUX_H
#include <linux/types.h>
#endif

#include "walk_end.h"

#define WIRE_COMM_BYTES	       16
#define WIRE_MAX_USER_FRAMES   512
#define WIRE_MAX_KERNEL_FRAMES 256
#define WIRE_MAX_FRAMES	       (WIRE_MAX_USER_FRAMES + WIRE_MAX_KERNEL_FRAMES)
#define WIRE_EPOCH_SLOTS       3

/* The events that one run may sample: name of the program, number. */
#define WIRE_EVENTS(X) \
	X(sample, 0)   \
	X(sample_1, 1) \
	X(sample_2, 2) \
	X(sample_3, 3) \
	X(sample_4, 4) \
	X(sample_5, 5) \
	X(sample_6, 6) \
	X(sample_7, 7)
#define WIRE_MAX_EVENTS 8

/* id, name, and the text in the report of a run. */
#define WIRE_LOSS_REASONS(X)                                                      \
	X(RING_FULL, "ring_full", "ring buffer full: not read in time")           \
	X(RING_BUSY, "ring_busy", "ring buffer's lock held by other CPUs")        \
	X(SCRATCH, "scratch", "no scratch space: sample interrupted another one") \
	X(THREADS, "threads", "more threads than the table of waiting threads holds")

enum wire_loss {
#define X(id, name, sentence) LOST_##id,
	WIRE_LOSS_REASONS(X)
#undef X
		WIRE_NR_LOSS_REASONS
};

/* One per CPU and slot, never cleared: an epoch's counts are the difference to the last reading. */
struct wire_counters {
	__u64 entries;
	__u64 idle;
	__u64 own; /* by the profiler's own processes, if these are excluded */
	__u64 filtered;
	__u64 ended; /* off-CPU: threads that left their CPU for good */
	__u64 recorded;
	__u64 counted;
	__u64 thinned; /* represented by others: hits of probes, samples, and waits under a budget */
	__u64 lost[WIRE_NR_LOSS_REASONS];
	struct wire_event {
		__u64 entries;
		__u64 periods; /* the sum, as the kernel reports them */
		__u64 weight;  /* the sum, see bpf/sample.bpf.c */
	} events[WIRE_MAX_EVENTS];
	/* Samples under a budget: time in the program, and the weight of the recorded and counted ones. */
	__u64 run_ns, taken_weight;
	/* Off-CPU: the waits that ended, and their nanoseconds. */
	__u64 waits, waited_ns;
	__u64 unseen;	 /* of these: the kernel did not report the thread's return */
	__u64 stolen_ns; /* of runs in between: on a CPU, but not counted as CPU time */
	__u64 counted_ns;
	__u64 sent, sent_ns;
	__u64 passed, passed_ns; /* shorter or longer than asked for */
	__u64 cut, cut_ns;	 /* their stack, or their end, is lost */
};

/*
 * A stack that could not be walked in the kernel is sent raw (WALK_RAW). Its user words are not
 * frames but registers, by DWARF number and with the program counter last (its highest bit is set
 * inside a system call), the code that it points to (unreadable bytes are 0), and the stack's memory.
 * That starts below the stack pointer (rounded down to a multiple of 8) by the length of a red zone:
 * functions may keep data there, and in their last instructions still have a saved register there.
 * Raw records are never counted in count maps.
 */
#define WIRE_RAW_PC	     32
#define WIRE_RAW_CODE	     33
#define WIRE_RAW_CODE_BYTES  32
#define WIRE_RAW_HEAD	     (WIRE_RAW_CODE + WIRE_RAW_CODE_BYTES / 8) /* words before the memory */
#define WIRE_RAW_STACK_BYTES 32768
#define WIRE_RAW_IN_CALL     (1ULL << 63)
#define WIRE_RAW_RED_ZONE    128
#define WIRE_RAW_STACK	     (WIRE_RAW_HEAD + WIRE_RAW_RED_ZONE / 8) /* index of the word at sp */
#define WIRE_MAX_RAW_WORDS   (WIRE_RAW_STACK + WIRE_RAW_STACK_BYTES / 8)

/*
 * A stack and the task it belongs to. The id is a hash of everything from `start_time_ns` to the
 * last frame: fields that samples are not distinguished by are 0. There is no padding.
 */
struct wire_record {
	__u64 id;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 epoch;
	__u32 reserved;
	__u64 weight;	 /* of this sample */
	__u64 numerator; /* of a ratio: events that this sample represents; else not set */

	__u64 start_time_ns; /* of the process; distinguishes two that had the same pid */
	__u64 exec_id;	     /* incremented by exec, which changes neither pid nor start time */
	__u64 cgroup;
	__u32 pid, tid; /* in the profiler's pid namespace; 0: not visible there */
	__u32 cpu;
	__u16 nr_user, nr_kernel;
	char comm[WIRE_COMM_BYTES];
	__u8 user_end, kernel_end; /* enum walk_end */
	__u16 place; /* under a budget: of the wait, see struct wire_wait_place; 0: not known */
	__u32 probe; /* the number of the probe or event; with states, enum wire_state */

	/*
	 * __u64 frames[nr_user + nr_kernel] follow: user, then kernel, each leaf first. All but the
	 * first of each are return addresses. Code interrupted by a signal has no return address;
	 * its frame is the address plus one, so that the byte before is the one to look up, as for
	 * the others.
	 */
};

_Static_assert(sizeof(struct wire_record) == 104, "no padding: the id is a hash over these bytes");

/*
 * The key of a count map. With wakers, the time until a thread was woken is added to its stack's id
 * and that of the waker's stack; records are counted without a waker. Without wakers, keys have only
 * the first member.
 */
struct wire_count_key {
	__u64 id;
	__u64 waker;
};

/*
 * A value of a count map; without weights it has only the first member. `numerator` only of a ratio; `queued_ns` and
 * the rest only off-CPU, where the weight is nanoseconds.
 */
struct wire_count {
	__u64 count;
	__u64 weight;
	union {
		__u64 queued_ns; /* from the wake-up until the thread ran; not part of the weight */
		__u64 numerator;
	};
	__u64 nr_waited, nr_queued; /* waits with some of each */
	/* Only under a budget: estimates of the same of waits that were not walked. Not part of it. */
	__u64 stands_for_ns, stands_for_queued_ns;
	__u64 stands_for_waited, stands_for_queued;
	__u64 variance; /* of the times; see wire_variance() */
};

/* --- names that are left out ------------------------------------------------------------------ */

/*
 * Threads with these names are left out. User space decides on a name when it first sees it, since the kernel has no
 * regular expressions, and writes it into the slot of its hash: an array without locks, which programs in NMIs and under
 * the scheduler's locks only read. A name that loses its slot to another one is wanted again, until it is next seen.
 */
#define WIRE_NAME_SLOTS 4096

struct wire_refused_name {
	__u64 words[WIRE_COMM_BYTES / 8]; /* padded with zeros */
	__u64 check; /* wire_name_check(): a free slot, or one that is being written, has another one */
};

_Static_assert(sizeof(struct wire_refused_name) == 24, "no padding: it is compared");

static inline __u64 wire_name_hash(const __u64 words[WIRE_COMM_BYTES / 8])
{
	__u64 hash = words[0] * 0x9e3779b97f4a7c15ULL;

	hash = (hash ^ hash >> 32 ^ words[1]) * 0xff51afd7ed558ccdULL;
	hash = (hash ^ hash >> 32) *
	       0x9e3779b97f4a7c15ULL; /* the last bytes, too, select the slot */
	return hash ^ hash >> 32;
}

static inline __u64 wire_name_check(const __u64 words[WIRE_COMM_BYTES / 8])
{
	return ~wire_name_hash(words);
}

/* --- off-CPU ---------------------------------------------------------------------------------- */

/* Why a thread is off its CPU, or that it is on one: id, name. Bits in the options of user space. */
#define WIRE_STATES(X)          \
	X(RUNNABLE, "runnable") \
	X(SLEEPING, "sleeping") \
	X(BLOCKED, "blocked")   \
	X(IDLE, "idle")         \
	X(STOPPED, "stopped")   \
	X(RUNNING, "running") /* a sample, beside off-CPU time */

/*
 * Likewise, what kind of lock it waits for: a futex in user space, off its CPU; locks of the kernel, called as
 * `perf lock contention` does, also on a CPU.
 */
#define WIRE_LOCKS(X)                 \
	X(FUTEX, "futex")             \
	X(SPINLOCK, "spinlock")       \
	X(RWLOCK_R, "rwlock:R")       \
	X(RWLOCK_W, "rwlock:W")       \
	X(MUTEX, "mutex")             \
	X(RWSEM_R, "rwsem:R")         \
	X(RWSEM_W, "rwsem:W")         \
	X(RT_MUTEX, "rt-mutex")       \
	X(RWLOCK_RT_R, "rwlock-rt:R") \
	X(RWLOCK_RT_W, "rwlock-rt:W") \
	X(PCPU_SEM_R, "pcpu-sem:R")   \
	X(PCPU_SEM_W, "pcpu-sem:W")   \
	X(SEMAPHORE, "semaphore")

enum wire_state {
#define X(id, name) WIRE_##id,
	WIRE_STATES(X) WIRE_LOCKS(X)
#undef X
		WIRE_NR_STATES
};

#define WIRE_LOCK_STATES (((1U << WIRE_NR_STATES) - 1) & ~((1U << WIRE_FUTEX) - 1))

/*
 * Set in a record's `probe`: the thread was off its CPU when the run began. No user stack; if the weight is 1, the
 * thread has one, and so its next record needs the unwind tables of its process.
 */
#define WIRE_SINCE_BEFORE 0x100

/* Set in a record's `probe`: it has the time of this thread's waits in this state and place that were not walked. */
#define WIRE_UNWALKED 0x200

/*
 * Where a thread waits, as far as it is known without a walk: a hash of its state, and in a system call of the user's
 * program counter and stack pointer. Different stacks rarely have the same. Each thread has some of them, by the
 * lowest bits.
 */
struct wire_wait_place {
	__u64 id; /* of the record without stacks; 0: none yet */
	__u32 hash; /* 0: a free slot; of places that are not known, the id is 0, see wire_place_id() */
	__u32 expected_ns; /* length of a wait, from the last ones; 0: none yet */
};

#define WIRE_PLACES \
	16 /* a power of two, so that a mask shows the verifier that an index is in range */

#define WIRE_PLACE_BIT 0x80000000U /* in all hashes of places: they are not 0 */

/* The place in a record, without the bits by which a thread's places are found. 0: not known. */
static inline __u16 wire_place_id(__u32 hash)
{
	return hash >> 8 & 0xffff;
}

/*
 * Set in a record's `probe`: the stack of a task that wakes up another one, not of one that leaves its CPU.
 * In an interrupt that is not the task: the record has no process and no name, and the kernel frames of the
 * interrupt only.
 */
#define WIRE_WAKER     0x400
#define WIRE_INTERRUPT 0x800

#define WIRE_INTERRUPT_ENTRIES 8

struct wire_code_range {
	__u64 start, bytes; /* 0: unused */
};

/* A thread that is off its CPU. */
struct wire_waiting {
	__u64 since_ns; /* 0: it is not */
	__u64 back_ns;	/* when it was last back on one; 0: not known */
	__u64 woken_ns; /* 0: not yet, or it was runnable all the time */
	__u64 run_ns;	/* CPU time of the thread when it left */
	__u64 id;	/* of its stack's record; 0: lost */
	__u64 waker;	/* id of the record of who woke it last; 0: not known */
	__u32 epoch;	/* in which it left */
	__u32 state;	/* enum wire_state */
	__u64 check;	/* wire_waiting_check(): detects that a reader met a writer */
	__u32 one_of; /* under a budget, waits of which this one was chosen to be walked; 0: it was not */
	__u32 place; /* likewise: hash of its place; 0: none, the run began in the wait */
};

/* The value of the map of waiting threads, by task_struct; without a budget, only the first member. */
struct wire_followed {
	struct wire_waiting waiting;
	__u64 places_name; /* hash of what can change in the identity of the places' records: epoch, name */
	struct wire_wait_place places[WIRE_PLACES];
};

/* The slot of a task that waits for a lock of the kernel. */
struct wire_lock_wait {
	__u64 task; /* struct task_struct; 0: a free slot */
	__u64 lock; /* 0: the slot is just being taken or freed */
	struct wire_waiting waiting;
};

static inline __u64 wire_waiting_check(const struct wire_waiting *waiting)
{
	return waiting->since_ns ^ waiting->id ^ ((__u64)waiting->epoch << 32 | waiting->state);
}

/*
 * The end of a wait that is not added to a count map, in the ring. Told from records by its size.
 */
struct wire_wait {
	__u64 task, since_ns; /* which thread's wait */
	__u64 id;
	__u64 waker;	 /* 0: nobody, or not known */
	__u64 waited_ns; /* until it was woken; or until it ran, if nobody woke it */
	__u64 queued_ns; /* from then until it ran */
	__u32 epoch;	 /* in which it ended */
	__u32 one_of;	 /* see struct wire_waiting */
};

/*
 * A wait is walked with the probability 1 / one_of, and then stands for one_of - 1 others of its length. What that adds
 * to the variance of the estimated time, in units of (1024 ns)². It is limited, so that a sum does not overflow.
 */
#define WIRE_MAX_ONE_OF 1024

static inline __u64 wire_variance(__u64 ns, __u64 one_of)
{
	__u64 units = (ns >> 10) + 1;

	if (units > 1 << 19)
		units = 1 << 19;
	return one_of * (one_of - 1) * units * units;
}

/* Cost of the off-CPU programs on one CPU, since the start. A cache line for each CPU. */
struct wire_cost {
	__u64 switches;
	__u64 runs;		    /* at switches and wake-ups */
	__u64 walks;		    /* runs with a walk */
	__u64 timed_walks, walk_ns; /* some of these, and their time; all of them under a budget */
	__u64 timed, timed_ns;	    /* some of the others */
	__u64 next_timed;	    /* runs until the next of these */
};

_Static_assert(sizeof(struct wire_wait) < sizeof(struct wire_record), "told apart by their size");

/* The size of a record with its frames. */
static inline __u64 wire_record_bytes(const struct wire_record *record)
{
	return sizeof(*record) + ((__u64)record->nr_user + record->nr_kernel) * sizeof(__u64);
}

#endif
