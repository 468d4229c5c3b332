/*
 * Holds what a run without end costs within a budget. Pure arithmetic over readings of the cost.
 *
 * Some of the cost is in proportion to the samples that are taken: the programs in the kernel, the records that they
 * send, the profiles that are stored. The rest is not: process events, names, unwind tables, and removing old epochs,
 * which takes longer the larger the store is. The rate of the samples is moved by the first part only, to what the rest
 * leaves of the budget. If the rest alone is more than the budget, samples are not what can be saved on: then work is
 * shed in the order of enum governor_shed, and if the cost stays far above the budget even so, the run had better pause.
 * It had better pause at once if what a pause ends costs ten times the budget: no host should bear that until everything
 * else has been tried.
 *
 * Memory has a limit instead of a budget, see memory_judge().
 */
#ifndef STOOK_AGENT_GOVERNOR_H
#define STOOK_AGENT_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds of CPU time: id, if it is in proportion to the samples, if a pause ends it at once, name. */
#define GOVERNOR_COSTS(X)                                                       \
	X(SAMPLES, true, true, "samples")    /* BPF programs */                 \
	X(RECORDS, true, true, "records")    /* of stacks, in user space */     \
	X(STORE, true, false, "store")	     /* labels, and writing epochs */   \
	X(SWITCHES, false, true, "switches") /* BPF programs, with --off-cpu */ \
	X(EVENTS, false, true, "process events")                                \
	X(NAMES, false, false, "names")                                         \
	X(UPKEEP, false, false, "upkeep")   /* removing old epochs */           \
	X(HELPERS, false, false, "helpers") /* processes that read files */

enum governor_cost {
#define X(id, by_rate, ends, name) COST_##id,
	GOVERNOR_COSTS(X)
#undef X
		NR_COSTS
};

/* The stages of saving on other things than samples: each includes those before it. */
enum governor_shed {
	SHED_NOTHING,
	SHED_NAMING, /* epochs are named together */
	SHED_TABLES, /* few unwind tables are made */
	NR_SHEDS
};

struct governor_limits {
	double budget; /* share of the time of all CPUs; 0: none */
	uint32_t most; /* of one_of: at the lowest rate, one sample in so many is taken */
};

/* Sums since the start. A sum that has fallen counts as unchanged. */
struct governor_reading {
	uint64_t now_ns;
	uint64_t cost_ns[NR_COSTS];
	uint32_t nr_cpus; /* that are online now: the machine, of which the budget is a share */
};

struct governor {
	struct governor_limits limits;
	struct governor_reading last;
	uint32_t one_of; /* one sample in so many is taken */
	enum governor_shed shed;
	/* Shares of the time of all CPUs, in the last window; and of them what is in proportion to the samples, or not. */
	double shares[NR_COSTS];
	double by_rate, fixed;
	double settled_ns; /* since something was shed */
	double fixed_mean; /* of about a minute: names and tables come in bursts */
	/* Windows in a row … */
	unsigned nr_cheap;   /* … that left much of the budget to samples */
	unsigned nr_dear;    /* … in which the rest was too much */
	unsigned nr_light;   /* … in which the rest was so little that nothing has to be shed */
	unsigned nr_runaway; /* … far above the budget, with all shed */
	unsigned nr_extreme; /* … in which what a pause ends was extreme, and how long these were */
	double extreme_ns;
};

void governor_init(struct governor *governor, const struct governor_limits *limits,
		   const struct governor_reading *first);

/* The cost begins anew, as after a pause: one_of and what is shed stay. */
void governor_resume(struct governor *governor, const struct governor_reading *first);

/* Ends a window: sets one_of and shed. */
void governor_judge(struct governor *governor, const struct governor_reading *now);

/* The share of the last window. */
double governor_share(const struct governor *governor);

/* True if the run should pause. */
bool governor_is_runaway(const struct governor *governor);

/* True if it should because of the last few windows alone, whatever has been shed. */
bool governor_is_extreme(const struct governor *governor);

/* --- memory ----------------------------------------------------------------------------------- */

enum memory_verdict {
	MEMORY_FITS,
	MEMORY_SHRINK,	/* near the limit: give back what can be read again */
	MEMORY_PAUSE,	/* above it for so long that shrinking does not help */
	MEMORY_EXTREME, /* above twice the limit: pause at once */
};

struct memory {
	uint64_t bytes, most_bytes; /* of the last measurement, and of all */
	uint64_t over_since_ns;	    /* since when all were above the limit; 0: the last was not */
	uint64_t extreme_since_ns;  /* likewise, twice the limit */
};

/* limit 0: none. */
enum memory_verdict memory_judge(struct memory *memory, uint64_t bytes, uint64_t limit,
				 uint64_t now_ns);

/* Begins anew, as after a pause. */
void memory_resume(struct memory *memory);

#endif
