/*
 * The data that the programs of `stook sched` hand to user space. Both sides compile this header.
 *
 * The kernel itself keeps for each thread how long it ran and how long it waited for a CPU: what
 * /proc/PID/schedstat shows. These numbers are read when the thread leaves its CPU, and user space
 * has them listed for all threads (struct sched_listed), so the sums are the kernel's own. The
 * programs add how they are distributed over waits, CPUs and time.
 *
 * When all programs have finished, for the sums of each number, exactly:
 *	of all CPUs = of all threads in the map + of all ended threads in the ring + lost
 * and for each CPU:
 *	switches = idle + own + filtered + counted + lost_threads
 */
#ifndef STOOK_BPF_SCHED_WIRE_H
#define STOOK_BPF_SCHED_WIRE_H

#ifndef STOOK_VMLINUX_H
#include <linux/types.h>
#endif

#define SCHED_COMM_BYTES 16

/* Delays by powers of two, in microseconds: 0 to 1, 2 to 3, 4 to 7, …; the last has no end. */
#define SCHED_SLOTS 32

static inline __u32 sched_slot(__u64 delay_ns)
{
	__u64 us = delay_ns / 1000;
	__u32 slot = 0, half;

	for (half = 32; half; half /= 2) {
		if (us >> half) {
			us >>= half;
			slot += half;
		}
	}
	return slot < SCHED_SLOTS ? slot : SCHED_SLOTS - 1;
}

/* The kernel's own numbers of a thread, or differences of them. They only grow. */
struct sched_numbers {
	__u64 run_ns;
	__u64 delay_ns;		      /* runnable and not running, in all waits that ended */
	__u64 waits;		      /* how often it got a CPU after that */
	__u64 voluntary, involuntary; /* switches away from it */
	__u64 migrations;
};

#define SCHED_NR_NUMBERS (sizeof(struct sched_numbers) / sizeof(__u64))

/* Sums of a thread or of a CPU: waits = the sum of slots[] + unsplit. */
struct sched_sums {
	struct sched_numbers numbers;
	/* Several waits in one, because the kernel did not report the switches between them. */
	__u64 unsplit, unsplit_ns;
	__u64 slots[SCHED_SLOTS];
};

struct sched_longest {
	__u64 delay_ns, end_ns; /* the end is when the thread got its CPU, CLOCK_MONOTONIC */
	__u32 epoch;		/* in which it ended; 0: none */
	__u32 cpu;
};

/*
 * A thread: the value of the map of threads, by task_struct; and sent through the ring when it
 * ends. __u64 ran_ns[] by CPU follows if that was asked for.
 */
struct sched_thread {
	__u64 task;
	__u64 start_ns;	  /* tells threads apart that had the same task_struct */
	__u64 cgroup;	  /* in which it last left a CPU; 0 if not asked for */
	__u32 kernel_tid; /* in the initial pid namespace */
	__u32 pid, tid;	  /* in the profiler's; 0: not visible there */
	__u32 is_wanted;  /* it has left its CPU as a selected thread */
	char comm[SCHED_COMM_BYTES];
	struct sched_numbers last; /* when it last left a CPU */
	__u64 left_ns;		   /* the time of that; 0: it has not */
	__u64 woken_ns;		   /* by the clock only: the first wake-up since then; 0: none */
	__u32 was_queued;	   /* it was still runnable then, and the kernel does not know */
	__u32 zero;
	struct sched_sums sums;
	struct sched_longest longest[2]; /* by the lowest bit of the epoch */
};

/* A CPU, the value of an array. Only its own CPU writes it. */
struct sched_cpu {
	__u32 is_wanted; /* written by user space before the start */
	__u32 is_idle;	 /* what it does now is idling */
	__u64 task;	 /* that runs now; 0: no switch was seen yet */
	__u64 since_ns;	 /* of the last switch */
	__u64 idle_ns;
	__u64 switches, idle, own, filtered, counted;
	__u64 lost_threads;	      /* switches of threads that the map has no room for */
	__u64 lost_stints, lost_ends; /* ring full */
	struct sched_numbers lost;    /* of ended threads */
	struct sched_sums sums;
	struct sched_longest longest[2];
	__u32 epoch; /* of the last switch */
	__u32 zero;
};

/* The iterator writes one for each selected thread. */
struct sched_listed {
	__u64 task, start_ns, cgroup;
	struct sched_numbers numbers;
	__u32 pid, tid;
	__u32 is_running;
	__u32 cpu; /* if it is */
	char comm[SCHED_COMM_BYTES];
};

/*
 * From one switch to the next: a thread's time on a CPU, in the ring. Told from ended threads by
 * its size. The idle task has tid 0.
 */
struct sched_stint {
	__u64 end_ns;
	__u64 run_ns;	/* since it got the CPU */
	__u64 delay_ns; /* before that, runnable */
	__u64 wait_ns;	/* since it had left a CPU, the delay included; 0: not known */
	__u32 pid, tid;
	__u32 cpu;
	__u32 state; /* in which it left, as in /proc: 'R', 'S', 'D', …; 0 for the idle task */
	char comm[SCHED_COMM_BYTES];
};

#endif
