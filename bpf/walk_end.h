/*
 * How the walk of a stack ended: id, name, and the text in the report. The order is part of the
 * protocol with the kernel side. No BPF in here.
 */
#ifndef STOOK_BPF_WALK_END_H
#define STOOK_BPF_WALK_END_H

#define WALK_ENDS(X)                                                         \
	X(NONE, "none", "no such stack")                                     \
	X(COMPLETE, "complete", "complete")                                  \
	X(UNWOUND, "unwound", "end of the frame-pointer chain")              \
	X(TRUNCATED, "truncated", "depth limit reached")                     \
	X(MISSED, "missed", "no user registers available")                   \
	X(RAW, "raw", "raw stack memory, not unwound")                       \
	X(NO_TABLE, "no_table", "unwind table was not ready in time")        \
	X(NO_MAPPING, "no_mapping", "return address outside any known code") \
	X(NO_RULE, "no_rule", "no unwind information for the address")       \
	X(FAULT, "fault", "stack memory could not be read")                  \
	X(NO_PROGRESS, "no_progress", "stack pointer does not increase")     \
	X(TOO_MANY, "too_many", "too many raw stacks at once; frame pointers only")

enum walk_end {
#define X(id, name, words) WALK_##id,
	WALK_ENDS(X)
#undef X
		NR_WALK_ENDS
};

#endif
