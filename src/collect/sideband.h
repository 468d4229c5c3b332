/*
 * Events that the kernel reports besides samples: forks, execs, exits, mappings and throttling, on
 * one ring buffer a CPU.
 */
#ifndef STOOK_COLLECT_SIDEBAND_H
#define STOOK_COLLECT_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "proc/process_table.h"

enum sideband_kind {
	SIDEBAND_PROCESS,    /* .process, and .path for a mapping */
	SIDEBAND_LOST,	     /* .nr_lost events found no room */
	SIDEBAND_THROTTLE,   /* the kernel stopped the sampling event .id, at .time_ns … */
	SIDEBAND_UNTHROTTLE, /* … and let it go on */
	SIDEBAND_OTHER,
};

struct sideband_event {
	enum sideband_kind kind;
	struct process_event process;
	const char *path; /* good as long as the bytes that were parsed */
	uint64_t nr_lost;
	uint64_t time_ns, id;
};

/*
 * Parses one record as it lies in the ring (header included, bytes long). False if it is not
 * sound: then nothing of it is to be believed.
 */
bool sideband_parse(const void *record, size_t bytes, struct sideband_event *ret);

struct sideband;

/* Opens and starts the events on these CPUs. NULL on failure. */
struct sideband *sideband_open(const uint32_t *cpus, size_t nr_cpus, struct error *error);
void sideband_close(struct sideband *sideband);

size_t sideband_nr(const struct sideband *sideband);

/* Readable when the i-th CPU has something to report, unless it was hushed. */
int sideband_alarm_fd(const struct sideband *sideband, size_t i);

/*
 * Waking user space costs the tasks whose events it is woken for. Hushes the alarms of the CPUs
 * whose events wait to be read; true if there are any. From then on they are to be read by the clock.
 */
bool sideband_hush(struct sideband *sideband);

/* All alarms ring again, at the next event. Events of before are to be read once more. */
void sideband_listen(struct sideband *sideband);

/* The descriptor of a CPU's ring, as output of that CPU's sampling event; -1: none. */
int sideband_fd_of_cpu(const struct sideband *sideband, uint32_t cpu);

/*
 * Hands every event that is there to handle(). Ends early with what handle() returned if that is
 * negative. CPU after CPU: in order of time only within each.
 */
int sideband_read(struct sideband *sideband,
		  int (*handle)(void *context, struct sideband_event *event), void *context);

#endif
