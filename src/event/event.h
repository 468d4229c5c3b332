/*
 * Translates the texts by which perf's users name events to attributes of perf_event_open(). Nothing is opened here.
 *
 *	cycles:u  L1-dcache-load-misses  page-faults		generic events, and modifiers
 *	r1c2  mem:0x4040a0/8:w  sched:sched_switch		raw numbers, breakpoints, tracepoints
 *	cpu/event=0x3c,umask=0x1,cmask=2,name=x/pp		terms of a PMU, see event/pmu.h
 *	uncore_imc/cas_count_read/				of each PMU uncore_imc_0, uncore_imc_1, …
 *	mem-loads  mem-loads/ldlat=30/P				events that a PMU has names for, on each such PMU
 *	uops_executed.core  UOPS_EXECUTED:CORE			names of the CPU's vendor, see event/models.h
 *	{cycles,instructions}:u,faults				groups, which are counted together, and lists;
 *								a group of several PMUs becomes one of each
 *
 * The modifiers are perf's: u k h (user, kernel, hypervisor), G H (guest, host), I (not while idle), p pp ppp P
 * (precise), D (pinned), e (exclusive), S (the leader's sample reads the group), W (weak group).
 */
#ifndef STOOK_EVENT_EVENT_H
#define STOOK_EVENT_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define EVENT_NAME_BYTES 256

struct event {
	char name[EVENT_NAME_BYTES]; /* as the user wrote it, or as the term `name` says */
	/*
	 * What identifies and filters the event, a rate if the text has one (sample_period; or freq and
	 * sample_freq), and pinned and exclusive. The rest is 0.
	 */
	struct perf_event_attr attr;
	size_t leader;	/* index of its group's leader; its own if it is in no group */
	char pmu[64];	/* "" for events that belong to no PMU of the tree */
	char cpus[256]; /* the PMU's CPUs, "0,18"; "": all */
	char unit[32];	/* of count * scale; "": a plain count */
	double scale;
	bool is_most_precise; /* P: the highest precise_ip that the kernel accepts */
	bool reads_group;     /* S */
	bool is_weak;	      /* W, at the leader: counted one by one if the group does not fit */
	/* A tracepoint's filter, not owned: parsing sets NULL, every hit counts. */
	const char *filter;
};

/* --- where events are described ---------------------------------------------------------------- */

struct event_host;

struct event_host_options {
	const char *devices; /* NULL: /sys/bus/event_source/devices */
	int tracefs_fd;	     /* borrowed; -1: there are no tracepoints */
	const char *model;   /* libpfm4's name of a CPU model, "skl"; NULL: this CPU's */
};

/* NULL with *error if memory runs out: what can't be read has no events. */
struct event_host *event_host_open(const struct event_host_options *options, struct error *error);
void event_host_close(struct event_host *host);

/* --- texts to events --------------------------------------------------------------------------- */

struct events {
	struct event *items;
	size_t nr, cap;
};

void events_clear(struct events *events);

/*
 * Appends the events of a text. A generic event is one for each kind of core that a hybrid CPU has. 0 or a negative
 * errno, with the rejected text and the closest names in *error; then nothing is appended.
 */
int events_parse(struct event_host *host, const char *text, struct events *events,
		 struct error *error);

/*
 * Parses the text of one event, on this host; no tracepoint. A generic event stays one: the kernel finds the PMU of the
 * CPU that it is opened on. 0 or a negative errno.
 */
int event_parse(const char *text, struct event *ret, struct error *error);

/*
 * Names the PMU in events that have the same name on several: cycles on a hybrid CPU becomes cpu_core/cycles/ and
 * cpu_atom/cycles/, uncore_imc/cas_count_read/ becomes uncore_imc_0/cas_count_read/ …
 */
void events_tell_apart(struct events *events);

/* Lets the event count in user space only, as its modifier u does, and adds that to its name. */
void event_leave_kernel_out(struct event *event);

/*
 * Cuts the first event, or group, off a list, like strsep(): commas between slashes, braces or quotes do not separate.
 */
char *event_split(char **rest);

/*
 * True for the name of a tracepoint as perf writes it, CATEGORY:EVENT, also after `t:` or
 * `tracepoint:`. CATEGORY must not be an event that event_parse() knows.
 */
bool event_is_tracepoint(const char *text);

/* True if the event counts elapsed nanoseconds, idle or not: cpu-clock and task-clock. */
bool event_is_clock(const struct event *event);

/* The unit of its counts, in the words of pprof: "nanoseconds" or "count". */
const char *event_value_unit(const struct event *event);

/* --- counts ------------------------------------------------------------------------------------ */

/* The reading of a counter. If counters share the PMU, it runs for a part of the time for which it is enabled. */
struct event_count {
	uint64_t value, enabled_ns, running_ns;
};

/* The count, scaled from the time for which the counter ran to that for which it was enabled; 0 if it never ran. */
double event_count_estimate(const struct event_count *count);

/* --- names of events --------------------------------------------------------------------------- */

enum event_kind {
	EVENT_HARDWARE,
	EVENT_CACHE,
	EVENT_SOFTWARE,
	EVENT_PMU,
	EVENT_MODEL,
	EVENT_TRACEPOINT,
	EVENT_NR_KINDS,
};

struct event_name {
	enum event_kind kind;
	const char *name; /* for events_parse(); "PMU//" has the PMU's terms as description */
	const char *pmu;  /* EVENT_PMU: the PMU's name, for PMU/NAME/; else "" */
	const char *description; /* "": none */
};

/* Calls visit with each name that this host has. 0 or -ENOMEM; what can't be read is left out. */
typedef void event_visit_fn(void *context, const struct event_name *name);
int event_names(struct event_host *host, event_visit_fn *visit, void *context);

#endif
