/*
 * How the walk of a stack came to its end: id, name, and the words that a report has for it. The
 * order is part of the protocol with the kernel side. No BPF in here.
 */
#ifndef STOOK_BPF_WALK_END_H
#define STOOK_BPF_WALK_END_H

#define WALK_ENDS(X)                                                     \
	X(NONE, "none", "there is no such stack")                        \
	X(COMPLETE, "complete", "where a program or thread begins")      \
	X(UNWOUND, "unwound", "frame pointers lead no further")          \
	X(TRUNCATED, "truncated", "the depth limit")                     \
	X(MISSED, "missed", "no registers to begin with")                \
	X(RAW, "raw", "memory that waits to be walked")                  \
	X(NO_TABLE, "no_table", "its unwind table came too late")        \
	X(NO_MAPPING, "no_mapping", "returns to where no code is known") \
	X(NO_RULE, "no_rule", "has no unwind information there")         \
	X(FAULT, "fault", "stack memory that could not be read")         \
	X(NO_PROGRESS, "no_progress", "the stack pointer does not grow") \
	X(TOO_MANY, "too_many", "too many stacks at once for user space")

enum walk_end {
#define X(id, name, words) WALK_##id,
	WALK_ENDS(X)
#undef X
		NR_WALK_ENDS
};

#endif
