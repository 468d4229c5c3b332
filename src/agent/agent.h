/* The agent: samples the whole host without end, in epochs, within a budget, into a store. */
#ifndef STOOK_AGENT_AGENT_H
#define STOOK_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "run/config.h"

#define AGENT_DEFAULT_BUDGET   0.005 /* share of the machine */
#define AGENT_DEFAULT_MAX_DISK (2ULL << 30)

struct agent_options {
	const char *store_path;
	uint64_t frequency;		    /* the highest, samples per second and CPU */
	double budget;			    /* share of the machine; 0: none */
	bool off_cpu;			    /* threads that wait, too */
	double off_cpu_budget;		    /* share of each CPU */
	uint64_t retain_ns, max_disk_bytes; /* 0: no limit */
	uint64_t max_memory_bytes;
	const char *listen, *token_file; /* of the server, see serve/serve.h; listen NULL: none */
	const char *pause_path;	 /* while this file exists, nothing is sampled; NULL: none */
	struct run_config tasks; /* interval_ns: length of an epoch */
	struct stack_options stacks;
};

/* Runs until a signal. Returns the exit status. Call it once per process. */
int agent_run(struct agent_options *options);

#endif
