/* The agent: samples the whole host without end, in epochs, within a budget, into a store. */
#ifndef STOOK_AGENT_AGENT_H
#define STOOK_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/relabel.h"
#include "base/error.h"
#include "run/config.h"
#include "run/process_labels.h"

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
	const char *pause_path; /* while this file exists, nothing is sampled; NULL: none */
	struct relabel_rules rules;
	struct process_label_wants label_wants;
	const char *config_path; /* NULL: none */
	char *config_text;	 /* owned; options refer to it */
	struct run_config tasks; /* interval_ns: length of an epoch */
	struct stack_options stacks;
};

/* Reads the options anew, at SIGHUP. */
struct agent_reader {
	/* 0 or a negative errno. clear() is called in any case. */
	int (*read)(void *context, struct agent_options *ret, struct error *error);
	void (*clear)(struct agent_options *options);
	void *context;
};

/*
 * Runs until a signal. Returns the exit status. Call it once per process. With options->config_path, SIGHUP makes it
 * take over what the reader reads, except what to sample and where to store it. The rules, and the expressions for
 * secrets, are taken.
 */
int agent_run(struct agent_options *options, const struct agent_reader *reader);

#endif
